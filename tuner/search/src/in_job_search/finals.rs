//! The last round of contests: the finalists of all calls in several common launches. Who falls behind is dropped.

use std::collections::BTreeMap;

use kilter_bench::launch::session::BlockOutcome;
use kilter_model::arrival::Arrival;
use kilter_model::deployment::Selection;
use kilter_model::plan::DEFAULT;
use kilter_stats::sample::Sample;

use super::Contests;
use super::job::Job;
use super::pace::Pace;
use crate::choose::{Apart, Held, Measured};
use crate::repetition::{self, Purpose};
use crate::target::Target;

/// Launches of the final.
pub const FINAL_LAUNCHES: usize = 5;

/// Launches of the final without which little is known of the difference between candidates.
const FEWEST_LAUNCHES: usize = 2;

/// Medians of each launch in seconds, by item.
type Medians = BTreeMap<String, Vec<f64>>;

/// The launches of one final so far.
#[derive(Debug, Clone, Default)]
struct Launched {
    /// Ranks that come together.
    together: Medians,
    /// Ranks that arrive apart, pattern by pattern.
    apart: Vec<Medians>,
    /// Time of the default in the first launch, in seconds, by which patterns are sized.
    own_seconds: Option<f64>,
}

/// A finalist that is slower than the fastest by this factor in each of several launches is not measured any more.
const LEFT_BEHIND: f64 = 1.15;

/// Drops the finalists that no further launch can bring to the front: what they would cost measures those that are close.
fn drop_slower(front: &mut Vec<Selection>, medians: &Medians) {
    let middle = |values: &Vec<f64>| Sample::new(values.clone()).ok().map(|sample| sample.median());
    let fastest = medians.values().filter(|values| values.len() >= FEWEST_LAUNCHES);
    let fastest = fastest.filter_map(|values| Some((middle(values)?, values)));
    let Some((_, fastest)) = fastest.min_by(|a, b| a.0.total_cmp(&b.0)) else {
        return;
    };
    front.retain(|selection| {
        let Some(own) = medians.get(&selection.id()) else {
            return true;
        };
        let mut launches = own.iter().zip(fastest);
        own.len() < FEWEST_LAUNCHES || !launches.all(|(own, fastest)| *own > LEFT_BEHIND * fastest)
    });
}

fn add(medians: &mut Medians, outcome: &BlockOutcome) {
    for id in outcome.samples.keys() {
        medians.entry(id.clone()).or_default().extend(outcome.median(id));
    }
}

/// The first launches of finals may take longer than foreseen by this factor: a screening repeats each candidate a few times.
const LONGER: f64 = 1.25;

/// A final that is foreseen: its target, and the ids of its finalists.
pub(super) type Foreseen<'t> = (&'t Target, Vec<String>);

pub(super) fn foreseen(finals: &[(Target, Vec<Selection>)]) -> impl Iterator<Item = Foreseen<'_>> {
    finals
        .iter()
        .map(|(target, front)| (target, front.iter().map(Selection::id).collect()))
}

impl Contests<'_, '_> {
    /// Runs all finals together, in a few launches of their own, as many as the budget allows; none are held where it allows no launch.
    ///
    /// # Errors
    /// A failure that no candidate explains.
    pub fn finals(&self, mut finals: Vec<(Target, Vec<Selection>)>, most_launches: usize) -> anyhow::Result<Vec<Held>> {
        if finals.is_empty() {
            return Ok(Vec::new());
        }
        self.leave_out(&mut finals);
        let launches = self.launches_of_finals(most_launches);
        let arrivals = self.arrivals(&finals);
        let mut medians = vec![Launched::default(); finals.len()];
        self.parts
            .jobs
            .progress
            .phase("compare finalists", (launches * finals.len()) as u64);
        let all = finals.clone();
        for launch in 0..launches {
            if !self.affords(self.expected_seconds(foreseen(&finals)), (launch, launches)) {
                if launch == 0 {
                    return Ok(Vec::new());
                }
                break;
            }
            self.with_loan(launch, || self.final_launch(launch, &finals, &mut medians, &arrivals))?;
            for ((_, front), medians) in finals.iter_mut().zip(&medians) {
                drop_slower(front, &medians.together);
            }
        }
        Ok(self.held(all, medians))
    }

    /// Leaves out the last finals where the budget has not the seconds for all: few cells that are decided are worth more than many that are not.
    fn leave_out(&self, finals: &mut Vec<(Target, Vec<Selection>)>) {
        let jobs = self.parts.jobs;
        // A call without finalists is timed as a bound of others.
        let with_finalists = |finals: &[(Target, Vec<Selection>)]| {
            let fronts = finals.iter().filter(|(_, front)| !front.is_empty());
            fronts.count()
        };
        let all = with_finalists(finals);
        while finals.len() > 1 && !self.has_time_for(foreseen(finals)) {
            finals.pop();
        }
        let left = with_finalists(finals);
        if left < all {
            jobs.progress.warn(&format!(
                "the budget has the seconds to compare finalists for {left} of {all} cells; raise --budget for the others"
            ));
        }
    }

