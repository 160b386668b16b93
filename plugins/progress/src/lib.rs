//! `libkilter_progress.so`: a thread that makes the progress of non-blocking operations while the program computes.
//!
//! ```text
//! mpirun -x LD_PRELOAD=/path/libkilter_progress.so --bind-to none ./program
//! ```
//!
//! | Variable                 | Value                                                                                      |
//! | ------------------------ | ------------------------------------------------------------------------------------------ |
//! | `KILTER_PROGRESS`        | `on` (default), `off`, `force` (starts also where no core is free)                         |
//! | `KILTER_PROGRESS_CPU`    | `auto` (default), `none` (not bound), or numbers of CPUs, one for each rank of a node      |
//! | `KILTER_PROGRESS_NAP_US` | microseconds between two probes; default 0 on a core of its own, 100 on one that is shared |
//! | `KILTER_PROGRESS_REPORT` | `1`: rank 0 says at the end what the thread did, `all`: every rank                         |
//!
//! All ranks of a job preload it or none: those that do exchange messages in `MPI_Init`. Other tools of the profiling interface
//! are preloaded before it.
//!
//! * [`entry`]: the exported functions, `MPI_X` and `PMPI_X`: the Fortran layer of Open MPI calls `PMPI_X`.
//! * [`outstanding`]: which operations are under way, and so whether the thread has anything to do.
//! * [`thread`]: the thread: probes, naps, waits without a cycle.
//! * [`probe`]: the call that makes the library's progress.
//! * [`settings`], [`cpus`], [`placement`], [`exchange`]: whether it may run, and where.
//! * [`start`]: from `MPI_Init` to `MPI_Finalize`.
//! * [`control`]: what a program may ask for while it runs.

pub mod control;
mod cpus;
pub mod entry;
mod exchange;
mod outstanding;
mod placement;
mod probe;
mod settings;
mod start;
mod thread;
