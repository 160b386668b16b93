//! The decision for one call, for people: its candidates, best first, and why each that was faster is not deployed.

use kilter_model::change::Change;
use kilter_model::deployment::Selection;
use kilter_model::not_deployed::NotDeployed;
use kilter_model::report::{Contest, Contestant};
use kilter_render::format::count;

use super::problem::{Call, Way};

/// A decision for one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// The candidates.
    pub contest: Contest,
    /// Why the call misses its bound; `None` where it meets it, or has none.
    pub misses: Option<String>,
}

/// Tells the decision for a call. `bound` are the seconds of its tightest right side under the decision, `floor` the smallest difference that counts,
/// and `only_needed` says that nothing is deployed for gain alone.
#[must_use]
pub fn contest(call: &Call, chosen: usize, bound: Option<f64>, floor: f64, only_needed: bool) -> Told {
    let default = call.ways[0].seconds;
    let by = &call.ways[chosen];
    let is_broken = |seconds: f64| bound.is_some_and(|bound| seconds > (1.0 + floor) * bound);
    let why_not = |way: &Way| {
        if std::ptr::eq(way, by) || way.selection.is_none() || way.seconds >= default {
            return None;
        }
        let ratio = way.seconds / default;
        Some(match (&way.objection, &by.selection) {
            (Some(objection), _) => objection.clone(),
            _ if !way.gains => NotDeployed::NoBetterThanDefault { ratio },
            (None, Some(chosen)) if way.as_good => NotDeployed::SimplerChosen { chosen: chosen.id() },
            (None, Some(chosen)) => NotDeployed::FasterChosen { chosen: chosen.id() },
            (None, None) if is_broken(way.seconds) => NotDeployed::MissesBound {
                ratio: bound.map_or(f64::NAN, |bound| way.seconds / bound),
            },
            (None, None) if only_needed => NotDeployed::NothingToFix,
            (None, None) => NotDeployed::NoBetterThanDefault { ratio },
        })
    };
    let contestant = |way: &Way| {
        let change = way.selection.clone().map(|own| Change::of_cell(call.cell, own));
        Contestant {
            id: id(way),
            kind: way.selection.as_ref().map(Selection::kind),
            seconds: way.seconds,
            ratio_to_default: way.seconds / default,
            ratio_to_bound: bound.map_or(0.0, |bound| way.seconds / bound),
            among_best: way.as_good,
            chosen: std::ptr::eq(way, by),
            predicted: None,
            change: change.unwrap_or_default(),
            not_deployed: why_not(way),
        }
    };
    let mut candidates: Vec<Contestant> = call.ways.iter().map(contestant).collect();
    candidates.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Told {
        contest: Contest {
            function: call.cell.0.name().to_owned(),
            bytes: call.cell.1,
            candidates,
            proof: None,
            models: Vec::new(),
            left_out: Vec::new(),
            refused: Vec::new(),
            screened: Vec::new(),
        },
        misses: bound
            .filter(|_| is_broken(by.seconds))
            .map(|bound| misses(call, bound, floor)),
    }
}

/// Why a call misses its bound.
fn misses(call: &Call, bound: f64, floor: f64) -> String {
    let fastest = call.ways.iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let Some(fastest) = fastest else {
        return "no candidate could be measured".to_owned();
    };
    match &fastest.objection {
        Some(objection) if fastest.seconds <= (1.0 + floor) * bound => {
            format!("`{}` would fix it, but {objection}", id(fastest))
        }
        None if fastest.selection.is_some() && !fastest.gains && fastest.seconds <= (1.0 + floor) * bound => format!(
            "`{}` would fix it, but {} do not show that it is faster than the library's own choice",
            id(fastest),
            count(fastest.launches, "launch")
        ),
        _ => format!(
            "the best of {} candidates, {}, still takes {:.2} times the bound",
            call.ways.len(),
            id(fastest),
            fastest.seconds / bound
        ),
    }
}

fn id(way: &Way) -> String {
    way.selection
        .as_ref()
        .map_or_else(|| "default".to_owned(), Selection::id)
}
