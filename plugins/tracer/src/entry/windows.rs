//! One-sided communication, counted on the communicator of its window. The bytes of an access are those at its origin, or those that come back.

use std::ffi::{c_int, c_void};

use kilter_mpi::{MPI_Comm, MPI_Datatype, MPI_Op};
use mpi_sys::{MPI_Aint, MPI_Group, MPI_Info, MPI_Request, MPI_Win};

use super::{In, Out, counted, prepared_without_counts, without_counts};
use crate::call::{Call, Data};
use crate::handles::WINDOWS;

type New = *mut MPI_Win;

counted! {
    (origin: In, count: N, datatype: MPI_Datatype, target: c_int, displacement: MPI_Aint, target_count: N, target_type: MPI_Datatype,
     window: MPI_Win) =>
        (Call::at(WINDOWS.find(window), Data::Elements(count, datatype))):
        Put MPI_Put PMPI_Put MPI_Put_c PMPI_Put_c;
    (origin: Out, count: N, datatype: MPI_Datatype, target: c_int, displacement: MPI_Aint, target_count: N, target_type: MPI_Datatype,
     window: MPI_Win) =>
        (Call::at(WINDOWS.find(window), Data::Elements(count, datatype))):
        Get MPI_Get PMPI_Get MPI_Get_c PMPI_Get_c;
    (origin: In, count: N, datatype: MPI_Datatype, target: c_int, displacement: MPI_Aint, target_count: N, target_type: MPI_Datatype,
     op: MPI_Op, window: MPI_Win) =>
        (Call::at(WINDOWS.find(window), Data::Elements(count, datatype)).with(op)):
        Accumulate MPI_Accumulate PMPI_Accumulate MPI_Accumulate_c PMPI_Accumulate_c;
    (origin: In, count: N, datatype: MPI_Datatype, result: Out, result_count: N, result_type: MPI_Datatype, target: c_int,
     displacement: MPI_Aint, target_count: N, target_type: MPI_Datatype, op: MPI_Op, window: MPI_Win) =>
        (Call::at(WINDOWS.find(window), Data::Elements(result_count, result_type)).with(op)):
        Get_accumulate MPI_Get_accumulate PMPI_Get_accumulate MPI_Get_accumulate_c PMPI_Get_accumulate_c;
    (origin: In, count: N, datatype: MPI_Datatype, target: c_int, displacement: MPI_Aint, target_count: N, target_type: MPI_Datatype,
     window: MPI_Win, request: *mut MPI_Request) =>
        (Call::at(WINDOWS.find(window), Data::Elements(count, datatype))):
        Rput MPI_Rput PMPI_Rput MPI_Rput_c PMPI_Rput_c;
    (origin: Out, count: N, datatype: MPI_Datatype, target: c_int, displacement: MPI_Aint, target_count: N, target_type: MPI_Datatype,
     window: MPI_Win, request: *mut MPI_Request) =>
        (Call::at(WINDOWS.find(window), Data::Elements(count, datatype))):
        Rget MPI_Rget PMPI_Rget MPI_Rget_c PMPI_Rget_c;
    (origin: In, count: N, datatype: MPI_Datatype, target: c_int, displacement: MPI_Aint, target_count: N, target_type: MPI_Datatype,
     op: MPI_Op, window: MPI_Win, request: *mut MPI_Request) =>
        (Call::at(WINDOWS.find(window), Data::Elements(count, datatype)).with(op)):
        Raccumulate MPI_Raccumulate PMPI_Raccumulate MPI_Raccumulate_c PMPI_Raccumulate_c;
    (origin: In, count: N, datatype: MPI_Datatype, result: Out, result_count: N, result_type: MPI_Datatype, target: c_int,
     displacement: MPI_Aint, target_count: N, target_type: MPI_Datatype, op: MPI_Op, window: MPI_Win, request: *mut MPI_Request) =>
        (Call::at(WINDOWS.find(window), Data::Elements(result_count, result_type)).with(op)):
        Rget_accumulate MPI_Rget_accumulate PMPI_Rget_accumulate MPI_Rget_accumulate_c PMPI_Rget_accumulate_c;
}

