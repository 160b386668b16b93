//! What can be tried for a target: settings of the library, mock-ups, algorithms of the registry. Pure; nothing that the
//! violation cannot depend on is proposed.

use kilter_algorithms::{Collective, mockup, registry};

use crate::config::library::{Library, Scale as ConfigScale};
use crate::deployment::{Assignment, Selection};
use crate::search::ordered::Scale;
use crate::search::target::Target;

/// An ordered knob of a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knob {
    /// Parameter of the library or of the algorithm.
    pub name: String,
    /// Smallest value.
    pub min: u64,
    /// Largest value.
    pub max: u64,
    /// Spacing.
    pub scale: Scale,
}

/// A setting of a whole launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchCandidate {
    /// The parameter it is a value of.
    pub parameter: String,
    /// It, and what goes along with it.
    pub assignments: Vec<Assignment>,
    /// Range and spacing, where it is ordered.
    pub ordered: Option<(u64, u64, Scale)>,
    /// A contest that was asked for always measures it.
    pub confirm_always: bool,
}

fn scale(scale: ConfigScale) -> Scale {
    match scale {
        ConfigScale::Log2 => Scale::Log2,
        ConfigScale::Linear => Scale::Linear,
    }
}

/// Everything that can be switched inside a job for this target; `one_node`: all ranks are on one. Ordered knobs stand at a coarse grid (the library's default,
/// and segments of 1/32 and 1/8 of the message): many algorithms are bad unsegmented and best segmented, so a screening
/// without segments would drop them.
#[must_use]
pub fn selections(library: &Library, target: &Target, ranks: usize, one_node: bool) -> Vec<Selection> {
    let mut selections = Vec::new();
    let Some(collective) = target.collective() else {
        return selections;
    };
    if let Some(algorithms) = library.algorithms_of(collective) {
        let fitting = algorithms.choices_on(ranks);
        for choice in fitting.filter(|choice| !(choice.several_nodes && one_node)) {
            let base = algorithms.settings(choice);
            let segments = choice.knobs.iter().any(|knob| knob == SEGMENT);
            selections.push(Selection::Settings(base.clone()));
            if let (true, Some(knob)) = (segments, algorithms.knobs.get(SEGMENT)) {
                for parts in [32, 8] {
                    let bytes = (target.bytes() / parts).next_power_of_two();
                    if (knob.min..=knob.max).contains(&bytes) && bytes < target.bytes() {
                        let setting = (format!("{}_{SEGMENT}", algorithms.parameter), bytes.to_string());
                        selections.push(Selection::Settings([base.clone(), vec![setting]].concat()));
                    }
                }
            }
        }
    }
    let mockups = mockup::MOCKUPS.iter().filter(|row| row.collective == collective);
    selections.extend(mockups.map(|row| Selection::Mockup(row.id.to_owned())));
    let algorithms = registry::algorithms().filter(|row| row.collective == collective);
    // The operator of the measurement is commutative; the drop-in checks the application's again in every call.
    let fitting = algorithms.filter(|row| row.unmet(ranks, true, one_node).is_none());
    selections.extend(fitting.map(|row| Selection::Algorithm(row.id.to_owned(), row.default_parameters())));
    selections
}

const SEGMENT: &str = "segmentsize";

/// What two selections that differ only in ordered knobs have in common.
#[must_use]
pub fn family(selection: &Selection) -> String {
    match selection {
        Selection::Settings(settings) => settings
            .first()
            .map(|(name, value)| format!("{name}={value}"))
            .unwrap_or_default(),
        Selection::Mockup(id) | Selection::Algorithm(id, _) => id.clone(),
    }
}

/// The ordered knobs of a selection that can be deployed for one message size; none where a small message leaves no room.
#[must_use]
pub fn knobs(library: &Library, selection: &Selection, bytes: u64) -> Vec<Knob> {
    let mut knobs = all_knobs(library, selection, bytes);
    knobs.retain(|knob| knob.min < knob.max);
    knobs
}

