//! The file by which HAN of Open MPI hands collectives to other components, by level of the topology, communicator size and message size.
//!
//! A file with any mistake is ignored whole, and only at a verbosity above the default does the library say so. Sizes are minima: the last one
//! that is not above the call's holds. So what is written is fenced, below and above the communicator size that was tuned, and is read back by
//! rules at least as strict as the library's. The form:
//!
//! ```text
//! 1           collectives
//! 7           which one, by number or name
//! 1           levels
//! 2           which one: 0 within hosts, 1 among their leaders, 2 the communicator of the call
//! 2           communicator sizes
//! 1 1         from one rank on: one message size
//! 0 han
//! 8 2         from eight ranks on: two message sizes
//! 0 han
//! 65536 tuned
//! ```

mod read;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kilter_model::config::library::Components;

pub use self::read::ComponentsError;

/// Names of the levels, by their numbers.
const LEVELS: [&str; 3] = ["intra_node", "inter_node", "global_communicator"];
/// The communicator of the call.
const WHOLE: u64 = 2;

/// The component that carries a collective out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct To {
    /// Its name.
    pub component: String,
    /// Its algorithm, where one is named.
    pub algorithm: Option<String>,
}

impl To {
    fn component(name: &str) -> To {
        To {
            component: name.to_owned(),
            algorithm: None,
        }
    }
}

/// Components by the message size from which they hold.
type ByBytes = BTreeMap<u64, To>;
/// The same by the communicator size from which they hold.
type ByRanks = BTreeMap<u64, ByBytes>;

/// The rules: by number of the collective, level, communicator size and message size.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ComponentRules {
    collectives: BTreeMap<u64, BTreeMap<u64, ByRanks>>,
}

impl ComponentRules {
    /// True if there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.collectives.is_empty()
    }

    /// Hands the collective of this number to `component`, on communicators from the first to the second number of ranks and for `low..=high`
    /// of what the file compares (`high` of `u64::MAX`: no end). Everything else stays with `own`, or with whom it was handed to before.
    pub fn add(&mut self, id: u64, (first, last): (u64, u64), (low, high): (u64, u64), component: &str, own: &str) {
        let by_ranks = self.collectives.entry(id).or_default().entry(WHOLE).or_default();
        let stays = || ByBytes::from([(0, To::component(own))]);
        // The first size has to be 1, and smaller and larger communicators stay as they are.
        let behind = Some(last).filter(|last| *last < i32::MAX as u64).map(|last| last + 1);
        for fence in [Some(1), Some(first), behind].into_iter().flatten() {
            let before = by_ranks.range(..=fence).next_back();
            let before = before.map_or_else(stays, |(_, by_bytes)| by_bytes.clone());
            by_ranks.entry(fence).or_insert(before);
        }
        for (_, by_bytes) in by_ranks.range_mut(first..=last) {
            let behind = high.checked_add(1).and_then(|next| {
                let (_, to) = by_bytes.range(..=next).next_back()?;
                Some((next, to.clone()))
            });
            by_bytes.retain(|size, _| !(low..=high).contains(size));
            by_bytes.insert(low, To::component(component));
            by_bytes.extend(behind);
        }
    }

    /// The library's lookup for a call on the whole communicator: the last communicator size not above `ranks`, there the last size not above
    /// `size`; `None` where there is no rule for the collective.
    #[must_use]
    pub fn lookup(&self, id: u64, ranks: u64, size: u64) -> Option<&To> {
        let by_ranks = self.collectives.get(&id)?.get(&WHOLE)?;
        let (_, by_bytes) = by_ranks.range(..=ranks).next_back()?;
        by_bytes.range(..=size).next_back().map(|(_, to)| to)
    }

    /// The file's text.
    #[must_use]
    pub fn to_text(&self, components: &Components) -> String {
        let named = |id: u64| {
            let row = components.collectives.iter().find(|row| row.id == id);
            row.map_or("", |row| row.collective.name())
        };
        let mut text = String::from("# Components by collective and size for HAN of Open MPI, written by kilter. Set");
        // Writing to a string does not fail.
        for (name, value) in &components.parameters {
            let _ = write!(text, " {name}={value}");
        }
        let _ = writeln!(text, " as well.\n{} # collectives", self.collectives.len());
        for (id, levels) in &self.collectives {
            let _ = writeln!(text, "{id} # {}\n{} # levels", named(*id), levels.len());
            for (level, by_ranks) in levels {
                let _ = writeln!(text, "{level} # level\n{} # communicator sizes", by_ranks.len());
                for (ranks, by_bytes) in by_ranks {
                    let _ = writeln!(text, "{ranks} # ranks and more\n{} # message sizes", by_bytes.len());
                    for (bytes, to) in by_bytes {
                        let algorithm = to.algorithm.iter().map(|name| format!(" @{name}"));
                        let _ = writeln!(text, "{bytes} {}{}", to.component, algorithm.collect::<String>());
                    }
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests;
