//! Data that were joined in other memory: pieces that a rank has, one behind the other, known by the CRC that they have together.

use super::memory::{Memory, Recent};
use super::{Datum, Rope, begins_alike};
use crate::crc;
use crate::model::trace::Payload;

/// Pieces of one length that are tried.
const MOST_PIECES: usize = 64;

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
    [arrival, backwards, by_origin].iter().find_map(|order| window(order, payload))
}

/// Rope of consecutive pieces, in a circle, that have together the length and the CRC of a payload.
fn window(order: &[&Recent], payload: &Payload) -> Option<Rope> {
    for first in 0..order.len() {
        let head = order[first];
        if !begins_alike(&head.prefix, head.bytes, payload) {
            continue;
        }
        let (mut bytes, mut joined) = (0, 0);
        for count in 0..order.len() {
            let next = order[(first + count) % order.len()];
            bytes += next.bytes;
            if bytes > payload.bytes {
                break;
            }
            joined = crc::join(joined, next.crc, next.bytes);
            if bytes == payload.bytes {
                if joined != payload.crc32 {
                    break;
                }
                let parts = (0..=count).flat_map(|at| order[(first + at) % order.len()].rope.iter().copied());
                return Some(parts.collect());
            }
        }
    }
    None
}
