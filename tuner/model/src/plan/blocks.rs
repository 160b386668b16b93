//! Blocks of a launch, and seeds of their orders.

use std::collections::{BTreeMap, BTreeSet};

use kilter_protocol::plan::{Block, Repetitions};
use kilter_protocol::task::Task;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::stakes::Stakes;
use super::subject::{Subject, block_id};

/// Draws a seed for a part of the run from the run's seed. The same name gives the same seed.
#[must_use]
pub fn derived_seed(seed: u64, name: &str) -> u64 {
    // FNV-1a over the name, mixed with the seed by SplitMix64's finaliser: stable across versions, unlike std's hashers.
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let mut z = seed.wrapping_add(hash).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Blocks of one launch. Subjects of one task and volume share a block, so that they are interleaved. The order of
/// blocks is drawn from the seed; `launch` names the launch.
#[must_use]
pub fn blocks(subjects: &BTreeSet<Subject>, seed: u64, launch: &str, repetitions: Repetitions) -> Vec<Block> {
    let mut groups: BTreeMap<(Task, u64), Vec<&Subject>> = BTreeMap::new();
    for subject in subjects {
        groups.entry((subject.task, subject.bytes)).or_default().push(subject);
    }
    let mut blocks: Vec<Block> = groups
        .into_iter()
        .map(|((task, bytes), members)| {
            let id = block_id(task, bytes);
            Block {
                seed: derived_seed(seed, &format!("{launch}/{id}")),
                repetitions: Repetitions {
                    seconds: repetitions.seconds * members.len() as f64,
                    ..repetitions
                },
                items: members.into_iter().map(Subject::item).collect(),
                id,
            }
        })
        .collect();
    blocks.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(derived_seed(seed, launch)));
    blocks
}

/// Between the ids of blocks that are one.
const AND: &str = " and ";

/// Blocks of a launch with each group of these ids as one block, in the place of its first: their items are interleaved, and repeated as often as any of them
/// is to be.
#[must_use]
pub fn joined(blocks: Vec<Block>, groups: &[Vec<String>]) -> Vec<Block> {
    let mut all: Vec<Block> = Vec::with_capacity(blocks.len());
    let mut places: Vec<Option<usize>> = vec![None; groups.len()];
    for block in blocks {
        let group = groups.iter().position(|group| group.contains(&block.id));
        let place = group.and_then(|group| places.get_mut(group));
        let known = place.as_deref().copied().flatten();
        let Some(first) = known.and_then(|at| all.get_mut(at)) else {
            if let Some(place) = place {
                *place = Some(all.len());
            }
            all.push(block);
            continue;
        };
        first.id = format!("{}{AND}{}", first.id, block.id);
        first.items.extend(block.items);
        first.repetitions = Repetitions {
            min: first.repetitions.min.max(block.repetitions.min),
            max: first.repetitions.max.max(block.repetitions.max),
            seconds: first.repetitions.seconds + block.repetitions.seconds,
            ..first.repetitions
        };
    }
    all
}

/// Sizes between two neighbours of the coarse grid, and one.
const COARSE_STEP: usize = 4;

/// Blocks of one launch as [`blocks`] has them, coarse sizes first: of each task's sizes every fourth and the last, then those in the middle
/// between them, then the others. A launch that has to end early has then measured each task over all its sizes. Blocks of one level are in the
/// drawn order. Where the calls of an application are known, the blocks in which it spends most come before all others.
#[must_use]
pub fn blocks_coarse_first(
    subjects: &BTreeSet<Subject>,
    seed: u64,
    launch: &str,
    repetitions: Repetitions,
    stakes: &Stakes,
) -> Vec<Block> {
    let mut sizes: BTreeMap<Task, BTreeSet<u64>> = BTreeMap::new();
    for subject in subjects {
        sizes.entry(subject.task).or_default().insert(subject.bytes);
    }
    let levels: BTreeMap<String, usize> = sizes
        .iter()
        .flat_map(|(task, sizes)| {
            let last = sizes.len().saturating_sub(1);
            let level = move |(at, bytes): (usize, &u64)| (block_id(*task, *bytes), level(at, last));
            sizes.iter().enumerate().map(level)
        })
        .collect();
    let mut blocks = blocks(subjects, seed, launch, repetitions);
    blocks.sort_by_key(|block| levels.get(&block.id).copied());
    let stake = |block: &Block| {
        let subjects: Vec<Subject> = block.items.iter().filter_map(Subject::of).collect();
        stakes.most(&subjects)
    };
    blocks.sort_by(|a, b| stake(b).total_cmp(&stake(a)));
    blocks
}

