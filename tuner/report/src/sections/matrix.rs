//! Function against size: table 4 of PGMPI.

use std::collections::BTreeMap;

use askama::Template;
use kilter_model::report::Cell;
use kilter_render::format;

use super::{Section, View, nothing};
use crate::summary::{Group, Standing, kind_letter};
use crate::tables::{ORDER, class};
use crate::words::typeset;

pub(super) static SECTION: Section = Section {
    id: "matrix",
    navigation: Some("By size"),
    fields: &["cells"],
    html,
    text: nothing,
    markdown: nothing,
};

#[derive(Template)]
#[template(
    source = r##"<section id="matrix">
<h2>Violations by function and size</h2>
<p class="legend">{% for mark in matrix.legend %}<span class="key"><span class="mark {{ mark.class }}" aria-hidden="true">{{ mark.sign }}</span> {{ mark.words }}</span> {% endfor %}<span class="key">blank: not measured</span></p>
<div class="scroll" role="region" tabindex="0" aria-label="Violations by function and size">
<table class="matrix">
<thead><tr><th scope="col">Type</th><th scope="col" class="wide">Guideline</th>{% for size in matrix.sizes %}<th scope="col" class="size"><span>{{ size }}</span></th>{% endfor %}</tr></thead>
<tbody>
{% for row in matrix.rows %}<tr><td class="type">{{ row.letter }}</td><th scope="row">{{ row.guideline }} <span class="expr">{{ row.expression }}</span></th>{% for mark in row.marks %}<td class="{{ mark.class }}" title="{{ mark.words }}">{% if !mark.sign.is_empty() %}<span aria-hidden="true">{{ mark.sign }}</span><span class="sr">{{ mark.words }}</span>{% endif %}</td>{% endfor %}</tr>
{% endfor %}</tbody></table></div>
<p class="note">Types: m monotony, s split-robustness, p pattern. {% if matrix.silent > 0 %}{{ matrix.silent }} more {% if matrix.silent == 1 %}guideline is{% else %}guidelines are{% endif %} violated at no size and not shown here.{% endif %}</p>
</section>
"##,
    ext = "html"
)]
struct Page {
    matrix: Matrix,
}

fn html(view: &View<'_>) -> askama::Result<String> {
    let groups = &view.summary.groups;
    if !groups.iter().any(Group::concerns) {
        return Ok(String::new());
    }
    Page {
        matrix: Matrix::of(groups),
    }
    .render()
}

/// Function against size.
struct Matrix {
    /// Column heads.
    sizes: Vec<String>,
    /// One row per violated guideline and function.
    rows: Vec<MatrixRow>,
    /// Marks that occur, with their meaning.
    legend: Vec<Mark>,
    /// Guidelines without a violation, which have no row.
    silent: usize,
}

/// One guideline and function.
struct MatrixRow {
    letter: String,
    guideline: String,
    expression: String,
    marks: Vec<Mark>,
}

/// A mark in a table.
#[derive(Clone)]
pub(super) struct Mark {
    /// Style class; empty where nothing was measured.
    pub(super) class: &'static str,
    /// The mark.
    pub(super) sign: &'static str,
    /// The meaning, with numbers where the mark is a cell's.
    pub(super) words: String,
}

impl Matrix {
    fn of(groups: &[Group<'_>]) -> Self {
        let mut sizes: Vec<u64> = groups
            .iter()
            .flat_map(|group| &group.cells)
            .map(|cell| cell.bytes)
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        let shown: Vec<_> = groups.iter().filter(|group| group.concerns()).collect();
        let rows: Vec<_> = shown.iter().map(|group| row(group, &sizes)).collect();
        let occurring: Vec<Standing> = shown
            .iter()
            .flat_map(|group| &group.cells)
            .map(|cell| Standing::of(cell))
            .collect();
        let legend = ORDER
            .into_iter()
            .filter(|standing| occurring.contains(standing))
            .map(|standing| Mark {
                class: class(standing),
                sign: standing.mark(),
                words: standing.words().to_owned(),
            })
            .collect();
        Self {
            sizes: sizes.into_iter().map(format::bytes).collect(),
            silent: groups.len() - shown.len(),
            rows,
            legend,
        }
    }
}

fn row(group: &Group<'_>, sizes: &[u64]) -> MatrixRow {
    let rank = |cell: &Cell| ORDER.iter().position(|standing| *standing == Standing::of(cell));
    let mut worst: BTreeMap<u64, &Cell> = BTreeMap::new();
    for cell in &group.cells {
        let kept = worst.entry(cell.bytes).or_insert(cell);
        if rank(cell) < rank(kept) {
            *kept = cell;
        }
    }
    let marks = sizes.iter().map(|bytes| match worst.get(bytes) {
        Some(cell) => {
            let standing = Standing::of(cell);
            Mark {
                class: class(standing),
                sign: standing.mark(),
                words: words(cell, standing),
            }
        }
        None => Mark {
            class: "",
            sign: "",
            words: "not measured".to_owned(),
        },
    });
    MatrixRow {
        letter: kind_letter(group.kind).to_owned(),
        guideline: group.guideline.to_owned(),
        expression: typeset(&group.expression),
        marks: marks.collect(),
    }
}

fn words(cell: &Cell, standing: Standing) -> String {
    let mut text = format!(
        "{}: {}, ratio {}",
        format::bytes(cell.bytes),
        standing.words(),
        format::ratio(cell.before.ratio)
    );
    if let Some(after) = &cell.after {
        text.push_str(&format!(", after {}", format::ratio(after.ratio)));
    }
    text
}
