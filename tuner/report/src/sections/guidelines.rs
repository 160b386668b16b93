//! Verdicts per guideline and per type: tables 3 and 2 of PGMPI.

use askama::Template;
use kilter_render::format;

use super::matrix::Mark;
use super::{Section, View, nothing};
use crate::summary::{Group, Standing, kind_letter};
use crate::tables::{ORDER, class};
use crate::words::typeset;

pub(super) static SECTION: Section = Section {
    id: "guidelines",
    navigation: Some("Guidelines"),
    fields: &["cells"],
    html,
    text: nothing,
    markdown: nothing,
};

#[derive(Template)]
#[template(
    source = r##"<section id="guidelines">
<h2>Guidelines</h2>
<p class="types">{% for row in types %}<span>{{ row.name }} ({{ row.letter }}): <b>{{ row.before }}/{{ row.total }}</b> violated{% if tuned %} before, <b>{{ row.now }}/{{ row.total }}</b> after{% endif %}</span>{% endfor %}</p>
<div class="scroll" role="region" tabindex="0" aria-label="Verdicts per guideline">
<table class="sortable">
<thead><tr><th scope="col">Guideline</th><th scope="col">Type</th><th scope="col" class="n">Sizes</th><th scope="col" class="n">Violated{% if tuned %} before{% endif %}</th>{% if tuned %}<th scope="col" class="n">Violated after</th>{% endif %}<th scope="col" class="n">Open</th><th scope="col" class="n">Hold</th><th scope="col" class="n">Largest ratio</th></tr></thead>
<tbody>
{% for row in guidelines %}<tr><th scope="row"><span class="mark {{ row.mark.class }}" aria-hidden="true">{{ row.mark.sign }}</span> {{ row.guideline }} <span class="expr">{{ row.expression }}</span></th><td>{{ row.letter }}</td><td class="n">{{ row.sizes }}</td><td class="n{% if row.violated > 0 %} strong{% else %} zero{% endif %}">{{ row.violated }}</td>{% if tuned %}<td class="n{% if row.violated_now > 0 %} strong{% else %} zero{% endif %}">{{ row.violated_now }}</td>{% endif %}<td class="n{% if row.undecided == 0 %} zero{% endif %}">{{ row.undecided }}</td><td class="n">{{ row.holds }}</td><td class="n" data-v="{{ row.worst }}">{{ row.worst }} <span class="ci">at {{ row.worst_at }}</span></td></tr>
{% endfor %}</tbody></table></div>
<p class="note">Open: undecided or unstable{% if tuned %} at the end of the run. Largest ratio: before any change{% endif %}.</p>
</section>
"##,
    ext = "html"
)]
struct Guidelines {
    tuned: bool,
    types: Vec<TypeRow>,
    guidelines: Vec<GuidelineRow>,
}

fn html(view: &View<'_>) -> askama::Result<String> {
    let groups = &view.summary.groups;
    if groups.is_empty() {
        return Ok(String::new());
    }
    Guidelines {
        tuned: view.tuned(),
        types: type_rows(groups),
        guidelines: guideline_rows(groups),
    }
    .render()
}

/// Verdicts of one guideline for one function.
struct GuidelineRow {
    letter: String,
    guideline: String,
    expression: String,
    /// `●` where violated before, `○` where that is gone, empty where nothing was violated.
    mark: Mark,
    sizes: usize,
    violated: usize,
    violated_now: usize,
    undecided: usize,
    holds: usize,
    /// Largest ratio, before tuning, and where.
    worst: String,
    worst_at: String,
}

fn guideline_rows(groups: &[Group<'_>]) -> Vec<GuidelineRow> {
    groups
        .iter()
        .map(|group| {
            let (before, now) = (group.before(), group.now());
            let standing = ORDER
                .into_iter()
                .find(|s| group.cells.iter().any(|cell| Standing::of(cell) == *s));
            let worst = group
                .cells
                .iter()
                .filter(|cell| cell.before.ratio.is_finite())
                .max_by(|a, b| a.before.ratio.total_cmp(&b.before.ratio));
            GuidelineRow {
                letter: kind_letter(group.kind).to_owned(),
                guideline: group.guideline.to_owned(),
                expression: typeset(&group.expression),
                mark: standing.map_or(
                    Mark {
                        class: "",
                        sign: "",
                        words: String::new(),
                    },
                    |standing| Mark {
                        class: class(standing),
                        sign: standing.mark(),
                        words: standing.words().to_owned(),
                    },
                ),
                sizes: before.total(),
                violated: before.violated,
                violated_now: now.violated,
                undecided: now.undecided + now.unstable + now.screened + now.not_again,
                holds: now.holds,
                worst: worst.map_or_else(|| format::NONE.to_owned(), |cell| format::ratio(cell.before.ratio)),
                worst_at: worst.map_or_else(String::new, |cell| format::bytes(cell.bytes)),
            }
        })
        .collect()
}

/// Violated guidelines of one type.
struct TypeRow {
    letter: String,
    name: String,
    before: usize,
    now: usize,
    total: usize,
}

/// Counts as PGMPI does: a guideline of a function is violated if it is at any size.
fn type_rows(groups: &[Group<'_>]) -> Vec<TypeRow> {
    let mut rows: Vec<TypeRow> = Vec::new();
    for group in groups {
        if rows.last().is_none_or(|row| row.name != group.kind) {
            let letter = kind_letter(group.kind).to_owned();
            rows.push(TypeRow {
                letter,
                name: group.kind.to_owned(),
                before: 0,
                now: 0,
                total: 0,
            });
        }
        if let Some(row) = rows.last_mut() {
            row.total += 1;
            row.before += usize::from(group.before().violated > 0);
            row.now += usize::from(group.now().violated > 0);
        }
    }
    rows
}
