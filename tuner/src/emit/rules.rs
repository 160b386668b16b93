//! Open MPI's `coll_tuned` dynamic rules file, version 1.
//!
//! Open MPI ignores a file with any mistake without a word, lets a rule for one communicator size leak to all larger ones, and
//! for Gather and Scatter compares sizes that differ between ranks. So what is written here is fenced by communicator size,
//! never switches an unsafe collective on size, carries plain decimal numbers only, and is read back by [`Rules::parse`],
//! which mirrors the library's own reading, before anything relies on it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What one rule asks for; `algorithm` 0 leaves the choice to the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Choice {
    /// Algorithm number.
    pub algorithm: u64,
    /// Fan-in or fan-out; 0 for the default.
    pub fan: u64,
    /// Segment size in bytes; 0 for none.
    pub segment_bytes: u64,
}

/// The file: per collective id and communicator size, choices from a message size upward.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    collectives: BTreeMap<u64, BTreeMap<u64, BTreeMap<u64, Choice>>>,
}

/// Why Open MPI would ignore the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rules file, line {line}: {message}")]
pub struct RulesError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl Rules {
    /// Makes `choice` hold for messages of `low..=high` bytes (`high` of `u64::MAX`: no end) on communicators of exactly `ranks`
    /// ranks. Ranges of one collective and communicator size must be added in ascending order and must not overlap.
    pub fn add(&mut self, collective: u64, ranks: u64, (low, high): (u64, u64), choice: Choice) {
        let by_ranks = self.collectives.entry(collective).or_default();
        // The fence: smaller and larger communicators keep the library's choice.
        by_ranks.entry(0).or_default().insert(0, Choice::default());
        by_ranks.entry(ranks + 1).or_default().entry(0).or_default();
        let by_bytes = by_ranks.entry(ranks).or_default();
        by_bytes.entry(0).or_default();
        by_bytes.insert(low, choice);
        if let Some(next) = high.checked_add(1) {
            by_bytes.entry(next).or_default();
        }
    }

    /// Whether there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.collectives.is_empty()
    }

    /// The file's text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::from(
            "# Rules of Open MPI's coll_tuned, written by kilter. Set coll_tuned_use_dynamic_rules=1 as well.\n",
        );
        // Writing to a string does not fail.
        let _ = writeln!(text, "{} # collectives", self.collectives.len());
        for (collective, by_ranks) in &self.collectives {
            let _ = writeln!(
                text,
                "{collective} # collective id\n{} # communicator sizes",
                by_ranks.len()
            );
            for (ranks, by_bytes) in by_ranks {
                let _ = writeln!(text, "{ranks} # ranks and more\n{} # message sizes", by_bytes.len());
                for (bytes, choice) in by_bytes {
                    let _ = writeln!(
                        text,
                        "{bytes} {} {} {}",
                        choice.algorithm, choice.fan, choice.segment_bytes
                    );
                }
            }
        }
        text
    }

    /// Reads a file as Open MPI 4.1 does: integers separated by white space, `#` to the end of the line is a comment.
    ///
    /// # Errors
    /// Whatever would make Open MPI ignore the file.
    pub fn parse(text: &str) -> Result<Rules, RulesError> {
        let mut numbers = Numbers::new(text);
        let mut rules = Rules::default();
        for _ in 0..numbers.next("number of collectives", 0..=22)? {
            let collective = numbers.next("collective id", 0..=21)?;
            let by_ranks = rules.collectives.entry(collective).or_default();
            for _ in 0..numbers.next("number of communicator sizes", 1..=1 << 20)? {
                let ranks = numbers.next("communicator size", 0..=1 << 31)?;
                numbers.ascending(
                    "communicator sizes",
                    by_ranks.last_key_value().map(|(key, _)| *key),
                    ranks,
                )?;
                let count = numbers.next("number of message sizes", 1..=1 << 20)?;
                let by_bytes = by_ranks.entry(ranks).or_default();
                for position in 0..count {
                    let bytes = numbers.next("message size", if position == 0 { 0..=0 } else { 0..=u64::MAX })?;
                    numbers.ascending("message sizes", by_bytes.last_key_value().map(|(key, _)| *key), bytes)?;
                    let choice = Choice {
                        algorithm: numbers.next("algorithm", 0..=64)?,
                        fan: numbers.next("fan-in or fan-out", 0..=1 << 31)?,
                        segment_bytes: numbers.next("segment size", 0..=1 << 31)?,
                    };
                    by_bytes.insert(bytes, choice);
                }
            }
        }
        numbers.end()?;
        Ok(rules)
    }

    /// What Open MPI looks up: the largest communicator size not above `ranks`, else the first; there the largest message size
    /// not above `bytes`.
    #[must_use]
    pub fn lookup(&self, collective: u64, ranks: u64, bytes: u64) -> Choice {
        let Some(by_ranks) = self.collectives.get(&collective) else {
            return Choice::default();
        };
        let by_bytes = by_ranks
            .range(..=ranks)
            .next_back()
            .or_else(|| by_ranks.first_key_value())
            .map(|(_, value)| value);
        by_bytes
            .and_then(|rules| rules.range(..=bytes).next_back())
            .map_or_else(Choice::default, |(_, choice)| *choice)
    }
}

struct Numbers<'a> {
    tokens: std::vec::IntoIter<(usize, &'a str)>,
    line: usize,
}

