//! The map of a machine for its report, from what was measured, predicted and proven.

use std::collections::BTreeMap;

use kilter_model::deployment::Selection;
use kilter_model::layout::Layout;
use kilter_predict::{Call, Cell, Implementation, Map, Status};
use kilter_report::layouts::{CallMap, HowKnown, MachineMap, MapCell};

/// The map in the report's words; `None` where nothing was measured. `deployed` says what the files have for a call on a layout: what was proven there, or a
/// prediction that they could take; `None` is the default.
#[must_use]
pub(crate) fn of(map: &Map, deployed: impl Fn(Layout, Call) -> Option<Selection>) -> Option<MachineMap> {
    let mut calls: BTreeMap<Call, Vec<MapCell>> = BTreeMap::new();
    for cell in &map.cells {
        let choice = deployed(cell.layout, cell.call).map_or(Implementation::Default, Implementation::Selected);
        let chosen = cell.candidates.iter().find(|one| one.implementation == choice);
        let mut own = MapCell {
            layout: cell.layout,
            standing: HowKnown::Default,
            choice: choice.to_string(),
            seconds: chosen.map(|one| one.seconds),
            from: Vec::new(),
            confirmed_by: Vec::new(),
            because: None,
        };
        match &cell.status {
            Status::Measured => own.standing = HowKnown::Measured,
            Status::Confirmed { from, confirmed_by } if choice != Implementation::Default => {
                own.standing = HowKnown::Confirmed;
                own.from.clone_from(from);
                own.confirmed_by.clone_from(confirmed_by);
            }
            Status::Confirmed { .. } => own.because = Some(not_taken(cell)),
            Status::Default(why) => own.because = Some(why.to_string()),
        }
        calls.entry(cell.call).or_default().push(own);
    }
    let calls: Vec<CallMap> = calls
        .into_iter()
        .map(|(call, cells)| CallMap {
            function: call.collective.name().to_owned(),
            bytes: call.bytes,
            cells,
        })
        .collect();
    (!calls.is_empty()).then_some(MachineMap { calls })
}

/// Reason why the files do not have a confirmed choice.
fn not_taken(cell: &Cell) -> String {
    let Cell { layout, choice, .. } = cell;
    match choice {
        Implementation::Default => "the default is predicted, and confirmed".to_owned(),
        Implementation::Selected(Selection::Settings(_)) => format!(
            "{choice} is predicted and confirmed, but was not proven where that follows from, or would act on other layouts of {} ranks",
            layout.ranks()
        ),
        Implementation::Selected(_) => {
            format!("{choice} is predicted and confirmed, but was not proven where that follows from")
        }
    }
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;
    use kilter_predict::Why;

    use super::*;

    #[test]
    fn a_map_shows_what_the_files_have() {
        let call = Call {
            collective: Collective::Bcast,
            bytes: 8192,
        };
        let ring = Selection::Algorithm("bcast.ring".to_owned(), Vec::new());
        let cell = |layout: &str, status: Status| Cell {
            layout: layout.parse().unwrap(),
            call,
            choice: Implementation::Selected(ring.clone()),
            status,
            candidates: Vec::new(),
            regret: 0.0,
        };
        let confirmed = || Status::Confirmed {
            from: vec!["2x4".parse().unwrap()],
            confirmed_by: vec!["3x4".parse().unwrap()],
        };
        let map = Map {
            cells: vec![
                cell("8x4", Status::Measured),
                cell("2x4", Status::Measured),
                cell("4x4", confirmed()),
                cell("6x4", confirmed()),
                cell("9x4", Status::Default(Why::NotBetween)),
            ],
            ..Map::default()
        };
        let of_files = |layout: Layout, _| {
            ["8x4", "4x4"]
                .contains(&layout.to_string().as_str())
                .then(|| ring.clone())
        };
        let told: Vec<(HowKnown, String, bool)> = of(&map, of_files).unwrap().calls[0]
            .cells
            .iter()
            .map(|cell| (cell.standing, cell.choice.clone(), cell.because.is_some()))
            .collect();
        let [ring, default] = ["bcast.ring", "default"].map(str::to_owned);
        assert_eq!(
            told,
            [
                (HowKnown::Measured, ring.clone(), false),
                (HowKnown::Measured, default.clone(), false),
                (HowKnown::Confirmed, ring, false),
                (HowKnown::Default, default.clone(), true),
                (HowKnown::Default, default, true),
            ]
        );
        assert_eq!(of(&Map::default(), |_, _| None), None);
    }
}
