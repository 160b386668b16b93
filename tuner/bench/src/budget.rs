//! Wall-clock budget: the time that is spent, the time reserved for proofs, and the ends of steps.

use std::cell::{Cell, RefCell};
use std::sync::OnceLock;
use std::time::Instant;

/// Largest share of the budget that a proof may reserve, because the search needs time as well.
pub const PROOF_SHARE: f64 = 0.35;

/// Largest share of the time after the first verification that a proof may reserve. It amounts to the same if that took
/// its own share.
const PROOF_SHARE_OF_REST: f64 = 0.54;

/// Share of the seconds left that a proof keeps while nothing is found that it would prove.
const PROOF_OF_NOTHING_SHARE: f64 = 0.5;

/// Number of the last starts of jobs that count, because the machine's state changes.
const REMEMBERED_STARTS: usize = 9;

/// Share of the budget by which a launch that began in time may outlast its part, and the bounds of this time in
/// seconds.
const GRACE_SHARE: f64 = 0.1;
const GRACE_SECONDS: [f64; 2] = [3.0, 30.0];

/// The only part of a command that names none.
const VERIFICATION: &str = "verification";

/// Start of the command.
static BEGIN: OnceLock<Instant> = OnceLock::new();

/// Marks the start of the command. It is called first of all, because finding the library counts, too.
pub fn begin_command() {
    BEGIN.get_or_init(Instant::now);
}

/// A part of the command's time.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// Such as `first verification`.
    pub name: String,
    /// Seconds that it was allowed when it began; infinite without a limit.
    pub allotted_seconds: f64,
    /// Seconds that it used.
    pub used_seconds: f64,
}

/// Budget of one command: wall-clock seconds since its start. A command that resumes a run has the whole budget again,
/// because results from the store cost nothing.
pub struct Budget {
    total_seconds: Cell<f64>,
    /// Seconds since the command began.
    clock: Box<dyn Fn() -> f64>,
    reserved_seconds: Cell<f64>,
    /// End of a step that may spend only a share of the rest.
    stage_end_seconds: Cell<f64>,
    phases: RefCell<Vec<Phase>>,
    /// Name of the part under way.
    part: RefCell<String>,
    /// End of the part under way, in seconds.
    part_end_seconds: Cell<f64>,
    /// Reading of the clock when this budget began, in seconds.
    begin_seconds: Cell<f64>,
    /// Starts and ends of the last jobs, in seconds each.
    starts: RefCell<Vec<f64>>,
}

impl std::fmt::Debug for Budget {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Budget")
            .field("total_seconds", &self.total_seconds())
            .field("spent_seconds", &self.spent_seconds())
            .finish_non_exhaustive()
    }
}

impl Budget {
    /// A budget that began with the command.
    #[must_use]
    pub fn new(total_seconds: f64) -> Budget {
        let begin = *BEGIN.get_or_init(Instant::now);
        Budget::by_clock(total_seconds, move || begin.elapsed().as_secs_f64())
    }

    /// A budget on a clock that gives the seconds since its start.
    #[must_use]
    pub fn by_clock(total_seconds: f64, clock: impl Fn() -> f64 + 'static) -> Budget {
        Budget {
            total_seconds: Cell::new(total_seconds),
            clock: Box::new(clock),
            reserved_seconds: Cell::new(0.0),
            stage_end_seconds: Cell::new(f64::INFINITY),
            phases: RefCell::default(),
            part: RefCell::new(VERIFICATION.to_owned()),
            part_end_seconds: Cell::new(total_seconds),
            begin_seconds: Cell::new(0.0),
            starts: RefCell::default(),
        }
    }

    /// Seconds spent so far.
    #[must_use]
    pub fn spent_seconds(&self) -> f64 {
        (self.clock)() - self.begin_seconds.get()
    }

    /// All seconds that may be spent.
    #[must_use]
    pub fn total_seconds(&self) -> f64 {
        self.total_seconds.get()
    }

    /// Seconds that are left.
    #[must_use]
    pub fn left_seconds(&self) -> f64 {
        (self.total_seconds() - self.spent_seconds()).max(0.0)
    }

    /// Starts the budget anew with `seconds`, because the command did other work until now. Nothing is reserved any more.
    pub fn restart(&self, seconds: f64) {
        self.begin_seconds.set((self.clock)());
        self.total_seconds.set(seconds);
        self.part_end_seconds.set(seconds);
        self.reserved_seconds.set(0.0);
    }

    /// True if the budget is spent.
    #[must_use]
    pub fn exhausted(&self) -> bool {
        self.spent_seconds() >= self.total_seconds()
    }

