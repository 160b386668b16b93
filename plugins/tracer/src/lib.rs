//! `libkilter_tracer.so`: counts and times the MPI calls of a program, for `kilter profile`.
//!
//! ```text
//! mpirun -x LD_PRELOAD=/path/libkilter_tracer.so -x KILTER_TRACER_DIR=/path/calls ./program
//! ```
//!
//! | Variable               | Value                                                                      |
//! | ---------------------- | -------------------------------------------------------------------------- |
//! | `KILTER_TRACER_DIR`    | directory into which each rank writes its file; nothing is counted without |
//! | `KILTER_TRACER_MEMORY` | memory of a rank's counts in MiB, 16 by default                            |
//!
//! The tracer is preloaded before the drop-in and the progress thread. It exchanges no message, so that a rank may lack it.
//!
//! * [`entry`]: the exported functions, `MPI_X` and `PMPI_X`: the Fortran layer of Open MPI calls `PMPI_X`.
//! * [`record`]: what a call is counted as.
//! * [`table`], [`key`], [`matrix`]: the counts, in memory of a fixed size.
//! * [`communicator`], [`members`], [`datatype`], [`functions`], [`site`]: what calls are told apart by.
//! * [`thread`], [`clock`]: where a call comes from, and how long it takes.
//! * [`start`], [`settings`], [`mod@write`]: from `MPI_Init` to the file.

mod clock;
mod communicator;
mod datatype;
pub mod entry;
mod functions;
mod key;
mod matrix;
mod members;
mod record;
mod settings;
mod site;
mod start;
mod table;
mod thread;
mod trace;
mod write;
