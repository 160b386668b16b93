//! Candidates that competed for a violated cell, as bars beside the guideline's bound, and what the cost models say of them.

use std::fmt::Write as _;

use askama::Template;
use kilter_model::report::Contest;
use kilter_render::table::printable;
use kilter_render::{format, quoting};

use super::{Section, View, cost_model};
use crate::words::{kind_words, settings, time};
use crate::{marks, terminal};

pub(super) static SECTION: Section = Section {
    id: "contests",
    navigation: Some("What was tried"),
    fields: &["contests"],
    html,
    text,
    markdown,
};

#[derive(Template)]
#[template(
    source = r##"<section id="contests">
<h2>What was tried</h2>
<p class="note">Fastest first. Bars are times; the upright line is the guideline’s bound, which a fix must reach.</p>
{% for contest in contests %}<div class="contest" id="contest-{{ contest.number }}">
<h3>{{ contest.title }} <span>bound {{ contest.bound }}</span></h3>
{% call contest_table(contest.title, contest.rows) %}{% endcall %}
{% if !contest.rest.is_empty() %}<details><summary>{{ contest.rest.len() }} slower candidates</summary>
{% call contest_table(contest.title, contest.rest) %}{% endcall %}
</details>{% endif %}
{% if !contest.proof.is_empty() %}<p class="note">The library’s algorithms: {{ contest.proof }}.</p>{% endif %}
{% if !contest.model.is_empty() %}<details><summary>What the cost model says</summary>
<ul>{% for line in contest.model %}<li>{{ line }}</li>{% endfor %}</ul>
</details>{% endif %}
{% if !contest.refused.is_empty() %}<details><summary>Not measured, since the options forbid it</summary>
<ul>{% for line in contest.refused %}<li>{{ line }}</li>{% endfor %}</ul>
</details>{% endif %}
</div>
{% endfor %}
</section>

{% macro contest_table(title, rows) %}
<div class="scroll" role="region" tabindex="0" aria-label="Candidates for {{ title }}">
<table class="race">
<thead><tr><th scope="col">Candidate</th><th scope="col">Kind</th><th scope="col" class="n">Time</th><th scope="col" class="bars"><span class="sr">Bar</span></th><th scope="col" class="n">of default</th><th scope="col" class="n">of bound</th><th scope="col"></th></tr></thead>
<tbody>
{% for row in rows.iter() %}<tr class="{% if row.chosen %}chosen{% endif %}{% if row.is_default %} default{% endif %}"><th scope="row">{% for (name, value) in row.settings.iter() %}<code>{{ name }}<wbr>{{ value }}</code> {% endfor %}</th><td>{{ row.kind }}</td><td class="n">{{ row.time }}</td><td class="bars" aria-hidden="true"><span class="bar"><i style="width:{{ row.bar }}%"></i><b style="left:{{ row.bound_at }}%"></b></span></td><td class="n">{{ row.to_default }}</td><td class="n">{{ row.to_bound }}</td><td>{{ row.verdict }}</td></tr>
{% endfor %}</tbody></table></div>
{% endmacro %}
"##,
    ext = "html"
)]
struct Contests {
    contests: Vec<ContestView>,
}

fn html(view: &View<'_>) -> askama::Result<String> {
    let contests = &view.report.contests;
    if contests.is_empty() {
        return Ok(String::new());
    }
    let numbered = contests.iter().enumerate();
    Contests {
        contests: numbered
            .map(|(number, contest)| ContestView::of(number, contest))
            .collect(),
    }
    .render()
}

fn text(view: &View<'_>) -> String {
    let mut out = String::new();
    let explained = cost_model::explained(&view.report.contests);
    let rows = explained.iter().map(|(_, lines)| lines.len()).sum();
    if view.is_brief && rows > terminal::SHORT {
        return terminal::counted("What the cost models predicted", rows);
    }
    for (cell, lines) in explained {
        let _ = writeln!(out, "\nThe cost model of {}", printable(&cell));
        for line in lines {
            let _ = writeln!(out, "  {}", printable(&line));
        }
    }
    out
}

