//! Collective calls in their three forms: blocking, non-blocking and persistent.

use std::ffi::{CStr, CString, c_int, c_void};

use kilter_algorithms::Collective;
use kilter_mpi::{MPI_Comm, MPI_Datatype, MPI_Op, MpiError, constants};
use mpi::ffi::{self, MPI_Info, MPI_Request};

use crate::reason::{NoProgram, Reason};

/// A collective call with all arguments that any function takes; arguments that its function does not take are ignored.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The function.
    pub(crate) function: Collective,
    /// Its communicator.
    pub(crate) comm: MPI_Comm,
    /// Input, or `MPI_IN_PLACE`, or null.
    pub(crate) send: *const c_void,
    /// Elements given (to each rank, where blocks are equal).
    pub(crate) send_count: c_int,
    /// Their type.
    pub(crate) send_type: MPI_Datatype,
    /// Output, or `MPI_IN_PLACE`, or null; the one buffer of a broadcast.
    pub(crate) recv: *mut c_void,
    /// Elements got (from each rank, where blocks are equal).
    pub(crate) recv_count: c_int,
    /// Their type.
    pub(crate) recv_type: MPI_Datatype,
    /// Elements given to each rank, and where they begin.
    pub(crate) send_blocks: Blocks,
    /// Elements got from each rank, and where they begin.
    pub(crate) recv_blocks: Blocks,
    /// Operator.
    pub(crate) op: MPI_Op,
    /// Root in the communicator.
    pub(crate) root: c_int,
}

/// Counts and displacements of a v-variant, in elements.
#[derive(Debug, Clone, Default)]
pub(crate) struct Blocks {
    /// Per rank.
    pub(crate) counts: Vec<c_int>,
    /// Per rank.
    pub(crate) begins: Vec<c_int>,
}

/// One macro arm is one collective of the standard: its arguments are written once for all three forms.
macro_rules! functions {
    ($($pattern:pat => $name:literal, $blocking:ident, $nonblocking:ident, $init:literal,
       |$call:ident| ($($argument:expr => $type:ty),* $(,)?);)*) => {
        impl Call {
            /// Makes the call and returns when it is done here.
            ///
            /// # Safety
            /// All buffers are valid for what is given and got; every rank of the communicator makes the same call.
            pub(crate) unsafe fn block(&self) -> Result<(), MpiError> {
                match self.function {
                    // SAFETY: by this function's contract.
                    $($pattern => { let $call = self; MpiError::check($name, unsafe { ffi::$blocking($($argument,)* self.comm) }) })*
                    Collective::ReduceLocal => Err(no_collective()),
                }
            }

            /// Starts the call; the request completes it.
            ///
            /// # Safety
            /// As for [`Call::block`], until the request is complete.
            pub(crate) unsafe fn start(&self, request: &mut MPI_Request) -> Result<(), MpiError> {
                match self.function {
                    // SAFETY: by this function's contract.
                    $($pattern => { let $call = self; MpiError::check($name, unsafe { ffi::$nonblocking($($argument,)* self.comm, request) }) })*
                    Collective::ReduceLocal => Err(no_collective()),
                }
            }

            /// Makes a persistent request for the call (MPI-4).
            ///
            /// # Errors
            /// The library's, or that it has no such function.
            ///
            /// # Safety
            /// As for [`Call::block`], until the request is freed.
            pub(crate) unsafe fn init(&self, request: &mut MPI_Request) -> Result<(), Reason> {
                match self.function {
                    $($pattern => {
                        type Init = unsafe extern "C" fn($($type,)* MPI_Comm, MPI_Info, *mut MPI_Request) -> c_int;
                        let symbol = persistent($init)?;
                        // SAFETY: the standard gives the function of this name this type.
                        let init = unsafe { std::mem::transmute::<*mut c_void, Init>(symbol) };
                        let $call = self;
                        // SAFETY: by this function's contract.
                        let code = unsafe { init($($argument,)* self.comm, constants::info_null(), request) };
                        Ok(MpiError::check($name, code)?)
                    })*
                    Collective::ReduceLocal => Err(no_collective().into()),
                }
            }

            /// Checks that the library has the persistent form.
            pub(crate) fn check_persistent(function: Collective) -> Result<(), Reason> {
                match function {
                    $($pattern => persistent($init)?,)*
                    Collective::ReduceLocal => return Err(no_collective().into()),
                };
                Ok(())
            }
        }
    };
}

type In = *const c_void;
type Out = *mut c_void;
type Table = *const c_int;

