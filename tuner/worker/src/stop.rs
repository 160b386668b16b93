//! Decides if the repetitions of an item are enough: the running statistics behind [`StopRules`].
//!
//! All methods are updated repetition by repetition, so that asking costs no more than the window is long. Source of the three methods: Euro-Par
//! 2016, doi:10.1007/978-3-319-43659-3_32, section 4.2.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use kilter_protocol::plan::{StopRules, Window};

/// Running statistics of an item's times.
#[derive(Debug, Clone)]
pub(crate) struct Running {
    rules: StopRules,
    n: u64,
    mean: f64,
    /// Sum of squared deviations from the mean (Welford 1962, doi:10.1080/00401706.1962.10490022).
    squares: f64,
    means: VecDeque<f64>,
    halves: Halves,
    medians: VecDeque<f64>,
}

impl Running {
    /// Before the first repetition.
    pub(crate) fn new(rules: StopRules) -> Running {
        // Room for what a site may well ask; a longer window grows.
        let window = |rule: Option<Window>| VecDeque::with_capacity(rule.map_or(0, length).min(1 << 12));
        Running {
            rules,
            n: 0,
            mean: 0.0,
            squares: 0.0,
            means: window(rules.mean),
            halves: Halves::default(),
            medians: window(rules.median),
        }
    }

    /// Takes a time, in seconds; not negative.
    pub(crate) fn push(&mut self, seconds: f64) {
        self.n += 1;
        let deviation = seconds - self.mean;
        self.mean += deviation / self.n as f64;
        self.squares += deviation * (seconds - self.mean);
        if let Some(rule) = self.rules.mean {
            slide(&mut self.means, length(rule), self.mean);
        }
        if let Some(rule) = self.rules.median {
            self.halves.push(seconds);
            slide(&mut self.medians, length(rule), self.halves.median());
        }
    }

    /// True if all methods in use hold. Without any, only the largest number of repetitions ends an item.
    pub(crate) fn is_enough(&self) -> bool {
        let StopRules {
            relative_standard_error: error,
            mean,
            median,
        } = self.rules;
        !self.rules.is_empty()
            && error.is_none_or(|threshold| self.relative_standard_error() <= threshold)
            && mean.is_none_or(|rule| is_steady(&self.means, rule))
            && median.is_none_or(|rule| is_steady(&self.medians, rule))
    }

    /// Standard error of the mean over the mean; infinite below two repetitions, zero where all are equal.
    fn relative_standard_error(&self) -> f64 {
        let n = self.n as f64;
        if self.n < 2 {
            return f64::INFINITY;
        }
        over((self.squares / (n - 1.0) / n).sqrt(), self.mean)
    }
}

/// A window of one value has no variation.
fn length(rule: Window) -> usize {
    rule.size.max(2) as usize
}

fn slide(window: &mut VecDeque<f64>, length: usize, value: f64) {
    if window.len() == length {
        window.pop_front();
    }
    window.push_back(value);
}

fn is_steady(window: &VecDeque<f64>, rule: Window) -> bool {
    window.len() == length(rule) && coefficient_of_variation(window) <= rule.threshold
}

/// Sample standard deviation over mean.
fn coefficient_of_variation(values: &VecDeque<f64>) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    over((squares / (n - 1.0)).sqrt(), mean)
}

/// `spread / mean`, zero where nothing varies: also where every time is zero.
fn over(spread: f64, mean: f64) -> f64 {
    if spread == 0.0 { 0.0 } else { spread / mean }
}

/// The lower and the upper half of all times: the median lies between. The bits of floats that are not negative order as the
/// floats do.
#[derive(Debug, Clone, Default)]
struct Halves {
    lower: BinaryHeap<u64>,
    upper: BinaryHeap<Reverse<u64>>,
}

impl Halves {
    fn push(&mut self, seconds: f64) {
        // Through the lower half into the upper one, so that what is least there is least of all that are not below.
        self.lower.push(seconds.max(0.0).to_bits());
        self.upper.extend(self.lower.pop().map(Reverse));
        if self.upper.len() > self.lower.len() {
            self.lower.extend(self.upper.pop().map(|Reverse(bits)| bits));
        }
    }