fn markdown(view: &View<'_>) -> String {
    let all = cost_model::explained(&view.report.contests).into_iter();
    all.map(|(cell, lines)| {
        let title = format!("The cost model of {}", quoting::markdown(&cell));
        marks::list(&title, lines.iter().map(|line| quoting::markdown(line)))
    })
    .collect()
}

/// The contest for one violated cell.
struct ContestView {
    number: usize,
    title: String,
    bound: String,
    rows: Vec<ContestantView>,
    /// Rows that are folded away.
    rest: Vec<ContestantView>,
    /// Evidence that the library's algorithms act; may be empty.
    proof: String,
    /// Statements of the cost models.
    model: Vec<String>,
    /// Candidates that the options forbid, with the reasons.
    refused: Vec<String>,
}

/// One candidate.
struct ContestantView {
    settings: Vec<(String, String)>,
    kind: &'static str,
    chosen: bool,
    is_default: bool,
    time: String,
    to_default: String,
    to_bound: String,
    /// Chosen, among the best, or why it is not deployed although it was faster.
    verdict: String,
    /// Length of the bar and place of the bound, in percent.
    bar: String,
    bound_at: String,
}

/// Candidates shown without unfolding.
const SHOWN: usize = 8;

impl ContestView {
    /// The view of the contest with this place in the report.
    fn of(number: usize, contest: &Contest) -> Self {
        let finite = |value: f64| value.is_finite() && value > 0.0;
        let slowest = contest
            .candidates
            .iter()
            .map(|row| row.seconds)
            .filter(|s| finite(*s))
            .fold(0.0, f64::max);
        let bounds = contest
            .candidates
            .iter()
            .map(|row| row.seconds / row.ratio_to_bound)
            .filter(|bound| finite(*bound));
        let mut bounds: Vec<f64> = bounds.collect();
        bounds.sort_by(f64::total_cmp);
        let bound = bounds.get(bounds.len() / 2).copied();
        let scale = slowest.max(bound.unwrap_or(0.0));
        let percent = |seconds: f64| {
            if finite(seconds) && scale > 0.0 {
                format!("{:.1}", 100.0 * seconds / scale)
            } else {
                "0".to_owned()
            }
        };
        let mut rows = Vec::new();
        let mut rest = Vec::new();
        for (place, row) in contest.candidates.iter().enumerate() {
            let view = ContestantView {
                settings: settings(&row.id),
                kind: row.kind.map_or("as delivered", kind_words),
                chosen: row.chosen,
                is_default: row.kind.is_none(),
                time: time(row.seconds),
                to_default: format::ratio(row.ratio_to_default),
                to_bound: format::ratio(row.ratio_to_bound),
                verdict: match (row.chosen, &row.not_deployed, row.among_best) {
                    (true, ..) => "chosen".to_owned(),
                    (false, Some(why), _) => why.to_string(),
                    (false, None, true) => "among the best".to_owned(),
                    (false, None, false) => String::new(),
                },
                bar: percent(row.seconds),
                bound_at: bound.map_or_else(|| "0".to_owned(), percent),
            };
            if place < SHOWN || view.chosen || view.is_default {
                rows.push(view)
            } else {
                rest.push(view)
            }
        }
        Self {
            number,
            title: format!(
                "{} at {}",
                format::function(&contest.function),
                format::bytes(contest.bytes)
            ),
            bound: bound.map_or_else(|| format::NONE.to_owned(), time),
            rows,
            rest,
            proof: contest.proof.clone().unwrap_or_default(),
            model: cost_model::lines(contest)
                .iter()
                .map(|line| line.replace(" us", " µs"))
                .collect(),
            refused: contest
                .refused
                .iter()
                .map(|refused| format!("{}: {}", refused.id, refused.because))
                .collect(),
        }
    }
}
