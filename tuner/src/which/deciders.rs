//! Deciders of a call, in the order in which the library asks. A file for each way to decide.

mod at_start;
mod dropin;
mod han;
mod mpich;
mod openmpi;
mod parameter;

use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::Collective;
use kilter_model::config::library::Library;
use kilter_model::deployment::Assignment;
use kilter_profile::Placement;
use kilter_search::proof::Forced;
use kilter_search::target::Target;
use kilter_which::answer::Decision;
use kilter_which::decide::Decider;
use kilter_which::handing::Handing;

use super::places::Places;

/// The job and its surroundings.
pub(super) struct Known<'a> {
    pub(super) library: &'a Library,
    pub(super) ranks: usize,
    pub(super) hosts: usize,
    /// Placement of the ranks on them, if the job said it.
    pub(super) placement: Option<Placement>,
    /// Parameters as the running library reports them.
    pub(super) variables: &'a BTreeMap<String, String>,
    pub(super) places: &'a Places<'a>,
    pub(super) dropin_calls: &'a BTreeMap<String, u64>,
}

/// Everything that could have decided a call.
pub(super) struct Deciders {
    /// The drop-in's rule, if it acted, with the implementation that it names.
    pub(super) dropin: Option<(Decision, String)>,
    /// The one that chooses the component, before any other is asked.
    pub(super) component: Option<Handing>,
    /// The library's own, strongest first.
    pub(super) others: Vec<Decider>,
}

impl Deciders {
    /// All that are set for a target; `forced` are the algorithms by whose indices they ask.
    pub(super) fn of(known: &Known<'_>, target: &Target, forced: &[Forced]) -> Deciders {
        let mut others = Vec::new();
        let row = target.collective().and_then(|one| known.library.algorithms_of(one));
        if let Some(row) = row {
            let index = |number: u64| forced.iter().position(|one| one.value == number);
            if row.at_start.is_some() {
                others.extend(at_start::decider(known, row, target, &index));
            } else {
                others.extend(openmpi::rule(known, row, target, &index));
                others.extend(parameter::decider(known, row, &index));
                others.extend(mpich::rule(known, target, forced));
            }
        }
        Deciders {
            dropin: dropin::decision(known, target),
            component: han::rule(known, target),
            others,
        }
    }
}

/// Parameters that a job must report so that deciders are known.
pub(super) fn reads(library: &Library, collectives: &BTreeSet<Collective>) -> Vec<String> {
    let rows = collectives.iter().filter_map(|one| library.algorithms_of(*one));
    let rows: Vec<_> = rows.filter(|row| row.at_start.is_none()).collect();
    let own = rows.iter().map(|row| row.parameter.clone());
    let together = rows.iter().flat_map(|row| row.together.keys().cloned());
    let switching = library.switching.parameters.keys().cloned();
    let files = if rows.iter().any(|row| row.rules_id.is_some()) {
        vec![openmpi::FILENAME.to_owned()]
    } else {
        Vec::new()
    };
    let of_components = han::reads(library).into_iter();
    own.chain(together)
        .chain(switching)
        .chain(files)
        .chain(of_components)
        .collect()
}

/// The file that a parameter names, if one is.
fn file(parameter: &str, variables: &BTreeMap<String, String>, places: &Places<'_>) -> Option<String> {
    let reported = variables.get(parameter).cloned();
    let file = reported.or_else(|| places.set(parameter).map(|set| set.value))?;
    (!file.is_empty() && file != NO_FILE).then_some(file)
}

/// Name of a file that is not there, which the library takes for no rules.
const NO_FILE: &str = "none";

/// Settings of a job in which algorithms are forced, where a site's rules would win over them.
pub(super) fn unruled(variables: &BTreeMap<String, String>, places: &Places<'_>) -> Vec<Assignment> {
    openmpi::unruled(variables, places).into_iter().collect()
}
