//! MPI's files, counted on the communicator that opened them. A read counts the bytes that came, where the call says how many did.

use std::ffi::{c_char, c_int};

use kilter_mpi::{MPI_Comm, MPI_Datatype};
use mpi_sys::{MPI_File, MPI_Info, MPI_Offset, MPI_Request, MPI_Status};

use super::{In, Out, counted, prepared, prepared_without_counts, without_counts};
use crate::call::{Call, Data};
use crate::handles::FILES;
use crate::record::{no_status, wanted};

type Status = *mut MPI_Status;
type Request = *mut MPI_Request;

without_counts! {
    File_open MPI_File_open PMPI_File_open (comm: MPI_Comm, name: *const c_char, mode: c_int, info: MPI_Info, made: *mut MPI_File) =>
        (Call::at(FILES.add(made, comm), Data::Nothing));
    File_sync MPI_File_sync PMPI_File_sync (file: MPI_File) => (Call::at(FILES.find(file), Data::Nothing));
    File_set_view MPI_File_set_view PMPI_File_set_view
        (file: MPI_File, offset: MPI_Offset, element: MPI_Datatype, view: MPI_Datatype, representation: *const c_char, info: MPI_Info) =>
        (Call::at(FILES.find(file), Data::Nothing));
    File_set_size MPI_File_set_size PMPI_File_set_size (file: MPI_File, bytes: MPI_Offset) =>
        (Call::at(FILES.find(file), Data::Nothing));
    File_preallocate MPI_File_preallocate PMPI_File_preallocate (file: MPI_File, bytes: MPI_Offset) =>
        (Call::at(FILES.find(file), Data::Nothing));
    File_read_all_end MPI_File_read_all_end PMPI_File_read_all_end (file: MPI_File, buffer: Out, status: Status) =>
        (Call::at(FILES.find(file), Data::Nothing));
    File_read_at_all_end MPI_File_read_at_all_end PMPI_File_read_at_all_end (file: MPI_File, buffer: Out, status: Status) =>
        (Call::at(FILES.find(file), Data::Nothing));
    File_read_ordered_end MPI_File_read_ordered_end PMPI_File_read_ordered_end (file: MPI_File, buffer: Out, status: Status) =>
        (Call::at(FILES.find(file), Data::Nothing));
    File_write_all_end MPI_File_write_all_end PMPI_File_write_all_end (file: MPI_File, buffer: In, status: Status) =>
        (Call::at(FILES.find(file), Data::Nothing));
    File_write_at_all_end MPI_File_write_at_all_end PMPI_File_write_at_all_end (file: MPI_File, buffer: In, status: Status) =>
        (Call::at(FILES.find(file), Data::Nothing));
    File_write_ordered_end MPI_File_write_ordered_end PMPI_File_write_ordered_end (file: MPI_File, buffer: In, status: Status) =>
        (Call::at(FILES.find(file), Data::Nothing));
}

// The handle is gone when the call returns.
prepared_without_counts! {
    File_close MPI_File_close PMPI_File_close (file: *mut MPI_File) { let state = FILES.remove(file); } =>
        (Call::at(state, Data::Nothing));
}

prepared! {
    (file: MPI_File, buffer: Out, count: N, datatype: MPI_Datatype, status: Status)
        { let mut own = no_status(); let status = wanted(status, &raw mut own); } =>
        (Call::at(FILES.find(file), Data::Come(status, count, datatype))):
        File_read MPI_File_read PMPI_File_read MPI_File_read_c PMPI_File_read_c,
        File_read_all MPI_File_read_all PMPI_File_read_all MPI_File_read_all_c PMPI_File_read_all_c,
        File_read_shared MPI_File_read_shared PMPI_File_read_shared MPI_File_read_shared_c PMPI_File_read_shared_c,
        File_read_ordered MPI_File_read_ordered PMPI_File_read_ordered MPI_File_read_ordered_c PMPI_File_read_ordered_c;
    (file: MPI_File, offset: MPI_Offset, buffer: Out, count: N, datatype: MPI_Datatype, status: Status)
        { let mut own = no_status(); let status = wanted(status, &raw mut own); } =>
        (Call::at(FILES.find(file), Data::Come(status, count, datatype))):
        File_read_at MPI_File_read_at PMPI_File_read_at MPI_File_read_at_c PMPI_File_read_at_c,
        File_read_at_all MPI_File_read_at_all PMPI_File_read_at_all MPI_File_read_at_all_c PMPI_File_read_at_all_c;
}

