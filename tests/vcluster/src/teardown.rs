//! Taking a cluster down, whatever state it is in. Safe to do twice, and by two at once.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;

use crate::{netns, process, state::State};

/// Ends the switch, which removes the cluster as it ends, then removes what it could not.
pub(crate) fn down(state: &State) -> Result<()> {
    if netns::is_inside(&netns::identities(&state.nets()?)) {
        bail!("`down` runs inside the cluster '{}'; run it from outside", state.name());
    }
    if let Some(switch) = process::running_switch(state) {
        switch.signal(Signal::SIGTERM).context("cannot stop the switch")?;
        if !switch.wait(Duration::from_secs(10)) {
            switch.signal(Signal::SIGKILL).context("cannot kill the switch")?;
            switch.wait(Duration::from_secs(10));
        }
    }
    remove(state)
}

/// Kills every process in the cluster's namespaces, unmounts them, and removes the state directory.
pub(crate) fn remove(state: &State) -> Result<()> {
    let nets = state.nets()?;
    kill_all(&netns::identities(&nets))?;
    for net in &nets {
        netns::remove(net)?;
    }
    state.remove()
}

/// Kills until nothing is left: between looking and killing, a process may have started another.
fn kill_all(namespaces: &[netns::Identity]) -> Result<()> {
    const ROUNDS: usize = 50;
    for _ in 0..ROUNDS {
        let processes = netns::processes(namespaces)?;
        if processes.is_empty() {
            return Ok(());
        }
        for process in &processes {
            process
                .signal(Signal::SIGKILL)
                .context("cannot kill a process of the cluster")?;
        }
        for process in &processes {
            process.wait(Duration::from_secs(5));
        }
    }
    bail!("processes of the cluster survived {ROUNDS} rounds of SIGKILL");
}
