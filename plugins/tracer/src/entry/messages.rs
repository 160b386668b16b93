//! Sends, receives and probes that wait. A blocking receive counts the bytes that came, any other receive those that its buffer holds.

use std::ffi::c_int;

use kilter_mpi::{MPI_Comm, MPI_Datatype, constants};
use mpi_sys::{MPI_Message, MPI_Request, MPI_Status};

use super::{In, Out, counted, prepared, prepared_without_counts, without_counts};
use crate::call::{Call, Data};
use crate::record::{no_status, wanted};
use crate::trace::act::{Kind, bits_of};
use crate::trace::event::before;

type Requests = *mut MPI_Request;
type Status = *mut MPI_Status;

counted! {
    (buffer: In, count: N, datatype: MPI_Datatype, peer: c_int, tag: c_int, comm: MPI_Comm) =>
        (Call::on(comm, Data::Elements(count, datatype)).to(peer).sends(buffer, peer, tag)):
        Send MPI_Send PMPI_Send MPI_Send_c PMPI_Send_c,
        Ssend MPI_Ssend PMPI_Ssend MPI_Ssend_c PMPI_Ssend_c,
        Bsend MPI_Bsend PMPI_Bsend MPI_Bsend_c PMPI_Bsend_c,
        Rsend MPI_Rsend PMPI_Rsend MPI_Rsend_c PMPI_Rsend_c;
    (buffer: In, count: N, datatype: MPI_Datatype, peer: c_int, tag: c_int, comm: MPI_Comm, request: Requests) =>
        (Call::on(comm, Data::Elements(count, datatype)).to(peer).sends(buffer, peer, tag).request(request)):
        Isend MPI_Isend PMPI_Isend MPI_Isend_c PMPI_Isend_c,
        Issend MPI_Issend PMPI_Issend MPI_Issend_c PMPI_Issend_c,
        Ibsend MPI_Ibsend PMPI_Ibsend MPI_Ibsend_c PMPI_Ibsend_c,
        Irsend MPI_Irsend PMPI_Irsend MPI_Irsend_c PMPI_Irsend_c;
    (buffer: Out, count: N, datatype: MPI_Datatype, peer: c_int, tag: c_int, comm: MPI_Comm, request: Requests) =>
        (Call::on(comm, Data::Elements(count, datatype)).receives((buffer, count, datatype), peer, tag).request(request)):
        Irecv MPI_Irecv PMPI_Irecv MPI_Irecv_c PMPI_Irecv_c;
    (buffer: In, count: N, datatype: MPI_Datatype, peer: c_int, tag: c_int, comm: MPI_Comm, request: Requests) =>
        (Call::on(comm, Data::Elements(count, datatype)).kind(Kind::Prepares).sends(buffer, peer, tag).request(request)):
        Send_init MPI_Send_init PMPI_Send_init MPI_Send_init_c PMPI_Send_init_c,
        Ssend_init MPI_Ssend_init PMPI_Ssend_init MPI_Ssend_init_c PMPI_Ssend_init_c,
        Bsend_init MPI_Bsend_init PMPI_Bsend_init MPI_Bsend_init_c PMPI_Bsend_init_c,
        Rsend_init MPI_Rsend_init PMPI_Rsend_init MPI_Rsend_init_c PMPI_Rsend_init_c;
    (buffer: Out, count: N, datatype: MPI_Datatype, peer: c_int, tag: c_int, comm: MPI_Comm, request: Requests) =>
        (Call::on(comm, Data::Elements(count, datatype)).kind(Kind::Prepares).receives((buffer, count, datatype), peer, tag).request(request)):
        Recv_init MPI_Recv_init PMPI_Recv_init MPI_Recv_init_c PMPI_Recv_init_c;
}