counted! {
    (file: MPI_File, buffer: In, count: N, datatype: MPI_Datatype, status: Status) =>
        (Call::at(FILES.find(file), Data::Elements(count, datatype))):
        File_write MPI_File_write PMPI_File_write MPI_File_write_c PMPI_File_write_c,
        File_write_all MPI_File_write_all PMPI_File_write_all MPI_File_write_all_c PMPI_File_write_all_c,
        File_write_shared MPI_File_write_shared PMPI_File_write_shared MPI_File_write_shared_c PMPI_File_write_shared_c,
        File_write_ordered MPI_File_write_ordered PMPI_File_write_ordered MPI_File_write_ordered_c PMPI_File_write_ordered_c;
    (file: MPI_File, offset: MPI_Offset, buffer: In, count: N, datatype: MPI_Datatype, status: Status) =>
        (Call::at(FILES.find(file), Data::Elements(count, datatype))):
        File_write_at MPI_File_write_at PMPI_File_write_at MPI_File_write_at_c PMPI_File_write_at_c,
        File_write_at_all MPI_File_write_at_all PMPI_File_write_at_all MPI_File_write_at_all_c PMPI_File_write_at_all_c;

    (file: MPI_File, buffer: Out, count: N, datatype: MPI_Datatype, request: Request) =>
        (Call::at(FILES.find(file), Data::Elements(count, datatype))):
        File_iread MPI_File_iread PMPI_File_iread MPI_File_iread_c PMPI_File_iread_c,
        File_iread_all MPI_File_iread_all PMPI_File_iread_all MPI_File_iread_all_c PMPI_File_iread_all_c,
        File_iread_shared MPI_File_iread_shared PMPI_File_iread_shared MPI_File_iread_shared_c PMPI_File_iread_shared_c;
    (file: MPI_File, offset: MPI_Offset, buffer: Out, count: N, datatype: MPI_Datatype, request: Request) =>
        (Call::at(FILES.find(file), Data::Elements(count, datatype))):
        File_iread_at MPI_File_iread_at PMPI_File_iread_at MPI_File_iread_at_c PMPI_File_iread_at_c,
        File_iread_at_all MPI_File_iread_at_all PMPI_File_iread_at_all MPI_File_iread_at_all_c PMPI_File_iread_at_all_c;
    (file: MPI_File, buffer: In, count: N, datatype: MPI_Datatype, request: Request) =>
        (Call::at(FILES.find(file), Data::Elements(count, datatype))):
        File_iwrite MPI_File_iwrite PMPI_File_iwrite MPI_File_iwrite_c PMPI_File_iwrite_c,
        File_iwrite_all MPI_File_iwrite_all PMPI_File_iwrite_all MPI_File_iwrite_all_c PMPI_File_iwrite_all_c,
        File_iwrite_shared MPI_File_iwrite_shared PMPI_File_iwrite_shared MPI_File_iwrite_shared_c PMPI_File_iwrite_shared_c;
    (file: MPI_File, offset: MPI_Offset, buffer: In, count: N, datatype: MPI_Datatype, request: Request) =>
        (Call::at(FILES.find(file), Data::Elements(count, datatype))):
        File_iwrite_at MPI_File_iwrite_at PMPI_File_iwrite_at MPI_File_iwrite_at_c PMPI_File_iwrite_at_c,
        File_iwrite_at_all MPI_File_iwrite_at_all PMPI_File_iwrite_at_all MPI_File_iwrite_at_all_c PMPI_File_iwrite_at_all_c;

    (file: MPI_File, buffer: Out, count: N, datatype: MPI_Datatype) =>
        (Call::at(FILES.find(file), Data::Elements(count, datatype))):
        File_read_all_begin MPI_File_read_all_begin PMPI_File_read_all_begin MPI_File_read_all_begin_c PMPI_File_read_all_begin_c,
        File_read_ordered_begin MPI_File_read_ordered_begin PMPI_File_read_ordered_begin
            MPI_File_read_ordered_begin_c PMPI_File_read_ordered_begin_c;
    (file: MPI_File, offset: MPI_Offset, buffer: Out, count: N, datatype: MPI_Datatype) =>
        (Call::at(FILES.find(file), Data::Elements(count, datatype))):
        File_read_at_all_begin MPI_File_read_at_all_begin PMPI_File_read_at_all_begin
            MPI_File_read_at_all_begin_c PMPI_File_read_at_all_begin_c;
    (file: MPI_File, buffer: In, count: N, datatype: MPI_Datatype) =>
        (Call::at(FILES.find(file), Data::Elements(count, datatype))):
        File_write_all_begin MPI_File_write_all_begin PMPI_File_write_all_begin
            MPI_File_write_all_begin_c PMPI_File_write_all_begin_c,
        File_write_ordered_begin MPI_File_write_ordered_begin PMPI_File_write_ordered_begin
            MPI_File_write_ordered_begin_c PMPI_File_write_ordered_begin_c;
    (file: MPI_File, offset: MPI_Offset, buffer: In, count: N, datatype: MPI_Datatype) =>
        (Call::at(FILES.find(file), Data::Elements(count, datatype))):
        File_write_at_all_begin MPI_File_write_at_all_begin PMPI_File_write_at_all_begin
            MPI_File_write_at_all_begin_c PMPI_File_write_at_all_begin_c;
}
