//! What the page says, in the order in which it says it.

use askama::Template;
use kilter_model::report::{Contest, DeployedChange, FixKind, Quarantined, Report};
use kilter_render::format;
use kilter_render::sheet::Sheet;

use super::cells::{self, CellRow, Numbers, Unfixed};
use super::contest::ContestView;
use super::figure::{self, Figure};
use super::matrix::{self, GuidelineRow, Matrix, TypeRow};
use super::provenance::{self, Fact};
use super::words::{kind_words, settings, typeset};
use crate::summary::{self, Group, Standing, Summary};
use crate::{looked_better, savings, targets};

/// The page.
#[derive(Template)]
#[template(path = "report.html")]
pub(super) struct Page<'a> {
    pub(super) report: &'a Report,
    /// Whether any cell was measured again with what is deployed.
    pub(super) tuned: bool,
    pub(super) headline: String,
    /// `good`, `bad` or `open`.
    pub(super) mood: &'static str,
    pub(super) details: Vec<String>,
    pub(super) not_verified: Vec<String>,
    pub(super) changes: Vec<ChangeView>,
    pub(super) savings: Option<savings::Table>,
    pub(super) targets: Option<Sheet>,
    /// Maps of overlap, as markup; empty where there are none.
    pub(super) overlap: String,
    pub(super) violations: Vec<ViolationView>,
    pub(super) figures: Vec<FigureView>,
    pub(super) matrix: Matrix,
    pub(super) types: Vec<TypeRow>,
    pub(super) guidelines: Vec<GuidelineRow>,
    pub(super) contests: Vec<ContestView>,
    /// Candidates that looked better and are not deployed.
    pub(super) looked_better: Option<Sheet>,
    pub(super) unfixed: Vec<Unfixed>,
    pub(super) quarantined: &'a [Quarantined],
    pub(super) cells: Vec<CellRow>,
    pub(super) facts: Vec<Fact>,
    pub(super) method: [String; 5],
}

/// One deployed change.
pub(super) struct ChangeView {
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) value: String,
    pub(super) file: String,
    pub(super) why: String,
    pub(super) gain: String,
    pub(super) cells: Vec<String>,
}

/// One violated cell.
pub(super) struct ViolationView {
    pub(super) class: &'static str,
    pub(super) mark: &'static str,
    pub(super) standing: &'static str,
    pub(super) guideline: String,
    pub(super) expression: String,
    pub(super) size: String,
    pub(super) before: Numbers,
    pub(super) after: Option<Numbers>,
    /// What fixed it, when that is not a list of settings.
    pub(super) fix: &'static str,
    /// The fix, one setting or implementation each.
    pub(super) settings: Vec<(String, String)>,
    /// Anchor of the contest about it.
    pub(super) contest: Option<usize>,
}

/// A figure with its heading.
pub(super) struct FigureView {
    pub(super) guideline: String,
    pub(super) expression: String,
    pub(super) left: String,
    pub(super) right: Option<String>,
    pub(super) before: String,
    pub(super) after: Option<String>,
    pub(super) caption: String,
}

impl<'a> Page<'a> {
    pub(super) fn of(report: &'a Report, overlap: String) -> Self {
        let summary = Summary::of(report);
        let concerned: Vec<&Group<'_>> = summary.groups.iter().filter(|group| group.concerns()).collect();
        Self {
            report,
            tuned: summary.after.is_some(),
            headline: summary.headline(),
            mood: mood(&summary),
            details: details(&summary),
            not_verified: summary::not_verified(report),
            changes: report.changes.iter().map(change).collect(),
            savings: savings::table(report),
            targets: targets::sheet(report),
            overlap,
            violations: concerned
                .iter()
                .flat_map(|group| violations(group, &report.contests))
                .collect(),
            figures: concerned
                .iter()
                .enumerate()
                .filter_map(|(number, group)| figure_view(group, number))
                .collect(),
            matrix: Matrix::of(&summary.groups),
            types: matrix::type_rows(&summary.groups),
            guidelines: matrix::guideline_rows(&summary.groups),
            contests: report
                .contests
                .iter()
                .enumerate()
                .map(|(number, contest)| ContestView::of(number, contest))
                .collect(),
            looked_better: looked_better::sheet(report),
            unfixed: if report.command == "check" {
                Vec::new()
            } else {
                cells::unfixed(&summary.groups)
            },
            quarantined: &report.quarantined,
            cells: cells::cell_rows(&summary.groups),
            facts: provenance::facts(report),
            method: provenance::method(report),
        }
    }
}

