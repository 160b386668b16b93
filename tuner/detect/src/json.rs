//! Findings as JSON, for programs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::finding::Detection;
use crate::model::trace::{Communicator, Site, Trace};

/// Version of the JSON.
pub const SCHEMA: u32 = 1;

/// The answer to a trace; its schema is `configs/schema/detect.schema.json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct Answer<'a> {
    /// Version of this format.
    schema: u32,
    /// The command that was traced; empty if nobody says it.
    command: &'a str,
    /// Communicators, by whose places in this list findings name them.
    communicators: &'a [Communicator],
    /// Call sites, by whose places in this list findings name them; the last one stands for unknown ones.
    sites: &'a [Site],
    /// Findings, and what is no finding.
    #[serde(flatten)]
    detection: &'a Detection,
}

/// The findings in a trace of a command, as JSON.
pub fn render(detection: &Detection, trace: &Trace, command: &str) -> serde_json::Result<String> {
    let answer = Answer {
        schema: SCHEMA,
        command,
        communicators: &trace.communicators,
        sites: &trace.sites,
        detection,
    };
    kilter_render::json::text(&answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_has_the_schema_that_is_published() {
        kilter_fixtures::published::assert_current("detect", &kilter_render::json::schema::<Answer<'_>>().unwrap());
    }
}
