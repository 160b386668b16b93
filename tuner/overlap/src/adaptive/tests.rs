use std::convert::Infallible;

use kilter_fixtures::survey as fixture;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::grid::{ladder, threads};

/// 39 sizes, 27 computation times: the default.
fn grid_of(benchmark: Benchmark) -> Grid {
    let (sizes, computations) = (ladder(8, 4 << 20), ladder(1000, 10_000_000));
    Grid::of(benchmark, (&sizes, &computations, &threads(64, true)), 2)
}

/// Every cell of a map: ratio by size and computation, or slowdown by size and threads.
fn script(benchmark: Benchmark, grid: &Grid, value: impl Fn(u64, u64) -> f64) -> Vec<Cell> {
    let cell = |position| {
        let point = grid.point(position);
        let communication = fixture::communication(point.bytes);
        let threads = point.load.threads;
        match benchmark {
            Benchmark::ThreadLoad => {
                let mut cell = fixture::cell(point.bytes, point.load.computation_ns, threads, communication, 0.0);
                cell.overlapped_seconds = communication * value(point.bytes, u64::from(threads));
                cell
            }
            _ => {
                let ratio = value(point.bytes, point.load.computation_ns);
                fixture::cell(point.bytes, point.load.computation_ns, threads, communication, ratio)
            }
        }
    };
    grid.positions().map(cell).collect()
}

/// Ratios and noise that differ from cell to cell.
fn shaken(mut cells: Vec<Cell>, amplitude: f64, seed: u64) -> Vec<Cell> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for cell in &mut cells {
        cell.overlapped_seconds += random.random_range(-amplitude..amplitude) * cell.serialised_overhead_seconds();
        cell.noise_seconds *= random.random_range(0.8..1.25);
    }
    cells
}

/// A ratio by size and computation time.
type Shape = fn(u64, u64) -> f64;

struct Shares {
    agreement: f64,
    cells: f64,
    seconds: f64,
}

fn explored(benchmark: Benchmark, grid: &Grid, full: &[Cell]) -> (Explored, Shares) {
    let by_position: BTreeMap<Position, &Cell> = grid.positions().zip(full).collect();
    let mut asked = 0;
    let explored = explore::<Infallible>(benchmark, grid, &mut |positions| {
        asked += positions.len();
        Ok(positions
            .iter()
            .map(|position| Some(by_position[position].clone()))
            .collect())
    });
    let Ok(explored) = explored;
    assert_eq!(asked, explored.measured.len(), "each cell is asked for once");
    assert_eq!(explored.cells.len(), full.len());
    let agreeing = full.iter().zip(&explored.cells).filter(|(cell, other)| {
        assert_eq!(
            (cell.bytes, cell.computation_ns, cell.threads),
            (other.bytes, other.computation_ns, other.threads)
        );
        Band::of(benchmark, cell) == Band::of(benchmark, other)
    });
    let seconds = |cell: &Cell| cell.communication_seconds + cell.computation_seconds + cell.overlapped_seconds;
    let spent: f64 = explored
        .measured
        .keys()
        .map(|position| seconds(by_position[position]))
        .sum();
    let shares = Shares {
        agreement: agreeing.count() as f64 / full.len() as f64,
        cells: asked as f64 / full.len() as f64,
        seconds: spent / full.iter().map(seconds).sum::<f64>(),
    };
    (explored, shares)
}

/// Good above the line of equal times, partial below: what the offloading of a slow network looks like.
fn diagonal(bytes: u64, computation_ns: u64) -> f64 {
    if computation_ns as f64 * 1e-9 > fixture::communication(bytes) {
        0.05
    } else {
        0.55
    }
}

/// A ramp over four powers of two, from overlap to none.
fn ramp(bytes: u64, _: u64) -> f64 {
    ((bytes as f64).log2() - 12.0).clamp(0.0, 4.0) / 4.0
}

/// Slower than one after the other for long messages and long computations.
fn corner(bytes: u64, computation_ns: u64) -> f64 {
    match (bytes >= 300_000, computation_ns >= 200_000) {
        (true, true) => 1.8,
        (true, false) => 1.0,
        (false, _) => fixture::rendezvous(bytes, computation_ns),
    }
}

#[test]
fn the_shapes_of_the_paper_from_a_fifth_of_cells_and_time() {
    let shapes: [(&str, Shape); 8] = [
        ("threaded", fixture::threaded),
        ("serial", fixture::serial),
        ("rendezvous", fixture::rendezvous),
        ("tcp", fixture::tcp),
        ("pipelined", fixture::pipelined),
        ("diagonal", diagonal),
        ("ramp", ramp),
        ("corner", corner),
    ];
    let grid = grid_of(Benchmark::Receiver);
    for (name, shape) in shapes {
        let full = script(Benchmark::Receiver, &grid, shape);
        for (amplitude, full) in [
            (0.0, full.clone()),
            (0.05, shaken(full.clone(), 0.05, 7)),
            (0.1, shaken(full, 0.1, 8)),
        ] {
            let (_, shares) = explored(Benchmark::Receiver, &grid, &full);
            let Shares {
                agreement,
                cells,
                seconds,
            } = shares;
            println!("{name} {amplitude}: agreement {agreement:.3}, cells {cells:.3}, time {seconds:.3}");
            assert!(agreement >= 0.95, "{name} {amplitude}: {agreement}");
            assert!(
                cells <= SHARE && seconds <= 0.21,
                "{name} {amplitude}: {cells} of cells, {seconds} of time"
            );
        }
    }
}

