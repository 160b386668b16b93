//! Conditions that are hard on verdicts: sides that vary differently, heavy tails, and launches that are not independent.

use kilter_model::plan::derived_seed;
use kilter_stats::sample::Sample;
use kilter_stats::verdict::Pair;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

/// Standard deviation of the logarithm of a side's launch medians, where nothing else is said.
const SPREAD: f64 = 0.05;

/// Slow over fast launches of a machine with two modes, as measured for `MPI_Gather`.
const SLOW_MODE: f64 = 15.6 / 8.7;

/// Probability that the next launch is in the mode of the one before.
const STICKY: f64 = 0.9;

/// Conditions of launches. Adding one takes a variant, its name, and a line in [`Script`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Both sides vary by 5 %, independently.
    Steady,
    /// The left side varies by 15 %, the right one by 2 %.
    LeftVaries,
    /// The other way round.
    RightVaries,
    /// A heavy tail on top of 5 %: 5 % times the excess over 1 of a Pareto variable of exponent 1.5, whose variance is
    /// infinite.
    Pareto,
    /// The machine is in one of two modes and stays in it for ten launches in the mean; both sides share it.
    StickyModes,
    /// Each side's launches are autocorrelated by 0.3.
    Autocorrelated,
    /// Each side's launches are autocorrelated by 0.6.
    StronglyAutocorrelated,
    /// Four launches in a row share a side's luck, of 5 %; a launch by itself varies by 1 %.
    GroupsOfFour,
    /// A noisy day as measured: the logarithm varies by 0.45 for both sides together, and by 0.2 for each side alone.
    NoisyDay,
}

impl Condition {
    /// Every condition.
    pub const ALL: [Condition; 9] = [
        Condition::Steady,
        Condition::LeftVaries,
        Condition::RightVaries,
        Condition::Pareto,
        Condition::StickyModes,
        Condition::Autocorrelated,
        Condition::StronglyAutocorrelated,
        Condition::GroupsOfFour,
        Condition::NoisyDay,
    ];

    /// Name in a table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Condition::Steady => "both sides by 5 %",
            Condition::LeftVaries => "left by 15 %, right by 2 %",
            Condition::RightVaries => "left by 2 %, right by 15 %",
            Condition::Pareto => "Pareto(1.5) spikes",
            Condition::StickyModes => "sticky modes",
            Condition::Autocorrelated => "sides autocorrelated by 0.3",
            Condition::StronglyAutocorrelated => "sides autocorrelated by 0.6",
            Condition::GroupsOfFour => "four launches share a side's luck",
            Condition::NoisyDay => "noisy day: common 45 %, sides 20 %",
        }
    }

    /// True if each launch is evidence of its own.
    #[must_use]
    pub fn is_independent(self) -> bool {
        !matches!(
            self,
            Condition::Autocorrelated | Condition::StronglyAutocorrelated | Condition::GroupsOfFour
        )
    }

    /// Standard deviations of the logarithm, left and right.
    fn spreads(self) -> [f64; 2] {
        match self {
            Condition::LeftVaries => [0.15, 0.02],
            Condition::RightVaries => [0.02, 0.15],
            Condition::NoisyDay => [0.2, 0.2],
            _ => [SPREAD, SPREAD],
        }
    }
}

/// The launches of a run: what all cells share, and the random numbers of the rest.
#[derive(Debug)]
pub struct Script {
    random: Xoshiro256PlusPlus,
    condition: Condition,
    common: Vec<f64>,
}

impl Script {
    /// A run of so many launches; `name` and `seed` fix everything that is drawn.
    #[must_use]
    pub fn new(seed: u64, name: &str, condition: Condition, launches: usize) -> Script {
        let mut script = Script {
            random: Xoshiro256PlusPlus::seed_from_u64(derived_seed(seed, name)),
            condition,
            common: vec![1.0; launches],
        };
        let mut slow = script.uniform() < 0.5;
        for launch in 0..launches {
            script.common[launch] = match condition {
                Condition::NoisyDay => (0.45 * script.normal()).exp(),
                Condition::StickyModes => {
                    slow ^= script.uniform() >= STICKY;
                    if slow { SLOW_MODE } else { 1.0 }
                }
                _ => 1.0,
            };
        }
        script
    }

    /// A pair whose left side takes `ratio` times as long, in all launches.
    pub fn pair(&mut self, ratio: f64) -> Pair {
        let right = 1e-6 * 10_f64.powf(3.0 * self.uniform());
        let [left_spread, right_spread] = self.condition.spreads();
        Pair {
            left: self.side(ratio * right, left_spread),
            right: self.side(right, right_spread),
        }
    }

