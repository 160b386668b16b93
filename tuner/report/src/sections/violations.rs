//! Violated cells, before and after.

use std::fmt::Write as _;

use askama::Template;
use comfy_table::Table;
use kilter_model::report::{Cell, Contest};
use kilter_render::table::{plain, printable, trimmed};
use kilter_render::{format, quoting};

use super::cells::Numbers;
use super::{Section, View};
use crate::marks;
use crate::summary::{Group, Standing, Summary, is_left, outcome_word};
use crate::tables::class;
use crate::words::{effect, settings, sizes, typeset, unmeasured};

pub(super) static SECTION: Section = Section {
    id: "violations",
    navigation: Some("Violations"),
    fields: &["cells"],
    html,
    text,
    markdown,
};

#[derive(Template)]
#[template(
    source = r##"<section id="violations">
<h2>Violated cells</h2>
<p class="note">Ratio is the left side’s time over the right side’s; above 1 breaks the guideline. In brackets, its 95&nbsp;% interval.</p>
<div class="scroll" role="region" tabindex="0" aria-label="Violated cells">
<table class="sortable violated">
<thead><tr><th scope="col">Guideline</th><th scope="col" class="n">Size</th><th scope="col" class="n">Left</th><th scope="col" class="n">Right</th><th scope="col" class="n">Ratio{% if tuned %} before{% endif %}</th><th scope="col" class="n">p adj.</th>{% if tuned %}<th scope="col" class="n">Ratio after</th><th scope="col">Verdict</th><th scope="col">Fix</th>{% endif %}</tr></thead>
<tbody>
{% for v in violations %}<tr>
<th scope="row"><span class="mark {{ v.class }}" aria-hidden="true">{{ v.mark }}</span> {{ v.guideline }}<span class="sr">, {{ v.standing }}</span> <span class="expr">{{ v.expression }}</span></th>
<td class="n">{{ v.size }}</td><td class="n">{{ v.before.left }}</td><td class="n">{{ v.before.right }}</td>
<td class="n"><b>{{ v.before.ratio }}</b> <span class="ci">{{ v.before.interval }}</span></td><td class="n">{{ v.before.p_adjusted }}<span class="star">{{ v.before.stars }}</span></td>
{% if tuned %}{% match v.after %}{% when Some with (after) %}<td class="n"><b>{{ after.ratio }}</b> <span class="ci">{{ after.interval }}</span></td><td class="{{ v.class }}">{{ after.verdict }}</td>{% when None %}<td class="n">-</td><td>{{ v.unmeasured }}</td>{% endmatch %}<td class="fix">{% if v.settings.is_empty() %}{{ v.fix }}{% else %}{% for (name, value) in v.settings %}<code>{{ name }}<wbr>{{ value }}</code>{% endfor %}{% endif %}{% if let Some(number) = v.contest %} <a href="#contest-{{ number }}" aria-label="what was tried for {{ v.guideline }} at {{ v.size }}">what was tried</a>{% endif %}</td>{% endif %}
</tr>
{% endfor %}</tbody></table></div>
</section>
"##,
    ext = "html"
)]
struct Violations {
    tuned: bool,
    violations: Vec<ViolationView>,
}

/// One violated cell.
struct ViolationView {
    class: &'static str,
    mark: &'static str,
    standing: &'static str,
    guideline: String,
    expression: String,
    size: String,
    before: Numbers,
    after: Option<Numbers>,
    /// The words where it was not measured again.
    unmeasured: &'static str,
    /// The fix in words, when it is not a list of settings.
    fix: &'static str,
    /// The fix, one setting or implementation each.
    settings: Vec<(String, String)>,
    /// Anchor of the contest about it.
    contest: Option<usize>,
}

fn html(view: &View<'_>) -> askama::Result<String> {
    let concerned = view.summary.groups.iter().filter(|group| group.concerns());
    let violations: Vec<ViolationView> = concerned
        .flat_map(|group| violations(group, &view.report.contests))
        .collect();
    if violations.is_empty() {
        return Ok(String::new());
    }
    Violations {
        tuned: view.tuned(),
        violations,
    }
    .render()
}

fn text(view: &View<'_>) -> String {
    let mut out = String::new();
    if let Some(table) = table(&view.summary) {
        let _ = writeln!(out, "\n{}", trimmed(&table));
        for group in view.summary.groups.iter().filter(|group| group.concerns()) {
            let _ = writeln!(out, " {}: {}", printable(group.guideline), printable(&group.expression));
        }
    }
    out
}

/// True if a cell was violated, or is.
fn is_shown(cell: &Cell, standing: Standing) -> bool {
    standing.remains() || matches!(standing, Standing::Fixed | Standing::Unproven) || is_left(cell)
}

fn violations(group: &Group<'_>, contests: &[Contest]) -> Vec<ViolationView> {
    group
        .cells
        .iter()
        .map(|cell| (cell, Standing::of(cell)))
        .filter(|(cell, standing)| is_shown(cell, *standing))
        .map(|(cell, standing)| ViolationView {
            class: class(standing),
            mark: standing.mark(),
            standing: standing.words(),
            guideline: cell.guideline.clone(),
            expression: typeset(&cell.expression),
            size: format::bytes(cell.bytes),
            before: Numbers::of(&cell.before),
            after: cell.after.as_ref().map(Numbers::of),
            unmeasured: unmeasured(cell),
            fix: if standing == Standing::Fixed {
                "by the other changes"
            } else {
                "none"
            },
            settings: cell.fix.as_ref().map_or_else(Vec::new, |fix| settings(&fix.id)),
            contest: contests
                .iter()
                .position(|contest| contest.function == cell.function && contest.bytes == cell.bytes),
        })
        .collect()
}

