//! Reference for results: what the untouched library computes from random doubles, bit by bit.
//!
//! In the launches of the search each item that combines data is called on random doubles, too. A digest of the results
//! over all ranks is reported ([`kilter_protocol::report::BITS`]). Two launches of the untouched library give the
//! reference. A candidate with other results is out, as if its data were wrong; so is the library's own function under
//! settings that change its results.

use std::cell::RefCell;
use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_model::plan::{Subject, is_candidate};
use kilter_model::setup::Setup;
use kilter_protocol::fault::{Difference, Fault};
use kilter_protocol::plan::{Block, Implementation, Item};
use kilter_protocol::report::{BITS, BITS_VARY};

use crate::store::BlockOutcome;

/// Kind of a launch by its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launch {
    /// The library as the site has it.
    Untouched,
    /// Candidates beside the default.
    Contest,
    /// The library under settings or files that are to be deployed.
    Changed,
}

impl Launch {
    /// The kind of a launch with this setup.
    #[must_use]
    pub fn of(setup: &Setup) -> Launch {
        if setup.switching {
            Launch::Contest
        } else if *setup == Setup::default().comparing_bits() {
            Launch::Untouched
        } else {
            Launch::Changed
        }
    }
}

/// Known results of the untouched library.
#[derive(Debug, Default)]
pub struct Reference {
    /// Digest by function and volume.
    known: RefCell<BTreeMap<(Collective, u64), String>>,
}

impl Reference {
    /// Learns the results of an untouched library, and moves items with other results to the failed ones.
    pub fn judge(&self, launch: Launch, block: &Block, outcome: &mut BlockOutcome) {
        for item in &block.items {
            let (Some(bits), Some(collective)) = (said(outcome, &item.id), item.task.collective()) else {
                continue;
            };
            let key = (collective, item.bytes);
            let is_default = is_plain(item) && item.settings.is_empty() && launch != Launch::Changed;
            if is_default {
                self.learn(key, &bits);
                continue;
            }
            let is_asked = (launch == Launch::Contest && is_candidate(&item.id)) || is_plain(item);
            let compared = if is_asked { self.compare(key, &bits) } else { Ok(()) };
            if let Err(fault) = compared {
                outcome.samples.remove(&item.id);
                outcome.failed.insert(item.id.clone(), fault);
            }
        }
    }

    /// A digest that differs between two launches marks the result as varying. A contest may teach a digest: it comes
    /// after the first launches, and its settings were found to give the same results.
    fn learn(&self, key: (Collective, u64), bits: &str) {
        let mut known = self.known.borrow_mut();
        let known = known.entry(key).or_insert_with(|| bits.to_owned());
        if known != bits {
            BITS_VARY.clone_into(known);
        }
    }

    fn compare(&self, key: (Collective, u64), bits: &str) -> Result<(), Fault> {
        let known = self.known.borrow();
        let difference = match known.get(&key).map(String::as_str) {
            Some(BITS_VARY) => Difference::DefaultVaries,
            Some(_) if bits == BITS_VARY => Difference::Varies,
            Some(known) if known != bits => Difference::OtherBits,
            Some(_) => return Ok(()),
            None => Difference::DefaultUnknown,
        };
        let (collective, bytes) = key;
        Err(Fault::OtherResults {
            collective,
            bytes,
            difference,
        })
    }

    /// Functions and volumes at which the untouched library's results vary.
    #[must_use]
    pub fn varying(&self) -> Vec<(Collective, u64)> {
        let known = self.known.borrow();
        let varying = known.iter().filter(|(_, bits)| *bits == BITS_VARY);
        varying.map(|(key, _)| *key).collect()
    }
}

/// True if the item is a plain call of the library's own function.
fn is_plain(item: &Item) -> bool {
    matches!(item.implementation, Implementation::Expression { .. }) && Subject::timed_by(item).collective().is_some()
}

fn said(outcome: &BlockOutcome, item: &str) -> Option<String> {
    let said = outcome.read_back.get(item)?;
    said.iter().find(|(name, _)| name == BITS).map(|(_, bits)| bits.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kilter_protocol::plan::Repetitions;

    const SIZE: u64 = 1024;

    fn item(id: &str, text: &str) -> Item {
        Item {
            id: id.to_owned(),
            implementation: Implementation::Expression { text: text.to_owned() },
            ..Subject::library(Collective::Allreduce, SIZE).item()
        }
    }

    fn judged(reference: &Reference, launch: Launch, said: &[(Item, &str)]) -> BTreeMap<String, Fault> {
        let block = Block {
            id: "b".to_owned(),
            seed: 1,
            items: said.iter().map(|(item, _)| item.clone()).collect(),
            repetitions: Repetitions::fixed(1, 1.0),
        };
        let mut outcome = BlockOutcome::default();
        for (item, bits) in said {
            let bits = vec![(BITS.to_owned(), (*bits).to_owned())];
            outcome.read_back.insert(item.id.clone(), bits);
            outcome.samples.insert(item.id.clone(), Default::default());
        }
        reference.judge(launch, &block, &mut outcome);
        let without: Vec<&String> = outcome
            .failed
            .keys()
            .filter(|id| outcome.samples.contains_key(*id))
            .collect();
        assert!(without.is_empty(), "{without:?}");
        outcome.failed
    }

    fn plain() -> Item {
        item("allreduce", "allreduce(n)")
    }

    #[test]
    fn what_leaves_other_bits_than_the_untouched_library_is_out() {
        let reference = Reference::default();
        assert!(judged(&reference, Launch::Untouched, &[(plain(), "aa")]).is_empty());
        let other = item("allreduce.as_reduce_bcast", "reduce(n) + bcast(n)");
        let setting = Item {
            settings: vec![("coll_tuned_allreduce_algorithm".to_owned(), "4".to_owned())],
            ..item("coll_tuned_allreduce_algorithm=4", "allreduce(n)")
        };
        let contest = |said: &str| {
            let items = [
                (item("default", "allreduce(n)"), "aa"),
                (other.clone(), said),
                (setting.clone(), said),
            ];
            judged(&reference, Launch::Contest, &items)
        };
        assert!(contest("aa").is_empty());
        assert_eq!(
            contest("bb").into_keys().collect::<Vec<_>>(),
            ["allreduce.as_reduce_bcast", "coll_tuned_allreduce_algorithm=4"]
        );
        assert!(judged(&reference, Launch::Changed, &[(plain(), "aa"), (other.clone(), "bb")]).is_empty());
        let failed = judged(&reference, Launch::Changed, &[(plain(), "bb")]);
        assert_eq!(
            failed["allreduce"].to_string(),
            "not reproducible: allreduce of random doubles around 1024 B leaves other bits than the default"
        );
    }

    #[test]
    fn nothing_equals_what_varies_or_was_not_measured() {
        let reference = Reference::default();
        let changed = |said| {
            let mut failed = judged(&reference, Launch::Changed, &[(plain(), said)]);
            failed.remove("allreduce").map(|fault| fault.to_string())
        };
        assert!(changed("aa").unwrap().contains("was not measured"));
        judged(&reference, Launch::Untouched, &[(plain(), "aa")]);
        assert_eq!(changed("aa"), None);
        assert!(changed(BITS_VARY).unwrap().ends_with("differs from call to call"));
        // Another launch, other bits.
        judged(&reference, Launch::Untouched, &[(plain(), "bb")]);
        assert!(changed("bb").unwrap().contains("nothing can equal it"));
        assert_eq!(reference.varying(), [(Collective::Allreduce, SIZE)]);
    }
}
