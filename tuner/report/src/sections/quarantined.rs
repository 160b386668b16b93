//! Candidates that misbehaved.

use std::fmt::Write as _;

use askama::Template;
use kilter_model::report::Quarantined;
use kilter_render::quoting;
use kilter_render::table::printable;

use super::{Section, View};
use crate::marks;

pub(super) static SECTION: Section = Section {
    id: "quarantined",
    navigation: Some("Quarantined"),
    fields: &["quarantined"],
    html,
    text,
    markdown,
};

#[derive(Template)]
#[template(
    source = r##"<section id="quarantined">
<h2>Quarantined candidates</h2>
<p class="note">These misbehaved while they were tried and were not considered further.</p>
<div class="scroll" role="region" tabindex="0" aria-label="Quarantined candidates">
<table>
<thead><tr><th scope="col">Candidate</th><th scope="col">What it did</th><th scope="col">Details</th></tr></thead>
<tbody>
{% for candidate in quarantined %}<tr><th scope="row"><code>{{ candidate.id }}</code></th><td>{{ candidate.what }}</td><td class="why">{{ candidate.detail }}</td></tr>
{% endfor %}</tbody></table></div>
</section>
"##,
    ext = "html"
)]
struct Page<'a> {
    quarantined: &'a [Quarantined],
}

fn html(view: &View<'_>) -> askama::Result<String> {
    let quarantined = &view.report.quarantined;
    if quarantined.is_empty() {
        return Ok(String::new());
    }
    Page { quarantined }.render()
}

fn text(view: &View<'_>) -> String {
    // A check tries no candidates.
    if view.report.command == "check" || view.report.quarantined.is_empty() {
        return String::new();
    }
    let mut out = "\nQuarantined\n".to_owned();
    for candidate in &view.report.quarantined {
        let _ = writeln!(
            out,
            "  {}: {}, {}",
            printable(&candidate.id),
            candidate.what,
            printable(&candidate.detail)
        );
    }
    out
}

fn markdown(view: &View<'_>) -> String {
    let all = view.report.quarantined.iter();
    marks::list(
        "Quarantined",
        all.map(|candidate| {
            format!(
                "{}: {}, {}",
                marks::code(&candidate.id),
                candidate.what,
                quoting::markdown(&candidate.detail)
            )
        }),
    )
}