fn markdown(view: &View<'_>) -> String {
    let summary = &view.summary;
    let tuned = summary.after.is_some();
    let cells = summary.groups.iter().flat_map(|group| &group.cells);
    let mut rows = cells
        .map(|cell| (cell, Standing::of(cell)))
        .filter(|(cell, standing)| is_shown(cell, *standing))
        .peekable();
    if rows.peek().is_none() {
        return String::new();
    }
    let mut out = "\n## Violated cells\n\n| guideline | size | left | right | ratio | p adj. |".to_owned();
    out.push_str(if tuned { " after | fix |\n" } else { "\n" });
    out.push_str("| --- | ---: | ---: | ---: | ---: | ---: |");
    out.push_str(if tuned { " --- | --- |\n" } else { "\n" });
    for (cell, _) in rows {
        let before = &cell.before;
        let _ = write!(
            out,
            "| {} {} | {} | {} | {} | {} | {} |",
            quoting::markdown(&cell.guideline),
            marks::code(&cell.expression),
            format::bytes(cell.bytes),
            format::seconds(before.seconds),
            format::seconds(before.right_seconds),
            effect(before),
            format::p_value(before.p_adjusted),
        );
        if tuned {
            let after = cell.after.as_ref().map_or_else(
                || unmeasured(cell).to_owned(),
                |after| format!("{}, {}", outcome_word(after.verdict), effect(after)),
            );
            let fix = cell.fix.as_ref().map_or_else(String::new, |fix| marks::code(&fix.id));
            let _ = write!(out, " {after} | {fix} |");
        }
        out.push('\n');
    }
    out
}

fn table(summary: &Summary<'_>) -> Option<Table> {
    let tuned = summary.after.is_some();
    let mut shown: Vec<_> = summary
        .groups
        .iter()
        .flat_map(|group| &group.cells)
        .map(|cell| (*cell, Standing::of(cell)))
        .filter(|(cell, standing)| is_shown(cell, *standing))
        .collect();
    // Cells that are still violated come first; the order within is the guidelines'.
    shown.sort_by_key(|(_, standing)| (!standing.remains(), *standing == Standing::Fixed));
    if shown.is_empty() {
        return None;
    }
    let mut head = vec!["violated", "size", "left", "right", "ratio [95 %]", "p adj."];
    if tuned {
        head.extend(["after: ratio [95 %]", "verdict", "fix"]);
    }
    let mut table = plain(&head, &[1, 2, 3, 4, 6]);
    for (cell, _) in shown {
        let mut row = vec![
            format!("{} {}", printable(&cell.guideline), printable(&cell.function)),
            sizes(cell),
            format::seconds(cell.before.seconds),
            format::seconds(cell.before.right_seconds),
            effect(&cell.before),
            format!(
                "{} {}",
                format::p_value(cell.before.p_adjusted),
                format::stars(cell.before.p_adjusted)
            ),
        ];
        if tuned {
            let (verdict, ratio) = match &cell.after {
                Some(after) => (outcome_word(after.verdict), effect(after)),
                None => (unmeasured(cell), format::NONE.to_owned()),
            };
            let fix = cell
                .fix
                .as_ref()
                .map_or_else(|| format::NONE.to_owned(), |fix| printable(&fix.id).replace(' ', "\n"));
            row.extend([ratio, verdict.to_owned(), fix]);
        }
        table.add_row(row);
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::report as fixture;
    use kilter_model::report::{Fix, FixKind};
    use kilter_stats::verdict::Outcome;

    use crate::{csv, html, markdown, terminal};

    const REASON: &str = "`gather.linear` is deployed and takes 0.27 of the library's time; the best of 6 candidates still takes 2.31 times the bound";

    /// The cell is violated, and every rendering names what is deployed for it beside the reason why that is no fix.
    #[test]
    fn a_partial_fix_stands_in_the_column_of_fixes_and_its_cell_is_not_fixed() {
        let mut report = fixture::tuned();
        let mut violated = report.cells.iter_mut().filter(|cell| {
            let after = cell.after.as_ref();
            after.is_some_and(|after| after.verdict == Outcome::Violated)
        });
        let cell = violated.next().unwrap();
        cell.fix = Some(Fix {
            kind: FixKind::Algorithm,
            settings: Vec::new(),
            id: "gather.linear".to_owned(),
        });
        cell.unfixed_because = Some(REASON.to_owned());
        let lines = |text: String, part: &str| -> Vec<String> {
            let all = text.lines().filter(|line| line.contains(part));
            all.map(str::to_owned).collect()
        };
        let text = lines(terminal::table(&report), "gather.linear");
        assert_eq!(text.len(), 2, "{text:#?}");
        let columns: Vec<&str> = text[0].split_whitespace().collect();
        assert!(columns.ends_with(&["violated", "gather.linear"]), "{}", text[0]);
        assert!(
            text[1].contains(" now): `gather.linear` is deployed and takes 0.27"),
            "{}",
            text[1]
        );
        let text = lines(markdown::to_string(&report), "gather.linear");
        assert!(
            text[0].contains("violated, 2.61") && text[0].ends_with("| `gather.linear` |"),
            "{text:#?}"
        );
        assert!(text[1].contains("is deployed and takes 0.27"), "{text:#?}");
        let page = html::render(&report).unwrap();
        assert!(page.contains("<code>gather.linear<wbr></code>"), "the column of fixes");
        assert!(page.contains("is deployed and takes 0.27"));
        let line = lines(csv::to_string(&report), "gather.linear");
        assert_eq!(line.len(), 2, "{line:#?}");
        assert!(
            line[1].contains(",gather.linear,") && line[1].contains("is deployed and takes 0.27"),
            "{line:#?}"
        );
    }
}
