//! The rules of a file, for communicators whose ranks share one node and for all others.
//!
//! The form of numbers knows no nodes. JSON has `comm_rank_distribution`, of which `single-node` is written. `one-per-node` is not: the library
//! notes it of a communicator that a program makes, and never of `MPI_COMM_WORLD`, so that such a rule would not act where most calls are.

use kilter_model::config::library::RulesForm;

use super::{Choice, Rules, RulesError};

/// Nodes of a communicator, as far as rules tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nodes {
    /// All ranks are on one node.
    One,
    /// The ranks are on several nodes.
    Several,
}

impl Nodes {
    /// All communicators.
    pub const ANY: [Nodes; 2] = [Nodes::One, Nodes::Several];

    /// The nodes of a communicator with ranks on so many.
    #[must_use]
    pub const fn of(nodes: usize) -> Nodes {
        if nodes > 1 { Nodes::Several } else { Nodes::One }
    }
}

/// The rules of a file by the nodes of communicators.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ByNodes {
    one: Rules,
    several: Rules,
}

impl From<Rules> for ByNodes {
    /// Rules that hold wherever the ranks are.
    fn from(rules: Rules) -> ByNodes {
        ByNodes {
            one: rules.clone(),
            several: rules,
        }
    }
}

impl ByNodes {
    /// The rules for communicators on such nodes.
    #[must_use]
    pub fn of(&self, nodes: Nodes) -> &Rules {
        match nodes {
            Nodes::One => &self.one,
            Nodes::Several => &self.several,
        }
    }

    /// The same to change.
    pub(super) fn of_mut(&mut self, nodes: Nodes) -> &mut Rules {
        match nodes {
            Nodes::One => &mut self.one,
            Nodes::Several => &mut self.several,
        }
    }

    /// Adds a choice for communicators on these nodes, as [`Rules::add_between`] does.
    pub fn add_between(
        &mut self,
        nodes: &[Nodes],
        collective: u64,
        ranks: (u64, u64),
        bytes: (u64, u64),
        choice: Choice,
    ) {
        for nodes in nodes {
            self.of_mut(*nodes).add_between(collective, ranks, bytes, choice);
        }
    }

    /// True if there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.one.is_empty() && self.several.is_empty()
    }

    /// True if a rule says how many requests may be in flight, which needs a release that reads it.
    #[must_use]
    pub fn limits_requests(&self) -> bool {
        self.one.limits_requests() || self.several.limits_requests()
    }

    /// Lays these rules over those of `below`, which decide where these leave the choice to the library.
    #[must_use]
    pub fn over(&self, below: &Rules) -> ByNodes {
        ByNodes {
            one: self.one.over(below),
            several: self.several.over(below),
        }
    }

    /// The same choices without rules that change nothing.
    #[must_use]
    pub fn normalized(&self) -> ByNodes {
        ByNodes {
            one: self.one.normalized(),
            several: self.several.normalized(),
        }
    }

    /// The file's text.
    ///
    /// # Errors
    /// A collective that the form has no name for, or nodes that it cannot tell apart.
    pub fn write(&self, form: RulesForm) -> Result<String, RulesError> {
        match form {
            RulesForm::Json => self.to_json(),
            RulesForm::Numbers if self.one.normalized() == self.several.normalized() => Ok(self.several.to_text()),
            RulesForm::Numbers => Err(RulesError {
                line: 1,
                message: "rules for the ranks of one node differ from those for several nodes, which the form of numbers cannot say"
                    .to_owned(),
            }),
        }
    }

    /// Reads a file's text as a library does that takes this form.
    ///
    /// # Errors
    /// Whatever would make it ignore the file, or take it for something else.
    pub fn read(text: &str, form: RulesForm) -> Result<ByNodes, RulesError> {
        match form {
            RulesForm::Numbers => Rules::parse(text).map(ByNodes::from),
            RulesForm::Json => ByNodes::parse_json(text),
        }
    }
}
