//! Rates and durations as they are typed: `1Gbit`, `2.5Gbit`, `100Mbit`; `200us`, `1.5ms`, `0us`.

use std::{fmt, str::FromStr};

/// A point in time or a duration, in nanoseconds of the monotonic clock.
pub(crate) type Nanos = u64;

/// A link rate in bits per second; never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate {
    bits_per_second: u64,
}

/// A duration of the network model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delay {
    pub(crate) nanos: Nanos,
}

const RATE_UNITS: &[(&str, u64)] = &[
    ("Gbit", 1_000_000_000),
    ("Mbit", 1_000_000),
    ("kbit", 1_000),
    ("bit", 1),
];
const DELAY_UNITS: &[(&str, u64)] = &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// Slower than this, a full-sized packet takes more than a minute and nothing would ever end.
const MIN_RATE: u64 = 10_000;
const MAX_RATE: u64 = 1_000_000_000_000;
const MAX_DELAY: Nanos = 10_000_000_000;

/// Reason why a text is no rate or no duration.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QuantityError {
    #[error("'{text}' is no {what}: write a number and one of {units}, as in {examples}")]
    Malformed {
        text: String,
        what: &'static str,
        units: String,
        examples: &'static str,
    },
    #[error("{what} '{text}' is too large")]
    TooLarge { text: String, what: &'static str },
    #[error("rate '{text}' is outside 10kbit to 1000Gbit")]
    Rate { text: String },
    #[error("duration '{text}' is longer than 10s")]
    Delay { text: String },
}

/// A host whose messages take longer, each way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slow {
    pub(crate) host: usize,
    pub(crate) delay: Delay,
}

impl FromStr for Slow {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let wrong = || QuantityError::Malformed {
            text: text.to_owned(),
            what: "slow host",
            units: "ns, us, ms, s, behind a host's number and a colon".to_owned(),
            examples: "3:300us",
        };
        let (host, delay) = text.split_once(':').ok_or_else(wrong)?;
        Ok(Self {
            host: host.parse().map_err(|_| wrong())?,
            delay: delay.parse()?,
        })
    }
}

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.delay)
    }
}

impl Rate {
    /// Nanoseconds that `bytes` occupy a port of this rate, rounded down.
    pub(crate) fn serialisation(self, bytes: usize) -> Nanos {
        let nanos = bytes as u128 * 8 * 1_000_000_000 / u128::from(self.bits_per_second);
        Nanos::try_from(nanos).unwrap_or(Nanos::MAX)
    }
}

impl FromStr for Rate {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let bits_per_second = scaled(text, RATE_UNITS, "rate", "1Gbit, 100Mbit or 2.5Gbit")?;
        if !(MIN_RATE..=MAX_RATE).contains(&bits_per_second) {
            return Err(QuantityError::Rate { text: text.to_owned() });
        }
        Ok(Self { bits_per_second })
    }
}

impl FromStr for Delay {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let nanos = scaled(text, DELAY_UNITS, "duration", "200us, 1.5ms or 0us")?;
        if nanos > MAX_DELAY {
            return Err(QuantityError::Delay { text: text.to_owned() });
        }
        Ok(Self { nanos })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(f, self.bits_per_second, RATE_UNITS)
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nanos {
            0 => f.write_str("0us"),
            nanos if nanos < 1_000 => write!(f, "{nanos}ns"),
            nanos => display(f, nanos, &[("ms", 1_000_000), ("us", 1_000)]),
        }
    }
}

/// Number times unit, exact to the unit's smallest part (no floating point, so that printing and parsing agree).
fn scaled(text: &str, units: &[(&str, u64)], what: &'static str, examples: &'static str) -> Result<u64, QuantityError> {
    let malformed = || {
        let names: Vec<_> = units.iter().map(|(name, _)| *name).collect();
        QuantityError::Malformed {
            text: text.to_owned(),
            what,
            units: names.join(", "),
            examples,
        }
    };
    let split = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(malformed)?;
    let (number, unit) = text.split_at(split);
    let (_, scale) = units
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit))
        .ok_or_else(malformed)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |part: &str| !part.is_empty() && part.len() <= 12 && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return Err(malformed());
    }
    let whole: u64 = whole.parse().map_err(|_| malformed())?;
    let numerator: u64 = fraction.parse().map_err(|_| malformed())?;
    let denominator = 10_u64.pow(fraction.len() as u32);
    let fraction = u128::from(numerator) * u128::from(*scale) / u128::from(denominator);
    let total = u128::from(whole) * u128::from(*scale) + fraction;
    u64::try_from(total).map_err(|_| QuantityError::TooLarge {
        text: text.to_owned(),
        what,
    })
}

/// Prints in the largest unit that keeps the number at least one, without trailing zeros.
fn display(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let last = units.len() - 1;
    let (name, scale) = units
        .iter()
        .copied()
        .find(|(_, scale)| value >= *scale)
        .unwrap_or(units[last]);
    let width = scale.ilog10() as usize;
    let fraction = format!("{:0width$}", value % scale);
    match fraction.trim_end_matches('0') {
        "" => write!(f, "{}{name}", value / scale),
        digits => write!(f, "{}.{digits}{name}", value / scale),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_delays_print_as_they_are_typed() {
        for text in ["1Gbit", "2.5Gbit", "100Mbit", "999kbit", "10.5Mbit"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        for text in ["200us", "1.5ms", "0us", "999ns", "12.5us", "1000ms"] {
            assert_eq!(text.parse::<Delay>().unwrap().to_string(), text);
        }
        assert_eq!("0.2ms".parse::<Delay>().unwrap(), Delay { nanos: 200_000 });
        assert_eq!("1gbit".parse::<Rate>().unwrap(), "1000Mbit".parse().unwrap());
    }

    #[test]
    fn a_gigabit_port_takes_eight_nanoseconds_per_byte() {
        let rate: Rate = "1Gbit".parse().unwrap();
        assert_eq!(rate.serialisation(1), 8);
        assert_eq!(rate.serialisation(65_536), 524_288);
        assert_eq!("10Gbit".parse::<Rate>().unwrap().serialisation(1_000), 800);
    }

    #[test]
    fn what_is_no_quantity_is_refused_with_the_units_that_are_known() {
        for text in [
            "", "1", "Gbit", "1Gb", "-1Gbit", "1.Gbit", ".5Gbit", "1 Gbit", "1e3Mbit", "0Gbit", "9kbit",
        ] {
            let error = text.parse::<Rate>().unwrap_err().to_string();
            assert!(error.contains("Gbit") && error.contains(text), "{error}");
        }
        for text in ["200", "us", "200u", "-1us", "1h", "10.1s", "99999999999999s"] {
            let error = text.parse::<Delay>().unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
