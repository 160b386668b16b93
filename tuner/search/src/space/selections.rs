//! Candidates that are switched in a running job: algorithms of the library, mock-ups, Kilter's algorithms, rows of plugins.

use std::collections::BTreeSet;

use kilter_algorithms::{mockup, registry};
use kilter_model::config::library::Library;
use kilter_model::deployment::{Selection, with_knob};
use kilter_protocol::row::{Row, SEGMENT as OWN_SEGMENT};

use super::knobs::{by_plain_name, knob_value, knobs};
use crate::plugins::Plugin;
use crate::target::Target;

/// Suffix of the segment size's name in the library's algorithms.
const SEGMENT: &str = "segmentsize";
/// The second point of the grid of Kilter's segments, in times of the first. The rows of the final are decided before segments are refined, and
/// a library's cost of a message differs by more than that.
const LONGER_SEGMENT: u64 = 4;

/// Everything that can be switched inside a job for this target; `one_node`: all ranks are on one. Ordered knobs stand at a coarse
/// grid (the library's default, and segments of 1/32 and 1/8 of the message; Kilter's default and four times that): many algorithms
/// are bad unsegmented and best segmented, so a screening without segments would drop them.
#[must_use]
pub fn selections(library: &Library, target: &Target, ranks: usize, one_node: bool) -> Vec<Selection> {
    let mut selections = Vec::new();
    let Some(collective) = target.collective() else {
        return selections;
    };
    // Algorithms chosen when a job starts have launches of their own: see `startup_algorithms`.
    if let Some(algorithms) = library.algorithms_of(collective).filter(|row| row.at_start.is_none()) {
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
    // On one node a lane is one rank, and nothing is left but a mock-up of calls on all ranks.
    let mockups = mockups.filter(|row| !(one_node && row.is_over_lanes()));
    selections.extend(mockups.map(|row| Selection::Mockup(row.id.to_owned(), Vec::new())));
    let algorithms = registry::algorithms().filter(|row| row.collective == collective);
    // The operator of the measurement is commutative; the drop-in checks the application's again in every call.
    let fitting = algorithms.filter(|row| row.unmet(ranks, true, one_node).is_none());
    for row in fitting {
        let default = Selection::Algorithm(row.id.to_owned(), row.default_parameters());
        selections.extend(with_longer_segment(library, target, default));
    }
    selections
}

/// The library's algorithms for this target, each together with the setting that hands the collective to the component that has them; and that
/// setting alone, which leaves the algorithm to this component. Nothing where no component hands it on.
#[must_use]
pub fn handed_on(library: &Library, target: &Target, ranks: usize, one_node: bool) -> Vec<Selection> {
    let Some((components, collective)) = library.components.as_ref().zip(target.collective()) else {
        return Vec::new();
    };
    let through = |settings| components.through(collective, settings).map(Selection::Settings);
    let all = selections(library, target, ranks, one_node).into_iter();
    let algorithms = all.filter_map(|one| match one {
        Selection::Settings(settings) => through(settings),
        Selection::Mockup(..) | Selection::Algorithm(..) | Selection::Plugin(_) => None,
    });
    through(Vec::new()).into_iter().chain(algorithms).collect()
}

/// Candidates from the user's plugins for this target, on the same grid.
#[must_use]
pub fn of_plugins(
    library: &Library,
    plugins: &[Plugin],
    target: &Target,
    ranks: usize,
    one_node: bool,
) -> Vec<Selection> {
    let Some(collective) = target.collective() else {
        return Vec::new();
    };
    let fitting =
        |row: &&Row| row.collective == collective && row.needs.unmet(ranks, target.bytes(), one_node).is_none();
    plugins
        .iter()
        .flat_map(|plugin| plugin.rows.iter().filter(fitting).map(|row| plugin.selection(row)))
        .flat_map(|default| with_longer_segment(library, target, default))
        .collect()
}

/// A candidate with its default parameters, and with segments of [`LONGER_SEGMENT`] times the length where it has any.
fn with_longer_segment(library: &Library, target: &Target, default: Selection) -> Vec<Selection> {
    let longer = knobs(library, &default, target.bytes()).into_iter().find_map(|knob| {
        let bytes = knob_value(&default, &knob.name)?.saturating_mul(LONGER_SEGMENT);
        (knob.name == OWN_SEGMENT && bytes <= knob.max && bytes < target.bytes())
            .then(|| with_knob(&default, &knob.name, bytes))
    });
    std::iter::once(default).chain(longer).collect()
}

/// Every candidate with every value of its ordered knobs that a search could come to, together with [`selections`]: powers of two or integers,
/// all combinations. An exhaustive search has to measure them all.
#[must_use]
pub fn every(library: &Library, target: &Target, ranks: usize, one_node: bool) -> Vec<Selection> {
    let mut all = BTreeSet::new();
    for selection in selections(library, target, ranks, one_node) {
        let mut settings = vec![selection.clone()];
        for knob in knobs(library, &selection, target.bytes()) {
            let values = knob.values();
            settings = settings
                .iter()
                .flat_map(|setting| values.iter().map(|value| with_knob(setting, &knob.name, *value)))
                .collect();
        }
        all.insert(selection);
        all.extend(settings.into_iter().map(by_plain_name));
    }
    all.into_iter().collect()
}
