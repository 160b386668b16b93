//! Run time against message size for both sides of a guideline, as PGMPI's figures 2 and 3 (doi:10.1007/978-3-319-43659-3_32):
//! one panel for the untouched library, one for what is deployed, on the same axes.
//!
//! The SVG is written by hand rather than with a plotting library: its colours are classes that the page's style sheet
//! resolves (light, dark, print), shading has a hatch that survives without colour, and every point explains itself.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kilter_model::report::Cell;
use kilter_render::format;
use kilter_render::quoting::escape;
use kilter_render::scale::{BOTTOM, HEIGHT, LogAxis, TOP, WIDTH, size_ticks, size_value, time_ticks};
use kilter_stats::verdict::{Comparison, Outcome};

use crate::summary::Group;

const LEFT: f64 = 58.0;
const RIGHT: f64 = 506.0;
/// Room for asterisks above the highest point.
const STARS: f64 = 40.0;
/// Half of the widest shading, in pixels.
const HALF_BAND: f64 = 22.0;

/// A figure: its panels and the words around them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    /// The first curve in words.
    pub(super) left: String,
    /// The second curve in words; absent for monotony, which compares a curve with itself.
    pub(super) right: Option<String>,
    /// SVG of the untouched library.
    pub(super) before: String,
    /// SVG of what is deployed.
    pub(super) after: Option<String>,
}

/// Draws the figure of one guideline; absent when no time is positive and finite. `key` must be unique in the page.
pub(super) fn draw(group: &Group<'_>, key: &str) -> Option<Figure> {
    let before = Panel::of(group, |cell| Some(&cell.before));
    let after = Panel::of(group, |cell| cell.after.as_ref());
    let times = || [&before, &after].into_iter().flat_map(Panel::times);
    let (low, high) = (times().reduce(f64::min)?, times().reduce(f64::max)?);
    let sizes: Vec<u64> = before.sizes();
    let (first, last) = (*sizes.first()?, *sizes.last()?);
    let axes = Axes {
        x: LogAxis::new((size_value(first), size_value(last)), (LEFT, RIGHT), (16.0, 16.0)),
        y: LogAxis::new((low, high), (BOTTOM, TOP), (12.0, STARS)),
        sizes,
    };
    let (left, right) = format::sides(&group.expression);
    let title = format!("{} {}", group.guideline, group.expression);
    Some(Figure {
        left: if group.is_monotony() {
            format!("{}(n)", group.function)
        } else {
            left.to_owned()
        },
        right: (!group.is_monotony()).then(|| right.to_owned()),
        before: before.svg(&axes, &format!("{key}b"), &format!("{title}, before tuning")),
        after: after
            .has_points()
            .then(|| after.svg(&axes, &format!("{key}a"), &format!("{title}, after tuning"))),
    })
}

struct Axes {
    x: LogAxis,
    y: LogAxis,
    sizes: Vec<u64>,
}

/// Times at one size.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    median: f64,
    low: f64,
    high: f64,
}

impl Point {
    fn new(median: f64, launches: &[f64]) -> Option<Self> {
        let positive = |value: &f64| value.is_finite() && *value > 0.0;
        let of = |pick: fn(f64, f64) -> f64| launches.iter().copied().filter(positive).fold(median, pick);
        positive(&median).then(|| Self {
            median,
            low: of(f64::min),
            high: of(f64::max),
        })
    }
}

/// A violated cell.
struct Band {
    bytes: u64,
    /// The larger size of a monotony cell.
    until: Option<u64>,
    stars: &'static str,
    words: String,
}

struct Panel {
    left: BTreeMap<u64, Point>,
    right: BTreeMap<u64, Point>,
    bands: Vec<Band>,
}

