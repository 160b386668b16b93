//! Reduce, allreduce and scan: values to which every rank contributed, once.
//!
//! [`replay`] follows contributions: a value that a rank sends is its own, one that it passes on, or one computed from what it received. The
//! postconditions are on the sets of contributors. What shows that values were computed is arithmetic on their first bytes, with operands
//! that messages carry or that ranks show to themselves; a tree of messages alone is what any master and its workers make.

mod replay;

use std::collections::{BTreeMap, BTreeSet};

use super::{FEWEST_RANKS, FEWEST_RECURRENCES, Operation, common_count};
use crate::arena::{Arena, Step};
use crate::arithmetic::{ALL, ORDERING, Operators, Shape};
use crate::filters::Filters;
use crate::joined::Joined;
use crate::model::finding::{Collective, Confidence, Reason};
use crate::ranks::RankSet;
use replay::{Completion, Replay};

/// Instances that a form without arithmetic must have.
const FEWEST_WITHOUT_ARITHMETIC: usize = 3;

/// One in so many instances must be explained, or none is believed: a program that reduces does so time and again.
const LEAST_EXPLAINED: usize = 2;

/// Comparisons that must hold for a maximum or minimum whose operands are in part unknown.
const FEWEST_COMPARISONS: u32 = 16;

/// Groups of call sites that are looked at one by one.
const MOST_GROUPS: usize = 64;

/// Reductions of an arena.
pub(crate) fn operations(arena: &Arena<'_>, filters: &mut Filters) -> Vec<Operation> {
    if arena.size < FEWEST_RANKS {
        return Vec::new();
    }
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
        for (ranks, steps) in parts(arena, &steps) {
            let search = Search {
                arena,
                ranks: &ranks,
                shape,
            };
            found.extend(search.run_all(&steps, filters));
        }
    }
    found
}

