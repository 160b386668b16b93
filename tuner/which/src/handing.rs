//! The component that carries a call out, where a file or a parameter chooses it before any algorithm is asked for.

use crate::answer::{Decision, NotFollowed};
use crate::decide::in_words;

/// Something that could have chosen the component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handing {
    /// It, as a decision.
    pub decision: Decision,
    /// The component that it asks for.
    pub component: String,
    /// Algorithm of that component, where one is named.
    pub algorithm: Option<String>,
    /// Reason why it cannot act here.
    pub inactive: Option<String>,
}

/// The decision of a handing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Handed {
    /// It, if it chose the component.
    pub component: Option<Decision>,
    /// It, if it chose the algorithm as well.
    pub algorithm: Option<Decision>,
    /// It, if it was not followed.
    pub not_followed: Option<NotFollowed>,
}

impl Handing {
    /// Judges by the component that ran, if that is known, and its functions.
    #[must_use]
    pub fn judge(self, component: Option<&str>, path: &[String]) -> Handed {
        let because = match (&self.inactive, component) {
            (Some(why), _) => why.clone(),
            // Nobody knows if it was followed.
            (None, None) => return Handed::default(),
            (None, Some(ran)) if ran != self.component => format!("component {ran} carried the call out"),
            (None, Some(_)) => match &self.algorithm {
                Some(algorithm) if !is_of(algorithm, path) => {
                    format!("no function of its algorithm `{algorithm}` was seen")
                }
                algorithm => {
                    return Handed {
                        algorithm: algorithm.as_ref().map(|_| self.decision.clone()),
                        component: Some(self.decision),
                        not_followed: None,
                    };
                }
            },
        };
        Handed {
            not_followed: Some(NotFollowed {
                setting: in_words(&self.decision),
                because,
            }),
            ..Handed::default()
        }
    }
}

/// True if a function is that of an algorithm: its name ends so.
fn is_of(algorithm: &str, path: &[String]) -> bool {
    let end = format!("_{algorithm}");
    path.iter().any(|function| function.ends_with(&end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handing(component: &str, algorithm: Option<&str>) -> Handing {
        Handing {
            decision: Decision::Rule {
                place: "han.conf:4".to_owned(),
                rule: format!("0 {component}"),
            },
            component: component.to_owned(),
            algorithm: algorithm.map(str::to_owned),
            inactive: None,
        }
    }

    fn path(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_asks_for_the_component_that_ran_has_chosen_it() {
        let one = handing("tuned", None);
        let handed = one.clone().judge(Some("tuned"), &[]);
        assert_eq!(handed.component, Some(one.decision));
        assert_eq!((handed.algorithm, handed.not_followed), (None, None));
    }

    #[test]
    fn an_algorithm_of_the_component_is_decided_if_its_function_was_seen() {
        let one = handing("han", Some("simple"));
        let simple = path(&["MPI_Bcast", "mca_coll_han_bcast_intra_simple"]);
        let handed = one.clone().judge(Some("han"), &simple);
        assert_eq!(handed.algorithm.as_ref(), Some(&one.decision));
        assert_eq!(handed.component, handed.algorithm);
        let handed = one.judge(Some("han"), &path(&["MPI_Bcast", "mca_coll_han_bcast_intra"]));
        assert_eq!(
            handed.not_followed.unwrap().because,
            "no function of its algorithm `simple` was seen"
        );
    }

    #[test]
    fn what_cannot_act_or_asks_for_another_was_not_followed() {
        let because = |one: Handing, ran| one.judge(ran, &[]).not_followed.map(|one| one.because);
        let other = because(handing("tuned", None), Some("han"));
        assert_eq!(other.as_deref(), Some("component han carried the call out"));
        let off = Handing {
            inactive: Some("it is off".to_owned()),
            ..handing("tuned", None)
        };
        assert_eq!(because(off, Some("tuned")).as_deref(), Some("it is off"));
        assert_eq!(handing("tuned", None).judge(None, &[]), Handed::default());
    }
}
