//! Times of tonight beside the accepted ones, a row for each watched cell. All rows have one axis, the time over the cell's accepted median.

use kilter_render::format;
use kilter_render::scale::LogAxis;

use crate::times::{Pace, Timed};

/// Ratios that the axis shows at most; lines beyond go to its edge.
const WIDEST: (f64, f64) = (0.25, 16.0);

/// Ratios that it shows at least.
const LEAST: (f64, f64) = (0.8, 1.25);

/// Room at both edges, in percent of the width: a line that ends in it is complete.
const MARGIN: f64 = 2.0;

/// Ratios with a label, the most useful first.
const LABELLED: [f64; 14] = [1.0, 2.0, 0.5, 4.0, 0.25, 8.0, 16.0, 1.5, 0.75, 1.25, 3.0, 6.0, 1.1, 0.9];

/// Room for a label, in percent of the width.
const LABEL: f64 = 9.0;

/// The rows and their axis.
pub(super) struct Intervals {
    pub(super) ticks: Vec<Tick>,
    pub(super) rows: Vec<Row>,
}

/// A labelled place on the axis.
pub(super) struct Tick {
    /// Percent of the width.
    pub(super) at: String,
    pub(super) label: String,
}

/// A watched cell. Places are in percent of the width.
pub(super) struct Row {
    pub(super) cell: String,
    pub(super) accepted: String,
    pub(super) tonight: String,
    pub(super) ratio: String,
    pub(super) p: String,
    /// `bad`, `open` or nothing.
    pub(super) class: &'static str,
    pub(super) standing: &'static str,
    /// The picture in words.
    pub(super) words: String,
    /// Place of the accepted median.
    pub(super) one: String,
    /// Ends of the accepted interval.
    pub(super) of_accepted: (String, String),
    /// Place beyond which a change counts.
    pub(super) counts: String,
    /// Ends of the interval of tonight and its median.
    pub(super) of_tonight: Option<(String, String, String)>,
}

impl Intervals {
    /// `None` where no times are compared.
    pub(super) fn of(times: &[Timed]) -> Option<Intervals> {
        if times.is_empty() {
            return None;
        }
        let shown = times.iter().flat_map(values).filter(|value| value.is_finite());
        let (low, high) = shown.fold(LEAST, |(low, high), value| (low.min(value), high.max(value)));
        let ends = (low.max(WIDEST.0), high.min(WIDEST.1));
        let axis = LogAxis::new(ends, (0.0, 100.0), (MARGIN, MARGIN));
        Some(Intervals {
            ticks: ticks(&axis, ends),
            rows: times.iter().map(|one| row(one, &axis)).collect(),
        })
    }
}

/// All that a row shows, over its accepted median.
fn values(timed: &Timed) -> impl Iterator<Item = f64> {
    let accepted = timed.accepted_seconds;
    let tonight = timed.seconds_interval.map(|(low, high)| [low, high]);
    let seconds = [timed.accepted_interval.0, timed.accepted_interval.1].into_iter();
    let seconds = seconds.chain(tonight.into_iter().flatten());
    seconds
        .map(move |seconds| seconds / accepted)
        .chain([1.0 + timed.tolerance])
}

fn ticks(axis: &LogAxis, (low, high): (f64, f64)) -> Vec<Tick> {
    let mut chosen: Vec<f64> = Vec::new();
    for value in LABELLED {
        let at = axis.at(value);
        let fits = (LABEL / 2.0..=100.0 - LABEL / 2.0).contains(&at);
        if value >= low && value <= high && fits && chosen.iter().all(|other| (axis.at(*other) - at).abs() >= LABEL) {
            chosen.push(value);
        }
    }
    let tick = |value: f64| Tick {
        at: percent(axis.at(value)),
        label: format!("{value}"),
    };
    chosen.into_iter().map(tick).collect()
}

fn row(timed: &Timed, axis: &LogAxis) -> Row {
    let at = |seconds: f64| percent(axis.at(seconds / timed.accepted_seconds));
    let ends = |(low, high): (f64, f64)| (at(low), at(high));
    let tonight = timed.seconds.zip(timed.seconds_interval);
    let (class, standing) = match timed.pace {
        Pace::Same => ("", "as accepted"),
        Pace::Slower => ("bad", "slower"),
        Pace::NotMeasured => ("open", "not measured"),
    };
    let interval = |(low, high): (f64, f64)| format!("{} to {}", format::seconds(low), format::seconds(high));
    let accepted = format!(
        "{}: accepted {}, {}",
        timed.cell,
        format::seconds(timed.accepted_seconds),
        interval(timed.accepted_interval)
    );
    let words = match tonight {
        Some((seconds, ends)) => format!(
            "{accepted}; tonight {}, {}; {standing}",
            format::seconds(seconds),
            interval(ends)
        ),
        None => format!("{accepted}; {standing}"),
    };
    let none = || format::NONE.to_owned();
    Row {
        cell: timed.cell.clone(),
        accepted: format::seconds(timed.accepted_seconds),
        tonight: timed.seconds.map_or_else(none, format::seconds),
        ratio: timed.ratio.zip(timed.interval).map_or_else(none, |(ratio, interval)| {
            format!("{} {}", format::ratio(ratio), format::interval(interval))
        }),
        p: format::p_value(timed.p_adjusted),
        class,
        standing,
        words,
        one: at(timed.accepted_seconds),
        of_accepted: ends(timed.accepted_interval),
        counts: at(timed.accepted_seconds * (1.0 + timed.tolerance)),
        of_tonight: tonight.map(|(seconds, interval)| {
            let (from, to) = ends(interval);
            (from, to, at(seconds))
        }),
    }
}

/// A place as SVG writes it, cropped to the picture.
fn percent(at: f64) -> String {
    format!("{:.2}%", if at.is_finite() { at.clamp(0.0, 100.0) } else { 0.0 })
}
