//! Words of a part: how many there are, and how they are made and stored.

use std::sync::atomic::{AtomicU64, Ordering};

use super::super::digest::PREFIX_BYTES;

/// Words of a part without payload, and of the shortest.
pub(super) const PART_WORDS: usize = 7;
pub(super) const SHORT_WORDS: usize = 2;
pub(super) const PREFIX_WORDS: usize = PREFIX_BYTES / 8;
/// Words of the longest part but for its blocks, pieces and chunks.
pub const PAYLOAD_WORDS: usize = PART_WORDS + PREFIX_WORDS;

/// Two halves of a word.
#[inline]
pub(super) fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// The two halves of a word, the lower one first.
pub(super) fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

/// Stores words in places, little-endian.
#[inline]
pub(in crate::trace) fn set(places: &[AtomicU64], words: &[u64]) {
    for (place, word) in places.iter().zip(words) {
        place.store(word.to_le(), Ordering::Relaxed);
    }
}
