//! Detection: communicators one beside the other, postconditions from those that say most to those that say least.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::arena::{Arena, arenas};
use crate::epochs::{is_before, site_groups, spans};
use crate::filters::Filters;
use crate::findings::{Found, findings};
use crate::flows::{Flow, View, flows};
use crate::matching::matched;
use crate::model::finding::{Collective, Confidence, Detection, Reason};
use crate::model::trace::Trace;
use crate::postconditions::broadcast::{self, Spread};
use crate::postconditions::delivery::streams;
use crate::postconditions::forwarding::OwnPlaces;
use crate::postconditions::origin::Origins;
use crate::postconditions::{
    FEWEST_RANKS, FEWEST_RECURRENCES, Operation, allgather, barrier, chance, is_exchanged, is_interleaved,
    personalised, reduction,
};
use crate::provenance::{Belief, Provenance, follow};
use crate::ranks::RankSet;
use crate::safety;

/// Finds collectives among the messages of a trace.
#[must_use]
pub fn detect(trace: &Trace) -> Detection {
    let matched = matched(trace);
    let arenas = arenas(&matched);
    let searched: Vec<(Vec<Operation>, Filters)> = arenas.par_iter().map(search).collect();
    let mut filters = Filters::default();
    let mut all: Vec<(&Arena<'_>, Found)> = Vec::new();
    for (arena, (operations, counts)) in arenas.iter().zip(searched) {
        filters.join(&counts);
        all.extend(findings(arena, operations).into_iter().map(|found| (arena, found)));
    }
    all.par_iter_mut()
        .for_each(|(arena, found)| safety::judge(&matched, arena, found));
    let mut findings: Vec<_> = all.into_iter().map(|(_, found)| found.finding).collect();
    findings.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.sites.cmp(&b.sites)));
    Detection {
        findings,
        filtered: filters.counts,
        doubts: matched.doubts,
    }
}

/// Search of one communicator.
struct Search<'a, 't> {
    arena: &'a Arena<'t>,
    checked: Provenance,
    inferred: Provenance,
    origins: Origins,
    own_places: OwnPlaces,
    /// Messages that are explained.
    used: Vec<bool>,
    found: Vec<Operation>,
    /// Operations that stand back behind others: they are only possible.
    possible: Vec<Operation>,
    filters: Filters,
}

fn search(arena: &Arena<'_>) -> (Vec<Operation>, Filters) {
    let mut filters = Filters::default();
    if arena.size < FEWEST_RANKS {
        filters.count(Reason::TooFewRanks);
        return (Vec::new(), filters);
    }
    let reductions = reduction::operations(arena, &mut filters);
    let mut search = Search {
        arena,
        checked: follow(arena, Belief::Checked),
        inferred: follow(arena, Belief::Inferred),
        origins: Origins::new(arena),
        own_places: OwnPlaces::new(arena),
        used: vec![false; arena.messages.len()],
        found: Vec::new(),
        possible: Vec::new(),
        filters,
    };
    search.accept(reductions);
    search.everyone();
    // The second pass counts what the first one left.
    let counted = std::mem::take(&mut search.filters);
    search.personalised(View::Own, Belief::Checked);
    search.filters = counted;
    search.personalised(View::Own, Belief::Inferred);
    search.subsets();
    let by_chunks = search.whole(View::Chunks, Belief::Checked);
    search.accept(by_chunks);
    search.personalised(View::Chunks, Belief::Checked);
    broadcast::count_constant(arena, &search.used, &mut search.filters);
    let barriers = barrier::operations(arena, &search.used, &mut search.filters);
    search.accept(barriers);
    for one in std::mem::take(&mut search.possible) {
        search.take(one);
    }
    (search.found, search.filters)
}

impl Search<'_, '_> {
    fn accept(&mut self, operations: Vec<Operation>) {
        for one in operations {
            if one.confidence == Confidence::Possible {
                self.possible.push(one);
            } else {
                self.take(one);
            }
        }
    }

