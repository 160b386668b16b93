//! What the page says, in the order in which it says it.

use askama::Template;

use super::figure::{self, Figure};
use super::matrix::{self, CellRow, GuidelineRow, Matrix, Numbers, TypeRow, Unfixed};
use crate::report::format;
use crate::report::model::{Change, Contest, FixKind, Quarantined, Report};
use crate::report::summary::{Group, Standing, Summary};

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
    pub(super) changes: Vec<ChangeView>,
    pub(super) violations: Vec<ViolationView>,
    pub(super) figures: Vec<FigureView>,
    pub(super) matrix: Matrix,
    pub(super) types: Vec<TypeRow>,
    pub(super) guidelines: Vec<GuidelineRow>,
    pub(super) contests: Vec<ContestView>,
    pub(super) unfixed: Vec<Unfixed>,
    pub(super) quarantined: &'a [Quarantined],
    pub(super) cells: Vec<CellRow>,
    pub(super) facts: Vec<Fact>,
    pub(super) method: [String; 5],
}

/// A line of the provenance.
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) text: String,
    /// Whether it is something to type or to compare letter by letter.
    pub(super) code: bool,
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

/// What was tried for one violated cell.
pub(super) struct ContestView {
    pub(super) number: usize,
    pub(super) title: String,
    pub(super) bound: String,
    pub(super) rows: Vec<ContestantView>,
    /// How many more rows are folded away.
    pub(super) rest: Vec<ContestantView>,
}

/// One candidate.
pub(super) struct ContestantView {
    pub(super) settings: Vec<(String, String)>,
    pub(super) kind: &'static str,
    pub(super) chosen: bool,
    pub(super) is_default: bool,
    pub(super) time: String,
    pub(super) to_default: String,
    pub(super) to_bound: String,
    pub(super) verdict: &'static str,
    /// Length of the bar and place of the bound, in percent.
    pub(super) bar: String,
    pub(super) bound_at: String,
}

/// Candidates shown without unfolding.
const SHOWN: usize = 8;

impl<'a> Page<'a> {
    pub(super) fn of(report: &'a Report) -> Self {
        let summary = Summary::of(report);
        let concerned: Vec<&Group<'_>> = summary.groups.iter().filter(|group| group.concerns()).collect();
        Self {
            report,
            tuned: summary.after.is_some(),
            headline: summary.headline(),
            mood: match (summary.remaining, summary.unproven, summary.before.total()) {
                (_, _, 0) => "open",
                (0, 0, _) => "good",
                (0, _, _) => "open",
                _ if summary.fixed > 0 && summary.introduced == 0 => "open",
                _ => "bad",
            },
            details: details(&summary),
            changes: report.changes.iter().map(change).collect(),
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
                .map(|(number, contest)| contest_view(number, contest))
                .collect(),
            unfixed: if report.command == "check" {
                Vec::new()
            } else {
                matrix::unfixed(&summary.groups)
            },
            quarantined: &report.quarantined,
            cells: matrix::cell_rows(&summary.groups),
            facts: facts(report),
            method: method(report),
        }
    }
}

/// A time for the page.
pub(super) fn time(seconds: f64) -> String {
    format::seconds(seconds).replace("us", "µs")
}

/// A guideline's text for the page.
pub(super) fn typeset(expression: &str) -> String {
    expression.replace("<=", "⪯")
}

/// The kind of a change or candidate, in words.
pub(super) fn kind_words(kind: FixKind) -> &'static str {
    match kind {
        FixKind::Parameter => "parameter",
        FixKind::Mockup => "mock-up",
        FixKind::Algorithm => "algorithm",
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
    if now.unstable > 0 {
        lines.push(format!(
            "{} unstable: the machine changed while it was measured; repeat on a quiet machine.",
            format::count(now.unstable, "cell")
        ));
    }
    lines
}

fn change(change: &Change) -> ChangeView {
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

/// The parts of an id, each cut behind its equals sign, where a narrow page may break the line.
fn settings(id: &str) -> Vec<(String, String)> {
    id.split_whitespace()
        .map(|part| part.split_at(part.find('=').map_or(part.len(), |at| at + 1)))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
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

fn contest_view(number: usize, contest: &Contest) -> ContestView {
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
            verdict: match (row.chosen, row.among_best) {
                (true, _) => "chosen",
                (false, true) => "as good as the fastest",
                (false, false) => "",
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
    ContestView {
        number,
        title: format!(
            "{} at {}",
            format::function(&contest.function),
            format::bytes(contest.bytes)
        ),
        bound: bound.map_or_else(|| format::NONE.to_owned(), time),
        rows,
        rest,
    }
}

fn facts(report: &Report) -> Vec<Fact> {
    let p = &report.provenance;
    let text = |name, text: String| Fact {
        name,
        text,
        code: false,
    };
    let code = |name, text: &str| Fact {
        name,
        text: text.to_owned(),
        code: true,
    };
    let mut facts = vec![
        text("Library", format!("{} {}", report.library.name, report.library.version)),
        code("Library’s own words", &p.library_string),
        text(
            "Ranks",
            format!("{} on {}", report.ranks, format::count(p.hosts.len(), "host")),
        ),
        text("Hosts", p.hosts.join(", ")),
        text("Started", p.started.clone()),
        text("Measuring time", format::span(p.measuring_seconds)),
        text("Launches per cell (R)", p.launches.to_string()),
        text(
            "Significance level α",
            format!("{}, after correction for all tests", p.alpha),
        ),
        text("Effect floor", format::percent(p.effect_floor)),
        text("Noise of the empty operation", time(p.noise_seconds)),
        text("Clock tick", time(p.clock_tick_seconds)),
        text("Seed", p.seed.to_string()),
        code("Command", &p.command_line),
        code("Launch before tuning", &p.launch_before),
        code("Launch after tuning", &p.launch_after),
        text("Kilter", p.kilter_version.clone()),
        text("Report schema", report.schema.to_string()),
    ];
    facts.retain(|fact| !fact.text.is_empty());
    facts
}

/// Five sentences.
fn method(report: &Report) -> [String; 5] {
    let p = &report.provenance;
    let launches = match p.launches {
        1 => "one launch".to_owned(),
        launches => format!("each of {launches} separate launches"),
    };
    [
        format!(
            "A guideline A ⪯ B says that A must not be slower than B, which delivers the same result; both sides are \
             measured in {launches}."
        ),
        "Every repetition starts on all ranks together and ends when the last rank has finished, a launch contributes one \
         number, the median of its repetitions, and the seed shuffles the order of all measurements."
            .to_owned(),
        format!(
            "A cell is violated if the one-sided rank-sum test on the launch medians is significant at α = {} after Holm’s \
             correction for all tests of the run, and if the effect is also larger than {} and than twice the measured \
             noise.",
            p.alpha,
            format::percent(p.effect_floor)
        ),
        "The ratio is left over right, medians of launch medians, with a 95 % Hodges-Lehmann interval on logarithms; \
         asterisks mark adjusted p-values of at most 0.05 (*), 0.01 (**) and 0.001 (***)."
            .to_owned(),
        if report.command == "check" {
            "A cell is undecided if the samples neither show a violation nor exclude one, and unstable if the machine \
             changed while it was measured."
        } else {
            "Candidates for a violated cell compete with the untouched library and with the guideline’s bound, the simplest \
             of those that are statistically as good as the fastest is deployed, and the verification after tuning uses \
             exactly the files that were emitted, in fresh launches."
        }
        .to_owned(),
    ]
}
