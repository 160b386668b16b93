//! Deployed changes in the report: those that are for a cell, and the cells that each is for.

use kilter_emit::Emitted;
use kilter_model::change;
use kilter_model::config::library;
use kilter_model::deployment::Assignment;
use kilter_model::report::{Cell, DeployedChange, Fix, FixKind, Setting};
use kilter_render::format;
use kilter_search::verification::JudgedCell;
use kilter_stats::sample::Sample;
use kilter_stats::verdict::{Comparison, Outcome};
use kilter_tune::Tuned;

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

/// All deployed changes, each with the violated cells that it is for.
pub(super) fn changes(
    tuned: &Tuned,
    described: &library::Library,
    emitted: &Emitted,
    cells: &[Cell],
) -> Vec<DeployedChange> {
    let mut changes = Vec::new();
    for assignment in &tuned.deployment.assignments {
        let answered: Vec<&Cell> = cells
            .iter()
            .filter(|cell| cell.fix.as_ref().is_some_and(|fix| is_part_of(assignment, fix)))
            .collect();
        changes.push(DeployedChange {
            kind: FixKind::Parameter,
            name: assignment.name.clone(),
            value: assignment.value.clone(),
            file: emitted.carrier(&assignment.name).to_owned(),
            why: why(&answered),
            gain: gain(&answered),
            cells: answered.iter().map(|cell| name(cell)).collect(),
        });
    }
    for ((collective, bytes), selection) in &tuned.deployment.selections {
        let answered: Vec<&Cell> = cells
            .iter()
            .filter(|cell| cell.function == collective.name() && cell.measured_bytes == *bytes && cell.fix.is_some())
            .collect();
        changes.push(DeployedChange {
            kind: selection.kind(),
            name: format!("{} at {}", collective.mpi_name(), format::bytes(*bytes)),
            value: selection.id(),
            file: emitted.carriers_of(described, *collective, selection),
            why: why(&answered),
            gain: gain(&answered),
            cells: answered.iter().map(|cell| name(cell)).collect(),
        });
    }
    changes
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
                "{} violated cell(s); worst: {} was {:.2} times its bound{}",
                answered.len(),
                name(cell),
                cell.before.ratio,
                now.map_or_else(String::new, |now| format!(", and is {:.2} times it still", now.ratio))
            )
        }
        None => "its cell was violated in a later round, after the first changes".to_owned(),
    }
}

/// Geometric mean of time before over time after; 1 where nothing is answered.
fn gain(answered: &[&Cell]) -> f64 {
    let logs: Vec<f64> = answered
        .iter()
        .filter_map(|cell| Some((cell.before.seconds / cell.after.as_ref()?.seconds).ln()))
        .collect();
    if logs.is_empty() {
        1.0
    } else {
        (logs.iter().sum::<f64>() / logs.len() as f64).exp()
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
