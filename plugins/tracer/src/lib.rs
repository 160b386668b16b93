//! `libkilter_tracer.so`: counts and times the MPI calls of a program, for `kilter profile`, and records its messages, for `kilter trace`.
//!
//! ```text
//! mpirun -x LD_PRELOAD=/path/libkilter_tracer.so -x KILTER_TRACER_DIR=/path/calls ./program
//! ```
//!
//! | Variable                 | Value                                                                        |
//! | ------------------------ | ---------------------------------------------------------------------------- |
//! | `KILTER_TRACER_DIR`      | directory into which each rank writes its counts; nothing is counted without |
//! | `KILTER_TRACER_MEMORY`   | memory of a rank's counts in MiB, 16 by default                              |
//! | `KILTER_TRACER_SAMPLE`   | one collective call in so many is sampled, 8 by default; 0 for none          |
//! | `KILTER_TRACE_DIR`       | directory into which each rank writes its trace; nothing is traced without   |
//! | `KILTER_TRACE_LIMIT`     | size of a rank's trace in MiB, 256 by default                                |
//! | `KILTER_TRACE_WHEN_FULL` | `stop` (default), or `ring`: the oldest calls give way                       |
//! | `KILTER_TRACE_HASH`      | bytes of a payload that are hashed at most in MiB, 16 by default; 0 for none |
//! | `KILTER_TRACE_CLOCKS`    | `day` (default), or `compared`: one time for all hosts                       |
//!
//! The tracer is preloaded before the drop-in and the progress thread. Where it samples or compares clocks, all ranks must have it: they ask each other in
//! `MPI_Init` and `MPI_Finalize`, on a communicator of its own. Where it does not, it exchanges no message, and a rank may lack it.
//!
//! * [`entry`]: the exported functions, `MPI_X` and `PMPI_X`: the Fortran layer of Open MPI calls `PMPI_X`.
//! * [`record`]: a call as it is seen, on its way to the counts and the trace. [`count`]: the kind as which it is counted. [`amount`]: its bytes.
//! * [`polls`]: which of the calls that find nothing are timed. [`polled`]: where a thread makes them. `short`: the short way of those that are not timed.
//! * [`table`], [`key`], [`matrix`], [`samples`]: the counts, in memory of a fixed size.
//! * [`trace`]: every message, in a file that outlives the process.
//! * [`communicator`], [`handles`], [`members`], [`datatype`], [`number`], [`site`]: what calls are told apart by.
//! * [`thread`], [`gate`], [`clock`]: where a call comes from, if it is the program's own, and how long it takes. [`common_clock`]: how the ranks' clocks differ.
//! * [`start`], [`settings`], [`mod@write`]: from `MPI_Init` to the file.

mod amount;
mod call;
mod clock;
mod common_clock;
mod communicator;
mod count;
mod datatype;
pub mod entry;
mod gate;
mod handles;
mod key;
mod matrix;
mod members;
mod number;
mod polled;
mod polls;
mod record;
mod samples;
mod settings;
#[cfg(target_arch = "x86_64")]
mod short;
mod site;
mod start;
mod table;
mod thread;
mod trace;
mod write;
