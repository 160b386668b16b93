//! Sender-side overlap of messages to all other ranks.
//!
//! The sequence of [`super::many_requests`], the messages dealt to all other ranks in turn, one for each at least; each rank
//! acknowledges when it has all of its own.

use kilter_protocol::overlap::Benchmark;

use super::super::messages::Form;
use super::{How, Row, many_requests};

pub(super) static ROW: Row = Row {
    benchmark: Benchmark::ManyPeers,
    sequences: 1,
    all_compute: false,
    how: How::Messages {
        form: Form::Contiguous,
        flows: |extent| {
            let peers = extent.p_ranks - 1;
            extent.divided(extent.requests.max(peers), peers)
        },
        lead: many_requests::lead,
        follow: many_requests::follow,
    },
};
