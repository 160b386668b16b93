//! Deployed changes.

use std::fmt::Write as _;

use askama::Template;
use kilter_model::report::{DeployedChange, FixKind, Report};
use kilter_render::table::{plain, printable, trimmed};
use kilter_render::{format, quoting};

use super::{Section, View};
use crate::marks;
use crate::words::kind_words;

pub(super) static SECTION: Section = Section {
    id: "changes",
    navigation: Some("Changes"),
    fields: &["changes"],
    html,
    text,
    markdown,
};

#[derive(Template)]
#[template(
    source = r##"<section id="changes">
<h2>Deployed changes</h2>
<div class="cards">
{% for change in changes %}<article class="card">
<h3><code>{{ change.name }}</code> <span class="to">→</span> <code>{{ change.value }}</code></h3>
<p class="gain">{{ change.gain }}</p>
<p>{{ change.why }}</p>
<dl><div><dt>Kind</dt><dd>{{ change.kind }}</dd></div><div><dt>File</dt><dd><code>{{ change.file }}</code></dd></div><div><dt>Answers</dt><dd>{% for cell in change.cells %}{% if !loop.first %}<br>{% endif %}{{ cell }}{% endfor %}</dd></div></dl>
</article>
{% endfor %}</div>
</section>
"##,
    ext = "html"
)]
struct Changes {
    changes: Vec<ChangeView>,
}

/// One deployed change.
pub(super) struct ChangeView {
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) value: String,
    file: String,
    why: String,
    pub(super) gain: String,
    pub(super) cells: Vec<String>,
}

fn html(view: &View<'_>) -> askama::Result<String> {
    if view.report.changes.is_empty() {
        return Ok(String::new());
    }
    Changes {
        changes: views(view.report),
    }
    .render()
}

fn text(view: &View<'_>) -> String {
    if view.report.changes.is_empty() {
        return String::new();
    }
    let mut table = plain(&["name", "value", "file", "gain"], &[3]);
    for change in &view.report.changes {
        table.add_row([
            printable(&change.name),
            printable(&change.value),
            printable(&change.file),
            format!("{} x", format::ratio(change.gain)),
        ]);
    }
    format!("\nDeployed changes\n{}\n", trimmed(&table))
}

fn markdown(view: &View<'_>) -> String {
    if view.report.changes.is_empty() {
        return String::new();
    }
    let mut out = "\n## Deployed changes\n\n| change | file | gain | why |\n| --- | --- | ---: | --- |\n".to_owned();
    for change in &view.report.changes {
        let _ = writeln!(
            out,
            "| {} = {} | {} | {} | {} |",
            marks::code(&change.name),
            marks::code(&change.value),
            marks::code(&change.file),
            format::ratio(change.gain),
            quoting::markdown(&change.why),
        );
    }
    out
}

/// The changes of a report.
pub(super) fn views(report: &Report) -> Vec<ChangeView> {
    report.changes.iter().map(change).collect()
}

fn change(change: &DeployedChange) -> ChangeView {
    ChangeView {
        kind: kind_words(change.kind),
        name: match change.kind {
            FixKind::Parameter => change.name.clone(),
            FixKind::Mockup | FixKind::Algorithm => format::function(&change.name),
        },
        value: change.value.clone(),
        file: change.file.clone(),
        why: sentence(&change.why),
        gain: gain(change.gain),
        cells: change.cells.iter().map(|cell| cell_words(cell)).collect(),
    }
}

/// Ends in a full stop.
fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.ends_with(['.', '!', '?']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

/// A gain in words: time before over time after.
fn gain(gain: f64) -> String {
    match gain {
        g if !g.is_finite() || g <= 0.0 => "gain not known".to_owned(),
        g if g >= 1.0 => format!("{} times as fast", format::ratio(g)),
        g => format!("takes {} times as long", format::ratio(1.0 / g)),
    }
}

/// `GL8 reduce 4096` for people; anything else as it is.
fn cell_words(cell: &str) -> String {
    match cell.split_whitespace().collect::<Vec<_>>().as_slice() {
        [guideline, function, bytes] => match bytes.parse() {
            Ok(bytes) => format!("{guideline} {} at {}", format::function(function), format::bytes(bytes)),
            Err(_) => cell.to_owned(),
        },
        _ => cell.to_owned(),
    }
}
