//! Knowledge of jobs: a small JSON file for each layout, which the next job begins with.

mod error;
mod files;
#[cfg(test)]
mod tests;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use error::{Flaw, KnowledgeError};
pub use files::{Found, list, merge, read};

/// Version of the format.
pub const VERSION: u32 = 1;
/// Id of arm 0, the library's own collective.
pub const DEFAULT: &str = "default";
/// Largest file that is read, in bytes.
pub const MOST_BYTES: u64 = 1 << 20;
/// Most rows of a file. The rows that were learnt longest ago make room.
const MOST_ROWS: usize = 1_000;
/// Most arms of a row.
const MOST_ARMS: usize = 64;
/// Longest name and id, in bytes.
const LONGEST: usize = 200;
/// Calls beyond which those of earlier jobs count half, so that a row follows what changes.
const MANY_CALLS: u64 = 10_000;

/// Knowledge of one site, in the order of its arms. [`File::entry`] makes it from a file, [`File::learn`] puts it there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// The arm on which it settled.
    pub settled: Option<u16>,
    /// Each arm as it was seen; arm 0 is the default.
    pub arms: Vec<Seen>,
}

/// An arm as it was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// Timed calls.
    pub calls: u64,
    /// Their counted time in nanoseconds, in all.
    pub counted_ns: u64,
    /// Median of a call in the last epoch that timed it.
    pub median_ns: u64,
}

/// The subject of a file of knowledge.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Library and version, as the library says it (a profile has the same string).
    pub library: String,
    /// Ranks of the communicator.
    pub ranks: u32,
    /// Hosts that they are on.
    pub nodes: u32,
    /// Most ranks on one host.
    pub ranks_per_node: u32,
}

impl Layout {
    /// Name of its file in the directory of knowledge: the library's first words, a number made of all of them, and the layout.
    #[must_use]
    pub fn file_name(&self) -> String {
        let plain = |sign: char| {
            if sign.is_ascii_alphanumeric() {
                sign.to_ascii_lowercase()
            } else {
                '-'
            }
        };
        let words: String = self.library.chars().take(24).map(plain).collect();
        // FNV-1a: the same on every machine and in every version.
        let hash = self.library.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let Layout {
            ranks,
            nodes,
            ranks_per_node,
            ..
        } = self;
        format!(
            "{}-{hash:016x}-{nodes}x{ranks_per_node}-{ranks}.json",
            words.trim_matches('-')
        )
    }
}

/// Knowledge of a layout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Version of the format.
    pub version: u32,
    /// Its subject.
    pub layout: Layout,
    /// A row for each collective and class of sizes, in this order.
    pub rows: Vec<Row>,
}

/// Knowledge of a collective and a class of sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Name, such as `reduce`.
    pub collective: String,
    /// Class of sizes, as the drop-in numbers them.
    pub class: u32,
    /// Id of the arm on which the last job settled that settled.
    pub settled: Option<String>,
    /// Jobs that added to it.
    pub jobs: u64,
    /// Time of the last one, in seconds since 1970.
    pub when: u64,
    /// Arms by id.
    pub arms: Vec<SeenArm>,
}

/// An arm as it was seen, with its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenArm {
    /// Id of the implementation; `default` is the library's own.
    pub id: String,
    /// Timed calls.
    pub calls: u64,
    /// Their counted time in nanoseconds, in all.
    pub counted_ns: u64,
    /// Median of a call in the last epoch that timed it.
    pub median_ns: u64,
}

impl File {
    /// Nothing known of a layout.
    #[must_use]
    pub fn empty(layout: Layout) -> File {
        File {
            version: VERSION,
            layout,
            rows: Vec::new(),
        }
    }

    /// Reads and checks the text of a file (such as rank 0 sends to the others); `origin` is named in errors.
    pub fn parse(text: &str, origin: &Path) -> Result<File, KnowledgeError> {
        #[derive(Deserialize)]
        struct VersionOnly {
            version: u64,
        }
        let broken = |flaw: Flaw| KnowledgeError::Broken {
            path: origin.to_owned(),
            flaw,
        };
        if text.len() as u64 > MOST_BYTES {
            return Err(KnowledgeError::Large {
                path: origin.to_owned(),
            });
        }
        // The version first: a later format may have other keys.
        if let Ok(VersionOnly { version }) = serde_json::from_str(text)
            && version != u64::from(VERSION)
        {
            return Err(KnowledgeError::Version {
                path: origin.to_owned(),
                got: version,
            });
        }
        let file: File = serde_json::from_str(text).map_err(|error| broken(error.into()))?;
        file.check().map_err(broken)?;
        Ok(file)
    }

