//! Calls that complete operations, or ask whether they are complete. They have no communicator; the number of requests is counted.

use std::ffi::c_int;

use mpi_sys::{MPI_Request, MPI_Status};

use super::prepared_without_counts;
use crate::call::{Call, Data};
use crate::record::no_status;
use crate::trace::act::Done;
use crate::trace::completion::{noted, noted_one};

type Requests = *mut MPI_Request;
type Ints = *mut c_int;
type Statuses = *mut MPI_Status;

prepared_without_counts! {
    Wait MPI_Wait PMPI_Wait (request: Requests, status: Statuses)
        { let mut own = no_status(); let (handle, status) = noted_one(request, status, &raw mut own); } =>
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
    Test MPI_Test PMPI_Test (request: Requests, flag: Ints, status: Statuses)
        { let mut own = no_status(); let (handle, status) = noted_one(request, status, &raw mut own); } =>
        (Call::without_communicator(Data::Requests(1)).completes(Done::One(handle, flag), status));
    Testall MPI_Testall PMPI_Testall (count: c_int, requests: Requests, flag: Ints, statuses: Statuses)
        { let statuses = noted(count, requests, statuses); } =>
        (Call::without_communicator(Data::Requests(count)).completes(Done::All(flag), statuses));
    Testany MPI_Testany PMPI_Testany (count: c_int, requests: Requests, index: Ints, flag: Ints, status: Statuses)
        { let status = noted(count, requests, status); } =>
        (Call::without_communicator(Data::Requests(count)).completes(Done::Any(index, flag), status));
    Testsome MPI_Testsome PMPI_Testsome (count: c_int, requests: Requests, done: Ints, indices: Ints, statuses: Statuses)
        { let statuses = noted(count, requests, statuses); } =>
        (Call::without_communicator(Data::Requests(count)).completes(Done::Some(done, indices), statuses));
}
