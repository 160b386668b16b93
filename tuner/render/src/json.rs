//! JSON for programs: an answer as text, and the schema that is published of it. All of the tuner's answers are written here.

use schemars::JsonSchema;
use serde::Serialize;

/// The answer, pretty-printed with a final newline.
///
/// # Errors
/// A map whose keys are no texts, or a serialisation of its own that fails.
pub fn text<T: Serialize + ?Sized>(answer: &T) -> serde_json::Result<String> {
    serde_json::to_string_pretty(answer).map(|text| text + "\n")
}

/// The JSON schema of an answer, in the same form.
///
/// # Errors
/// None: a schema is plain JSON.
pub fn schema<T: JsonSchema>() -> serde_json::Result<String> {
    text(&schemars::schema_for!(T))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer.
    #[derive(Serialize, JsonSchema)]
    struct Answer<'a> {
        /// The ranks.
        ranks: usize,
        library: &'a str,
    }

    #[test]
    fn an_answer_has_a_line_for_each_field_and_its_schema_says_what_they_are() {
        let answer = Answer {
            ranks: 2,
            library: "Open MPI",
        };
        assert_eq!(
            text(&answer).unwrap(),
            "{\n  \"ranks\": 2,\n  \"library\": \"Open MPI\"\n}\n"
        );
        let schema: serde_json::Value = serde_json::from_str(&schema::<Answer<'_>>().unwrap()).unwrap();
        assert_eq!(schema["properties"]["ranks"]["description"], "The ranks.");
        assert_eq!(schema["required"], serde_json::json!(["ranks", "library"]));
    }
}
