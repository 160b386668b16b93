//! Reduce, allreduce and scan: values to which every rank contributed, once.
//!
//! [`replay`] follows contributions: a value that a rank sends is its own, one that it passes on, or one computed from what it received. The
//! postconditions are on the sets of contributors. What shows that values were computed is arithmetic on their first bytes, with operands
//! that messages carry or that ranks show to themselves; a tree of messages alone is what any master and its workers make.

mod replay;

use std::collections::{BTreeMap, BTreeSet};

use super::{FEWEST_RANKS, Operation, common_count};
use crate::arena::{Arena, Step};
use crate::arithmetic::{ALL, Operators, Shape};
use crate::epochs::site_groups;
use crate::filters::Filters;
use crate::model::finding::{Collective, Confidence, Reason};
use crate::ranks::RankSet;
use replay::{Completion, Replay};

/// Instances that a form without arithmetic must have.
const FEWEST_WITHOUT_ARITHMETIC: usize = 3;

/// Comparisons that must hold for a maximum or minimum whose operands are in part unknown.
const FEWEST_COMPARISONS: u32 = 16;

/// Groups of call sites that are looked at one by one.
const MOST_GROUPS: usize = 64;

/// Reductions of an arena.
pub(crate) fn operations(arena: &Arena<'_>, filters: &mut Filters) -> Vec<Operation> {
    if arena.size < FEWEST_RANKS {
        return Vec::new();
    }
    let groups = site_groups(arena, std::iter::empty());
    let mut shapes: BTreeMap<Shape, Vec<Step<'_>>> = BTreeMap::new();
    for step in &arena.steps {
        let payload = match *step {
            Step::Send(id) | Step::Receive(id) => Some(&arena.messages[id as usize])
                .filter(|one| one.intact)
                .map(|one| one.sent),
            Step::Own(_, payload) => Some(payload),
        };
        if let Some(shape) = payload.and_then(Shape::of) {
            shapes.entry(shape).or_default().push(*step);
        }
    }
    let mut found = Vec::new();
    for (shape, steps) in shapes {
        if steps.len() < 2 * (arena.size - 1) {
            continue;
        }
        let of_shape = run(arena, shape, &steps, &groups, filters);
        if !of_shape.is_empty() {
            found.extend(of_shape);
            continue;
        }
        // Other messages of the same form may be in the way.
        let mut by_sites: BTreeMap<u32, Vec<Step<'_>>> = BTreeMap::new();
        for step in &steps {
            if let Step::Send(id) | Step::Receive(id) = *step {
                by_sites.entry(groups[id as usize]).or_default();
            }
        }
        if by_sites.len() < 2 || by_sites.len() > MOST_GROUPS {
            continue;
        }
        for step in &steps {
            match *step {
                Step::Send(id) | Step::Receive(id) => by_sites.entry(groups[id as usize]).or_default().push(*step),
                Step::Own(..) => by_sites.values_mut().for_each(|all| all.push(*step)),
            }
        }
        for steps in by_sites.values() {
            found.extend(run(arena, shape, steps, &groups, &mut Filters::default()));
        }
    }
    found
}

/// Reductions among the messages of one shape.
fn run(arena: &Arena<'_>, shape: Shape, steps: &[Step<'_>], groups: &[u32], filters: &mut Filters) -> Vec<Operation> {
    let mut replay = Replay::new(arena.size, shape);
    for step in steps {
        match *step {
            Step::Send(id) => {
                let message = &arena.messages[id as usize];
                replay.send(id, message.from, message.to, message.sent);
            }
            Step::Receive(id) => replay.receive(id, arena.messages[id as usize].to),
            Step::Own(rank, payload) => replay.show(rank, payload),
        }
    }
    let reached = |all: &[Vec<Completion>]| all.iter().map(Vec::len).collect::<Vec<usize>>();
    let whole = reached(&replay.whole);
    let prefixes = reached(&replay.prefixes);
    let mut found = Vec::new();
    let scans = common_count(prefixes[1..].iter().copied());
    let is_scan = whole[..arena.size - 1].iter().all(|&count| count == 0);
    if let Some(count) = scans.filter(|_| is_scan) {
        let all: Vec<_> = (0..count)
            .map(|at| instance(&replay, &replay.prefixes[1..], at))
            .collect();
        found.extend(judged(
            arena,
            &replay,
            Collective::Scan,
            Vec::new(),
            all,
            groups,
            filters,
        ));
    } else if let Some(count) = common_count(whole.iter().copied()) {
        let all: Vec<_> = (0..count).map(|at| instance(&replay, &replay.whole, at)).collect();
        found.extend(judged(
            arena,
            &replay,
            Collective::Allreduce,
            Vec::new(),
            all,
            groups,
            filters,
        ));
    } else {
        for (root, count) in (0..).zip(&whole).filter(|(_, count)| **count > 0) {
            let own = &replay.whole[root as usize..=root as usize];
            let all: Vec<_> = (0..*count).map(|at| instance(&replay, own, at)).collect();
            found.extend(judged(
                arena,
                &replay,
                Collective::Reduce,
                vec![root],
                all,
                groups,
                filters,
            ));
        }
    }
    found
}