/// Level of a size by its place among the sizes of its task, of which this is the last place.
fn level(at: usize, last: usize) -> usize {
    match at % COARSE_STEP {
        0 => 0,
        _ if at == last => 0,
        step if step == COARSE_STEP / 2 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;

    use super::*;

    #[test]
    fn blocks_of_a_group_are_one_where_the_first_was() {
        let subject = |bytes| Subject::library(Collective::Bcast, bytes);
        let subjects: BTreeSet<Subject> = [1, 2, 8, 64].map(subject).into();
        let mut apart = blocks(&subjects, 7, "check/0", Repetitions::fixed(3, 0.1));
        let at = |blocks: &[Block], id: &str| blocks.iter().position(|block| block.id == id);
        let eight = at(&apart, "bcast@8").unwrap();
        apart[eight].repetitions = Repetitions::fixed(20, 0.1);
        let group = ["bcast@1", "bcast@8", "bcast@32"].map(str::to_owned).to_vec();
        let one = joined(apart.clone(), &[group]);
        assert_eq!(one.len(), 3);
        let joint = one.iter().find(|block| block.items.len() == 2).unwrap();
        let mut ids: Vec<&str> = joint.id.split(AND).collect();
        assert_eq!(at(&one, &joint.id), at(&apart, ids[0]).map(|at| at.min(one.len() - 1)));
        ids.sort_unstable();
        assert_eq!(ids, ["bcast@1", "bcast@8"]);
        assert_eq!((joint.repetitions.min, joint.repetitions.max), (20, 20));
        assert_eq!(joint.repetitions.seconds, 0.2);
        assert_eq!(joined(apart.clone(), &[]), apart);
    }

    #[test]
    fn a_launch_that_ends_early_has_each_task_over_all_its_sizes() {
        let subject = |collective, bytes| Subject::library(collective, bytes);
        let subjects: BTreeSet<Subject> = [Collective::Bcast, Collective::Reduce]
            .into_iter()
            .flat_map(|collective| (0..8).map(move |exponent| subject(collective, 1 << exponent)))
            .collect();
        let rule = Repetitions::fixed(3, 0.1);
        let drawn = blocks(&subjects, 7, "screen/0", rule);
        let coarse = blocks_coarse_first(&subjects, 7, "screen/0", rule, &Stakes::default());
        let bytes = |blocks: &[Block]| -> Vec<u64> {
            let mut bytes: Vec<u64> = blocks.iter().map(|block| block.items[0].bytes).collect();
            bytes.sort_unstable();
            bytes
        };
        assert_eq!(bytes(&coarse), bytes(&drawn), "the same blocks");
        assert_eq!(bytes(&coarse[..6]), [1, 1, 16, 16, 128, 128]);
        assert_eq!(bytes(&coarse[6..10]), [4, 4, 64, 64]);
        let within = |blocks: &[Block]| -> Vec<String> {
            let first = |block: &&Block| [1, 16, 128].contains(&block.items[0].bytes);
            blocks.iter().filter(first).map(|block| block.id.clone()).collect()
        };
        assert_eq!(within(&coarse), within(&drawn), "drawn within a level");
    }
}
