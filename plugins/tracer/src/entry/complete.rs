//! Calls that complete operations, or ask whether they are complete. They have no communicator; the number of requests is counted.

use std::ffi::c_int;

use mpi_sys::{MPI_Request, MPI_Status};

use super::without_counts;
use crate::record::{Call, Data};

type Requests = *mut MPI_Request;
type Ints = *mut c_int;
type Statuses = *mut MPI_Status;

without_counts! {
    Wait MPI_Wait PMPI_Wait (request: Requests, status: Statuses) => (Call::without_communicator(Data::Requests(1)));
    Waitall MPI_Waitall PMPI_Waitall (count: c_int, requests: Requests, statuses: Statuses) =>
        (Call::without_communicator(Data::Requests(count)));
    Waitany MPI_Waitany PMPI_Waitany (count: c_int, requests: Requests, index: Ints, status: Statuses) =>
        (Call::without_communicator(Data::Requests(count)));
    Waitsome MPI_Waitsome PMPI_Waitsome (count: c_int, requests: Requests, done: Ints, indices: Ints, statuses: Statuses) =>
        (Call::without_communicator(Data::Requests(count)));
    Test MPI_Test PMPI_Test (request: Requests, flag: Ints, status: Statuses) => (Call::without_communicator(Data::Requests(1)));
    Testall MPI_Testall PMPI_Testall (count: c_int, requests: Requests, flag: Ints, statuses: Statuses) =>
        (Call::without_communicator(Data::Requests(count)));
    Testany MPI_Testany PMPI_Testany (count: c_int, requests: Requests, index: Ints, flag: Ints, status: Statuses) =>
        (Call::without_communicator(Data::Requests(count)));
    Testsome MPI_Testsome PMPI_Testsome (count: c_int, requests: Requests, done: Ints, indices: Ints, statuses: Statuses) =>
        (Call::without_communicator(Data::Requests(count)));
}
