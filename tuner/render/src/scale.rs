//! Size and logarithmic axes of all figures: pixels of values, and the values that get a label.

use crate::format;

/// A figure's width, in pixels.
pub const WIDTH: f64 = 520.0;
/// A figure's height, in pixels.
pub const HEIGHT: f64 = 330.0;
/// Upper edge of what is drawn between its axes; how far it reaches to the sides is each figure's own.
pub const TOP: f64 = 14.0;
/// Lower edge of the same.
pub const BOTTOM: f64 = 286.0;

/// A logarithmic axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogAxis {
    log_low: f64,
    log_high: f64,
    from: f64,
    to: f64,
}

impl LogAxis {
    /// An axis that shows `low..=high` (both positive) between two pixels, with a margin on either end in pixels.
    pub fn new((low, high): (f64, f64), (from, to): (f64, f64), (margin_low, margin_high): (f64, f64)) -> Self {
        let (mut log_low, mut log_high) = (low.log2(), high.log2());
        // One value, or values too close to tell apart, get a range to stand in the middle of.
        if log_high - log_low < 0.5 {
            let middle = log_low.midpoint(log_high);
            (log_low, log_high) = (middle - 0.5, middle + 0.5);
        }
        let pixels = (to - from).abs();
        let per_pixel = (log_high - log_low) / (pixels - margin_low - margin_high).max(1.0);
        Self {
            log_low: log_low - margin_low * per_pixel,
            log_high: log_high + margin_high * per_pixel,
            from,
            to,
        }
    }

    /// The pixel of a positive value.
    pub fn at(&self, value: f64) -> f64 {
        self.from + (value.log2() - self.log_low) / (self.log_high - self.log_low) * (self.to - self.from)
    }

    /// True if the value lies on the axis.
    fn shows(&self, value: f64) -> bool {
        (self.log_low..=self.log_high).contains(&value.log2())
    }
}

/// A labelled place on an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// The pixel.
    pub at: f64,
    /// Text at the tick.
    pub label: String,
}

/// The place of a size on an axis of sizes; an empty message stands one octave below the smallest other size.
pub fn size_value(bytes: u64) -> f64 {
    if bytes == 0 { 0.5 } else { bytes as f64 }
}

/// Labels for sizes: the measured ones where they fit, else powers of two in equal steps.
pub fn size_ticks(axis: &LogAxis, sizes: &[u64], min_gap: f64) -> Vec<Tick> {
    let tick = |bytes: u64| Tick {
        at: axis.at(size_value(bytes)),
        label: format::bytes(bytes),
    };
    let measured: Vec<Tick> = sizes.iter().copied().map(tick).collect();
    if measured.windows(2).all(|pair| pair[1].at - pair[0].at >= min_gap) {
        return measured;
    }
    let octave = axis.at(2.0) - axis.at(1.0);
    let step = (min_gap / octave).ceil().max(1.0) as usize;
    let first = sizes.first().map_or(0, |bytes| bytes.max(&1).ilog2());
    (first..63)
        .step_by(step)
        .map(|exponent| 1_u64 << exponent)
        .filter(|bytes| axis.shows(*bytes as f64))
        .map(tick)
        .collect()
}

/// Labels for times, as fine as `max` of them and `min_gap` pixels allow.
pub fn time_ticks(axis: &LogAxis, max: usize, min_gap: f64) -> Vec<Tick> {
    ticks(axis, max, min_gap, time_label)
}

/// Labels for factors, in the same way: `0.5`, `1`, `20`.
pub fn factor_ticks(axis: &LogAxis, max: usize, min_gap: f64) -> Vec<Tick> {
    // Steps of a power of ten are not exact.
    ticks(axis, max, min_gap, |factor| {
        let text = format!("{factor:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    })
}

/// Labels for values that `label` writes.
fn ticks(axis: &LogAxis, max: usize, min_gap: f64, label: impl Fn(f64) -> String) -> Vec<Tick> {
    const STEPS: [&[f64]; 5] = [
        &[
            1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0,
        ],
        &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
        &[1.0, 2.0, 5.0],
        &[1.0, 3.0],
        &[1.0],
    ];
    let mut coarsest = Vec::new();
    for steps in STEPS {
        let ticks: Vec<Tick> = (-10..5)
            .flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)))
            .filter(|value| axis.shows(*value))
            .map(|value| Tick {
                at: axis.at(value),
                label: label(value),
            })
            .collect();
        if ticks.len() <= max && ticks.windows(2).all(|pair| (pair[0].at - pair[1].at).abs() >= min_gap) {
            return ticks;
        }
        coarsest = ticks;
    }
    let step = coarsest.len().div_ceil(max.max(1));
    coarsest.into_iter().step_by(step.max(1)).collect()
}

/// A round time without trailing zeros: `1.5 µs`, `200 µs`, `1 ms`.
pub fn time_label(seconds: f64) -> String {
    let text = format::seconds(seconds);
    let Some((number, unit)) = text.split_once(' ') else {
        return text;
    };
    let number = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    };
    format!("{number} {}", unit.replace('u', "µ"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn an_axis_maps_ends_and_middle() {
        let axis = LogAxis::new((1.0, 1024.0), (0.0, 100.0), (0.0, 0.0));
        assert_eq!((axis.at(1.0), axis.at(32.0), axis.at(1024.0)), (0.0, 50.0, 100.0));
        let one = LogAxis::new((8.0, 8.0), (0.0, 100.0), (10.0, 10.0));
        assert!((one.at(8.0) - 50.0).abs() < 1e-9);
        let upwards = LogAxis::new((1e-6, 1e-3), (300.0, 0.0), (0.0, 0.0));
        assert!(upwards.at(1e-3).abs() < 1e-9 && upwards.at(1e-6) > 299.9);
    }

    #[test]
    fn sizes_are_labelled_where_there_is_room() {
        let axis = LogAxis::new((1.0, (1 << 20) as f64), (0.0, 420.0), (0.0, 0.0));
        assert_eq!(
            labels(&size_ticks(&axis, &[8, 1024, 32768, 262_144], 50.0)),
            ["8 B", "1 KiB", "32 KiB", "256 KiB"]
        );
        let all: Vec<u64> = (0..=20).map(|exponent| 1 << exponent).collect();
        assert_eq!(
            labels(&size_ticks(&axis, &all, 50.0)),
            ["1 B", "8 B", "64 B", "512 B", "4 KiB", "32 KiB", "256 KiB"]
        );
        let near = labels(&size_ticks(&axis, &[1000, 1024], 50.0)).join(" ");
        assert_eq!(near, "512 B 4 KiB 32 KiB 256 KiB");
    }

    #[test]
    fn times_are_labelled_as_finely_as_fits() {
        let wide = LogAxis::new((5e-7, 2e-3), (300.0, 0.0), (0.0, 0.0));
        assert_eq!(
            labels(&time_ticks(&wide, 8, 20.0)),
            ["1 µs", "3 µs", "10 µs", "30 µs", "100 µs", "300 µs", "1 ms"]
        );
        let narrow = LogAxis::new((1e-6, 2e-6), (300.0, 0.0), (0.0, 0.0));
        assert_eq!(
            labels(&time_ticks(&narrow, 8, 20.0)),
            ["1 µs", "1.2 µs", "1.4 µs", "1.6 µs", "1.8 µs", "2 µs"]
        );
        let huge = LogAxis::new((1e-9, 1e3), (300.0, 0.0), (0.0, 0.0));
        assert!(time_ticks(&huge, 5, 20.0).len() <= 5);
    }
}
