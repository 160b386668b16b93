//! Decides all calls of a plan together: one table of times, filled by common launches, and one assignment of ways to calls ([`mod@crate::joint`]).
//!
//! All candidates of all calls are screened in one job, the front of each call is compared in a few launches that hold all calls, and what falls
//! behind is measured no more. Where messages show that another component of the library decides, its algorithms are compared once more, each with
//! the setting that hands the call on. The ways that are chosen, and those that would close a bound, are compared with ranks that arrive apart.
//! Choices are checked (correctness matrix, other datatypes, messages); those that fail are struck, and the decision is made again.

mod filling;

use std::collections::{BTreeMap, BTreeSet};

use kilter_model::change::Cell;
use kilter_model::deployment::{Assignment as Setting, Deployment, Selection};
use kilter_model::ledger::Ledger;
use kilter_model::not_deployed::NotDeployed;
use kilter_model::options::Goal;
use kilter_model::report::FixKind;
use kilter_protocol::fault::FaultKind;
use kilter_stats::verdict::Rule;

use crate::choose::{Choice, Held};
use crate::context::Context;
use crate::in_job_search::{Contests, FINAL_LAUNCHES, front};
use crate::joint::{self, Assignment, Problem, Reading, Table};
use crate::proof::Finding;
use crate::target::Target;
use crate::verification::Verification;

/// Rounds in which ways that would close bounds are measured, and what takes the place of a way that is slower when ranks arrive apart: a composition
/// may be made of calls that are compositions themselves.
const AGAIN: usize = 4;

/// The knowledge that decisions of a run share.
#[derive(Debug, Default)]
pub struct Known {
    /// Names of the targets for which settings of whole launches were tried, and the settings that were in force then.
    pub settings_tried: (BTreeSet<String>, Vec<Setting>),
    table: Table,
    /// The calls that are decided; others in the table are right sides alone.
    decided: BTreeSet<Cell>,
    findings: BTreeMap<String, Finding>,
    /// The same of algorithms that were handed on.
    handed_on: BTreeMap<String, Finding>,
    struck: BTreeMap<(Cell, Selection), NotDeployed>,
    checked: BTreeSet<(Cell, Selection)>,
}

/// A decision to be made.
#[derive(Clone, Copy)]
pub struct Deciding<'d, 'c> {
    /// The run.
    pub context: &'d Context<'c>,
    /// Begins the names of launches.
    pub label: &'d str,
    /// Settings of whole launches that are in force.
    pub in_force: &'d Deployment,
    /// The last verification, and the deployment that was in force then.
    pub now: (&'d Verification, &'d Deployment),
    /// The results of earlier decisions.
    pub ledger: &'d Ledger,
    /// Kinds of fixes that are asked for.
    pub kinds: &'d dyn Fn(FixKind) -> bool,
    /// The aim.
    pub goal: Goal,
}

impl Deciding<'_, '_> {
    /// Decides all calls; `targets` are the violated ones, with their bounds. Each call that was looked at has its choice.
    ///
    /// # Errors
    /// A failure that no candidate explains.
    pub fn decide(&self, targets: &[Target], known: &mut Known) -> anyhow::Result<Vec<(Target, Choice)>> {
        let parts = self.context.in_job_search();
        let contests = |label: &str| {
            let contests = Contests::new(parts, self.in_force, label).finding_first(self.in_force.is_empty());
            contests.without_compositions().together()
        };
        let handing_on = contests(&format!("{}/components", self.label)).handing_on();
        let contests = contests(self.label);
        let hidden = self.fill(&contests, targets, known)?;
        self.hand_on(&handing_on, hidden, known)?;
        let mut assignment = self.solved(&contests, known)?;
        for round in 1..=AGAIN {
            if !self.compare_again(&contests, round, &assignment, known)? {
                break;
            }
            assignment = self.solved(&contests, known)?;
        }
        Ok(self.told(&contests, targets, &assignment, known))
    }

