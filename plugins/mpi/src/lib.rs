//! A thin, checked layer over PMPI: what the worker and the drop-in's plugin need of an MPI library.
//!
//! Only `PMPI_*` is called, never `MPI_*`: inside the drop-in and its plugins the name `MPI_Send` is the drop-in's own.
//!
//! * [`library_call`]: the library's collectives behind one signature.
//! * [`MpiTransport`]: point-to-point messages for the algorithms of `kilter_algorithms`.
//! * [`Pipeline`]: mock-ups, compositions of library calls whose data shapes chain, or of calls on nodes and lanes.
//! * [`Arena`]: scratch that outlives the call, one per communicator.
//! * [`mpit`]: control variables by name.
//! * [`counters`]: performance variables that count what a rank sends to each other.
//! * [`clocks`]: how the clocks of the ranks differ.
//! * [`environment`]: variables, but in a process with more rights than who started it.
//! * [`info`]: version, rank, size, duplicates of communicators.
//! * [`attribute`]: attributes of communicators.
//! * [`presence`]: whether every rank has loaded a preloaded library.
//! * [`nodes()`]: which ranks share a node.
//! * [`layout`]: how a datatype lies in memory. [`mod@envelope`]: how it was made. [`blocks`]: where its data lie. [`packing`]: its elements as bytes in a row.
//! * [`overlap()`]: whether a call would write what it reads.
//! * [`handle`]: handles as numbers.
//!
//! Messages move as `MPI_BYTE`, so all ranks must represent data alike (one architecture), which every MPI library in use
//! requires in practice.

mod arena;
mod arguments;
pub mod attribute;
pub mod blocks;
pub mod clocks;
mod closing;
pub mod constants;
pub mod counters;
pub mod envelope;
pub mod environment;
mod error;
mod forgotten;
pub mod handle;
mod in_use;
pub mod info;
mod lanes;
pub mod layout;
mod library;
pub mod library_file;
pub mod mpit;
mod nodes;
mod over_lanes;
mod overlap;
pub mod packing;
mod pipeline;
mod predefined;
pub mod presence;
mod real;
mod say;
mod shared_memory;
mod transport;

pub use arena::Arena;
pub use arguments::CallArguments;
pub use closing::closing_call;
pub use error::MpiError;
pub use lanes::LanesError;
pub use library::{Caller, Division, Library, abort, library_call};
pub use mpi_sys::{MPI_Comm, MPI_Datatype, MPI_Op};
pub use nodes::{is_one_node, nodes};
pub use overlap::overlap;
pub use pipeline::{Pipeline, PipelineError};
pub use real::Real;
pub use say::{say, say_as};
pub use transport::{MpiRequest, MpiTransport, OverMpi, PIECE_BYTES};