fn all_knobs(library: &Library, selection: &Selection, bytes: u64) -> Vec<Knob> {
    match selection {
        Selection::Mockup(_) => Vec::new(),
        Selection::Algorithm(id, _) => registry::find(id)
            .into_iter()
            .flat_map(|algorithm| algorithm.parameters)
            .map(|parameter| Knob {
                name: parameter.name.to_owned(),
                min: parameter.min,
                max: limit(parameter.name, parameter.max, bytes),
                scale: Scale::Log2,
            })
            .collect(),
        Selection::Settings(settings) => {
            let Some((parameter, value)) = settings.first() else {
                return Vec::new();
            };
            let Some(algorithms) = library
                .algorithms
                .iter()
                .find(|algorithms| algorithms.parameter == *parameter)
            else {
                return Vec::new();
            };
            let choice = algorithms
                .choices
                .iter()
                .find(|choice| choice.value.to_string() == *value);
            choice
                .into_iter()
                .flat_map(|choice| &choice.knobs)
                .filter_map(|name| {
                    let knob = algorithms.knobs.get(name).filter(|knob| knob.column.is_some())?;
                    Some(Knob {
                        name: format!("{parameter}_{name}"),
                        min: knob.min,
                        max: limit(name, knob.max, bytes),
                        scale: scale(knob.scale),
                    })
                })
                .collect()
        }
    }
}

/// A segment larger than the message is no segment.
fn limit(name: &str, max: u64, bytes: u64) -> u64 {
    if name.contains("segment") { max.min(bytes) } else { max }
}

/// The value of a knob in a selection; `None` where it stands at the library's default.
#[must_use]
pub fn knob_value(selection: &Selection, name: &str) -> Option<u64> {
    match selection {
        Selection::Mockup(_) => None,
        Selection::Settings(settings) => settings.iter().find(|(knob, _)| knob == name)?.1.parse().ok(),
        Selection::Algorithm(id, values) => {
            let position = registry::find(id)?
                .parameters
                .iter()
                .position(|parameter| parameter.name == name)?;
            values.get(position).copied()
        }
    }
}

/// The selection with a knob set.
#[must_use]
pub fn with_knob(selection: &Selection, name: &str, value: u64) -> Selection {
    match selection {
        Selection::Mockup(_) => selection.clone(),
        Selection::Settings(settings) => {
            let others = settings.iter().filter(|(knob, _)| knob != name).cloned();
            Selection::Settings(others.chain([(name.to_owned(), value.to_string())]).collect())
        }
        Selection::Algorithm(id, values) => {
            let mut values = values.clone();
            let position =
                registry::find(id).and_then(|row| row.parameters.iter().position(|parameter| parameter.name == name));
            if let Some(slot) = position.and_then(|position| values.get_mut(position)) {
                *slot = value;
            }
            Selection::Algorithm(id.clone(), values)
        }
    }
}

