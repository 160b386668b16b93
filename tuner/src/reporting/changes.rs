//! Deployed changes in the report: those that are for a cell, and the cells that each is for.

use kilter_algorithms::Collective;
use kilter_emit::Emitted;
use kilter_model::change;
use kilter_model::config::library::Library;
use kilter_model::deployment::{Assignment, Deployment, Selection};
use kilter_model::plan::{Plan, Subject};
use kilter_model::report::gain::geometric_mean;
use kilter_model::report::{CallGain, Cell, DeployedChange, Fix, FixKind, GainVerdict, Setting};
use kilter_render::format;
use kilter_search::context::Site;
use kilter_search::verification::JudgedCell;
use kilter_stats::sample::Sample;
use kilter_stats::verdict::{Comparison, Outcome};
use kilter_tune::Tuned;

use super::ranges;

/// Fix of a cell, by the decisions.
pub(super) fn fix(tuned: &Tuned, judged: &JudgedCell) -> Option<Fix> {
    tuned
        .ledger
        .fix(selected_for(judged), &judged.cell.target(), &tuned.deployment)
}

/// The selection for a cell that it does not fix.
pub(super) fn selected(tuned: &Tuned, judged: &JudgedCell) -> Option<Fix> {
    tuned.ledger.selected(selected_for(judged)?, &tuned.deployment)
}

/// True if the selection for a cell is a partial fix.
pub(super) fn is_partial(tuned: &Tuned, judged: &JudgedCell) -> bool {
    let cell = selected_for(judged);
    tuned.ledger.partial_fixes().any(|other| Some(other) == cell)
}

/// The cell that a selection for a guideline's cell is chosen for.
fn selected_for(judged: &JudgedCell) -> Option<change::Cell> {
    let left = &judged.cell.left;
    left.collective().map(|collective| (collective, left.bytes))
}

/// True if a setting of whole launches is part of a cell's fix.
fn is_part_of(assignment: &Assignment, fix: &Fix) -> bool {
    fix.settings.contains(&Setting::from(assignment))
}

