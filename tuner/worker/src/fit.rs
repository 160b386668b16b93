//! Fits the line between two clocks to questions and answers.
//!
//! A question is asked at `a` and answered at `b` on the asker's clock, the answer says `t`: `t` was the time at some moment
//! between, so taking it for the middle is wrong by at most half the round trip (Cristian 1989, doi:10.1007/BF01784024). Noise
//! only ever makes round trips longer, so the shortest of some is the best. A line through the best ones of a while gives
//! offset and drift (Hunold and Carpen-Amarie 2015, doi:10.1145/2802658.2802662).

use crate::line::Line;

/// Points whose round trip is longer than so many times the shortest are left out.
const LONGEST_OVER_SHORTEST: u64 = 2;

/// Number of points that are kept in any case.
const FEWEST: usize = 4;

/// No crystal is so wrong: a steeper line is noise.
const STEEPEST: f64 = 1e-3;

/// One question and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    /// Middle of question and answer on the asker's clock, in nanoseconds.
    pub(crate) own_ns: i64,
    /// The answer, in nanoseconds of the other clock.
    pub(crate) theirs_ns: i64,
    /// Time from question to answer, in nanoseconds.
    pub(crate) round_trip_ns: u64,
}

impl Point {
    /// Makes a point of the times of question and answer.
    pub(crate) fn new(asked_ns: u64, theirs_ns: u64, answered_ns: u64) -> Point {
        let round_trip_ns = answered_ns.saturating_sub(asked_ns);
        Point {
            own_ns: (asked_ns + round_trip_ns / 2).cast_signed(),
            theirs_ns: theirs_ns.cast_signed(),
            round_trip_ns,
        }
    }

    /// The other clock minus the asker's, in nanoseconds.
    pub(crate) fn offset_ns(&self) -> i64 {
        self.theirs_ns.wrapping_sub(self.own_ns)
    }
}

/// Knowledge about another clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fit {
    /// Line from the asker's clock to the other.
    pub(crate) line: Line,
    /// Half the longest round trip that it rests on, in nanoseconds.
    pub(crate) bound_ns: u64,
    /// First and last point that it rests on, on the asker's clock.
    pub(crate) span_ns: (i64, i64),
}

impl Fit {
    /// The line of least squares through the points with short round trips; `None` without points.
    pub(crate) fn new(points: &[Point]) -> Option<Fit> {
        let mut round_trips: Vec<u64> = points.iter().map(|point| point.round_trip_ns).collect();
        round_trips.sort_unstable();
        let shortest = *round_trips.first()?;
        let limit = shortest
            .saturating_mul(LONGEST_OVER_SHORTEST)
            .max(round_trips[round_trips.len().min(FEWEST) - 1]);
        let kept: Vec<&Point> = points.iter().filter(|point| point.round_trip_ns <= limit).collect();
        let first = kept.first()?;
        let n = kept.len() as f64;
        // Relative to the first point: small numbers, which a float holds exactly.
        let x = |point: &Point| (point.own_ns - first.own_ns) as f64;
        let y = |point: &Point| point.offset_ns().wrapping_sub(first.offset_ns()) as f64;
        let mean_x = kept.iter().map(|point| x(point)).sum::<f64>() / n;
        let mean_y = kept.iter().map(|point| y(point)).sum::<f64>() / n;
        let (mut xx, mut xy) = (0.0, 0.0);
        for point in &kept {
            xx += (x(point) - mean_x).powi(2);
            xy += (x(point) - mean_x) * (y(point) - mean_y);
        }
        let slope = if kept.len() >= FEWEST && xx > 0.0 { xy / xx } else { 0.0 };
        let from_ns = first.own_ns + mean_x.round() as i64;
        Some(Fit {
            line: Line {
                from_ns,
                to_ns: from_ns + first.offset_ns() + mean_y.round() as i64,
                skew: slope.clamp(-STEEPEST, STEEPEST),
            },
            bound_ns: kept.iter().map(|point| point.round_trip_ns).max()?.div_ceil(2),
            span_ns: (
                kept.iter().map(|point| point.own_ns).min()?,
                kept.iter().map(|point| point.own_ns).max()?,
            ),
        })
    }

    /// True if the errors of a new point and of the fit cannot explain their difference. The fit is asked no further
    /// ahead than it is long, where a line through points that are off by `bound_ns` is off by up to three times that.
    pub(crate) fn is_contradicted_by(&self, point: &Point) -> bool {
        let error_ns = self.line.apply(point.own_ns).abs_diff(point.theirs_ns);
        error_ns > point.round_trip_ns.div_ceil(2) + 3 * self.bound_ns
    }

