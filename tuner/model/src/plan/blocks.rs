//! Blocks of a launch, and seeds of their orders.

use std::collections::{BTreeMap, BTreeSet};

use kilter_protocol::plan::{Block, Repetitions};
use kilter_protocol::task::Task;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

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
