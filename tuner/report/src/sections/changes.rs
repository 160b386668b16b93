//! Deployed changes.

use std::fmt::Write as _;

use askama::Template;
use kilter_model::report::gain::geometric_mean;
use kilter_model::report::{CallGain, DeployedChange, FixKind, GainVerdict, Report, SizeRange};
use kilter_render::table::{plain, printable, trimmed};
use kilter_render::{format, quoting};

use super::{Section, View};
use crate::marks;
use crate::words::{call_at, kind_words, time};

#[cfg(test)]
mod tests;

pub(super) static SECTION: Section = Section {
    id: "changes",
    navigation: Some("Changes"),
    fields: &["changes"],
    html,
    text,
    markdown,
};

#[derive(Template)]
#[template(
    source = r##"<section id="changes">
<h2>Deployed changes</h2>
<div class="cards">
{% for change in changes %}<article class="card">
<h3>{% if change.is_setting %}<code>{{ change.name }}</code>{% else %}{{ change.name }}{% endif %} <span class="to">→</span> <code>{{ change.value }}</code></h3>
<p class="gain{% if !change.is_gain %} calm{% endif %}">{{ change.effect }}</p>
<p>{{ change.why }}</p>
<dl><div><dt>Kind</dt><dd>{{ change.kind }}</dd></div><div><dt>File</dt><dd><code>{{ change.file }}</code></dd></div>{% if let Some(carried) = change.carried %}<div><dt>Sizes</dt><dd>{{ carried }}</dd></div>{% endif %}{% if !change.calls.is_empty() %}<div><dt>Calls</dt><dd>{% for call in change.calls %}{% if !loop.first %}<br>{% endif %}{{ call }}{% endfor %}</dd></div>{% endif %}{% if !change.cells.is_empty() %}<div><dt>Answers</dt><dd>{% for cell in change.cells %}{% if !loop.first %}<br>{% endif %}{{ cell }}{% endfor %}</dd></div>{% endif %}</dl>
</article>
{% endfor %}</div>
</section>
"##,
    ext = "html"
)]
struct Changes {
    changes: Vec<ChangeView>,
}

/// One deployed change.
pub(super) struct ChangeView {
    kind: &'static str,
    /// True for a setting of whole launches: its name is one that the library knows.
    pub(super) is_setting: bool,
    pub(super) name: String,
    pub(super) value: String,
    file: String,
    why: String,
    /// Its effect on its calls, in words, without a full stop.
    pub(super) effect: String,
    /// True if its calls are known to have become faster.
    is_gain: bool,
    carried: Option<String>,
    calls: Vec<String>,
    cells: Vec<String>,
    /// The cells that it answers in a few words; empty where there are none.
    pub(super) answers: String,
}

fn html(view: &View<'_>) -> askama::Result<String> {
    if view.report.changes.is_empty() {
        return Ok(String::new());
    }
    Changes {
        changes: views(view.report),
    }
    .render()
}

fn text(view: &View<'_>) -> String {
    if view.report.changes.is_empty() {
        return String::new();
    }
    let mut table = plain(
        &["change", "value", "file", "default", "deployed", "times as fast"],
        &[3, 4],
    );
    for change in &view.report.changes {
        let [default, deployed, gain] = numbers(change);
        table.add_row([
            printable(&change.name),
            printable(&change.value),
            printable(&change.file),
            default,
            deployed,
            gain,
        ]);
    }
    format!("\nDeployed changes\n{}\n", trimmed(&table))
}

fn markdown(view: &View<'_>) -> String {
    if view.report.changes.is_empty() {
        return String::new();
    }
    let mut out =
        "\n## Deployed changes\n\n| change | file | what it does | why |\n| --- | --- | --- | --- |\n".to_owned();
    for change in &view.report.changes {
        let _ = writeln!(
            out,
            "| {} = {} | {} | {} | {} |",
            marks::code(&change.name),
            marks::code(&change.value),
            marks::code(&change.file),
            quoting::markdown(&effect(change)),
            quoting::markdown(&change.why),
        );
    }
    out
}

/// The changes of a report.
pub(super) fn views(report: &Report) -> Vec<ChangeView> {
    report.changes.iter().map(change).collect()
}

fn change(change: &DeployedChange) -> ChangeView {
    let cells: Vec<String> = change.cells.iter().map(|cell| cell_words(cell)).collect();
    ChangeView {
        kind: kind_words(change.kind),
        is_setting: is_setting(change),
        name: match change.kind {
            FixKind::Parameter => change.name.clone(),
            FixKind::Mockup | FixKind::Algorithm => format::function(&change.name),
        },
        value: change.value.clone(),
        file: change.file.clone(),
        why: sentence(&change.why),
        effect: effect(change).replace(" us", " µs"),
        is_gain: change.gain > 1.0,
        carried: carried(change),
        calls: if change.calls.len() > 1 {
            change.calls.iter().map(call_words).collect()
        } else {
            Vec::new()
        },
        answers: few(&cells),
        cells,
    }
}