impl Panel {
    fn of(group: &Group<'_>, choose: fn(&Cell) -> Option<&Comparison>) -> Self {
        let mut panel = Self {
            left: BTreeMap::new(),
            right: BTreeMap::new(),
            bands: Vec::new(),
        };
        for cell in &group.cells {
            let Some(comparison) = choose(cell) else { continue };
            let right = Point::new(comparison.right_seconds, &comparison.right_medians);
            if let Some(point) = Point::new(comparison.seconds, &comparison.left_medians) {
                panel.left.insert(cell.bytes, point);
            }
            match (right, cell.right_bytes) {
                // The larger size is a point of the same curve, unless a cell of its own gives it.
                (Some(point), Some(larger)) if group.is_monotony() => {
                    panel.left.entry(larger).or_insert(point);
                }
                (Some(point), _) => {
                    // The tightest of several right sides at one size (splits) is the bound.
                    let bound = panel.right.entry(cell.bytes).or_insert(point);
                    if point.median < bound.median {
                        *bound = point;
                    }
                }
                (None, _) => {}
            }
            if comparison.verdict == Outcome::Violated {
                panel.bands.push(Band {
                    bytes: cell.bytes,
                    until: cell.right_bytes.filter(|_| group.is_monotony()),
                    stars: format::stars(comparison.p_adjusted),
                    words: band_words(cell, comparison),
                });
            }
        }
        panel
    }

    fn has_points(&self) -> bool {
        !self.left.is_empty() || !self.right.is_empty()
    }

    fn times(&self) -> impl Iterator<Item = f64> {
        self.left
            .values()
            .chain(self.right.values())
            .flat_map(|point| [point.low, point.high])
    }

    fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.left.keys().chain(self.right.keys()).copied().collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    fn svg(&self, axes: &Axes, key: &str, title: &str) -> String {
        let mut out = String::with_capacity(16 * 1024);
        let summary = match self.bands.len() {
            0 => "No size is violated.".to_owned(),
            _ => format!(
                "Violated: {}.",
                self.bands
                    .iter()
                    .map(|band| band.words.as_str())
                    .collect::<Vec<_>>()
                    .join("; ")
            ),
        };
        let _ = write!(
            out,
            r#"<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{key}-t {key}-d" class="plot"><title id="{key}-t">{}</title><desc id="{key}-d">Run time against message size, logarithmic axes. {}</desc>"#,
            escape(title),
            escape(&summary),
        );
        let _ = write!(
            out,
            r#"<defs><pattern id="{key}-h" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="band-ground" width="6" height="6"/><line class="band-line" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>"#
        );
        grid(&mut out, axes);
        for band in &self.bands {
            band.draw(&mut out, axes, key);
        }
        curve(&mut out, axes, &self.right, Side::Right);
        curve(&mut out, axes, &self.left, Side::Left);
        let narrow = self.bands.iter().any(|band| !band.fits_stars(axes));
        for band in &self.bands {
            band.draw_stars(&mut out, axes, narrow);
        }
        out.push_str("</svg>");
        out
    }
}

impl Band {
    /// Left and right pixel of the shading: half way to the neighbours, or from one size to the other.
    fn extent(&self, axes: &Axes) -> (f64, f64) {
        let at = |bytes: u64| axes.x.at(size_value(bytes));
        let x = at(self.bytes);
        if let Some(until) = self.until {
            return (x.min(at(until)), x.max(at(until)));
        }
        let half = |neighbour: Option<&u64>| {
            neighbour.map_or(HALF_BAND, |bytes| ((at(*bytes) - x).abs() / 2.0).min(HALF_BAND))
        };
        let below = axes.sizes.iter().rev().find(|bytes| **bytes < self.bytes);
        let above = axes.sizes.iter().find(|bytes| **bytes > self.bytes);
        (
            (x - half(below).max(2.0)).max(LEFT),
            (x + half(above).max(2.0)).min(RIGHT),
        )
    }

    fn draw(&self, out: &mut String, axes: &Axes, key: &str) {
        let (from, to) = self.extent(axes);
        let _ = write!(
            out,
            r#"<rect x="{from:.1}" y="{TOP}" width="{:.1}" height="{:.1}" fill="url(#{key}-h)"><title>{}</title></rect>"#,
            to - from,
            BOTTOM - TOP,
            escape(&self.words),
        );
    }

    fn fits_stars(&self, axes: &Axes) -> bool {
        let (from, to) = self.extent(axes);
        to - from >= 9.0 * self.stars.len() as f64
    }

