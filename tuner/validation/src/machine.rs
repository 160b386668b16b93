//! Launch medians as machines give them, scripted.

use kilter_model::plan::derived_seed;
use kilter_stats::sample::Sample;
use kilter_stats::verdict::Pair;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

/// Disturbance of the times. In addition every launch varies log-normally.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Noise {
    /// No further disturbance.
    Plain,
    /// A clock that steps by 5 % of the time: most values are tied.
    Ties,
    /// One launch in fifty takes twenty times as long.
    Spikes,
    /// Two modes, 8.7 and 15.6 us as measured for `MPI_Gather`; each launch, with both sides, is in either.
    Bimodal,
    /// Half as slow again at the end of the run as at its beginning, both sides.
    Drift,
    /// The common factor of launches varies by 0.45 in the logarithm, as measured on a noisy day.
    NoisyDay,
}

impl Noise {
    /// Those that single tests and whole runs are judged under.
    pub const ALL: [Noise; 5] = [Noise::Plain, Noise::Ties, Noise::Spikes, Noise::Bimodal, Noise::Drift];

    /// Name in a table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Noise::Plain => "plain",
            Noise::Ties => "ties",
            Noise::Spikes => "2 % spikes",
            Noise::Bimodal => "bimodal",
            Noise::Drift => "drift",
            Noise::NoisyDay => "noisy day",
        }
    }
}

/// Slow over fast launches of a bimodal machine.
const SLOW_MODE: f64 = 15.6 / 8.7;

/// The scripted machine of a run. All measurements of the run share its launches.
#[derive(Debug)]
pub struct Machine {
    random: Xoshiro256PlusPlus,
    noise: Noise,
    spread: f64,
    /// Logarithms of what each launch has in common, beside the noise.
    common: Vec<f64>,
    /// Factor of each launch.
    launches: Vec<f64>,
}

impl Machine {
    /// A machine for runs of up to `launches` launches whose medians vary by `spread` (standard deviation of the
    /// logarithm); `name` and `seed` fix everything that it will draw.
    #[must_use]
    pub fn new(seed: u64, name: &str, noise: Noise, spread: f64, launches: usize) -> Machine {
        let mut machine = Machine {
            random: Xoshiro256PlusPlus::seed_from_u64(derived_seed(seed, name)),
            noise,
            spread,
            common: vec![0.0; launches],
            launches: Vec::new(),
        };
        machine.launches = (0..launches)
            .map(|launch| match noise {
                Noise::Bimodal if machine.random.random::<bool>() => SLOW_MODE,
                Noise::Drift => 1.0 + 0.5 * launch as f64 / launches as f64,
                Noise::NoisyDay => (0.45 * machine.normal()).exp(),
                _ => 1.0,
            })
            .collect();
        machine
    }

    /// The same, with launches that differ as wholes: what all sides of a launch share varies by `common` (standard deviation of
    /// the logarithm).
    #[must_use]
    pub fn with_common(mut self, common: f64) -> Machine {
        // A factor that does not vary draws no random numbers, so that the times of other runs stay the same.
        if common > 0.0 {
            self.common = (0..self.launches.len()).map(|_| common * self.normal()).collect();
        }
        self
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.random.random()
    }

    /// Standard normal, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// The medians of `count` launches, spread evenly over those of the run, of an operation of `center` seconds.
    pub fn medians(&mut self, center: f64, count: usize) -> Vec<f64> {
        let run = self.launches.len();
        (0..count)
            .map(|index| {
                let launch = index * run / count;
                let launch = self.launches[launch] * self.common[launch].exp();
                let steady = (self.spread * self.normal()).exp();
                let spike = self.noise == Noise::Spikes && self.uniform() < 0.02;
                let value = center * launch * steady * if spike { 20.0 } else { 1.0 };
                if self.noise == Noise::Ties {
                    // The step belongs to the clock: it is the same for times within a factor of two.
                    let step = 0.05 * 2_f64.powf(center.log2().floor());
                    (value / step).round() * step
                } else {
                    value
                }
            })
            .collect()
    }

    /// The same as a sample.
    pub fn sample(&mut self, center: f64, count: usize) -> Sample {
        let values = self.medians(center, count);
        // Log-normal values are finite, and every count here is at least one.
        Sample::new(values).unwrap_or_else(|error| unreachable!("scripted times: {error}"))
    }

    /// A pair whose left side takes `ratio` times as long, both around a microsecond to a millisecond.
    pub fn pair(&mut self, ratio: f64, launches: usize) -> Pair {
        let right = 1e-6 * 10_f64.powf(3.0 * self.uniform());
        Pair {
            left: self.sample(ratio * right, launches),
            right: self.sample(right, launches),
        }
    }

    /// A pair of equal sides that spread differently.
    pub fn unequal_pair(&mut self, (left, right): (f64, f64), launches: usize) -> Pair {
        self.set_spread(left);
        let left = self.sample(1e-6, launches);
        self.set_spread(right);
        Pair {
            left,
            right: self.sample(1e-6, launches),
        }
    }

    /// Sets the spread, for cells that vary differently.
    pub fn set_spread(&mut self, spread: f64) {
        self.spread = spread;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_seed_fix_everything() {
        for noise in Noise::ALL {
            let draw = |seed, name| Machine::new(seed, name, noise, 0.05, 10).medians(1.0, 10);
            assert_eq!(draw(1, "a"), draw(1, "a"));
            assert_ne!(draw(1, "a"), draw(2, "a"));
            assert_ne!(draw(1, "a"), draw(1, "b"));
        }
    }

    #[test]
    fn both_sides_share_their_launches() {
        let mut machine = Machine::new(1, "modes", Noise::Bimodal, 0.01, 40);
        let (long, short) = (machine.medians(1.0, 40), machine.medians(1.0, 20));
        for (index, value) in short.iter().enumerate() {
            assert!((value / long[2 * index] - 1.0).abs() < 0.1);
        }
        let ties = Machine::new(1, "ties", Noise::Ties, 0.05, 10).medians(1.0, 10);
        assert!(
            ties.iter()
                .all(|value| (value * 20.0 - (value * 20.0).round()).abs() < 1e-9)
        );
    }
}
