//! Guidelines, or sides of them, that could not be verified here.

use askama::Template;
use kilter_render::quoting;
use kilter_render::table::printable;

use super::{Section, View};
use crate::marks;
use crate::summary::not_verified;

pub(super) static SECTION: Section = Section {
    id: "not-verified",
    navigation: None,
    fields: &["not_verified", "unreached"],
    html,
    text,
    markdown,
};

#[derive(Template)]
#[template(
    source = r##"<section class="warnings" aria-label="Not verified">
<details><summary>Not verified here ({{ number }})</summary>
<ul>{% for line in lines %}<li>{{ line }}</li>{% endfor %}</ul></details>
</section>
"##,
    ext = "html"
)]
struct Page {
    number: usize,
    lines: Vec<String>,
}

fn html(view: &View<'_>) -> askama::Result<String> {
    let lines = not_verified(view.report);
    if lines.is_empty() {
        return Ok(String::new());
    }
    Page {
        number: view.report.not_verified.len(),
        lines,
    }
    .render()
}

fn text(view: &View<'_>) -> String {
    let lines = not_verified(view.report).into_iter();
    lines
        .map(|line| format!("not verified: {}\n", printable(&line)))
        .collect()
}

fn markdown(view: &View<'_>) -> String {
    let lines = not_verified(view.report);
    marks::list("Not verified", lines.iter().map(|line| quoting::markdown(line)))
}