    /// Reserves seconds for the proof, in addition to those reserved already. If little time is left, the search keeps
    /// a share of it.
    pub fn reserve(&self, seconds: f64) {
        let most = (PROOF_SHARE * self.total_seconds()).min(PROOF_SHARE_OF_REST * self.search_seconds());
        self.reserved_seconds
            .set(self.reserved_seconds.get() + seconds.min(most));
    }

    /// Learns that the next proof takes about `seconds`: the search may spend what was reserved beyond that.
    pub fn expect_proof(&self, seconds: f64) {
        self.reserved_seconds
            .set(self.reserved_seconds.get().min(seconds.max(0.0)));
    }

    /// True if a search must end because it may not spend `further` seconds: the rest belongs to the proof, or to
    /// another step.
    #[must_use]
    pub fn search_exhausted(&self, further: f64) -> bool {
        let end = self.search_end_seconds().min(self.stage_end_seconds.get());
        self.spent_seconds() + further >= end
    }

    /// Carries out a step of the search that may spend `share` of the time left for searching. Later steps have the
    /// rest, however slow the machine is.
    pub fn with_share<T>(&self, share: f64, step: impl FnOnce() -> T) -> T {
        let spent = self.spent_seconds();
        let left = (self.search_end_seconds() - spent).max(0.0);
        self.stage_end_seconds.set(spent + share * left);
        let result = step();
        self.stage_end_seconds.set(f64::INFINITY);
        result
    }

    /// Carries out a step of the search. Where `nothing_is_found` so far that a proof would prove, the proof lends the step, and the launches that begin in
    /// it, all of its seconds but a share of those left: a run that ends before its budget, and with nothing, helps nobody.
    pub fn with_loan<T>(&self, nothing_is_found: bool, step: impl FnOnce() -> T) -> T {
        if !nothing_is_found {
            return step();
        }
        let reserved = self.reserved_seconds.get();
        self.expect_proof(PROOF_OF_NOTHING_SHARE * self.left_seconds());
        let part_end = self.part_end_seconds.get();
        self.prolong_part_until(self.search_end_seconds());
        let result = step();
        self.part_end_seconds.set(part_end);
        self.reserved_seconds.set(reserved);
        result
    }

    /// Carries out a part of the command and records its time. Parts of the same name add up.
    pub fn phase<T>(&self, name: &str, allotted_seconds: f64, part: impl FnOnce() -> T) -> T {
        let end = self.spent_seconds() + allotted_seconds;
        self.part_until((name, allotted_seconds), end, part)
    }

    /// Same as [`Budget::phase`] for the last part, which may go on until the end if it begins early.
    pub fn last_phase<T>(&self, name: &str, allotted_seconds: f64, part: impl FnOnce() -> T) -> T {
        self.part_until((name, allotted_seconds), self.total_seconds(), part)
    }

    fn part_until<T>(&self, (name, allotted_seconds): (&str, f64), end: f64, part: impl FnOnce() -> T) -> T {
        let begin = self.spent_seconds();
        let outer_end = self.part_end_seconds.replace(end.min(self.total_seconds()));
        let outer = self.part.replace(name.to_owned());
        let result = part();
        self.part.replace(outer);
        self.part_end_seconds.set(outer_end);
        let used_seconds = self.spent_seconds() - begin;
        let mut phases = self.phases.borrow_mut();
        match phases.iter_mut().find(|phase| phase.name == name) {
            Some(phase) => {
                phase.allotted_seconds = phase.allotted_seconds.max(allotted_seconds);
                phase.used_seconds += used_seconds;
            }
            None => phases.push(Phase {
                name: name.to_owned(),
                allotted_seconds,
                used_seconds,
            }),
        }
        result
    }

    /// Carries out a step of the current part whose launches have to end at `end` seconds, or with the part.
    pub fn step_until<T>(&self, end: f64, step: impl FnOnce() -> T) -> T {
        let part_end = self.part_end_seconds.get();
        self.part_end_seconds.set(end.min(part_end));
        let result = step();
        self.part_end_seconds.set(part_end);
        result
    }

    /// Name of the part under way, for messages.
    #[must_use]
    pub fn part(&self) -> String {
        self.part.borrow().clone()
    }

    /// The parts so far.
    #[must_use]
    pub fn phases(&self) -> Vec<Phase> {
        self.phases.borrow().clone()
    }

    /// Seconds left for searching.
    #[must_use]
    pub fn search_seconds(&self) -> f64 {
        (self.search_end_seconds() - self.spent_seconds()).max(0.0)
    }

    /// Lets the current part go on until so many seconds are spent.
    pub fn prolong_part_until(&self, seconds: f64) {
        let end = self.part_end_seconds.get().max(seconds.min(self.total_seconds()));
        self.part_end_seconds.set(end);
    }