    /// Accepts an operation. Messages that one postcondition explained are not explained again.
    fn take(&mut self, operation: Operation) {
        if operation.messages.iter().any(|&id| self.used[id as usize]) {
            return;
        }
        operation.messages.iter().for_each(|&id| self.used[id as usize] = true);
        self.found.push(operation);
    }

    fn provenance(&self, belief: Belief) -> &Provenance {
        match belief {
            Belief::Checked => &self.checked,
            Belief::Inferred => &self.inferred,
        }
    }

    fn flows(&mut self, view: View, belief: Belief) -> Vec<Flow> {
        let (flows, too_fine) = flows(self.arena, self.provenance(belief), view, &self.used);
        self.filters.add(Reason::TooManyPieces, too_fine);
        flows
    }

    /// Broadcasts and allgathers among all ranks: by checked data or inferred ones, whichever explain more messages.
    fn everyone(&mut self) {
        let mut found = self.whole(View::Content, Belief::Checked);
        // The same candidates are not counted twice.
        let counted = std::mem::take(&mut self.filters);
        found.extend(self.whole(View::Content, Belief::Inferred));
        // Chunks show all of a broadcast where checksums show some of its pieces.
        let by_chunks = self.whole(View::Chunks, Belief::Checked);
        self.filters = counted;
        let wider: Vec<Operation> = by_chunks
            .into_iter()
            .filter(|wide| is_one_of(self.arena, wide, &found))
            .collect();
        found.extend(wider);
        found.sort_by_key(|one| Reverse((one.messages.len(), one.confidence)));
        self.accept(found);
    }

    fn whole(&mut self, view: View, belief: Belief) -> Vec<Operation> {
        let flows = self.flows(view, belief);
        let mut filters = std::mem::take(&mut self.filters);
        let mut spreads = broadcast::spreads(
            self.arena,
            (self.provenance(belief), &self.own_places),
            &flows,
            &mut filters,
        );
        self.filters = filters;
        spreads.retain(|one| one.ranks.len() == self.arena.size);
        let (groups, by_sites) = by_sites(self.arena, spreads);
        let mut all = Vec::new();
        for spreads in by_sites.into_values() {
            let mut found = self.of_group(&spreads, view, belief);
            if view == View::Content {
                found.retain(|one| !self.origins.contradict(self.arena, one));
            }
            found.retain(|one| {
                let is_mixed = is_interleaved(self.arena, &groups, &one.messages)
                    || is_exchanged(self.arena, &groups, &one.messages);
                self.filters.add(Reason::OverlappingEpochs, u64::from(is_mixed));
                !is_mixed
            });
            if view == View::Content && chance::spreads_by_chance(self.arena, &groups, &self.used, &found) {
                self.filters.add(Reason::Chance, found.len() as u64);
                continue;
            }
            all.extend(found);
        }
        all
    }

    fn of_group(&self, spreads: &[Spread], view: View, belief: Belief) -> Vec<Operation> {
        let provenance = self.provenance(belief);
        let candidates = broadcast::candidates(self.arena, spreads);
        let (mut found, rest) = allgather::operations(self.arena, provenance, spreads, candidates, view);
        found.extend(broadcast::operations(self.arena, provenance, spreads, &rest, view));
        found
    }

    fn personalised(&mut self, view: View, belief: Belief) {
        let flows = self.flows(view, belief);
        for stream in streams(self.arena, self.provenance(belief), &flows, view) {
            let (mut filters, mut cut) = (Filters::default(), Vec::new());
            let mut found = Vec::new();
            // Tags may tell exchanges apart that share call sites.
            for part in stream.by_tag(self.arena) {
                let provenance = self.provenance(belief);
                found.extend(personalised::operations(
                    self.arena,
                    provenance,
                    &part,
                    view,
                    &mut filters,
                    &mut cut,
                ));
            }
            if found.is_empty() {
                filters = Filters::default();
                let provenance = self.provenance(belief);
                found = personalised::operations(self.arena, provenance, &stream, view, &mut filters, &mut cut);
            }
            self.filters.join(&filters);
            if !found.is_empty() {
                cut.iter().for_each(|&id| self.used[id as usize] = true);
            }
            self.accept(found);
        }
    }

