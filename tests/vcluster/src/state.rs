//! The state directory of a cluster: `${XDG_RUNTIME_DIR:-/run}/kilter-vcluster-NAME`.
//!
//! ```text
//! cluster        what was asked for, `key = value`; its presence marks the directory as ours
//! switch.pid     process id and start time of the switch
//! switch.sock    answers every connection with one page of counters
//! switch.log     what the switch had to say
//! net/HOST       the network namespace of a host, bind-mounted
//! hosts          /etc/hosts as the hosts see it
//! hostfile.PPN   for Open MPI
//! agent          launch agent with the arguments of rsh
//! tmp/           session directories of the MPI library
//! ```

use std::{
    env, fmt, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::{Context, Result, bail};

use crate::model::Link;
use crate::quantity::QuantityError;

/// 10.77.0.1 to 10.77.0.254.
pub(crate) const MAX_HOSTS: usize = 254;

/// The name of a cluster; its hosts are the name followed by a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name(String);

/// The requested properties of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cluster {
    pub(crate) hosts: usize,
    pub(crate) link: Link,
    /// The cluster ends with this process.
    pub(crate) owner: Option<i32>,
}

/// The state directory.
#[derive(Debug, Clone)]
pub(crate) struct State {
    name: Name,
    directory: PathBuf,
}

/// A name that no cluster may have.
#[derive(Debug, thiserror::Error)]
#[error(
    "'{0}' cannot name a cluster: at most 24 of a-z, 0-9 and '-', first a letter, last no digit (hosts are numbered)"
)]
pub(crate) struct BadName(String);

