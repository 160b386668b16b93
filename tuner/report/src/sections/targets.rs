//! Targets for overlap before and after.

use kilter_model::report::{Report, TargetCell, TargetReport};
use kilter_render::format;
use kilter_render::sheet::{Entry, Sheet};

use super::{Section, sheet};

const ID: &str = "targets";

pub(super) static SECTION: Section = Section {
    id: ID,
    navigation: Some("Overlap"),
    fields: &["targets"],
    html: |view| sheet::html(ID, table(view.report)),
    text: |view| sheet::text(table(view.report)),
    markdown: |view| sheet::markdown(table(view.report)),
};

/// The table; `None` where no targets were asked for.
fn table(report: &Report) -> Option<Sheet> {
    if report.targets.is_empty() {
        return None;
    }
    let heads = [
        "target",
        "benchmark",
        "before",
        "after",
        "worst before",
        "worst after",
        "by, or why not",
    ];
    Some(Sheet {
        title: "Overlap of communication and computation".to_owned(),
        heads: heads.map(str::to_owned).to_vec(),
        rows: report.targets.iter().map(row).collect(),
        note: "Worst: the largest value of what the target bounds, where it is above the noise; before and after by the times that \
               communication and computation take by themselves in the untouched library."
            .to_owned(),
        names: 2,
        narrow: false,
    })
}

fn row(target: &TargetReport) -> Vec<Entry> {
    let standing = |word: &str| {
        let class = match word {
            "missed" => "bad",
            "holds" => "calm",
            _ => "",
        };
        Entry::with_class(word, class)
    };
    let by = target.fix.as_ref().map(|fix| fix.id.clone());
    let words = by.or_else(|| target.unmet_because.clone()).unwrap_or_default();
    vec![
        Entry::text(target.target.clone()),
        Entry::text(target.benchmark.clone()),
        standing(&target.before),
        standing(target.after.as_deref().unwrap_or_default()),
        Entry::text(worst(target, |cell| {
            (cell.verdict_before != "masked").then_some(cell.value_before)
        })),
        Entry::text(worst(target, |cell| {
            cell.value_after
                .filter(|_| cell.verdict_after.as_deref() != Some("masked"))
        })),
        Entry::text(words),
    ]
}

/// `0.97 at 512 KiB`.
fn worst(target: &TargetReport, value: impl Fn(&TargetCell) -> Option<f64>) -> String {
    let values = target.cells.iter().filter_map(|cell| Some((value(cell)?, cell.bytes)));
    let worst = values.max_by(|a, b| a.0.total_cmp(&b.0));
    worst.map_or_else(String::new, |(value, bytes)| {
        format!("{value:.2} at {}", format::bytes(bytes))
    })
}
