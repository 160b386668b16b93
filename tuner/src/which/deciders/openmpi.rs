//! The rules file of Open MPI's `coll_tuned`, which is asked before the parameters of single collectives.

use std::collections::BTreeMap;

use kilter_emit::rules::{ByNodes, Nodes};
use kilter_model::config::library::{Algorithms, RulesForm};
use kilter_model::deployment::Assignment;
use kilter_search::target::Target;
use kilter_which::answer::Decision;
use kilter_which::decide::Decider;
use kilter_which::lines;

use super::parameter::inactive;
use super::{Known, NO_FILE, Places, file};

/// Parameter that names the file.
pub(super) const FILENAME: &str = "coll_tuned_dynamic_rules_filename";

/// The setting without which the file would win over algorithms that are forced, if there is a file.
pub(super) fn unruled(variables: &BTreeMap<String, String>, places: &Places<'_>) -> Option<Assignment> {
    file(FILENAME, variables, places).map(|_| Assignment {
        name: FILENAME.to_owned(),
        value: NO_FILE.to_owned(),
        environment: false,
    })
}

/// The rule for a call, if a file has one.
pub(super) fn rule(
    known: &Known<'_>,
    row: &Algorithms,
    target: &Target,
    index: &dyn Fn(u64) -> Option<usize>,
) -> Option<Decider> {
    let id = row.rules_id?;
    let file = file(FILENAME, known.variables, known.places)?;
    let by_file = |rule: String, place: String, asks, why: Option<String>| Decider {
        decision: Decision::Rule { place, rule },
        asks,
        inactive: why,
    };
    let whole = |why: String| Some(by_file("any".to_owned(), format!("`{file}`"), None, Some(why)));
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => return whole(format!("it cannot be read: {error}")),
    };
    let rules = match ByNodes::read(&text, known.library.rules_file.form) {
        Ok(rules) => rules,
        Err(error) => {
            return whole(format!("{} ignores a file with a mistake: {error}", known.library.name));
        }
    };
    let (ranks, bytes) = (known.ranks as u64, target.bytes());
    let choice = rules.of(Nodes::of(known.hosts)).lookup(id, ranks, bytes);
    if choice.algorithm == 0 {
        return None;
    }
    let found = match known.library.rules_file.form {
        RulesForm::Numbers => lines::of_numbers(&text, id, ranks, bytes),
        RulesForm::Json => None,
    };
    let (place, rule) = match found {
        Some((line, rule)) => (format!("{file}:{line}"), rule),
        None => (format!("`{file}`"), format!("algorithm {}", choice.algorithm)),
    };
    Some(by_file(rule, place, index(choice.algorithm), inactive(known)))
}
