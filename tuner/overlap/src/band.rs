//! Coarse colour of a cell. The adaptive mode looks more closely where it changes.

use kilter_model::reading::{GOOD, PARTIAL, Quantity, Reading, SERIALISED, read};
use kilter_model::survey::Cell;
use kilter_protocol::overlap::Benchmark;

/// Range of a cell's reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Band {
    /// The reading would be noise.
    Masked,
    /// Ratio up to 0.2; with computing threads, up to 1.2 times as long.
    Good,
    /// Ratio up to 0.8; with computing threads, up to twice as long.
    Partial,
    /// Ratio up to 1.2; with computing threads, up to ten times as long.
    Serialised,
    /// Beyond.
    Worse,
}

/// Upper ends of [`Band::Good`], [`Band::Partial`] and [`Band::Serialised`].
const fn ends(quantity: Quantity) -> [f64; 3] {
    match quantity {
        Quantity::Ratio => [GOOD, PARTIAL, SERIALISED],
        Quantity::Slowdown => [1.2, 2.0, 10.0],
    }
}

impl Band {
    /// Band of a cell.
    #[must_use]
    pub fn of(benchmark: Benchmark, cell: &Cell) -> Band {
        read(benchmark, cell).map_or(Band::Masked, |reading| Band::of_value(benchmark, reading.value))
    }

    /// Band of a ratio, or of a slowdown.
    #[must_use]
    pub fn of_value(benchmark: Benchmark, value: f64) -> Band {
        let above = |end: &f64| value > *end;
        match ends(Quantity::of(benchmark)).iter().filter(|end| above(end)).count() {
            0 => Band::Good,
            1 => Band::Partial,
            2 => Band::Serialised,
            _ => Band::Worse,
        }
    }
}

/// Difference of two readings, from 0 for none to 1 for the largest that a colour can show.
#[must_use]
pub fn contrast(benchmark: Benchmark, a: Option<Reading>, b: Option<Reading>) -> f64 {
    // The border of a mask is less of a picture than the border of a colour.
    const MASK: f64 = 0.25;
    let (a, b) = match (a, b) {
        (Some(a), Some(b)) => (a.value, b.value),
        (None, None) => return 0.0,
        _ => return MASK,
    };
    match Quantity::of(benchmark) {
        Quantity::Ratio => (a.clamp(0.0, 2.0) - b.clamp(0.0, 2.0)).abs() / 2.0,
        Quantity::Slowdown => ((a.clamp(1.0, 1000.0) / b.clamp(1.0, 1000.0)).ln().abs() / 1000.0_f64.ln()).min(1.0),
    }
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::survey as fixture;

    use super::*;

    #[test]
    fn ratios_and_slowdowns_have_their_own_ends() {
        for (value, band) in [
            (-0.1, Band::Good),
            (0.2, Band::Good),
            (0.3, Band::Partial),
            (0.8, Band::Partial),
            (1.0, Band::Serialised),
            (1.3, Band::Worse),
        ] {
            assert_eq!(Band::of_value(Benchmark::Receiver, value), band, "{value}");
        }
        for (value, band) in [
            (1.0, Band::Good),
            (1.5, Band::Partial),
            (9.0, Band::Serialised),
            (900.0, Band::Worse),
        ] {
            assert_eq!(Band::of_value(Benchmark::ThreadLoad, value), band, "{value}");
        }
    }

    #[test]
    fn noise_has_a_band_of_its_own() {
        let mut cell = fixture::cell(1 << 16, 100_000, 1, 40e-6, 1.0);
        assert_eq!(Band::of(Benchmark::Sender, &cell), Band::Serialised);
        cell.noise_seconds = 20e-6;
        assert_eq!(Band::of(Benchmark::Sender, &cell), Band::Masked);
    }

    #[test]
    fn contrast_grows_with_the_difference_that_is_seen() {
        let read = |ratio| read(Benchmark::Sender, &fixture::cell(1 << 16, 100_000, 1, 40e-6, ratio));
        let contrast = |a, b| contrast(Benchmark::Sender, a, b);
        assert!(contrast(read(0.0), read(1.0)) > contrast(read(0.7), read(0.9)));
        assert!((contrast(read(0.0), read(50.0)) - 1.0).abs() < 1e-12);
        assert_eq!(contrast(None, None), 0.0);
        assert!(contrast(None, read(1.0)) < contrast(read(0.0), read(1.0)));
    }
}
