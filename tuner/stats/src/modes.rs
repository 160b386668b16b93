//! Modes of a machine: launches in which all calls take longer than in others, by a factor.
//!
//! Two ranks may share a core in one launch and not in the next, by the choice of a host that nobody asks; calls then take 1.5 to 2.5 times as long.
//! A launch's effect is the median, over everything timed in all launches, of the logarithm of a time over its median. Effects that fall into two
//! groups are two modes. Times of launches in different modes are not compared with each other: the more frequent mode decides.

use crate::sample::Sample;
use crate::two_modes::best_cut;

/// Modes lie apart by this factor at least; launches of one mode differ by less.
const GAP: f64 = 1.25;

/// Tells for each launch whether it belongs to the more frequent mode, the faster one of two that are as frequent. `times` has a row for each thing that
/// was timed, with its time in each launch, in one order; rows of another length are left out. Where fewer than four launches or two things were timed,
/// nothing is known, and all launches belong to it.
#[must_use]
pub fn frequent(times: &[Vec<f64>], launches: usize) -> Vec<bool> {
    let logs = |row: &Vec<f64>| {
        let logs: Vec<f64> = row.iter().map(|seconds| seconds.ln()).collect();
        Sample::new(logs).ok()
    };
    let whole: Vec<Sample> = times
        .iter()
        .filter(|row| row.len() == launches)
        .filter_map(logs)
        .collect();
    let effect = |launch: usize| {
        let from_centre = whole.iter().map(|row| row.values()[launch] - row.median());
        Some(Sample::new(from_centre.collect()).ok()?.median())
    };
    let effects: Option<Vec<f64>> = (0..launches).map(effect).collect();
    let cut = |effects: Vec<f64>| {
        let sample = Sample::new(effects).ok()?;
        let cut = best_cut(&sample).filter(|cut| cut.significant)?;
        let (fast, slow): (Vec<f64>, Vec<f64>) = sample.values().iter().partition(|effect| **effect < cut.at);
        let middle = |values: Vec<f64>| Sample::new(values).ok().map(|sample| sample.median());
        let is_fast_frequent = 2 * fast.len() >= launches;
        let apart = middle(slow)? - middle(fast)? > GAP.ln();
        apart.then(|| {
            sample
                .values()
                .iter()
                .map(|effect| (*effect < cut.at) == is_fast_frequent)
                .collect()
        })
    };
    let is_known = whole.len() >= 2;
    effects
        .filter(|_| is_known)
        .and_then(cut)
        .unwrap_or_else(|| vec![true; launches])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[&[f64]]) -> Vec<bool> {
        let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.to_vec()).collect();
        frequent(&rows, rows[0].len())
    }

    #[test]
    fn launches_of_the_rarer_mode_are_told_from_the_others() {
        let (a, b) = ([1.0, 2.0, 1.01, 1.0, 1.99, 1.02], [5.0, 9.9, 5.1, 5.0, 10.0, 5.0]);
        assert_eq!(of(&[&a, &b]), [true, false, true, true, false, true]);
    }

    #[test]
    fn the_slow_mode_decides_where_it_is_more_frequent_and_the_fast_one_of_two_as_frequent() {
        let (a, b) = ([2.0, 2.0, 2.01, 1.0, 1.99, 1.0], [9.0, 9.0, 9.1, 4.5, 9.0, 4.5]);
        assert_eq!(of(&[&a, &b]), [true, true, true, false, true, false]);
        let even = ([2.0, 2.0, 1.0, 1.0], [8.0, 8.0, 4.0, 4.0]);
        assert_eq!(of(&[&even.0, &even.1]), [false, false, true, true]);
    }

    #[test]
    fn noise_and_one_call_that_is_slow_are_no_mode() {
        let (a, b, c) = (
            [1.0, 1.1, 0.95, 1.2, 1.05],
            [5.0, 5.2, 5.1, 5.6, 4.9],
            [1.0, 9.0, 1.0, 9.0, 1.0],
        );
        assert_eq!(of(&[&a, &b, &c]), [true; 5]);
    }

    #[test]
    fn little_that_was_measured_says_nothing() {
        assert_eq!(of(&[&[1.0, 2.0, 1.0], &[1.0, 2.0, 1.0]]), [true; 3]);
        assert_eq!(of(&[&[1.0, 2.0, 1.0, 2.0]]), [true; 4]);
        assert_eq!(frequent(&[], 5), [true; 5]);
    }
}
