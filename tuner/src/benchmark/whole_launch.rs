//! Algorithms that are settings of a whole launch (SMPI, presets of Intel MPI), on both sides of the benchmark of the
//! search. They cannot be switched in a running job, so that each needs a launch.
//!
//! The search makes the launches of `tune`: a launch for a value of every parameter that may share one, or for a choice of every collective
//! if a variable chooses at the start, with all targets in it. Then the most promising are measured in turn with the launch as it is. The
//! exhaustive side makes a launch for each value and each cell. Unlike in `tune`, a cell is charged only with its own time.

use std::collections::BTreeMap;

use kilter_model::config::library::Library;
use kilter_model::deployment::{Assignment, Selection};
use kilter_model::setup::Setup;
use kilter_search::choose::{Held, Measured};
use kilter_search::context::{LaunchSearch, Site};
use kilter_search::heard::Heard;
use kilter_search::ranking::ranked;
use kilter_search::startup_algorithms::{self, PLACES, PROMISING};
use kilter_search::target::Target;
use kilter_search::trials::{Samples, Trials};
use kilter_search::{settings, shared_launches, space};
use kilter_stats::sample::Sample;

/// Part of the launches' labels that follows the side's.
pub(super) const LABEL: &str = "settings";

/// Candidates that only a launch of their own can try, with their settings.
pub(super) type Candidates = BTreeMap<Selection, Vec<Assignment>>;

/// Candidates measured in turn with the launch as it is, whose key is `None`.
#[derive(Debug, Default)]
pub(super) struct InTurn(BTreeMap<Option<Selection>, Samples>);

/// Candidates of a target; none for a library that switches its algorithms in running jobs.
pub(super) fn candidates(site: &Site<'_>, target: &Target) -> Candidates {
    let situation = settings::situation(site, &Setup::default(), Heard::default());
    of(&site.library, &transports(site), target, site.options.ranks, &situation)
}

fn of(
    library: &Library,
    transports: &[String],
    target: &Target,
    ranks: usize,
    situation: &space::Situation,
) -> Candidates {
    let of_launches = space::own_launch_candidates(library, transports, std::slice::from_ref(target));
    let of_launches = space::in_situation(library, of_launches, situation);
    let at_start = startup_algorithms::trials(library, std::slice::from_ref(target), ranks, &situation.hosts);
    let at_start = at_start
        .iter()
        .map(|choice| startup_algorithms::values(library, choice));
    let all = of_launches.into_iter().map(|one| one.assignments).chain(at_start);
    all.map(|assignments| (selection(&assignments), assignments)).collect()
}

fn transports(site: &Site<'_>) -> Vec<String> {
    let one_host = !site.options.place().several_nodes;
    site.library.transports.on(one_host).to_vec()
}

fn selection(assignments: &[Assignment]) -> Selection {
    let pairs = assignments.iter().map(|one| (one.name.clone(), one.value.clone()));
    Selection::Settings(pairs.collect())
}

