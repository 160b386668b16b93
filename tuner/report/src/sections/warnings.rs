//! Warnings of the run.

use askama::Template;
use kilter_render::quoting;
use kilter_render::table::printable;

use super::{Section, View};
use crate::marks;

pub(super) static SECTION: Section = Section {
    id: "warnings",
    navigation: None,
    fields: &["warnings"],
    html,
    text,
    markdown,
};

#[derive(Template)]
#[template(
    source = r##"<section class="warnings" aria-label="Warnings">
<h2>Warnings</h2>
<ul>{% for warning in warnings %}<li>{{ warning }}</li>{% endfor %}</ul>
</section>
"##,
    ext = "html"
)]
struct Warnings<'a> {
    warnings: &'a [String],
}

fn html(view: &View<'_>) -> askama::Result<String> {
    let warnings = &view.report.warnings;
    if warnings.is_empty() {
        return Ok(String::new());
    }
    Warnings { warnings }.render()
}

fn text(view: &View<'_>) -> String {
    let lines = view.report.warnings.iter();
    lines
        .map(|warning| format!("warning: {}\n", printable(warning)))
        .collect()
}

fn markdown(view: &View<'_>) -> String {
    let lines = view.report.warnings.iter();
    marks::list("Warnings", lines.map(|warning| quoting::markdown(warning)))
}
