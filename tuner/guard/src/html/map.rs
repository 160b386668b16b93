//! Map of hosts: a square for each measured pair, in the row and the column of its hosts, coloured by its time over the usual pair's.
//!
//! A slow host is a row and a column of dark squares, framed; a slow pair a framed square. Colours are steps of lightness of the theme's own, so that
//! numbers can be read on all of them and the order is seen without red and green.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use kilter_render::format;
use kilter_render::quoting::escape;

use crate::nodes::{Map, OfKind};

/// Most hosts whose maps stand beside each other.
const NARROW: usize = 12;

/// Width of a map with few hosts, and of one with many, in pixels.
const WIDTHS: (f64, f64) = (520.0, 1000.0);

/// Most characters of a host's name.
const LONGEST: usize = 18;

/// Width of a character at 1 px of its size.
const CHARACTER: f64 = 0.66;

/// Size of letters, and the least that can be read, in pixels.
const LETTERS: (f64, f64) = (12.0, 7.0);

/// Room for the factors on the right, in pixels.
const FACTORS: f64 = 62.0;

/// Least side of a square that has its number, in pixels.
const NUMBERED: f64 = 30.0;

/// Largest side of a square, in pixels.
const LARGEST: f64 = 56.0;

/// A range of ratios with its colour.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// The first ratio that is no more of it.
    below: f64,
    pub(super) class: &'static str,
    pub(super) words: &'static str,
}

/// The ranges, the lowest first.
pub(super) const STEPS: [Step; 6] = [
    step(0.9, "q0", "under 0.9 of the usual pair's time"),
    step(1.1, "q1", "0.9 to 1.1"),
    step(1.25, "q2", "1.1 to 1.25"),
    step(1.5, "q3", "1.25 to 1.5"),
    step(2.0, "q4", "1.5 to 2"),
    step(f64::INFINITY, "q5", "2 and more"),
];

const fn step(below: f64, class: &'static str, words: &'static str) -> Step {
    Step { below, class, words }
}

/// Colour of a ratio.
fn class(ratio: f64) -> &'static str {
    let found = STEPS.iter().find(|step| ratio < step.below);
    found.map_or("q5", |step| step.class)
}

/// A map with its heading.
pub(super) struct Figure {
    pub(super) title: String,
    pub(super) usual: String,
    /// The hosts whose factors stand on the right.
    pub(super) with_factors: &'static str,
    pub(super) svg: String,
}

/// True if two maps of so many hosts stand beside each other.
pub(super) fn is_narrow(hosts: usize) -> bool {
    hosts <= NARROW
}

/// Names of hosts for the edges of a map: without their domain where they differ without it, and no longer than fits.
pub(super) fn labels(hosts: &[String]) -> Vec<String> {
    let short = |host: &String| host.split('.').next().unwrap_or_default().to_owned();
    let all: BTreeSet<String> = hosts.iter().map(short).collect();
    let name = |host: &String| {
        let name = if all.len() == hosts.len() {
            short(host)
        } else {
            host.clone()
        };
        // Numbers, by which hosts differ, are at the end.
        match name.chars().count().checked_sub(LONGEST) {
            None | Some(0) => name,
            Some(more) => format!("…{}", name.chars().skip(more + 1).collect::<String>()),
        }
    };
    hosts.iter().map(name).collect()
}

/// The places of what is drawn, in pixels.
struct Frame {
    left: f64,
    top: f64,
    side: f64,
    /// Size of names.
    letters: f64,
    /// Every so-manieth host is named.
    named: usize,
    /// True if names of columns are written upwards.
    is_upwards: bool,
    count: usize,
}

impl Frame {
    fn of(names: &[String]) -> Frame {
        let count = names.len();
        let width = if is_narrow(count) { WIDTHS.0 } else { WIDTHS.1 };
        let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0) as f64;
        let left = longest * CHARACTER * LETTERS.0 + 10.0;
        let side = ((width - left - FACTORS) / count.max(1) as f64).min(LARGEST);
        let letters = side.clamp(LETTERS.1, LETTERS.0);
        let is_upwards = longest * CHARACTER * letters > side - 4.0;
        Frame {
            left,
            top: if is_upwards {
                longest * CHARACTER * letters + 10.0
            } else {
                20.0
            },
            side,
            letters,
            named: (letters / side).ceil().max(1.0) as usize,
            is_upwards,
            count,
        }
    }

    fn x(&self, place: usize) -> f64 {
        self.left + self.side * place as f64
    }

    fn y(&self, place: usize) -> f64 {
        self.top + self.side * place as f64
    }

    /// Length of a row or a column.
    fn length(&self) -> f64 {
        self.side * self.count as f64
    }

    fn has_numbers(&self) -> bool {
        self.side >= NUMBERED
    }
}

/// Draws the pairs of a kind of messages.
pub(super) fn draw(map: &Map, kind: &OfKind, names: &[String]) -> Figure {
    let frame = Frame::of(names);
    let place = |host: &String| map.hosts.iter().position(|other| other == host);
    let of_kind = map.slow.iter().filter(|slow| slow.kind == kind.kind);
    let slow: Vec<(Vec<usize>, f64)> = of_kind
        .map(|slow| (slow.hosts.iter().filter_map(place).collect(), slow.factor))
        .collect();
    let mut out = begin(map, kind, &frame);
    for pair in &kind.pairs {
        square(&mut out, &frame, map, kind, (pair.hosts, pair.seconds));
    }
    edges(&mut out, &frame, map, names, &slow);
    for (places, _) in &slow {
        frames(&mut out, &frame, places);
    }
    factors(&mut out, &frame, kind, &slow);
    out.push_str("</svg>");
    Figure {
        title: format!("{} of {}", kind.kind.word(), format::bytes(kind.bytes)),
        usual: format::seconds(kind.seconds),
        with_factors: if frame.has_numbers() { "each host" } else { "slow hosts" },
        svg: out,
    }
}

