//! Simulated machines: a platform file of SimGrid, the hosts of the ranks, and the settings that belong to it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{ConfigError, Embedded, all, parse, parsed, read};

/// A simulated machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Platform {
    /// Such as `ib-32x1`.
    pub id: String,
    /// Description for people.
    pub summary: String,
    /// Number of hosts, at least 1.
    pub hosts: usize,
    /// Ranks on each host, at least 1; the first ranks fill the first host.
    pub ranks_per_host: usize,
    /// Name of a host, with `{}` for its number from 0.
    pub host: String,
    /// The text of SimGrid's platform file (XML).
    pub platform: String,
    /// Settings of the simulator: name, value.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
}

/// Files for a launcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// The platform.
    pub platform: PathBuf,
    /// Host file with a line for each rank.
    pub hostfile: PathBuf,
}

impl Platform {
    /// Reads a file's text. The error names `file`, the line or the key, and what is allowed.
    pub fn parse(text: &str, file: &str) -> Result<Platform, ConfigError> {
        parse(text, file, Platform::problem)
    }

    /// Finds a platform by its name among those that come with Kilter, or reads the file at that path.
    pub fn load(name: &str) -> Result<Platform, ConfigError> {
        let all = load_embedded()?;
        if let Some(found) = all.iter().find(|platform| platform.id == name) {
            return Ok(found.clone());
        }
        let path = Path::new(name);
        if path.is_file() {
            return Platform::parse(&read(path)?, name);
        }
        let known: Vec<&str> = all.iter().map(|platform| platform.id.as_str()).collect();
        Err(ConfigError {
            file: name.to_owned(),
            message: format!(
                "no platform has this name, and there is no such file; known: {}, or give a file like those in configs/platforms",
                known.join(", ")
            ),
        })
    }

    fn problem(&self) -> Option<String> {
        let bare = |text: &str| !text.is_empty() && !text.chars().any(|c| c.is_whitespace() || c.is_control());
        let id = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        if !self.id.starts_with(|c: char| c.is_ascii_alphanumeric()) || !self.id.chars().all(id) {
            return Some(format!(
                "id is `{}`; allowed: letters, digits, `-`, `.` and `_`, such as ib-32x1",
                self.id
            ));
        }
        if self.hosts == 0 || self.ranks_per_host == 0 {
            return Some("`hosts` and `ranks_per_host` must be at least 1".to_owned());
        }
        if !bare(&self.host) || !self.host.contains("{}") {
            return Some(format!(
                "host is `{}`; give a name without blanks in which {{}} stands for the number, such as node-{{}}",
                self.host
            ));
        }
        if !self.platform.trim_start().starts_with("<?xml") {
            return Some("platform is no XML; give the text of a platform file of SimGrid's, from <?xml on".to_owned());
        }
        let mut settings = self.settings.iter();
        let (name, value) = settings.find(|(name, value)| !bare(name) || name.contains(':') || !bare(value))?;
        Some(format!(
            "settings: `{name}` = `{value}` cannot be given; allowed: a name without blanks and `:`, and a value without blanks"
        ))
    }

    /// Number of ranks that it has room for.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.hosts.saturating_mul(self.ranks_per_host)
    }

    /// Writes the files into a directory, which is made if it is missing.
    pub fn write(&self, directory: &Path) -> std::io::Result<Files> {
        std::fs::create_dir_all(directory)?;
        let files = Files {
            platform: directory.join(format!("{}.xml", self.id)),
            hostfile: directory.join(format!("{}.hosts", self.id)),
        };
        std::fs::write(&files.platform, self.platform.trim_start())?;
        let mut hosts = String::new();
        for number in 0..self.hosts {
            let line = self.host.replace("{}", &number.to_string()) + "\n";
            hosts.push_str(&line.repeat(self.ranks_per_host));
        }
        std::fs::write(&files.hostfile, hosts)?;
        Ok(files)
    }
}

/// The platforms that come with Kilter.
pub fn load_embedded() -> Result<Vec<Platform>, ConfigError> {
    static PLATFORMS: Embedded<Vec<Platform>> = Embedded::new(|| parsed("platforms", Platform::parse));
    all(&PLATFORMS).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::embedded;

    #[test]
    fn every_platform_is_named_as_its_file_and_has_the_hosts_that_it_counts() {
        let all = load_embedded().unwrap();
        let ids: Vec<&str> = all.iter().map(|platform| platform.id.as_str()).collect();
        assert_eq!(ids, ["eth-32x1", "ib-32x1", "ib-32x16"]);
        for (platform, (file, _)) in all.iter().zip(embedded("platforms")) {
            assert!(file.ends_with(&format!("/{}.toml", platform.id)), "{file}");
            let radical = format!("radical=\"0-{}\"", platform.hosts - 1);
            assert!(platform.platform.contains(&radical), "{file}");
            assert_eq!(platform.settings["smpi/simulate-computation"], "no", "{file}");
        }
        assert_eq!(Platform::load("ib-32x16").unwrap().ranks(), 512);
    }

    #[test]
    fn the_host_file_fills_one_host_after_the_other() {
        let directory = tempfile::tempdir().unwrap();
        let small = Platform {
            hosts: 2,
            ranks_per_host: 3,
            ..Platform::load("ib-32x1").unwrap()
        };
        let files = small.write(&directory.path().join("new")).unwrap();
        let hosts = std::fs::read_to_string(files.hostfile).unwrap();
        assert_eq!(hosts, "node-0\nnode-0\nnode-0\nnode-1\nnode-1\nnode-1\n");
        // XML allows nothing before its first line.
        let platform = std::fs::read_to_string(files.platform).unwrap();
        assert!(platform.starts_with("<?xml version"), "{platform}");
    }

    #[test]
    fn mistakes_name_the_file_and_what_is_allowed() {
        let good = embedded("platforms")[1].1;
        for (from, to, part) in [
            ("hosts = 32", "hosts = 0", "must be at least 1"),
            ("hosts = 32", "host_count = 32", "unknown field `host_count`"),
            ("node-{}", "node", "{} stands for the number"),
            ("<?xml", "<xml", "from <?xml on"),
            (
                "\"smpi/os\" = \"0:3e-7:0\"",
                "\"smpi/os\" = \"0 1\"",
                "`smpi/os` = `0 1`",
            ),
            ("id = \"ib-32x1\"", "id = \"../x\"", "id is `../x`"),
        ] {
            assert!(good.contains(from), "{from}");
            let error = Platform::parse(&good.replace(from, to), "x.toml")
                .unwrap_err()
                .to_string();
            assert!(error.starts_with("x.toml: ") && error.contains(part), "{error}");
        }
        let error = Platform::load("ib-9x9").unwrap_err().to_string();
        assert!(
            error.starts_with("ib-9x9: no platform") && error.contains("ib-32x1"),
            "{error}"
        );
    }
}
