//! Predicts the number of repetitions of each item before it is measured.
//!
//! A single prediction varies itself. Three independent ones are made, and the largest counts (Hunold, Carpen-Amarie,
//! Luebbe, Traeff, Euro-Par 2016, doi:10.1007/978-3-319-43659-3_32, section 4.2). All launches then make that number. A
//! stop that depended on the measured times would favour the side that happens to look steady.
//!
//! All items of a block share the largest number of any of them, because the sides of a guideline are interleaved to
//! the end and compared with equally many repetitions.

use std::collections::BTreeMap;

use kilter_model::plan::derived_seed;
use kilter_protocol::plan::{Block, Repetitions};

use crate::store::BlockOutcome;

/// Number of predictions for each item.
pub const PREDICTIONS: usize = 3;

/// The blocks of one launch, [`PREDICTIONS`] times in whole passes, so that the predictions of a block are apart in
/// time. Their ids end with `#1`, `#2`, ..., and each pass has an order of its own. `repetitions` has the predictors;
/// its seconds are per item.
#[must_use]
pub fn prediction_blocks(blocks: &[Block], repetitions: Repetitions) -> Vec<Block> {
    (1..=PREDICTIONS)
        .flat_map(|prediction| {
            blocks.iter().map(move |block| {
                let id = prediction_id(&block.id, prediction);
                Block {
                    seed: derived_seed(block.seed, &id),
                    repetitions: Repetitions {
                        seconds: repetitions.seconds * block.items.len() as f64,
                        ..repetitions
                    },
                    id,
                    ..block.clone()
                }
            })
        })
        .collect()
}

fn prediction_id(block: &str, prediction: usize) -> String {
    format!("{block}#{prediction}")
}

/// Largest of an item's counts; `counts` are items with the valid repetitions of one prediction.
#[must_use]
pub fn largest(counts: impl IntoIterator<Item = (String, u32)>) -> BTreeMap<String, u32> {
    let mut largest = BTreeMap::new();
    for (item, count) in counts {
        let known = largest.entry(item).or_insert(count);
        *known = count.max(*known);
    }
    largest
}

/// Number of repetitions of each block, by its id: the largest count of any of its items in any prediction. `predicted`
/// are the blocks of [`prediction_blocks`] with their outcomes. A block without any measurement has no entry.
#[must_use]
pub fn predicted(blocks: &[Block], predicted: &[(Block, BlockOutcome)]) -> BTreeMap<String, u32> {
    blocks
        .iter()
        .filter_map(|block| {
            let ids: Vec<String> = (1..=PREDICTIONS).map(|i| prediction_id(&block.id, i)).collect();
            let counts = predicted
                .iter()
                .filter(|(prediction, _)| ids.contains(&prediction.id))
                .flat_map(|(_, outcome)| &outcome.samples)
                .map(|(item, samples)| (item.clone(), u32::try_from(samples.seconds.len()).unwrap_or(u32::MAX)));
            let count = largest(counts).into_values().max().filter(|count| *count > 0)?;
            Some((block.id.clone(), count))
        })
        .collect()
}

/// Blocks of a measuring launch, with the predicted number of repetitions, unless an item's share of the time,
/// `seconds`, ends before. A block without a prediction keeps its own rule.
#[must_use]
pub fn measuring_blocks(blocks: Vec<Block>, predicted: &BTreeMap<String, u32>, seconds: f64) -> Vec<Block> {
    blocks
        .into_iter()
        .map(|block| match predicted.get(&block.id) {
            Some(count) => Block {
                repetitions: Repetitions::fixed(*count, seconds * block.items.len() as f64),
                ..block
            },
            None => block,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use kilter_protocol::plan::{Implementation, Item};

    use super::*;
    use crate::store::ItemSamples;

    fn item(id: &str) -> Item {
        Item {
            id: id.to_owned(),
            task: "bcast".parse().unwrap(),
            bytes: 8,
            implementation: Implementation::Expression {
                text: "bcast(n)".to_owned(),
            },
            settings: Vec::new(),
            arrival: None,
            deployed: Vec::new(),
        }
    }

    fn block(id: &str) -> Block {
        Block {
            id: id.to_owned(),
            seed: 5,
            items: vec![item("left"), item("right")],
            repetitions: Repetitions::until(8, 60, 0.02, 0.25),
        }
    }

    fn outcome(counts: &[(&str, usize)]) -> BlockOutcome {
        let samples = |count: &usize| ItemSamples {
            seconds: vec![1e-6; *count],
            void: 3,
        };
        BlockOutcome {
            samples: counts
                .iter()
                .map(|(id, count)| ((*id).to_owned(), samples(count)))
                .collect(),
            ..BlockOutcome::default()
        }
    }

    #[test]
    fn every_block_is_predicted_three_times_in_orders_of_their_own() {
        let blocks = [block("a"), block("b")];
        let rule = Repetitions::until(10, 1000, 0.025, 2.0);
        let predictions = prediction_blocks(&blocks, rule);
        let ids: Vec<&str> = predictions.iter().map(|block| block.id.as_str()).collect();
        assert_eq!(ids, ["a#1", "b#1", "a#2", "b#2", "a#3", "b#3"]);
        let mut seeds: Vec<u64> = predictions.iter().map(|block| block.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 6);
        assert!(
            predictions.iter().all(
                |block| block.items == blocks[0].items && block.repetitions == Repetitions { seconds: 4.0, ..rule }
            )
        );
        assert_eq!(prediction_blocks(&blocks, rule), predictions, "the seed decides");
    }

    #[test]
    fn the_largest_of_three_counts() {
        let counts = [("x", 20), ("y", 30), ("x", 85), ("y", 10), ("x", 40), ("y", 30)];
        let largest = largest(counts.map(|(item, count)| (item.to_owned(), count)));
        assert_eq!(largest, BTreeMap::from([("x".to_owned(), 85), ("y".to_owned(), 30)]));
    }

    #[test]
    fn a_block_is_measured_as_often_as_its_neediest_item_ever_was() {
        let blocks = vec![block("a"), block("b"), block("c"), block("a#1")];
        let counts = [
            ("a#1", outcome(&[("left", 20), ("right", 25)])),
            ("b#1", outcome(&[("left", 10), ("right", 10)])),
            ("a#2", outcome(&[("left", 85), ("right", 25)])),
            ("b#2", outcome(&[("left", 11)])),
            ("a#3", outcome(&[("left", 30), ("right", 26)])),
            ("b#3", outcome(&[])),
            ("c#1", outcome(&[("left", 0)])),
        ];
        let outcomes: Vec<(Block, BlockOutcome)> = counts.map(|(id, outcome)| (block(id), outcome)).into();
        let predicted = predicted(&blocks, &outcomes);
        assert_eq!(predicted, BTreeMap::from([("a".to_owned(), 85), ("b".to_owned(), 11)]));
        let measuring = measuring_blocks(blocks, &predicted, 0.5);
        assert_eq!(measuring[0].repetitions, Repetitions::fixed(85, 1.0));
        assert_eq!(measuring[1].repetitions, Repetitions::fixed(11, 1.0));
        assert_eq!(measuring[2], block("c"), "nothing is known: its own rule");
    }
}