/// Reason why a file describes no cluster.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterError {
    #[error("'{0}' is missing")]
    Missing(&'static str),
    #[error("'{0}' is no number")]
    NoNumber(String),
    #[error("hosts must be 1 to {MAX_HOSTS}")]
    Hosts,
    #[error(transparent)]
    Quantity(#[from] QuantityError),
}

impl FromStr for Name {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let ends_clearly = text.ends_with(|c: char| c.is_ascii_lowercase() || c == '-');
        let starts_well = text.starts_with(|c: char| c.is_ascii_lowercase());
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if text.len() > 24 || !starts_well || !ends_clearly || !text.chars().all(allowed) {
            return Err(BadName(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The IPv4 address of a host.
pub(crate) fn address(host: usize) -> String {
    format!("10.77.0.{}", host + 1)
}

impl State {
    pub(crate) fn new(name: Name) -> Self {
        let base = env::var_os("XDG_RUNTIME_DIR").filter(|dir| Path::new(dir).is_absolute());
        let directory = PathBuf::from(base.unwrap_or_else(|| "/run".into())).join(format!("kilter-vcluster-{name}"));
        Self { name, directory }
    }

    /// The state whose directory is known, as the launch agent knows it.
    pub(crate) fn at(directory: PathBuf) -> Result<Self> {
        let name = directory
            .file_name()
            .and_then(|file| file.to_str()?.strip_prefix("kilter-vcluster-"));
        let name = name.with_context(|| format!("{} is no state directory of a cluster", directory.display()))?;
        let name = name.parse()?;
        Ok(Self { name, directory })
    }

    pub(crate) fn name(&self) -> &Name {
        &self.name
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.directory.join(file)
    }

    pub(crate) fn host_name(&self, host: usize) -> String {
        format!("{}{host}", self.name)
    }

    /// The mount point of a host's network namespace.
    pub(crate) fn net(&self, host_name: &str) -> PathBuf {
        self.directory.join("net").join(host_name)
    }

    /// The namespaces that exist: those of a half-built cluster too.
    pub(crate) fn nets(&self) -> Result<Vec<PathBuf>> {
        let directory = self.path("net");
        let entries = match fs::read_dir(&directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.with_context(|| format!("cannot list {}", directory.display()))?,
        };
        entries.map(|entry| Ok(entry?.path())).collect()
    }

    /// Makes the directory and marks it as ours.
    pub(crate) fn create(&self, cluster: &Cluster) -> Result<()> {
        let failed = || format!("cannot make the state directory {}", self.directory.display());
        fs::create_dir(&self.directory).with_context(failed)?;
        fs::write(self.path("cluster"), cluster.to_string()).with_context(failed)?;
        fs::create_dir(self.path("net")).with_context(failed)?;
        fs::create_dir(self.path("tmp")).with_context(failed)
    }

    /// The cluster that is up. Fails with what to do when there is none.
    pub(crate) fn load(&self) -> Result<Cluster> {
        let path = self.path("cluster");
        match fs::read_to_string(&path) {
            Ok(text) => text
                .parse()
                .map_err(|error: ClusterError| anyhow::anyhow!("{}: {error}", path.display())),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!(
                    "no virtual cluster '{}' is up ({} is missing); start one with `up`",
                    self.name,
                    path.display()
                )
            }
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Removes the directory. Nothing that is not marked as ours is ever removed, except an empty directory.
    pub(crate) fn remove(&self) -> Result<()> {
        let failed = || format!("cannot remove {}", self.directory.display());
        if self.path("cluster").exists() {
            // The mark goes last: what an interruption leaves, the next attempt still recognises.
            for part in ["net", "tmp"]
                .map(|part| self.path(part))
                .iter()
                .chain([&self.directory])
            {
                match fs::remove_dir_all(part) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).with_context(failed),
                    _ => {}
                }
            }
            return Ok(());
        }
        match fs::remove_dir(&self.directory) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {
                bail!(
                    "{} holds files but is no cluster's state; move it away",
                    self.directory.display()
                )
            }
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error).with_context(failed),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Link {
            rate,
            latency,
            overhead,
            slow,
        } = self.link;
        let hosts = self.hosts;
        write!(
            f,
            "hosts = {hosts}\nrate = {rate}\nlatency = {latency}\noverhead = {overhead}\n"
        )?;
        slow.map_or(Ok(()), |slow| writeln!(f, "slow = {slow}"))?;
        self.owner.map_or(Ok(()), |owner| writeln!(f, "owner = {owner}"))
    }
}

impl FromStr for Cluster {
    type Err = ClusterError;

    fn from_str(text: &str) -> Result<Self, ClusterError> {
        let value = |key: &str| {
            text.lines()
                .filter_map(|line| line.split_once(" = "))
                .find(|(k, _)| *k == key)
                .map(|(_, value)| value)
        };
        let needed = |key: &'static str| value(key).ok_or(ClusterError::Missing(key));
        let number = |text: &str| text.parse::<i32>().map_err(|_| ClusterError::NoNumber(text.to_owned()));
        let hosts = usize::try_from(number(needed("hosts")?)?)
            .ok()
            .filter(|n| (1..=MAX_HOSTS).contains(n));
        Ok(Self {
            hosts: hosts.ok_or(ClusterError::Hosts)?,
            link: Link {
                rate: needed("rate")?.parse()?,
                latency: needed("latency")?.parse()?,
                overhead: needed("overhead")?.parse()?,
                slow: value("slow").map(str::parse).transpose()?,
            },
            owner: value("owner").map(number).transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_reads_back_as_it_was_written() {
        for (owner, slow) in [(None, None), (Some(4711), Some("3:300us".parse().unwrap()))] {
            let link = Link {
                rate: "2.5Gbit".parse().unwrap(),
                latency: "50us".parse().unwrap(),
                overhead: "500ns".parse().unwrap(),
                slow,
            };
            let cluster = Cluster { hosts: 8, link, owner };
            assert_eq!(cluster.to_string().parse::<Cluster>().unwrap(), cluster);
        }
        assert!(
            "hosts = 0\nrate = 1Gbit\nlatency = 0us\noverhead = 0us\n"
                .parse::<Cluster>()
                .is_err()
        );
        assert!(
            "hosts = 8\n"
                .parse::<Cluster>()
                .unwrap_err()
                .to_string()
                .contains("rate")
        );
    }

    #[test]
    fn names_stay_inside_one_path_component_and_end_where_the_number_starts() {
        for good in ["vc", "a", "test-", "t12x"] {
            assert!(good.parse::<Name>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "vc1",
            "../x",
            "a/b",
            "-a",
            "A",
            "a b",
            "a.b",
            "abcdefghijklmnopqrstuvwxyz",
        ] {
            assert!(bad.parse::<Name>().is_err(), "{bad}");
        }
    }
}
