//! Compares the cost and the quality of the search with measuring every candidate in a launch of its own, on the same
//! space.
//!
//! The space of a cell holds everything that can be switched in a job for its collective: every algorithm of the
//! library and of Kilter's with every value of its ordered knobs (powers of two, or integers), and every mock-up. If
//! the library's algorithms are settings of a whole launch, it holds these, too ([`whole_launch`]). It leaves out
//! settings that act on all messages, because the search as well makes a launch for each of them.
//!
//! Both sides measure the default beside each candidate. A launch of the exhaustive side takes one candidate through
//! all sizes, which is the fewest launches that a tuner without switching needs. A setting of a whole launch has one
//! for each cell, because a crash at one size would take the others with it. Launches and seconds are counted from the
//! store. The results of both sides are then measured again, interleaved in the same jobs, because the fastest of many
//! noisy times is not the fastest.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_model::deployment::{Deployment, Selection};
use kilter_search::choose::{Held, Measured};
use kilter_search::context::Context;
use kilter_search::in_job_search::{Contests, FINAL_LAUNCHES, front};
use kilter_search::joint::Table;
use kilter_search::space;
use kilter_search::target::Target;
use kilter_stats::sample::Sample;
use serde::Serialize;

use super::options::BenchmarkOptions;
use super::{Side, ratio, targets, whole_launch};

/// Factor within which the search's choice counts as the best. The search stops at candidates that are as good within
/// the noise floor, which is the same.
pub const WITHIN: f64 = 1.05;

/// Number of the exhaustive side's fastest candidates that are measured again.
const AGAIN: usize = 3;

/// Result of the comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchBenchmark {
    /// The library, as it names itself.
    pub library: String,
    /// Number of ranks.
    pub ranks: usize,
    /// The command.
    pub command: String,
    /// Effort of the search.
    pub search: Effort,
    /// Effort of measuring every candidate in a launch of its own.
    pub exhaustive: Effort,
    /// One per cell.
    pub rows: Vec<Row>,
    /// Candidates that could not be run, with the reason.
    pub failed: BTreeMap<String, String>,
    /// Cells that the budget did not reach.
    pub not_reached: Vec<String>,
}

/// Launches and seconds that something took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Effort {
    /// Launches, from the store.
    pub launches: u64,
    /// Wall seconds of these launches, from the store.
    pub seconds: f64,
    /// Number of these launches that try settings of whole launches.
    pub of_settings: u64,
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Kilter's name of the collective.
    pub collective: String,
    /// Total volume in bytes.
    pub bytes: u64,
    /// Number of candidates in the space.
    pub candidates: usize,
    /// Time of the library's own decision, in seconds.
    pub default_seconds: f64,
    /// Choice of the search.
    pub found: Side,
    /// Fastest of all candidates that were measured again.
    pub best: Side,
    /// Time of the choice over that of the best, within launches.
    pub ratio: f64,
    /// Its 95 % interval, if there are enough launches.
    pub ratio_interval: (f64, f64),
}

impl SearchBenchmark {
    /// Launches of the search over those of the exhaustive side.
    #[must_use]
    pub fn share_of_launches(&self) -> f64 {
        self.search.launches as f64 / self.exhaustive.launches as f64
    }

    /// Number of cells whose choice is [`WITHIN`] of the best.
    #[must_use]
    pub fn found(&self) -> usize {
        self.rows.iter().filter(|row| row.ratio <= WITHIN).count()
    }
}

/// Times of candidates over the default's, in launches of their own.
type Ratios = BTreeMap<Selection, f64>;

