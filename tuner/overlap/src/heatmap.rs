//! A map as a figure, as in Denis and Trahay (doi:10.1109/ICPP.2016.37, section III.C). Message size goes to the right
//! and computation time upwards, both logarithmic. Each measured point is a rectangle of one colour; nothing is
//! interpolated. A white line shows communication by itself: below it communication takes longer, above it computation.
//! For computing threads their number goes upwards, and colours are on a logarithmic scale.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kilter_model::reading::{Quantity, read, row};
use kilter_model::survey::{Cell, Failed, Map};
use kilter_protocol::overlap::Benchmark;
use kilter_render::format;
use kilter_render::quoting::escape;
use kilter_render::scale::{BOTTOM, HEIGHT, LogAxis, TOP, WIDTH, size_ticks, size_value, time_ticks};

use super::palette::{STEPS, step};

const LEFT: f64 = 68.0;
const RIGHT: f64 = 438.0;
/// Horizontal position of the colour bar.
const BAR: f64 = 450.0;
const BAR_WIDTH: f64 = 14.0;

/// Position of a value on the colour scale, from 0 to 1 and beyond.
pub(super) fn share(quantity: Quantity, value: f64) -> f64 {
    match quantity {
        // Black is 0, the end of the scale 2.
        Quantity::Ratio => value / 2.0,
        // The scale goes from 1 to 1000.
        Quantity::Slowdown => value.max(f64::MIN_POSITIVE).log10() / 3.0,
    }
}

/// Values beside the colour bar.
const fn marks(quantity: Quantity) -> &'static [(f64, &'static str)] {
    match quantity {
        Quantity::Ratio => &[(0.0, "0"), (0.5, "0.5"), (1.0, "1"), (1.5, "1.5"), (2.0, "≥ 2")],
        Quantity::Slowdown => &[(1.0, "1"), (10.0, "10"), (100.0, "100"), (1000.0, "≥ 1000")],
    }
}

/// Draws a map; `words` describe it. `None` without cells. Ids begin with `overlap-` and the benchmark's name.
pub(super) fn draw(map: &Map, words: &str) -> Option<String> {
    draw_as(map, words, &format!("overlap-{}", map.benchmark.name()))
}