#[test]
fn a_plain_map_costs_no_more_than_its_coarse_grid_and_its_mask() {
    let grid = grid_of(Benchmark::Sender);
    let mut full = script(Benchmark::Sender, &grid, fixture::serial);
    full.iter_mut().for_each(|cell| cell.noise_seconds = 0.0);
    let (explored, shares) = explored(Benchmark::Sender, &grid, &full);
    assert_eq!((explored.measured.len(), shares.agreement), (11 * 8, 1.0));
}

#[test]
fn a_border_is_exact_where_it_is_straight() {
    let grid = grid_of(Benchmark::Sender);
    for limit in grid.sizes.iter().step_by(3).copied() {
        let threshold = |bytes: u64, _: u64| if bytes < limit { 0.05 } else { 1.0 };
        let mut full = script(Benchmark::Sender, &grid, threshold);
        full.iter_mut().for_each(|cell| cell.noise_seconds = 0.0);
        let (explored, shares) = explored(Benchmark::Sender, &grid, &full);
        assert_eq!(shares.agreement, 1.0, "{limit}");
        assert!(
            explored.measured.len() <= 11 * 8 + 2 * 8,
            "{limit}: {}",
            explored.measured.len()
        );
    }
}

#[test]
fn computing_threads_make_a_border_between_magnitudes() {
    let grid = grid_of(Benchmark::ThreadLoad);
    let full = script(Benchmark::ThreadLoad, &grid, |bytes, threads| match threads {
        1..40 => 1.4,
        _ => 1.0 + 4e-3 / fixture::communication(bytes),
    });
    let (_, shares) = explored(Benchmark::ThreadLoad, &grid, &full);
    assert!(
        shares.agreement >= 0.95 && shares.cells <= SHARE,
        "{} {}",
        shares.agreement,
        shares.cells
    );
}

#[test]
fn small_maps_are_measured_in_full() {
    let axes: (&[u64], &[u64], &[u32]) = (&[1024, 16_384, 262_144], &[10_000, 50_000, 200_000], &[1, 2, 4]);
    for benchmark in [Benchmark::Receiver, Benchmark::ThreadLoad] {
        let grid = Grid::of(benchmark, axes, 2);
        let full = script(benchmark, &grid, |_, _| 1.0);
        let (explored, _) = explored(benchmark, &grid, &full);
        assert!(explored.cells.iter().all(|cell| !cell.inferred), "{benchmark:?}");
    }
}

#[test]
fn inferred_cells_say_so_and_fit_their_neighbours() {
    let grid = grid_of(Benchmark::Receiver);
    let full = script(Benchmark::Receiver, &grid, fixture::rendezvous);
    let (explored, _) = explored(Benchmark::Receiver, &grid, &full);
    for (position, (cell, truth)) in grid.positions().zip(explored.cells.iter().zip(&full)) {
        assert_eq!(cell.inferred, !explored.measured.contains_key(&position));
        if cell.inferred {
            assert_eq!(cell.repetitions, 0);
            let off = (cell.communication_seconds / truth.communication_seconds).ln().abs();
            assert!(off < 0.1, "{} B: {}", cell.bytes, cell.communication_seconds);
            let off = (cell.computation_seconds / truth.computation_seconds).ln().abs();
            assert!(off < 1e-3, "{} ns: {}", cell.computation_ns, cell.computation_seconds);
        }
    }
}

#[test]
fn around_what_cannot_be_measured_nothing_is_made_up() {
    let grid = grid_of(Benchmark::Receiver);
    let full = script(Benchmark::Receiver, &grid, fixture::serial);
    let by_position: BTreeMap<Position, &Cell> = grid.positions().zip(&full).collect();
    let limit = 20;
    let explored = explore::<Infallible>(Benchmark::Receiver, &grid, &mut |positions| {
        let answer = |position: &Position| (position.column < limit).then(|| by_position[position].clone());
        Ok(positions.iter().map(answer).collect())
    });
    let Ok(Explored { cells, measured, open }) = explored;
    let failed = measured.values().filter(|cell| cell.is_none()).count();
    // It crashes no job to see where exactly the crashes begin.
    assert!(failed <= 5 * 8 + 8, "{failed}");
    assert_eq!(cells.len() + open.len() + failed, grid.count());
    let last = cells.iter().map(|cell| cell.bytes).max().unwrap_or_default();
    assert!(last <= grid.sizes[limit + 2], "{last}");
    assert!(open.iter().all(|position| position.column + 4 > limit));
    // And of nothing, nothing.
    let Ok(nothing) = explore::<Infallible>(Benchmark::Receiver, &grid, &mut |positions| {
        Ok(vec![None; positions.len()])
    });
    assert!(nothing.cells.is_empty() && nothing.measured.len() == 88);
}
