//! `overlap.json`: the survey as it is, with a schema that is published in `configs/schema/overlap.schema.json`.

use std::io::ErrorKind;
use std::path::Path;

use kilter_model::survey::Survey;

/// Name of a survey's file in an output directory.
pub const FILE: &str = "overlap.json";

/// The survey in a directory, if it is one of this library (as it names itself) with so many ranks. A page about the
/// library can show its maps. An unreadable survey is ignored, because the page must not fail for it.
#[must_use]
pub fn beside(directory: &Path, library: &str, ranks: usize) -> Option<Survey> {
    let path = directory.join(FILE);
    let text = std::fs::read_to_string(&path)
        .inspect_err(|error| {
            if error.kind() != ErrorKind::NotFound {
                tracing::warn!(
                    "`{}` cannot be read, and its maps are not shown: {error}",
                    path.display()
                );
            }
        })
        .ok()?;
    let survey: Survey = serde_json::from_str(&text)
        .inspect_err(|error| {
            tracing::warn!(
                "`{}` is no survey of this version, and its maps are not shown: {error}; remove it, or run `kilter overlap` again",
                path.display()
            );
        })
        .ok()?;
    (survey.library == library && survey.ranks == ranks).then_some(survey)
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::survey as fixture;
    use kilter_render::json;

    use super::*;

    #[test]
    fn a_survey_survives_the_round_trip_and_one_of_an_older_version_is_read() {
        let survey = fixture::without_threads();
        let text = json::text(&survey).unwrap();
        assert_eq!(serde_json::from_str::<Survey>(&text).unwrap(), survey);
        let older = text.replacen("  \"processing_units_by\": \"hwloc 2.8\",\n", "", 1);
        assert!(older.len() < text.len());
        assert_eq!(serde_json::from_str::<Survey>(&older).unwrap().processing_units_by, "");
    }

    #[test]
    fn the_survey_beside_a_report_is_of_the_same_library_and_ranks() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let survey = fixture::without_threads();
        let found = |ranks| beside(directory, &survey.library, ranks);
        assert_eq!(found(2), None);
        std::fs::write(directory.join(FILE), json::text(&survey).unwrap()).unwrap();
        assert_eq!(found(2), Some(survey.clone()));
        assert_eq!(found(4), None);
        assert_eq!(beside(directory, "MPICH 4.0.2", 2), None);
        std::fs::write(directory.join(FILE), "{").unwrap();
        assert_eq!(found(2), None, "and the page is made");
    }

    /// Every word in a survey must be one of the schema's.
    #[test]
    fn the_schema_has_the_words_of_a_survey() {
        let schema = json::schema::<Survey>().unwrap();
        let survey = serde_json::to_value(fixture::without_threads()).unwrap();
        let mut words = vec![&survey["computation"]];
        words.extend(survey["maps"].as_array().unwrap().iter().map(|map| &map["benchmark"]));
        assert_eq!(words.len(), 7);
        for word in words {
            assert!(schema.contains(&word.to_string()), "{word}");
        }
    }

    /// `KILTER_BLESS=1 cargo test schema` rewrites the file.
    #[test]
    fn the_published_schema_is_current() {
        kilter_fixtures::published::assert_current("overlap", &json::schema::<Survey>().unwrap());
    }
}