    fn median(&self) -> f64 {
        let lower = self.lower.peek().copied().map_or(0.0, f64::from_bits);
        match self.upper.peek() {
            Some(Reverse(bits)) if self.upper.len() == self.lower.len() => (lower + f64::from_bits(*bits)) / 2.0,
            _ => lower,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many of these times the rules say enough.
    fn stop(rules: StopRules, times: impl IntoIterator<Item = f64>) -> Option<usize> {
        let mut running = Running::new(rules);
        times.into_iter().position(|seconds| {
            running.push(seconds);
            running.is_enough()
        })
    }

    fn window(threshold: f64, size: u32) -> Option<Window> {
        Some(Window { threshold, size })
    }

    fn one_three() -> impl Iterator<Item = f64> {
        [1.0, 3.0].into_iter().cycle().take(10_000)
    }

    #[test]
    fn the_standard_error_of_one_and_three_in_turn() {
        // n even: mean 2, s^2 = n/(n-1), error 1/(2 sqrt(n-1)) <= 0.1 from n = 26 on, the 26th being number 25. n odd, 25:
        // mean 1.92, squares 25 - 1/25 = 24.96, error sqrt(24.96/24/25)/1.92 = 0.106.
        let rules = StopRules {
            relative_standard_error: Some(0.1),
            ..StopRules::default()
        };
        assert_eq!(stop(rules, one_three()), Some(25));
    }

    #[test]
    fn the_running_means_of_one_three_and_twos() {
        // Means of 1, 3, 2, 2, ...: 1, 2, 2, 2, ... A window of three holds 1 until the fourth time.
        let rules = StopRules {
            mean: window(0.0, 3),
            ..StopRules::default()
        };
        let twos = [1.0, 3.0].into_iter().chain([2.0; 20]);
        assert_eq!(stop(rules, twos), Some(3));
        // Means 1, 2, 5/3, 2: the last two at n = 4 have mean 11/6 and deviation (1/3)/sqrt 2 = 0.2357: 0.1286. At n = 3
        // they have the same: 0.1286; at n = 2, mean 3/2 and deviation 1/sqrt 2: 0.4714.
        let rule = |threshold| StopRules {
            mean: window(threshold, 2),
            ..StopRules::default()
        };
        assert_eq!(stop(rule(0.1286), one_three()), Some(2));
        // n = 5: 2 and 9/5, deviation 0.2/sqrt 2 = 0.1414 over 1.9: 0.0744.
        assert_eq!(stop(rule(0.1285), one_three()), Some(4));
    }

    #[test]
    fn the_running_medians_of_a_growing_tail() {
        // 5, 1, 9, 1, 1, 1: medians 5, 3, 5, 3, 1, 1, 1: the last three equal from the seventh time on.
        let rules = StopRules {
            median: window(0.0, 3),
            ..StopRules::default()
        };
        assert_eq!(stop(rules, [5.0, 1.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0]), Some(6));
        // A window of four medians: 5, 3, 5, 3 has mean 4 and deviation sqrt(4/3) = 1.1547: 0.2887.
        let rule = |threshold| StopRules {
            median: window(threshold, 4),
            ..StopRules::default()
        };
        assert_eq!(stop(rule(0.2887), [5.0, 1.0, 9.0, 1.0, 1.0]), Some(3));
        assert_eq!(stop(rule(0.2886), [5.0, 1.0, 9.0, 1.0, 1.0]), None);
    }

    #[test]
    fn a_spike_moves_the_mean_and_not_the_median() {
        let times = || [1.0; 30].into_iter().chain([1000.0]).chain([1.0; 4]);
        let count = |rules| {
            let mut running = Running::new(rules);
            times().for_each(|seconds| running.push(seconds));
            running.is_enough()
        };
        assert!(count(StopRules {
            median: window(0.001, 10),
            ..StopRules::default()
        }));
        assert!(!count(StopRules {
            mean: window(0.001, 10),
            ..StopRules::default()
        }));
    }

    #[test]
    fn combined_methods_must_all_hold_and_none_never_does() {
        let all = StopRules {
            relative_standard_error: Some(0.1),
            mean: window(0.1, 5),
            median: window(0.5, 40),
        };
        // The error holds after 26, the means after a few; a window of 40 medians is full after 40.
        assert_eq!(stop(all, one_three()), Some(39));
        assert_eq!(stop(StopRules { median: None, ..all }, one_three()), Some(25));
        assert_eq!(stop(StopRules::default(), [1.0; 500]), None);
    }

    #[test]
    fn medians_are_those_of_the_sorted_times() {
        let mut halves = Halves::default();
        let mut sorted: Vec<f64> = Vec::new();
        for i in 0_u32..200 {
            let seconds = f64::from(i * 7919 % 101) / 7.0;
            halves.push(seconds);
            sorted.push(seconds);
            sorted.sort_by(f64::total_cmp);
            let n = sorted.len();
            let expected = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
            assert!((halves.median() - expected).abs() < 1e-12, "{i}");
        }
    }

    #[test]
    fn times_of_zero_are_steady() {
        let rules = StopRules {
            relative_standard_error: Some(0.0),
            mean: window(0.0, 2),
            median: window(0.0, 2),
        };
        assert_eq!(stop(rules, [0.0; 4]), Some(1));
    }
}