    /// Decides once more where settings of whole launches came into force that change these calls, by the names of their targets: the library's own
    /// calls and the chosen ways are compared under them, and all candidates where none of the library's algorithms was asked for before.
    ///
    /// # Errors
    /// A failure that no candidate explains.
    pub fn decide_again(
        &self,
        targets: &[Target],
        changed: &BTreeSet<&String>,
        known: &mut Known,
    ) -> anyhow::Result<Vec<(Target, Choice)>> {
        let parts = self.context.in_job_search();
        let contests = Contests::new(parts, self.in_force, self.label).without_compositions();
        let problem = self.problem(known);
        let assignment = self.assignment(&problem);
        let calls = problem.calls.iter().zip(&assignment);
        let again = calls.filter_map(|(call, way)| {
            let target = Target::unbounded(call.cell.0, call.cell.1);
            let field: Vec<Selection> = call.ways[*way].selection.clone().into_iter().collect();
            (call.is_decided && changed.contains(&target.name())).then_some((target, field))
        });
        let is_hidden = |(target, _): &(Target, Vec<Selection>)| {
            matches!(known.findings.get(&target.name()), Some(Finding::NoEffect { .. }))
        };
        let (hidden, mut race): (Vec<_>, Vec<_>) = again.partition(is_hidden);
        let hidden: Vec<Target> = hidden.into_iter().map(|(target, _)| target).collect();
        race.extend(contests.screen_all(&hidden, &self.kinds_of(), &front)?);
        let (held, findings) = self.compare(&contests, race)?;
        held.into_iter().for_each(|held| known.table.replace(held));
        known.findings.extend(findings);
        let assignment = self.solved(&contests, known)?;
        Ok(self.told(&contests, targets, &assignment, known))
    }

    fn rule(&self) -> Rule {
        self.context.site.rule(self.context.facts.noise_seconds())
    }

    /// True if a selection may be chosen for a cell.
    fn is_open(&self, cell: Cell) -> bool {
        let is_left = self.context.site.options.limits.leaves(cell.0.name()).is_some();
        !is_left && !self.ledger.is_closed(cell)
    }

    /// The calls that are decided, and those whose defaults bound them. A contest may be asked for at a size that the plan does not have.
    fn cells(&self, targets: &[Target]) -> (BTreeSet<Cell>, BTreeSet<Cell>) {
        let plan = &self.context.plan;
        let own = plan.library_subjects();
        let own = own.iter().filter_map(|left| Some((left.collective()?, left.bytes)));
        let asked_for = targets
            .iter()
            .filter(|target| target.asked_for)
            .filter_map(Target::cell);
        let decided: BTreeSet<Cell> = own.chain(asked_for).filter(|cell| self.is_open(*cell)).collect();
        let place = self.context.site.options.place();
        let all = Problem::cells_of(plan).into_iter();
        // Combined data of another volume is no whole number of elements; a right side combines bytes there.
        let exists = |cell: &Cell| place.volume(cell.0, cell.1) == cell.1;
        let bounding = all.filter(|cell| !decided.contains(cell) && exists(cell)).collect();
        (decided, bounding)
    }

    /// The problem as far as it is known.
    fn problem(&self, known: &Known) -> Problem {
        let context = self.context;
        let rule = self.rule();
        let is_simulated = context.site.library.launcher.is_simulator();
        let objection = |cell: Cell, selection: &Selection| {
            let cannot = is_simulated && selection.kind() != FixKind::Parameter;
            let banned = !self.ledger.allows(cell, selection.kind());
            let fault = context.quarantine.fault(&selection.id());
            let struck = known.struck.get(&(cell, selection.clone())).cloned();
            let cannot = cannot.then_some(NotDeployed::CannotBeDeployed);
            cannot
                .or(banned.then_some(NotDeployed::Banned))
                .or(fault.map(|what| NotDeployed::Failed { what }))
                .or(struck)
        };
        let reading = Reading {
            rule: &rule,
            objection: &objection,
            on_all_sizes: &|cell, selection| selection.acts_on_all_sizes(cell.0, &context.site.library),
            is_decided: &|cell| known.decided.contains(&cell) && self.is_open(cell),
        };
        let (now, verified) = self.now;
        let violated: BTreeSet<(&str, Cell)> = now
            .suspected()
            .filter_map(|judged| {
                let left = &judged.cell.left;
                Some((judged.cell.guideline.as_str(), (left.collective()?, left.bytes)))
            })
            .collect();
        let is_violated = |guideline: &str, cell: Cell| violated.contains(&(guideline, cell));
        Problem::of(known.table.calls(&reading), &context.plan, verified, &is_violated)
    }

