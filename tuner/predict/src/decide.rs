//! The choice among predicted times: the implementation with the least expected regret.

use statrs::function::erf::erf;

use crate::models::Guess;

/// A choice.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decision {
    /// Index of the implementation.
    pub(crate) choice: usize,
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
}

/// Chooses. The default stays if it is predicted to be slower by less than half of `floor`: an error of the other half then still leaves it within the
/// floor, and nothing is deployed for a difference that is none.
pub(crate) fn decide(guesses: Vec<Guess>, default: Option<usize>, floor: f64) -> Option<Decision> {
    let mut ranked: Vec<(Guess, f64)> = guesses.iter().map(|guess| (*guess, regret(*guess, &guesses))).collect();
    ranked.sort_by(|(a, _), (b, _)| a.log.total_cmp(&b.log).then(a.implementation.cmp(&b.implementation)));
    let (best, _) = ranked
        .iter()
        .min_by(|(a, lost), (b, other)| lost.total_cmp(other).then(a.implementation.cmp(&b.implementation)))?;
    let own = ranked.iter().find(|(guess, _)| Some(guess.implementation) == default);
    let stays = own.is_some_and(|(own, _)| own.log - best.log < (1.0 + floor / 2.0).ln());
    let choice = if stays { own.map_or(best, |(own, _)| own) } else { best };
    Some(Decision {
        choice: choice.implementation,
        ranked,
    })
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
            vec![guess(0, 20.0, 0.0), guess(1, 10.0, 0.0), guess(2, 12.0, 0.0)],
            Some(0),
            0.05,
        )
        .unwrap();
        assert_eq!(decision.choice, 1);
        assert_eq!(decision.regret(1), Some(0.0));
        assert!((decision.regret(0).unwrap() - 1.0).abs() < 1e-9 && (decision.regret(2).unwrap() - 0.2).abs() < 1e-9);
        assert_eq!(decision.regret(3), None);
        let order: Vec<usize> = decision.ranked.iter().map(|(guess, _)| guess.implementation).collect();
        assert_eq!(order, [1, 2, 0]);
    }

    #[test]
    fn the_default_stays_for_half_of_the_floor() {
        let choice = |default: f64| {
            decide(vec![guess(0, default, 0.01), guess(1, 10.0, 0.01)], Some(0), 0.05)
                .unwrap()
                .choice
        };
        assert_eq!(choice(10.2), 0);
        assert_eq!(choice(10.3), 1);
    }

    #[test]
    fn uncertainty_costs() {
        let certain = decide(vec![guess(1, 10.0, 0.01), guess(2, 11.0, 0.01)], None, 0.05).unwrap();
        let vague = decide(vec![guess(1, 10.0, 0.5), guess(2, 11.0, 0.01)], None, 0.05).unwrap();
        let lost = |decision: &Decision| decision.regret(decision.choice).unwrap();
        assert!(
            lost(&certain) < 0.001 && lost(&vague) > 0.1,
            "{} {}",
            lost(&certain),
            lost(&vague)
        );
    }

    #[test]
    fn nothing_is_chosen_from_nothing() {
        assert_eq!(decide(Vec::new(), None, 0.05), None);
    }
}