/// Searches, measures every candidate, and compares.
pub fn run(context: &Context<'_>, options: &BenchmarkOptions) -> anyhow::Result<SearchBenchmark> {
    let nothing_deployed = Deployment::default();
    let all: Vec<Target> = options
        .collectives
        .iter()
        .flat_map(|collective| targets(&options.common, *collective))
        .collect();
    let in_turn = whole_launch::search(context.launch_search(), SEARCH, &all)?;
    let searching = Contests::new(context.in_job_search(), &nothing_deployed, SEARCH);
    let fields = searching.screen_all(&all, &|_, _| true, &front)?;
    let rule = context.site.rule(context.facts.noise_seconds());
    let choices: Vec<(Target, Option<Selection>)> = searching
        .finals(fields, FINAL_LAUNCHES)?
        .into_iter()
        .filter_map(|mut held| {
            in_turn.join(&whole_launch::candidates(&context.site, &held.target), &mut held);
            let target = held.target.clone();
            let call = Table::call(held, &rule)?;
            let way = call.meeting(f64::INFINITY, rule.effect_floor).unwrap_or(0);
            Some((target, call.ways[way].selection.clone()))
        })
        .collect();
    let mut measured = Vec::new();
    for &collective in &options.collectives {
        let own: Vec<&Target> = choices
            .iter()
            .map(|(target, _)| target)
            .filter(|target| target.collective() == Some(collective))
            .collect();
        if let Some(ratios) = exhaust(context, &nothing_deployed, collective, &own)? {
            measured.extend(own.into_iter().cloned().zip(ratios));
        }
    }
    let reached = |target: &Target| measured.iter().any(|(other, _)| other == target);
    let not_reached = all.iter().filter(|target| !reached(target)).map(Target::name).collect();
    let fields: Vec<(Target, Vec<Selection>)> = measured
        .iter()
        .map(|(target, ratios)| {
            let mut field: Vec<Selection> = fastest(ratios);
            let chosen = choices.iter().find(|(other, _)| other == target);
            let chosen = chosen.and_then(|(_, chosen)| chosen.clone());
            if let Some(chosen) = chosen.filter(|chosen| !field.contains(chosen)) {
                field.push(chosen);
            }
            (target.clone(), field)
        })
        .collect();
    let rows = again(context, &nothing_deployed, fields, options)?
        .into_iter()
        .filter_map(|held| {
            let (_, chosen) = choices.iter().find(|(target, _)| *target == held.target)?;
            let (_, ratios) = measured.iter().find(|(target, _)| *target == held.target)?;
            row(&held, chosen.as_ref(), ratios.len())
        })
        .collect();
    let stored = &context.jobs.run;
    let effort = |label: &str| -> anyhow::Result<Effort> {
        let (launches, seconds) = stored.launches_of(&format!("{label}/"))?;
        let (of_settings, _) = stored.launches_of(&format!("{label}/{}/", whole_launch::LABEL))?;
        Ok(Effort {
            launches,
            seconds,
            of_settings,
        })
    };
    Ok(SearchBenchmark {
        library: format!("{} {}", context.site.library.name, context.site.version),
        ranks: context.site.options.ranks,
        command: context.jobs.typed.clone(),
        search: effort(SEARCH)?,
        exhaustive: effort(EXHAUSTIVE)?,
        rows,
        failed: context
            .quarantine
            .list()
            .into_iter()
            .map(|one| (one.id, format!("{}: {}", one.what, one.detail)))
            .collect(),
        not_reached,
    })
}

/// Labels of the launches of both sides.
const SEARCH: &str = "search";
const EXHAUSTIVE: &str = "exhaustive";
/// Label of the launches that measure both results once more.
const AGAIN_LABEL: &str = "again";

/// Measures every candidate of a collective in a launch of its own, over all its targets. One map for each target;
/// `None` if the budget ended too early.
fn exhaust(
    context: &Context<'_>,
    nothing_deployed: &Deployment,
    collective: Collective,
    targets: &[&Target],
) -> anyhow::Result<Option<Vec<Ratios>>> {
    let one_node = !context.site.options.place().several_nodes;
    let mut candidates: BTreeMap<Selection, Vec<usize>> = BTreeMap::new();
    for (index, target) in targets.iter().enumerate() {
        for selection in space::every(&context.site.library, target, context.site.options.ranks, one_node) {
            candidates.entry(selection).or_default().push(index);
        }
    }
    let contests = Contests::new(context.in_job_search(), nothing_deployed, EXHAUSTIVE);
    let phase = format!("every candidate of {collective} in its own launch");
    context.progress.phase(&phase, candidates.len() as u64);
    let ended = format!("the budget ended while {collective} was measured in full; raise --budget");
    let mut ratios = vec![Ratios::new(); targets.len()];
    for (number, (selection, fits)) in candidates.iter().enumerate() {
        if context.jobs.budget.exhausted() {
            context.progress.warn(&ended);
            return Ok(None);
        }
        let own: Vec<&Target> = fits.iter().map(|index| targets[*index]).collect();
        let name = format!("{collective}/{number}");
        for (index, ratio) in fits.iter().zip(contests.alone(&name, &own, selection)?) {
            // A candidate that failed has no time and still counts as one.
            ratios[*index].insert(selection.clone(), ratio.unwrap_or(f64::INFINITY));
        }
        context.progress.step(1);
    }
    for (target, ratios) in targets.iter().zip(&mut ratios) {
        let Some(of_settings) = whole_launch::exhaust(context.launch_search(), EXHAUSTIVE, target)? else {
            context.progress.warn(&ended);
            return Ok(None);
        };
        ratios.extend(of_settings);
    }
    Ok(Some(ratios))
}

/// Measures the fields once more: in the same jobs, or in launches in turn.
fn again(
    context: &Context<'_>,
    nothing_deployed: &Deployment,
    fields: Vec<(Target, Vec<Selection>)>,
    options: &BenchmarkOptions,
) -> anyhow::Result<Vec<Held>> {
    let mut in_jobs = Vec::new();
    let mut joining = Vec::new();
    for (target, mut field) in fields {
        let own = whole_launch::candidates(&context.site, &target);
        let in_turn = whole_launch::again(context.launch_search(), AGAIN_LABEL, &target, &field)?;
        field.retain(|selection| !own.contains_key(selection));
        in_jobs.push((target, field));
        joining.push((in_turn, own));
    }
    let launches = FINAL_LAUNCHES.max(options.common.launches.min(10));
    let mut all = Contests::new(context.in_job_search(), nothing_deployed, AGAIN_LABEL)
        .regardless_of_budget()
        .finals(in_jobs, launches)?;
    for (held, (in_turn, own)) in all.iter_mut().zip(&joining) {
        in_turn.join(own, held);
    }
    Ok(all)
}