    fn assignment(&self, problem: &Problem) -> Assignment {
        let floor = self.context.site.options.effect_floor;
        match self.goal {
            Goal::Fastest => joint::fastest(problem, floor),
            Goal::Smallest => joint::smallest(problem, floor),
        }
    }

    /// The assignment whose ways are all right on this library and machine: what is not is struck, and the rest decided again.
    fn solved(&self, contests: &Contests<'_, '_>, known: &mut Known) -> anyhow::Result<Assignment> {
        loop {
            let problem = self.problem(known);
            let assignment = self.assignment(&problem);
            let chosen = problem.calls.iter().zip(&assignment).filter_map(|(call, way)| {
                let selection = call.ways[*way].selection.clone()?;
                let is_new = !known.checked.contains(&(call.cell, selection.clone()));
                is_new.then(|| (Target::unbounded(call.cell.0, call.cell.1), selection))
            });
            let chosen: Vec<(Target, Selection)> = chosen.collect();
            if chosen.is_empty() {
                return Ok(assignment);
            }
            let faults = contests.strike(&chosen)?;
            let is_struck = faults.iter().any(Option::is_some);
            for ((target, selection), fault) in chosen.into_iter().zip(faults) {
                let Some(cell) = target.cell() else { continue };
                if let Some(what) = fault {
                    known
                        .struck
                        .insert((cell, selection.clone()), NotDeployed::Failed { what });
                    if what == FaultKind::Hung {
                        self.strike_alike(&problem, cell, &selection, known);
                    }
                }
                known.checked.insert((cell, selection));
            }
            if !is_struck {
                return Ok(assignment);
            }
        }
    }

    /// Strikes the algorithm of the library that hung with other values of its parameters, too: each hang costs seconds.
    fn strike_alike(&self, problem: &Problem, cell: Cell, hung: &Selection, known: &mut Known) {
        let Some(row) = self.context.site.library.algorithms_of(cell.0) else {
            return;
        };
        let algorithm = |selection: &Selection| match selection {
            Selection::Settings(settings) => settings.iter().find(|(name, _)| *name == row.parameter).cloned(),
            _ => None,
        };
        let ways = problem
            .calls
            .iter()
            .filter(|call| call.cell == cell)
            .flat_map(|call| &call.ways);
        let alike = ways.filter_map(|way| way.selection.as_ref());
        for selection in
            alike.filter(|one| *one != hung && algorithm(one).is_some() && algorithm(one) == algorithm(hung))
        {
            let why = NotDeployed::AlikeHung { other: hung.id() };
            known.struck.entry((cell, selection.clone())).or_insert(why);
        }
    }

