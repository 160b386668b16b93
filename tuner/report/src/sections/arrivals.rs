//! Comparisons with ranks that arrive apart.

use kilter_model::report::{ArrivalCell, Report};
use kilter_render::format;
use kilter_render::sheet::{Entry, Sheet};
use kilter_stats::verdict::Outcome;

use super::{Section, one_table};
use crate::summary::outcome_word;

pub(super) static SECTION: Section = Section {
    id: "arrivals",
    navigation: Some("Arrival"),
    fields: &["arrivals"],
    html: |view| one_table::html(SECTION.id, sheet(view.report)),
    text: |view| one_table::details(view, sheet(view.report)),
    markdown: |view| one_table::markdown(sheet(view.report)),
};

/// The table; `None` where nothing was measured with ranks that arrive apart.
fn sheet(report: &Report) -> Option<Sheet> {
    if report.arrivals.is_empty() {
        return None;
    }
    let heads = [
        "comparison",
        "size",
        "arrival",
        "offset",
        "left",
        "right",
        "ratio",
        "delays",
        "verdict",
    ];
    Some(Sheet {
        title: "Ranks that arrive apart".to_owned(),
        heads: heads.map(str::to_owned).to_vec(),
        rows: report.arrivals.iter().map(row).collect(),
        note: "Times are from the last arrival to the last end. Offset: the last arrival after the first. Delays: the mean time that a rank \
               spends in the call, waiting included, left and right."
            .to_owned(),
        names: 1,
        narrow: false,
    })
}

fn row(cell: &ArrivalCell) -> Vec<Entry> {
    let compared = &cell.comparison;
    let (low, high) = compared.ratio_ci;
    let what = match &cell.guideline {
        Some(id) => format!("{id} {}", cell.expression),
        None => cell.expression.clone(),
    };
    let verdict = outcome_word(compared.verdict);
    let class = if compared.verdict == Outcome::Violated {
        "bad"
    } else {
        ""
    };
    vec![
        Entry::text(what),
        Entry::text(format::bytes(cell.bytes)),
        Entry::text(cell.when.clone()),
        Entry::text(format::seconds(cell.offset_seconds)),
        Entry::text(format::seconds(compared.seconds)),
        Entry::text(format::seconds(compared.right_seconds)),
        Entry::text(format!("{:.2} [{low:.2}, {high:.2}]", compared.ratio)),
        Entry::text(cell.delays.map_or_else(String::new, |(left, right)| {
            format!("{}, {}", format::seconds(left), format::seconds(right))
        })),
        Entry::with_class(verdict, class),
    ]
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::report as fixture;
    use kilter_stats::verdict::Comparison;

    use super::*;

    #[test]
    fn a_comparison_says_pattern_offset_ratio_and_delays() {
        let mut report = fixture::holding();
        assert!(sheet(&report).is_none());
        report.arrivals.push(ArrivalCell {
            when: "when ranks arrive at random".to_owned(),
            guideline: None,
            expression: "bcast(n) deployed <= untouched".to_owned(),
            function: "bcast".to_owned(),
            bytes: 4096,
            offset_seconds: 1e-3,
            comparison: Comparison {
                verdict: Outcome::Violated,
                ratio: 1.214,
                ratio_ci: (1.15, 1.3),
                p: 0.01,
                p_adjusted: 0.01,
                seconds: 2e-3,
                right_seconds: 1.65e-3,
                left_medians: vec![2e-3],
                right_medians: vec![1.65e-3],
            },
            delays: Some((2.5e-3, 2e-3)),
        });
        let text = one_table::text(sheet(&report));
        for part in [
            "when ranks arrive at random",
            "1.21 [1.15, 1.30]",
            "2.50 ms, 2.00 ms",
            "violated",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
