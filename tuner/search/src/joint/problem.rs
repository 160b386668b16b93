//! Calls with their ways, and the bounds between them.

use kilter_algorithms::{Collective, closing, mockup};
use kilter_model::change::Cell;
use kilter_model::config::guideline::Kind;
use kilter_model::deployment::{Deployment, Selection};
use kilter_model::not_deployed::NotDeployed;
use kilter_model::plan::{Plan, Subject};
use kilter_protocol::expression::Side;

use super::Assignment;

/// A way to carry out a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Way {
    /// `None` is the default: the library as it is launched.
    pub selection: Option<Selection>,
    /// Its time in seconds.
    pub seconds: f64,
    /// Launches show that it is faster than the default.
    pub gains: bool,
    /// Launches that timed it beside the default.
    pub launches: usize,
    /// It is statistically as good as the fastest way that may be deployed.
    pub as_good: bool,
    /// It acts on all sizes of the collective, whichever it is chosen for.
    pub on_all_sizes: bool,
    /// Reason against its deployment beside its time.
    pub objection: Option<NotDeployed>,
}

impl Way {
    /// True if nothing but its time can speak against it.
    #[must_use]
    pub fn is_admitted(&self) -> bool {
        self.objection.is_none()
    }

    /// Smaller is simpler to deploy: the library's own before what is preloaded, then fewer numbers that a reader has to understand.
    #[must_use]
    pub fn simplicity(&self) -> usize {
        match &self.selection {
            None => 0,
            Some(Selection::Settings(settings)) => 10 + settings.len(),
            Some(Selection::Mockup(_, values)) => 20 + values.len(),
            Some(Selection::Algorithm(_, values)) => 30 + values.len(),
            // One more file to install.
            Some(Selection::Plugin(_)) => 40,
        }
    }
}

/// A collective at a volume.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The collective and its volume in bytes.
    pub cell: Cell,
    /// Its ways; the first is the default.
    pub ways: Vec<Way>,
    /// False for a call that is measured as a bound alone and keeps its default.
    pub is_decided: bool,
}

impl Call {
    /// Place of the simplest way that gains, meets a bound in seconds and is as fast as the fastest of these, within the floor.
    #[must_use]
    pub fn meeting(&self, bound: f64, floor: f64) -> Option<usize> {
        let ways = &self.ways;
        let meets = |way: &usize| {
            let one = &ways[*way];
            one.is_admitted() && one.gains && one.seconds <= (1.0 + floor) * bound
        };
        let meeting: Vec<usize> = (1..ways.len()).filter(meets).collect();
        let least = meeting.iter().map(|way| ways[*way].seconds).min_by(f64::total_cmp)?;
        let best = meeting
            .into_iter()
            .filter(|way| ways[*way].seconds <= (1.0 + floor) * least);
        best.min_by(|a, b| {
            let (a, b) = (&ways[*a], &ways[*b]);
            let simpler = a.simplicity().cmp(&b.simplicity());
            simpler.then(a.seconds.total_cmp(&b.seconds))
        })
    }
}

/// A call that must not be slower than others together.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// Guideline id.
    pub guideline: String,
    /// Place of the left call.
    pub left: usize,
    /// Places of the right calls, and how often each is made.
    pub right: Vec<(usize, f64)>,
    /// The right side as a way to carry out the left one; `None` where nothing that can be deployed does so.
    pub closes_by: Option<Selection>,
    /// True if launches showed it broken under the assignment that was verified last.
    pub is_violated: bool,
    /// False if what one rank does by itself on the right side is not among its calls: their times then promise more than can be had.
    pub is_whole: bool,
}

/// Calls and the bounds between them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Problem {
    /// The calls, by collective and then by volume.
    pub calls: Vec<Call>,
    /// The bounds.
    pub bounds: Vec<Bound>,
    /// The assignment that was verified last.
    pub verified: Assignment,
}

impl Problem {
    /// The problem of these calls under a plan's guidelines. The last verification had `verified` in force; `is_violated` tells which left sides
    /// broke a guideline in it, by the guideline's id.
    #[must_use]
    pub fn of(
        mut calls: Vec<Call>,
        plan: &Plan,
        verified: &Deployment,
        is_violated: &dyn Fn(&str, Cell) -> bool,
    ) -> Problem {
        calls.sort_by_key(|call| call.cell);
        let in_force = |call: &Call| {
            let selection = verified.selections.get(&call.cell);
            let is_it = |way: &Way| way.selection.as_ref() == selection;
            call.ways.iter().position(is_it).unwrap_or(usize::MAX)
        };
        let mut problem = Problem {
            verified: calls.iter().map(in_force).collect(),
            calls,
            bounds: Vec::new(),
        };
        let mut bounds = problem.of_patterns(plan);
        for (guideline, collective) in &plan.monotony_functions {
            let sizes = problem.sizes(*collective);
            for (place, small) in sizes.iter().enumerate() {
                for large in &sizes[place + 1..] {
                    bounds.push(problem.padded(guideline, *small, *large));
                }
            }
        }
        for (guideline, collective) in &plan.split_functions {
            let sizes = problem.sizes(*collective);
            for (place, whole) in sizes.iter().enumerate() {
                let parts = sizes[..place].iter().filter(|part| problem.bytes(**part) > 0);
                bounds.extend(parts.map(|part| problem.split(guideline, *whole, *part)));
            }
        }
        for bound in &mut bounds {
            bound.is_violated = is_violated(&bound.guideline, problem.calls[bound.left].cell);
        }
        problem.bounds = bounds;
        problem
    }