    fn side(&mut self, center: f64, spread: f64) -> Sample {
        let correlation: f64 = match self.condition {
            Condition::Autocorrelated => 0.3,
            Condition::StronglyAutocorrelated => 0.6,
            _ => 0.0,
        };
        let mut state = self.normal();
        let values = (0..self.common.len())
            .map(|launch| {
                let drawn = self.normal();
                let own = match self.condition {
                    Condition::GroupsOfFour => {
                        if launch % 4 == 0 {
                            state = self.normal();
                        }
                        (spread * state + 0.01 * drawn).exp()
                    }
                    Condition::Pareto => {
                        let tail = (1.0 - self.uniform()).powf(-1.0 / 1.5) - 1.0;
                        (spread * drawn).exp() + 0.05 * tail
                    }
                    _ => {
                        state = correlation * state + (1.0 - correlation * correlation).sqrt() * drawn;
                        (spread * state).exp()
                    }
                };
                center * self.common[launch] * own
            })
            .collect();
        // Scripted times are finite, and every run has launches.
        Sample::new(values).unwrap_or_else(|error| unreachable!("scripted times: {error}"))
    }

    /// Uniform in [0, 1).
    fn uniform(&mut self) -> f64 {
        self.random.random()
    }

    /// Standard normal, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Log ratios of many pairs of equal sides, centred, and logarithms of left sides.
    fn drawn(condition: Condition) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
        let mut script = Script::new(1, "drawn", condition, 40);
        let pairs: Vec<Pair> = (0..400).map(|_| script.pair(1.0)).collect();
        let ratios = |pair: &Pair| {
            let both = pair.left.values().iter().zip(pair.right.values());
            both.map(|(left, right)| (left / right).ln()).collect()
        };
        let lefts = |pair: &Pair| {
            let (values, center) = (pair.left.values(), pair.left.median());
            values.iter().map(|value| (value / center).ln()).collect()
        };
        (pairs.iter().map(ratios).collect(), pairs.iter().map(lefts).collect())
    }

    fn deviation(rows: &[Vec<f64>]) -> f64 {
        let all = rows.concat();
        (all.iter().map(|value| value * value).sum::<f64>() / all.len() as f64).sqrt()
    }

    fn lag(rows: &[Vec<f64>], lag: usize) -> f64 {
        let products: f64 = rows
            .iter()
            .flat_map(|row| row.iter().zip(&row[lag..]))
            .map(|(a, b)| a * b)
            .sum();
        let count = rows.iter().map(|row| row.len() - lag).sum::<usize>() as f64;
        products / count / deviation(rows).powi(2)
    }

    #[test]
    fn conditions_are_what_they_say() {
        for (condition, expected, lag_one) in [
            (Condition::Steady, 0.0707, 0.0),
            (Condition::LeftVaries, 0.151, 0.0),
            (Condition::RightVaries, 0.151, 0.0),
            (Condition::Autocorrelated, 0.0707, 0.3),
            (Condition::StronglyAutocorrelated, 0.0707, 0.6),
            (Condition::GroupsOfFour, 0.0721, 0.72),
            (Condition::StickyModes, 0.0707, 0.0),
            (Condition::NoisyDay, 0.283, 0.0),
        ] {
            let (ratios, _) = drawn(condition);
            approx::assert_relative_eq!(deviation(&ratios), expected, max_relative = 0.05);
            assert!(
                (lag(&ratios, 1) - lag_one).abs() < 0.03,
                "{condition:?}: {}",
                lag(&ratios, 1)
            );
        }
        let (ratios, _) = drawn(Condition::Pareto);
        let most = ratios.concat().into_iter().fold(0.0, f64::max);
        assert!(most > 0.8, "a tail: {most}");
    }

    #[test]
    fn a_day_is_noisy_and_modes_are_sticky_for_both_sides() {
        let (_, lefts) = drawn(Condition::NoisyDay);
        let spread = deviation(&lefts);
        assert!((0.4..0.65).contains(&spread), "{spread}");
        let mut script = Script::new(2, "sticky", Condition::StickyModes, 4000);
        let pair = script.pair(1.0);
        let slow = |seconds: &f64| *seconds > 1.3 * pair.left.min();
        let changes = pair
            .left
            .values()
            .windows(2)
            .filter(|two| slow(&two[0]) != slow(&two[1]))
            .count();
        assert!((300..500).contains(&changes), "{changes}");
    }

    #[test]
    fn a_name_and_a_seed_fix_everything() {
        for condition in Condition::ALL {
            let draw = |seed, name| Script::new(seed, name, condition, 10).pair(1.0);
            assert_eq!(draw(1, "a"), draw(1, "a"));
            assert_ne!(draw(1, "a"), draw(2, "a"));
            assert_ne!(draw(1, "a"), draw(1, "b"));
        }
    }
}
