//! A section as somebody would add it: warnings that are only notes, with a heading of their own.

use askama::Template;
use kilter_render::quoting;
use kilter_render::table::printable;

use crate::marks;
use crate::sections::{Section, View};

pub(in crate::sections) static SECTION: Section = Section {
    id: "notes",
    navigation: Some("Notes"),
    fields: &["warnings"],
    html,
    text,
    markdown,
};

#[derive(Template)]
#[template(
    source = r##"<section id="notes">
<h2>Notes</h2>
<ul>{% for note in notes %}<li>{{ note }}</li>{% endfor %}</ul>
</section>
"##,
    ext = "html"
)]
struct Page<'a> {
    notes: Vec<&'a str>,
}

fn notes<'a>(view: &View<'a>) -> Vec<&'a str> {
    let warnings = view.report.warnings.iter();
    warnings.filter_map(|line| line.strip_prefix("note: ")).collect()
}

fn html(view: &View<'_>) -> askama::Result<String> {
    let notes = notes(view);
    if notes.is_empty() {
        return Ok(String::new());
    }
    Page { notes }.render()
}

fn text(view: &View<'_>) -> String {
    let lines = notes(view).into_iter();
    lines.map(|note| format!("note: {}\n", printable(note))).collect()
}

fn markdown(view: &View<'_>) -> String {
    marks::list("Notes", notes(view).into_iter().map(quoting::markdown))
}
