//! Number of repetitions of the items of a block: the one place of the search where it is decided.

use kilter_model::arrival::Arrival;
use kilter_model::options::Options;
use kilter_protocol::plan::{Repetitions, Shape};

use crate::context::Facts;

/// Fewest repetitions of a launch: the median of three is not moved by one spike.
pub const FEWEST: u32 = 3;

/// Purposes of a block, which decide how often its items are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A launch under further settings.
    Trial,
    /// The first look at all candidates in a running job.
    Screening,
    /// Finalists, in launches of their own.
    Final,
}

/// Repetitions of each item of a block.
#[must_use]
pub fn repetitions(options: &Options, purpose: Purpose) -> Repetitions {
    let usual = match purpose {
        Purpose::Trial => Repetitions::until(5, 25, 0.03, 0.1),
        // The time is for calls of milliseconds, which have it: with less they come to one repetition, and warm-ups fall out.
        Purpose::Screening => Repetitions::until(4, 12, 0.05, 0.25),
        Purpose::Final => Repetitions::until(8, 60, 0.02, 0.25),
    };
    options.repetitions_or(usual)
}

/// Repetitions of a block of the verification by this id. They follow the variance within and between launches if the verification has learnt
/// it.
#[must_use]
pub fn repetitions_of(options: &Options, facts: &Facts, purpose: Purpose, block: &str) -> Repetitions {
    let usual = repetitions(options, purpose);
    match facts.predicted_of(block) {
        Some(count) if options.by_variance && purpose != Purpose::Screening => {
            Repetitions::fixed(count.clamp(FEWEST.min(usual.max), usual.max), usual.seconds)
        }
        _ => usual,
    }
}

/// Fewest repetitions of items whose ranks arrive at random: each draws other offsets, and times differ with them, exact ones as well.
const DRAWS: u32 = 8;

/// Repetitions of a block whose ranks arrive apart, where they would be `usual` for ranks that come together.
#[must_use]
pub fn repetitions_apart(arrival: &Arrival, usual: Repetitions) -> Repetitions {
    if arrival.shape != Shape::Random {
        return usual;
    }
    Repetitions {
        min: usual.min.max(DRAWS),
        max: usual.max.max(DRAWS),
        ..usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_offsets_are_repeated_even_where_one_time_is_exact() {
        let exact = Repetitions::fixed(1, 0.25);
        let random = repetitions_apart(&Arrival::random(), exact);
        assert_eq!((random.min, random.max), (DRAWS, DRAWS));
        let late = Arrival {
            name: "late-one".to_owned(),
            shape: Shape::LateOne { rank: None },
            factor: Some(1.0),
        };
        assert_eq!(repetitions_apart(&late, exact), exact);
        let many = Repetitions::fixed(60, 0.25);
        assert_eq!(repetitions_apart(&Arrival::random(), many), many);
    }
}
