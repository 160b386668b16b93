//! Sends, receives and probes. A blocking receive counts the bytes that came, any other receive those that its buffer holds.

use std::ffi::c_int;

use kilter_mpi::{MPI_Comm, MPI_Datatype, constants};
use mpi_sys::{MPI_Message, MPI_Request, MPI_Status};

use super::{In, Out, counted, exported, library, without_counts};
use crate::functions::Function;
use crate::record::{Begun, Call, Data};

type Requests = *mut MPI_Request;
type Status = *mut MPI_Status;

counted! {
    (buffer: In, count: N, datatype: MPI_Datatype, peer: c_int, tag: c_int, comm: MPI_Comm) =>
        (Call::on(comm, Data::Elements(count, datatype)).to(peer)):
        Send MPI_Send PMPI_Send MPI_Send_c PMPI_Send_c,
        Ssend MPI_Ssend PMPI_Ssend MPI_Ssend_c PMPI_Ssend_c,
        Bsend MPI_Bsend PMPI_Bsend MPI_Bsend_c PMPI_Bsend_c,
        Rsend MPI_Rsend PMPI_Rsend MPI_Rsend_c PMPI_Rsend_c;
    (buffer: In, count: N, datatype: MPI_Datatype, peer: c_int, tag: c_int, comm: MPI_Comm, request: Requests) =>
        (Call::on(comm, Data::Elements(count, datatype)).to(peer)):
        Isend MPI_Isend PMPI_Isend MPI_Isend_c PMPI_Isend_c,
        Issend MPI_Issend PMPI_Issend MPI_Issend_c PMPI_Issend_c,
        Ibsend MPI_Ibsend PMPI_Ibsend MPI_Ibsend_c PMPI_Ibsend_c,
        Irsend MPI_Irsend PMPI_Irsend MPI_Irsend_c PMPI_Irsend_c;
    (buffer: Out, count: N, datatype: MPI_Datatype, peer: c_int, tag: c_int, comm: MPI_Comm, request: Requests) =>
        (Call::on(comm, Data::Elements(count, datatype))):
        Irecv MPI_Irecv PMPI_Irecv MPI_Irecv_c PMPI_Irecv_c;
    (buffer: In, count: N, datatype: MPI_Datatype, peer: c_int, tag: c_int, comm: MPI_Comm, request: Requests) =>
        (Call::on(comm, Data::Elements(count, datatype))):
        Send_init MPI_Send_init PMPI_Send_init MPI_Send_init_c PMPI_Send_init_c,
        Ssend_init MPI_Ssend_init PMPI_Ssend_init MPI_Ssend_init_c PMPI_Ssend_init_c,
        Bsend_init MPI_Bsend_init PMPI_Bsend_init MPI_Bsend_init_c PMPI_Bsend_init_c,
        Rsend_init MPI_Rsend_init PMPI_Rsend_init MPI_Rsend_init_c PMPI_Rsend_init_c;
    (buffer: Out, count: N, datatype: MPI_Datatype, peer: c_int, tag: c_int, comm: MPI_Comm, request: Requests) =>
        (Call::on(comm, Data::Elements(count, datatype))):
        Recv_init MPI_Recv_init PMPI_Recv_init MPI_Recv_init_c PMPI_Recv_init_c;
    (buffer: Out, count: N, datatype: MPI_Datatype, message: *mut MPI_Message, request: Requests) =>
        (Call::without_communicator(Data::Elements(count, datatype))):
        Imrecv MPI_Imrecv PMPI_Imrecv MPI_Imrecv_c PMPI_Imrecv_c;
    (buffer: Out, count: N, datatype: MPI_Datatype, message: *mut MPI_Message, status: Status) =>
        (Call::without_communicator(Data::Elements(count, datatype))):
        Mrecv MPI_Mrecv PMPI_Mrecv MPI_Mrecv_c PMPI_Mrecv_c;
    (send: In, send_count: N, send_type: MPI_Datatype, to: c_int, send_tag: c_int,
     recv: Out, recv_count: N, recv_type: MPI_Datatype, from: c_int, recv_tag: c_int, comm: MPI_Comm, status: Status) =>
        (Call::on(comm, Data::Elements(send_count, send_type)).to(to)):
        Sendrecv MPI_Sendrecv PMPI_Sendrecv MPI_Sendrecv_c PMPI_Sendrecv_c;
    (buffer: Out, count: N, datatype: MPI_Datatype, to: c_int, send_tag: c_int, from: c_int, recv_tag: c_int, comm: MPI_Comm,
     status: Status) =>
        (Call::on(comm, Data::Elements(count, datatype)).to(to)):
        Sendrecv_replace MPI_Sendrecv_replace PMPI_Sendrecv_replace MPI_Sendrecv_replace_c PMPI_Sendrecv_replace_c;
}

