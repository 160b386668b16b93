//! `report.json`: the model as it is, with a schema that is published in `configs/schema/report.schema.json`.

use kilter_model::report::{Report, SCHEMA};
use thiserror::Error;

/// The reason why a `report.json` could not be written or read.
#[derive(Debug, Error)]
pub enum JsonError {
    /// The text is not a report.
    #[error("not a Kilter report: {0}; make it anew with `kilter check` or `kilter tune`")]
    Malformed(#[from] serde_json::Error),
    /// The report was written by a version with another schema.
    #[error(
        "the report has schema {found}, this version of Kilter reads schema {SCHEMA}; render it with the version that wrote it"
    )]
    Schema {
        /// The schema it declares.
        found: u64,
    },
}

/// The report as pretty-printed JSON with a final newline. Numbers that are not finite become `null`.
///
/// # Errors
///
/// If serialisation fails, which no content of a report causes.
pub fn to_string(report: &Report) -> Result<String, JsonError> {
    Ok(kilter_render::json::text(report)?)
}

/// Reads what [`to_string`] wrote. `null` in place of a number is read as not-a-number.
///
/// # Errors
///
/// If the text is not JSON, has another schema, or lacks a field; the message names line and column.
pub fn from_str(text: &str) -> Result<Report, JsonError> {
    let declared: serde_json::Value = serde_json::from_str(text)?;
    match declared.get("schema").and_then(serde_json::Value::as_u64) {
        Some(found) if found != u64::from(SCHEMA) => Err(JsonError::Schema { found }),
        // From the text again, so that the message has line and column.
        _ => Ok(serde_json::from_str(text)?),
    }
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::report as fixture;

    use super::*;

    #[test]
    fn a_report_survives_the_round_trip() {
        for report in [fixture::empty(), fixture::checked(), fixture::tuned()] {
            let read = from_str(&to_string(&report).unwrap()).unwrap();
            assert!(read == report, "every bit of every time survives");
        }
    }

    #[test]
    fn what_is_not_a_number_survives_too() {
        let mut report = fixture::checked();
        report.cells[0].before.ratio = f64::NAN;
        report.cells[0].before.ratio_ci = (0.5, f64::INFINITY);
        report.cells[0].before.left_medians.clear();
        let read = from_str(&to_string(&report).unwrap()).unwrap();
        assert!(read.cells[0].before.ratio.is_nan() && read.cells[0].before.ratio_ci.1.is_nan());
        assert!(read.cells[1..] == report.cells[1..]);
    }

    #[test]
    fn another_schema_is_refused() {
        let text = to_string(&fixture::empty())
            .unwrap()
            .replacen("\"schema\": 1", "\"schema\": 99", 1);
        assert!(
            from_str(&text)
                .unwrap_err()
                .to_string()
                .starts_with("the report has schema 99")
        );
        assert!(
            from_str("{\"schema\": 1}")
                .unwrap_err()
                .to_string()
                .contains("missing field")
        );
    }

    /// `KILTER_BLESS=1 cargo test schema` rewrites the file.
    #[test]
    fn the_published_schema_is_current() {
        kilter_fixtures::published::assert_current("report", &kilter_render::json::schema::<Report>().unwrap());
    }
}
