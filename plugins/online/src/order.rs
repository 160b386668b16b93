//! The order of an epoch's timed calls: blocks with at most one call of each arm, shuffled alike on all ranks.
//!
//! Arms of one block are compared with each other, since they share the machine's mood. The order within a block is drawn, and so is whether a call that
//! is not timed comes between: of two arms side by side in an application whose calls alternate, each would else always meet the other situation.

/// A timed call of an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Arm that runs.
    pub(crate) arm: u16,
    /// Block that it belongs to.
    pub(crate) block: u32,
    /// True if a call comes before it that is not timed.
    pub(crate) is_late: bool,
}

/// The slots of an epoch in which each arm takes part in so many blocks. Arms with fewer blocks are in the first ones.
pub(crate) fn slots(arms: &[(u16, u32)], seed: u64) -> Vec<Slot> {
    let blocks = arms.iter().map(|(_, blocks)| *blocks).max().unwrap_or(0);
    let mut random = Random(seed);
    let mut slots = Vec::new();
    for block in 0..blocks {
        let first = slots.len();
        let members = arms.iter().filter(|(_, blocks)| block < *blocks);
        slots.extend(members.map(|(arm, _)| Slot {
            arm: *arm,
            block,
            is_late: false,
        }));
        for last in (first + 1..slots.len()).rev() {
            let width = (last - first + 1) as u64;
            slots.swap(last, first + (random.next() % width) as usize);
        }
        slots[first..]
            .iter_mut()
            .for_each(|slot| slot.is_late = random.next() & 1 == 1);
    }
    slots
}

/// SplitMix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195): integers alone, the same on every processor.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_arm_is_once_in_each_of_its_blocks() {
        let slots = slots(&[(0, 4), (2, 3), (5, 1)], 7);
        let count = |arm| slots.iter().filter(|slot| slot.arm == arm).count();
        assert_eq!((slots.len(), count(0), count(2), count(5)), (8, 4, 3, 1));
        for pair in slots.windows(2) {
            assert!(pair[0].block <= pair[1].block, "{slots:?}");
        }
        for block in 0..4 {
            let mut arms: Vec<u16> = slots
                .iter()
                .filter(|slot| slot.block == block)
                .map(|slot| slot.arm)
                .collect();
            arms.sort_unstable();
            let expected: &[u16] = [&[0, 2, 5][..], &[0, 2], &[0, 2], &[0]][block as usize];
            assert_eq!(arms, expected);
        }
    }

    #[test]
    fn half_of_the_calls_come_one_later() {
        let late = slots(&[(0, 500), (1, 500)], 1)
            .iter()
            .filter(|slot| slot.is_late)
            .count();
        assert!((400..600).contains(&late), "{late} of 1000");
    }

    #[test]
    fn orders_differ_by_epoch_and_each_arm_is_first_about_as_often() {
        assert_eq!(slots(&[(0, 16), (1, 16)], 3), slots(&[(0, 16), (1, 16)], 3));
        let first = |seed| {
            slots(&[(0, 16), (1, 16)], seed)
                .iter()
                .step_by(2)
                .filter(|slot| slot.arm == 0)
                .count()
        };
        let all: usize = (0..100).map(first).sum();
        assert!((700..900).contains(&all), "{all} of 1600");
    }
}