/// The settings of a whole launch, most promising first, for the transports in use and what is too slow.
#[must_use]
pub fn launch_candidates(library: &Library, transports: &[String], targets: &[Target]) -> Vec<LaunchCandidate> {
    let is_slow = |collective: &Collective| targets.iter().any(|target| target.collective() == Some(*collective));
    let mut candidates = Vec::new();
    for parameter in &library.parameters {
        if parameter
            .transport
            .as_ref()
            .is_some_and(|needed| !transports.contains(needed))
        {
            continue;
        }
        if !parameter.collectives.is_empty() && !parameter.collectives.iter().any(is_slow) {
            continue;
        }
        for value in &parameter.r#try {
            let first = Assignment {
                name: parameter.name.clone(),
                value: value.to_string(),
                environment: parameter.environment,
            };
            let together = parameter.together.iter().map(|(name, value)| Assignment {
                name: name.clone(),
                value: value.clone(),
                environment: parameter.environment,
            });
            candidates.push(LaunchCandidate {
                parameter: parameter.name.clone(),
                assignments: std::iter::once(first).chain(together).collect(),
                ordered: parameter
                    .ordered
                    .map(|range| (range.min, range.max, scale(range.scale))),
                confirm_always: parameter.confirm_always,
            });
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::library::find_for;

    fn openmpi() -> Library {
        find_for("mpirun (Open MPI) 4.1.4").unwrap()
    }

    fn ids(collective: Collective, bytes: u64, ranks: usize) -> Vec<String> {
        selections(&openmpi(), &Target::unbounded(collective, bytes), ranks, true)
            .iter()
            .map(Selection::id)
            .collect()
    }

    #[test]
    fn all_kinds_compete_and_segments_stand_on_a_coarse_grid() {
        let ids = ids(Collective::Reduce, 262_144, 8);
        for expected in [
            "coll_tuned_reduce_algorithm=4",
            "coll_tuned_reduce_algorithm=4 coll_tuned_reduce_algorithm_segmentsize=32768",
            "reduce.as_allreduce",
            "reduce.ring",
        ] {
            assert!(ids.iter().any(|id| id == expected), "{expected} is missing in {ids:?}");
        }
    }

    #[test]
    fn a_small_message_has_no_segments_and_infeasible_algorithms_are_left_out() {
        assert!(
            !ids(Collective::Reduce, 8, 8)
                .iter()
                .any(|id| id.contains("segmentsize"))
        );
        let two_proc = "coll_tuned_allgather_algorithm=6";
        assert!(ids(Collective::Allgather, 8, 2).iter().any(|id| id == two_proc));
        assert!(
            !ids(Collective::Allgather, 8, 3)
                .iter()
                .any(|id| id == two_proc || id == "coll_tuned_allgather_algorithm=5")
        );
    }

    #[test]
    fn what_needs_several_nodes_is_left_out_on_one() {
        let mut library = openmpi();
        let bcast = library
            .algorithms
            .iter_mut()
            .find(|row| row.collective == Collective::Bcast);
        bcast.unwrap().choices[0].several_nodes = true;
        let target = Target::unbounded(Collective::Bcast, 1024);
        let has_first = |one_node| {
            let all = selections(&library, &target, 8, one_node);
            all.iter()
                .any(|selection| selection.id() == "coll_tuned_bcast_algorithm=1")
        };
        assert_eq!((has_first(true), has_first(false)), (false, true));
    }

    #[test]
    fn knobs_are_set_and_read() {
        let library = openmpi();
        let base = Selection::Settings(vec![("coll_tuned_reduce_algorithm".to_owned(), "2".to_owned())]);
        let names: Vec<String> = knobs(&library, &base, 65536)
            .into_iter()
            .map(|knob| knob.name)
            .collect();
        assert_eq!(
            names,
            [
                "coll_tuned_reduce_algorithm_segmentsize",
                "coll_tuned_reduce_algorithm_chain_fanout"
            ]
        );
        let set = with_knob(&with_knob(&base, &names[0], 4096), &names[0], 8192);
        assert_eq!(
            (knob_value(&set, &names[0]), knob_value(&base, &names[0])),
            (Some(8192), None)
        );
        let scan = Selection::Algorithm("scan.pipelined_chain".to_owned(), vec![16384]);
        assert_eq!(
            knob_value(&with_knob(&scan, "segment_bytes", 4096), "segment_bytes"),
            Some(4096)
        );
        assert_eq!(family(&set), family(&base));
    }

    #[test]
    fn a_message_smaller_than_the_smallest_segment_has_no_knob() {
        let scan = Selection::Algorithm("scan.pipelined_chain".to_owned(), vec![16384]);
        assert_eq!(knobs(&openmpi(), &scan, 8), []);
        assert_eq!(knobs(&openmpi(), &scan, 65536).len(), 1);
    }

    #[test]
    fn launch_candidates_follow_the_transport() {
        let on_one_host = launch_candidates(&openmpi(), &["vader".to_owned()], &[]);
        assert!(on_one_host.iter().any(|c| c.parameter == "btl_vader_eager_limit"));
        assert!(!on_one_host.iter().any(|c| c.parameter.starts_with("btl_tcp")));
        let malloc = on_one_host
            .iter()
            .find(|c| c.parameter == "MALLOC_MMAP_THRESHOLD_")
            .unwrap();
        assert_eq!(malloc.assignments.len(), 2);
        assert!(malloc.assignments.iter().all(|assignment| assignment.environment));
    }

    #[test]
    fn a_setting_of_one_collective_is_tried_where_that_is_too_slow() {
        let smpi = find_for("SimGrid version 3.32").unwrap();
        let names = |collectives: &[Collective]| -> std::collections::BTreeSet<String> {
            let targets: Vec<Target> = collectives.iter().map(|c| Target::unbounded(*c, 65536)).collect();
            let candidates = launch_candidates(&smpi, &["simulated".to_owned()], &targets);
            candidates.into_iter().map(|candidate| candidate.parameter).collect()
        };
        assert_eq!(names(&[]), Default::default());
        assert_eq!(
            names(&[Collective::Reduce, Collective::Scan]),
            ["smpi/reduce".to_owned()].into()
        );
        assert_eq!(
            names(&[Collective::ReduceScatterBlock]),
            ["smpi/reduce_scatter".to_owned()].into()
        );
    }
}
