//! An answer for programs.

use crate::answer::Answer;

/// Pretty-printed JSON with a final newline.
pub fn render(answer: &Answer) -> serde_json::Result<String> {
    serde_json::to_string_pretty(answer).map(|text| text + "\n")
}

/// The JSON schema, pretty-printed with a final newline; it is published as `configs/schema/which.schema.json`.
pub fn schema() -> serde_json::Result<String> {
    serde_json::to_string_pretty(&schemars::schema_for!(Answer)).map(|text| text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_has_the_schema_that_is_published() {
        kilter_fixtures::published::assert_current("which", &schema().unwrap());
    }
}
