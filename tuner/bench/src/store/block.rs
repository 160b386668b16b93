//! Stored results of blocks, for replay.

use std::collections::{BTreeMap, BTreeSet};

use kilter_protocol::fault::Fault;
use kilter_protocol::plan::Item;
use kilter_protocol::report::MEAN_DELAY;
use kilter_stats::sample::Sample;
use rusqlite::{OptionalExtension as _, params};

use super::cached::Cached as _;
use super::{Run, StoreError, blob};

/// Result of a block that was measured to its end.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BlockOutcome {
    /// Item id to samples.
    pub samples: BTreeMap<String, ItemSamples>,
    /// Item id to the reason why it is out.
    pub failed: BTreeMap<String, Fault>,
    /// Item id to settings as the library reports them, and to what its counters say: name, value.
    pub read_back: BTreeMap<String, Vec<(String, String)>>,
    /// Wall time of the block, in seconds.
    pub seconds: f64,
    /// The part of it in which its items were repeated; `None` where the worker did not say.
    pub repeating: Option<Repeating>,
}

/// The loop of a block's repetitions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeating {
    /// Wall time in seconds: times, exchanges, leads.
    pub seconds: f64,
    /// Runs of any item in it: counted, void, and warming up.
    pub runs: f64,
}

impl BlockOutcome {
    /// Median of an item's valid repetitions, in seconds; `None` where there is none.
    #[must_use]
    pub fn median(&self, item: &str) -> Option<f64> {
        let sample = Sample::new(self.samples.get(item)?.seconds.clone());
        sample.ok().map(|sample| sample.median())
    }

    /// Mean delay of the ranks in an item with an arrival pattern, in seconds; `None` for other items.
    #[must_use]
    pub fn mean_delay(&self, item: &str) -> Option<f64> {
        let said = self.read_back.get(item)?;
        let (_, seconds) = said.iter().find(|(name, _)| name == MEAN_DELAY)?;
        seconds.parse().ok()
    }

    /// Items that did not fail and have no valid repetition.
    pub fn untimed(&self) -> impl Iterator<Item = &String> {
        let of_item =
            |(item, samples): (&_, &ItemSamples)| samples.seconds.is_empty() && !self.failed.contains_key(item);
        self.samples
            .iter()
            .filter(move |one| of_item(*one))
            .map(|(item, _)| item)
    }
}

/// Samples of one item in one block.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ItemSamples {
    /// Valid repetitions in the order they were made, in seconds.
    pub seconds: Vec<f64>,
    /// Repetitions discarded because a rank missed the start.
    pub void: u32,
}

/// A finished block.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredBlock {
    /// Row of the launch that measured it.
    pub launch: i64,
    /// The requested items.
    pub items: Vec<Item>,
    /// Their results.
    pub outcome: BlockOutcome,
}

/// A block that took its job down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFailure {
    /// `hung` or `crashed`.
    pub state: String,
    /// Detail as given to [`super::LaunchRecord::record_failure`].
    pub detail: String,
}

impl Run {
    /// The block, if it was measured to its end under this key.
    pub fn finished_block(&self, key: &str, block: &str) -> Result<Option<StoredBlock>, StoreError> {
        let context = || self.store.context("read a block");
        let found = self
            .store
            .connection
            .row(
                "SELECT launch, seconds, items_json, repeat_seconds, repeat_runs FROM blocks_view
                 WHERE run = ?1 AND key = ?2 AND block = ?3 AND state = 'done'",
                params![self.id, key, block],
                |row| {
                    let repeating: (Option<f64>, Option<i64>) = (row.get(3)?, row.get(4)?);
                    Ok((
                        row.get::<_, i64>(0)?,
                        row.get::<_, f64>(1)?,
                        row.get::<_, String>(2)?,
                        repeating,
                    ))
                },
            )
            .optional()
            .map_err(context())?;
        let Some((launch, seconds, items, (repeat_seconds, runs))) = found else {
            return Ok(None);
        };
        let mut outcome = BlockOutcome {
            seconds,
            repeating: repeat_seconds.zip(runs).map(|(seconds, runs)| Repeating {
                seconds,
                runs: runs as f64,
            }),
            ..BlockOutcome::default()
        };
        self.read_samples(launch, block, &mut outcome)?;
        self.read_notes(launch, block, &mut outcome)?;
        Ok(Some(StoredBlock {
            launch,
            items: self.parse(&items, "blocks.items_json", block)?,
            outcome,
        }))
    }

    /// True if the block was measured to its end under this key.
    pub fn is_finished(&self, key: &str, block: &str) -> Result<bool, StoreError> {
        self.store
            .connection
            .row(
                "SELECT count(*) FROM blocks_view WHERE run = ?1 AND key = ?2 AND block = ?3 AND state = 'done'",
                params![self.id, key, block],
                |row| row.get::<_, i64>(0),
            )
            .map(|count| count > 0)
            .map_err(self.store.context("read a block"))
    }

    /// Items that were requested under this key and id, whatever their results.
    pub fn asked_items(&self, key: &str, block: &str) -> Result<Option<Vec<Item>>, StoreError> {
        let items: Option<String> = self
            .store
            .connection
            .row(
                "SELECT items_json FROM blocks_view WHERE run = ?1 AND key = ?2 AND block = ?3",
                params![self.id, key, block],
                |row| row.get(0),
            )
            .optional()
            .map_err(self.store.context("read a block"))?;
        items
            .map(|items| self.parse(&items, "blocks.items_json", block))
            .transpose()
    }

