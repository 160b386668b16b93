//! Findings: occurrences of the same collective, on the same ranks, by the same call sites, are one.

use std::collections::{BTreeMap, BTreeSet};

use crate::arena::Arena;
use crate::arithmetic::{ALL, NAMES, Operators};
use crate::epochs::site_groups;
use crate::model::finding::{Collective, Confidence, Finding, Instance, Replacement, Root, Sent};
use crate::postconditions::Operation;
use crate::ranks::RankSet;

/// Finding with the messages of each instance, as indexes into its arena.
pub(crate) struct Found {
    pub(crate) finding: Finding,
    pub(crate) messages: Vec<Vec<u32>>,
}

/// Joins occurrences to findings. The replacement is the blocking collective until safety is judged.
pub(crate) fn findings(arena: &Arena<'_>, operations: Vec<Operation>) -> Vec<Found> {
    let mut by_collective: BTreeMap<(Collective, RankSet), Vec<Operation>> = BTreeMap::new();
    for one in operations {
        by_collective
            .entry((one.collective, one.group.clone()))
            .or_default()
            .push(one);
    }
    let mut all = Vec::new();
    for ((collective, ranks), operations) in by_collective {
        let groups = site_groups(arena, operations.iter().map(|one| one.messages.as_slice()));
        let mut by_sites: BTreeMap<u32, Vec<Operation>> = BTreeMap::new();
        for one in operations {
            let group = one.messages.first().map_or(0, |&id| groups[id as usize]);
            by_sites.entry(group).or_default().push(one);
        }
        all.extend(
            by_sites
                .into_values()
                .map(|operations| found(arena, collective, &ranks, operations)),
        );
    }
    all
}

fn found(arena: &Arena<'_>, collective: Collective, group: &RankSet, mut all: Vec<Operation>) -> Found {
    all.sort_by(|a, b| a.messages.cmp(&b.messages));
    let instances: Vec<Instance> = all.iter().map(|one| instance(arena, one)).collect();
    let mut bytes: Vec<u64> = all.iter().map(|one| one.bytes).collect();
    bytes.sort_unstable();
    let mut sites = BTreeSet::new();
    let (mut why, mut confidence) = (Vec::new(), Confidence::Certain);
    for one in &all {
        for &id in &one.messages {
            let message = &arena.messages[id as usize];
            sites.extend([message.send_site, message.receive_site]);
        }
        for reason in &one.why {
            if !why.iter().any(|known| known == reason) {
                why.push((*reason).to_owned());
            }
        }
        confidence = confidence.min(one.confidence);
    }
    let is_subset = group.len() < arena.size;
    if is_subset {
        why.push(format!(
            "the same {} of {} ranks do so {} times",
            group.len(),
            arena.size,
            all.len()
        ));
    }
    // All but a few ranks may be an incomplete collective.
    let is_nearly_all = is_subset && arena.size > 3 && group.len() * 4 >= arena.size * 3;
    let missing = (0..arena.size as u32)
        .filter(|rank| is_nearly_all && !group.contains(*rank))
        .collect();
    let function = collective.function(all.iter().any(|one| one.varied));
    let root = root(&all);
    Found {
        finding: Finding {
            collective,
            communicator: arena.communicator,
            ranks: group.iter().collect(),
            is_subset,
            missing,
            root,
            operators: named(all.iter().fold(ALL, |left, one| left & one.operators)),
            sites: sites.into_iter().collect(),
            bytes: bytes.get(bytes.len() / 2).copied().unwrap_or(0),
            seconds: instances.iter().map(Instance::seconds).sum(),
            instances,
            confidence: if is_subset {
                confidence.min(Confidence::Likely)
            } else {
                confidence
            },
            why,
            replacement: Replacement::Blocking(format!("MPI_{function}")),
            proof: None,
        },
        messages: all.into_iter().map(|one| one.messages).collect(),
    }
}

/// Names of operators.
fn named(operators: Operators) -> Vec<String> {
    let is_in = |one: &&(Operators, &str)| operators & one.0 != 0;
    NAMES.iter().filter(is_in).map(|(_, name)| (*name).to_owned()).collect()
}

fn root(all: &[Operation]) -> Root {
    let Some(first) = all.first() else { return Root::None };
    if !all.iter().all(|one| one.roots == first.roots) {
        return Root::Varies;
    }
    match first.roots.as_slice() {
        [] => Root::None,
        [root] => Root::One(*root),
        several => Root::Either(several.to_vec()),
    }
}

fn instance(arena: &Arena<'_>, operation: &Operation) -> Instance {
    let sent = |&id: &u32| {
        let message = &arena.messages[id as usize];
        Sent {
            from: message.from,
            to: message.to,
            bytes: message.sent.bytes,
            sent_ns: message.begin_ns,
            received_ns: message.end_ns,
            send_event: message.send.event,
            receive_event: message.receive.event,
        }
    };
    let messages: Vec<Sent> = operation.messages.iter().map(sent).collect();
    Instance {
        begin_ns: messages.iter().map(|one| one.sent_ns).min().unwrap_or(0),
        end_ns: messages.iter().map(|one| one.received_ns).max().unwrap_or(0),
        root: operation.roots.first().copied(),
        bytes: operation.bytes,
        messages,
    }
}
