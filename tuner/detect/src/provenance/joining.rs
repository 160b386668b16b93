//! Data that were joined in other memory: pieces that a rank has, one behind the other, known by the CRC that they have together.

use super::memory::{Memory, Recent};
use super::{Datum, Rope, begins_alike};
use crate::crc;
use crate::model::trace::Payload;

/// Pieces that are tried.
const MOST_PIECES: usize = 64;

/// Windows of the right length whose CRC is computed.
const MOST_WINDOWS: usize = 4;

/// Rope of a payload that is several of a rank's latest pieces in the order of their arrival, of the ranks that they are from, or of these
/// ranks from any of them on.
pub(super) fn joined(memory: &Memory, payload: &Payload, data: &[Datum]) -> Option<Rope> {
    let fits = |one: &&Recent| one.bytes < payload.bytes && one.rope.len() <= super::MOST_PARTS;
    let latest: Vec<&Recent> = memory.recent.iter().rev().filter(fits).take(MOST_PIECES).collect();
    let mut arrival: Vec<&Recent> = latest;
    arrival.reverse();
    let mut backwards = arrival.clone();
    backwards.reverse();
    let mut by_origin = arrival.clone();
    let origin = |one: &Recent| one.rope.first().map(|segment| data[segment.datum as usize].origin);
    by_origin.sort_by_key(|one| origin(one));
    [arrival, backwards, by_origin]
        .iter()
        .find_map(|order| window(order, payload))
}

/// Rope of consecutive pieces, in a circle, that have together the length and the CRC of a payload.
fn window(order: &[&Recent], payload: &Payload) -> Option<Rope> {
    let begins = |first: &usize| begins_alike(&order[*first].prefix, order[*first].bytes, payload);
    let piece = |at: usize| order[at % order.len()];
    let fits = |first: usize| {
        let mut bytes = 0_u64;
        let lengths = (first..first + order.len()).map(|at| {
            bytes = bytes.saturating_add(piece(at).bytes);
            bytes
        });
        let mut lengths = lengths.take_while(|&bytes| bytes <= payload.bytes).enumerate();
        lengths
            .find(|&(_, bytes)| bytes == payload.bytes)
            .map(|(last, _)| first..=first + last)
    };
    let windows = (0..order.len()).filter(begins).filter_map(fits).take(MOST_WINDOWS);
    let is_equal = |window: &std::ops::RangeInclusive<usize>| {
        let parts = window.clone().map(|at| (piece(at).crc, piece(at).bytes));
        crc::join_all(parts) == payload.crc32
    };
    let mut equal = windows.filter(is_equal);
    equal
        .next()
        .map(|window| window.flat_map(|at| piece(at).rope.iter().copied()).collect())
}
