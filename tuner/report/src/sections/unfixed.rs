//! Violated cells without a proven fix, and why there is none.

use std::fmt::Write as _;

use askama::Template;
use kilter_model::report::Cell;
use kilter_render::table::printable;
use kilter_render::{format, quoting};

use super::{Section, View};
use crate::marks;
use crate::summary::{Group, Standing, current, is_left};
use crate::words::{sizes, typeset};

pub(super) static SECTION: Section = Section {
    id: "unfixed",
    navigation: Some("Not fixed"),
    fields: &["cells"],
    html,
    text,
    markdown,
};

#[derive(Template)]
#[template(
    source = r##"<section id="unfixed">
<h2>Not fixed, and why</h2>
<div class="scroll" role="region" tabindex="0" aria-label="Cells without a proven fix">
<table class="open-cells">
<thead><tr><th scope="col">Guideline</th><th scope="col" class="n">Size</th><th scope="col" class="n">Ratio now</th><th scope="col">Reason</th></tr></thead>
<tbody>
{% for cell in unfixed %}<tr><th scope="row">{{ cell.guideline }} <span class="expr">{{ cell.expression }}</span></th><td class="n">{{ cell.size }}</td><td class="n">{{ cell.ratio }}</td><td class="why"><b>{{ cell.standing }}:</b> {{ cell.because }}</td></tr>
{% endfor %}</tbody></table></div>
</section>
"##,
    ext = "html"
)]
struct Page {
    unfixed: Vec<Unfixed>,
}

fn html(view: &View<'_>) -> askama::Result<String> {
    if view.report.command == "check" {
        return Ok(String::new());
    }
    let unfixed = unfixed(&view.summary.groups);
    if unfixed.is_empty() {
        return Ok(String::new());
    }
    Page { unfixed }.render()
}

fn text(view: &View<'_>) -> String {
    let (report, summary) = (view.report, &view.summary);
    if report.command == "check" {
        return String::new();
    }
    let mut out = String::new();
    for cell in summary.groups.iter().flat_map(|group| &group.cells) {
        let standing = Standing::of(cell);
        if !is_open(cell) {
            continue;
        }
        if out.is_empty() {
            out.push_str("\nNot fixed\n");
        }
        let reason = match (&cell.unfixed_because, standing) {
            (Some(reason), _) => printable(reason),
            (None, Standing::NotAgain) => printable(&not_again(cell)),
            (None, Standing::Introduced) => "a change made for other cells broke it".to_owned(),
            (None, _) => "no reason was recorded".to_owned(),
        };
        let _ = writeln!(
            out,
            "  {} {} at {}{}: {reason}",
            printable(&cell.guideline),
            printable(&cell.function),
            sizes(cell),
            ratio_now(cell),
        );
    }
    out
}

fn markdown(view: &View<'_>) -> String {
    let (report, summary) = (view.report, &view.summary);
    if report.command == "check" {
        return String::new();
    }
    let cells = summary.groups.iter().flat_map(|group| &group.cells);
    let open = cells.filter(|cell| is_open(cell));
    marks::list(
        "Not fixed",
        open.map(|cell| {
            format!(
                "{} {} at {}{}: {}",
                quoting::markdown(&cell.guideline),
                marks::code(&cell.expression),
                format::bytes(cell.bytes),
                ratio_now(cell),
                quoting::markdown(&reason(cell)),
            )
        }),
    )
}

/// True if a cell was violated, or is, and is not shown to hold.
fn is_open(cell: &Cell) -> bool {
    let standing = Standing::of(cell);
    standing.remains() || standing == Standing::Unproven || is_left(cell)
}

/// The ratio now in words, where one is known.
fn ratio_now(cell: &Cell) -> String {
    match Standing::of(cell) {
        Standing::NotAgain => String::new(),
        _ => format!(" (ratio {} now)", format::ratio(current(cell).ratio)),
    }
}

/// Says that nothing is known of a cell now.
fn not_again(cell: &Cell) -> String {
    let why = cell.not_measured_again.as_deref().unwrap_or_default();
    format!("not measured again with what is deployed: {why}")
}

/// The violated cells without a proven fix.
fn unfixed(groups: &[Group<'_>]) -> Vec<Unfixed> {
    groups
        .iter()
        .flat_map(|group| &group.cells)
        .filter(|cell| is_open(cell))
        .map(|cell| {
            let now = current(cell);
            Unfixed {
                guideline: cell.guideline.clone(),
                expression: typeset(&cell.expression),
                size: format::bytes(cell.bytes),
                standing: Standing::of(cell).words(),
                ratio: match Standing::of(cell) {
                    Standing::NotAgain => format::NONE.to_owned(),
                    _ => format!("{} {}", format::ratio(now.ratio), format::interval(now.ratio_ci)),
                },
                because: reason(cell),
            }
        })
        .collect()
}

/// A violated cell without a proven fix.
struct Unfixed {
    guideline: String,
    expression: String,
    size: String,
    standing: &'static str,
    ratio: String,
    because: String,
}

fn reason(cell: &Cell) -> String {
    match (&cell.unfixed_because, &cell.fix, Standing::of(cell)) {
        (Some(reason), _, _) => reason.clone(),
        (None, _, Standing::NotAgain) => not_again(cell),
        (None, _, Standing::Introduced) => {
            "a change made for other cells broke this one; remove it or give it a size range".to_owned()
        }
        (None, Some(fix), _) => format!("{} was deployed but did not hold in the verification", fix.id),
        (None, None, _) => "no reason was recorded".to_owned(),
    }
}
