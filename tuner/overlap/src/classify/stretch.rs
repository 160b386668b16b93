//! A uniform stretch of a map, in words.

use kilter_model::reading::{GOOD, PARTIAL, SERIALISED};
use kilter_render::format;

use super::Seen;
use super::steps::Axis;
use super::words::time;

/// Behaviour of the cells of a stretch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Level {
    /// A ratio close to 0.
    Good(f64),
    /// A ratio in between.
    Partial(f64),
    /// A ratio close to 1.
    Serial(f64),
    /// A ratio above 1.
    Slower(f64),
    /// No common ratio.
    Unlike,
}

impl Level {
    pub(super) fn of(ratio: f64) -> Level {
        if ratio <= GOOD {
            Level::Good(ratio)
        } else if ratio <= PARTIAL {
            Level::Partial(ratio)
        } else if ratio <= SERIALISED {
            Level::Serial(ratio)
        } else {
            Level::Slower(ratio)
        }
    }

    pub(super) fn ratio(self) -> Option<f64> {
        match self {
            Level::Good(ratio) | Level::Partial(ratio) | Level::Serial(ratio) | Level::Slower(ratio) => Some(ratio),
            Level::Unlike => None,
        }
    }

    fn words(self) -> String {
        match self {
            Level::Good(ratio) => format!("overlaps (ratio about {ratio:.1})"),
            Level::Partial(ratio) => format!("overlaps in part (ratio about {ratio:.1})"),
            Level::Serial(ratio) => format!("does not overlap (ratio about {ratio:.1})"),
            Level::Slower(ratio) => format!("takes longer than one after the other (ratio about {ratio:.1})"),
            Level::Unlike => "has no pattern".to_owned(),
        }
    }
}

/// Stretch from one value of a direction to another one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stretch {
    axis: Axis,
    pub(super) level: Level,
    /// Measured values between which it begins; absent at the edge of the map.
    pub(super) begins: Option<[i64; 2]>,
    /// Measured values between which it ends; absent at the edge of the map.
    pub(super) ends: Option<[i64; 2]>,
    first: i64,
    last: i64,
    /// Its division by time, if only the parts are uniform.
    pub(super) within: Vec<Stretch>,
}

impl Stretch {
    pub(super) fn new(axis: Axis, cells: &[&Seen<'_>], level: Level) -> Stretch {
        let values = || cells.iter().map(|seen| axis.of(seen));
        Stretch {
            axis,
            level,
            begins: None,
            ends: None,
            first: values().min().unwrap_or(0),
            last: values().max().unwrap_or(0),
            within: Vec::new(),
        }
    }

    /// Records the interval of the change between neighbours. It ends at measured cells, because inferred ones do not
    /// tell where a change is.
    pub(super) fn meet(before: &mut Stretch, after: &mut Stretch, seen: &[&Seen<'_>]) {
        let measured = || {
            let cells = seen.iter().filter(|seen| !seen.cell.inferred);
            cells.map(|seen| before.axis.of(seen))
        };
        let low = measured()
            .filter(|value| *value <= before.last)
            .max()
            .unwrap_or(before.last);
        let high = measured()
            .filter(|value| *value >= after.first)
            .min()
            .unwrap_or(after.first);
        before.ends = Some([low, high]);
        after.begins = Some([low, high]);
    }

    pub(super) fn is_told_as(&self, other: &Stretch) -> bool {
        self.within.is_empty() && other.within.is_empty() && self.level.words() == other.level.words()
    }

    pub(super) fn join(&mut self, next: Stretch) {
        self.ends = next.ends;
        self.last = next.last;
    }

    /// A clause, without a full stop.
    pub(super) fn words(&self) -> String {
        let name = |value: i64| self.name(value);
        let place = match (self.begins, self.ends) {
            (None, None) => "everywhere".to_owned(),
            (None, Some([low, _])) => format!("up to {}", name(low)),
            (Some([low, high]), None) => format!(
                "from {} on (changes between {} and {})",
                name(high),
                name(low),
                name(high)
            ),
            (Some([_, first]), Some([last, _])) if first >= last => format!("at {}", name(first)),
            (Some([_, first]), Some([last, _])) => format!("from {} to {}", name(first), name(last)),
        };
        if self.within.is_empty() {
            return format!("{place} {}", self.level.words());
        }
        let within: Vec<String> = self.within.iter().map(Stretch::words).collect();
        format!("{place} it depends on the computation: {}", within.join(", "))
    }

    fn name(&self, value: i64) -> String {
        let unsigned = u64::try_from(value).unwrap_or(0);
        match self.axis {
            Axis::Size => format::bytes(unsigned),
            Axis::Computation => time(unsigned),
            Axis::Quotient => format!("{} times T_comm", 2.0_f64.powi(i32::try_from(value).unwrap_or(0))),
        }
    }

    pub(super) fn axis(&self) -> Axis {
        self.axis
    }
}
