//! Warnings of the run.

use askama::Template;
use kilter_render::quoting;
use kilter_render::table::printable;

use super::{Section, View};
use crate::marks;

pub(super) static SECTION: Section = Section {
    id: "warnings",
    navigation: None,
    fields: &["warnings"],
    html,
    text,
    markdown,
};

#[derive(Template)]
#[template(
    source = r##"<section class="warnings" aria-label="Warnings">
<h2>Warnings</h2>
<ul>{% for warning in warnings %}<li>{{ warning }}</li>{% endfor %}</ul>
</section>
"##,
    ext = "html"
)]
struct Warnings {
    warnings: Vec<String>,
}

fn html(view: &View<'_>) -> askama::Result<String> {
    let warnings = by_action(&view.report.warnings);
    if warnings.is_empty() {
        return Ok(String::new());
    }
    Warnings { warnings }.render()
}

fn text(view: &View<'_>) -> String {
    let lines = by_action(&view.report.warnings).into_iter();
    lines
        .map(|warning| format!("warning: {}\n", printable(&warning)))
        .collect()
}

fn markdown(view: &View<'_>) -> String {
    let lines = by_action(&view.report.warnings).into_iter();
    marks::list("Warnings", lines.map(|warning| quoting::markdown(&warning)))
}

/// The action that many warnings share.
const LARGER: &str = "; raise --budget";

/// Each cause once, and one warning for all those that a larger budget mends, at the place of the first one. `report.json` has all texts.
fn by_action(warnings: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut causes: Vec<&str> = Vec::new();
    let mut place = 0;
    for warning in warnings {
        match cause(warning) {
            Some(cause) if causes.is_empty() => {
                place = out.len();
                causes.push(cause);
            }
            Some(cause) if !causes.contains(&cause) => causes.push(cause),
            None if !out.contains(warning) => out.push(warning.clone()),
            _ => {}
        }
    }
    match causes.as_slice() {
        [] => {}
        [only] => {
            let whole = warnings.iter().find(|warning| cause(warning) == Some(only));
            out.insert(place, whole.cloned().unwrap_or_default());
        }
        all => {
            let short = |cause: &&str| cause.strip_prefix("the budget ended ").unwrap_or(cause).to_owned();
            let all: Vec<String> = all.iter().map(short).collect();
            out.insert(place, format!("the budget ended early: {}{LARGER}", all.join("; ")));
        }
    }
    out
}

/// The words of a warning before the advice to raise the budget, if it has no other advice.
fn cause(warning: &str) -> Option<&str> {
    let (cause, more) = warning.trim_end_matches('.').rsplit_once(LARGER)?;
    (more.is_empty() || more.starts_with(" for ")).then_some(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouped(warnings: &[&str]) -> Vec<String> {
        by_action(&warnings.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn warnings_that_a_larger_budget_mends_are_one() {
        assert_eq!(
            grouped(&[
                "other load; run again on a quiet machine",
                "the budget ended while violations were left to fix; raise --budget",
                "12 s of the budget were spent there; cells are open; raise --budget for surer verdicts",
                "no governor; set one",
                "the budget ended before every launch setting was tried; raise --budget",
                "the budget ended while violations were left to fix; raise --budget",
            ]),
            [
                "other load; run again on a quiet machine",
                "the budget ended early: while violations were left to fix; 12 s of the budget were spent there; cells are open; before every \
                 launch setting was tried; raise --budget",
                "no governor; set one",
            ]
        );
    }

    #[test]
    fn one_alone_keeps_its_words_and_another_action_stays_apart() {
        let alone = "the budget ended before every launch setting was tried; raise --budget";
        let other = "3 blocks were not measured, since the time was over; raise --budget, or end what else runs";
        assert_eq!(grouped(&[other, alone, other]), [other, alone]);
        assert_eq!(grouped(&[]), [""; 0]);
    }
}