/// The headline's colour: what is left to mend, of cells and of targets for overlap.
fn mood(summary: &Summary<'_>) -> &'static str {
    let targets = &summary.targets;
    let remaining = summary.remaining + targets.missed;
    let unproven = summary.unproven + targets.unproven;
    let fixed = summary.fixed + targets.met;
    match (remaining, unproven, summary.before.holds + targets.hold) {
        // Nothing measured or nothing certain is no good news.
        (0, _, 0) if fixed == 0 => "open",
        (0, 0, _) => "good",
        (0, _, _) => "open",
        _ if fixed > 0 && summary.introduced == 0 => "open",
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
    if summary.introduced > 0 {
        lines.push(format!(
            "{} violated only after tuning: the change that causes it must be reconsidered.",
            format::count(summary.introduced, "cell")
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
            "{} only screened: they can be violated, and the time did not reach to confirm it; use a larger budget.",
            format::count(now.screened, "cell")
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

fn change(change: &DeployedChange) -> ChangeView {
    ChangeView {
        kind: kind_words(change.kind),
        name: match change.kind {
            FixKind::Parameter => change.name.clone(),
            FixKind::Mockup | FixKind::Algorithm => format::function(&change.name),
        },
        value: change.value.clone(),
        file: change.file.clone(),
        why: sentence(&change.why),
        gain: gain(change.gain),
        cells: change.cells.iter().map(|cell| cell_words(cell)).collect(),
    }
}

/// Ends in a full stop.
fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.ends_with(['.', '!', '?']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

/// A gain in words: time before over time after.
fn gain(gain: f64) -> String {
    match gain {
        g if !g.is_finite() || g <= 0.0 => "gain not known".to_owned(),
        g if g >= 1.0 => format!("{} times as fast", format::ratio(g)),
        g => format!("takes {} times as long", format::ratio(1.0 / g)),
    }
}

/// `GL8 reduce 4096` for people; anything else as it is.
fn cell_words(cell: &str) -> String {
    match cell.split_whitespace().collect::<Vec<_>>().as_slice() {
        [guideline, function, bytes] => match bytes.parse() {
            Ok(bytes) => format!("{guideline} {} at {}", format::function(function), format::bytes(bytes)),
            Err(_) => cell.to_owned(),
        },
        _ => cell.to_owned(),
    }
}

fn violations(group: &Group<'_>, contests: &[Contest]) -> Vec<ViolationView> {
    group
        .cells
        .iter()
        .map(|cell| (cell, Standing::of(cell)))
        .filter(|(_, standing)| standing.remains() || matches!(standing, Standing::Fixed | Standing::Unproven))
        .map(|(cell, standing)| ViolationView {
            class: matrix::class(standing),
            mark: standing.mark(),
            standing: standing.words(),
            guideline: cell.guideline.clone(),
            expression: typeset(&cell.expression),
            size: format::bytes(cell.bytes),
            before: Numbers::of(&cell.before),
            after: cell.after.as_ref().map(Numbers::of),
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

fn figure_view(group: &Group<'_>, number: usize) -> Option<FigureView> {
    let Figure {
        left,
        right,
        before,
        after,
    } = figure::draw(group, &format!("f{number}"))?;
    let counts = (group.before().violated, group.now().violated);
    let violated = |n: usize| {
        if n == 0 {
            "no size".to_owned()
        } else {
            format::count(n, "size")
        }
    };
    let caption = match after {
        Some(_) => format!(
            "Violated at {} before, at {} after.",
            violated(counts.0),
            violated(counts.1)
        ),
        None => format!("Violated at {}.", violated(counts.0)),
    };
    Some(FigureView {
        guideline: group.guideline.to_owned(),
        expression: typeset(&group.expression),
        left,
        right,
        before,
        after,
        caption,
    })
}
