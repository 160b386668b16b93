//! Fixes of cells, as the report shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A name and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Name as the library spells it.
    pub name: String,
    /// Value as the library reads it.
    pub value: String,
}

/// Fix of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fix {
    /// The kind.
    pub kind: FixKind,
    /// Settings, empty for a mock-up or an algorithm without parameters.
    pub settings: Vec<Setting>,
    /// Short id: `btl_vader_eager_limit=32768`, `reduce.ring`, `reduce.as_allreduce`.
    pub id: String,
}

/// The kinds of fixes, simplest to deploy first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FixKind {
    /// A parameter of the library or of its environment.
    Parameter,
    /// A mock-up, run by the drop-in.
    Mockup,
    /// An algorithm of Kilter's or a plugin's, run by the drop-in.
    Algorithm,
}
