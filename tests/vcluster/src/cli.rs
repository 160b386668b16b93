//! The command line.

use std::{ffi::OsString, path::PathBuf};

use clap::{Parser, Subcommand};

use crate::{
    family::Mpi,
    quantity::{Delay, Rate, Slow},
    state::{MAX_HOSTS, Name},
};

/// A virtual cluster on this machine: hosts as network namespaces, joined by a switch with a rate and a latency.
///
/// The machine's own network is not touched. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not available here (the
/// reason is on standard error); `run` ends with the code of its command.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Cli {
    /// Name of the cluster; hosts are called NAME0, NAME1, ...
    #[arg(long, default_value = "vc", global = true)]
    pub(crate) name: Name,
    #[command(subcommand)]
    pub(crate) command: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Start a cluster, replacing one of the same name
    Up {
        /// Number of hosts
        #[arg(value_parser = clap::value_parser!(u16).range(1..=MAX_HOSTS as i64))]
        hosts: u16,
        /// Rate of every host's port, each way
        #[arg(long, default_value = "1Gbit")]
        rate: Rate,
        /// Time from port to port
        #[arg(long, default_value = "200us")]
        latency: Delay,
        /// Time that each packet costs at either port, besides its bytes
        #[arg(long, default_value = "0us")]
        overhead: Delay,
        /// A host whose packets take longer each way, by its number and the time, such as 3:300us
        #[arg(long, value_name = "HOST:DELAY")]
        slow: Option<Slow>,
        /// Take the cluster down when this process ends, however it ends
        #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
        owner: Option<i32>,
    },
    /// Run a command on the first host, with KILTER_HOSTFILE, KILTER_LAUNCH_AGENT, KILTER_WAIT, KILTER_MCA and KILTER_ENV set
    Run(Run),
    /// Print what the switch has carried, and how late
    Stat,
    /// Kill everything in the cluster and remove it; does nothing if there is none
    Down,
    /// The switch itself, started by `up`
    #[command(hide = true)]
    Switch { state: PathBuf },
}

#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// Ranks per host in the host file
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) ppn: u16,
    /// Library that makes ranks wait instead of spin [default: libkilter_waiter.so beside this program]
    #[arg(long, value_name = "FILE")]
    pub(crate) waiter: Option<PathBuf>,
    /// The MPI library that COMMAND launches: host files and settings differ
    #[arg(long, value_enum, default_value_t = Mpi::Openmpi)]
    pub(crate) mpi: Mpi,
    /// COMMAND is arguments and a program for the library's launcher (KILTER_MPIRUN, else the one in PATH)
    #[arg(long)]
    pub(crate) mpirun: bool,
    /// Ranks of --mpirun [default: hosts times ranks per host]
    #[arg(short = 'n', long, requires = "mpirun", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) ranks: Option<u16>,
    /// Program to run, with its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}
