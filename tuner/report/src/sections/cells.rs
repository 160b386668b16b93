//! All cells with all their numbers, and the number of each verdict.

use std::fmt::Write as _;

use askama::Template;
use kilter_render::format;
use kilter_stats::verdict::Comparison;

use super::{Section, View, nothing};
use crate::summary::{Group, outcome_word};
use crate::words::{time, typeset, unmeasured};

pub(super) static SECTION: Section = Section {
    id: "cells",
    navigation: Some("All cells"),
    fields: &["cells"],
    html,
    text,
    markdown: nothing,
};

#[derive(Template)]
#[template(
    source = r##"<section id="cells">
<h2>All cells</h2>
<details><summary>{{ cells.len() }} cells with ratio, interval, p-values and medians</summary>
<div class="scroll" role="region" tabindex="0" aria-label="All cells">
<table class="sortable cells">
<thead><tr><th scope="col">Guideline</th><th scope="col" class="n">Size</th><th scope="col">Verdict</th><th scope="col" class="n">Ratio</th><th scope="col" class="n">95 % interval</th><th scope="col" class="n">p</th><th scope="col" class="n">p adj.</th><th scope="col" class="n">Left</th><th scope="col" class="n">Right</th>{% if tuned %}<th scope="col">Verdict after</th><th scope="col" class="n">Ratio after</th><th scope="col" class="n">95 % interval</th><th scope="col" class="n">p adj.</th><th scope="col" class="n">Left</th><th scope="col" class="n">Right</th>{% endif %}</tr></thead>
<tbody>
{% for cell in cells %}<tr><th scope="row">{{ cell.guideline }} <span class="expr">{{ cell.expression }}</span></th><td class="n" data-v="{{ cell.bytes }}">{{ cell.size }}</td>
{%- call numbers(cell.before, true) %}{% endcall %}
{%- if tuned %}{% match cell.after %}{% when Some with (after) %}{% call numbers(after, false) %}{% endcall %}{% when None %}<td>{{ cell.unmeasured }}</td><td></td><td></td><td></td><td></td><td></td>{% endmatch %}{% endif %}</tr>
{% endfor %}</tbody></table></div>
</details>
</section>

{% macro numbers(c, full) %}<td>{{ c.verdict }}</td><td class="n" data-v="{{ c.ratio_raw }}">{{ c.ratio }}</td><td class="n">{{ c.interval }}</td>{% if full %}<td class="n">{{ c.p }}</td>{% endif %}<td class="n" data-v="{{ c.p_adjusted_raw }}">{{ c.p_adjusted }}</td><td class="n" data-v="{{ c.left_raw }}">{{ c.left }}</td><td class="n" data-v="{{ c.right_raw }}">{{ c.right }}</td>{% endmacro %}
"##,
    ext = "html"
)]
struct Cells {
    tuned: bool,
    cells: Vec<CellRow>,
}

fn html(view: &View<'_>) -> askama::Result<String> {
    let cells = cell_rows(&view.summary.groups);
    if cells.is_empty() {
        return Ok(String::new());
    }
    Cells {
        tuned: view.tuned(),
        cells,
    }
    .render()
}

fn text(view: &View<'_>) -> String {
    let (report, summary) = (view.report, &view.summary);
    let now = summary.after.unwrap_or(summary.before);
    if now.total() == 0 {
        return String::new();
    }
    let mut out = format!("\n{}", format::count(now.total(), "cell"));
    for (number, word) in [
        (now.holds, "hold"),
        (now.violated, "violated"),
        (now.undecided, "undecided"),
        (now.unstable, "unstable"),
        (now.screened, "only screened"),
        (now.not_again, "not measured again"),
    ] {
        if number == 0 && matches!(word, "only screened" | "not measured again") {
            continue;
        }
        let _ = write!(out, "{} {number} {word}", if word == "hold" { ":" } else { "," });
    }
    out.push_str(".\n");
    if now.undecided > 0 {
        let _ = writeln!(
            out,
            "{} undecided with {}: use more (--budget, --launches {}).",
            format::count(now.undecided, "cell"),
            format::count(report.provenance.launches, "launch"),
            report.provenance.launches.max(1) * 2,
        );
    }
    if now.screened > 0 {
        let _ = writeln!(
            out,
            "{} only screened: a violation is neither shown nor excluded, each says why. Raise --budget, or verify less (--functions, --sizes).",
            format::count(now.screened, "cell")
        );
    }
    if now.unstable > 0 {
        let _ = writeln!(
            out,
            "{} unstable: repeat on a quiet machine.",
            format::count(now.unstable, "cell")
        );
    }
    out
}

/// A cell with all its numbers.
struct CellRow {
    pub(super) guideline: String,
    pub(super) expression: String,
    pub(super) bytes: u64,
    pub(super) size: String,
    pub(super) before: Numbers,
    pub(super) after: Option<Numbers>,
    /// The words where it was not measured again.
    unmeasured: &'static str,
}

/// A comparison as text, with the raw numbers for sorting.
pub(super) struct Numbers {
    pub(super) verdict: &'static str,
    pub(super) ratio: String,
    pub(super) ratio_raw: f64,
    pub(super) interval: String,
    pub(super) p: String,
    pub(super) p_adjusted: String,
    pub(super) p_adjusted_raw: f64,
    pub(super) stars: &'static str,
    pub(super) left: String,
    pub(super) left_raw: f64,
    pub(super) right: String,
    pub(super) right_raw: f64,
}

impl Numbers {
    pub(super) fn of(comparison: &Comparison) -> Self {
        Self {
            verdict: outcome_word(comparison.verdict),
            ratio: format::ratio(comparison.ratio),
            ratio_raw: comparison.ratio,
            interval: format::interval(comparison.ratio_ci),
            p: format::p_value(comparison.p),
            p_adjusted: format::p_value(comparison.p_adjusted),
            p_adjusted_raw: comparison.p_adjusted,
            stars: format::stars(comparison.p_adjusted),
            left: time(comparison.seconds),
            left_raw: comparison.seconds,
            right: time(comparison.right_seconds),
            right_raw: comparison.right_seconds,
        }
    }
}

fn cell_rows(groups: &[Group<'_>]) -> Vec<CellRow> {
    groups
        .iter()
        .flat_map(|group| &group.cells)
        .map(|cell| CellRow {
            guideline: cell.guideline.clone(),
            expression: typeset(&cell.expression),
            bytes: cell.bytes,
            size: format::bytes(cell.bytes),
            before: Numbers::of(&cell.before),
            after: cell.after.as_ref().map(Numbers::of),
            unmeasured: unmeasured(cell),
        })
        .collect()
}
