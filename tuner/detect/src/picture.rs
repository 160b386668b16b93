//! Picture of a finding: its typical occurrence, ranks downwards and time to the right, with an arrow for each message.
//!
//! A rank's row has its sends above and its receives below; a thin line shows how long an operation was under way outside of its call. Other
//! calls of the rank between them lie in the middle. A picture has few elements whatever the occurrence has: what is left out is said.

mod choice;
pub(crate) mod circle;
mod rows;
mod time;

use std::fmt::Write as _;

use kilter_render::format::{count, seconds};
use kilter_render::quoting::escape;

use crate::model::finding::{Finding, Instance, Root};
use crate::model::trace::Trace;
use crate::typical;
use crate::words;

use choice::Chosen;
use rows::{Call, Rows};
use time::TimeAxis;

/// Width of a picture, in pixels.
const WIDTH: f64 = 1040.0;
/// Left and right edge of the rows, in pixels.
const LEFT: f64 = 86.0;
const RIGHT: f64 = 1028.0;
/// Upper edge of the first row, in pixels.
const TOP: f64 = 6.0;
/// Height of a row, in pixels.
const ROW: f64 = 34.0;
/// Half of the height of a row's calls, in pixels.
const HALF: f64 = 8.0;
/// Room for the times below the rows, in pixels.
const FOOT: f64 = 24.0;
/// Least width of a call that can be seen, in pixels.
const LEAST: f64 = 1.5;

/// Drawing with the words below it.
pub(crate) struct Picture {
    pub(crate) svg: String,
    pub(crate) caption: String,
}

/// Draws the typical occurrence of a finding. Ids begin with `key`. None if the finding has no occurrence.
pub(crate) fn draw(trace: &Trace, finding: &Finding, key: &str) -> Option<Picture> {
    let number = typical::median(&finding.instances)?;
    let instance = finding.instances.get(number)?;
    let chosen = choice::choose(finding, instance);
    let rows = Rows::of(trace, finding, instance, &chosen);
    let axis = time::axis(instance, &rows, (LEFT, RIGHT));
    let mut drawing = Drawing {
        out: String::new(),
        axis,
        ranks: &chosen.ranks,
        root: root(finding, instance),
    };
    let words = described(finding, instance, &chosen);
    drawing.begin(key, &words);
    for (row, rank) in chosen.ranks.iter().enumerate() {
        drawing.row(row, *rank, rows.world(*rank));
    }
    drawing.times();
    for call in &rows.others {
        drawing.other(call);
    }
    for call in &rows.calls {
        drawing.call(call, trace);
    }
    for message in &chosen.messages {
        drawing.arrow(instance, *message, key);
    }
    drawing.out.push_str("</svg>");
    Some(Picture {
        svg: drawing.out,
        caption: caption(finding, number, (instance, &chosen), rows.left_out),
    })
}

/// Root of the occurrence that is drawn.
fn root(finding: &Finding, instance: &Instance) -> Option<u32> {
    match finding.root {
        Root::None => None,
        Root::One(rank) => Some(rank),
        Root::Either(_) | Root::Varies => instance.root,
    }
}

fn described(finding: &Finding, instance: &Instance, chosen: &Chosen) -> String {
    let mut words = format!("{} between {}", words::name(finding), count(chosen.ranks.len(), "rank"));
    if let Some(root) = root(finding, instance) {
        let _ = write!(words, ", root {root}");
    }
    let _ = write!(words, ": {}", count(chosen.messages.len(), "message"));
    words
}

fn caption(finding: &Finding, number: usize, (instance, chosen): (&Instance, &Chosen), left_out: usize) -> String {
    let mut words = format!(
        "Occurrence {} of {}, the one with the median time: {} in {}.",
        number + 1,
        finding.instances.len(),
        count(instance.messages.len(), "message"),
        seconds(instance.seconds())
    );
    let (ranks, messages) = (
        finding.ranks.len().saturating_sub(chosen.ranks.len()),
        instance.messages.len().saturating_sub(chosen.messages.len()),
    );
    if ranks > 0 {
        let _ = write!(
            words,
            " Drawn are {} of {} ranks and {} of {} messages, from the root or the first message on.",
            chosen.ranks.len(),
            finding.ranks.len(),
            chosen.messages.len(),
            instance.messages.len()
        );
    } else if messages > 0 {
        let _ = write!(
            words,
            " Drawn are {} of {} messages, from the root or the first message on.",
            chosen.messages.len(),
            instance.messages.len()
        );
    }
    if left_out > 0 {
        let _ = write!(words, " {} between them are left out.", count(left_out, "other call"));
    }
    words
}

/// Picture under way.
struct Drawing<'a> {
    out: String,
    axis: TimeAxis,
    ranks: &'a [u32],
    root: Option<u32>,
}

