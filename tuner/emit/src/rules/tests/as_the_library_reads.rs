//! The library's own reading of numbers, character by character: numbers as `%li` takes them, anything else skipped one byte at a
//! time, `#` to the end of the line, a fifth number only on the rule's own line and only in version 2. A text with one mistake is
//! either refused by [`Rules::parse`], or both read the same.

use proptest::prelude::*;

use super::*;

/// Rules of `coll_tuned` after reading; `None` if it ignores the file.
type Read = Option<Vec<(u64, Vec<(u64, ByBytesList)>)>>;
type ByBytesList = Vec<(u64, Choice)>;

struct Stream<'t> {
    bytes: &'t [u8],
}

impl Stream<'_> {
    /// `scanf` with `%li`: blanks, a sign, and digits of the base that the first ones tell.
    fn scan(&mut self) -> Option<Option<i64>> {
        while self.bytes.first().is_some_and(|b| b.is_ascii_whitespace() || *b == 0xb) {
            self.bytes = &self.bytes[1..];
        }
        if self.bytes.is_empty() {
            return None;
        }
        let (sign, unsigned) = match self.bytes[0] {
            b'-' => (-1, &self.bytes[1..]),
            b'+' => (1, &self.bytes[1..]),
            _ => (1, self.bytes),
        };
        let hexadecimal = unsigned.len() > 2
            && unsigned[0] == b'0'
            && unsigned[1].eq_ignore_ascii_case(&b'x')
            && unsigned[2].is_ascii_hexdigit();
        let (base, digits) = match unsigned.first() {
            _ if hexadecimal => (16, &unsigned[2..]),
            Some(b'0') => (8, unsigned),
            _ => (10, unsigned),
        };
        let count = digits.iter().take_while(|b| (**b as char).is_digit(base)).count();
        if count == 0 {
            return Some(None);
        }
        let text = std::str::from_utf8(&digits[..count]).unwrap();
        let value = i64::from_str_radix(text, base).unwrap_or(i64::MAX);
        self.bytes = &digits[count..];
        Some(Some(sign * value))
    }

    fn next(&mut self) -> Option<u64> {
        loop {
            match self.scan()? {
                Some(value) => return u64::try_from(value).ok(),
                None => {
                    let skipped = self.bytes[0];
                    self.bytes = &self.bytes[1..];
                    if skipped == b'#' {
                        let line = self.bytes.iter().position(|b| *b == b'\n');
                        self.bytes = line.map_or(&[], |end| &self.bytes[end + 1..]);
                    }
                }
            }
        }
    }

    fn next_is_digit(&mut self) -> bool {
        while self.bytes.first().is_some_and(|b| [b' ', b'\t'].contains(b)) {
            self.bytes = &self.bytes[1..];
        }
        self.bytes.first().is_some_and(u8::is_ascii_digit)
    }
}

/// Reads as 5.0.7 and later do.
fn read(text: &str) -> Read {
    let mut stream = Stream { bytes: text.as_bytes() };
    let mut version = 1;
    if let Some(rest) = stream.bytes.strip_prefix(b"rule-file-version-") {
        stream.bytes = rest;
        if let Some(Some(number)) = stream.scan() {
            version = number;
        }
    }
    let mut all: Vec<(u64, Vec<(u64, ByBytesList)>)> = Vec::new();
    for _ in 0..stream.next().filter(|count| *count <= 22)? {
        let id = stream.next().filter(|id| *id < 22)?;
        let mut by_ranks = Vec::new();
        for _ in 0..stream.next()? {
            let ranks = stream.next()?;
            let mut by_bytes = Vec::new();
            for position in 0..stream.next()? {
                let bytes = stream.next().filter(|bytes| position > 0 || *bytes == 0)?;
                let mut choice = Choice {
                    algorithm: stream.next()?,
                    fan: stream.next()?,
                    segment_bytes: stream.next()?,
                    requests: None,
                };
                if version > 1 && stream.next_is_digit() {
                    choice.requests = Some(stream.next()?);
                }
                by_bytes.push((bytes, choice));
            }
            by_ranks.push((ranks, by_bytes));
        }
        // It has one place for each.
        all.retain(|(known, _)| *known != id);
        all.push((id, by_ranks));
    }
    all.sort_by_key(|(id, _)| *id);
    Some(all)
}

/// The rules that [`Rules::parse`] accepts.
fn listed(rules: &Rules) -> Read {
    let by_ranks = |by_ranks: &ByRanks| {
        let one = |(ranks, by_bytes): (&u64, &ByBytes)| {
            (
                *ranks,
                by_bytes.iter().map(|(bytes, choice)| (*bytes, *choice)).collect(),
            )
        };
        by_ranks.iter().map(one).collect()
    };
    Some(rules.collectives.iter().map(|(id, all)| (*id, by_ranks(all))).collect())
}

/// A mistake: at a place of the text, some bytes replaced by others.
fn mistake() -> impl Strategy<Value = (prop::sample::Index, usize, String)> {
    (any::<prop::sample::Index>(), 0_usize..6, "[0-9 \n\t\r#x+-]{0,4}")
}

#[test]
fn the_mirror_knows_the_traps() {
    let rule = |text: &str| read(text).map(|all| all[0].1[0].1[0].1);
    assert_eq!(
        rule("1 7 1 0 1 0 010 0x10 0").map(|choice| (choice.algorithm, choice.fan)),
        Some((8, 16))
    );
    assert_eq!(rule("1 7 1 0 1 0 -1 0 0"), None);
    assert_eq!(rule("1 bcast7 1 0 1 0 1 0 0").map(|choice| choice.algorithm), Some(1));
    let with = |mark: &str| rule(&format!("{mark}\n1 7 1 0 1\n0 1 0 0 8\n")).map(|choice| choice.requests);
    assert_eq!(with("rule-file-version-2"), Some(Some(8)));
    assert_eq!(with("rule-file-version-1"), Some(None));
    assert_eq!(
        with("# x\nrule-file-version-2"),
        None,
        "a negative number of collectives"
    );
    assert_eq!(with(" rule-file-version-2"), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_written_is_what_the_library_reads(rules in added()) {
        prop_assert_eq!(read(&rules.to_text()), listed(&rules));
        let titled = numbers::titled("# 1 title, 2 lines\n# of it\n", &rules.to_text());
        prop_assert_eq!(read(&titled), listed(&rules));
    }

    /// A file with one mistake is refused, or read alike by both: never does Kilter see rules where the library sees none or others.
    #[test]
    fn a_mistake_is_refused_or_changes_the_same_for_both(rules in added(), (place, removed, put) in mistake()) {
        let text = rules.to_text();
        let start = place.index(text.len() + 1);
        let end = (start + removed).min(text.len());
        let wrong = format!("{}{put}{}", &text[..start], &text[end..]);
        if let Ok(accepted) = Rules::parse(&wrong) {
            prop_assert_eq!(listed(&accepted), read(&wrong), "{}", wrong);
        }
    }
}