fn begin(map: &Map, kind: &OfKind, frame: &Frame) -> String {
    let length = frame.length();
    let (width, height) = (frame.left + length + FACTORS, frame.top + length + 4.0);
    let key = kind.kind.word();
    let slow = map.slow.iter().filter(|slow| slow.kind == kind.kind);
    let slow: Vec<String> = slow
        .map(|slow| format!("{} {}", slow.hosts.join(" and "), format::ratio(slow.factor)))
        .collect();
    let words = format!(
        "{} of {}, usual pair {}; slow: {}",
        format::count(kind.pairs.len(), "pair"),
        format::count(map.hosts.len(), "host"),
        format::seconds(kind.seconds),
        if slow.is_empty() {
            "none".to_owned()
        } else {
            slow.join(", ")
        }
    );
    format!(
        r#"<svg viewBox="0 0 {width:.0} {height:.0}" role="img" aria-labelledby="map-{key}-t map-{key}-d" class="plot map"><title id="map-{key}-t">{key} by pair of hosts</title><desc id="map-{key}-d">{}</desc><rect class="ground" x="{:.1}" y="{:.1}" width="{length:.1}" height="{length:.1}"/>"#,
        escape(&words),
        frame.left,
        frame.top
    )
}

/// Both squares of a pair.
fn square(out: &mut String, frame: &Frame, map: &Map, kind: &OfKind, ((a, b), seconds): ((usize, usize), f64)) {
    let ratio = seconds / kind.seconds;
    let host = |place: usize| map.hosts.get(place).map_or("", String::as_str);
    let words = escape(&format!(
        "{} and {}: {}, {} times the usual",
        host(a),
        host(b),
        format::seconds(seconds),
        format::ratio(ratio)
    ));
    let class = class(ratio);
    for (row, column) in [(a, b), (b, a)] {
        let (x, y, side) = (frame.x(column), frame.y(row), frame.side);
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{side:.1}" height="{side:.1}"><title>{words}</title></rect>"#
        );
        if frame.has_numbers() {
            let _ = write!(
                out,
                r#"<text class="number on-{class}" x="{:.1}" y="{:.1}">{}</text>"#,
                x + side / 2.0,
                y + side / 2.0 + 4.0,
                format::ratio(ratio)
            );
        }
    }
}

/// Names of rows and columns.
fn edges(out: &mut String, frame: &Frame, map: &Map, names: &[String], slow: &[(Vec<usize>, f64)]) {
    for (place, name) in names.iter().enumerate() {
        let is_slow = slow.iter().any(|(places, _)| places.contains(&place));
        if !is_slow && !place.is_multiple_of(frame.named) {
            continue;
        }
        let class = if is_slow { "name slow" } else { "name" };
        let (size, whole) = (frame.letters, escape(map.hosts.get(place).unwrap_or(name)));
        let middle = frame.side / 2.0 + size * 0.35;
        let name = escape(name);
        let _ = write!(
            out,
            r#"<text class="{class} y" font-size="{size:.1}" x="{:.1}" y="{:.1}">{name}<title>{whole}</title></text>"#,
            frame.left - 6.0,
            frame.y(place) + middle
        );
        let (x, y) = (frame.x(place) + frame.side / 2.0, frame.top - 6.0);
        let _ = if frame.is_upwards {
            let x = frame.x(place) + middle;
            write!(
                out,
                r#"<text class="{class}" font-size="{size:.1}" transform="translate({x:.1} {y:.1}) rotate(-90)">{name}<title>{whole}</title></text>"#
            )
        } else {
            write!(
                out,
                r#"<text class="{class} x" font-size="{size:.1}" x="{x:.1}" y="{y:.1}">{name}<title>{whole}</title></text>"#
            )
        };
    }
}

/// Frames round the row and the column of a slow host, or round the squares of a slow pair.
fn frames(out: &mut String, frame: &Frame, places: &[usize]) {
    let mut rectangle = |(x, y): (f64, f64), (width, height): (f64, f64)| {
        let _ = write!(
            out,
            r#"<rect class="slow" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#
        );
    };
    let (side, length) = (frame.side, frame.length());
    match *places {
        [host] => {
            rectangle((frame.left, frame.y(host)), (length, side));
            rectangle((frame.x(host), frame.top), (side, length));
        }
        [a, b] => {
            rectangle((frame.x(b), frame.y(a)), (side, side));
            rectangle((frame.x(a), frame.y(b)), (side, side));
        }
        _ => {}
    }
}

/// Factors of the hosts on the right: of all where there is room, else of the slow ones.
fn factors(out: &mut String, frame: &Frame, kind: &OfKind, slow: &[(Vec<usize>, f64)]) {
    for (place, factor) in kind.factors.iter().enumerate() {
        let is_slow = slow.iter().any(|(places, _)| places.as_slice() == [place]);
        let Some(factor) = factor.filter(|_| is_slow || frame.has_numbers()) else {
            continue;
        };
        let (class, mark) = if is_slow { ("name slow", "◀ ") } else { ("tick", "") };
        let _ = write!(
            out,
            r#"<text class="{class}" font-size="{:.1}" x="{:.1}" y="{:.1}">{mark}{}</text>"#,
            frame.letters.max(LETTERS.0),
            frame.left + frame.length() + 6.0,
            frame.y(place) + frame.side / 2.0 + 4.0,
            format::ratio(factor)
        );
    }
}
