//! Choices for layouts that were not measured: predicted, confirmed by a layout that was held out, and proven where they come from. Pure.

use std::collections::BTreeMap;

use kilter_emit::decisions::Selections;
use kilter_emit::fence::Fence;
use kilter_model::change::Cell;
use kilter_model::config::library::Library;
use kilter_model::deployment::Selection;
use kilter_model::layout::Layout;
use kilter_predict::{Implementation, Map, Status};

use super::merge::Merged;

/// The confirmed choices that the files of all layouts can have.
///
/// A choice needs its algorithm among the merged decisions of a layout that it follows from, or that confirmed it: there it was proven. An algorithm
/// of the library's own acts on all layouts within its [`Fence`], and is left out where another one of them makes the call otherwise.
#[must_use]
pub fn of(map: &Map, merged: &Merged, library: &Library) -> BTreeMap<Layout, Selections> {
    let mut all: BTreeMap<Layout, Selections> = BTreeMap::new();
    for cell in &map.cells {
        let (Status::Confirmed { from, confirmed_by }, Implementation::Selected(selection)) =
            (&cell.status, &cell.choice)
        else {
            continue;
        };
        let key: Cell = (cell.call.collective, cell.call.bytes);
        let is_proven = |layout: &Layout| {
            let own = merged.selections.get(layout);
            own.and_then(|own| own.get(&key)) == Some(selection)
        };
        let mut witnesses = from.iter().chain(confirmed_by);
        if !merged.selections.contains_key(&cell.layout) && witnesses.any(is_proven) {
            all.entry(cell.layout).or_default().insert(key, selection.clone());
        }
    }
    let shared = all.clone();
    for (layout, own) in &mut all {
        own.retain(|key, selection| {
            let Selection::Settings(settings) = selection else {
                return true;
            };
            let fence = Fence::of(library, key.0, settings);
            let others = merged.selections.iter().chain(&shared);
            let mut as_many = others.filter(|(other, _)| *other != layout && fence.joins(**other, *layout));
            // One that was neither measured nor predicted is in no file, and has the default.
            let of_map = map
                .cells
                .iter()
                .filter(|cell| (cell.call.collective, cell.call.bytes) == *key);
            let mut of_map = of_map.filter(|cell| cell.layout != *layout && fence.joins(cell.layout, *layout));
            let says_so = |own: &Selections| own.get(key) == Some(selection);
            as_many.all(|(_, own)| says_so(own))
                && of_map.all(|cell| {
                    let own = shared.get(&cell.layout).or_else(|| merged.selections.get(&cell.layout));
                    own.is_some_and(says_so)
                })
        });
    }
    all.retain(|_, own| !own.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;
    use kilter_model::config::library::find_for;
    use kilter_predict::{Call, Cell as Predicted};

    use super::*;

    const CELL: Cell = (Collective::Bcast, 8192);

    fn layout(text: &str) -> Layout {
        text.parse().unwrap()
    }

    fn ring() -> Selection {
        Selection::Algorithm("bcast.ring".to_owned(), Vec::new())
    }

    fn of_library() -> Selection {
        Selection::Settings(vec![("algorithm".to_owned(), "3".to_owned())])
    }

    fn confirmed(text: &str, selection: &Selection) -> Predicted {
        Predicted {
            layout: layout(text),
            call: Call {
                collective: CELL.0,
                bytes: CELL.1,
            },
            choice: Implementation::Selected(selection.clone()),
            status: Status::Confirmed {
                from: vec![layout("2x4"), layout("8x4")],
                confirmed_by: vec![layout("3x4")],
            },
            candidates: Vec::new(),
            regret: 0.0,
        }
    }

    fn taken(cells: Vec<Predicted>, merged: &[(&str, Option<Selection>)]) -> String {
        let map = Map {
            cells,
            ..Map::default()
        };
        let own = |(text, selection): &(&str, Option<Selection>)| {
            let selections = selection.iter().map(|selection| (CELL, selection.clone()));
            (layout(text), selections.collect())
        };
        let merged = Merged {
            selections: merged.iter().map(own).collect(),
            ..Merged::default()
        };
        let library = find_for("mpirun (Open MPI) 4.1.4").unwrap();
        let all = of(&map, &merged, &library);
        all.keys().map(Layout::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_choice_is_taken_where_its_algorithm_was_proven() {
        let cells = || vec![confirmed("4x4", &ring()), confirmed("8x4", &ring())];
        assert_eq!(
            taken(cells(), &[("8x4", Some(ring()))]),
            "4x4",
            "what is measured is its own"
        );
        assert_eq!(taken(cells(), &[("3x4", Some(ring()))]), "4x4 8x4", "the witness");
        assert_eq!(taken(cells(), &[("8x4", None)]), "", "the proof took it out");
        assert_eq!(taken(cells(), &[("8x4", Some(of_library()))]), "");
    }

    #[test]
    fn an_algorithm_of_the_library_needs_all_layouts_of_as_many_ranks() {
        let proven = ("8x4", Some(of_library()));
        let cells = || vec![confirmed("4x4", &of_library())];
        assert_eq!(taken(cells(), std::slice::from_ref(&proven)), "4x4");
        assert_eq!(
            taken(cells(), &[proven.clone(), ("16x1", None)]),
            "",
            "16x1 was measured without it"
        );
        assert_eq!(taken(cells(), &[proven.clone(), ("16x1", Some(of_library()))]), "4x4");
        let mut with_another = cells();
        with_another.push(Predicted {
            choice: Implementation::Default,
            status: Status::Default(kilter_predict::Why::NotBetween),
            ..confirmed("2x8", &of_library())
        });
        assert_eq!(taken(with_another, &[proven]), "", "nothing is known of 2x8");
    }
}
