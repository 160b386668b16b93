//! Building a cluster: namespaces, cards, addresses, TCP settings, and the files that launchers read.

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::{
    frame::link_address,
    netns,
    state::{Cluster, State, address},
    tap::{INTERFACE, Tap},
};

/// TCP as on a clean local network whose transfers are measured from the first byte: no slow start after a pause, nothing
/// remembered from earlier connections, fixed large windows. Each is set inside a namespace only.
const SETTINGS: &[(&str, &str)] = &[
    ("ipv6/conf/all/disable_ipv6", "1"),
    ("ipv4/tcp_congestion_control", "reno"),
    ("ipv4/tcp_slow_start_after_idle", "0"),
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv4/tcp_autocorking", "0"),
    ("ipv4/tcp_rmem", "4096 1048576 16777216"),
    ("ipv4/tcp_wmem", "4096 1048576 16777216"),
];

/// Makes every host and returns the other ends of their cards, in order.
pub(crate) fn hosts(state: &State, cluster: &Cluster) -> Result<Vec<Tap>> {
    (0..cluster.hosts)
        .map(|host| {
            let name = state.host_name(host);
            let net = state.net(&name);
            netns::create(&net)?;
            netns::inside(&net, || {
                let tap = Tap::create()?;
                settings();
                addresses(host, cluster.hosts)?;
                Ok(tap)
            })
            .with_context(|| format!("cannot set up host {name}"))
        })
        .collect()
}

/// Writes a namespace's settings. One that this kernel does not have (or not per namespace) is skipped: it changes the
/// figures by little, and its absence is the kernel's choice.
fn settings() {
    for (key, value) in SETTINGS {
        // A thread's own view: /proc/sys/net shows the namespace of whoever opens it.
        let _ = fs::write(Path::new("/proc/sys/net").join(key), value);
    }
}

/// Addresses, route and neighbours of host `host`, in the namespace of the calling thread. Neighbours are fixed, so that
/// no address resolution happens inside a measurement; the initial windows let a transfer start at full rate.
fn addresses(host: usize, hosts: usize) -> Result<()> {
    let own = address(host);
    let mut batch = format!(
        "link set lo up\n\
         link set {INTERFACE} address {}\n\
         link set {INTERFACE} txqueuelen 10000\n\
         addr add {own}/24 dev {INTERFACE} noprefixroute\n\
         link set {INTERFACE} up\n\
         route add 10.77.0.0/24 dev {INTERFACE} src {own} initcwnd 1000 initrwnd 1000 quickack 1\n",
        link_address_text(host)
    );
    for other in (0..hosts).filter(|other| *other != host) {
        let link = link_address_text(other);
        writeln!(
            batch,
            "neigh replace {} lladdr {link} dev {INTERFACE} nud permanent",
            address(other)
        )?;
    }
    ip_batch(&batch)
}

fn link_address_text(host: usize) -> String {
    link_address(host).map(|byte| format!("{byte:02x}")).join(":")
}

/// Runs iproute2 on a list of commands; it stops at the first that fails.
fn ip_batch(commands: &str) -> Result<()> {
    let mut ip = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start `ip` (package iproute2)")?;
    if let Some(mut input) = ip.stdin.take() {
        // If `ip` has ended early, its own message says more than the broken pipe.
        let _ = input.write_all(commands.as_bytes());
    }
    let output = ip.wait_with_output().context("cannot wait for `ip`")?;
    if !output.status.success() {
        bail!("`ip -batch` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

/// Writes what launchers read: names and addresses, and the launch agent.
pub(crate) fn files(state: &State, cluster: &Cluster) -> Result<()> {
    let mut names = "127.0.0.1 localhost\n".to_owned();
    for host in 0..cluster.hosts {
        writeln!(names, "{} {}", address(host), state.host_name(host))?;
    }
    write(&state.path("hosts"), &names)?;

    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let agent = format!(
        "#!/bin/sh\n# A launch agent with the arguments of rsh: [OPTIONS] HOST COMMAND...\nexec {} agent {} \"$@\"\n",
        shell_quoted(&program)?,
        shell_quoted(state.directory())?
    );
    let path = state.path("agent");
    write(&path, &agent)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot make {} executable", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// A path as one word of a shell.
fn shell_quoted(path: &Path) -> Result<String> {
    let text = path
        .to_str()
        .with_context(|| format!("{} is not UTF-8", path.display()))?;
    Ok(format!("'{}'", text.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_one_word() {
        assert_eq!(shell_quoted(Path::new("/a b/it's")).unwrap(), r"'/a b/it'\''s'");
    }

    #[test]
    fn link_addresses_are_written_as_ip_reads_them() {
        assert_eq!(link_address_text(9), "02:00:00:00:00:0a");
    }
}