without_counts! {
    Fetch_and_op MPI_Fetch_and_op PMPI_Fetch_and_op
        (origin: In, result: Out, datatype: MPI_Datatype, target: c_int, displacement: MPI_Aint, op: MPI_Op, window: MPI_Win) =>
        (Call::at(WINDOWS.find(window), Data::Elements(1, datatype)).with(op));
    Compare_and_swap MPI_Compare_and_swap PMPI_Compare_and_swap
        (origin: In, compared: In, result: Out, datatype: MPI_Datatype, target: c_int, displacement: MPI_Aint, window: MPI_Win) =>
        (Call::at(WINDOWS.find(window), Data::Elements(1, datatype)));

    Win_create_dynamic MPI_Win_create_dynamic PMPI_Win_create_dynamic (info: MPI_Info, comm: MPI_Comm, made: New) =>
        (Call::at(WINDOWS.add(made, comm), Data::Nothing));
    Win_fence MPI_Win_fence PMPI_Win_fence (assert: c_int, window: MPI_Win) => (Call::at(WINDOWS.find(window), Data::Nothing));

    Win_start MPI_Win_start PMPI_Win_start (group: MPI_Group, assert: c_int, window: MPI_Win) =>
        (Call::at(WINDOWS.find(window), Data::Nothing));
    Win_complete MPI_Win_complete PMPI_Win_complete (window: MPI_Win) => (Call::at(WINDOWS.find(window), Data::Nothing));
    Win_post MPI_Win_post PMPI_Win_post (group: MPI_Group, assert: c_int, window: MPI_Win) =>
        (Call::at(WINDOWS.find(window), Data::Nothing));
    Win_wait MPI_Win_wait PMPI_Win_wait (window: MPI_Win) => (Call::at(WINDOWS.find(window), Data::Nothing));
    Win_test MPI_Win_test PMPI_Win_test (window: MPI_Win, flag: *mut c_int) => (Call::at(WINDOWS.find(window), Data::Nothing));
    Win_lock MPI_Win_lock PMPI_Win_lock (kind: c_int, target: c_int, assert: c_int, window: MPI_Win) =>
        (Call::at(WINDOWS.find(window), Data::Nothing));
    Win_unlock MPI_Win_unlock PMPI_Win_unlock (target: c_int, window: MPI_Win) => (Call::at(WINDOWS.find(window), Data::Nothing));
    Win_lock_all MPI_Win_lock_all PMPI_Win_lock_all (assert: c_int, window: MPI_Win) =>
        (Call::at(WINDOWS.find(window), Data::Nothing));
    Win_unlock_all MPI_Win_unlock_all PMPI_Win_unlock_all (window: MPI_Win) => (Call::at(WINDOWS.find(window), Data::Nothing));
    Win_flush MPI_Win_flush PMPI_Win_flush (target: c_int, window: MPI_Win) => (Call::at(WINDOWS.find(window), Data::Nothing));
    Win_flush_all MPI_Win_flush_all PMPI_Win_flush_all (window: MPI_Win) => (Call::at(WINDOWS.find(window), Data::Nothing));
    Win_flush_local MPI_Win_flush_local PMPI_Win_flush_local (target: c_int, window: MPI_Win) =>
        (Call::at(WINDOWS.find(window), Data::Nothing));
    Win_flush_local_all MPI_Win_flush_local_all PMPI_Win_flush_local_all (window: MPI_Win) =>
        (Call::at(WINDOWS.find(window), Data::Nothing));
    Win_sync MPI_Win_sync PMPI_Win_sync (window: MPI_Win) => (Call::at(WINDOWS.find(window), Data::Nothing));
}

// The unit of displacements has the type of one.
counted! {
    (base: Out, bytes: MPI_Aint, unit: D, info: MPI_Info, comm: MPI_Comm, made: New) =>
        (Call::<N>::at(WINDOWS.add(made, comm), Data::Nothing)):
        Win_create MPI_Win_create PMPI_Win_create MPI_Win_create_c PMPI_Win_create_c;
    (bytes: MPI_Aint, unit: D, info: MPI_Info, comm: MPI_Comm, base: *mut c_void, made: New) =>
        (Call::<N>::at(WINDOWS.add(made, comm), Data::Nothing)):
        Win_allocate MPI_Win_allocate PMPI_Win_allocate MPI_Win_allocate_c PMPI_Win_allocate_c,
        Win_allocate_shared MPI_Win_allocate_shared PMPI_Win_allocate_shared MPI_Win_allocate_shared_c PMPI_Win_allocate_shared_c;
}

// The handle is gone when the call returns.
prepared_without_counts! {
    Win_free MPI_Win_free PMPI_Win_free (window: New) { let state = WINDOWS.remove(window); } => (Call::at(state, Data::Nothing));
}
