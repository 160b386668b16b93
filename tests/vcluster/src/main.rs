//! `kilter-vcluster`: a virtual cluster of network namespaces, for measuring real MPI libraries on one machine.

mod assemble;
mod cli;
mod counters;
mod family;
mod frame;
mod host;
mod launch;
mod model;
mod netns;
mod packets;
mod poller;
mod process;
mod quantity;
mod realtime;
mod state;
mod switch;
mod tap;
mod teardown;
mod unavailable;
mod up;

use std::{env, ffi::OsString, io::Read as _, os::unix::net::UnixStream, process::ExitCode};

use anyhow::{Context, Result};
use clap::Parser;

use crate::{
    cli::{Action, Cli, Run},
    launch::Launch,
    model::Link,
    state::{Cluster, State},
    unavailable::Unavailable,
};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().collect();
    // The agent's arguments are those of rsh, not ours to parse.
    let result = match arguments.get(1) {
        Some(first) if first == "agent" => host::agent(&arguments[2..]).map(|()| 0),
        _ => act(Cli::parse()),
    };
    result.map_or_else(|error| ExitCode::from(report(&error)), ExitCode::from)
}

fn act(Cli { name, command }: Cli) -> Result<u8> {
    let state = State::new(name);
    match command {
        Action::Up {
            hosts,
            rate,
            latency,
            overhead,
            slow,
            owner,
        } => {
            let cluster = Cluster {
                hosts: usize::from(hosts),
                link: Link {
                    rate,
                    latency,
                    overhead,
                    slow,
                },
                owner,
            };
            up::up(&state, &cluster)?;
            println!("{}", state.directory().display());
            Ok(0)
        }
        Action::Run(run) => run_command(&state, run),
        Action::Stat => stat(&state).map(|()| 0),
        Action::Down => teardown::down(&state).map(|()| 0),
        Action::Switch { state } => State::at(state).and_then(|state| switch::run(&state)).map(|()| 0),
    }
}

fn run_command(state: &State, run: Run) -> Result<u8> {
    let cluster = state.load()?;
    let launch = Launch::new(run.mpi, state, &cluster, usize::from(run.ppn), run.waiter)?;
    let command = if run.mpirun {
        launch.mpirun(run.ranks.map(usize::from), run.command)?
    } else {
        run.command
    };
    host::enter(state, &state.host_name(0))?;
    // The command takes this process's place: its exit code, its signals and its end are one with ours.
    host::exec(&command, &launch.variables())
}

fn stat(state: &State) -> Result<()> {
    state.load()?;
    let mut page = String::new();
    let read = UnixStream::connect(state.path("switch.sock")).and_then(|mut switch| switch.read_to_string(&mut page));
    read.with_context(|| format!("the switch of cluster '{}' does not answer", state.name()))?;
    print!("{page}");
    Ok(())
}

/// Prints an error once, and gives its exit code. The switch says it to `up`, which waits at its standard output.
fn report(error: &anyhow::Error) -> u8 {
    let is_switch = env::args_os().nth(1).is_some_and(|first| first == "switch");
    let unavailable = error.chain().find_map(|cause| cause.downcast_ref::<Unavailable>());
    match unavailable {
        Some(Unavailable(reason)) if is_switch => println!("{reason}"),
        Some(unavailable) => eprintln!("kilter-vcluster: {unavailable}"),
        None if is_switch => println!("{error:#}"),
        None => eprintln!("kilter-vcluster: {error:#}"),
    }
    unavailable.map_or(1, |_| unavailable::EXIT_CODE)
}