/// Same as [`draw`] with ids that begin with `key`.
pub(super) fn draw_as(map: &Map, words: &str, key: &str) -> Option<String> {
    let axes = Axes::of(map)?;
    let quantity = Quantity::of(map.benchmark);
    let mut out = String::with_capacity(256 * (map.cells.len() + map.failed.len()) + 8192);
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        r#"<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{key}-t {key}-d" class="plot heat"><title id="{key}-t">{}</title><desc id="{key}-d">{}</desc>"#,
        escape(&format!("{} of {}", quantity.name(), map.benchmark.name())),
        escape(words),
    );
    let _ = write!(
        out,
        r#"<defs><pattern id="{key}-m" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="mask-ground" width="5" height="5"/><line class="mask-line" x1="0" y1="0" x2="0" y2="5"/></pattern><clipPath id="{key}-c"><rect x="{LEFT}" y="{TOP}" width="{}" height="{}"/></clipPath></defs>"#,
        RIGHT - LEFT,
        BOTTOM - TOP
    );
    out.push_str(r#"<g shape-rendering="crispEdges">"#);
    for cell in &map.cells {
        let fill = match read(map.benchmark, cell) {
            Some(reading) => format!(r#"class="q{}""#, step(share(quantity, reading.value))),
            None => format!(r#"fill="url(#{key}-m)""#),
        };
        let at = row(map.benchmark, cell.computation_ns, cell.threads);
        axes.rectangle(&mut out, cell.bytes, at, &fill, &cell_words(map.benchmark, cell));
    }
    for failed in &map.failed {
        let at = row(map.benchmark, failed.computation_ns, failed.threads);
        axes.rectangle(
            &mut out,
            failed.bytes,
            at,
            r#"class="failed""#,
            &failed_words(map.benchmark, failed),
        );
    }
    out.push_str("</g>");
    axes.inferred(&mut out, map);
    axes.failed(&mut out, map);
    axes.communication(&mut out, map, key);
    axes.frame(&mut out, map.benchmark);
    bar(&mut out, quantity);
    out.push_str("</svg>");
    Some(out)
}

/// A cell in words.
pub(super) fn cell_words(benchmark: Benchmark, cell: &Cell) -> String {
    let mut words = place_words(benchmark, cell.bytes, cell.computation_ns, cell.threads);
    let _ = match read(benchmark, cell) {
        Some(reading) => write!(
            words,
            ": {} {} {}",
            Quantity::of(benchmark).name(),
            format::ratio(reading.value),
            format::interval(reading.interval.into())
        ),
        None => write!(
            words,
            ": masked, too near the noise of {}",
            format::seconds(cell.noise_seconds)
        ),
    };
    let _ = write!(
        words,
        "; communication alone {}, both {}",
        format::seconds(cell.communication_seconds),
        format::seconds(cell.overlapped_seconds)
    );
    if cell.disturbed > 0 {
        let _ = write!(
            words,
            "; {} disturbed",
            format::count(cell.disturbed as usize, "repetition")
        );
    }
    if cell.inferred {
        words.push_str("; filled in, not measured");
    }
    words
}

pub(super) fn failed_words(benchmark: Benchmark, failed: &Failed) -> String {
    let place = place_words(benchmark, failed.bytes, failed.computation_ns, failed.threads);
    format!("{place}: not measured: {}", failed.reason)
}

fn place_words(benchmark: Benchmark, bytes: u64, computation_ns: u64, threads: u32) -> String {
    format!(
        "{}, {}",
        format::bytes(bytes),
        row_words(benchmark, row(benchmark, computation_ns, threads))
    )
}

/// A row's label: a time, or a number of threads.
pub(super) fn row_words(benchmark: Benchmark, row: u64) -> String {
    match Quantity::of(benchmark) {
        Quantity::Ratio => format::seconds(row as f64 * 1e-9),
        Quantity::Slowdown => format::count(row as usize, "thread"),
    }
}

/// Pixels of sizes and rows.
struct Axes {
    /// Left and right pixel of each size.
    columns: BTreeMap<u64, (f64, f64)>,
    /// Upper and lower pixel of each row.
    rows: BTreeMap<u64, (f64, f64)>,
    x: LogAxis,
    /// Axis of times; `None` for numbers of threads, which stand in even steps.
    y: Option<LogAxis>,
}

impl Axes {
    fn of(map: &Map) -> Option<Axes> {
        let cells = map
            .cells
            .iter()
            .map(|cell| (cell.bytes, cell.computation_ns, cell.threads));
        let failed = map
            .failed
            .iter()
            .map(|cell| (cell.bytes, cell.computation_ns, cell.threads));
        let places = || cells.clone().chain(failed.clone());
        let sizes = distinct(places().map(|(bytes, ..)| bytes));
        let rows = distinct(places().map(|(_, ns, threads)| row(map.benchmark, ns, threads)));
        let edges = borders(&sizes.iter().map(|bytes| size_value(*bytes)).collect::<Vec<f64>>());
        let x = LogAxis::new((*edges.first()?, *edges.last()?), (LEFT, RIGHT), (0.0, 0.0));
        let columns = extents(&sizes, &edges.iter().map(|edge| x.at(*edge)).collect::<Vec<f64>>());
        let (rows, y) = match Quantity::of(map.benchmark) {
            Quantity::Ratio => {
                let edges = borders(&rows.iter().map(|ns| (*ns).max(1) as f64 * 1e-9).collect::<Vec<f64>>());
                let y = LogAxis::new((*edges.first()?, *edges.last()?), (BOTTOM, TOP), (0.0, 0.0));
                let pixels: Vec<f64> = edges.iter().map(|edge| y.at(*edge)).collect();
                (extents(&rows, &pixels), Some(y))
            }
            Quantity::Slowdown => {
                let height = (BOTTOM - TOP) / rows.len() as f64;
                let pixels: Vec<f64> = (0..=rows.len()).map(|edge| BOTTOM - height * edge as f64).collect();
                (extents(&rows, &pixels), None)
            }
        };
        Some(Axes { columns, rows, x, y })
    }

    /// Left, top, width and height of a cell.
    fn place(&self, bytes: u64, row: u64) -> Option<(f64, f64, f64, f64)> {
        let ((left, right), (low, high)) = (self.columns.get(&bytes)?, self.rows.get(&row)?);
        Some((*left, *high, right - left, low - high))
    }

    /// Draws a rectangle; `fill` is an attribute.
    fn rectangle(&self, out: &mut String, bytes: u64, row: u64, fill: &str, title: &str) {
        if let Some((x, y, width, height)) = self.place(bytes, row) {
            let _ = write!(
                out,
                r#"<rect {fill} x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"><title>{}</title></rect>"#,
                escape(title)
            );
        }
    }

    /// Draws a dot on every inferred cell.
    fn inferred(&self, out: &mut String, map: &Map) {
        let inferred = map.cells.iter().filter(|cell| cell.inferred);
        let places =
            inferred.filter_map(|cell| self.place(cell.bytes, row(map.benchmark, cell.computation_ns, cell.threads)));
        let path: String = places
            .map(|(x, y, width, height)| format!("M{:.1} {:.1}h0", x + width / 2.0, y + height / 2.0))
            .collect();
        if !path.is_empty() {
            let _ = write!(out, r#"<path class="inferred" d="{path}"/>"#);
        }
    }

    /// Draws a cross on every failed cell.
    fn failed(&self, out: &mut String, map: &Map) {
        let cells = map.failed.iter();
        let places =
            cells.filter_map(|cell| self.place(cell.bytes, row(map.benchmark, cell.computation_ns, cell.threads)));
        let path: String = places
            .map(|(x, y, width, height)| {
                format!(
                    "M{x:.1} {y:.1}l{width:.1} {height:.1}M{:.1} {y:.1}l{:.1} {height:.1}",
                    x + width,
                    -width
                )
            })
            .collect();
        if !path.is_empty() {
            let _ = write!(out, r#"<path class="cross" d="{path}"/>"#);
        }
    }

    /// Draws communication by itself: the median over the cells of a size, as a white line with a dark rim, which is
    /// seen on every colour.
    fn communication(&self, out: &mut String, map: &Map, key: &str) {
        let Some(y) = &self.y else { return };
        let mut by_size: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for cell in &map.cells {
            by_size.entry(cell.bytes).or_default().push(cell.communication_seconds);
        }
        let points: Vec<String> = by_size
            .into_iter()
            .filter_map(|(bytes, times)| {
                let median = kilter_stats::sample::Sample::new(times).ok()?.median();
                (median > 0.0).then(|| format!("{:.1} {:.1}", self.x.at(size_value(bytes)), y.at(median)))
            })
            .collect();
        if points.len() > 1 {
            let line = points.join("L");
            let _ = write!(
                out,
                r#"<g clip-path="url(#{key}-c)"><path class="rim" d="M{line}"/><path class="comm" d="M{line}"/></g>"#
            );
        }
    }

    fn frame(&self, out: &mut String, benchmark: Benchmark) {
        let ticks: Vec<(f64, String)> = match &self.y {
            Some(y) => time_ticks(y, 8, 24.0)
                .into_iter()
                .map(|tick| (tick.at, tick.label))
                .collect(),
            None => {
                let every = self.rows.len().div_ceil(12).max(1);
                let rows = self.rows.iter().step_by(every);
                rows.map(|(row, (low, high))| (low.midpoint(*high), row.to_string()))
                    .collect()
            }
        };
        for (y, label) in ticks {
            let _ = write!(
                out,
                r#"<path class="axis" d="M{LEFT} {y:.1}h-4"/><text class="tick y" x="{:.1}" y="{:.1}">{}</text>"#,
                LEFT - 7.0,
                y + 4.0,
                escape(&label)
            );
        }
        let sizes: Vec<u64> = self.columns.keys().copied().collect();
        for tick in size_ticks(&self.x, &sizes, 56.0) {
            let _ = write!(
                out,
                r#"<path class="axis" d="M{x:.1} {BOTTOM}v4"/><text class="tick x" x="{x:.1}" y="{:.1}">{}</text>"#,
                BOTTOM + 18.0,
                escape(&tick.label),
                x = tick.at,
            );
        }
        let middle = TOP.midpoint(BOTTOM);
        let upwards = match Quantity::of(benchmark) {
            Quantity::Ratio => "computation",
            Quantity::Slowdown => "computing threads",
        };
        let _ = write!(
            out,
            r#"<path class="axis" d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}V{TOP}Z"/><text class="tick x" x="{:.1}" y="{:.1}">message size</text><text class="tick x" transform="translate(10 {middle:.1}) rotate(-90)">{upwards}</text>"#,
            LEFT.midpoint(RIGHT),
            BOTTOM + 36.0,
        );
    }
}

/// Draws the colour bar.
fn bar(out: &mut String, quantity: Quantity) {
    let height = (BOTTOM - TOP) / STEPS as f64;
    out.push_str(r#"<g class="bar-of-colours" shape-rendering="crispEdges">"#);
    for step in 0..STEPS {
        let y = BOTTOM - height * (step + 1) as f64;
        let _ = write!(
            out,
            r#"<rect class="q{step}" x="{BAR}" y="{y:.1}" width="{BAR_WIDTH}" height="{:.1}"/>"#,
            height + 0.2
        );
    }
    out.push_str("</g>");
    for (value, label) in marks(quantity) {
        // The middle of a step's rectangle.
        let y = BOTTOM - height * (share(quantity, *value) * (STEPS - 1) as f64 + 0.5);
        let _ = write!(
            out,
            r#"<text class="tick" x="{:.1}" y="{:.1}">{label}</text>"#,
            BAR + BAR_WIDTH + 5.0,
            y + 4.0
        );
    }
}

fn distinct(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// Borders between the rectangles of neighbouring values: half way between them on a logarithmic scale, and as far
/// beyond the ends.
fn borders(values: &[f64]) -> Vec<f64> {
    let (Some(first), Some(last)) = (values.first(), values.last()) else {
        return Vec::new();
    };
    let between: Vec<f64> = values.windows(2).map(|pair| (pair[0] * pair[1]).sqrt()).collect();
    let half = std::f64::consts::SQRT_2;
    let before = between.first().map_or(first / half, |next| first * first / next);
    let behind = between.last().map_or(last * half, |previous| last * last / previous);
    std::iter::once(before)
        .chain(between.iter().copied())
        .chain([behind])
        .collect()
}

/// Each value with the pixels of its borders.
fn extents(values: &[u64], pixels: &[f64]) -> BTreeMap<u64, (f64, f64)> {
    let pairs = pixels.windows(2).map(|pair| (pair[0], pair[1]));
    values.iter().copied().zip(pairs).collect()
}

#[cfg(test)]
mod tests;