impl Drawing<'_> {
    fn bottom(&self) -> f64 {
        TOP + ROW * self.ranks.len() as f64
    }

    /// Middle of a rank's row; none if it is not drawn.
    fn middle(&self, rank: u32) -> Option<f64> {
        let row = self.ranks.binary_search(&rank).ok()?;
        Some(TOP + ROW * (row as f64 + 0.5))
    }

    // Writing to a string cannot fail.
    fn begin(&mut self, key: &str, words: &str) {
        let height = self.bottom() + FOOT;
        let _ = writeln!(
            self.out,
            r#"<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{}" class="plot ranks"><defs><marker id="{key}-head" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.8L8 4L0 7.2Z"/></marker></defs>"#,
            escape(words)
        );
    }

    fn row(&mut self, row: usize, rank: u32, world: Option<u32>) {
        let top = TOP + ROW * row as f64;
        let middle = top + ROW / 2.0;
        let is_root = self.root == Some(rank);
        if is_root {
            let _ = write!(
                self.out,
                r#"<rect class="root" x="0" y="{top}" width="{WIDTH}" height="{ROW}"/>"#
            );
        }
        let title = match world {
            Some(world) => format!("rank {rank} of the communicator, rank {world} of the program"),
            None => format!("rank {rank} of the communicator, a process outside of the program's world"),
        };
        let (class, word) = if is_root { ("y is-root", "root") } else { ("y", "rank") };
        let _ = writeln!(
            self.out,
            r#"<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{middle}" y2="{middle}"/><text class="{class}" x="{}" y="{}">{word} {rank}<title>{title}</title></text>"#,
            LEFT - 10.0,
            middle + 4.0,
        );
    }

    fn times(&mut self) {
        let bottom = self.bottom();
        let _ = write!(
            self.out,
            r#"<line class="axis" x1="{LEFT}" x2="{RIGHT}" y1="{bottom}" y2="{bottom}"/>"#
        );
        for tick in self.axis.ticks() {
            let _ = write!(
                self.out,
                r#"<line class="axis" x1="{0:.1}" x2="{0:.1}" y1="{bottom}" y2="{1}"/><text class="tick x" x="{0:.1}" y="{2}">{3}</text>"#,
                tick.at,
                bottom + 4.0,
                bottom + 18.0,
                tick.label
            );
        }
        self.out.push('\n');
    }

    fn other(&mut self, call: &Call) {
        let Some(middle) = self.middle(call.rank) else { return };
        let (from, width) = self.axis.span(call.begin_ns, call.end_ns, LEAST);
        let _ = writeln!(
            self.out,
            r#"<rect class="other" x="{from:.1}" y="{}" width="{width:.1}" height="6"><title>{}</title></rect>"#,
            middle - 3.0,
            escape(&call.words)
        );
    }

    fn call(&mut self, call: &Call, trace: &Trace) {
        let Some(middle) = self.middle(call.rank) else { return };
        let (class, top) = if call.is_send {
            ("send", middle - HALF)
        } else {
            ("receive", middle)
        };
        let (from, width) = self.axis.span(call.begin_ns, call.end_ns, LEAST);
        if let Some((begin, end)) = call.under_way_ns {
            let (from, width) = self.axis.span(begin, end, 0.0);
            let _ = write!(
                self.out,
                r#"<line class="{class} under-way" x1="{from:.1}" x2="{:.1}" y1="{y}" y2="{y}"/>"#,
                from + width,
                y = top + HALF / 2.0
            );
        }
        let title = format!(
            "{} at {}, {}",
            call.words,
            words::place(trace, call.site),
            seconds(call.end_ns.saturating_sub(call.begin_ns) as f64 * 1e-9)
        );
        let _ = writeln!(
            self.out,
            r#"<rect class="{class}" x="{from:.1}" y="{top}" width="{width:.1}" height="{HALF}"><title>{}</title></rect>"#,
            escape(&title)
        );
    }

    fn arrow(&mut self, instance: &Instance, number: usize, key: &str) {
        let Some(message) = instance.messages.get(number) else {
            return;
        };
        let (Some(from), Some(to)) = (self.middle(message.from), self.middle(message.to)) else {
            return;
        };
        // From the edge of one row's calls to the facing edge of the other's.
        let towards = if to >= from { HALF } else { -HALF };
        let _ = writeln!(
            self.out,
            r#"<path class="message" d="M{:.1} {:.1}L{:.1} {:.1}" marker-end="url(#{key}-head)"><title>{}</title></path>"#,
            self.axis.at(message.sent_ns),
            from + towards,
            self.axis.at(message.received_ns),
            to - towards,
            rows::message_words(message)
        );
    }
}
