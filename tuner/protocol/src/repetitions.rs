//! End of a block's repetitions.
//!
//! Three methods predict how many repetitions make a result that another launch reproduces (Hunold, Carpen-Amarie, Luebbe,
//! Traeff: Automatic Verification of Self-Consistent MPI Performance Guidelines, Euro-Par 2016,
//! doi:10.1007/978-3-319-43659-3_32, section 4.2). Those selected must all hold at the same time.

use serde::{Deserialize, Serialize};

/// A repetition of this length, in seconds, needs no warming up: the extra time of a first call is a small part of it, and the item has been
/// tried out before.
pub const SLOW_SECONDS: f64 = 1e-3;

/// Repetitions of any other item that are made first and not counted: caches, connections and page tables warm up.
pub const WARM_UPS: u32 = 2;

/// Repetitions of such an item that are made in a row and counted, after one that is not.
pub const TURN: u32 = 3;

/// Repetitions that are made of an item that takes so many seconds: those before any counts, and for each that counts.
#[must_use]
pub fn made(own_seconds: f64) -> (f64, f64) {
    if own_seconds < SLOW_SECONDS {
        (f64::from(WARM_UPS), 1.0 + 1.0 / f64::from(TURN))
    } else {
        (0.0, 1.0)
    }
}

/// End of a block's repetitions: every item has as many valid ones as `stop` asks for, between `min` and `max`, or the block has taken
/// `seconds`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Repetitions {
    /// Least number per item (time permitting; never fewer than 1).
    pub min: u32,
    /// Greatest number per item.
    pub max: u32,
    /// `stop` is asked after `min` repetitions and then after every so many; 0 stands for 1.
    pub step: u32,
    /// Rules that stop before `max`; without any method, `max` repetitions are made.
    pub stop: StopRules,
    /// Time limit of the block's repetitions.
    pub seconds: f64,
}

/// The methods in use; all must hold.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct StopRules {
    /// Standard error of the mean over the mean, `s / (sqrt(n) mean)`, is at most this.
    pub relative_standard_error: Option<f64>,
    /// Coefficient of variation of the last running means.
    pub mean: Option<Window>,
    /// Coefficient of variation of the last running medians.
    pub median: Option<Window>,
}

/// A coefficient of variation (standard deviation over mean) of the last `size` values of a running statistic, the `i`-th of
/// which is taken over the first `i` repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// The coefficient is at most this.
    pub threshold: f64,
    /// Values in the window, at least 2.
    pub size: u32,
}

impl StopRules {
    /// True if no method is in use.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.relative_standard_error.is_none() && self.mean.is_none() && self.median.is_none()
    }
}

impl Repetitions {
    /// Until the relative standard error is at most `relative_standard_error`, asked after every repetition.
    #[must_use]
    pub const fn until(min: u32, max: u32, relative_standard_error: f64, seconds: f64) -> Repetitions {
        Repetitions {
            min,
            max,
            step: 1,
            stop: StopRules {
                relative_standard_error: Some(relative_standard_error),
                mean: None,
                median: None,
            },
            seconds,
        }
    }

    /// Exactly `count` of each item, unless the block takes `seconds` before.
    #[must_use]
    pub const fn fixed(count: u32, seconds: f64) -> Repetitions {
        Repetitions {
            min: count,
            max: count,
            step: 1,
            stop: StopRules {
                relative_standard_error: None,
                mean: None,
                median: None,
            },
            seconds,
        }
    }

    /// True if the methods are asked after `made` valid repetitions.
    #[must_use]
    pub fn is_asked_after(&self, made: u64) -> bool {
        let min = u64::from(self.min.max(1));
        made >= min && (made - min).is_multiple_of(u64::from(self.step.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_methods_are_asked_at_min_and_every_step_after() {
        let rule = Repetitions {
            step: 5,
            ..Repetitions::until(3, 20, 0.1, 1.0)
        };
        let asked: Vec<u64> = (0..=20).filter(|made| rule.is_asked_after(*made)).collect();
        assert_eq!(asked, [3, 8, 13, 18]);
        let odd = Repetitions {
            min: 0,
            step: 0,
            ..rule
        };
        assert_eq!((0..4).filter(|made| odd.is_asked_after(*made)).count(), 3);
    }

    #[test]
    fn lines_survive_being_written_and_read() {
        let rule = Repetitions {
            stop: StopRules {
                mean: Some(Window {
                    threshold: 0.01,
                    size: 10,
                }),
                ..StopRules::default()
            },
            ..Repetitions::fixed(7, 2.5)
        };
        let text = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<Repetitions>(&text).unwrap(), rule);
    }
}
