//! Memory that a call keeps: the upper bounds of [`crate::Algorithm::scratch`].
//!
//! An arena keeps each buffer that was taken out of it, rounded up to a power of two, until the communicator is freed; buffers that
//! a call takes one after the other count once where they fit each other, and are added here. Shared memory counts with a rank's own
//! part. What a host adds for derived types is not counted.
//!
//! In all bounds `n` is the volume and `b = n/p` a block, on the rank that needs most of all, for the root that makes it so.

use crate::{Setting, SharedMemory};

/// The smallest buffer that an arena makes.
pub const SMALLEST_BYTES: usize = 256;

/// The length of the buffer that an arena makes for so many bytes; `None` where no length is large enough.
#[inline]
#[must_use]
pub fn class_bytes(bytes: usize) -> Option<usize> {
    bytes.max(SMALLEST_BYTES).checked_next_power_of_two()
}

/// No element of a basic type is longer: a block that is not divided evenly is a whole number of elements. Plugins reckon with it, too
/// (`kilter_plugin.h`).
pub const ELEMENT_BYTES: usize = 32;

/// Regions of shared memory are whole pages.
const PAGE_BYTES: usize = 4096;

/// Bytes that an arena keeps for a buffer of so many bytes.
pub(crate) fn kept(bytes: usize) -> usize {
    if bytes == 0 {
        return 0;
    }
    class_bytes(bytes).unwrap_or(usize::MAX)
}

/// The longest of the blocks that the volume is cut into.
pub(crate) fn block(setting: &Setting<'_>) -> usize {
    let even = setting.n_bytes.div_ceil(setting.p_ranks.max(1));
    even.next_multiple_of(ELEMENT_BYTES).min(setting.n_bytes)
}

/// So many of these blocks.
pub(crate) fn blocks(setting: &Setting<'_>, count: usize) -> usize {
    kept(block(setting).saturating_mul(count))
}

/// Bound of rows that take nothing.
pub(crate) fn none(_: &Setting<'_>) -> usize {
    0
}

/// A rank's region of shared memory.
pub(crate) fn shared(setting: &Setting<'_>) -> usize {
    if setting.p_ranks < 2 {
        return 0;
    }
    SharedMemory::region_bytes(SharedMemory::slot_for(0)).next_multiple_of(PAGE_BYTES)
}

/// `n`.
pub(crate) fn one_volume(setting: &Setting<'_>) -> usize {
    kept(setting.n_bytes)
}

/// `n` on ranks that are neither the first nor the last.
pub(crate) fn one_volume_inside(setting: &Setting<'_>) -> usize {
    if setting.p_ranks < 3 {
        return 0;
    }
    kept(setting.n_bytes)
}

/// `2 n`.
pub(crate) fn two_volumes(setting: &Setting<'_>) -> usize {
    kept(setting.n_bytes.saturating_mul(2))
}

/// `2 b`.
pub(crate) fn two_blocks(setting: &Setting<'_>) -> usize {
    blocks(setting, 2)
}

/// The blocks of a subtree that is not the root's, in a tree that halves the ranks.
pub(crate) fn half_the_blocks(setting: &Setting<'_>) -> usize {
    subtree(setting, setting.p_ranks.div_ceil(2))
}

/// The blocks of a subtree of so many ranks; a leaf takes nothing.
pub(crate) fn subtree(setting: &Setting<'_>, ranks: usize) -> usize {
    if ranks < 2 { 0 } else { blocks(setting, ranks) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Nodes;

    #[test]
    fn buffers_are_kept_in_powers_of_two() {
        assert_eq!(
            [0, 1, 256, 257, 65_536, 65_537].map(kept),
            [0, 256, 256, 512, 65_536, 131_072]
        );
        assert_eq!(kept(usize::MAX), usize::MAX);
    }

    #[test]
    fn a_block_is_never_shorter_than_its_share_in_whole_elements() {
        let nodes = Nodes::each_alone(7);
        for n_bytes in [0, 1, 13, 16, 100, 1000, 7 * 64] {
            let setting = Setting {
                p_ranks: 7,
                n_bytes,
                parameters: &[],
                nodes: &nodes,
            };
            for element_bytes in [1_usize, 4, 8, 16] {
                let elements = n_bytes / element_bytes;
                assert!(elements.div_ceil(7) * element_bytes <= block(&setting), "{n_bytes} B");
            }
        }
    }
}
