//! Noise on scripted times: the differences between two measurements of the same thing.

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use kilter_model::plan::derived_seed;

/// Noise on scripted times. Spreads are standard deviations of the logarithm: 0.02 is about 2 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// The same seed gives the same times.
    pub seed: u64,
    /// Spread between launches that all measurements of a launch share.
    pub launch: f64,
    /// Spread between launches of each item by itself.
    pub item: f64,
    /// Spread between repetitions.
    pub repetition: f64,
    /// Share of launches that are slow in all that they measure, and their slowdown.
    pub slow_launches: (f64, f64),
    /// Share of a launch's items that are slow in it, and their slowdown.
    pub slow_items: (f64, f64),
    /// Relative growth of all times per second.
    pub drift_per_second: f64,
    /// Length of a disturbance in seconds, share of the time that is disturbed, and spread of the factors that each item has in it: launches
    /// that follow each other depend on each other.
    pub disturbances: (f64, f64, f64),
}

impl Default for Noise {
    /// A quiet machine.
    fn default() -> Noise {
        Noise {
            seed: 1,
            launch: 0.01,
            item: 0.005,
            repetition: 0.02,
            slow_launches: (0.0, 1.0),
            slow_items: (0.0, 1.0),
            drift_per_second: 0.0,
            disturbances: (1.0, 0.0, 0.0),
        }
    }
}

impl Noise {
    /// No noise: the same times in every launch.
    #[must_use]
    pub fn none() -> Noise {
        Noise {
            launch: 0.0,
            item: 0.0,
            repetition: 0.0,
            ..Noise::default()
        }
    }

    /// Factor of all times of an item in this launch.
    pub(super) fn of_item(&self, launch: &str, item: &str) -> f64 {
        let mut common = self.source(launch);
        let mut own = self.source(&format!("{launch}\n{item}"));
        let slow = |source: &mut Source, (share, factor): (f64, f64)| if source.share() < share { factor } else { 1.0 };
        let launch = common.factor(self.launch) * slow(&mut common, self.slow_launches);
        launch * own.factor(self.item) * slow(&mut own, self.slow_items)
    }

    /// Factor of an item's times so many seconds after the scenario began: that of the disturbance, if there is one.
    pub(super) fn of_disturbance(&self, item: &str, elapsed_seconds: f64) -> f64 {
        let (seconds, share, spread) = self.disturbances;
        let name = format!("stretch {}", (elapsed_seconds / seconds) as u64);
        if self.source(&name).share() >= share {
            return 1.0;
        }
        self.source(&format!("{name}\n{item}")).factor(spread)
    }

    /// Factors of repetitions, one after the other.
    pub(super) fn of_repetitions(&self, launch: &str, block: &str) -> impl FnMut() -> f64 + use<> {
        let mut source = self.source(&format!("{launch}\n{block}\nrepetitions"));
        let spread = self.repetition;
        move || source.factor(spread)
    }

    fn source(&self, name: &str) -> Source {
        Source(Xoshiro256PlusPlus::seed_from_u64(derived_seed(self.seed, name)))
    }
}

struct Source(Xoshiro256PlusPlus);

impl Source {
    /// Uniform from 0 to 1, without 0.
    fn share(&mut self) -> f64 {
        1.0 - self.0.random::<f64>()
    }

    /// Log-normal around 1 (Box and Muller).
    fn factor(&mut self, spread: f64) -> f64 {
        let (radius, angle) = (self.share(), self.share());
        (spread * (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_noise_and_another_launch_another() {
        let noise = Noise::default();
        assert_eq!(noise.of_item("a", "x"), noise.of_item("a", "x"));
        assert_ne!(noise.of_item("a", "x"), noise.of_item("b", "x"));
        assert_eq!(Noise::none().of_item("a", "x"), 1.0);
    }

    #[test]
    fn spreads_are_what_was_asked_for() {
        let noise = Noise {
            repetition: 0.1,
            ..Noise::none()
        };
        let mut next = noise.of_repetitions("a", "b");
        let logs: Vec<f64> = (0..2000).map(|_| next().ln()).collect();
        let mean = logs.iter().sum::<f64>() / 2000.0;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 1999.0;
        assert!(
            mean.abs() < 0.01 && (variance.sqrt() - 0.1).abs() < 0.01,
            "{mean} {variance}"
        );
    }

    #[test]
    fn a_share_of_launches_is_slow_in_all_items() {
        let noise = Noise {
            slow_launches: (0.25, 2.0),
            ..Noise::none()
        };
        let is_slow = |launch: &usize| noise.of_item(&launch.to_string(), "x") == 2.0;
        let slow: Vec<usize> = (0..400).filter(is_slow).collect();
        assert!((60..140).contains(&slow.len()), "{}", slow.len());
        assert!(slow.iter().all(|launch| noise.of_item(&launch.to_string(), "y") == 2.0));
    }
}
