//! The deciding place among all that could have decided, in the order in which the library asks.
//!
//! A setting has decided only if it can act, and if the algorithm that it asks for is the one that ran. Everything else that is set for the call
//! was not followed, which is said: a wrong setting is nearly always silent.

use crate::answer::{Decision, NotFollowed};

/// Something that could have decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decider {
    /// It, as a decision.
    pub decision: Decision,
    /// Index of the algorithm that it asks for; `None` for one that the library's description does not have.
    pub asks: Option<usize>,
    /// Reason why it cannot act here.
    pub inactive: Option<String>,
}

/// Knowledge of the algorithm that ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran<'a> {
    /// Indices of the algorithms that fit.
    pub fits: &'a [usize],
    /// The function by which the library decided by itself, if that was seen.
    pub own_decision: Option<&'a str>,
    /// True if something ran that no setting of an algorithm names.
    pub is_another: bool,
}

/// The decision, and what was not followed. `deciders` are in the library's order, the strongest first.
#[must_use]
pub fn decide(deciders: Vec<Decider>, ran: Ran<'_>) -> (Decision, Vec<NotFollowed>) {
    let mut decided: Option<Decision> = None;
    let mut not_followed = Vec::new();
    for decider in deciders {
        let because = match (&decided, &decider.inactive, ran.own_decision) {
            (_, Some(why), _) => why.clone(),
            (Some(by), None, _) => format!("{} is asked before it", in_words(by)),
            (None, None, Some(function)) => format!("the library decided by itself, in {function}"),
            (None, None, None) if decider.asks.is_some_and(|asks| ran.fits.contains(&asks)) => {
                decided = Some(decider.decision);
                continue;
            }
            (None, None, None) if ran.fits.is_empty() && !ran.is_another => {
                decided = Some(Decision::Unknown {
                    because: format!(
                        "{} is set for this call, and nobody knows which algorithm ran",
                        in_words(&decider.decision)
                    ),
                });
                continue;
            }
            (None, None, None) => "another algorithm ran".to_owned(),
        };
        not_followed.push(NotFollowed {
            setting: in_words(&decider.decision),
            because,
        });
    }
    let own = || Decision::Default {
        function: ran.own_decision.map(str::to_owned),
    };
    (decided.unwrap_or_else(own), not_followed)
}

/// A decision in words, with its place.
#[must_use]
pub fn in_words(decision: &Decision) -> String {
    match decision {
        Decision::DropIn { place, implementation } => {
            format!("the drop-in's profile, {place}: `{implementation}`")
        }
        Decision::Rule { place, rule } => format!("the rule `{rule}` of {place}"),
        Decision::Parameter { setting, place } => format!("`{setting}`, set by {place}"),
        Decision::Default { function: None } => "the library's own decision".to_owned(),
        Decision::Default {
            function: Some(function),
        } => format!("the library's own decision, in {function}"),
        Decision::Unknown { because } => format!("not known: {because}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(value: &str, asks: usize) -> Decider {
        Decider {
            decision: Decision::Parameter {
                setting: format!("algorithm={value}"),
                place: "the environment".to_owned(),
            },
            asks: Some(asks),
            inactive: None,
        }
    }

    fn ran(fits: &[usize]) -> Ran<'_> {
        Ran {
            fits,
            own_decision: None,
            is_another: false,
        }
    }

    #[test]
    fn the_strongest_that_asks_for_what_ran_has_decided() {
        let (decision, not_followed) = decide(vec![parameter("1", 0), parameter("2", 1)], ran(&[0]));
        assert_eq!(in_words(&decision), "`algorithm=1`, set by the environment");
        assert_eq!(not_followed.len(), 1);
        assert_eq!(
            not_followed[0].because,
            "`algorithm=1`, set by the environment is asked before it"
        );
    }

    #[test]
    fn what_cannot_act_or_asks_for_something_else_was_not_followed() {
        let inactive = Decider {
            inactive: Some("rules are off".to_owned()),
            ..parameter("1", 0)
        };
        let (decision, not_followed) = decide(vec![inactive, parameter("2", 1)], ran(&[0]));
        assert_eq!(decision, Decision::Default { function: None });
        let because: Vec<&str> = not_followed.iter().map(|one| one.because.as_str()).collect();
        assert_eq!(because, ["rules are off", "another algorithm ran"]);
    }

    /// The default may be the very algorithm that a setting asks for without being heard.
    #[test]
    fn the_librarys_own_decision_is_nobody_elses() {
        let seen = Ran {
            own_decision: Some("dec_fixed"),
            ..ran(&[0])
        };
        let (decision, not_followed) = decide(vec![parameter("1", 0)], seen);
        assert_eq!(in_words(&decision), "the library's own decision, in dec_fixed");
        assert_eq!(not_followed[0].because, "the library decided by itself, in dec_fixed");
    }

    #[test]
    fn a_setting_is_not_credited_with_what_nobody_knows() {
        let (decision, not_followed) = decide(vec![parameter("1", 0)], ran(&[]));
        assert!(matches!(decision, Decision::Unknown { .. }) && not_followed.is_empty());
        let another = Ran {
            is_another: true,
            ..ran(&[])
        };
        let (decision, not_followed) = decide(vec![parameter("1", 0)], another);
        assert_eq!(
            (decision, not_followed.len()),
            (Decision::Default { function: None }, 1)
        );
    }
}
