//! The map of a machine for its report, from what is predicted.

use std::collections::BTreeMap;

use kilter_model::deployment::Selection;
use kilter_model::layout::Layout;
use kilter_predict::{Call, Implementation, Map, Status};
use kilter_report::layouts::{CallMap, HowKnown, MachineMap, MapCell};

/// The map in the report's words; `None` where nothing was measured. `deployed` says what the files have for a call on a measured layout, which is what
/// was proven there; `None` is the default.
#[must_use]
pub(crate) fn of(map: &Map, deployed: impl Fn(Layout, Call) -> Option<Selection>) -> Option<MachineMap> {
    let mut calls: BTreeMap<Call, Vec<MapCell>> = BTreeMap::new();
    for cell in &map.cells {
        let (standing, from, confirmed_by, because) = match &cell.status {
            Status::Measured => (HowKnown::Measured, Vec::new(), Vec::new(), None),
            Status::Confirmed { from, confirmed_by } => (HowKnown::Confirmed, from.clone(), confirmed_by.clone(), None),
            Status::Default(why) => (HowKnown::Default, Vec::new(), Vec::new(), Some(why.to_string())),
        };
        let choice = match cell.status {
            Status::Measured => {
                deployed(cell.layout, cell.call).map_or(Implementation::Default, Implementation::Selected)
            }
            _ => cell.choice.clone(),
        };
        let chosen = cell.candidates.iter().find(|one| one.implementation == choice);
        calls.entry(cell.call).or_default().push(MapCell {
            layout: cell.layout,
            standing,
            choice: choice.to_string(),
            seconds: chosen.map(|one| one.seconds),
            from,
            confirmed_by,
            because,
        });
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