    /// Asterisks side by side, or one below the other where a panel has narrow shadings.
    fn draw_stars(&self, out: &mut String, axes: &Axes, narrow: bool) {
        let (from, to) = self.extent(axes);
        let x = from.midpoint(to);
        let lines = if narrow {
            vec!["*"; self.stars.len()]
        } else {
            vec![self.stars]
        };
        for (line, stars) in lines.into_iter().enumerate() {
            let y = TOP + 16.0 + 9.0 * line as f64;
            let _ = write!(out, r#"<text class="stars" x="{x:.1}" y="{y:.1}">{stars}</text>"#);
        }
    }
}

fn band_words(cell: &Cell, comparison: &Comparison) -> String {
    let size = match cell.right_bytes {
        Some(right) => format!("{} against {}", format::bytes(cell.bytes), format::bytes(right)),
        None => format::bytes(cell.bytes),
    };
    format!(
        "{size}, ratio {} {}, adjusted p {}",
        format::ratio(comparison.ratio),
        format::interval(comparison.ratio_ci),
        format::p_value(comparison.p_adjusted)
    )
}

fn grid(out: &mut String, axes: &Axes) {
    for tick in time_ticks(&axes.y, 8, 24.0) {
        let y = tick.at;
        let _ = write!(
            out,
            r#"<line class="grid" x1="{LEFT}" y1="{y:.1}" x2="{RIGHT}" y2="{y:.1}"/><text class="tick y" x="{:.1}" y="{:.1}">{}</text>"#,
            LEFT - 7.0,
            y + 4.0,
            escape(&tick.label),
        );
    }
    for bytes in &axes.sizes {
        let x = axes.x.at(size_value(*bytes));
        let _ = write!(
            out,
            r#"<line class="axis" x1="{x:.1}" y1="{BOTTOM}" x2="{x:.1}" y2="{:.1}"/>"#,
            BOTTOM + 3.0
        );
    }
    for tick in size_ticks(&axes.x, &axes.sizes, 56.0) {
        let x = tick.at;
        let _ = write!(
            out,
            r#"<line class="grid" x1="{x:.1}" y1="{TOP}" x2="{x:.1}" y2="{BOTTOM}"/><line class="axis" x1="{x:.1}" y1="{BOTTOM}" x2="{x:.1}" y2="{:.1}"/><text class="tick x" x="{x:.1}" y="{:.1}">{}</text>"#,
            BOTTOM + 6.0,
            BOTTOM + 20.0,
            escape(&tick.label),
        );
    }
    let _ = write!(
        out,
        r#"<path class="axis" d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}"/><text class="tick x" x="{:.1}" y="{:.1}">message size n</text>"#,
        LEFT.midpoint(RIGHT),
        BOTTOM + 38.0,
    );
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
}

fn curve(out: &mut String, axes: &Axes, points: &BTreeMap<u64, Point>, side: Side) {
    let class = if side == Side::Left { "left" } else { "right" };
    let _ = write!(out, r#"<g class="{class}">"#);
    let place = |(bytes, point): (&u64, &Point)| (axes.x.at(size_value(*bytes)), axes.y.at(point.median));
    let path: Vec<String> = points
        .iter()
        .map(place)
        .map(|(x, y)| format!("{x:.1} {y:.1}"))
        .collect();
    if path.len() > 1 {
        let _ = write!(out, r#"<path class="curve" d="M{}"/>"#, path.join("L"));
    }
    for (bytes, point) in points {
        let (x, y) = place((bytes, point));
        let (low, high) = (axes.y.at(point.low), axes.y.at(point.high));
        let _ = write!(
            out,
            "<g><title>{}: median {}, launches {} to {}</title>",
            format::bytes(*bytes),
            format::seconds(point.median),
            format::seconds(point.low),
            format::seconds(point.high),
        );
        if (low - high).abs() > 2.0 {
            let _ = write!(
                out,
                r#"<path class="range" d="M{x:.1} {low:.1}V{high:.1}M{:.1} {low:.1}h5M{:.1} {high:.1}h5"/>"#,
                x - 2.5,
                x - 2.5,
            );
        }
        // Filled circles and hollow squares: told apart without colour.
        let _ = match side {
            Side::Left => write!(out, r#"<circle class="mark" cx="{x:.1}" cy="{y:.1}" r="3.4"/></g>"#),
            Side::Right => write!(
                out,
                r#"<rect class="mark" x="{:.1}" y="{:.1}" width="6.4" height="6.4"/></g>"#,
                x - 3.2,
                y - 3.2
            ),
        };
    }
    out.push_str("</g>");
}