/// Searches as `tune` does; the most promising of each target are measured in turn.
pub(super) fn search(parts: LaunchSearch<'_, '_>, label: &str, targets: &[Target]) -> anyhow::Result<InTurn> {
    let library = &parts.jobs.site.library;
    let situation = settings::situation(&parts.jobs.site, &Setup::default(), Heard::default());
    let of_launches = space::own_launch_candidates(library, &transports(&parts.jobs.site), targets);
    let of_launches = space::in_situation(library, of_launches, &situation);
    let at_start = startup_algorithms::trials(library, targets, parts.jobs.site.options.ranks, &situation.hosts);
    let of_launches = shared_launches::groups(library, of_launches);
    let count = of_launches.len() + at_start.len();
    if count == 0 {
        return Ok(InTurn::default());
    }
    parts.jobs.progress.phase("search launch settings", count as u64);
    let mut trials = Trials::new(parts, format!("{label}/{LABEL}"), targets, Setup::default());
    let Some(present) = trials.launch(&[])? else {
        anyhow::bail!("the library's own collectives failed");
    };
    let mut tried = BTreeMap::new();
    let screened = settings::screen(&mut trials, of_launches, &present)?;
    if screened.is_cut_short {
        parts.jobs.progress.warn(settings::NOT_ALL_TRIED);
    }
    for (candidate, times) in screened.times {
        tried.insert(selection(&candidate.assignments), times);
    }
    for (choice, times) in startup_algorithms::screen(&mut trials, at_start, &present)? {
        tried.insert(selection(&startup_algorithms::values(library, &[choice])), times);
    }
    let mut field = Candidates::new();
    for target in targets {
        let own = candidates(&parts.jobs.site, target);
        let ratio = |one: &Selection| Some(tried.get(one)?.get(&target.left)? / present.get(&target.left)?);
        let ratios = own.keys().filter_map(|one| Some((one.clone(), ratio(one)?))).collect();
        let promising = ranked(&ratios).into_iter().filter(|(_, ratio)| *ratio < PROMISING);
        let best: Vec<Selection> = promising.take(PLACES).map(|(selection, _)| selection).collect();
        field.extend(own.into_iter().filter(|(selection, _)| best.contains(selection)));
    }
    in_turn(&mut trials, &field)
}

/// Measures every candidate of a cell in a launch of its own: its time over that of the launch as it is. `None` if the
/// budget ended before.
pub(super) fn exhaust(
    parts: LaunchSearch<'_, '_>,
    label: &str,
    target: &Target,
) -> anyhow::Result<Option<BTreeMap<Selection, f64>>> {
    let candidates = candidates(&parts.jobs.site, target);
    let mut ratios = BTreeMap::new();
    if candidates.is_empty() {
        return Ok(Some(ratios));
    }
    let phase = format!("every launch setting for {}", target.name());
    parts.jobs.progress.phase(&phase, candidates.len() as u64);
    let mut trials = alone(parts, label, target);
    let mut seconds = |assignments: &[Assignment]| -> anyhow::Result<Option<f64>> {
        let times = trials.launch(assignments)?;
        Ok(times.and_then(|times| times.get(&target.left).copied()))
    };
    let Some(present) = seconds(&[])? else {
        anyhow::bail!("the library's own {} could not be measured", target.name());
    };
    for (selection, assignments) in candidates {
        if parts.jobs.budget.exhausted() {
            return Ok(None);
        }
        // A candidate that failed has no time and still counts as one.
        let ratio = seconds(&assignments)?.map_or(f64::INFINITY, |seconds| seconds / present);
        ratios.insert(selection, ratio);
        parts.jobs.progress.step(1);
    }
    Ok(Some(ratios))
}

/// Measures once more those candidates of `field` that need a launch of their own, for a cell.
pub(super) fn again(
    parts: LaunchSearch<'_, '_>,
    label: &str,
    target: &Target,
    field: &[Selection],
) -> anyhow::Result<InTurn> {
    let mut candidates = candidates(&parts.jobs.site, target);
    candidates.retain(|selection, _| field.contains(selection));
    if candidates.is_empty() {
        return Ok(InTurn::default());
    }
    in_turn(&mut alone(parts, label, target), &candidates)
}

fn alone<'s, 'a>(parts: LaunchSearch<'s, 'a>, label: &str, target: &'s Target) -> Trials<'s, 'a> {
    let label = format!("{label}/{LABEL}/{}", target.name());
    Trials::new(parts, label, std::slice::from_ref(target), Setup::default()).of_targets_alone()
}

fn in_turn(trials: &mut Trials<'_, '_>, field: &Candidates) -> anyhow::Result<InTurn> {
    if field.is_empty() {
        return Ok(InTurn::default());
    }
    let mut configurations = vec![Vec::new()];
    configurations.extend(field.values().cloned());
    let samples = trials.in_turn("confirm launch settings", &configurations)?;
    let names = std::iter::once(None).chain(field.keys().cloned().map(Some));
    Ok(InTurn(names.zip(samples).collect()))
}