/// Steps by the sets of ranks, of three or more, that their messages connect.
fn parts<'t>(arena: &Arena<'t>, steps: &[Step<'t>]) -> Vec<(Vec<u32>, Vec<Step<'t>>)> {
    let mut sets = Joined::new(arena.size);
    for step in steps {
        if let Step::Send(id) = *step {
            let message = &arena.messages[id as usize];
            sets.join(message.from as usize, message.to as usize);
        }
    }
    let mut parts: BTreeMap<usize, (Vec<u32>, Vec<Step<'t>>)> = BTreeMap::new();
    for rank in 0..arena.size {
        parts.entry(sets.find(rank)).or_default().0.push(rank as u32);
    }
    parts.retain(|_, part| part.0.len() >= FEWEST_RANKS);
    for step in steps {
        let rank = match *step {
            Step::Send(id) => arena.messages[id as usize].from,
            Step::Receive(id) => arena.messages[id as usize].to,
            Step::Own(rank, _) => rank,
        };
        if let Some(part) = parts.get_mut(&sets.find(rank as usize)) {
            part.1.push(*step);
        }
    }
    parts.into_values().collect()
}

/// Search among the messages of one shape between some ranks.
struct Search<'a, 't> {
    arena: &'a Arena<'t>,
    ranks: &'a [u32],
    shape: Shape,
}

impl Search<'_, '_> {
    /// Reductions by all call sites, or, where there are none, by each group of call sites: other messages may be in the way.
    fn run_all(&self, steps: &[Step<'_>], filters: &mut Filters) -> Vec<Operation> {
        let found = self.run(steps, filters);
        if !found.is_empty() {
            return found;
        }
        let mut by_sites: BTreeMap<u32, Vec<Step<'_>>> = BTreeMap::new();
        for step in steps {
            if let Step::Send(id) | Step::Receive(id) = *step {
                by_sites.entry(self.arena.sites[id as usize]).or_default();
            }
        }
        if by_sites.len() < 2 || by_sites.len() > MOST_GROUPS {
            return Vec::new();
        }
        for step in steps {
            match *step {
                Step::Send(id) | Step::Receive(id) => {
                    by_sites.entry(self.arena.sites[id as usize]).or_default().push(*step)
                }
                Step::Own(..) => by_sites.values_mut().for_each(|all| all.push(*step)),
            }
        }
        by_sites
            .values()
            .flat_map(|steps| self.run(steps, &mut Filters::default()))
            .collect()
    }

    fn run(&self, steps: &[Step<'_>], filters: &mut Filters) -> Vec<Operation> {
        let size = self.ranks.len();
        let at = |rank: u32| self.ranks.binary_search(&rank).unwrap_or(0) as u32;
        let mut replay = Replay::new(size, self.shape);
        for step in steps {
            match *step {
                Step::Send(id) => {
                    let message = &self.arena.messages[id as usize];
                    replay.send(id, at(message.from), at(message.to), message.sent);
                }
                Step::Receive(id) => replay.receive(id, at(self.arena.messages[id as usize].to)),
                Step::Own(rank, payload) => replay.show(at(rank), payload),
            }
        }
        let is_by_chance = replay.is_by_chance();
        let reached = |all: &[Vec<Completion>]| all.iter().map(Vec::len).collect::<Vec<usize>>();
        let whole = reached(&replay.whole);
        let prefixes = reached(&replay.prefixes);
        let instances = |of: &[Vec<Completion>], count: usize| {
            let mut all: Vec<Evidence> = (0..count).map(|at| instance(&replay, of, at)).collect();
            if is_by_chance {
                all.iter_mut().for_each(|one| (one.verified, one.like_parts) = (0, 0));
            }
            all
        };
        let scans = common_count(prefixes[1..].iter().copied());
        let is_scan = whole[..size - 1].iter().all(|&count| count == 0);
        if let Some(count) = scans.filter(|_| is_scan) {
            return self.judged(Collective::Scan, None, instances(&replay.prefixes[1..], count), filters);
        }
        if let Some(count) = common_count(whole.iter().copied()) {
            return self.judged(Collective::Allreduce, None, instances(&replay.whole, count), filters);
        }
        let mut found = Vec::new();
        for (own, &root) in replay.whole.chunks(1).zip(self.ranks) {
            found.extend(self.judged(Collective::Reduce, Some(root), instances(own, own[0].len()), filters));
        }
        found
    }

    /// Instances with their grade, or none if nothing shows that anything was computed.
    fn judged(
        &self,
        collective: Collective,
        root: Option<u32>,
        instances: Vec<Evidence>,
        filters: &mut Filters,
    ) -> Vec<Operation> {
        let count = instances.len();
        if self.ranks.len() < self.arena.size && count < FEWEST_RECURRENCES {
            filters.add(Reason::SubsetOnce, count as u64);
            return Vec::new();
        }
        let mut form = Form::of(collective, &instances);
        let shown = instances.iter().filter(|one| one.is_shown()).count();
        let like_parts = instances.iter().filter(|one| one.is_like_part()).count();
        form.takes_like_parts = shown * LEAST_EXPLAINED >= shown + like_parts;
        let mut found = Vec::new();
        for one in instances {
            let Some((mut confidence, why)) = one.grade(&form) else {
                filters.count(Reason::NoArithmetic);
                continue;
            };
            let mut reasons = vec![match collective {
                Collective::Reduce => "values to which every rank contributed once reach the root",
                Collective::Allreduce => "values to which every rank contributed once reach every rank",
                _ => "every rank gets a value to which all ranks before it contributed once",
            }];
            reasons.push(why);
            if collective == Collective::Scan && is_chain(self.arena, &one.messages) {
                reasons.push("a reduction to the last rank by a chain sends the same messages");
                confidence = confidence.min(Confidence::Likely);
            }
            let group = RankSet::of(self.arena.size, self.ranks);
            found.push(Operation {
                collective,
                group,
                roots: root.into_iter().collect(),
                messages: one.messages,
                bytes: self.shape.bytes,
                varied: false,
                confidence,
                why: reasons,
                operators: one.operators,
            });
        }
        // Among many values that nothing explains, some are explained by chance.
        if found.len() * LEAST_EXPLAINED < count {
            filters.add(Reason::NoArithmetic, found.len() as u64);
            found.clear();
        }
        found
    }
}

/// Form of the messages of all instances, where no arithmetic is seen.
struct Form {
    /// True if values are made of several others on the way, time and again.
    is_tree: bool,
    /// True if all values are on one side of what they are made of, too often for chance.
    is_ordered: bool,
    /// True if enough instances are explained for those to be believed whose values have the first bytes of a part.
    takes_like_parts: bool,
}

impl Form {
    fn of(collective: Collective, instances: &[Evidence]) -> Self {
        let count = instances.len();
        let assumed = instances.iter().filter(|one| one.assumed > 0).count();
        let compared: u32 = instances.iter().map(|one| one.compared).sum();
        let common = instances.iter().fold(ORDERING, |left, one| left & one.operators);
        Self {
            is_tree: instances.iter().all(|one| one.branches && one.passed_on == 0)
                && collective != Collective::Scan
                && count >= FEWEST_WITHOUT_ARITHMETIC
                && assumed * 2 >= count,
            is_ordered: common != 0 && compared >= FEWEST_COMPARISONS,
            takes_like_parts: false,
        }
    }
}

/// Instance of a reduction.
struct Evidence {
    messages: Vec<u32>,
    verified: u32,
    like_parts: u32,
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
        like_parts: 0,
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
        evidence.like_parts += u32::from(value.is_like_part);
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

impl Evidence {
    /// True if arithmetic shows it. Ranks that pass on each other's parts gather them; one of them may be the sum of others by chance.
    fn is_shown(&self) -> bool {
        self.verified > self.passed_on
    }

    /// True if it is shown but for numbers that differ from those of a part.
    fn is_like_part(&self) -> bool {
        !self.is_shown() && self.verified + self.like_parts > self.passed_on && self.operators != 0
    }

    /// Grade with its ground; `None` if there is none.
    fn grade(&self, form: &Form) -> Option<(Confidence, &'static str)> {
        if self.is_shown() || form.takes_like_parts && self.is_like_part() {
            let (all, part) = (
                "arithmetic on the first bytes explains every value that was computed",
                "arithmetic on the first bytes explains a part of the values that were computed",
            );
            let is_all = self.assumed == 0 && self.is_shown();
            return Some(if is_all {
                (Confidence::Certain, all)
            } else {
                (Confidence::Likely, part)
            });
        }
        let (ordered, alike) = (
            "no result is less (or none is greater) than what it may be made of",
            "values of one form are made of others on the way; the ranks' own parts are not seen",
        );
        form.is_tree.then_some(if form.is_ordered {
            (Confidence::Likely, ordered)
        } else {
            (Confidence::Possible, alike)
        })
    }
}

/// True if no rank sends more than one of the messages.
fn is_chain(arena: &Arena<'_>, messages: &[u32]) -> bool {
    let senders: BTreeSet<u32> = messages.iter().map(|&id| arena.messages[id as usize].from).collect();
    senders.len() == messages.len()
}