fn fastest(ratios: &Ratios) -> Vec<Selection> {
    let ranked = kilter_search::ranking::ranked(ratios);
    ranked.into_iter().take(AGAIN).map(|(selection, _)| selection).collect()
}

/// Compares the choice with the best of the candidates that were measured again; `None` if one of them has no time.
fn row(held: &Held, chosen: Option<&Selection>, candidates: usize) -> Option<Row> {
    let find = |wanted: Option<&Selection>| held.candidates.iter().find(|one| one.selection.as_ref() == wanted);
    let (default, found) = (find(None)?, find(chosen)?);
    let median = |one: &Measured| Sample::median(&one.medians);
    let best = held.candidates.iter().min_by(|a, b| median(a).total_cmp(&median(b)))?;
    let (ratio, ratio_interval) = ratio(&found.medians, &best.medians);
    Some(Row {
        collective: held.target.function.clone(),
        bytes: held.target.bytes(),
        candidates,
        default_seconds: median(default),
        found: Side::of(found),
        best: Side::of(best),
        ratio,
        ratio_interval,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(selection: Option<Selection>, microseconds: &[f64]) -> Measured {
        Measured {
            selection,
            medians: Sample::new(microseconds.iter().map(|us| us * 1e-6).collect()).unwrap(),
        }
    }

    fn algorithm(id: &str) -> Option<Selection> {
        Some(Selection::Algorithm(id.to_owned(), Vec::new()))
    }

    #[test]
    fn the_choice_is_compared_with_the_best_within_launches() {
        let held = Held {
            target: Target::unbounded(Collective::Scan, 1024),
            candidates: vec![
                measured(None, &[20.0, 40.0, 60.0]),
                measured(algorithm("scan.linear"), &[11.0, 22.0, 33.0]),
                measured(algorithm("scan.recursive_doubling"), &[10.0, 20.0, 30.0]),
            ],
            apart: Vec::new(),
        };
        let off = row(&held, algorithm("scan.linear").as_ref(), 40).unwrap();
        assert_eq!((off.best.id.as_str(), off.candidates), ("scan.recursive_doubling", 40));
        assert!((off.ratio - 1.1).abs() < 1e-9, "{}", off.ratio);
        let right = row(&held, algorithm("scan.recursive_doubling").as_ref(), 40).unwrap();
        assert_eq!(right.ratio, 1.0);
        let kept = row(&held, None, 40).unwrap();
        assert_eq!((kept.found.id.as_str(), kept.ratio.round()), ("default", 2.0));
        assert_eq!(row(&held, algorithm("scan.odd").as_ref(), 40), None);
        let benchmark = SearchBenchmark {
            library: "Open MPI 4.1.4".to_owned(),
            ranks: 2,
            command: "kilter benchmark --search".to_owned(),
            search: Effort {
                launches: 6,
                seconds: 12.0,
                of_settings: 3,
            },
            exhaustive: Effort {
                launches: 120,
                seconds: 130.0,
                of_settings: 40,
            },
            rows: vec![off, right, kept],
            failed: BTreeMap::from([("scan.odd".to_owned(), "crashed: signal 11\nmore".to_owned())]),
            not_reached: vec!["scan 8".to_owned()],
        };
        assert_eq!(benchmark.found(), 1);
        insta::assert_snapshot!(super::super::present::search_text(&benchmark), @r"
        The search against every candidate in a launch of its own: Open MPI 4.1.4, 2 ranks
         collective   size  candidates  default    found                         best                      ratio  95 %
         scan        1 KiB          40  40.0 us  22.0 us  linear              20.0 us  recursive_doubling   1.10  [1.10, 1.10]
         scan        1 KiB          40  40.0 us  20.0 us  recursive_doubling  20.0 us  recursive_doubling   1.00  [1.00, 1.00]
         scan        1 KiB          40  40.0 us  40.0 us  default             20.0 us  recursive_doubling   2.00  [2.00, 2.00]
        Search: 6 launches, 12 s. Every candidate: 120 launches, 130 s. That is 1/20 of the launches.
        Of these, 3 and 40 try algorithms that are settings of whole launches: the search in launches for all cells together, the other side in one for each cell.
        Within 5 % of the best: 1 of 3 cells. Times are medians of jobs in which both, and the three fastest of all, were measured again.
        Not measured: scan.odd: crashed: signal 11
        Not reached within the budget (raise --budget): scan 8
        ");
    }
}