    fn read_samples(&self, launch: i64, block: &str, outcome: &mut BlockOutcome) -> Result<(), StoreError> {
        let context = || self.store.context("read samples");
        let mut statement = self
            .store
            .connection
            .prepare_cached(
                "SELECT items.name, seconds, void, repetitions FROM samples JOIN items ON items.id = samples.item
                 WHERE launch = ?1 AND block = (SELECT id FROM texts WHERE text = ?2) ORDER BY samples.id",
            )
            .map_err(context())?;
        let mut rows = statement.query(params![launch, block]).map_err(context())?;
        while let Some(row) = rows.next().map_err(context())? {
            let item: String = row.get(0).map_err(context())?;
            let bytes: Vec<u8> = row.get(1).map_err(context())?;
            let void: u32 = row.get(2).map_err(context())?;
            let repetitions: i64 = row.get(3).map_err(context())?;
            let values = blob::decode(&bytes)
                .filter(|values| values.len() as i64 == repetitions)
                .ok_or_else(|| {
                    self.store
                        .damaged(format!("samples of `{block}`, `{item}` have a torn value"))
                })?;
            let samples = outcome.samples.entry(item).or_default();
            samples.seconds.extend(values);
            samples.void = samples.void.saturating_add(void);
        }
        Ok(())
    }

    fn read_notes(&self, launch: i64, block: &str, outcome: &mut BlockOutcome) -> Result<(), StoreError> {
        let context = || self.store.context("read what was noted about items");
        let mut statement = self
            .store
            .connection
            .prepare_cached("SELECT item, kind, detail FROM item_notes WHERE launch = ?1 AND block = ?2 ORDER BY rowid")
            .map_err(context())?;
        let mut rows = statement.query(params![launch, block]).map_err(context())?;
        while let Some(row) = rows.next().map_err(context())? {
            let item: String = row.get(0).map_err(context())?;
            let kind: String = row.get(1).map_err(context())?;
            let detail: String = row.get(2).map_err(context())?;
            if kind == "failed" {
                let fault = self.parse(&detail, "item_notes.detail", block)?;
                outcome.failed.insert(item, fault);
            } else {
                let read_back: Vec<(String, String)> = self.parse(&detail, "item_notes.detail", block)?;
                outcome.read_back.entry(item).or_default().extend(read_back);
            }
        }
        Ok(())
    }

    /// The failure stored for a block under this key.
    pub fn stored_failure(&self, key: &str, block: &str) -> Result<Option<StoredFailure>, StoreError> {
        self.store
            .connection
            .row(
                "SELECT state, detail FROM blocks_view WHERE run = ?1 AND key = ?2 AND block = ?3 AND state <> 'done'",
                params![self.id, key, block],
                |row| {
                    Ok(StoredFailure {
                        state: row.get(0)?,
                        detail: row.get(1)?,
                    })
                },
            )
            .optional()
            .map_err(self.store.context("read a failure"))
    }

    /// Every stored failure of the run: launch key, block id, failure, in the order they happened.
    pub fn failures(&self) -> Result<Vec<(String, String, StoredFailure)>, StoreError> {
        let context = || self.store.context("list failures");
        let mut statement = self
            .store
            .connection
            .prepare_cached(
                "SELECT keys.text, names.text, state, detail FROM blocks
                 JOIN texts AS keys ON keys.id = blocks.key JOIN texts AS names ON names.id = blocks.block
                 WHERE run = ?1 AND state <> 'done' ORDER BY blocks.rowid",
            )
            .map_err(context())?;
        statement
            .query_map([self.id], |row| {
                Ok((
                    row.get(0)?,
                    row.get(1)?,
                    StoredFailure {
                        state: row.get(2)?,
                        detail: row.get(3)?,
                    },
                ))
            })
            .and_then(Iterator::collect)
            .map_err(context())
    }

    /// Forgets the failures under this key, so that a resumed run tries again, for example on a repaired machine.
    pub fn forget_failures(&self, key: &str) -> Result<usize, StoreError> {
        self.store
            .connection
            .change(
                "DELETE FROM blocks WHERE run = ?1 AND key = (SELECT id FROM texts WHERE text = ?2) AND state <> 'done'",
                params![self.id, key],
            )
            .map_err(self.store.context("forget failures"))
    }

    /// Ids of all blocks under this key, finished or failed.
    pub fn known_blocks(&self, key: &str) -> Result<BTreeSet<String>, StoreError> {
        self.blocks_of(
            "SELECT names.text FROM blocks JOIN texts AS names ON names.id = block
             WHERE run = ?1 AND key = (SELECT id FROM texts WHERE text = ?2)",
            key,
        )
    }

    /// Ids of the finished blocks under this key that no stored end line of a launch covers.
    pub fn blocks_without_end(&self, key: &str) -> Result<BTreeSet<String>, StoreError> {
        self.blocks_of(
            "SELECT names.text FROM blocks JOIN texts AS names ON names.id = block LEFT JOIN launches ON launches.id = end_launch
             WHERE blocks.run = ?1 AND blocks.key = (SELECT id FROM texts WHERE text = ?2) AND state = 'done' AND end_json IS NULL",
            key,
        )
    }

    fn blocks_of(&self, sql: &'static str, key: &str) -> Result<BTreeSet<String>, StoreError> {
        let context = || self.store.context("list the blocks of a launch");
        let mut statement = self.store.connection.prepare_cached(sql).map_err(context())?;
        statement
            .query_map(params![self.id, key], |row| row.get(0))
            .and_then(Iterator::collect)
            .map_err(context())
    }
}
