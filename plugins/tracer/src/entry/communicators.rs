//! Calls that make and free communicators, counted on the communicator that they are made from. A new one gets its state at once, so that all
//! its ranks number it alike.

use std::ffi::{CStr, c_char, c_int};

use kilter_mpi::{MPI_Comm, constants};
use mpi_sys::{MPI_Group, MPI_Info, MPI_Request};

use super::{exported, library, without_counts};
use crate::call::{Call, Data};
use crate::communicator;
use crate::record::Begun;
use crate::start;
use kilter_protocol::functions::Function;

type New = *mut MPI_Comm;
type Ints = *const c_int;

/// # Safety
/// The library has just written the handle.
unsafe fn number(made: New) {
    // SAFETY: by this function's contract.
    unsafe {
        if start::active().is_some() && *made != constants::comm_null() {
            let _ = communicator::look_up(*made);
        }
    }
}

without_counts! {
    Comm_dup MPI_Comm_dup PMPI_Comm_dup (comm: MPI_Comm, made: New) => ({ number(made); Call::on(comm, Data::Nothing) });
    Comm_dup_with_info MPI_Comm_dup_with_info PMPI_Comm_dup_with_info (comm: MPI_Comm, info: MPI_Info, made: New) =>
        ({ number(made); Call::on(comm, Data::Nothing) });
    // The new communicator may not be used before the request is complete.
    Comm_idup MPI_Comm_idup PMPI_Comm_idup (comm: MPI_Comm, made: New, request: *mut MPI_Request) => (Call::on(comm, Data::Nothing));
    Comm_split MPI_Comm_split PMPI_Comm_split (comm: MPI_Comm, color: c_int, key: c_int, made: New) =>
        ({ number(made); Call::on(comm, Data::Nothing) });
    Comm_split_type MPI_Comm_split_type PMPI_Comm_split_type (comm: MPI_Comm, kind: c_int, key: c_int, info: MPI_Info, made: New) =>
        ({ number(made); Call::on(comm, Data::Nothing) });
    Comm_create MPI_Comm_create PMPI_Comm_create (comm: MPI_Comm, group: MPI_Group, made: New) =>
        ({ number(made); Call::on(comm, Data::Nothing) });
    Comm_create_group MPI_Comm_create_group PMPI_Comm_create_group (comm: MPI_Comm, group: MPI_Group, tag: c_int, made: New) =>
        ({ number(made); Call::on(comm, Data::Nothing) });
    Cart_create MPI_Cart_create PMPI_Cart_create
        (comm: MPI_Comm, dimensions: c_int, sizes: Ints, periods: Ints, reorder: c_int, made: New) =>
        ({ number(made); Call::on(comm, Data::Nothing) });
    Cart_sub MPI_Cart_sub PMPI_Cart_sub (comm: MPI_Comm, remain: Ints, made: New) => ({ number(made); Call::on(comm, Data::Nothing) });
    Graph_create MPI_Graph_create PMPI_Graph_create (comm: MPI_Comm, nodes: c_int, index: Ints, edges: Ints, reorder: c_int, made: New) =>
        ({ number(made); Call::on(comm, Data::Nothing) });
    Dist_graph_create MPI_Dist_graph_create PMPI_Dist_graph_create
        (comm: MPI_Comm, count: c_int, sources: Ints, degrees: Ints, targets: Ints, weights: Ints, info: MPI_Info, reorder: c_int, made: New) =>
        ({ number(made); Call::on(comm, Data::Nothing) });
    Dist_graph_create_adjacent MPI_Dist_graph_create_adjacent PMPI_Dist_graph_create_adjacent
        (comm: MPI_Comm, from_count: c_int, sources: Ints, source_weights: Ints, to_count: c_int, targets: Ints, target_weights: Ints,
         info: MPI_Info, reorder: c_int, made: New) =>
        ({ number(made); Call::on(comm, Data::Nothing) });
    Intercomm_create MPI_Intercomm_create PMPI_Intercomm_create
        (comm: MPI_Comm, leader: c_int, peer: MPI_Comm, remote_leader: c_int, tag: c_int, made: New) =>
        ({ number(made); Call::on(comm, Data::Nothing) });
    Intercomm_merge MPI_Intercomm_merge PMPI_Intercomm_merge (comm: MPI_Comm, high: c_int, made: New) =>
        ({ number(made); Call::on(comm, Data::Nothing) });
}

exported!(MPI_Comm_free(comm: New) = free);
exported!(PMPI_Comm_free(comm: New) = free);

/// The communicator is gone when the call returns, so that it is looked up before.
unsafe extern "C" fn free(comm: New) -> c_int {
    let begun = Begun::now(Function::Comm_free);
    // SAFETY: the caller's call is valid. The states live as long as the process.
    unsafe {
        let known = if begun.is_counted() && !comm.is_null() && *comm != constants::comm_null() {
            communicator::look_up(*comm)
        } else {
            None
        };
        let code = library!(PMPI_Comm_free(comm => New));
        begun.end(code, || Call::at(known, Data::<c_int>::Nothing));
        code
    }
}

exported!(MPI_Comm_set_name(comm: MPI_Comm, name: *const c_char) = set_name);
exported!(PMPI_Comm_set_name(comm: MPI_Comm, name: *const c_char) = set_name);

unsafe extern "C" fn set_name(comm: MPI_Comm, name: *const c_char) -> c_int {
    // SAFETY: the caller's call is valid; the name is a C string.
    unsafe {
        let code = library!(PMPI_Comm_set_name(comm => MPI_Comm, name => *const c_char));
        if code == 0 && start::active().is_some() && !name.is_null() {
            communicator::set_label(comm, &CStr::from_ptr(name).to_string_lossy());
        }
        code
    }
}