// These calls came with MPI 4.
#[cfg(large_counts)]
counted! {
    (send: In, send_count: N, send_type: MPI_Datatype, to: c_int, send_tag: c_int,
     recv: Out, recv_count: N, recv_type: MPI_Datatype, from: c_int, recv_tag: c_int, comm: MPI_Comm, request: Requests) =>
        (Call::on(comm, Data::Elements(send_count, send_type)).to(to)):
        Isendrecv MPI_Isendrecv PMPI_Isendrecv MPI_Isendrecv_c PMPI_Isendrecv_c;
    (buffer: Out, count: N, datatype: MPI_Datatype, to: c_int, send_tag: c_int, from: c_int, recv_tag: c_int, comm: MPI_Comm,
     request: Requests) =>
        (Call::on(comm, Data::Elements(count, datatype)).to(to)):
        Isendrecv_replace MPI_Isendrecv_replace PMPI_Isendrecv_replace MPI_Isendrecv_replace_c PMPI_Isendrecv_replace_c;
}

without_counts! {
    Start MPI_Start PMPI_Start (request: Requests) => (Call::without_communicator(Data::Requests(1)));
    Startall MPI_Startall PMPI_Startall (count: c_int, requests: Requests) => (Call::without_communicator(Data::Requests(count)));
    Probe MPI_Probe PMPI_Probe (from: c_int, tag: c_int, comm: MPI_Comm, status: Status) => (Call::on(comm, Data::Nothing));
    Iprobe MPI_Iprobe PMPI_Iprobe (from: c_int, tag: c_int, comm: MPI_Comm, flag: *mut c_int, status: Status) => (Call::on(comm, Data::Nothing));
    Mprobe MPI_Mprobe PMPI_Mprobe (from: c_int, tag: c_int, comm: MPI_Comm, message: *mut MPI_Message, status: Status) =>
        (Call::on(comm, Data::Nothing));
    Improbe MPI_Improbe PMPI_Improbe (from: c_int, tag: c_int, comm: MPI_Comm, flag: *mut c_int, message: *mut MPI_Message, status: Status) =>
        (Call::on(comm, Data::Nothing));
}

/// A receive in one form: it asks for a status of its own if the program wants none.
macro_rules! receive {
    ($mpi:ident $pmpi:ident $count:ty) => {
        const _: () = {
            exported!($mpi(buffer: Out, count: $count, datatype: MPI_Datatype, from: c_int, tag: c_int, comm: MPI_Comm, status: Status) = counted);
            exported!($pmpi(buffer: Out, count: $count, datatype: MPI_Datatype, from: c_int, tag: c_int, comm: MPI_Comm, status: Status) = counted);

            unsafe extern "C" fn counted(
                buffer: Out,
                count: $count,
                datatype: MPI_Datatype,
                from: c_int,
                tag: c_int,
                comm: MPI_Comm,
                status: Status,
            ) -> c_int {
                let begun = Begun::now();
                // SAFETY: the caller's call is valid, and what it names lives until it has returned; zeros are a status.
                unsafe {
                    let mut own: MPI_Status = std::mem::zeroed();
                    let wanted = status != constants::status_ignore() || !begun.is_counted();
                    let status = if wanted { status } else { &raw mut own };
                    let code = library!($pmpi(
                        buffer => Out, count => $count, datatype => MPI_Datatype, from => c_int, tag => c_int, comm => MPI_Comm, status => Status
                    ));
                    begun.end::<$count>(Function::Recv, code, || {
                        // Where the status does not tell, the size of the buffer.
                        let came = constants::received_bytes(&*status);
                        let data = came.map_or(Data::Elements(count, datatype), |bytes| Data::Received(bytes as u64, datatype));
                        Call::on(comm, data)
                    });
                    code
                }
            }
        };
    };
}

receive!(MPI_Recv PMPI_Recv c_int);
#[cfg(large_counts)]
receive!(MPI_Recv_c PMPI_Recv_c mpi_sys::MPI_Count);