/// All deployed changes, each with the violated cells that it is for and what it does to its calls.
pub(super) fn changes(
    tuned: &Tuned,
    (plan, site): (&Plan, &Site<'_>),
    emitted: &Emitted,
    (cells, gains): (&[Cell], &[CallGain]),
) -> Vec<DeployedChange> {
    let (deployment, library) = (&tuned.deployment, &site.library);
    let mut changes = Vec::new();
    for assignment in &deployment.assignments {
        let answered: Vec<&Cell> = cells
            .iter()
            .filter(|cell| cell.fix.as_ref().is_some_and(|fix| is_part_of(assignment, fix)))
            .collect();
        let alone = Deployment::of(assignment.clone());
        let is_its_own = |gain: &&CallGain| {
            let mut answered = answered.iter();
            answered.any(|cell| cell.function == gain.function && cell.measured_bytes == gain.bytes)
                || (gain.verdict == GainVerdict::Faster && made_faster(&alone, deployment, gain, library))
        };
        let calls: Vec<CallGain> = gains.iter().filter(is_its_own).cloned().collect();
        changes.push(DeployedChange {
            kind: FixKind::Parameter,
            name: assignment.name.clone(),
            value: assignment.value.clone(),
            file: emitted.carrier(&assignment.name).to_owned(),
            why: why(&answered),
            gain: geometric_mean(&calls),
            cells: answered.iter().map(|cell| name(cell)).collect(),
            function: None,
            sizes: Vec::new(),
            ranges: Vec::new(),
            measured_sizes: 0,
            calls,
        });
    }
    let profile = ranges::profile(emitted);
    for (collective, selection, sizes) in alike(deployment) {
        let function = collective.name();
        let answered: Vec<&Cell> = cells
            .iter()
            .filter(|cell| cell.function == function && sizes.contains(&cell.measured_bytes) && cell.fix.is_some())
            .collect();
        let volumes = plan.volumes_of(collective);
        let ranges = match ranges::of_profile(profile.as_ref(), collective, selection, site.options.ranks) {
            Some(ranges) => ranges,
            None => ranges::of_rules(deployment, (collective, &sizes), &volumes, library),
        };
        let holds_for = |bytes: u64| sizes.contains(&bytes) || ranges.iter().any(|range| range.contains(bytes));
        let its_own = gains
            .iter()
            .filter(|gain| gain.function == function && holds_for(gain.bytes));
        let calls: Vec<CallGain> = its_own.cloned().collect();
        changes.push(DeployedChange {
            kind: selection.kind(),
            name: ranges::named(collective, &sizes, &volumes),
            value: selection.id(),
            file: emitted.carriers_of(library, collective, selection),
            why: why(&answered),
            gain: geometric_mean(&calls),
            cells: answered.iter().map(|cell| name(cell)).collect(),
            function: Some(function.to_owned()),
            measured_sizes: volumes.iter().filter(|bytes| holds_for(**bytes)).count(),
            sizes,
            ranges,
            calls,
        });
    }
    changes
}

/// True if a setting may have made a call faster: it acts on the call, and nothing was chosen for the call at this volume.
fn made_faster(setting: &Deployment, deployed: &Deployment, gain: &CallGain, library: &Library) -> bool {
    let Ok(collective) = gain.function.parse::<Collective>() else {
        return false;
    };
    !deployed.selections.contains_key(&(collective, gain.bytes))
        && setting.touches(&Subject::library(collective, gain.bytes), library)
}

/// Each selection of a collective once, with the volumes that share it.
fn alike(deployment: &Deployment) -> Vec<(Collective, &Selection, Vec<u64>)> {
    let mut all: Vec<(Collective, &Selection, Vec<u64>)> = Vec::new();
    for ((collective, bytes), selection) in &deployment.selections {
        let known = all
            .iter_mut()
            .find(|(other, same, _)| other == collective && *same == selection);
        match known {
            Some((_, _, sizes)) => sizes.push(*bytes),
            None => all.push((*collective, selection, vec![*bytes])),
        }
    }
    all
}

fn name(cell: &Cell) -> String {
    format!("{} {} {}", cell.guideline, cell.function, cell.measured_bytes)
}

fn why(answered: &[&Cell]) -> String {
    let worst = answered.iter().max_by(|a, b| a.before.ratio.total_cmp(&b.before.ratio));
    match worst {
        Some(cell) => {
            let now = cell.after.iter().find(|after| after.verdict == Outcome::Violated);
            format!(
                "{}; worst: {} was {:.2} times its bound{}",
                format::count(answered.len(), "violated cell"),
                name(cell),
                cell.before.ratio,
                now.map_or_else(String::new, |now| format!(", and is {:.2} times it still", now.ratio))
            )
        }
        None => "it is for no cell that was violated before".to_owned(),
    }
}

/// Says before the reason why a cell is not fixed that a change is deployed for it all the same. `gain` is its time over that of the untouched
/// library.
pub(super) fn all_the_same(fix: &Fix, gain: Option<f64>, reason: &str) -> String {
    let takes = gain.map(|gain| format!(" and takes {gain:.2} of the library's time"));
    format!("`{}` is deployed{}; {reason}", fix.id, takes.unwrap_or_default())
}

/// Time of a cell's left side with what is deployed over that of the untouched library in the same minutes; `None` where no launch has both.
pub(super) fn gain_of(tuned: &Tuned, judged: &JudgedCell, after: Option<&Comparison>) -> Option<f64> {
    let untouched = Sample::new(tuned.untouched.get(&judged.cell.left)?.clone()).ok()?;
    Some(after?.seconds / untouched.median())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_with_the_same_choice_are_one_change() {
        let row = |id: &str| Selection::Algorithm(id.to_owned(), Vec::new());
        let deployment = Deployment {
            selections: [(8, "reduce.ring"), (64, "reduce.linear"), (512, "reduce.ring")]
                .map(|(bytes, id)| ((Collective::Reduce, bytes), row(id)))
                .into(),
            ..Deployment::default()
        };
        let found = alike(&deployment)
            .into_iter()
            .map(|(_, selection, sizes)| (selection.id(), sizes));
        assert_eq!(
            found.collect::<Vec<_>>(),
            [
                ("reduce.ring".to_owned(), vec![8, 512]),
                ("reduce.linear".to_owned(), vec![64])
            ]
        );
    }

    #[test]
    fn a_value_that_begins_like_another_is_another() {
        let assignment = |name: &str, value: &str| Assignment {
            name: name.to_owned(),
            value: value.to_owned(),
            environment: false,
        };
        let fix = Fix {
            kind: FixKind::Parameter,
            settings: vec![
                Setting::from(&assignment("x", "16")),
                Setting::from(&assignment("max_x", "1")),
            ],
            id: "x=16 max_x=1".to_owned(),
        };
        assert!(is_part_of(&assignment("x", "16"), &fix) && is_part_of(&assignment("max_x", "1"), &fix));
        assert!(!is_part_of(&assignment("x", "1"), &fix));
    }

    #[test]
    fn what_is_deployed_and_does_not_fix_a_cell_is_named_before_the_reason() {
        let fix = Fix {
            kind: FixKind::Algorithm,
            settings: Vec::new(),
            id: "scan.pipelined_chain".to_owned(),
        };
        assert_eq!(
            all_the_same(&fix, Some(0.2712), "the bound is missed"),
            "`scan.pipelined_chain` is deployed and takes 0.27 of the library's time; the bound is missed"
        );
        assert_eq!(
            all_the_same(&fix, None, "the bound is missed"),
            "`scan.pipelined_chain` is deployed; the bound is missed"
        );
    }
}
