//! Arrival patterns as the user asks for them: forms of offsets whose size follows from the call that is measured.

use kilter_protocol::plan::{ArrivalPattern, Shape};
use serde::Serialize;

/// A pattern that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arrival {
    /// Its name on the command line, such as `late-one` or the name of a file.
    pub name: String,
    /// Form of the offsets.
    pub shape: Shape,
    /// Offset of the last rank as a multiple of the call's own time; `None` for listed offsets that are taken as they are.
    pub factor: Option<f64>,
}

impl Arrival {
    /// Ranks at random, apart by as much as the call takes.
    #[must_use]
    pub fn random() -> Arrival {
        Arrival {
            name: "random".to_owned(),
            shape: Shape::Random,
            factor: Some(1.0),
        }
    }

    /// The pattern for a call that takes `own_seconds` when the ranks come together.
    #[must_use]
    pub fn pattern(&self, own_seconds: f64, seed: u64) -> ArrivalPattern {
        let Shape::Listed { seconds } = &self.shape else {
            return ArrivalPattern {
                shape: self.shape.clone(),
                seconds: self.factor.unwrap_or(1.0) * own_seconds,
                seed,
            };
        };
        let latest = seconds.iter().copied().fold(0.0, f64::max);
        let scale = match self.factor {
            Some(factor) if latest > 0.0 => factor * own_seconds / latest,
            _ => 1.0,
        };
        ArrivalPattern {
            shape: Shape::Listed {
                seconds: seconds.iter().map(|one| one * scale).collect(),
            },
            seconds: latest * scale,
            seed,
        }
    }

    /// The end of a sentence about a call: `when ranks arrive at random`.
    #[must_use]
    pub fn words(&self) -> String {
        let words = match &self.shape {
            Shape::LateOne { rank: None } => "when the last rank is late".to_owned(),
            Shape::LateOne { rank: Some(rank) } => format!("when rank {rank} is late"),
            Shape::Linear => "when ranks arrive one after the other".to_owned(),
            Shape::Random => "when ranks arrive at random".to_owned(),
            Shape::Listed { .. } => format!("when ranks arrive as in `{}`", self.name),
        };
        match self.factor {
            Some(factor) if factor.to_bits() != 1.0_f64.to_bits() => format!("{words} (x{factor})"),
            _ => words,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_pattern_follows_from_the_call_unless_it_is_listed() {
        let late = Arrival {
            name: "late-one".to_owned(),
            shape: Shape::LateOne { rank: None },
            factor: Some(2.0),
        };
        assert_eq!(late.pattern(1e-3, 1).offset_ns(3, 4, 0), 2_000_000);
        assert_eq!(late.words(), "when the last rank is late (x2)");
        let listed = |factor| Arrival {
            name: "a.txt".to_owned(),
            shape: Shape::Listed {
                seconds: vec![0.0, 4e-3],
            },
            factor,
        };
        assert_eq!(listed(None).pattern(1e-3, 1).offset_ns(1, 2, 0), 4_000_000);
        assert_eq!(listed(Some(1.0)).pattern(1e-3, 1).offset_ns(1, 2, 0), 1_000_000);
        assert_eq!(listed(None).words(), "when ranks arrive as in `a.txt`");
        let same = Arrival {
            shape: Shape::Listed { seconds: vec![0.0; 2] },
            ..listed(Some(3.0))
        };
        assert_eq!(same.pattern(1e-3, 1).seconds, 0.0);
    }
}
