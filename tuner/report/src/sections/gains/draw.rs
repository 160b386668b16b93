//! Factors against message size, a small plot for each call, all on the same axes.

use std::fmt::Write as _;

use kilter_model::report::{CallGain, GainVerdict};
use kilter_render::format;
use kilter_render::quoting::escape;
use kilter_render::scale::{LogAxis, factor_ticks, size_ticks, size_value};

use super::words;

const WIDTH: f64 = 260.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 34.0;
const RIGHT: f64 = 246.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 160.0;

/// The plot of a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Panel {
    /// The call.
    pub(super) name: String,
    /// Markup.
    pub(super) svg: String,
}

struct Axes {
    x: LogAxis,
    y: LogAxis,
    sizes: Vec<u64>,
}

/// The plots of these calls; none where no factor can be drawn.
pub(super) fn panels(calls: &[(&str, Vec<CallGain>)]) -> Vec<Panel> {
    let all = || {
        calls
            .iter()
            .flat_map(|(_, of_call)| of_call)
            .filter(|gain| is_drawn(gain))
    };
    let mut sizes: Vec<u64> = all().map(|gain| gain.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else {
        return Vec::new();
    };
    // The line at 1 is always in the picture.
    let ends = || all().flat_map(|gain| [ends(gain).0, ends(gain).1]);
    let (low, high) = (ends().fold(1.0, f64::min), ends().fold(1.0, f64::max));
    let axes = Axes {
        x: LogAxis::new((size_value(*first), size_value(*last)), (LEFT, RIGHT), (14.0, 14.0)),
        y: LogAxis::new((low, high), (BOTTOM, TOP), (10.0, 10.0)),
        sizes,
    };
    let drawn = calls.iter().enumerate();
    let drawn = drawn.filter(|(_, (_, of_call))| of_call.iter().any(is_drawn));
    drawn
        .map(|(number, (function, of_call))| Panel {
            name: format::function(function),
            svg: svg(&axes, number, function, of_call),
        })
        .collect()
}

fn is_drawn(gain: &CallGain) -> bool {
    gain.factor.is_finite() && gain.factor > 0.0
}

/// Ends of the interval, where they can be drawn.
fn ends(gain: &CallGain) -> (f64, f64) {
    let or_factor = |end: f64| if end.is_finite() && end > 0.0 { end } else { gain.factor };
    (or_factor(gain.factor_ci.0), or_factor(gain.factor_ci.1))
}

fn svg(axes: &Axes, number: usize, function: &str, calls: &[CallGain]) -> String {
    let mut out = String::with_capacity(4 * 1024);
    let said: Vec<String> = calls.iter().map(in_words).collect();
    let _ = write!(
        out,
        r#"<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="g{number}-t g{number}-d" class="plot"><title id="g{number}-t">{}: default time over deployed time by message size</title><desc id="g{number}-d">{}.</desc>"#,
        escape(&format::function(function)),
        escape(&said.join("; ")),
    );
    grid(&mut out, axes);
    for gain in calls.iter().filter(|gain| is_drawn(gain)) {
        point(&mut out, axes, gain);
    }
    out.push_str("</svg>");
    out
}

/// `4 KiB: 2.16 [2.10, 2.22], faster, 3.67 us by default and 1.70 us deployed`.
fn in_words(gain: &CallGain) -> String {
    format!(
        "{}: {} {}, {}, {} by default and {} deployed",
        format::bytes(gain.bytes),
        format::ratio(gain.factor),
        format::interval(gain.factor_ci),
        words(gain.verdict),
        format::seconds(gain.default_seconds),
        format::seconds(gain.deployed_seconds),
    )
}

fn grid(out: &mut String, axes: &Axes) {
    for tick in factor_ticks(&axes.y, 6, 20.0) {
        let y = tick.at;
        let _ = write!(
            out,
            r#"<line class="grid" x1="{LEFT}" y1="{y:.1}" x2="{RIGHT}" y2="{y:.1}"/><text class="tick y" x="{:.1}" y="{:.1}">{}</text>"#,
            LEFT - 6.0,
            y + 4.0,
            escape(&tick.label),
        );
    }
    for tick in size_ticks(&axes.x, &axes.sizes, 58.0) {
        let x = tick.at;
        let _ = write!(
            out,
            r#"<line class="axis" x1="{x:.1}" y1="{BOTTOM}" x2="{x:.1}" y2="{:.1}"/><text class="tick x" x="{x:.1}" y="{:.1}">{}</text>"#,
            BOTTOM + 5.0,
            BOTTOM + 19.0,
            escape(&tick.label),
        );
    }
    let one = axes.y.at(1.0);
    let _ = write!(
        out,
        r#"<path class="axis" d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}"/><line class="one" x1="{LEFT}" y1="{one:.1}" x2="{RIGHT}" y2="{one:.1}"/>"#
    );
}

fn point(out: &mut String, axes: &Axes, gain: &CallGain) {
    let (x, y) = (axes.x.at(size_value(gain.bytes)), axes.y.at(gain.factor));
    let (low, high) = ends(gain);
    let (low, high) = (axes.y.at(low), axes.y.at(high));
    let _ = write!(
        out,
        r#"<g class="{}"><title>{}</title><path class="range" d="M{x:.1} {low:.1}V{high:.1}"/>{}</g>"#,
        class(gain.verdict),
        escape(&in_words(gain)),
        mark(gain.verdict, (x, y)),
    );
}

/// Filled circles, squares and hollow circles: told apart without colour.
pub(super) fn mark(verdict: GainVerdict, (x, y): (f64, f64)) -> String {
    let class = class(verdict);
    match verdict {
        GainVerdict::Slower => format!(
            r#"<rect class="dot {class}" x="{:.1}" y="{:.1}" width="7" height="7"/>"#,
            x - 3.5,
            y - 3.5
        ),
        GainVerdict::Faster | GainVerdict::Same => {
            format!(r#"<circle class="dot {class}" cx="{x:.1}" cy="{y:.1}" r="3.6"/>"#)
        }
    }
}

fn class(verdict: GainVerdict) -> &'static str {
    match verdict {
        GainVerdict::Faster => "faster",
        GainVerdict::Slower => "slower",
        GainVerdict::Same => "same",
    }
}
