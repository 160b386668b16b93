//! Calls that wait until operations are complete. They have no communicator; the number of requests is counted.

use std::ffi::c_int;

use mpi_sys::{MPI_Request, MPI_Status};

use super::prepared_without_counts;
use crate::call::{Call, Data};
use crate::record::no_status;
use crate::trace::act::{Done, bits_of};
use crate::trace::completion::{noted, traced};

type Requests = *mut MPI_Request;
type Ints = *mut c_int;
type Statuses = *mut MPI_Status;

prepared_without_counts! {
    Wait MPI_Wait PMPI_Wait (request: Requests, status: Statuses)
        { let handle = bits_of(request); let mut own = no_status(); let status = traced(status, &raw mut own); } =>
        (Call::without_communicator(Data::Requests(1)).completes(Done::One(handle, std::ptr::null()), status));
    Waitall MPI_Waitall PMPI_Waitall (count: c_int, requests: Requests, statuses: Statuses)
        { let statuses = noted(count, requests, statuses); } =>
        (Call::without_communicator(Data::Requests(count)).completes(Done::All(std::ptr::null()), statuses));
    Waitany MPI_Waitany PMPI_Waitany (count: c_int, requests: Requests, index: Ints, status: Statuses)
        { let status = noted(count, requests, status); } =>
        (Call::without_communicator(Data::Requests(count)).completes(Done::Any(index, std::ptr::null()), status));
    Waitsome MPI_Waitsome PMPI_Waitsome (count: c_int, requests: Requests, done: Ints, indices: Ints, statuses: Statuses)
        { let statuses = noted(count, requests, statuses); } =>
        (Call::without_communicator(Data::Requests(count)).completes(Done::Some(done, indices), statuses));
}