impl<'a> Numbers<'a> {
    fn new(text: &'a str) -> Numbers<'a> {
        let tokens: Vec<_> = text
            .lines()
            .enumerate()
            .flat_map(|(index, line)| {
                let line = line.split_once('#').map_or(line, |(before, _)| before);
                line.split_whitespace().map(move |token| (index + 1, token))
            })
            .collect();
        Numbers {
            tokens: tokens.into_iter(),
            line: 1,
        }
    }

    fn error(&self, message: String) -> RulesError {
        RulesError {
            line: self.line,
            message,
        }
    }

    fn next(&mut self, what: &str, allowed: std::ops::RangeInclusive<u64>) -> Result<u64, RulesError> {
        let Some((line, token)) = self.tokens.next() else {
            return Err(self.error(format!("the file ends where the {what} should be")));
        };
        self.line = line;
        if token.len() > 1 && token.starts_with('0') {
            return Err(self.error(format!(
                "{what} `{token}`: Open MPI reads a leading 0 as octal or hexadecimal; leave it out"
            )));
        }
        match token.parse::<u64>() {
            Ok(value) if allowed.contains(&value) => Ok(value),
            Ok(value) => Err(self.error(format!(
                "{what} {value} is not between {} and {}",
                allowed.start(),
                allowed.end()
            ))),
            Err(_) => Err(self.error(format!("{what} `{token}` is not a number"))),
        }
    }

    fn ascending(&self, what: &str, before: Option<u64>, now: u64) -> Result<(), RulesError> {
        match before {
            Some(before) if before >= now => Err(self.error(format!("{what} must ascend: {now} comes after {before}"))),
            _ => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), RulesError> {
        match self.tokens.next() {
            None => Ok(()),
            Some((line, token)) => Err(RulesError {
                line,
                message: format!("`{token}` comes after the last rule"),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CHOICE: Choice = Choice {
        algorithm: 4,
        fan: 0,
        segment_bytes: 32768,
    };

    #[test]
    fn a_rule_is_fenced_on_all_sides() {
        let mut rules = Rules::default();
        rules.add(11, 8, (92_682, 262_144), CHOICE);
        let rules = Rules::parse(&rules.to_text()).unwrap();
        assert_eq!(rules.lookup(11, 8, 262_144), CHOICE);
        assert_eq!(rules.lookup(11, 8, 92_682), CHOICE);
        for (ranks, bytes) in [
            (8, 92_681),
            (8, 262_145),
            (7, 100_000),
            (9, 100_000),
            (2, 100_000),
            (1000, 100_000),
        ] {
            assert_eq!(
                rules.lookup(11, ranks, bytes),
                Choice::default(),
                "{ranks} ranks, {bytes} bytes"
            );
        }
        assert_eq!(rules.lookup(7, 8, 262_144), Choice::default());
    }

    #[test]
    fn adjacent_ranges_do_not_cut_each_other() {
        let other = Choice { algorithm: 3, ..CHOICE };
        let mut rules = Rules::default();
        rules.add(7, 8, (10, 99), CHOICE);
        rules.add(7, 8, (100, 200), other);
        assert_eq!(
            (rules.lookup(7, 8, 99), rules.lookup(7, 8, 100), rules.lookup(7, 8, 201)),
            (CHOICE, other, Choice::default())
        );
    }

    #[test]
    fn what_open_mpi_would_ignore_is_refused_with_its_line() {
        for (text, line, part) in [
            ("1\n7\n1\n0\n1\n0 1 0\n", 6, "ends where the segment size"),
            ("1\n7\n1\n0\n1\n4 1 0 0\n", 6, "message size 4"),
            ("1\n7\n1\n0\n1\n0 010 0 0\n", 6, "octal"),
            ("1\n7\n1\n0\n2\n0 1 0 0\n0 2 0 0\n", 7, "ascend"),
            ("1\n99\n", 2, "collective id 99"),
            ("1\n7\n1\n0\n1\n0 -1 0 0\n", 6, "not a number"),
            ("0\n5\n", 2, "after the last rule"),
        ] {
            let error = Rules::parse(text).unwrap_err();
            assert_eq!(error.line, line, "{error}");
            assert!(error.message.contains(part), "{error}");
        }
    }

    /// The fence of one number of ranks is where the next one begins, in whatever order they come.
    #[test]
    fn rules_for_several_numbers_of_ranks_stand_side_by_side() {
        let other = Choice { algorithm: 2, ..CHOICE };
        for order in [[2, 3, 16], [16, 3, 2]] {
            let mut rules = Rules::default();
            for ranks in order {
                let (range, choice) = match ranks {
                    2 => ((1024, 4096), CHOICE),
                    3 => ((0, u64::MAX), other),
                    _ => ((2048, 8192), CHOICE),
                };
                rules.add(11, ranks, range, choice);
            }
            let rules = Rules::parse(&rules.to_text()).unwrap();
            for ranks in 1..=20 {
                for bytes in [0, 1023, 1024, 2047, 2048, 4096, 4097, 8192, 8193] {
                    let expected = match ranks {
                        2 if (1024..=4096).contains(&bytes) => CHOICE,
                        3 => other,
                        16 if (2048..=8192).contains(&bytes) => CHOICE,
                        _ => Choice::default(),
                    };
                    assert_eq!(
                        rules.lookup(11, ranks, bytes),
                        expected,
                        "{order:?}: {ranks} ranks, {bytes} bytes"
                    );
                }
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            entries in prop::collection::vec((0_u64..22, 1_u64..100, 1_u64..1000, 1_u64..8, 0_u64..9, 0_u64..1 << 20), 0..12)
        ) {
            let mut rules = Rules::default();
            for (collective, ranks, low, algorithm, fan, segment_bytes) in entries {
                rules.add(collective, ranks, (low, low + 10), Choice { algorithm, fan, segment_bytes });
            }
            prop_assert_eq!(Rules::parse(&rules.to_text()).unwrap(), rules);
        }
    }
}
