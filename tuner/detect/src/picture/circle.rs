//! Picture of a circle: steps of which each comes before the next one, the last before the first.

use std::f64::consts::TAU;
use std::fmt::Write as _;

use kilter_render::quoting::escape;

use crate::model::finding::Step;
use crate::model::trace::Trace;
use crate::words;

/// Most steps that are drawn.
const MOST: usize = 12;
/// Radius of the circle and of a step, in pixels.
const RADIUS: f64 = 84.0;
const STEP: f64 = 14.0;
/// Width of the picture, left edge of the words and height of a line, in pixels.
const WIDTH: f64 = 1040.0;
const WORDS: f64 = 250.0;
const LINE: f64 = 24.0;

/// Draws the circle in which `function` would wait for itself. None if it has no step. Ids begin with `key`.
pub(crate) fn draw(function: &str, cycle: &[Step], trace: &Trace, key: &str) -> Option<String> {
    let steps = steps(function, cycle, trace);
    if steps.is_empty() {
        return None;
    }
    let height = (2.0 * (RADIUS + STEP) + 12.0).max(LINE * steps.len() as f64 + 12.0);
    let (x, y) = (RADIUS + STEP + 8.0, height / 2.0);
    let words: Vec<&str> = steps.iter().map(|(_, words)| words.as_str()).collect();
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        r#"<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{}" class="plot circle"><defs><marker id="{key}-head" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.8L8 4L0 7.2Z"/></marker></defs>"#,
        escape(&format!(
            "A circle, each step before the next one: {}",
            words.join("; ")
        ))
    );
    let turn = TAU / steps.len() as f64;
    let angle = |at: usize| turn * at as f64 - TAU / 4.0;
    let place = |angle: f64| (x + RADIUS * angle.cos(), y + RADIUS * angle.sin());
    let gap = STEP / RADIUS + 0.03;
    for (at, (class, words)) in steps.iter().enumerate() {
        let ((from_x, from_y), (to_x, to_y)) = (place(angle(at) + gap), place(angle(at) + turn - gap));
        let is_long = u8::from(turn - 2.0 * gap > TAU / 2.0);
        let _ = write!(
            out,
            r#"<path class="before" d="M{from_x:.1} {from_y:.1}A{RADIUS} {RADIUS} 0 {is_long} 1 {to_x:.1} {to_y:.1}" marker-end="url(#{key}-head)"/>"#
        );
        let line = y + LINE * (at as f64 - (steps.len() as f64 - 1.0) / 2.0);
        for (x, y) in [place(angle(at)), (WORDS, line)] {
            let _ = write!(
                out,
                r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="{}"/><text class="x {class}" x="{x:.1}" y="{:.1}">{}</text>"#,
                if x == WORDS { 10.0 } else { STEP },
                y + 4.4,
                at + 1
            );
        }
        let _ = writeln!(
            out,
            r#"<text x="{}" y="{:.1}">{}</text>"#,
            WORDS + 20.0,
            line + 4.4,
            escape(words)
        );
    }
    out.push_str("</svg>");
    Some(out)
}

/// Classes and words of the steps, with one for all that are too many.
fn steps(function: &str, cycle: &[Step], trace: &Trace) -> Vec<(&'static str, String)> {
    let one = |step: &Step| {
        let class = match step {
            Step::Collective(_) => "collective",
            Step::Call { .. } => "call",
        };
        (class, words::step(function, step, trace))
    };
    if cycle.len() <= MOST {
        return cycle.iter().map(one).collect();
    }
    let mut steps: Vec<_> = cycle.iter().take(MOST - 1).map(one).collect();
    steps.push(("call", format!("{} further steps", cycle.len() - MOST + 1)));
    steps
}