    /// Its text, as [`File::parse`] takes it.
    #[must_use]
    pub fn to_text(&self) -> String {
        // Strings and integers alone: nothing of it can fail.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// Knowledge of a site whose arms have these ids, [`DEFAULT`] being the first. Arms that are gone are left out.
    #[must_use]
    pub fn entry(&self, collective: &str, class: u32, ids: &[String]) -> Option<Entry> {
        let row = self.row(collective, class)?;
        let seen = |id: &String| {
            let arm = row.arms.iter().find(|arm| arm.id == *id);
            arm.map_or_else(Seen::default, |arm| Seen {
                calls: arm.calls,
                counted_ns: arm.counted_ns,
                median_ns: arm.median_ns,
            })
        };
        let settled = row
            .settled
            .as_ref()
            .and_then(|settled| ids.iter().position(|id| id == settled));
        Some(Entry {
            settled: settled.and_then(|arm| u16::try_from(arm).ok()),
            arms: ids.iter().map(seen).collect(),
        })
    }

    /// Adds what a site learnt in this job, in the order of its ids. A site that timed nothing adds nothing.
    pub fn learn(&mut self, collective: &str, class: u32, ids: &[String], entry: &Entry) {
        let arms: Vec<SeenArm> = ids
            .iter()
            .zip(&entry.arms)
            .filter(|(_, seen)| seen.calls > 0)
            .map(|(id, seen)| SeenArm {
                id: id.clone(),
                calls: seen.calls,
                counted_ns: seen.counted_ns,
                median_ns: seen.median_ns,
            })
            .collect();
        if arms.is_empty() {
            return;
        }
        let settled = entry.settled.and_then(|arm| ids.get(usize::from(arm)).cloned());
        // A job that begins settled and ends before its first look knows no more than the file.
        let settled = settled.filter(|settled| arms.iter().any(|arm| arm.id == *settled));
        let mut learnt = File::empty(self.layout.clone());
        learnt.rows.push(Row {
            collective: collective.to_owned(),
            class,
            settled,
            jobs: 1,
            when: 0,
            arms,
        });
        self.add(&learnt, 0);
    }

    /// Adds what another file of the same layout knows.
    pub fn join(&mut self, other: &File) {
        self.add(other, 0);
    }

    /// Adds what another file knows, learnt at that time (or when it says itself, if that is later).
    pub(crate) fn add(&mut self, learnt: &File, when: u64) {
        for new in &learnt.rows {
            match self
                .rows
                .iter_mut()
                .find(|row| row.collective == new.collective && row.class == new.class)
            {
                Some(row) => row.add(new, when),
                None => self.rows.push(Row {
                    when: when.max(new.when),
                    ..new.clone()
                }),
            }
        }
        if self.rows.len() > MOST_ROWS {
            self.rows.sort_by_key(|row| std::cmp::Reverse(row.when));
            self.rows.truncate(MOST_ROWS);
        }
        self.rows
            .sort_by(|a, b| (&a.collective, a.class).cmp(&(&b.collective, b.class)));
    }

    fn row(&self, collective: &str, class: u32) -> Option<&Row> {
        self.rows
            .iter()
            .find(|row| row.collective == collective && row.class == class)
    }

    fn check(&self) -> Result<(), Flaw> {
        let fits = |name: &str| (1..=LONGEST).contains(&name.len());
        if self.rows.len() > MOST_ROWS {
            return Err(Flaw::Rows { got: self.rows.len() });
        }
        for (at, row) in self.rows.iter().enumerate() {
            if !fits(&row.collective) {
                return Err(Flaw::Collective {
                    row: at,
                    bytes: row.collective.len(),
                });
            }
            if self.rows[..at]
                .iter()
                .any(|other| other.collective == row.collective && other.class == row.class)
            {
                return Err(Flaw::RowTwice {
                    row: at,
                    collective: row.collective.clone(),
                    class: row.class,
                });
            }
            if row.arms.len() > MOST_ARMS {
                return Err(Flaw::Arms {
                    row: at,
                    got: row.arms.len(),
                });
            }
            for (number, arm) in row.arms.iter().enumerate() {
                if !fits(&arm.id) {
                    return Err(Flaw::ArmId {
                        row: at,
                        arm: number,
                        bytes: arm.id.len(),
                    });
                }
                if row.arms[..number].iter().any(|other| other.id == arm.id) {
                    return Err(Flaw::ArmTwice {
                        row: at,
                        arm: number,
                        id: arm.id.clone(),
                    });
                }
            }
            if let Some(settled) = row
                .settled
                .as_ref()
                .filter(|settled| !row.arms.iter().any(|arm| arm.id == **settled))
            {
                return Err(Flaw::Settled {
                    row: at,
                    id: settled.clone(),
                });
            }
        }
        Ok(())
    }
}

impl Row {
    fn add(&mut self, new: &Row, when: u64) {
        for arm in &new.arms {
            let has_room = self.arms.len() < MOST_ARMS;
            match self.arms.iter_mut().find(|known| known.id == arm.id) {
                Some(known) => {
                    if known.calls > MANY_CALLS {
                        known.calls /= 2;
                        known.counted_ns /= 2;
                    }
                    known.calls = known.calls.saturating_add(arm.calls);
                    known.counted_ns = known.counted_ns.saturating_add(arm.counted_ns);
                    known.median_ns = arm.median_ns;
                }
                None if has_room => self.arms.push(arm.clone()),
                None => {}
            }
        }
        let is_known = |id: &String| self.arms.iter().any(|arm| arm.id == *id);
        if let Some(settled) = new.settled.clone().filter(is_known) {
            self.settled = Some(settled);
        } else if self.settled.as_ref().is_some_and(|settled| new.refutes(settled)) {
            self.settled = None;
        }
        self.jobs = self.jobs.saturating_add(new.jobs);
        self.when = self.when.max(when).max(new.when);
    }

    /// True if it timed this arm and the default, and the default was no slower.
    fn refutes(&self, settled: &str) -> bool {
        let of = |id: &str| self.arms.iter().find(|arm| arm.id == id);
        match (of(settled), of(DEFAULT)) {
            (Some(arm), Some(default)) if settled != DEFAULT => {
                let product = |time: u64, calls: u64| u128::from(time) * u128::from(calls);
                product(arm.counted_ns, default.calls) >= product(default.counted_ns, arm.calls)
            }
            _ => false,
        }
    }
}