/// True for a setting of whole launches. Reports of before had the sizes of other changes in the name alone.
fn is_setting(change: &DeployedChange) -> bool {
    change.kind == FixKind::Parameter && change.function.is_none() && !change.name.contains(" at ")
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

/// A change that the proof did not measure has no number.
const NOT_MEASURED: &str = "not measured in the proof";

/// A setting of whole launches has no call of its own: its gain is part of each call's.
const ALL_CALLS: &str = "part of the gain of every call";

/// The effect of a change on its calls, by the proof.
fn effect(change: &DeployedChange) -> String {
    match change.calls.as_slice() {
        // Reports of before have a gain of the cells.
        [] if change.gain.is_finite() && !change.cells.is_empty() => {
            format!("{} times as fast", format::ratio(change.gain))
        }
        [] if is_setting(change) => ALL_CALLS.to_owned(),
        [] => NOT_MEASURED.to_owned(),
        [call] => format!(
            "{} takes {} instead of {}, {} times as fast{}",
            call_at(&call.function, call.bytes),
            format::seconds(call.deployed_seconds),
            format::seconds(call.default_seconds),
            with_interval(call),
            doubt(call),
        ),
        calls => {
            let ends = extremes(calls);
            let what = match one_function(calls) {
                Some(function) => format!(
                    "{} of {}",
                    format::count(calls.len(), "size"),
                    format::function(function)
                ),
                None => format::count(calls.len(), "call"),
            };
            let place = |call: &CallGain| match one_function(calls) {
                Some(_) => format::bytes(call.bytes),
                None => call_at(&call.function, call.bytes),
            };
            let ends = ends.map(|call| format!("{} ({})", format::ratio(call.factor), place(call)));
            format!(
                "{} times as fast in the geometric mean of {what}, from {}",
                format::ratio(geometric_mean(calls)),
                ends.join(" to ")
            )
        }
    }
}

/// Default time, deployed time and factor for a table.
fn numbers(change: &DeployedChange) -> [String; 3] {
    let none = || format::NONE.to_owned();
    match change.calls.as_slice() {
        [] if change.gain.is_finite() && !change.cells.is_empty() => [none(), none(), format::ratio(change.gain)],
        [] if is_setting(change) => [none(), none(), ALL_CALLS.to_owned()],
        [] => [none(), none(), NOT_MEASURED.to_owned()],
        [call] => [
            format::seconds(call.default_seconds),
            format::seconds(call.deployed_seconds),
            with_interval(call),
        ],
        calls => {
            let span = |of: fn(&CallGain) -> f64| {
                let times = || calls.iter().map(of);
                let (low, high) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
                format!("{} to {}", format::seconds(low), format::seconds(high))
            };
            let [least, most] = extremes(calls).map(|call| format::ratio(call.factor));
            [
                span(|call| call.default_seconds),
                span(|call| call.deployed_seconds),
                format!(
                    "{} in the mean of {}, {least} to {most}",
                    format::ratio(geometric_mean(calls)),
                    calls.len()
                ),
            ]
        }
    }
}

/// The calls with the smallest and the largest factor, of two or more.
fn extremes(calls: &[CallGain]) -> [&CallGain; 2] {
    let (mut least, mut most) = (&calls[0], &calls[0]);
    for call in calls {
        if call.factor < least.factor {
            least = call;
        }
        if call.factor > most.factor {
            most = call;
        }
    }
    [least, most]
}

/// The function of all these calls, if they have but one.
fn one_function(calls: &[CallGain]) -> Option<&str> {
    let first = calls.first()?.function.as_str();
    calls.iter().all(|call| call.function == first).then_some(first)
}

fn with_interval(call: &CallGain) -> String {
    format!("{} {}", format::ratio(call.factor), format::interval(call.factor_ci))
}

/// Says what the launches do not show.
fn doubt(call: &CallGain) -> &'static str {
    match call.verdict {
        GainVerdict::Same => ", no difference shown",
        GainVerdict::Faster | GainVerdict::Slower => "",
    }
}

/// `MPI_Reduce of 4 KiB: 3.67 µs, now 1.70 µs, 2.16 [2.10, 2.22] times as fast`.
fn call_words(call: &CallGain) -> String {
    format!(
        "{}: {}, now {}, {} times as fast{}",
        call_at(&call.function, call.bytes),
        time(call.default_seconds),
        time(call.deployed_seconds),
        with_interval(call),
        doubt(call),
    )
}

/// The sizes for which the files carry it, and how many measured ones are among them.
fn carried(change: &DeployedChange) -> Option<String> {
    let range = |range: &SizeRange| match (range.from, range.to) {
        (0, None) => "all sizes".to_owned(),
        (from, None) => format!("{} and more", format::bytes(from)),
        (from, Some(to)) if from == to => format::bytes(from),
        (from, Some(to)) => format!("{} to {}", format::bytes(from), format::bytes(to)),
    };
    let ranges: Vec<String> = change.ranges.iter().map(range).collect();
    (!ranges.is_empty()).then(|| {
        let sizes = format::count(change.measured_sizes, "measured size");
        format!("{} in the files, {sizes} among them", ranges.join(", "))
    })
}

/// Cells that are named in a sentence.
const MOST_NAMED: usize = 4;

/// The first few of these words, and how many more there are.
fn few(cells: &[String]) -> String {
    match cells.get(..MOST_NAMED) {
        Some(first) if cells.len() > MOST_NAMED => {
            format!("{} and {} more", first.join(", "), cells.len() - MOST_NAMED)
        }
        _ => cells.join(", "),
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
