//! The choice among predicted times: the implementation with the least expected regret.

use statrs::function::erf::erf;

use crate::models::Guess;

/// A ranking, before anything is proven.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decision {
    /// Indices of the implementations that are worth a change, the best first; empty if the default stays.
    pub(crate) worthwhile: Vec<usize>,
    /// All implementations, the fastest first, with the expected regret of each.
    pub(crate) ranked: Vec<(Guess, f64)>,
}

impl Decision {
    /// Expected regret of an implementation, as a share of the optimum's time; `None` if nothing is predicted of it.
    pub(crate) fn regret(&self, implementation: usize) -> Option<f64> {
        let found = self
            .ranked
            .iter()
            .find(|(guess, _)| guess.implementation == implementation);
        found.map(|(_, regret)| *regret)
    }

    /// The best implementation, if no proof is asked for; the default if none is worth a change.
    pub(crate) fn choice(&self, default: usize) -> usize {
        self.worthwhile.first().copied().unwrap_or(default)
    }
}

/// Ranks implementations by the time that each does not exceed with five chances of six: of many, the one that seems fastest is often one whose
/// error is large. One that is slower than the first by more than `floor` is not worthwhile: the library may have switched to the
/// first one's algorithm on this layout, and no measured time of the default shows that.
///
/// The default stays if it is predicted to be slower by less than half of `floor`: an error of the other half then still leaves it within the floor,
/// and nothing is deployed for a difference that is none.
pub(crate) fn decide(guesses: &[Guess], default: usize, floor: f64) -> Decision {
    let mut sorted = guesses.to_vec();
    let ties = |a: &Guess, b: &Guess| a.implementation.cmp(&b.implementation);
    let careful = |guess: &Guess| guess.log + guess.deviation;
    sorted.sort_by(|a, b| careful(a).total_cmp(&careful(b)).then(ties(a, b)));
    let own = sorted.iter().position(|guess| guess.implementation == default);
    let worth = own.map(|own| sorted[own].log - (1.0 + floor / 2.0).ln());
    let before = sorted[..own.unwrap_or(sorted.len())].iter();
    let worthwhile = before.filter(|guess| worth.is_none_or(|worth| guess.log <= worth));
    let worthwhile: Vec<&Guess> = worthwhile.collect();
    let most = worthwhile.first().map(|first| first.log + floor.ln_1p());
    let near = worthwhile
        .iter()
        .filter(|guess| most.is_some_and(|most| guess.log <= most));
    let worthwhile = near.map(|guess| guess.implementation).collect();
    sorted.sort_by(|a, b| a.log.total_cmp(&b.log).then(ties(a, b)));
    Decision {
        worthwhile,
        ranked: sorted.iter().map(|guess| (*guess, regret(*guess, guesses))).collect(),
    }
}

/// Expected regret of one among several, as a share: the largest that it has against any single one.
fn regret(own: Guess, all: &[Guess]) -> f64 {
    let against = all.iter().filter(|other| other.implementation != own.implementation);
    let largest = against.map(|other| expected_loss(own, *other)).fold(0.0, f64::max);
    largest.exp_m1()
}

/// Expectation of what one logarithm exceeds another one by, or 0, both normal and independent.
fn expected_loss(own: Guess, other: Guess) -> f64 {
    let (apart, spread) = (own.log - other.log, own.deviation.hypot(other.deviation));
    if spread <= 0.0 {
        return apart.max(0.0);
    }
    let ratio = apart / spread;
    let density = (-0.5 * ratio.powi(2)).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let below = 0.5 * (1.0 + erf(ratio / std::f64::consts::SQRT_2));
    (spread * density + apart * below).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(implementation: usize, microseconds: f64, deviation: f64) -> Guess {
        Guess {
            implementation,
            log: (microseconds * 1e-6).ln(),
            deviation,
        }
    }

    #[test]
    fn the_fastest_is_chosen_and_certain_where_times_are_exact() {
        let decision = decide(
            &[guess(0, 20.0, 0.0), guess(1, 10.0, 0.0), guess(2, 12.0, 0.0)],
            0,
            0.05,
        );
        assert_eq!((decision.choice(0), &decision.worthwhile[..]), (1, &[1][..]));
        assert_eq!(decision.regret(1), Some(0.0));
        assert!((decision.regret(0).unwrap() - 1.0).abs() < 1e-9 && (decision.regret(2).unwrap() - 0.2).abs() < 1e-9);
        assert_eq!(decision.regret(3), None);
        let order: Vec<usize> = decision.ranked.iter().map(|(guess, _)| guess.implementation).collect();
        assert_eq!(order, [1, 2, 0]);
    }

    #[test]
    fn the_default_stays_for_half_of_the_floor() {
        let choice = |default: f64| decide(&[guess(0, default, 0.01), guess(1, 10.0, 0.01)], 0, 0.05).choice(0);
        assert_eq!(choice(10.2), 0);
        assert_eq!(choice(10.3), 1);
    }

    #[test]
    fn uncertainty_costs() {
        let certain = decide(&[guess(1, 10.0, 0.01), guess(2, 11.0, 0.01)], 0, 0.05);
        let vague = decide(&[guess(1, 10.0, 0.5), guess(2, 11.0, 0.5)], 0, 0.05);
        let lost = |decision: &Decision| decision.regret(decision.choice(0)).unwrap();
        assert!(
            lost(&certain) < 0.001 && lost(&vague) > 0.1,
            "{} {}",
            lost(&certain),
            lost(&vague)
        );
        // The one that is surely fast comes before one that may be faster.
        let mixed = decide(
            &[guess(0, 20.0, 0.01), guess(1, 10.0, 0.3), guess(2, 11.0, 0.01)],
            0,
            0.05,
        );
        assert_eq!(mixed.worthwhile, [2, 1]);
    }

    #[test]
    fn what_stands_in_for_the_best_loses_no_more_than_the_floor_against_it() {
        let stand_ins = |other: f64| {
            let guesses = [guess(0, 20.0, 0.01), guess(1, 10.0, 0.01), guess(2, other, 0.01)];
            decide(&guesses, 0, 0.05).worthwhile
        };
        assert_eq!(stand_ins(10.4), [1, 2]);
        assert_eq!(stand_ins(10.6), [1]);
    }

    #[test]
    fn nothing_is_worthwhile_of_nothing() {
        assert!(decide(&[], 0, 0.05).worthwhile.is_empty());
    }
}
