//! Time of an occurrence as an axis.

use kilter_render::scale::{Tick, time_label};

use super::rows::Rows;
use crate::model::finding::Instance;

/// Fewest pixels between two labels.
const GAP: f64 = 90.0;

/// Linear axis of nanoseconds.
pub(super) struct TimeAxis {
    begin_ns: u64,
    end_ns: u64,
    from: f64,
    to: f64,
    /// Time that stands as 0.
    zero_ns: u64,
}

/// Axis of an occurrence between two pixels: from its first to its last call, without the most of a long wait before or behind it.
pub(super) fn axis(instance: &Instance, rows: &Rows, (from, to): (f64, f64)) -> TimeAxis {
    let (begin, end) = (instance.begin_ns, instance.end_ns.max(instance.begin_ns));
    let margin = (end - begin) / 3;
    let first = rows.calls.iter().chain(&rows.others).map(|call| call.begin_ns).min();
    let last = rows.calls.iter().map(|call| call.end_ns).max();
    let begin_ns = first.map_or(begin, |first| first.clamp(begin.saturating_sub(margin), begin));
    let end_ns = last.map_or(end, |last| last.clamp(end, end.saturating_add(margin)));
    TimeAxis {
        begin_ns,
        end_ns: end_ns.max(begin_ns.saturating_add(1)),
        from,
        to,
        zero_ns: begin,
    }
}

impl TimeAxis {
    /// Pixel of a time; that of the nearer end for times beyond.
    pub(super) fn at(&self, ns: u64) -> f64 {
        let ns = ns.clamp(self.begin_ns, self.end_ns);
        let share = (ns - self.begin_ns) as f64 / (self.end_ns - self.begin_ns) as f64;
        self.from + share * (self.to - self.from)
    }

    /// Pixel and width of a span, which is at least so wide.
    pub(super) fn span(&self, begin_ns: u64, end_ns: u64, least: f64) -> (f64, f64) {
        let (from, to) = (self.at(begin_ns), self.at(end_ns));
        let width = (to - from).max(least);
        (from.min(self.to - width), width)
    }

    /// Labels at round times, counted from the begin of the occurrence.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        let seconds = (self.end_ns - self.begin_ns) as f64 * 1e-9;
        let most = ((self.to - self.from) / GAP).max(1.0);
        let step = round_up(seconds / most);
        let zero = self.at(self.zero_ns);
        let per_second = (self.to - self.from) / seconds;
        let mut ticks = Vec::new();
        for number in 0..=most as u32 {
            let time = f64::from(number) * step;
            let at = zero + time * per_second;
            if at <= self.to {
                ticks.push(Tick {
                    at,
                    label: if number == 0 { "0".to_owned() } else { time_label(time) },
                });
            }
        }
        ticks
    }
}

/// The least of 1, 2 and 5 times a power of ten that is not below.
fn round_up(seconds: f64) -> f64 {
    let decade = 10_f64.powf(seconds.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
    steps
        .into_iter()
        .find(|step| *step >= seconds * (1.0 - 1e-9))
        .unwrap_or(10.0 * decade)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_stand_at_round_times() {
        let axis = TimeAxis {
            begin_ns: 900,
            end_ns: 2_000,
            from: 0.0,
            to: 550.0,
            zero_ns: 1_000,
        };
        let ticks = axis.ticks();
        let labels: Vec<(f64, &str)> = ticks
            .iter()
            .map(|tick| (tick.at.round(), tick.label.as_str()))
            .collect();
        assert_eq!(
            labels,
            [
                (50.0, "0"),
                (150.0, "200 ns"),
                (250.0, "400 ns"),
                (350.0, "600 ns"),
                (450.0, "800 ns"),
                (550.0, "1 µs")
            ]
        );
    }

    #[test]
    fn a_span_stays_on_the_axis() {
        let axis = TimeAxis {
            begin_ns: 100,
            end_ns: 200,
            from: 0.0,
            to: 100.0,
            zero_ns: 100,
        };
        assert_eq!(axis.span(0, 150, 2.0), (0.0, 50.0));
        assert_eq!(axis.span(199, u64::MAX, 2.0), (98.0, 2.0));
    }
}
