//! Joins several launches of the same points to one survey, and converts a survey to the times of another, for a tuning
//! run's pictures.

use std::collections::BTreeMap;

use kilter_model::survey::{Cell, Failed, Map, Survey};
use kilter_stats::sample::Sample;

/// Size, threads, computation: the order of cells in a map.
type Place = (u64, u32, u64);

fn place(cell: &Cell) -> Place {
    (cell.bytes, cell.threads, cell.computation_ns)
}

/// Medians of each cell over the launches that measured it; `None` without a launch.
#[must_use]
pub fn of_launches(launches: &[Survey]) -> Option<Survey> {
    let first = launches.first()?;
    let of_benchmark = |map: &Map| {
        let maps = launches.iter().flat_map(|survey| &survey.maps);
        let same: Vec<&Map> = maps.filter(|other| other.benchmark == map.benchmark).collect();
        together(&same, map)
    };
    Some(Survey {
        maps: first.maps.iter().map(of_benchmark).collect(),
        ..first.clone()
    })
}

fn together(same: &[&Map], first: &Map) -> Map {
    let mut cells: BTreeMap<Place, Vec<&Cell>> = BTreeMap::new();
    for cell in same.iter().flat_map(|map| &map.cells) {
        cells.entry(place(cell)).or_default().push(cell);
    }
    // A cell that one launch measured has not failed. A cell that no launch measured has its first reason.
    let mut failed: BTreeMap<Place, &Failed> = BTreeMap::new();
    for one in same.iter().flat_map(|map| &map.failed) {
        let place = (one.bytes, one.threads, one.computation_ns);
        if !cells.contains_key(&place) {
            failed.entry(place).or_insert(one);
        }
    }
    Map {
        benchmark: first.benchmark,
        cells: cells.values().filter_map(|cells| middle(cells)).collect(),
        failed: failed.into_values().cloned().collect(),
    }
}

fn middle(same: &[&Cell]) -> Option<Cell> {
    let median = |of: fn(&Cell) -> f64| {
        let values = same.iter().map(|cell| of(cell)).collect();
        Some(Sample::new(values).ok()?.median())
    };
    let sum = |of: fn(&Cell) -> u32| same.iter().map(|cell| of(cell)).fold(0, u32::saturating_add);
    let first: Cell = (*same.first()?).clone();
    Some(Cell {
        communication_seconds: median(|cell| cell.communication_seconds)?,
        computation_seconds: median(|cell| cell.computation_seconds)?,
        overlapped_seconds: median(|cell| cell.overlapped_seconds)?,
        overlapped_interval_seconds: [
            median(|cell| cell.overlapped_interval_seconds[0])?,
            median(|cell| cell.overlapped_interval_seconds[1])?,
        ],
        noise_seconds: median(|cell| cell.noise_seconds)?,
        repetitions: sum(|cell| cell.repetitions),
        disturbed: sum(|cell| cell.disturbed),
        ..first
    })
}

/// The survey's times of both together, beside the times of each by itself, and the noise, of `base`. Targets are
/// judged in the same way, so that a slowdown of communication does not look like better overlap. Cells that `base`
/// lacks are left out.
#[must_use]
pub fn by_times_of(base: &Survey, mut survey: Survey) -> Survey {
    for map in &mut survey.maps {
        let Some(theirs) = base.maps.iter().find(|other| other.benchmark == map.benchmark) else {
            map.cells.clear();
            continue;
        };
        let cells = std::mem::take(&mut map.cells).into_iter().filter_map(|cell| {
            let alone = theirs.cells.iter().find(|other| place(other) == place(&cell))?;
            Some(Cell {
                communication_seconds: alone.communication_seconds,
                computation_seconds: alone.computation_seconds,
                noise_seconds: alone.noise_seconds,
                ..cell
            })
        });
        map.cells = cells.collect();
    }
    survey
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::survey as fixture;
    use kilter_model::reading::read;
    use kilter_protocol::overlap::Benchmark;

    use super::*;

    /// A launch of two cells: 64 KiB with this ratio, and 1 MiB, if it could be measured.
    fn launch(ratio: f64, slower: f64, has_large: bool) -> Survey {
        let communication = |bytes| slower * fixture::communication(bytes);
        let cell = |bytes: u64| fixture::cell(bytes, 1_000_000, 1, communication(bytes), ratio);
        let failed = Failed {
            bytes: 1 << 20,
            computation_ns: 1_000_000,
            threads: 1,
            reason: format!("hung at {ratio}"),
        };
        let cells = [Some(cell(1 << 16)), has_large.then(|| cell(1 << 20))];
        fixture::survey(vec![Map {
            benchmark: Benchmark::Receiver,
            cells: cells.into_iter().flatten().collect(),
            failed: if has_large { Vec::new() } else { vec![failed] },
        }])
    }

    fn ratio(survey: &Survey, index: usize) -> f64 {
        read(Benchmark::Receiver, &survey.maps[0].cells[index]).unwrap().value
    }

    #[test]
    fn a_cell_is_the_median_of_the_launches_that_measured_it() {
        let launches = [launch(0.9, 1.0, false), launch(0.1, 1.0, true), launch(0.3, 1.0, false)];
        let all = of_launches(&launches).unwrap();
        let map = &all.maps[0];
        assert_eq!((map.cells.len(), map.failed.len()), (2, 0), "one launch had it");
        assert!((ratio(&all, 0) - 0.3).abs() < 1e-9 && (ratio(&all, 1) - 0.1).abs() < 1e-9);
        assert_eq!((map.cells[0].repetitions, map.cells[1].repetitions), (150, 50));
        let none = of_launches(&[launches[0].clone(), launches[2].clone()]).unwrap();
        assert_eq!(none.maps[0].failed.len(), 1);
        assert_eq!(none.maps[0].failed[0].reason, "hung at 0.9");
        assert_eq!(of_launches(&[]), None);
    }

    #[test]
    fn what_slows_communication_is_no_better_overlap() {
        let (base, slow) = (launch(1.0, 1.0, true), launch(0.2, 3.0, true));
        assert!((ratio(&slow, 1) - 0.2).abs() < 1e-9, "by its own times it looks good");
        let judged = by_times_of(&base, slow);
        // T = P + 0.2 * 3 C.
        assert!((ratio(&judged, 1) - 0.6).abs() < 1e-9, "{}", ratio(&judged, 1));
        let lacking = by_times_of(&launch(1.0, 1.0, false), launch(0.2, 1.0, true));
        assert_eq!(lacking.maps[0].cells.len(), 1);
        let other = by_times_of(&fixture::survey(Vec::new()), launch(0.2, 1.0, true));
        assert!(other.maps[0].cells.is_empty());
    }
}
