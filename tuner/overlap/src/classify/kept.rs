//! Checks that maps measured on real libraries get the names that a person gives who looks at the pictures.
//!
//! A file of `kept/` has the measured cells, one a line; the rest is filled in here as `kilter overlap` does. A new map needs a file (`jq`
//! takes it out of overlap.json: the cells that are not inferred), a line in [`KEPT`] and its snapshot.

use kilter_model::survey::Map;

use super::*;
use crate::adaptive::Exploration;
use crate::grid::{Grid, Position, ladder};

/// Name and content.
const KEPT: [(&str, &str); 2] = [
    (
        "openmpi-4.1.4-vader-60s",
        include_str!("kept/openmpi-4.1.4-vader-60s.json"),
    ),
    (
        "openmpi-4.1.4-vader-60s-quiet",
        include_str!("kept/openmpi-4.1.4-vader-60s-quiet.json"),
    ),
];

/// Whole picture of the measured cells, by the default sizes and computation times.
fn filled(map: &Map) -> Map {
    let (sizes, computations) = (ladder(8, 4 << 20), ladder(1000, 10_000_000));
    let grid = Grid::of(map.benchmark, (&sizes, &computations, &[1, 2]), 2);
    let mut exploration = Exploration::new(map.benchmark, grid.clone());
    for cell in &map.cells {
        let column = grid.sizes.iter().position(|bytes| *bytes == cell.bytes).unwrap();
        let same =
            |load: &crate::grid::Load| (load.computation_ns, load.threads) == (cell.computation_ns, cell.threads);
        let row = grid.loads.iter().position(same).unwrap();
        exploration.record(&[Position { column, row }], vec![Some(cell.clone())]);
    }
    Map {
        cells: exploration.finish().cells,
        ..map.clone()
    }
}

#[test]
fn kept_maps_are_named_as_they_look() {
    for (name, json) in KEPT {
        let mut survey: Survey = serde_json::from_str(json).unwrap();
        survey.maps = survey.maps.iter().map(filled).collect();
        insta::assert_snapshot!(name, text(&classify(&survey)));
    }
}
