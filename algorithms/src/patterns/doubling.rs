//! Data sent 1, 2, 4, ... ranks to the right, not round the end.

use crate::schedule::ceil_log2;
use crate::{Transport, TransportError};

/// The distances of the rounds in which the first rank's data reaches all.
#[inline]
pub(crate) fn distances(p: usize) -> impl Iterator<Item = usize> {
    (0..ceil_log2(p)).map(|round| 1 << round)
}

/// A rank's neighbours at a distance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shift {
    /// Source of the data.
    pub(crate) left: Option<usize>,
    /// Destination of the data.
    pub(crate) right: Option<usize>,
}

impl Shift {
    #[inline]
    pub(crate) fn new(rank: usize, distance: usize, p: usize) -> Shift {
        Shift {
            left: rank.checked_sub(distance),
            right: Some(rank + distance).filter(|&right| right < p),
        }
    }

    /// Sends to the right, receives from the left, where there is somebody.
    pub(crate) fn exchange<T: Transport>(
        self,
        transport: &mut T,
        sent: &[u8],
        received: &mut [u8],
    ) -> Result<(), TransportError> {
        match (self.left, self.right) {
            (Some(left), Some(right)) => transport.sendrecv(right, sent, left, received),
            (Some(left), None) => transport.recv(left, received),
            (None, Some(right)) => transport.send(right, sent),
            (None, None) => Ok(()),
        }
    }
}
