//! The reader and linter of the file: it refuses what the library would, and what the library takes for something else than a person does.

use kilter_model::config::library::{Components, HandedOn};

use super::{ByBytes, ByRanks, ComponentRules, LEVELS, To, WHOLE};

/// Largest `int` of the library, in which it keeps communicator sizes.
const INT_MAX: u64 = i32::MAX as u64;
/// Largest number that every reader of message sizes takes.
const LONG_MAX: u64 = i64::MAX as u64;
/// Entries of a list at most.
const MAX_COUNT: u64 = 1 << 20;
/// Characters of a word at most: the library takes the rest for the next one.
const LONGEST_WORD: usize = 32;

/// The reason why the library would ignore the file, or take it for something else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("file of components, line {line}: {message}")]
pub struct ComponentsError {
    /// Line, from 1.
    pub line: usize,
    /// The mistake, and what is allowed.
    pub message: String,
}

impl ComponentRules {
    /// Reads a file as the library of this description does.
    ///
    /// # Errors
    /// Whatever would make it ignore the file, or a part of it.
    pub fn parse(text: &str, components: &Components) -> Result<ComponentRules, ComponentsError> {
        let mut words = Words::new(text)?;
        let mut rules = ComponentRules::default();
        for _ in 0..words.number("number of collectives", 1, MAX_COUNT)? {
            let row = words.collective(components)?;
            if rules.collectives.contains_key(&row.id) {
                return Err(words.error(format!(
                    "{} stands there twice, and only the last is looked at; put its rules together",
                    row.collective
                )));
            }
            let levels = rules.collectives.entry(row.id).or_default();
            for _ in 0..words.number("number of levels", 1, MAX_COUNT)? {
                let level = words.level(components)?;
                if levels.contains_key(&level) {
                    return Err(words.error(format!(
                        "level {level} stands there twice, and only the last is looked at; put its rules together"
                    )));
                }
                let by_ranks = words.by_ranks(components, row, level)?;
                levels.insert(level, by_ranks);
            }
        }
        words.end()?;
        Ok(rules)
    }
}

