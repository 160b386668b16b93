//! Sender-side overlap of data that is not contiguous: who packs it, and when?
//!
//! The sequence of [`super::sender`], of one element of a vector type: blocks of 32 characters at a stride of 64.

use kilter_protocol::overlap::Benchmark;

use super::super::messages::Form;
use super::{How, Row, sender};

pub(super) static ROW: Row = Row {
    benchmark: Benchmark::NonContiguous,
    sequences: 1,
    all_compute: false,
    how: How::Messages {
        form: Form::Strided,
        flows: |extent| vec![extent.whole(0, extent.last())],
        lead: sender::lead,
        follow: sender::follow,
    },
};