    /// Lets the current part go on until the end, because no later part needs its seconds.
    pub fn prolong_part(&self) {
        self.part_end_seconds.set(self.total_seconds());
    }

    /// Seconds that a launch which begins now may take: until its part ends, and a grace, which it has in any case.
    #[must_use]
    pub fn launch_limit_seconds(&self) -> f64 {
        let [least, most] = GRACE_SECONDS;
        let left = (self.part_end_seconds.get() - self.spent_seconds()).max(0.0);
        left + (GRACE_SHARE * self.total_seconds()).clamp(least, most)
    }

    /// Records the time to start and end a job, in seconds.
    pub fn learn_start(&self, seconds: f64) {
        let mut starts = self.starts.borrow_mut();
        if starts.len() == REMEMBERED_STARTS {
            starts.remove(0);
        }
        starts.push(seconds.max(0.0));
    }

    /// Median time to start and end the last jobs, in seconds; `None` before the first.
    #[must_use]
    pub fn start_seconds(&self) -> Option<f64> {
        let mut starts = self.starts.borrow().clone();
        starts.sort_unstable_by(f64::total_cmp);
        starts.get(starts.len() / 2).copied()
    }

    fn search_end_seconds(&self) -> f64 {
        self.total_seconds() - self.reserved_seconds.get()
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    /// A budget on a clock that the test moves.
    fn scripted(total_seconds: f64) -> (Budget, Rc<Cell<f64>>) {
        let now = Rc::new(Cell::new(0.0));
        let clock = Rc::clone(&now);
        (Budget::by_clock(total_seconds, move || clock.get()), now)
    }

    fn pass(now: &Cell<f64>, seconds: f64) {
        now.set(now.get() + seconds);
    }

    #[test]
    fn a_step_leaves_the_next_one_its_share() {
        let (budget, now) = scripted(100.0);
        pass(&now, 20.0);
        budget.reserve(20.0);
        let spent = budget.with_share(0.6, || {
            while !budget.search_exhausted(3.0) {
                pass(&now, 3.0);
            }
            budget.spent_seconds() - 20.0
        });
        // 36 of the 60 that are left, in steps of 3.
        assert!((30.0..36.0).contains(&spent), "{spent}");
        assert!(!budget.search_exhausted(20.0));
        assert!(budget.search_exhausted(30.0));
    }

    #[test]
    fn the_proof_has_no_more_than_its_share_set_aside() {
        let (budget, now) = scripted(100.0);
        budget.reserve(90.0);
        assert!(!budget.search_exhausted(64.0));
        assert!(budget.search_exhausted(65.0));
        assert!(!budget.exhausted());
        pass(&now, 100.0);
        assert!(budget.exhausted());
    }

    #[test]
    fn nothing_left_is_no_share() {
        let (budget, now) = scripted(10.0);
        pass(&now, 11.0);
        assert!(budget.with_share(0.5, || budget.search_exhausted(0.0)));
    }

    #[test]
    fn a_proof_of_nothing_keeps_half_of_what_is_left() {
        let (budget, now) = scripted(100.0);
        let lends =
            |nothing_is_found, seconds| !budget.with_loan(nothing_is_found, || budget.search_exhausted(seconds));
        budget.reserve(35.0);
        assert!(
            lends(true, 64.0) && !lends(true, 65.0),
            "half of what is left is more than it takes"
        );
        pass(&now, 60.0);
        assert!(budget.search_exhausted(5.0));
        assert!(lends(true, 19.0) && !lends(true, 20.0));
        assert!(!lends(false, 5.0), "something is found");
        assert!(budget.search_exhausted(5.0), "what a step leaves is the proof's");
        budget.with_loan(true, || {
            pass(&now, 15.0);
            assert!(
                !budget.search_exhausted(4.0) && budget.search_exhausted(5.0),
                "one loan"
            );
        });
    }

    #[test]
    fn launches_of_a_step_may_take_what_is_lent_to_it() {
        let (budget, now) = scripted(100.0);
        budget.reserve(35.0);
        budget.phase("search", budget.search_seconds(), || {
            pass(&now, 60.0);
            let seconds = |nothing_is_found| budget.with_loan(nothing_is_found, || budget.launch_limit_seconds());
            assert_eq!(
                (seconds(false), seconds(true)),
                (15.0, 30.0),
                "and a grace of ten seconds"
            );
            assert_eq!(budget.launch_limit_seconds(), 15.0);
        });
    }

    #[test]
    fn a_steps_launches_end_with_it_or_with_its_part() {
        let (budget, now) = scripted(100.0);
        let seconds = |end: f64| budget.step_until(end, || budget.launch_limit_seconds());
        budget.phase("search", 40.0, || {
            assert_eq!(
                (seconds(15.0), seconds(70.0)),
                (25.0, 50.0),
                "and a grace of ten seconds"
            );
            pass(&now, 20.0);
            assert_eq!((seconds(15.0), budget.launch_limit_seconds()), (10.0, 30.0));
        });
    }

    #[test]
    fn parts_say_what_they_were_allowed_and_took() {
        let (budget, now) = scripted(100.0);
        for seconds in [5.0, 7.0] {
            budget.phase("search", 40.0, || pass(&now, seconds));
        }
        budget.phase("proof", 20.0, || {
            assert_eq!(budget.part(), "proof");
            pass(&now, 21.0);
        });
        assert_eq!(budget.part(), "verification", "a check has no other");
        let told: Vec<(String, f64, f64)> = budget
            .phases()
            .into_iter()
            .map(|phase| (phase.name, phase.allotted_seconds, phase.used_seconds))
            .collect();
        assert_eq!(
            told,
            [("search".to_owned(), 40.0, 12.0), ("proof".to_owned(), 20.0, 21.0)]
        );
    }

    #[test]
    fn what_is_left_late_is_divided_between_search_and_proof() {
        let (budget, now) = scripted(120.0);
        pass(&now, 84.0);
        budget.reserve(1.6 * 84.0);
        let search = budget.search_seconds();
        assert!((14.0..20.0).contains(&search), "{search} of 36");
        pass(&now, 40.0);
        budget.reserve(10.0);
        assert_eq!(budget.search_seconds(), 0.0);
    }

    #[test]
    fn a_proof_that_was_short_leaves_the_next_search_its_seconds() {
        let (budget, now) = scripted(120.0);
        pass(&now, 42.0);
        budget.reserve(1.6 * 42.0);
        assert!((budget.search_seconds() - 36.0).abs() < 1e-9);
        pass(&now, 36.0 + 5.0);
        assert_eq!(budget.search_seconds(), 0.0);
        budget.expect_proof(10.0);
        assert!((budget.search_seconds() - 27.0).abs() < 1e-9);
        // A long one takes no more than was reserved.
        budget.expect_proof(100.0);
        assert!((budget.search_seconds() - 27.0).abs() < 1e-9);
    }

    #[test]
    fn a_launch_may_take_what_its_part_has_left_and_a_grace() {
        let (budget, now) = scripted(100.0);
        budget.phase("search", 30.0, || {
            pass(&now, 10.0);
            assert_eq!(budget.launch_limit_seconds(), 30.0);
            pass(&now, 40.0);
            assert_eq!(budget.launch_limit_seconds(), 10.0, "one that is begun has the grace");
        });
        assert_eq!(budget.launch_limit_seconds(), 60.0, "outside of parts, until the end");
        budget.phase("first", 5.0, || {
            budget.prolong_part();
            assert_eq!(budget.launch_limit_seconds(), 60.0);
        });
        budget.last_phase("proof", 35.0, || assert_eq!(budget.launch_limit_seconds(), 60.0));
        budget.phase("search", 1000.0, || assert_eq!(budget.launch_limit_seconds(), 60.0));
        assert_eq!(scripted(1.0).0.launch_limit_seconds(), 4.0);
        assert_eq!(scripted(10_000.0).0.launch_limit_seconds(), 10_030.0);
    }

    #[test]
    fn a_budget_that_begins_later_has_all_of_its_seconds() {
        let (budget, now) = scripted(100.0);
        budget.reserve(30.0);
        pass(&now, 99.0);
        budget.restart(80.0);
        assert_eq!((budget.spent_seconds(), budget.left_seconds()), (0.0, 80.0));
        assert!(!budget.search_exhausted(79.0), "what was reserved before is not");
        assert_eq!(budget.launch_limit_seconds(), 88.0);
        pass(&now, 81.0);
        assert!(budget.exhausted() && budget.left_seconds() == 0.0);
    }

    #[test]
    fn a_start_is_what_the_last_ones_took() {
        let (budget, _) = scripted(1.0);
        assert_eq!(budget.start_seconds(), None);
        [0.5, 9.0, 0.6]
            .into_iter()
            .for_each(|seconds| budget.learn_start(seconds));
        assert_eq!(budget.start_seconds(), Some(0.6));
        [2.0; 9].into_iter().for_each(|seconds| budget.learn_start(seconds));
        assert_eq!(budget.start_seconds(), Some(2.0));
    }

    #[test]
    fn the_clock_on_the_wall_runs_by_itself() {
        assert!(Budget::new(0.0).exhausted());
        assert!(!Budget::new(3600.0).exhausted());
    }
}