/// The words of a file, with the line of the last one.
struct Words<'a> {
    words: std::iter::Peekable<std::vec::IntoIter<(usize, &'a str)>>,
    line: usize,
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Result<Words<'a>, ComponentsError> {
        let mut words = Vec::new();
        for (index, line) in text.split('\n').enumerate() {
            let wrong = |message: String| {
                let line = index + 1;
                Err(ComponentsError { line, message })
            };
            let before = line.split_once('#').map_or(line, |(before, _)| before);
            if before.len() < line.len() && before.ends_with(|c: char| !c.is_ascii_whitespace()) {
                return wrong("`#` belongs to the word before it; put a blank between them".to_owned());
            }
            if let Some(other) = before
                .chars()
                .find(|c| (c.is_control() || c.is_whitespace()) && !" \t".contains(*c))
            {
                return wrong(format!("{other:?} is neither a blank nor a tab"));
            }
            for word in before.split_ascii_whitespace() {
                if word.len() > LONGEST_WORD {
                    return wrong(format!("`{word}` has more than {LONGEST_WORD} characters"));
                }
                words.push((index + 1, word));
            }
        }
        Ok(Words {
            words: words.into_iter().peekable(),
            line: 1,
        })
    }

    fn error(&self, message: String) -> ComponentsError {
        let line = self.line;
        ComponentsError { line, message }
    }

    fn word(&mut self, what: &str) -> Result<&'a str, ComponentsError> {
        match self.words.next() {
            Some((line, word)) => {
                self.line = line;
                Ok(word)
            }
            None => Err(self.error(format!("the file ends before the {what}"))),
        }
    }

    /// A number from `least` to `most`. The library also takes `010` for 8 and passes over words that are none.
    fn number(&mut self, what: &str, least: u64, most: u64) -> Result<u64, ComponentsError> {
        let word = self.word(what)?;
        let number = plain_number(word).filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| {
            self.error(format!(
                "`{word}` is no {what}; allowed: {least} to {most}, without zeros before it"
            ))
        })
    }

    fn collective<'c>(&mut self, components: &'c Components) -> Result<&'c HandedOn, ComponentsError> {
        let word = self.word("collective")?;
        let number = plain_number(word);
        let mut rows = components.collectives.iter();
        let row = rows.find(|row| row.collective.name() == word || Some(row.id) == number);
        row.ok_or_else(|| {
            let known = components.collectives.iter();
            let known: Vec<String> = known.map(|row| format!("{} ({})", row.collective, row.id)).collect();
            self.error(format!(
                "`{word}` is no collective that is handed on; allowed: {}",
                known.join(", ")
            ))
        })
    }

    fn level(&mut self, components: &Components) -> Result<u64, ComponentsError> {
        let word = self.word("level")?;
        let named = (0..).zip(LEVELS).find(|(_, name)| *name == word);
        let named = named.map(|(level, _)| level).filter(|_| components.level_names);
        let level = named.or_else(|| plain_number(word).filter(|level| *level <= WHOLE));
        level.ok_or_else(|| {
            let names = if components.level_names {
                format!(", or {}", LEVELS.join(", "))
            } else {
                String::new()
            };
            self.error(format!("`{word}` is no level; allowed: 0 to {WHOLE}{names}"))
        })
    }

    fn by_ranks(&mut self, components: &Components, row: &HandedOn, level: u64) -> Result<ByRanks, ComponentsError> {
        let mut by_ranks = ByRanks::new();
        for position in 0..self.number("number of communicator sizes", 1, MAX_COUNT)? {
            let most = if position == 0 { 1 } else { INT_MAX };
            let ranks = self.number("communicator size", 1, most)?;
            self.ascending(
                "communicator sizes",
                by_ranks.last_key_value().map(|(last, _)| *last),
                ranks,
            )?;
            let by_bytes = self.by_bytes(components, row, level)?;
            by_ranks.insert(ranks, by_bytes);
        }
        Ok(by_ranks)
    }

    fn by_bytes(&mut self, components: &Components, row: &HandedOn, level: u64) -> Result<ByBytes, ComponentsError> {
        let mut by_bytes = ByBytes::new();
        for position in 0..self.number("number of message sizes", 1, MAX_COUNT)? {
            let most = if position == 0 { 0 } else { LONG_MAX };
            let bytes = self.number("message size", 0, most)?;
            self.ascending("message sizes", by_bytes.last_key_value().map(|(last, _)| *last), bytes)?;
            let to = self.to(components, row, level)?;
            by_bytes.insert(bytes, to);
        }
        Ok(by_bytes)
    }

    fn to(&mut self, components: &Components, row: &HandedOn, level: u64) -> Result<To, ComponentsError> {
        let word = self.word("component")?;
        if !components.names.iter().any(|name| name == word) {
            let known = components.names.join(", ");
            return Err(self.error(format!("`{word}` is no component; allowed: {known}")));
        }
        let is_own = word == components.own;
        if is_own && level != WHOLE {
            return Err(self.error(format!("`{word}` carries out no level but {WHOLE}")));
        }
        let mut to = To::component(word);
        let Some((line, marked)) = self.words.peek().copied().filter(|(_, next)| next.starts_with('@')) else {
            return Ok(to);
        };
        self.words.next();
        self.line = line;
        let name = match &marked[1..] {
            "" => self.word("algorithm")?,
            name => name,
        };
        let number = plain_number(name).and_then(|number| usize::try_from(number).ok());
        let by_number = number.and_then(|number| row.algorithms.get(number));
        let known = row.algorithms.iter().find(|one| *one == name).or(by_number);
        to.algorithm = known.filter(|_| is_own).cloned();
        if to.algorithm.is_none() {
            let allowed = match row.algorithms.join(", ") {
                _ if !is_own => format!("none of `{word}`"),
                none if none.is_empty() => "none in this release".to_owned(),
                names => names,
            };
            return Err(self.error(format!(
                "`@{name}` is no algorithm for {}; allowed: {allowed}",
                row.collective
            )));
        }
        Ok(to)
    }

    fn ascending(&self, what: &str, last: Option<u64>, next: u64) -> Result<(), ComponentsError> {
        match last {
            Some(last) if next <= last => Err(self.error(format!(
                "{what} must ascend, and {next} follows {last}: some of them would never be looked at"
            ))),
            _ => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), ComponentsError> {
        match self.words.next() {
            Some((line, word)) => {
                self.line = line;
                Err(self.error(format!(
                    "`{word}` follows the last rule; the counts before it are too small"
                )))
            }
            None => Ok(()),
        }
    }
}

/// A decimal number without sign and leading zeros, which all versions read alike.
fn plain_number(word: &str) -> Option<u64> {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit()) && (word == "0" || !word.starts_with('0'));
    word.parse().ok().filter(|_| is_plain)
}
