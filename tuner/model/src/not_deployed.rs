//! Reasons why a candidate that looked better is not deployed. Each has one sentence, which every rendering prints.

use std::fmt;

use kilter_protocol::fault::FaultKind;
use kilter_render::format;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reason why a candidate that looked better in a screening is not deployed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum NotDeployed {
    /// Launches of its own, in turn with the library as it was, do not confirm the screening.
    NotConfirmed {
        /// The compared quantity.
        measure: Measure,
        /// Launches of each side.
        launches: usize,
        /// Value without it, in these launches.
        before: f64,
        /// Value with it, in the screening.
        screened: f64,
        /// Value with it, in these launches.
        confirmed: f64,
    },
    /// It slowed other functions down.
    SideEffect {
        /// The functions that it slowed down.
        slowed: Vec<Slowed>,
    },
    /// It would miss another overlap target that was met.
    MissesTargets {
        /// Their ids.
        targets: Vec<String>,
    },
    /// The budget ended first.
    BudgetEnded {
        /// The step that the budget could not pay.
        before: Step,
    },
    /// It hung, crashed, delivered wrong data or had no effect in launches of its own.
    Failed {
        /// The failure in two words.
        #[schemars(with = "String")]
        what: FaultKind,
    },
    /// It was taken back in an earlier round, and is not proposed again.
    Banned,
    /// It was deployed and taken back by the proof.
    TakenBack {
        /// The observation.
        because: String,
    },
    /// Other deployed changes fix the same cells.
    Superfluous {
        /// Those cells.
        cells: Vec<String>,
    },
    /// It was the best, but a candidate that is simpler to deploy is as good within the differences of launches.
    SimplerChosen {
        /// The deployed candidate.
        chosen: String,
    },
    /// Another candidate is faster by more than launches differ.
    FasterChosen {
        /// The deployed candidate.
        chosen: String,
    },
    /// It is no faster than the default by more than launches differ.
    NoBetterThanDefault {
        /// Its time over the default's.
        ratio: f64,
    },
    /// It is faster than the default but still exceeds the guideline's bound.
    MissesBound {
        /// Its time over the bound.
        ratio: f64,
    },
    /// Other candidates looked better, and only a limited number is confirmed.
    NotAmongFinalists {
        /// Number of candidates that are confirmed.
        finalists: usize,
    },
    /// Another candidate met the target before this one was examined further.
    MetBefore {
        /// The deployed candidate.
        by: String,
    },
    /// The rounds ended before its turn came.
    RoundsEnded,
    /// It fixes the cell and costs the calls of the mix more than it saves.
    CostsMore {
        /// Excess of the cost, in seconds.
        seconds: f64,
    },
    /// The same algorithm hung with other values of its parameters: it was not run where that one did.
    AlikeHung {
        /// That candidate.
        other: String,
    },
    /// No guideline is violated. The contest was requested, and nothing is changed for it.
    NothingToFix,
    /// This library offers no way to deploy it.
    CannotBeDeployed,
    /// It is slower than the default when the ranks arrive apart.
    SlowerApart {
        /// The arrival pattern, such as `when ranks arrive at random`.
        when: String,
        /// Its time over the default's.
        ratio: f64,
        /// 95 % confidence interval of the ratio.
        ratio_ci: (f64, f64),
    },
}

/// Quantity that a confirmation compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Excess over the bounds of overlap targets, as a fraction of what could be hidden.
    Shortfall,
    /// Distance of all cells from their bounds, including those that became slower: natural logarithms of ratios,
    /// summed.
    Cost,
}

/// A step that costs launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Launches that confirm the candidate.
    Confirmation,
    /// Launches that look for side effects.
    SideEffects,
    /// Launches with the emitted files.
    Proof,
}

/// A function that became slower.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slowed {
    /// Name for people: `bcast(n) @8`, `MPI_Send and MPI_Recv of 8 B`.
    pub what: String,
    /// Time without the candidate, in seconds.
    pub before_seconds: f64,
    /// Time with it, in launches in turn, in seconds.
    pub after_seconds: f64,
}

impl fmt::Display for Slowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after] = [self.before_seconds, self.after_seconds].map(format::seconds);
        write!(f, "{} ({before} -> {after})", self.what)
    }
}

impl Measure {
    const fn words(self) -> &'static str {
        match self {
            Measure::Shortfall => "shortfall",
            Measure::Cost => "cost",
        }
    }
}

impl Step {
    const fn words(self) -> &'static str {
        match self {
            Step::Confirmation => "it was confirmed in launches of its own",
            Step::SideEffects => "its side effects were looked for",
            Step::Proof => "it was proven",
        }
    }
}