functions! {
    Collective::Allgather => "MPI_Allgather", PMPI_Allgather, PMPI_Iallgather, c"PMPI_Allgather_init",
        |c| (c.send => In, c.send_count => c_int, c.send_type => MPI_Datatype,
             c.recv => Out, c.recv_count => c_int, c.recv_type => MPI_Datatype);
    Collective::Allgatherv => "MPI_Allgatherv", PMPI_Allgatherv, PMPI_Iallgatherv, c"PMPI_Allgatherv_init",
        |c| (c.send => In, c.send_count => c_int, c.send_type => MPI_Datatype,
             c.recv => Out, c.recv_blocks.counts.as_ptr() => Table, c.recv_blocks.begins.as_ptr() => Table, c.recv_type => MPI_Datatype);
    Collective::Allreduce => "MPI_Allreduce", PMPI_Allreduce, PMPI_Iallreduce, c"PMPI_Allreduce_init",
        |c| (c.send => In, c.recv => Out, c.recv_count => c_int, c.recv_type => MPI_Datatype, c.op => MPI_Op);
    Collective::Alltoall => "MPI_Alltoall", PMPI_Alltoall, PMPI_Ialltoall, c"PMPI_Alltoall_init",
        |c| (c.send => In, c.send_count => c_int, c.send_type => MPI_Datatype,
             c.recv => Out, c.recv_count => c_int, c.recv_type => MPI_Datatype);
    Collective::Alltoallv => "MPI_Alltoallv", PMPI_Alltoallv, PMPI_Ialltoallv, c"PMPI_Alltoallv_init",
        |c| (c.send => In, c.send_blocks.counts.as_ptr() => Table, c.send_blocks.begins.as_ptr() => Table, c.send_type => MPI_Datatype,
             c.recv => Out, c.recv_blocks.counts.as_ptr() => Table, c.recv_blocks.begins.as_ptr() => Table, c.recv_type => MPI_Datatype);
    Collective::Barrier => "MPI_Barrier", PMPI_Barrier, PMPI_Ibarrier, c"PMPI_Barrier_init", |_c| ();
    Collective::Bcast => "MPI_Bcast", PMPI_Bcast, PMPI_Ibcast, c"PMPI_Bcast_init",
        |c| (c.recv => Out, c.recv_count => c_int, c.recv_type => MPI_Datatype, c.root => c_int);
    Collective::Exscan => "MPI_Exscan", PMPI_Exscan, PMPI_Iexscan, c"PMPI_Exscan_init",
        |c| (c.send => In, c.recv => Out, c.recv_count => c_int, c.recv_type => MPI_Datatype, c.op => MPI_Op);
    Collective::Gather => "MPI_Gather", PMPI_Gather, PMPI_Igather, c"PMPI_Gather_init",
        |c| (c.send => In, c.send_count => c_int, c.send_type => MPI_Datatype,
             c.recv => Out, c.recv_count => c_int, c.recv_type => MPI_Datatype, c.root => c_int);
    Collective::Gatherv => "MPI_Gatherv", PMPI_Gatherv, PMPI_Igatherv, c"PMPI_Gatherv_init",
        |c| (c.send => In, c.send_count => c_int, c.send_type => MPI_Datatype,
             c.recv => Out, c.recv_blocks.counts.as_ptr() => Table, c.recv_blocks.begins.as_ptr() => Table, c.recv_type => MPI_Datatype,
             c.root => c_int);
    Collective::Reduce => "MPI_Reduce", PMPI_Reduce, PMPI_Ireduce, c"PMPI_Reduce_init",
        |c| (c.send => In, c.recv => Out, c.recv_count => c_int, c.recv_type => MPI_Datatype, c.op => MPI_Op, c.root => c_int);
    Collective::ReduceScatter => "MPI_Reduce_scatter", PMPI_Reduce_scatter, PMPI_Ireduce_scatter, c"PMPI_Reduce_scatter_init",
        |c| (c.send => In, c.recv => Out, c.recv_blocks.counts.as_ptr() => Table, c.recv_type => MPI_Datatype, c.op => MPI_Op);
    Collective::ReduceScatterBlock => "MPI_Reduce_scatter_block", PMPI_Reduce_scatter_block, PMPI_Ireduce_scatter_block,
        c"PMPI_Reduce_scatter_block_init",
        |c| (c.send => In, c.recv => Out, c.recv_count => c_int, c.recv_type => MPI_Datatype, c.op => MPI_Op);
    Collective::Scan => "MPI_Scan", PMPI_Scan, PMPI_Iscan, c"PMPI_Scan_init",
        |c| (c.send => In, c.recv => Out, c.recv_count => c_int, c.recv_type => MPI_Datatype, c.op => MPI_Op);
    Collective::Scatter => "MPI_Scatter", PMPI_Scatter, PMPI_Iscatter, c"PMPI_Scatter_init",
        |c| (c.send => In, c.send_count => c_int, c.send_type => MPI_Datatype,
             c.recv => Out, c.recv_count => c_int, c.recv_type => MPI_Datatype, c.root => c_int);
    Collective::Scatterv => "MPI_Scatterv", PMPI_Scatterv, PMPI_Iscatterv, c"PMPI_Scatterv_init",
        |c| (c.send => In, c.send_blocks.counts.as_ptr() => Table, c.send_blocks.begins.as_ptr() => Table, c.send_type => MPI_Datatype,
             c.recv => Out, c.recv_count => c_int, c.recv_type => MPI_Datatype, c.root => c_int);
}

fn no_collective() -> MpiError {
    MpiError {
        operation: "MPI_Reduce_local",
        code: constants::err_other(),
    }
}

/// A function of MPI-4, which headers of older libraries do not declare. Open MPI 4 has it as an extension, `MPIX_`, with the
/// same arguments.
fn persistent(name: &CStr) -> Result<*mut c_void, NoProgram> {
    let extension = CString::new(name.to_string_lossy().replacen("PMPI_", "PMPIX_", 1)).unwrap_or_default();
    for name in [name, extension.as_c_str()] {
        // SAFETY: looks up a name in what is loaded.
        let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        if !symbol.is_null() {
            return Ok(symbol);
        }
    }
    Err(NoProgram::NoPersistent(name.to_string_lossy().into_owned()))
}
