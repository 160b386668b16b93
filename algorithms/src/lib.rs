//! Collective algorithms over point-to-point messages, written once and generic over [`Transport`].
//!
//! The same code runs over MPI (in the worker and in the drop-in's plugin), over the threads of one process
//! ([`threads`], for tests) and on the cost model that comes with it. Nothing here knows MPI, does I/O or keeps a
//! global.
//!
//! * [`collective`]: the collectives Kilter speaks of, and how their data is distributed over the ranks.
//! * [`registry`]: one row per algorithm; [`registry::algorithms`] is what `kilter list`, profiles, search and tests
//!   read.
//! * [`alias`]: rows that are another row at some values of their parameters.
//! * [`mockup`]: compositions of library calls with the semantics of another collective.
//! * [`closing`]: calls of a collective at another volume, in parts or padded.
//! * [`reference`](mod@reference): what a collective must deliver, for everybody's tests and for the worker.
//! * [`Nodes`]: which ranks share a node; [`shared_memory`]: what they do in memory they share.
//! * one module per collective, one file per algorithm; [`schedule`]: what they share, as pure functions.

pub mod alias;
pub mod allgather;
pub mod allgatherv;
pub mod allreduce;
pub mod alltoall;
pub mod alltoallv;
pub mod barrier;
pub mod bcast;
pub mod closing;
pub mod collective;
mod entry;
pub mod exscan;
pub mod gather;
pub mod gatherv;
pub mod group;
mod lanes;
pub mod mockup;
mod nodes;
mod overlap;
pub mod parameter;
mod patterns;
pub mod reduce;
pub mod reduce_scatter;
pub mod reduce_scatter_block;
pub mod reference;
pub mod registry;
pub mod scan;
pub mod scatter;
pub mod scatterv;
pub mod schedule;
pub mod scratch;
pub mod shared_memory;
pub mod threads;
pub mod transport;

pub use collective::{Collective, LocalCopy, Shape};
pub use entry::{Entry, Family};
pub use group::Group;
pub use nodes::Nodes;
pub use parameter::Parameter;
pub use registry::{Algorithm, Arguments, Cost, Need, Setting};
pub use shared_memory::SharedMemory;
pub use transport::{Transport, TransportError};
