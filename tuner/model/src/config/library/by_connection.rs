//! Values of one variable by kind of connection: UCX reads `UCX_RNDV_THRESH=intra:8k,inter:64k` since 1.17.
//!
//! A word without a key holds for every kind that has none of its own. A kind that has no value, a key that is unknown, and older releases refuse
//! the whole variable, which ends the job. Of several values of one key the last holds without a word, so what is read here has one of each.

use serde::Deserialize;

use super::version::numbers;

/// The words in which a variable has a value for each kind of connection.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByConnection {
    /// First version of the transport that reads them.
    pub since: String,
    /// Key of connections within hosts.
    pub within: String,
    /// Key of connections between hosts.
    pub between: String,
}

/// A kind of connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Within a host.
    Within,
    /// Between hosts.
    Between,
}

/// Both kinds.
pub const KINDS: [Kind; 2] = [Kind::Within, Kind::Between];

/// The values of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    /// Value within hosts.
    pub within: String,
    /// Value between hosts.
    pub between: String,
}

/// A mistake in the text of a variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoValues {
    /// A key is neither word.
    #[error("`{key}` is no kind of connection; allowed: {within}, {between}")]
    NoKind {
        /// The key.
        key: String,
        /// Key of connections within hosts.
        within: String,
        /// Key of connections between hosts.
        between: String,
    },
    /// A word has no value, or a second colon.
    #[error("`{word}` is no value; allowed: VALUE, {form}")]
    NoValue {
        /// The word.
        word: String,
        /// The form with both keys.
        form: String,
    },
    /// Two words have no key.
    #[error("two words have no key, and the last would hold; leave one out")]
    TwiceWithoutKey,
    /// A key, which is given, stands there twice.
    #[error("`{0}` stands there twice, and the last would hold; leave one out")]
    Twice(String),
    /// A kind is left without a value.
    #[error("`{key}` has no value; allowed: VALUE, {form}")]
    Left {
        /// Its key.
        key: String,
        /// The form with both keys.
        form: String,
    },
}

impl Values {
    /// The value of a kind.
    #[must_use]
    pub fn of(&self, kind: Kind) -> &str {
        match kind {
            Kind::Within => &self.within,
            Kind::Between => &self.between,
        }
    }

    /// The same with another value of one kind.
    #[must_use]
    pub fn with(mut self, kind: Kind, value: &str) -> Values {
        let own = match kind {
            Kind::Within => &mut self.within,
            Kind::Between => &mut self.between,
        };
        value.clone_into(own);
        self
    }
}

impl ByConnection {
    /// True if this version of the transport reads values by kind.
    #[must_use]
    pub fn is_read_by(&self, version: &str) -> bool {
        numbers(&self.since) <= numbers(version)
    }

    /// Reads a variable's text.
    ///
    /// # Errors
    /// The first mistake.
    pub fn read(&self, text: &str) -> Result<Values, NoValues> {
        let [mut within, mut between, mut all] = [None; 3];
        for word in text.split(',') {
            let (place, value, key) = match word.split_once(':') {
                None => (&mut all, word, ""),
                Some((key, value)) if key == self.within => (&mut within, value, key),
                Some((key, value)) if key == self.between => (&mut between, value, key),
                Some((key, _)) => {
                    return Err(NoValues::NoKind {
                        key: key.to_owned(),
                        within: self.within.clone(),
                        between: self.between.clone(),
                    });
                }
            };
            if value.is_empty() || value.contains(':') {
                return Err(NoValues::NoValue {
                    word: word.to_owned(),
                    form: self.form(),
                });
            }
            if place.replace(value).is_some() {
                return Err(match key {
                    "" => NoValues::TwiceWithoutKey,
                    key => NoValues::Twice(key.to_owned()),
                });
            }
        }
        let value = |own: Option<&str>, key: &str| {
            let value = own.or(all).map(str::to_owned);
            value.ok_or_else(|| NoValues::Left {
                key: key.to_owned(),
                form: self.form(),
            })
        };
        Ok(Values {
            within: value(within, &self.within)?,
            between: value(between, &self.between)?,
        })
    }

    /// The variable's text: one word where both kinds have the same value, which every release reads.
    #[must_use]
    pub fn write(&self, values: &Values) -> String {
        if values.within == values.between {
            return values.within.clone();
        }
        format!("{}:{},{}:{}", self.within, values.within, self.between, values.between)
    }

    fn form(&self) -> String {
        format!("{}:VALUE,{}:VALUE", self.within, self.between)
    }

    /// The mistake in how it is described, and what is allowed; `None` if there is none.
    pub(super) fn problem(&self) -> Option<String> {
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !self.since.split('.').all(is_number) {
            return Some(format!(
                "`by_connection.since` is `{}`; give a version, such as \"1.17.0\"",
                self.since
            ));
        }
        let is_word = |key: &String| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_word(&self.within) || !is_word(&self.between) || self.within == self.between {
            return Some("`by_connection` needs two different words, `within` and `between`".to_owned());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ucx() -> ByConnection {
        ByConnection {
            since: "1.17.0".to_owned(),
            within: "intra".to_owned(),
            between: "inter".to_owned(),
        }
    }

    fn values(within: &str, between: &str) -> Values {
        Values {
            within: within.to_owned(),
            between: between.to_owned(),
        }
    }

    #[test]
    fn every_form_of_ucx_is_read() {
        for (text, within, between) in [
            ("auto", "auto", "auto"),
            ("intra:8k,inter:64k", "8k", "64k"),
            ("inter:64k,intra:8k", "8k", "64k"),
            ("intra:8k,64k", "8k", "64k"),
            ("64k,intra:8k", "8k", "64k"),
            ("inter:inf,auto", "auto", "inf"),
        ] {
            assert_eq!(ucx().read(text), Ok(values(within, between)), "{text}");
        }
    }

    #[test]
    fn what_ends_a_job_or_hides_a_value_is_refused() {
        for (text, part) in [
            ("intra:8k", "`inter` has no value"),
            (
                "extra:8k,64k",
                "`extra` is no kind of connection; allowed: intra, inter",
            ),
            ("intra:8k,intra:9k,64k", "`intra` stands there twice"),
            ("8k,64k", "two words have no key"),
            ("intra:8k,", "`` is no value; allowed: VALUE, intra:VALUE,inter:VALUE"),
            ("intra:,inter:8k", "`intra:` is no value"),
            ("intra:8:9,inter:8k", "is no value"),
            ("", "is no value"),
        ] {
            let message = ucx().read(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn what_is_written_is_read_back_and_equal_values_are_one_word() {
        for (within, between) in [("8192", "auto"), ("auto", "inf"), ("1", "2")] {
            let values = values(within, between);
            assert_eq!(ucx().read(&ucx().write(&values)), Ok(values));
        }
        assert_eq!(ucx().write(&values("8k", "8k")), "8k");
        let one = values("auto", "64k").with(Kind::Within, "8192");
        assert_eq!(ucx().write(&one), "intra:8192,inter:64k");
        assert_eq!((one.of(Kind::Within), one.of(Kind::Between)), ("8192", "64k"));
    }

    #[test]
    fn older_releases_read_one_word_alone() {
        for (version, reads) in [
            ("1.13.1", false),
            ("1.16.0", false),
            ("1.17.0", true),
            ("1.20.0", true),
            ("2.0", true),
        ] {
            assert_eq!(ucx().is_read_by(version), reads, "{version}");
        }
    }
}