/// The end of a sentence about the candidate.
impl fmt::Display for NotDeployed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotDeployed::NotConfirmed {
                measure,
                launches,
                before,
                screened,
                confirmed,
            } => {
                let (words, launches) = (measure.words(), format::count(*launches, "launch"));
                write!(f, "is not confirmed: {words} {screened:.2} in the screening, but ")?;
                // Two decimals would say 0.00 against 0.00, which explains nothing.
                if *before < 0.005 {
                    return write!(
                        f,
                        "nothing was left to gain without it, either, in {launches} of its own"
                    );
                }
                write!(
                    f,
                    "{confirmed:.2} in {launches} of its own, against {before:.2} without it"
                )?;
                // All cells together have come nearer, which fixes none.
                if *measure == Measure::Cost && confirmed < before {
                    f.write_str(", where no cell meets its bounds and is faster by more than launches differ")?;
                }
                Ok(())
            }
            NotDeployed::SideEffect { slowed } => {
                write!(f, "would slow ")?;
                for (place, one) in slowed.iter().enumerate() {
                    write!(f, "{}{one}", if place > 0 { "; " } else { "" })?;
                }
                Ok(())
            }
            NotDeployed::MissesTargets { targets } => write!(f, "misses {}", targets.join(", ")),
            NotDeployed::BudgetEnded { before } => {
                write!(f, "came too late: the budget ended before {}", before.words())
            }
            NotDeployed::Failed { what } => write!(f, "{what} in launches of its own"),
            NotDeployed::Banned => write!(f, "was taken back in an earlier round"),
            NotDeployed::TakenBack { because } => write!(f, "was taken back: {because}"),
            NotDeployed::Superfluous { cells } => {
                write!(f, "is superfluous: other deployed changes fix {}", cells.join(", "))
            }
            NotDeployed::SimplerChosen { chosen } => {
                write!(f, "is as fast as `{chosen}`, which is simpler to deploy")
            }
            NotDeployed::FasterChosen { chosen } => write!(f, "is slower than `{chosen}`"),
            NotDeployed::NoBetterThanDefault { ratio } => write!(
                f,
                "is no faster than the default by more than launches differ ({ratio:.2} times its time)"
            ),
            NotDeployed::MissesBound { ratio } => write!(f, "still takes {ratio:.2} times the bound"),
            NotDeployed::NotAmongFinalists { finalists } => {
                write!(
                    f,
                    "was not confirmed: others looked better, and {finalists} are confirmed at most"
                )
            }
            NotDeployed::MetBefore { by } => write!(f, "was not needed any more: `{by}` was confirmed first"),
            NotDeployed::RoundsEnded => {
                f.write_str("was not confirmed: the rounds ended before its turn came (--rounds)")
            }
            NotDeployed::CostsMore { seconds } => write!(
                f,
                "would cost the calls of the mix {} more than it saves",
                format::seconds(*seconds)
            ),
            NotDeployed::AlikeHung { other } => {
                write!(f, "was not tried further: the same algorithm hung as `{other}`")
            }
            NotDeployed::NothingToFix => write!(f, "is not needed: no guideline is violated here"),
            NotDeployed::CannotBeDeployed => write!(f, "cannot be deployed with this library"),
            NotDeployed::SlowerApart { when, ratio, ratio_ci } => write!(
                f,
                "is slower than the library's own {when}: {ratio:.2} [{:.2}, {:.2}]",
                ratio_ci.0, ratio_ci.1
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_names_its_numbers() {
        let not_confirmed = NotDeployed::NotConfirmed {
            measure: Measure::Shortfall,
            launches: 6,
            before: 0.48,
            screened: 0.0,
            confirmed: 0.41,
        };
        assert_eq!(
            not_confirmed.to_string(),
            "is not confirmed: shortfall 0.00 in the screening, but 0.41 in 6 launches of its own, against 0.48 without it"
        );
        let nothing_left = NotDeployed::NotConfirmed {
            measure: Measure::Cost,
            launches: 6,
            before: 0.001,
            screened: 0.0,
            confirmed: 0.0,
        };
        assert_eq!(
            nothing_left.to_string(),
            "is not confirmed: cost 0.00 in the screening, but nothing was left to gain without it, either, in 6 launches of its own"
        );
        let nearer = NotDeployed::NotConfirmed {
            measure: Measure::Cost,
            launches: 5,
            before: 1.51,
            screened: 0.87,
            confirmed: 0.45,
        };
        assert_eq!(
            nearer.to_string(),
            "is not confirmed: cost 0.87 in the screening, but 0.45 in 5 launches of its own, against 1.51 without it, where no cell meets its \
             bounds and is faster by more than launches differ"
        );
        let slowed = NotDeployed::SideEffect {
            slowed: vec![Slowed {
                what: "bcast(n) @8".to_owned(),
                before_seconds: 2e-6,
                after_seconds: 3e-6,
            }],
        };
        assert_eq!(slowed.to_string(), "would slow bcast(n) @8 (2.00 us -> 3.00 us)");
        let late = NotDeployed::BudgetEnded {
            before: Step::Confirmation,
        };
        assert_eq!(
            late.to_string(),
            "came too late: the budget ended before it was confirmed in launches of its own"
        );
    }

    #[test]
    fn a_reason_is_read_back_from_a_report() {
        let reason = NotDeployed::SideEffect {
            slowed: vec![Slowed {
                what: "scan(n) @8".to_owned(),
                before_seconds: 1e-6,
                after_seconds: 2e-6,
            }],
        };
        let json = serde_json::to_string(&reason).unwrap();
        assert!(json.contains(r#""why":"side_effect""#), "{json}");
        assert_eq!(serde_json::from_str::<NotDeployed>(&json).unwrap(), reason);
        // A time that is no number is `null` in JSON; reasons without numbers are read as well.
        let banned = serde_json::to_string(&NotDeployed::Banned).unwrap();
        assert_eq!(
            serde_json::from_str::<NotDeployed>(&banned).unwrap(),
            NotDeployed::Banned
        );
    }
}
