//! Runs this crate on real ranks: every mock-up, every algorithm and every library call against a sequential model.
//!
//! Without arguments the program starts itself under `mpirun` (or `$MPIRUN`) with 1 to 5 ranks; with `rank` or `lanes` it is one of them.
//! A failure prints the case with all it takes to repeat it and ends the job.

mod blocks;
mod cases;
mod control_variables;
mod given_up;
mod model;
mod shared_memory;

use std::process::{Command, ExitCode};

use kilter_mpi::{MPI_Comm, constants, info};

/// Numbers of ranks; more than the cores, so jobs yield. With four, mock-ups over lanes alone: the others need no even number.
const JOBS: [(usize, &str); 5] = [(1, "rank"), (2, "rank"), (3, "rank"), (4, LANES), (5, "rank")];

/// The argument of a rank of a job of mock-ups over lanes.
const LANES: &str = "lanes";

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("rank") => as_rank(everything),
        Some(LANES) => as_rank(cases::over_lanes),
        // Cargo asks for a list of tests here and there.
        Some("--list") => ExitCode::SUCCESS,
        _ => launch(),
    }
}

fn launch() -> ExitCode {
    let mpirun = std::env::var("MPIRUN").unwrap_or_else(|_| "mpirun".to_owned());
    let open_mpi = ["--allow-run-as-root", "--oversubscribe"];
    let options = if constants::mpi_family() == 1 {
        &open_mpi[..]
    } else {
        &[]
    };
    for (ranks, of_rank) in JOBS {
        let program = std::env::current_exe().expect("a program knows its path");
        let count = ranks.to_string();
        let status = Command::new("timeout")
            .args(["--kill-after=5", "240", &mpirun])
            .args(options)
            .args(["-n", &count])
            // So that a long message needs both sides.
            .env("OMPI_MCA_btl_vader_single_copy_mechanism", "none")
            .arg(program)
            .arg(of_rank)
            .status();
        match status {
            Ok(status) if status.success() => println!("on_mpi: {ranks} ranks ok"),
            Ok(status) => {
                eprintln!(
                    "on_mpi: {ranks} ranks FAILED ({status}); repeat with `{mpirun} -n {ranks} PROGRAM {of_rank}`"
                );
                return ExitCode::FAILURE;
            }
            Err(error) => {
                eprintln!("on_mpi: cannot start `{mpirun}`: {error}; install an MPI library or set MPIRUN");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn everything(comm: MPI_Comm) {
    shared_memory::all(comm);
    given_up::all(comm);
    blocks::all(comm);
    cases::all(comm);
    control_variables::all(info::rank(comm).expect("a rank"));
}

fn as_rank(body: fn(MPI_Comm)) -> ExitCode {
    // SAFETY: called once, first, from the only thread; arguments may be null.
    unsafe { mpi_sys::PMPI_Init(std::ptr::null_mut(), std::ptr::null_mut()) };
    // A panic on one rank must end the job instead of leaving the others waiting.
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("{panic}");
        // SAFETY: MPI is initialised.
        unsafe { mpi_sys::PMPI_Abort(constants::comm_world(), 1) };
    }));
    // SAFETY: all ranks make the same call.
    let comm = unsafe { info::comm_private(constants::comm_world()) }.expect("a communicator of all ranks");
    body(comm);
    // SAFETY: the communicator is not used afterwards; nothing is pending.
    unsafe {
        info::comm_free(comm).expect("a communicator is freed");
        mpi_sys::PMPI_Finalize();
    }
    ExitCode::SUCCESS
}
