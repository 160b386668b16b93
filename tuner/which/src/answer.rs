//! The answer, as data.

use schemars::JsonSchema;
use serde::Serialize;

/// Version of the answer's JSON.
pub const SCHEMA: u32 = 1;

/// The answer of `kilter which`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// Version of this format.
    pub schema: u32,
    /// Library and version.
    pub library: String,
    /// The program whose calls were counted; absent where calls were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Number of calls of the program that the budget left without an answer.
    pub unanswered: usize,
    /// The calls: of a program, the ones with most seconds first.
    pub cells: Vec<Cell>,
    /// Warnings of the run.
    pub warnings: Vec<String>,
}

impl Default for Answer {
    /// An answer without cells.
    fn default() -> Answer {
        Answer {
            schema: SCHEMA,
            library: String::new(),
            program: None,
            unanswered: 0,
            cells: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// A collective on a communicator, at one size.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    /// The collective, such as `reduce`.
    pub collective: String,
    /// Ranks of the communicator.
    pub ranks: usize,
    /// Hosts of the ranks.
    pub hosts: usize,
    /// Total volume in bytes.
    pub bytes: u64,
    /// Calls of the program by all ranks, and their seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<Called>,
    /// Component of the library that carried the call out, if it is known.
    pub component: Option<String>,
    /// The place that decided on the component, where one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handed_on: Option<Decision>,
    /// The algorithm that ran. Several where they cannot be told apart; none where nobody knows.
    pub algorithms: Vec<Algorithm>,
    /// The evidence.
    pub known: Vec<Evidence>,
    /// Reason why the algorithm is not known, or not for sure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// The deciding place.
    pub decided: Decision,
    /// Settings for this call that are in force and were not followed.
    pub not_followed: Vec<NotFollowed>,
}

/// Calls of a program.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Called {
    /// Calls of a rank, on the average of those that make any.
    pub calls: f64,
    /// Seconds of all ranks together.
    pub seconds: f64,
}

/// An algorithm by the library's description.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Algorithm {
    /// The library's name for it, or its function's.
    pub name: String,
    /// Setting that forces it, such as `coll_tuned_reduce_algorithm=5`; absent for what no setting names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
}

/// Evidence of what ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Evidence {
    /// Its kind.
    pub kind: Kind,
    /// The evidence as text.
    pub text: String,
}

/// Kinds of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Functions in which ranks waited.
    CallPath,
    /// Messages of every rank to every other, as the library counts them.
    Messages,
    /// The drop-in's counts of what it ran.
    DropIn,
}

/// The decider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Decision {
    /// A rule of the drop-in's profile.
    DropIn {
        /// The profile, and the line of the rule where it is known.
        place: String,
        /// The implementation that the rule names.
        implementation: String,
    },
    /// A rule of a file that the library reads.
    Rule {
        /// The file, and the line.
        place: String,
        /// The rule.
        rule: String,
    },
    /// A parameter of the library.
    Parameter {
        /// The setting, such as `coll_tuned_reduce_algorithm=5`.
        setting: String,
        /// The place that sets it: the environment, a file with its line, an option.
        place: String,
    },
    /// The library's own decision.
    Default {
        /// Its function, if that was seen.
        #[serde(skip_serializing_if = "Option::is_none")]
        function: Option<String>,
    },
    /// It cannot be told.
    Unknown {
        /// The reason.
        because: String,
    },
}

/// A setting that is in force and was not followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotFollowed {
    /// The setting or rule, with its place.
    pub setting: String,
    /// The reason, as far as it is known.
    pub because: String,
}
