//! The rules file as counts and numbers: version 1, which every release reads, and version 2, which Open MPI reads from 5.0.7 on.
//!
//! Numbers are separated by white space, `#` to the end of the line is a comment. Version 2 begins with a mark, before anything
//! else, and a rule may have a fifth number on its own line: the requests in flight. An older release takes the mark for a negative
//! number and ignores the file. So version 2 is written only where a rule needs its column.

use std::fmt::Write as _;

use super::{Choice, INT_MAX, LONG_MAX, MAX_ALGORITHM, Rules, RulesError};

/// Beginning of the mark of a version; the library looks for it at the first byte.
const MARK: &str = "rule-file-version-";
/// The version with a column for requests.
const VERSION: &str = "2";
/// Collectives that the library has a number for.
const MAX_COLLECTIVES: u64 = 22;
/// Blocks of a file at most.
const MAX_COUNT: u64 = 1 << 20;

impl Rules {
    /// The file's text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        if self.limits_requests() {
            let _ = writeln!(text, "{MARK}{VERSION}");
        }
        text.push_str(
            "# Rules of Open MPI's coll_tuned, written by kilter. Set coll_tuned_use_dynamic_rules=1 as well.\n",
        );
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
                    let requests = choice
                        .requests
                        .map(|requests| format!(" {requests}"))
                        .unwrap_or_default();
                    let _ = writeln!(
                        text,
                        "{bytes} {} {} {}{requests}",
                        choice.algorithm, choice.fan, choice.segment_bytes
                    );
                }
            }
        }
        text
    }

    /// Reads a file as Open MPI does, version 1 or 2.
    ///
    /// # Errors
    /// Whatever would make Open MPI ignore the file, or read other rules than a person does.
    pub fn parse(text: &str) -> Result<Rules, RulesError> {
        let (version_2, text) = version(text)?;
        let mut numbers = Numbers::new(text)?;
        let mut rules = Rules::default();
        for _ in 0..numbers.next("number of collectives", 0..=MAX_COLLECTIVES)? {
            let collective = numbers.next("collective id", 0..=MAX_COLLECTIVES - 1)?;
            if rules.collectives.contains_key(&collective) {
                return Err(numbers.error(format!(
                    "collective id {collective} stands there twice, and Open MPI forgets the first; put its rules together"
                )));
            }
            let by_ranks = rules.collectives.entry(collective).or_default();
            for _ in 0..numbers.next("number of communicator sizes", 1..=MAX_COUNT)? {
                let ranks = numbers.next("communicator size", 0..=INT_MAX)?;
                numbers.ascending(
                    "communicator sizes",
                    by_ranks.last_key_value().map(|(key, _)| *key),
                    ranks,
                )?;
                let count = numbers.next("number of message sizes", 1..=MAX_COUNT)?;
                let by_bytes = by_ranks.entry(ranks).or_default();
                for position in 0..count {
                    let bytes = numbers.next("message size", if position == 0 { 0..=0 } else { 0..=LONG_MAX })?;
                    numbers.ascending("message sizes", by_bytes.last_key_value().map(|(key, _)| *key), bytes)?;
                    let mut choice = Choice {
                        algorithm: numbers.next("algorithm", 0..=MAX_ALGORITHM)?,
                        fan: numbers.next("fan-in or fan-out", 0..=INT_MAX)?,
                        segment_bytes: numbers.next("segment size", 0..=INT_MAX)?,
                        requests: None,
                    };
                    if version_2 && numbers.on_same_line() {
                        choice.requests = Some(numbers.next("number of requests", 0..=INT_MAX)?);
                    }
                    by_bytes.insert(bytes, choice);
                }
            }
        }
        numbers.end()?;
        Ok(rules)
    }
}

/// The text under a title of comments: the mark of a version stays before them.
#[must_use]
pub fn titled(title: &str, text: &str) -> String {
    match text.split_once('\n') {
        Some((first, rest)) if first.starts_with(MARK) => format!("{first}\n{title}{rest}"),
        _ => format!("{title}{text}"),
    }
}

/// The rest of the line behind the mark of version 2; `None` for text of another version.
fn version(text: &str) -> Result<(bool, &str), RulesError> {
    let Some(rest) = text.strip_prefix(MARK) else {
        return Ok((false, text));
    };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, after) = rest.split_at(end);
    if number != VERSION || !after.starts_with([' ', '\t', '\r', '\n']) {
        let word = text.split_ascii_whitespace().next().unwrap_or_default();
        return Err(RulesError {
            line: 1,
            message: format!(
                "`{word}` is no version; allowed: `{MARK}{VERSION}` in a line of its own, or nothing for version 1"
            ),
        });
    }
    Ok((true, after))
}

struct Numbers<'a> {
    tokens: std::iter::Peekable<std::vec::IntoIter<(usize, &'a str)>>,
    line: usize,
}

impl<'a> Numbers<'a> {
    fn new(text: &'a str) -> Result<Numbers<'a>, RulesError> {
        let mut tokens = Vec::new();
        for (index, line) in text.split('\n').enumerate() {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let line = line.split_once('#').map_or(line, |(before, _)| before);
            // The library does not take them for blanks everywhere.
            if let Some(other) = line.chars().find(|c| c.is_control() && *c != '\t') {
                return Err(RulesError {
                    line: index + 1,
                    message: format!("a control character {other:?}; allowed between numbers are blanks and tabs"),
                });
            }
            tokens.extend(line.split_ascii_whitespace().map(|token| (index + 1, token)));
        }
        Ok(Numbers {
            tokens: tokens.into_iter().peekable(),
            line: 1,
        })
    }

    fn error(&self, message: String) -> RulesError {
        RulesError {
            line: self.line,
            message,
        }
    }

    /// True if another number follows in the line of the last one.
    fn on_same_line(&mut self) -> bool {
        self.tokens.peek().is_some_and(|(line, _)| *line == self.line)
    }

    fn next(&mut self, what: &str, allowed: std::ops::RangeInclusive<u64>) -> Result<u64, RulesError> {
        let Some((line, token)) = self.tokens.next() else {
            return Err(self.error(format!("the file ends where the {what} should be")));
        };
        self.line = line;
        if token.starts_with(MARK) {
            return Err(self.error(format!("`{token}` must be the first line, before comments and blanks")));
        }
        if token.len() > 1 && token.starts_with('0') {
            return Err(self.error(format!(
                "{what} `{token}`: Open MPI reads a leading 0 as octal or hexadecimal; leave it out"
            )));
        }
        let digits = token.bytes().all(|b| b.is_ascii_digit());
        match token.parse::<u64>() {
            Ok(value) if digits && allowed.contains(&value) => Ok(value),
            Ok(value) if digits => Err(self.error(format!(
                "{what} {value} is not between {} and {}",
                allowed.start(),
                allowed.end()
            ))),
            _ => Err(self.error(format!("{what} `{token}` is not a number"))),
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