    /// Calls that the right sides of a plan's patterns make, and the left sides: everything whose time a decision reads.
    #[must_use]
    pub fn cells_of(plan: &Plan) -> Vec<Cell> {
        let mut cells: Vec<Cell> = plan.library_subjects().iter().filter_map(cell_of).collect();
        for cell in plan.cells.iter().filter(|cell| cell.kind == Kind::Pattern) {
            if cell.left.collective().is_some() {
                let right = plain_calls(&cell.right).unwrap_or_default();
                cells.extend(right.into_iter().map(|call| (call, cell.right.bytes)));
            }
        }
        // One rank's own work is no call that could be compared.
        cells.retain(|(collective, _)| *collective != Collective::ReduceLocal);
        cells.sort_unstable();
        cells.dedup();
        cells
    }

    fn place(&self, cell: Cell) -> Option<usize> {
        self.calls.binary_search_by_key(&cell, |call| call.cell).ok()
    }

    fn bytes(&self, place: usize) -> u64 {
        self.calls[place].cell.1
    }

    fn sizes(&self, collective: Collective) -> Vec<usize> {
        let all = 0..self.calls.len();
        all.filter(|place| self.calls[*place].cell.0 == collective).collect()
    }

    fn of_patterns(&self, plan: &Plan) -> Vec<Bound> {
        let patterns = plan.cells.iter().filter(|cell| cell.kind == Kind::Pattern);
        let bound = |cell: &kilter_model::plan::PlannedCell| {
            let collective = cell.left.collective()?;
            let calls = plain_calls(&cell.right)?;
            let of_ranks = calls.iter().filter(|call| **call != Collective::ReduceLocal);
            let is_whole = of_ranks.clone().count() == calls.len();
            let right = of_ranks.map(|call| Some((self.place((*call, cell.right.bytes))?, 1.0)));
            Some(Bound {
                guideline: cell.guideline.clone(),
                left: self.place((collective, cell.left.bytes))?,
                right: right.collect::<Option<_>>()?,
                closes_by: mockup::of_calls(collective, &calls)
                    .map(|row| Selection::Mockup(row.id.to_owned(), Vec::new())),
                is_violated: false,
                is_whole,
            })
        };
        patterns.filter_map(bound).collect()
    }

    fn padded(&self, guideline: &str, small: usize, large: usize) -> Bound {
        let (collective, to_bytes) = self.calls[large].cell;
        Bound {
            guideline: guideline.to_owned(),
            left: small,
            right: vec![(large, 1.0)],
            closes_by: closes(closing::Way::Padded, collective, to_bytes).filter(|_| self.bytes(small) > 0),
            is_violated: false,
            is_whole: true,
        }
    }

    fn split(&self, guideline: &str, whole: usize, part: usize) -> Bound {
        let (collective, part_bytes) = self.calls[part].cell;
        Bound {
            guideline: guideline.to_owned(),
            left: whole,
            right: vec![(part, self.bytes(whole).div_ceil(part_bytes) as f64)],
            closes_by: closes(closing::Way::Split, collective, part_bytes),
            is_violated: false,
            is_whole: true,
        }
    }

    /// Seconds of a call under an assignment.
    #[must_use]
    pub fn seconds(&self, assignment: &Assignment, place: usize) -> f64 {
        self.calls[place].ways[assignment[place]].seconds
    }

    /// Seconds of a bound's right side under an assignment.
    #[must_use]
    pub fn right_seconds(&self, assignment: &Assignment, bound: &Bound) -> f64 {
        let parts = bound.right.iter();
        parts
            .map(|(place, times)| times * self.seconds(assignment, *place))
            .sum()
    }

    /// Seconds of the tightest right side of a call; `None` without a bound.
    #[must_use]
    pub fn tightest(&self, assignment: &Assignment, left: usize) -> Option<f64> {
        let own = self.bounds.iter().filter(|bound| bound.left == left && bound.is_whole);
        own.map(|bound| self.right_seconds(assignment, bound))
            .min_by(f64::total_cmp)
    }

    /// True if a bound is broken under an assignment by more than `floor`. The last verification says it of the ways that it had in force.
    #[must_use]
    pub fn is_broken(&self, assignment: &Assignment, bound: &Bound, floor: f64) -> bool {
        if self.is_verified(assignment, bound) {
            return bound.is_violated;
        }
        bound.is_whole && self.seconds(assignment, bound.left) > (1.0 + floor) * self.right_seconds(assignment, bound)
    }

    /// True if a bound's calls have the ways that the last verification had in force.
    #[must_use]
    pub fn is_verified(&self, assignment: &Assignment, bound: &Bound) -> bool {
        let mut places = bound.right.iter().map(|(place, _)| *place).chain([bound.left]);
        places.all(|place| assignment[place] == self.verified[place])
    }
}

/// The row that pads or splits calls of a collective with this value of its parameter; `None` where there is none.
fn closes(way: closing::Way, collective: Collective, bytes: u64) -> Option<Selection> {
    let row = closing::CLOSING
        .iter()
        .find(|row| row.collective == collective && row.way == way)?;
    let parameter = way.parameter();
    let is_within = (parameter.min..=parameter.max).contains(&bytes);
    is_within.then(|| Selection::Mockup(row.id.to_owned(), vec![bytes]))
}

fn cell_of(subject: &Subject) -> Option<Cell> {
    Some((subject.collective()?, subject.bytes))
}

/// The collectives of a side that is plain calls on the whole volume.
fn plain_calls(side: &Subject) -> Option<Vec<Collective>> {
    side.text.parse::<Side>().ok()?.plain_calls()
}
