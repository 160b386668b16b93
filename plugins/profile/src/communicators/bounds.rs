//! Ranges of numbers of ranks or nodes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Smallest and largest number that are allowed, both inclusive; a bound that is not stated is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Smallest number, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub min: Option<usize>,
    /// Largest number, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max: Option<usize>,
}

impl Bounds {
    /// Exactly one number.
    #[must_use]
    pub const fn exactly(number: usize) -> Bounds {
        Bounds::between(number, number)
    }

    /// The numbers from the first to the second, both inclusive.
    #[must_use]
    pub const fn between(min: usize, max: usize) -> Bounds {
        Bounds {
            min: Some(min),
            max: Some(max),
        }
    }

    /// True if any number is allowed.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.min.is_none() && self.max.is_none()
    }

    /// True if the number is allowed.
    #[must_use]
    pub fn contains(&self, number: usize) -> bool {
        (self.low()..=self.high()).contains(&number)
    }

    /// The only number that is allowed.
    #[must_use]
    pub fn only(&self) -> Option<usize> {
        self.min.filter(|min| self.max == Some(*min))
    }

    /// Smallest number that is allowed; there is no communicator without ranks.
    #[must_use]
    pub fn low(&self) -> usize {
        self.min.unwrap_or(1).max(1)
    }

    /// Largest number that is allowed.
    #[must_use]
    pub fn high(&self) -> usize {
        self.max.unwrap_or(usize::MAX)
    }

    /// Numbers that both allow.
    pub(super) fn and(&self, other: &Bounds) -> Bounds {
        let least = |a: Option<usize>, b: Option<usize>| a.into_iter().chain(b).min();
        Bounds {
            min: self.min.max(other.min),
            max: least(self.max, other.max),
        }
    }

    /// The number in words, such as `8 ranks`, `8 to 16 ranks`, `at least 8 ranks`; nothing where any is allowed.
    pub(super) fn words(&self, thing: &str) -> Option<String> {
        let several = |number: usize| if number == 1 { "" } else { "s" };
        Some(match (self.min, self.max) {
            (None, None) => return None,
            (Some(min), Some(max)) if min == max => format!("{min} {thing}{}", several(min)),
            (Some(min), Some(max)) => format!("{min} to {max} {thing}s"),
            (Some(min), None) => format!("at least {min} {thing}{}", several(min)),
            (None, Some(max)) => format!("at most {max} {thing}{}", several(max)),
        })
    }
}