impl InTurn {
    /// Adds a target's `own` candidates to those that competed in running jobs. Their times over the default's, in
    /// launches in turn with it, are scaled by the default in the jobs.
    pub(super) fn join(&self, own: &Candidates, held: &mut Held) {
        let of = |selection: Option<Selection>| self.0.get(&selection)?.get(&held.target.left);
        let default = held.candidates.iter().find(|one| one.selection.is_none());
        let (Some(default), Some(present)) = (default, of(None)) else {
            return;
        };
        let scale = default.medians.median() / present.median();
        let scaled = |selection: &Selection| {
            let times = of(Some(selection.clone()))?;
            let values = times.values().iter().map(|seconds| seconds * scale).collect();
            Some(Measured {
                selection: Some(selection.clone()),
                medians: Sample::new(values).ok()?,
            })
        };
        let joined: Vec<Measured> = own.keys().filter_map(scaled).collect();
        held.candidates.extend(joined);
    }
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;
    use kilter_model::config::library::find_for;
    use kilter_model::plan::Subject;

    use super::*;

    fn ids(version_line: &str, collective: Collective) -> Vec<String> {
        let library = find_for(version_line).unwrap();
        let candidates = of(
            &library,
            &[],
            &Target::unbounded(collective, 65536),
            32,
            &space::Situation::default(),
        );
        candidates.keys().map(Selection::id).collect()
    }

    #[test]
    fn what_chooses_the_algorithm_of_the_collective_is_a_candidate_and_nothing_else() {
        let smpi = "SimGrid version 3.32";
        let reduce = ids(smpi, Collective::Reduce);
        assert!(reduce.contains(&"smpi/reduce=mpich".to_owned()), "{reduce:?}");
        assert!(reduce.iter().all(|id| id.starts_with("smpi/reduce=")), "{reduce:?}");
        assert_eq!(ids(smpi, Collective::Scan), Vec::<String>::new());
        let intel = "Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 1";
        let bcast = ids(intel, Collective::Bcast);
        assert_eq!((bcast.len(), bcast[0].as_str()), (22, "I_MPI_ADJUST_BCAST=1"));
        // These are switched in running jobs.
        assert_eq!(ids("mpirun (Open MPI) 4.1.4", Collective::Bcast), Vec::<String>::new());
    }

    #[test]
    fn launches_of_their_own_are_put_on_the_scale_of_the_jobs() {
        let target = Target::unbounded(Collective::Reduce, 8);
        let setting = |value: &str| Selection::Settings(vec![("smpi/reduce".to_owned(), value.to_owned())]);
        let times = |seconds: f64| {
            let sample = Sample::new(vec![seconds; 3]).unwrap();
            Samples::from([(Subject::library(Collective::Reduce, 8), sample)])
        };
        // Half as long as the launch as it is, which is twice as slow as it was in the jobs.
        let in_turn = InTurn(BTreeMap::from([
            (None, times(40e-6)),
            (Some(setting("mpich")), times(20e-6)),
            (Some(setting("of another target")), times(1e-6)),
            // It crashed.
            (Some(setting("ompi")), Samples::new()),
        ]));
        let own = Candidates::from([(setting("mpich"), Vec::new()), (setting("ompi"), Vec::new())]);
        let default = Measured {
            selection: None,
            medians: Sample::new(vec![20e-6; 5]).unwrap(),
        };
        let mut held = Held {
            target,
            candidates: vec![default],
            apart: Vec::new(),
        };
        in_turn.join(&own, &mut held);
        let [_, joined] = &held.candidates[..] else {
            panic!("{:?}", held.candidates)
        };
        assert_eq!(joined.selection, Some(setting("mpich")));
        assert!((joined.medians.median() - 10e-6).abs() < 1e-15);
        // A cell that was not measured adds nothing.
        InTurn::default().join(&own, &mut held);
        assert_eq!(held.candidates.len(), 2);
    }
}