prepared! {
    (buffer: Out, count: N, datatype: MPI_Datatype, from: c_int, tag: c_int, comm: MPI_Comm, status: Status)
        { let mut own = no_status(); let status = wanted(status, &raw mut own); } =>
        (Call::on(comm, Data::Come(status, count, datatype)).receives((buffer, count, datatype), from, tag).status(status)):
        Recv MPI_Recv PMPI_Recv MPI_Recv_c PMPI_Recv_c;
    (buffer: Out, count: N, datatype: MPI_Datatype, message: *mut MPI_Message, request: Requests)
        { let handle = bits_of(message); } =>
        (Call::without_communicator(Data::Elements(count, datatype)).kind(Kind::ReceivesFound(handle))
            .receives((buffer, count, datatype), mpi_sys::MPI_ANY_SOURCE, mpi_sys::MPI_ANY_TAG).request(request)):
        Imrecv MPI_Imrecv PMPI_Imrecv MPI_Imrecv_c PMPI_Imrecv_c;
    (buffer: Out, count: N, datatype: MPI_Datatype, message: *mut MPI_Message, status: Status)
        { let handle = bits_of(message); let mut own = no_status(); let status = wanted(status, &raw mut own); } =>
        (Call::without_communicator(Data::Elements(count, datatype)).kind(Kind::ReceivesFound(handle))
            .receives((buffer, count, datatype), mpi_sys::MPI_ANY_SOURCE, mpi_sys::MPI_ANY_TAG).status(status)):
        Mrecv MPI_Mrecv PMPI_Mrecv MPI_Mrecv_c PMPI_Mrecv_c;
    (send: In, send_count: N, send_type: MPI_Datatype, to: c_int, send_tag: c_int,
     recv: Out, recv_count: N, recv_type: MPI_Datatype, from: c_int, recv_tag: c_int, comm: MPI_Comm, status: Status)
        { let mut own = no_status(); let status = wanted(status, &raw mut own); } =>
        (Call::on(comm, Data::Elements(send_count, send_type)).to(to).sends(send, to, send_tag)
            .receives((recv, recv_count, recv_type), from, recv_tag).status(status)):
        Sendrecv MPI_Sendrecv PMPI_Sendrecv MPI_Sendrecv_c PMPI_Sendrecv_c;
    (buffer: Out, count: N, datatype: MPI_Datatype, to: c_int, send_tag: c_int, from: c_int, recv_tag: c_int, comm: MPI_Comm,
     status: Status)
        { before(buffer, count, datatype); let mut own = no_status(); let status = wanted(status, &raw mut own); } =>
        (Call::on(comm, Data::Elements(count, datatype)).to(to).kind(Kind::Replaces).sends(buffer, to, send_tag)
            .receives((buffer, count, datatype), from, recv_tag).status(status)):
        Sendrecv_replace MPI_Sendrecv_replace PMPI_Sendrecv_replace MPI_Sendrecv_replace_c PMPI_Sendrecv_replace_c;
}

// These calls came with MPI 4.
#[cfg(large_counts)]
prepared! {
    (send: In, send_count: N, send_type: MPI_Datatype, to: c_int, send_tag: c_int,
     recv: Out, recv_count: N, recv_type: MPI_Datatype, from: c_int, recv_tag: c_int, comm: MPI_Comm, request: Requests) {} =>
        (Call::on(comm, Data::Elements(send_count, send_type)).to(to).sends(send, to, send_tag)
            .receives((recv, recv_count, recv_type), from, recv_tag).request(request)):
        Isendrecv MPI_Isendrecv PMPI_Isendrecv MPI_Isendrecv_c PMPI_Isendrecv_c;
    (buffer: Out, count: N, datatype: MPI_Datatype, to: c_int, send_tag: c_int, from: c_int, recv_tag: c_int, comm: MPI_Comm,
     request: Requests)
        { before(buffer, count, datatype); } =>
        (Call::on(comm, Data::Elements(count, datatype)).to(to).kind(Kind::Replaces).sends(buffer, to, send_tag)
            .receives((buffer, count, datatype), from, recv_tag).request(request)):
        Isendrecv_replace MPI_Isendrecv_replace PMPI_Isendrecv_replace MPI_Isendrecv_replace_c PMPI_Isendrecv_replace_c;
}

without_counts! {
    Start MPI_Start PMPI_Start (request: Requests) =>
        (Call::without_communicator(Data::Requests(1)).kind(Kind::Starts(1)).request(request));
    Startall MPI_Startall PMPI_Startall (count: c_int, requests: Requests) =>
        (Call::without_communicator(Data::Requests(count)).kind(Kind::Starts(count)).request(requests));
    Cancel MPI_Cancel PMPI_Cancel (request: Requests) =>
        (Call::without_communicator(Data::Requests(1)).kind(Kind::Cancels).request(request));
}

/// A probe for this source and tag.
pub(super) fn asks(comm: MPI_Comm, from: c_int, tag: c_int) -> Call<c_int> {
    let no_buffer = (std::ptr::null_mut(), 0, constants::byte());
    Call::on(comm, Data::Nothing).receives(no_buffer, from, tag)
}

prepared_without_counts! {
    Request_free MPI_Request_free PMPI_Request_free (request: Requests) { let handle = bits_of(request); } =>
        (Call::without_communicator(Data::Requests(1)).kind(Kind::Frees(handle)));
    Probe MPI_Probe PMPI_Probe (from: c_int, tag: c_int, comm: MPI_Comm, status: Status)
        { let mut own = no_status(); let status = wanted(status, &raw mut own); } =>
        (asks(comm, from, tag).kind(Kind::Probes(std::ptr::null(), std::ptr::null())).status(status));
    Mprobe MPI_Mprobe PMPI_Mprobe (from: c_int, tag: c_int, comm: MPI_Comm, message: *mut MPI_Message, status: Status)
        { let mut own = no_status(); let status = wanted(status, &raw mut own); } =>
        (asks(comm, from, tag).kind(Kind::Probes(std::ptr::null(), message)).status(status));
}
