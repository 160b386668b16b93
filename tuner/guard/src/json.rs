//! A night for programs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::night::{Night, Standing};

/// The JSON of `kilter guard --json`; its schema is `configs/schema/guard.schema.json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct Answer<'a> {
    /// Standing: `silent` (exit status 0), `differs` (1) or `unchecked` (2).
    standing: Standing,
    /// The findings.
    #[serde(flatten)]
    night: &'a Night,
}

/// Pretty-printed JSON with a final newline.
pub fn render(night: &Night) -> serde_json::Result<String> {
    let answer = Answer {
        standing: night.standing(),
        night,
    };
    kilter_render::json::text(&answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_has_the_schema_that_is_published() {
        kilter_fixtures::published::assert_current("guard", &kilter_render::json::schema::<Answer<'_>>().unwrap());
    }
}
