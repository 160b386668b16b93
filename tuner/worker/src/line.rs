//! The relation of two clocks: a straight line, exact to the nanosecond over years.

/// Shows `to + (t - from) (1 + skew)` on the second clock when the first shows `t`; all in nanoseconds.
///
/// Origins are integers and only differences meet the floating-point skew: a nanosecond since boot needs more digits than a float
/// has after some months.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    /// A time on the first clock.
    pub(crate) from_ns: i64,
    /// The same moment on the second clock.
    pub(crate) to_ns: i64,
    /// Excess speed of the second clock, as a fraction.
    pub(crate) skew: f64,
}

impl Line {
    /// The line of equal clocks.
    pub(crate) const IDENTITY: Line = Line {
        from_ns: 0,
        to_ns: 0,
        skew: 0.0,
    };

    /// Time of the second clock when the first shows `t_ns`.
    #[inline]
    pub(crate) fn apply(&self, t_ns: i64) -> i64 {
        let since_ns = t_ns - self.from_ns;
        self.to_ns + since_ns + (since_ns as f64 * self.skew).round() as i64
    }

    /// Time of the first clock when the second shows `t_ns`.
    #[inline]
    pub(crate) fn invert(&self, t_ns: i64) -> i64 {
        let since_ns = t_ns - self.to_ns;
        self.from_ns + since_ns - (since_ns as f64 * (self.skew / (1.0 + self.skew))).round() as i64
    }

    /// First this line, then the next.
    pub(crate) fn then(&self, next: &Line) -> Line {
        Line {
            from_ns: self.from_ns,
            to_ns: next.apply(self.to_ns),
            skew: self.skew + next.skew + self.skew * next.skew,
        }
    }

    /// The line as bytes of a message.
    pub(crate) fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.from_ns.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.to_ns.to_ne_bytes());
        bytes[16..].copy_from_slice(&self.skew.to_ne_bytes());
        bytes
    }

    /// Back from the bytes; `None` where they are not 24.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Line> {
        let bytes: &[u8; 24] = bytes.try_into().ok()?;
        Some(Line {
            from_ns: i64::from_ne_bytes(*bytes.first_chunk()?),
            to_ns: i64::from_ne_bytes(*bytes[8..].first_chunk()?),
            skew: f64::from_ne_bytes(*bytes.last_chunk()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MONTH_NS: i64 = 30 * 86_400 * 1_000_000_000;

    #[test]
    fn there_and_back_is_exact_after_months() {
        let line = Line {
            from_ns: 3 * MONTH_NS,
            to_ns: 17,
            skew: 50e-6,
        };
        assert_eq!(line.apply(3 * MONTH_NS + 1_000_000_000), 17 + 1_000_050_000);
        for t in [0, 1, 999, 3 * MONTH_NS + 123_456_789, 12 * MONTH_NS] {
            assert!((line.invert(line.apply(t)) - t).abs() <= 1, "{t}");
        }
        assert_eq!(Line::IDENTITY.apply(42), 42);
    }

    #[test]
    fn one_line_after_another_is_a_line() {
        let (a, b) = (
            Line {
                from_ns: 1_000,
                to_ns: 3_000_000_000,
                skew: 50e-6,
            },
            Line {
                from_ns: 2_000_000_000,
                to_ns: -5,
                skew: -20e-6,
            },
        );
        for t in [0, 1_000, 7_000_000_000, MONTH_NS] {
            assert!((a.then(&b).apply(t) - b.apply(a.apply(t))).abs() <= 2, "{t}");
        }
    }

    #[test]
    fn a_line_survives_travelling() {
        let line = Line {
            from_ns: -7,
            to_ns: MONTH_NS,
            skew: -1.25e-5,
        };
        assert_eq!(Line::from_bytes(&line.to_bytes()), Some(line));
        assert_eq!(Line::from_bytes(&[0; 23]), None);
    }
}
