//! `up`: checks that a cluster can be had here, and starts its switch.

use std::{
    env, fs,
    io::Read,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use nix::unistd::{Uid, setsid};

use crate::{
    host,
    poller::Poller,
    state::{Cluster, State},
    switch, tap, teardown,
    unavailable::{EXIT_CODE, Unavailable},
};

/// Brings the cluster up, after taking down one of the same name. Returns when packets flow. What it made is removed when
/// it fails.
pub(crate) fn up(state: &State, cluster: &Cluster) -> Result<()> {
    available()?;
    teardown::down(state).with_context(|| format!("cannot take down the previous cluster '{}'", state.name()))?;
    let result = state.create(cluster).and_then(|()| start_switch(state));
    match result {
        Ok(warnings) => {
            warnings
                .lines()
                .for_each(|warning| eprintln!("kilter-vcluster: warning: {warning}"));
            Ok(())
        }
        Err(error) => {
            if let Err(leftover) = teardown::remove(state) {
                eprintln!("kilter-vcluster: warning: not everything was removed: {leftover:#}");
            }
            Err(error)
        }
    }
}

/// Checks the requirements that can be checked before anything is made.
fn available() -> Result<()> {
    if !Uid::effective().is_root() {
        bail!(Unavailable(
            "it takes root to make network namespaces and TAP devices".to_owned()
        ));
    }
    tap::open_tun()?;
    if !host::in_path("ip") {
        bail!(Unavailable(
            "`ip` is not in PATH; install the package iproute2".to_owned()
        ));
    }
    let waited = Poller::new().and_then(|mut poller| poller.wait(Some(0)).map(drop));
    if let Err(error) = waited {
        bail!(Unavailable(format!(
            "epoll_pwait2 does not work, it takes Linux 5.11: {error}"
        )));
    }
    Ok(())
}

/// Starts the switch in a session of its own and waits for its word. Returns its warnings.
fn start_switch(state: &State) -> Result<String> {
    let log = state.path("switch.log");
    let log_file = fs::File::create(&log).with_context(|| format!("cannot make {}", log.display()))?;
    let program = env::current_exe().context("cannot find the path of this program")?;
    let mut command = Command::new(&program);
    command.arg("switch").arg(state.directory()).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log_file);
    // SAFETY: setsid is async-signal-safe and the closure allocates nothing.
    unsafe { command.pre_exec(|| setsid().map(drop).map_err(Into::into)) };
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;

    let mut said = String::new();
    let output = child.stdout.as_mut().context("the switch has no standard output")?;
    output.read_to_string(&mut said).context("cannot hear the switch")?;
    if let Some(warnings) = said.strip_prefix(switch::READY) {
        return Ok(warnings.trim_start().to_owned());
    }
    // Its standard output is closed, so it is ending.
    let status = child.wait().context("cannot wait for the switch")?;
    let reason = said.trim().to_owned();
    if status.code() == Some(i32::from(EXIT_CODE)) {
        bail!(Unavailable(reason));
    }
    let log = fs::read_to_string(&log).unwrap_or_default();
    bail!("the switch failed ({status}): {reason} {}", log.trim());
}
