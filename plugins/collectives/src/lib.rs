//! Kilter's collectives as a plugin: every algorithm of the registry, every mock-up and every row that splits or pads a call, behind `kilter_abi`.
//!
//! The drop-in loads it as a shared object. The worker links it and calls the same rows, so that what is measured is what is deployed.
//!
//! * [`rows`]: the table that the drop-in asks for.
//! * [`run`]: the function behind each row: no panic leaves it, and an error ends the job, since other ranks may be waiting.
//! * [`movement`], [`reduction`]: the program's buffers, in place or of any datatype, as the algorithms want them; [`execute`] runs a
//!   row on them.
//! * [`inner`]: the calls that mock-ups and rows at another volume are made of, carried out as they are deployed.
//! * [`side`]: what one rank gives or takes in a movement, as the program describes it.

mod buffers;
mod call;
mod error;
mod execute;
pub mod inner;
mod movement;
mod reduction;
mod row;
mod rows;
mod run;
mod side;

pub use run::UNAVAILABLE_REASON;

use kilter_abi::{ABI_VERSION, MAGIC, MPI_IDENTITY, Plugin};

/// The object that makes this a plugin.
#[unsafe(export_name = "kilter_plugin")]
pub static PLUGIN: Plugin = Plugin {
    magic: MAGIC,
    abi_version: ABI_VERSION,
    struct_size: size_of::<Plugin>() as u32,
    mpi_identity: MPI_IDENTITY,
    reserved: 0,
    name: c"kilter-collectives".as_ptr(),
    algorithms: Some(rows::algorithms),
    release: Some(run::release),
    // The registry says it, to all that ask.
    scratch: None,
};
