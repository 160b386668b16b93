//! The interval in which what is watched was seen.

/// Smallest and largest value so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    low: u64,
    high: u64,
}

impl Span {
    /// The interval with a further value.
    pub(crate) fn with(span: Option<Span>, value: u64) -> Option<Span> {
        let span = span.unwrap_or(Span {
            low: value,
            high: value,
        });
        Some(Span {
            low: span.low.min(value),
            high: span.high.max(value),
        })
    }

    pub(crate) fn high(&self) -> u64 {
        self.high
    }

    /// True if the value lies more than half as much again above the interval, or as far below it.
    pub(crate) fn is_left_by(&self, value: u64) -> bool {
        2 * u128::from(value) > 3 * u128::from(self.high) || 3 * u128::from(value) < 2 * u128::from(self.low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_grows_and_is_left_on_both_sides() {
        let span = Span::with(Span::with(None, 100), 200).unwrap();
        assert_eq!(span.high(), 200);
        for (value, left) in [
            (66, true),
            (67, false),
            (300, false),
            (301, true),
            (u64::MAX, true),
            (0, true),
        ] {
            assert_eq!(span.is_left_by(value), left, "{value}");
        }
    }
}