    /// Time from `own_ns` on for which the fit may be used, in nanoseconds: no further ahead than it is long.
    pub(crate) fn reach_ns(&self, own_ns: i64) -> u64 {
        let (first, last) = self.span_ns;
        u64::try_from((last - first) - (own_ns - last)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The other clock: 3 s ahead, 50 ppm fast.
    const TRUTH: Line = Line {
        from_ns: 0,
        to_ns: 3_000_000_000,
        skew: 50e-6,
    };

    /// Asked at `t`; the question travels `there`, the answer `back`.
    fn exchange(t: i64, there: i64, back: i64) -> Point {
        Point::new(
            t.cast_unsigned(),
            TRUTH.apply(t + there).cast_unsigned(),
            (t + there + back).cast_unsigned(),
        )
    }

    const START: i64 = 1_000_000_000_000;

    fn error_ns(fit: &Fit, t: i64) -> i64 {
        fit.line.apply(t) - TRUTH.apply(t)
    }

    #[test]
    fn undisturbed_exchanges_give_offset_and_drift() {
        let points: Vec<Point> = (0..25).map(|i| exchange(START + i * 5_000_000, 500, 500)).collect();
        let fit = Fit::new(&points).unwrap();
        assert!((fit.line.skew - 50e-6).abs() < 1e-8, "{fit:?}");
        assert_eq!(fit.bound_ns, 500);
        // Also as far ahead as it is long.
        for t in [START, START + 120_000_000, START + 240_000_000] {
            assert!(error_ns(&fit, t).abs() <= 3, "{}", error_ns(&fit, t));
        }
    }

    #[test]
    fn noise_on_one_way_is_left_out() {
        // Two in three answers are late by 20 to 400 us, always on the way back: their middle is wrong by half of it.
        let points: Vec<Point> = (0..30)
            .map(|i| {
                exchange(
                    START + i * 5_000_000,
                    500,
                    if i % 3 == 0 { 550 } else { 20_000 + i * 13_000 },
                )
            })
            .collect();
        let fit = Fit::new(&points).unwrap();
        assert!(fit.bound_ns < 600, "{fit:?}");
        assert!(error_ns(&fit, START + 150_000_000).abs() < 100, "{fit:?}");
        assert!((fit.line.skew - 50e-6).abs() < 1e-6, "{fit:?}");
    }

    #[test]
    fn what_is_asymmetric_all_the_time_is_within_the_bound() {
        let points: Vec<Point> = (0..30).map(|i| exchange(START + i * 5_000_000, 200, 1_800)).collect();
        let fit = Fit::new(&points).unwrap();
        let error = error_ns(&fit, START).unsigned_abs();
        assert!(error > 700 && error <= fit.bound_ns, "{error} {fit:?}");
        assert!((fit.line.skew - 50e-6).abs() < 1e-8);
    }

    #[test]
    fn few_points_give_an_offset_without_drift() {
        let fit = Fit::new(&[exchange(START, 400, 600), exchange(START + 1_000, 5_000, 5_000)]).unwrap();
        assert_eq!(fit.line.skew, 0.0);
        assert!(error_ns(&fit, START).unsigned_abs() <= fit.bound_ns, "{fit:?}");
        assert_eq!(Fit::new(&[]), None);
    }

    #[test]
    fn a_clock_that_was_set_or_changes_its_pace_contradicts_the_fit() {
        let points: Vec<Point> = (0..25).map(|i| exchange(START + i * 5_000_000, 500, 500)).collect();
        let fit = Fit::new(&points).unwrap();
        let later = exchange(START + 200_000_000, 500, 500);
        assert!(!fit.is_contradicted_by(&later));
        let set = Point {
            theirs_ns: later.theirs_ns + 3_000,
            ..later
        };
        assert!(fit.is_contradicted_by(&set));
        // A slow answer says less: it contradicts nothing that its round trip explains.
        assert!(!fit.is_contradicted_by(&Point {
            round_trip_ns: 8_000,
            ..set
        }));
    }

    #[test]
    fn it_reaches_as_far_ahead_as_it_is_long() {
        let points: Vec<Point> = (0..11).map(|i| exchange(START + i * 10_000_000, 500, 500)).collect();
        let fit = Fit::new(&points).unwrap();
        assert_eq!(fit.reach_ns(fit.span_ns.1), 100_000_000);
        assert_eq!(fit.reach_ns(fit.span_ns.1 + 60_000_000), 40_000_000);
        assert_eq!(fit.reach_ns(fit.span_ns.1 + 600_000_000), 0);
    }
}
