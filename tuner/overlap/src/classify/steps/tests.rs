//! Maps drawn by hand: sizes to the right, computation upwards, each character a ratio.

use kilter_fixtures::survey as fixture;
use kilter_model::survey::{Cell, Map};
use kilter_protocol::overlap::Benchmark;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::super::{Class, Finding, of_map};

/// `.` 0, `+` 0.5, `#` 1, `@` 1.6, `?` anything, a space masked. Sizes from 1 KiB on and times from 10 us on, by doubling.
fn drawn(picture: &[&str], noise: f64, seed: u64) -> Map {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut cells: Vec<Cell> = Vec::new();
    for (row, line) in picture.iter().rev().enumerate() {
        for (column, what) in line.chars().enumerate() {
            let ratio = match what {
                '.' => 0.0,
                '+' => 0.5,
                '#' => 1.0,
                '@' => 1.6,
                _ => random.random_range(0.0..1.5),
            };
            let ratio = ratio + random.random_range(-1.0..1.0) * noise;
            let mut cell = fixture::cell(1024 << column, 10_000 << row, 1, 40e-6, ratio);
            if what == ' ' {
                cell.noise_seconds = 1.0;
            }
            cells.push(cell);
        }
    }
    cells.sort_by_key(|cell| (cell.bytes, cell.computation_ns));
    Map {
        benchmark: Benchmark::Receiver,
        cells,
        failed: Vec::new(),
    }
}

fn first(picture: &[&str], seed: u64) -> Finding {
    of_map(&drawn(picture, 0.2, seed)).findings.remove(0)
}

#[test]
fn a_side_that_is_ragged_below_4_kib_and_serial_above() {
    let picture = [
        "?.?#######",
        "?#?#######",
        "?.####.###",
        ".?.#######",
        "  ?#######",
        "   #######",
    ];
    for seed in 0..10 {
        let found = first(&picture, seed);
        assert_ne!(found.class, Class::Mixed, "{}: {}", seed, found.sentence);
        if found.class == Class::Stepwise {
            assert!(
                found.sentence.contains("does not overlap (ratio about 1."),
                "{}",
                found.sentence
            );
        }
    }
}

#[test]
fn stretches_of_three_levels_have_their_thresholds() {
    let line = "++++####....";
    for seed in 0..10 {
        let found = first(&[line; 7], seed);
        assert_eq!(
            (found.class, found.between_bytes),
            (Class::Stepwise, Some([128 << 10, 256 << 10])),
            "{}",
            found.sentence
        );
        for part in [
            "up to 8 KiB overlaps in part",
            "from 16 KiB to 128 KiB does not overlap",
            "from 256 KiB on (changes between 128 KiB and 256 KiB) overlaps",
        ] {
            assert!(
                found.sentence.to_lowercase().contains(&part.to_lowercase()),
                "{part}: {}",
                found.sentence
            );
        }
    }
}

#[test]
fn a_threshold_lies_between_what_was_measured() {
    let mut map = drawn(&["++++####...."; 7], 0.1, 3);
    for cell in map
        .cells
        .iter_mut()
        .filter(|cell| [64 << 10, 128 << 10].contains(&cell.bytes))
    {
        cell.inferred = true;
    }
    let found = &of_map(&map).findings[0];
    assert_eq!(found.between_bytes, Some([32 << 10, 256 << 10]), "{}", found.sentence);
}

#[test]
fn times_make_stretches_too() {
    let found = first(
        &[
            "############",
            "############",
            "............",
            "............",
            "++++++++++++",
            "++++++++++++",
            "++++++++++++",
        ],
        1,
    );
    assert_eq!(found.class, Class::Stepwise, "{}", found.sentence);
    assert_eq!(
        found.between_computation_ns,
        Some([160_000, 320_000]),
        "{}",
        found.sentence
    );
}

#[test]
fn what_was_drawn_by_lot_has_no_pattern() {
    let mixed = (0..50).filter(|seed| first(&["????????????"; 8], *seed).class == Class::Mixed);
    assert!(mixed.count() >= 47);
}