/// Instance of a reduction.
struct Evidence {
    messages: Vec<u32>,
    verified: u32,
    assumed: u32,
    compared: u32,
    operators: Operators,
    /// Messages by which ranks pass on what only some contributed to.
    passed_on: u32,
    /// True if some value was computed of several that were received.
    branches: bool,
}

fn instance(replay: &Replay, completions: &[Vec<Completion>], at: usize) -> Evidence {
    let mut evidence = Evidence {
        messages: Vec::new(),
        verified: 0,
        assumed: 0,
        compared: 0,
        operators: ALL,
        passed_on: 0,
        branches: false,
    };
    let mut seen = BTreeSet::new();
    let mut open: Vec<usize> = Vec::new();
    for completion in completions.iter().filter_map(|all| all.get(at)) {
        evidence.branches |= completion.received > 1;
        evidence.verified += u32::from(completion.is_verified);
        open.extend(&completion.values);
    }
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let value = &replay.values[id];
        evidence.messages.extend(&value.carriers);
        evidence.verified += u32::from(value.is_verified);
        evidence.assumed += u32::from(value.is_assumed);
        evidence.compared += value.compared;
        evidence.operators &= value.operators;
        evidence.passed_on += replay.passed_on(id);
        open.extend(&value.parts);
    }
    evidence.messages.sort_unstable();
    evidence.messages.dedup();
    evidence
}

/// Instances with their grade, or none if nothing shows that anything was computed.
fn judged(
    arena: &Arena<'_>,
    replay: &Replay,
    collective: Collective,
    roots: Vec<u32>,
    instances: Vec<Evidence>,
    groups: &[u32],
    filters: &mut Filters,
) -> Vec<Operation> {
    let count = instances.len();
    let compared: u32 = instances.iter().map(|one| one.compared).sum();
    let assumed = instances.iter().filter(|one| one.assumed > 0).count();
    let by_form = instances.iter().all(|one| one.branches && one.passed_on == 0)
        && collective != Collective::Scan
        && count >= FEWEST_WITHOUT_ARITHMETIC
        && assumed * 2 >= count;
    let mut found = Vec::new();
    for one in instances {
        // Ranks that pass on each other's parts gather them; one of them may be the sum of others by chance.
        let is_shown = one.verified > one.passed_on;
        let (confidence, why) = if is_shown && one.assumed == 0 {
            (
                Confidence::Certain,
                "arithmetic on the first bytes explains every value that was computed",
            )
        } else if is_shown {
            (
                Confidence::Likely,
                "arithmetic on the first bytes explains a part of the values that were computed",
            )
        } else if by_form && compared >= FEWEST_COMPARISONS {
            (
                Confidence::Likely,
                "no result is less (or none is greater) than what it may be made of",
            )
        } else if by_form {
            (
                Confidence::Possible,
                "values of one form are made of others on the way; the ranks' own parts are not seen",
            )
        } else {
            filters.count(Reason::NoArithmetic);
            continue;
        };
        let mut reasons = vec![match collective {
            Collective::Reduce => "values to which every rank contributed once reach the root",
            Collective::Allreduce => "values to which every rank contributed once reach every rank",
            _ => "every rank gets a value to which all ranks before it contributed once",
        }];
        reasons.push(why);
        let confidence = if collective == Collective::Scan && is_chain(arena, &one.messages) {
            reasons.push("a reduction to the last rank by a chain sends the same messages");
            confidence.min(Confidence::Likely)
        } else {
            confidence
        };
        let sites = one.messages.iter().map(|&id| groups[id as usize]).min().unwrap_or(0);
        found.push(Operation {
            collective,
            group: RankSet::full(arena.size),
            roots: roots.clone(),
            messages: one.messages,
            bytes: replay.bytes(),
            varied: false,
            sites,
            confidence,
            why: reasons,
            operators: one.operators,
        });
    }
    found
}

/// True if no rank sends more than one of the messages.
fn is_chain(arena: &Arena<'_>, messages: &[u32]) -> bool {
    let senders: BTreeSet<u32> = messages.iter().map(|&id| arena.messages[id as usize].from).collect();
    senders.len() == messages.len()
}