    /// True if the budget has the seconds for the fewest launches of these finals from which a choice follows.
    pub(super) fn has_time_for<'t>(&self, finals: impl Iterator<Item = Foreseen<'t>>) -> bool {
        let launches = self.launches_of_finals(FEWEST_LAUNCHES) as f64;
        let seconds = LONGER * launches * self.expected_seconds(finals);
        self.is_within_budget(seconds, 0)
    }

    /// True if the budget has these seconds, after so many launches of finals.
    fn is_within_budget(&self, seconds: f64, made: usize) -> bool {
        let is_over = || self.parts.jobs.budget.search_exhausted(seconds);
        !self.heeds_budget || !self.with_loan(made, is_over)
    }

    /// Carries out a step of finals, after so many of their launches. Where nothing is found before, the proof lends seconds to the launches from which a
    /// choice follows.
    fn with_loan<T>(&self, made: usize, step: impl FnOnce() -> T) -> T {
        let nothing_is_found = self.finds_first && made < FEWEST_LAUNCHES;
        self.parts.jobs.budget.with_loan(nothing_is_found, step)
    }

    /// The patterns of each final. Without a finalist there is nothing to refuse.
    fn arrivals(&self, finals: &[(Target, Vec<Selection>)]) -> Vec<&[Arrival]> {
        let of = |front: &[Selection]| if front.is_empty() { &[][..] } else { self.arrivals };
        finals.iter().map(|(_, front)| of(front)).collect()
    }

    fn launches_of_finals(&self, most: usize) -> usize {
        most.min(self.parts.jobs.site.options.launches).max(1)
    }

    /// Foresees a default of this time for a target of which no block was measured.
    pub fn foresee(&self, target: &Target, default_seconds: f64) {
        let mut paces = self.paces.borrow_mut();
        paces.entry(target.name()).or_insert_with(|| Pace::of(default_seconds));
    }

    /// Learns from a block of a target.
    pub(super) fn learn_pace(&self, target: &Target, outcome: &BlockOutcome) {
        self.paces.borrow_mut().entry(target.name()).or_default().learn(outcome);
    }

    /// Seconds that a launch with all finals is expected to take: each with all ranks together and in every arrival pattern, and the job's start
    /// and end.
    fn expected_seconds<'t>(&self, finals: impl Iterator<Item = Foreseen<'t>>) -> f64 {
        let paces = self.paces.borrow();
        let (options, facts) = (self.parts.jobs.site.options, self.parts.facts);
        let blocks = finals.filter_map(|(target, finalists)| {
            let pace = paces.get(&target.name())?;
            let usual = repetition::repetitions_of(options, facts, Purpose::Final, &target.left.block_id());
            let items = || std::iter::once(DEFAULT).chain(finalists.iter().map(String::as_str));
            let together = pace.block_seconds(items(), &usual, 0.0);
            let apart = self.arrivals.iter().map(|arrival| {
                let repetitions = repetition::repetitions_apart(arrival, usual);
                pace.block_seconds(items(), &repetitions, arrival.factor.unwrap_or(1.0))
            });
            Some(together + apart.sum::<f64>())
        });
        self.parts.jobs.launch_seconds() + blocks.sum::<f64>()
    }

    /// True if the budget allows the next of the launches of finals, which is expected to take these seconds; if not, it warns.
    fn affords(&self, seconds: f64, (made, launches): (usize, usize)) -> bool {
        let jobs = self.parts.jobs;
        let affords = self.is_within_budget(seconds, made);
        if !affords {
            jobs.progress.warn(&format!(
                "the budget ended after {made} of {launches} launches that compare finalists; raise --budget"
            ));
        }
        affords
    }

    /// One launch with all finals, each also in its arrival patterns; their medians are added to those that there are.
    fn final_launch(
        &self,
        launch: usize,
        finals: &[(Target, Vec<Selection>)],
        medians: &mut [Launched],
        arrivals: &[&[Arrival]],
    ) -> anyhow::Result<()> {
        let mut job = Job::new(self, &format!("final/{launch}"));
        for (((target, front), medians), arrivals) in finals.iter().zip(medians).zip(arrivals) {
            let outcome = job.measure(target, front, Purpose::Final, None)?;
            add(&mut medians.together, &outcome);
            let own_seconds = *medians
                .own_seconds
                .get_or_insert_with(|| outcome.median(DEFAULT).unwrap_or(0.0));
            medians.apart.resize(arrivals.len(), Medians::new());
            for (arrival, medians) in arrivals.iter().zip(&mut medians.apart) {
                let outcome = job.measure(target, front, Purpose::Final, Some((arrival, own_seconds)))?;
                add(medians, &outcome);
            }
            self.parts.jobs.progress.step(1);
        }
        job.finish()
    }

    fn held(&self, finals: Vec<(Target, Vec<Selection>)>, launched: Vec<Launched>) -> Vec<Held> {
        finals
            .into_iter()
            .zip(launched)
            .map(|((target, front), launched)| {
                let patterns = self.arrivals.iter().zip(&launched.apart);
                let apart = patterns.map(|(arrival, medians)| Apart {
                    when: arrival.words(),
                    candidates: self.measured(&front, medians),
                });
                Held {
                    candidates: self.measured(&front, &launched.together),
                    apart: apart.collect(),
                    target,
                }
            })
            .collect()
    }

    /// The default and the finalists that were measured and are not in quarantine.
    fn measured(&self, front: &[Selection], medians: &Medians) -> Vec<Measured> {
        let is_live = |selection: &&Selection| !self.parts.quarantine.contains(&selection.id());
        let default = sample(medians, DEFAULT).map(|medians| Measured {
            selection: None,
            medians,
        });
        let finalists = front.iter().filter(is_live).filter_map(|selection| {
            Some(Measured {
                selection: Some(selection.clone()),
                medians: sample(medians, &selection.id())?,
            })
        });
        default.into_iter().chain(finalists).collect()
    }
}

fn sample(medians: &Medians, id: &str) -> Option<Sample> {
    medians.get(id).and_then(|values| Sample::new(values.clone()).ok())
}
