//! The budget of online selection and its constants, as typed and as checked.

/// The budget of a site, and the pace of its epochs.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Share of the untouched library's time that a site may be behind it.
    pub alpha: f64,
    /// Nanoseconds that a site may be behind in addition.
    pub constant_ns: u64,
    /// Most timed calls of an epoch. The exchange has two integers for each.
    pub epoch_calls: u32,
    /// Calls between the start of an exchange and its adoption.
    pub adopt_after: u32,
    /// The bound holds if a chosen arm costs at most this share of the default's time between two looks, in percent.
    pub risk_percent: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            alpha: 0.03,
            constant_ns: 10_000_000,
            epoch_calls: 32,
            adopt_after: 8,
            risk_percent: 200,
        }
    }
}

/// Mistake in settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A part has no `=`.
    #[error("`{part}` is no setting; write `name=value`, with names among {NAMES}")]
    Form {
        /// The part as written.
        part: String,
    },
    /// A name is unknown.
    #[error("`{name}` is no setting of online selection; allowed: {NAMES}")]
    Name {
        /// The name as written.
        name: String,
    },
    /// A name is there twice.
    #[error("`{name}` is set twice; remove one of them")]
    Twice {
        /// The name.
        name: String,
    },
    /// A value cannot be read or is out of range.
    #[error("`{name}={value}`: allowed is {allowed}")]
    Value {
        /// The name.
        name: String,
        /// The value as written.
        value: String,
        /// Values that would do.
        allowed: &'static str,
    },
}

const NAMES: &str = "`alpha`, `constant`, `epoch`, `adopt-after`, `risk`";
const ALPHA: &str = "a share above 0 and up to 1, such as 0.03";
const CONSTANT: &str = "a time up to an hour with its unit, such as 500us, 10ms or 1s";
const EPOCH: &str = "a number of calls from 8 to 1024";
const ADOPT_AFTER: &str = "a number of calls from 1 to 1000";
const RISK: &str = "a percentage from 101 to 10000";
const HOUR_NS: u64 = 3_600_000_000_000;

impl Settings {
    /// Reads `name=value,name=value,...`, such as `alpha=0.01,constant=1ms`. What is not named keeps its default, as everything does in an empty text
    /// and in `1`.
    pub fn parse(text: &str) -> Result<Settings, SettingsError> {
        let mut settings = Settings::default();
        let mut seen: Vec<&str> = Vec::new();
        let text = text.trim();
        if text.is_empty() || text == "1" {
            return Ok(settings);
        }
        for part in text.split(',') {
            let (name, value) = part
                .split_once('=')
                .ok_or_else(|| SettingsError::Form { part: part.to_owned() })?;
            let (name, value) = (name.trim(), value.trim());
            if seen.contains(&name) {
                return Err(SettingsError::Twice { name: name.to_owned() });
            }
            seen.push(name);
            let refused = |allowed| SettingsError::Value {
                name: name.to_owned(),
                value: value.to_owned(),
                allowed,
            };
            match name {
                "alpha" => settings.alpha = value.parse().map_err(|_| refused(ALPHA))?,
                "constant" => settings.constant_ns = nanoseconds(value).ok_or_else(|| refused(CONSTANT))?,
                "epoch" => settings.epoch_calls = value.parse().map_err(|_| refused(EPOCH))?,
                "adopt-after" => settings.adopt_after = value.parse().map_err(|_| refused(ADOPT_AFTER))?,
                "risk" => settings.risk_percent = value.parse().map_err(|_| refused(RISK))?,
                _ => return Err(SettingsError::Name { name: name.to_owned() }),
            }
        }
        settings.validate()?;
        Ok(settings)
    }

    /// Checks the values.
    pub fn validate(&self) -> Result<(), SettingsError> {
        let values: [(&str, bool, String, &'static str); 5] = [
            (
                "alpha",
                self.alpha > 0.0 && self.alpha <= 1.0,
                self.alpha.to_string(),
                ALPHA,
            ),
            (
                "constant",
                self.constant_ns <= HOUR_NS,
                format!("{}ns", self.constant_ns),
                CONSTANT,
            ),
            (
                "epoch",
                (8..=1024).contains(&self.epoch_calls),
                self.epoch_calls.to_string(),
                EPOCH,
            ),
            (
                "adopt-after",
                (1..=1000).contains(&self.adopt_after),
                self.adopt_after.to_string(),
                ADOPT_AFTER,
            ),
            (
                "risk",
                (101..=10_000).contains(&self.risk_percent),
                self.risk_percent.to_string(),
                RISK,
            ),
        ];
        match values.into_iter().find(|(_, fits, _, _)| !fits) {
            Some((name, _, value, allowed)) => Err(SettingsError::Value {
                name: name.to_owned(),
                value,
                allowed,
            }),
            None => Ok(()),
        }
    }

    /// Alpha in millionths: all accounts are kept in integers.
    pub(crate) fn alpha_ppm(&self) -> i128 {
        // Within 1 to 1,000,000 once validated; the conversion saturates.
        (self.alpha * 1e6).round().max(1.0) as i128
    }
}

/// A time as typed: a whole number and its unit.
fn nanoseconds(text: &str) -> Option<u64> {
    let digits = text.find(|sign: char| !sign.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    number
        .parse::<u64>()
        .ok()?
        .checked_mul(factor)
        .filter(|ns| *ns <= HOUR_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_by_name() {
        assert_eq!(Settings::parse("1"), Ok(Settings::default()));
        assert_eq!(Settings::parse(" "), Ok(Settings::default()));
        let all = Settings::parse("alpha=0.01, constant=500us,epoch=64,adopt-after=4,risk=150").unwrap();
        let expected = Settings {
            alpha: 0.01,
            constant_ns: 500_000,
            epoch_calls: 64,
            adopt_after: 4,
            risk_percent: 150,
        };
        assert_eq!(all, expected);
        assert_eq!(all.alpha_ppm(), 10_000);
    }

    #[test]
    fn mistakes_are_named_with_what_is_allowed() {
        for (text, words) in [
            ("fast", "`fast` is no setting; write `name=value`"),
            (
                "alfa=1",
                "`alfa` is no setting of online selection; allowed: `alpha`, `constant`",
            ),
            ("alpha=0.1,alpha=0.2", "`alpha` is set twice"),
            ("alpha=0", "`alpha=0`: allowed is a share above 0"),
            ("alpha=NaN", "`alpha=NaN`: allowed is a share"),
            ("alpha=1.5", "`alpha=1.5`: allowed is a share"),
            ("constant=10", "`constant=10`: allowed is a time"),
            ("constant=2h", "`constant=2h`: allowed is a time"),
            ("constant=7200s", "`constant=7200s`: allowed is a time"),
            ("epoch=7", "`epoch=7`: allowed is a number of calls from 8"),
            ("adopt-after=0", "`adopt-after=0`: allowed is a number of calls from 1"),
            ("risk=100", "`risk=100`: allowed is a percentage from 101"),
        ] {
            let error = Settings::parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
