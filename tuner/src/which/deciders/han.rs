//! The file by which HAN of Open MPI chooses the component that carries a collective out, on communicators of several hosts.

use kilter_emit::components::ComponentRules;
use kilter_model::config::library::{Components, Library};
use kilter_search::target::Target;
use kilter_which::answer::Decision;
use kilter_which::handing::Handing;
use kilter_which::lines;

use super::parameter::missing;
use super::{Known, file};

/// Parameters with the priority of HAN and of the component that is asked in its place.
const PRIORITIES: [&str; 2] = ["coll_han_priority", "coll_tuned_priority"];

/// Parameters that a job must report.
pub(super) fn reads(library: &Library) -> Vec<String> {
    let Some(components) = &library.components else {
        return Vec::new();
    };
    let needed = components.parameters.keys().cloned();
    let priorities = PRIORITIES.map(str::to_owned);
    needed.chain([components.filename.clone()]).chain(priorities).collect()
}

/// The rule for a call, if a file has one. Where all ranks share a host HAN is not asked, by design.
pub(super) fn rule(known: &Known<'_>, target: &Target) -> Option<Handing> {
    let components = known.library.components.as_ref().filter(|_| known.hosts > 1)?;
    let row = components.of(target.collective()?)?;
    let file = file(&components.filename, known.variables, known.places)?;
    let whole = |why: String| {
        Some(Handing {
            decision: Decision::Rule {
                place: format!("`{file}`"),
                rule: "any".to_owned(),
            },
            component: components.own.clone(),
            algorithm: None,
            inactive: Some(why),
        })
    };
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => return whole(format!("it cannot be read: {error}")),
    };
    let rules = match ComponentRules::parse(&text, components) {
        Ok(rules) => rules,
        Err(error) => {
            return whole(format!("{} ignores a file with a mistake: {error}", known.library.name));
        }
    };
    let (bytes, ranks) = (target.bytes(), known.ranks as u64);
    let (size, _) = row.counts.range((bytes, bytes), ranks);
    let to = rules.lookup(row.id, ranks, size)?;
    let (place, rule) = match lines::of_components(&text, (row.id, row.collective.name()), ranks, size) {
        Some((line, rule)) => (format!("{file}:{line}"), rule),
        None => (format!("`{file}`"), to.component.clone()),
    };
    Some(Handing {
        decision: Decision::Rule { place, rule },
        component: to.component.clone(),
        algorithm: to.algorithm.clone(),
        inactive: inactive(known, components),
    })
}

/// The reason why HAN does not read its file or is not asked, if that is so.
fn inactive(known: &Known<'_>, components: &Components) -> Option<String> {
    let priority = |name: &str| known.variables.get(name)?.parse::<i64>().ok();
    let outranked = || {
        let [own, other] = PRIORITIES;
        let (han, tuned) = (priority(own)?, priority(other)?);
        (han < tuned).then(|| {
            format!("`{own}` is `{han}`, below `{other}`, which is `{tuned}`: HAN is not asked; set it higher")
        })
    };
    missing(known, &components.parameters).or_else(outranked)
}