    /// Compares what is chosen, and what would close bounds, with ranks together and apart. False where there is nothing to compare, or no time.
    fn compare_again(
        &self,
        contests: &Contests<'_, '_>,
        round: usize,
        assignment: &Assignment,
        known: &mut Known,
    ) -> anyhow::Result<bool> {
        let problem = self.problem(known);
        let floor = self.context.site.options.effect_floor;
        let is_asked_for = (self.kinds)(FixKind::Mockup);
        let only_broken = self.goal == Goal::Smallest;
        let mut wishes = joint::undecided(&problem, assignment, floor, only_broken);
        if is_asked_for {
            wishes.extend(joint::wishes(&problem, assignment, floor, only_broken));
        }
        let mut fields: BTreeMap<usize, Vec<Selection>> = BTreeMap::new();
        for wish in wishes {
            let (collective, bytes) = problem.calls[wish.call].cell;
            let is_open = self.ledger.allows((collective, bytes), wish.selection.kind())
                && !self.context.quarantine.contains(&wish.selection.id());
            if is_open && contests.is_allowed(&Target::unbounded(collective, bytes), &wish.selection) {
                fields.entry(wish.call).or_default().push(wish.selection);
            }
        }
        for (place, way) in assignment.iter().enumerate() {
            let call = &problem.calls[place];
            let Some(chosen) = &call.ways[*way].selection else {
                continue;
            };
            let is_compared = known.table.is_compared_apart(call.cell, chosen);
            if fields.contains_key(&place) || !is_compared && !self.context.site.options.arrivals.is_empty() {
                fields.entry(place).or_default().insert(0, chosen.clone());
            }
        }
        if fields.is_empty() {
            return Ok(false);
        }
        let finals = fields.into_iter().map(|(place, field)| {
            let (collective, bytes) = problem.calls[place].cell;
            (Target::unbounded(collective, bytes), field)
        });
        let mut deployed = self.in_force.clone();
        for (call, way) in problem.calls.iter().zip(assignment) {
            if let Some(selection) = &call.ways[*way].selection {
                deployed.selections.insert(call.cell, selection.clone());
            }
        }
        let label = format!("{}/again {round}", self.label);
        let again = Contests::new(self.context.in_job_search(), &deployed, &label);
        let held: Vec<Held> = again.finals(finals.collect(), FINAL_LAUNCHES)?;
        let is_compared = !held.is_empty();
        held.into_iter().for_each(|held| known.table.add(held));
        Ok(is_compared)
    }

    /// The choices for all calls that were decided, with their contests, the violated ones first. Bounds that are still broken are reasons.
    fn told(
        &self,
        contests: &Contests<'_, '_>,
        targets: &[Target],
        assignment: &Assignment,
        known: &Known,
    ) -> Vec<(Target, Choice)> {
        let problem = self.problem(known);
        let floor = self.context.site.options.effect_floor;
        let decided = problem.calls.iter().enumerate().filter(|(_, call)| call.is_decided);
        let choice = |(place, call): (usize, &joint::Call)| {
            let (collective, bytes) = call.cell;
            let own = Target::unbounded(collective, bytes);
            let mut target = targets.iter().find(|one| one.left == own.left).cloned().unwrap_or(own);
            let mut bound = None;
            for broken in problem.bounds.iter().filter(|bound| bound.left == place) {
                if problem.is_broken(assignment, broken, floor) {
                    let name = format!("{} {}", broken.guideline, target.name());
                    if !target.cells.contains(&name) {
                        target.cells.push(name);
                    }
                    let right = problem.right_seconds(assignment, broken);
                    bound = Some(bound.map_or(right, |least: f64| least.min(right)));
                }
            }
            let only_needed = self.goal == Goal::Smallest;
            let told = joint::contest(call, assignment[place], bound, floor, only_needed);
            let finding = known.findings.get(&target.name());
            let mut choice = Choice {
                chosen: call.ways[assignment[place]].selection.clone(),
                unfixed_because: told.misses,
                contest: told.contest,
            };
            let measured = known
                .table
                .latest(call.cell)
                .map_or(&[][..], |column| &column.candidates);
            contests.complete(&target, measured, finding, &mut choice);
            if let Some(finding) = known.handed_on.get(&target.name()) {
                self.tell_handed_on(finding, &mut choice);
            }
            (target, choice)
        };
        let mut choices: Vec<(Target, Choice)> = decided.map(choice).collect();
        let place = |target: &Target| targets.iter().position(|other| other.left == target.left);
        choices.sort_by_key(|(target, _)| place(target).unwrap_or(usize::MAX));
        choices
    }
}
