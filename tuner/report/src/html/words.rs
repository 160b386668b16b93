//! Words and numbers as the page has them.

use kilter_model::report::FixKind;
use kilter_render::format;

/// A time for the page.
pub(super) fn time(seconds: f64) -> String {
    format::seconds(seconds).replace("us", "µs")
}

/// A guideline's text for the page.
pub(super) fn typeset(expression: &str) -> String {
    expression.replace("<=", "⪯")
}

/// The kind of a change or candidate, in words.
pub(super) fn kind_words(kind: FixKind) -> &'static str {
    match kind {
        FixKind::Parameter => "parameter",
        FixKind::Mockup => "mock-up",
        FixKind::Algorithm => "algorithm",
    }
}

/// The parts of an id, each cut behind its equals sign, where a narrow page may break the line.
pub(super) fn settings(id: &str) -> Vec<(String, String)> {
    id.split_whitespace()
        .map(|part| part.split_at(part.find('=').map_or(part.len(), |at| at + 1)))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
