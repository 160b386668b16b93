//! The exchange of an epoch: one non-blocking reduction of 64-bit integers with MAX, on the private communicator.
//!
//! Order. Each exchange begins within a collective call of the program's communicator, at a number of call that all ranks compute alike, so that
//! all ranks begin the exchanges of one private communicator in the same order, as MPI wants it of non-blocking collectives. Communicators that share a
//! private one have the same ranks, which must call collectives in one order there as well.
//!
//! Waiting. It is within a later collective call of the same communicator (or its freeing, or `MPI_Finalize`), and every rank has begun the exchange
//! in a call before that one. A rank that has not come so far yet does not need this rank to come there: it would need a collective call to return
//! before another rank has made it, which no program may rely on. A rank never tests whether an exchange is complete, since the answer could
//! differ from another rank's.
//!
//! Freeing. A communicator's exchanges are completed when the program calls `MPI_Comm_free`, before the library's function ([`crate::free`]). Some libraries hold a lock
//! while they delete attributes, which other threads' calls need: a rank that waited there for another rank could keep its own threads from the very
//! calls that the other rank waits for. Where a communicator ends otherwise, its exchanges are left to `MPI_Finalize`.

use std::ffi::c_int;

use kilter_mpi::{MPI_Comm, MpiError, constants};

/// The progress of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// None was begun, or its result was taken.
    Idle,
    UnderWay,
    /// Its result can be taken.
    Complete,
}

/// The exchange of a site, and its memory.
pub(super) struct Exchange {
    comm: MPI_Comm,
    gives: Box<[i64]>,
    maxima: Box<[i64]>,
    request: mpi_sys::MPI_Request,
    progress: Progress,
}

// SAFETY: calls on one communicator, which no two threads make at the same time, begin and complete it, or `MPI_Finalize` does.
unsafe impl Send for Exchange {}

impl Exchange {
    /// None is under way yet.
    pub(super) fn new(comm: MPI_Comm) -> Exchange {
        Exchange {
            comm,
            gives: Box::default(),
            maxima: Box::default(),
            request: constants::request_null(),
            progress: Progress::Idle,
        }
    }

    /// Begins it.
    ///
    /// # Safety
    /// All ranks of the communicator begin it, in this order among its exchanges, and give as many numbers.
    pub(super) unsafe fn begin(&mut self, gives: &[i64]) {
        debug_assert!(self.progress == Progress::Idle);
        if self.gives.len() != gives.len() {
            self.gives = gives.into();
            self.maxima = gives.into();
        }
        self.gives.copy_from_slice(gives);
        let count = c_int::try_from(gives.len()).unwrap_or(c_int::MAX);
        // SAFETY: by this function's contract; both buffers have so many numbers, and stay where they are until `wait`.
        let code = unsafe {
            mpi_sys::PMPI_Iallreduce(
                self.gives.as_ptr().cast(),
                self.maxima.as_mut_ptr().cast(),
                count,
                constants::int64(),
                constants::max(),
                self.comm,
                &raw mut self.request,
            )
        };
        self.end_at("PMPI_Iallreduce", code);
        self.progress = Progress::UnderWay;
    }

    /// Waits until it is complete. Its result is still to be taken by [`Exchange::wait`].
    ///
    /// # Safety
    /// All ranks of the communicator have begun it, or will do so without waiting for this rank.
    pub(super) unsafe fn complete(&mut self) {
        if self.progress != Progress::UnderWay {
            return;
        }
        // SAFETY: a request that was begun and not waited for.
        let code = unsafe { mpi_sys::PMPI_Wait(&raw mut self.request, constants::status_ignore()) };
        self.end_at("PMPI_Wait of PMPI_Iallreduce", code);
        self.progress = Progress::Complete;
    }

    /// True if its memory is the library's still.
    pub(super) fn is_under_way(&self) -> bool {
        self.progress == Progress::UnderWay
    }

    /// Waits for it, and gives its result; `None` if none is under way.
    ///
    /// # Safety
    /// As for [`Exchange::complete`].
    pub(super) unsafe fn wait(&mut self) -> Option<&[i64]> {
        // SAFETY: by this function's contract.
        unsafe { self.complete() };
        let progress = std::mem::replace(&mut self.progress, Progress::Idle);
        (progress == Progress::Complete).then_some(&*self.maxima)
    }

    /// An exchange that fails ends the job: this rank cannot know any more what the others run.
    fn end_at(&self, operation: &'static str, code: c_int) {
        if let Err(error) = MpiError::check(operation, code) {
            kilter_mpi::say(format_args!(
                "error: what was tried cannot be compared among the ranks: {error}; ending the job (KILTER_ONLINE=0 tries nothing)"
            ));
            // SAFETY: MPI is running.
            unsafe { kilter_mpi::abort(self.comm, 1) }
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        debug_assert!(
            !self.is_under_way(),
            "an exchange that is under way was neither completed nor left"
        );
        if self.is_under_way() {
            // The library still reads and writes them.
            std::mem::forget(std::mem::take(&mut self.gives));
            std::mem::forget(std::mem::take(&mut self.maxima));
        }
    }
}
