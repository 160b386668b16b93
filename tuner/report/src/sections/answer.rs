//! The answer: the result in one line, and what was done.

use std::fmt::Write as _;

use askama::Template;
use kilter_model::report::Report;
use kilter_render::table::printable;
use kilter_render::{format, quoting};

use super::changes::{self, ChangeView};
use super::{Section, View};
use crate::summary::Summary;

pub(super) static SECTION: Section = Section {
    id: "answer",
    navigation: None,
    fields: &["command", "library", "ranks", "gain", "cells", "targets", "changes"],
    html,
    text,
    markdown,
};

#[derive(Template)]
#[template(
    source = r##"<section id="answer" class="answer {{ mood }}">
<h1>{{ headline }}</h1>
{% if let Some(second) = second %}<p class="second">{{ second }}.</p>
{% endif -%}
{% for line in details %}<p>{{ line }}</p>
{% endfor %}
{%- if !changes.is_empty() %}<ol class="did">
{% for change in changes %}<li>{% if change.is_setting %}<code>{{ change.name }}</code> <span class="to">→</span>{% else %}{{ change.name }} now runs{% endif %} <code>{{ change.value }}</code>: {{ change.effect }}.{% if !change.answers.is_empty() %} For {{ change.answers }}.{% endif %}</li>
{% endfor %}</ol>
{% if more > 0 %}<p><a href="#changes">{{ more }} more of the deployed changes</a></p>
{% endif -%}
{% else if tuned || report.command == "tune" %}<p>Nothing was changed.</p>
{% endif %}
</section>
"##,
    ext = "html"
)]
struct Answer<'a> {
    report: &'a Report,
    tuned: bool,
    headline: String,
    /// Guidelines and targets, where gains are the headline.
    second: Option<String>,
    /// `good`, `bad` or `open`.
    mood: &'static str,
    details: Vec<String>,
    changes: Vec<ChangeView>,
    /// Changes that are not listed here.
    more: usize,
}

/// Changes that are listed with the answer: the picture of the gains shall not lie far below it.
const MOST_LISTED: usize = 6;

fn html(view: &View<'_>) -> askama::Result<String> {
    let mut changes = changes::views(view.report);
    let more = changes.len().saturating_sub(MOST_LISTED);
    changes.truncate(MOST_LISTED);
    Answer {
        report: view.report,
        tuned: view.tuned(),
        headline: view.summary.headline(),
        second: view.summary.second(),
        mood: mood(view),
        details: details(&view.summary),
        changes,
        more,
    }
    .render()
}

fn text(view: &View<'_>) -> String {
    let report = view.report;
    let hosts = match report.provenance.hosts.as_slice() {
        [] => String::new(),
        [host] => format!(" on {host}"),
        hosts => format!(" on {} hosts", hosts.len()),
    };
    let second = view.summary.second();
    let second = second.map_or_else(String::new, |second| format!("{}.\n", printable(&second)));
    format!(
        "{} {}, {}{hosts}\n{}.\n{}",
        printable(&report.library.name),
        printable(&report.library.version),
        format::count(report.ranks, "rank"),
        printable(&view.summary.headline()),
        second
    )
}

fn markdown(view: &View<'_>) -> String {
    let report = view.report;
    let mut out = format!("# {}\n\n", quoting::markdown(&view.summary.headline()));
    if let Some(second) = view.summary.second() {
        let _ = writeln!(out, "{}.\n", quoting::markdown(&second));
    }
    let _ = writeln!(
        out,
        "{} {}, {} on {}; R = {}, α = {}, effect floor {}; {}.",
        quoting::markdown(&report.library.name),
        quoting::markdown(&report.library.version),
        format::count(report.ranks, "rank"),
        quoting::markdown(&report.provenance.hosts.join(", ")),
        report.provenance.launches,
        report.provenance.alpha,
        format::percent(report.provenance.effect_floor),
        quoting::markdown(&report.provenance.started),
    );
    out
}

/// The headline's colour: what is left to mend, of cells and of targets for overlap, and what became slower.
fn mood(view: &View<'_>) -> &'static str {
    let (summary, gain) = (&view.summary, view.report.gain.as_ref());
    let targets = &summary.targets;
    let remaining = summary.remaining + targets.missed;
    let slower = gain.map_or(0, |gain| gain.slower);
    let unproven = summary.unproven + summary.left + targets.unproven + slower;
    let fixed = summary.fixed + targets.met;
    match (remaining, unproven, summary.before.holds + targets.hold) {
        // Nothing measured or nothing certain is no good news.
        (0, _, 0) if fixed == 0 => "open",
        (0, 0, _) => "good",
        (0, _, _) => "open",
        _ if (fixed > 0 || gain.is_some_and(|gain| gain.faster > gain.slower))
            && summary.introduced == summary.outpaced =>
        {
            "open"
        }
        _ => "bad",
    }
}

fn details(summary: &Summary<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let before = summary.before;
    if before.total() == 0 {
        return vec!["No cell was measured. Check the sizes and guidelines asked for, and the job's log.".to_owned()];
    }
    let guidelines = summary.groups.len();
    let mut scope = format!(
        "{} of {} at",
        format::count(before.total(), "cell"),
        format::count(guidelines, "guideline")
    );
    let mut sizes: Vec<u64> = summary
        .groups
        .iter()
        .flat_map(|group| &group.cells)
        .map(|cell| cell.bytes)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    match sizes.as_slice() {
        [only] => scope.push_str(&format!(" {}.", format::bytes(*only))),
        [first, .., last] => {
            scope.push_str(&format!(
                " {} sizes from {} to {}.",
                sizes.len(),
                format::bytes(*first),
                format::bytes(*last)
            ));
        }
        [] => {}
    }
    lines.push(scope);
    let slower = summary.introduced - summary.outpaced;
    if slower > 0 {
        lines.push(format!(
            "{} violated only after tuning: the change that causes it must be reconsidered.",
            format::count(slower, "cell")
        ));
    }
    if summary.outpaced > 0 {
        lines.push(format!(
            "{} violated only after tuning by bounds that became faster: the calls themselves are no slower than before. More rounds or a larger budget may fix them, too.",
            format::count(summary.outpaced, "cell")
        ));
    }
    if summary.unproven > 0 {
        lines.push(format!(
            "{} violated before and undecided after: use more launches to decide.",
            format::count(summary.unproven, "cell")
        ));
    }
    let now = summary.after.unwrap_or(before);
    let undecided = now.undecided.saturating_sub(summary.unproven);
    if undecided > 0 {
        lines.push(format!(
            "{} undecided: the samples do not tell; use more launches.",
            format::count(undecided, "cell")
        ));
    }
    if now.screened > 0 {
        lines.push(format!(
            "{} only screened: a violation is neither shown nor excluded, each says why; use a larger budget.",
            format::count(now.screened, "cell")
        ));
    }
    if now.not_again > 0 {
        lines.push(format!(
            "{} not measured again, though what is deployed may act on them: nothing is known of them now; use a larger budget.",
            format::count(now.not_again, "cell")
        ));
    }
    if now.unstable > 0 {
        lines.push(format!(
            "{} unstable: the machine changed while it was measured; repeat on a quiet machine.",
            format::count(now.unstable, "cell")
        ));
    }
    lines
}