    /// Broadcasts and allgathers among sets of ranks that recur.
    fn subsets(&mut self) {
        let flows = self.flows(View::Content, Belief::Checked);
        // Their reasons were counted for all ranks.
        let mut spreads = broadcast::spreads(
            self.arena,
            (&self.checked, &self.own_places),
            &flows,
            &mut Filters::default(),
        );
        spreads.retain(|one| one.ranks.len() < self.arena.size);
        let (groups, by_sites) = by_sites(self.arena, spreads);
        for spreads in by_sites.into_values() {
            let mut by_ranks: BTreeMap<RankSet, Vec<Spread>> = BTreeMap::new();
            for one in spreads {
                by_ranks.entry(one.ranks.clone()).or_default().push(one);
            }
            let sets: Vec<RankSet> = by_ranks.keys().cloned().collect();
            let are_apart =
                sets.len() > 1 && (1..sets.len()).all(|at| sets[..at].iter().all(|one| one.is_disjoint(&sets[at])));
            for (ranks, spreads) in by_ranks {
                // Sets of neighbours share ranks; parts of a communicator are apart.
                if sets.iter().any(|other| *other != ranks && other.common(&ranks) > 1) {
                    self.filters.count(Reason::Neighbourhoods);
                    continue;
                }
                let mut found = self.of_group(&spreads, View::Content, Belief::Checked);
                let before = found.len();
                // Data that go from one rank through another to a third may be of no use to the second.
                found.retain(|one| are_apart || one.messages.len() > 2 || !is_passed_on(self.arena, one));
                self.filters.add(Reason::PassedOn, (before - found.len()) as u64);
                found.retain(|one| {
                    !is_interleaved(self.arena, &groups, &one.messages)
                        && !is_exchanged(self.arena, &groups, &one.messages)
                });
                if chance::spreads_by_chance(self.arena, &groups, &self.used, &found) {
                    self.filters.add(Reason::Chance, found.len() as u64);
                    continue;
                }
                if found.len() < FEWEST_RECURRENCES {
                    self.filters.add(Reason::SubsetOnce, found.len() as u64);
                    continue;
                }
                self.accept(found);
            }
        }
    }
}

/// True if some of these operations are parts of a broadcast with the same roots, and none of them is over when another begins: those would be several.
fn is_one_of(arena: &Arena<'_>, whole: &Operation, operations: &[Operation]) -> bool {
    let is_part = |one: &&Operation| {
        (one.collective, &one.roots) == (whole.collective, &whole.roots)
            && one.messages.len() < whole.messages.len()
            && one.messages.iter().all(|id| whole.messages.binary_search(id).is_ok())
    };
    let parts: Vec<_> = operations
        .iter()
        .filter(is_part)
        .map(|one| spans(arena, &one.messages))
        .collect();
    let are_apart = |(at, one): (usize, _)| {
        parts[at + 1..]
            .iter()
            .any(|other| is_before(one, other) || is_before(other, one))
    };
    whole.collective == Collective::Broadcast && !parts.is_empty() && !parts.iter().enumerate().any(are_apart)
}

/// True if the second of two messages is sent by the receiver of the first.
fn is_passed_on(arena: &Arena<'_>, operation: &Operation) -> bool {
    let messages: Vec<_> = operation
        .messages
        .iter()
        .map(|&id| arena.messages[id as usize])
        .collect();
    messages.windows(2).any(|pair| pair[0].to == pair[1].from)
}

/// Group of call sites of each message, and spreads by these groups.
fn by_sites(arena: &Arena<'_>, spreads: Vec<Spread>) -> (Vec<u32>, BTreeMap<u32, Vec<Spread>>) {
    let groups = site_groups(arena, spreads.iter().map(|one| one.hops.as_slice()));
    let mut by_sites: BTreeMap<u32, Vec<Spread>> = BTreeMap::new();
    for one in spreads {
        by_sites.entry(groups[one.hops[0] as usize]).or_default().push(one);
    }
    (groups, by_sites)
}
