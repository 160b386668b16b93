//! A call, as far as it is counted and traced: its communicator, its data, and its effect on messages and requests.

use std::ffi::c_void;

use kilter_mpi::{MPI_Comm, MPI_Datatype, MPI_Op, handle};
use mpi_sys::{MPI_Request, MPI_Status};

use crate::communicator::{self, State};
use crate::number::Number;
use crate::polled::Asked;
use crate::trace::act::{Act, Done, Kind, Side};

/// Data of a call.
#[derive(Clone, Copy)]
pub(crate) enum Data<N> {
    /// None.
    Nothing,
    /// So many elements.
    Elements(N, MPI_Datatype),
    /// A block of so many elements for each rank.
    Blocks(N, MPI_Datatype),
    /// A list of counts, one for each rank; of an intercommunicator, for each of the other side.
    List(*const N, MPI_Datatype),
    /// A list of counts, one for each rank of this side.
    ListOfOwn(*const N, MPI_Datatype),
    /// A list of counts and a list of types, one each for each rank.
    Lists(*const N, *const MPI_Datatype),
    /// The elements that have come, by this status, which is none or filled; the buffer of so many where that is not known.
    Come(*const MPI_Status, N, MPI_Datatype),
    /// So many requests.
    Requests(N),
}

/// The part of a call that is counted.
#[derive(Clone, Copy)]
pub(crate) struct Volume<N> {
    pub(crate) data: Data<N>,
    pub(crate) op: Option<MPI_Op>,
    /// Rank to which a message is sent.
    pub(crate) to: Option<i32>,
    /// Root, and what it passes instead of `data`.
    pub(crate) root: Option<(i32, Data<N>)>,
}

/// The communicator of a call.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// It has none.
    Nowhere,
    /// This one, which is there when the call returns.
    On(MPI_Comm),
    /// One that was looked up before, if there was any.
    Known(Option<&'static State>),
}

impl Place {
    /// State of the communicator; `None` without one, or without memory for its state.
    ///
    /// # Safety
    /// The communicator is valid.
    #[inline(always)]
    pub(crate) unsafe fn state(self) -> Option<&'static State> {
        match self {
            Place::Nowhere => None,
            // SAFETY: by this function's contract.
            Place::On(comm) => unsafe { communicator::look_up(comm) },
            Place::Known(state) => state,
        }
    }
}

/// A call, as far as it is counted and traced. Both parts are apart, so that the one for the trace is never made where nothing is traced.
#[derive(Clone, Copy)]
pub(crate) struct Call<N> {
    pub(crate) place: Place,
    pub(crate) volume: Volume<N>,
    /// Its effect on messages and requests.
    pub(crate) act: Act,
}

impl<N: Number> Call<N> {
    #[inline]
    pub(crate) fn without_communicator(data: Data<N>) -> Call<N> {
        Call {
            place: Place::Nowhere,
            volume: Volume {
                data,
                op: None,
                to: None,
                root: None,
            },
            act: Act::NONE,
        }
    }

    #[inline]
    pub(crate) fn on(comm: MPI_Comm, data: Data<N>) -> Call<N> {
        Call {
            place: Place::On(comm),
            ..Call::without_communicator(data)
        }
    }

    /// On a communicator that was looked up before: that of a window or file, or one that is gone when the call returns.
    #[inline]
    pub(crate) fn at(state: Option<&'static State>, data: Data<N>) -> Call<N> {
        Call {
            place: Place::Known(state),
            ..Call::without_communicator(data)
        }
    }

    #[inline]
    pub(crate) fn to(mut self, to: i32) -> Call<N> {
        self.volume.to = Some(to);
        self
    }

    /// The call sends its elements from this buffer.
    #[inline]
    pub(crate) fn sends(mut self, buffer: *const c_void, peer: i32, tag: i32) -> Call<N> {
        if let Data::Elements(count, datatype) = self.volume.data {
            self.act.sends = Some(Side::new(buffer, count, datatype, peer, tag));
        }
        self
    }

    /// The call receives so many elements at most into this buffer.
    #[inline]
    pub(crate) fn receives(
        mut self,
        (buffer, count, datatype): (*mut c_void, N, MPI_Datatype),
        peer: i32,
        tag: i32,
    ) -> Call<N> {
        self.act.receives = Some(Side::new(buffer, count, datatype, peer, tag));
        self
    }

    /// The call filled this status, or as many as there are requests.
    #[inline]
    pub(crate) fn status(mut self, status: *const MPI_Status) -> Call<N> {
        self.act.status = status;
        self
    }

    /// The operation has this request.
    #[inline]
    pub(crate) fn request(mut self, request: *const MPI_Request) -> Call<N> {
        self.act.request = request;
        self
    }

    #[inline]
    pub(crate) fn kind(mut self, kind: Kind) -> Call<N> {
        self.act.kind = kind;
        self
    }

    /// The call completes requests.
    #[inline]
    pub(crate) fn completes(self, done: Done, statuses: *const MPI_Status) -> Call<N> {
        self.kind(Kind::Completes(done)).status(statuses)
    }

    #[inline]
    pub(crate) fn with(mut self, op: MPI_Op) -> Call<N> {
        self.volume.op = Some(op);
        self
    }

    /// What a poll asks for.
    #[inline(always)]
    pub(crate) fn asked(&self) -> Asked {
        let (bits, generation) = match (self.place, self.volume.data) {
            (Place::On(comm), _) => (handle::bits(comm), communicator::generation()),
            (_, Data::Requests(count)) => (handle::bits(count), 0),
            _ => (0, 0),
        };
        Asked { bits, generation }
    }

    #[inline]
    pub(crate) fn at_root(mut self, root: i32, data: Data<N>) -> Call<N> {
        self.volume.root = Some((root, data));
        self
    }
}
