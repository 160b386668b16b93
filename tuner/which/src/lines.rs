//! Lines of files that decide.

/// The level of a file of HAN that speaks of the communicator of the call, by number and name.
const WHOLE: (u64, &str) = (2, "global_communicator");

/// Line, from 1, and value of the last `NAME = VALUE` for this name, in a file with `#` comments.
#[must_use]
pub fn assignment(text: &str, name: &str) -> Option<(usize, String)> {
    let value = |line: &str| {
        let (own, value) = line.split_once('=')?;
        (own.trim() == name).then(|| value.trim().trim_matches('"').to_owned())
    };
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with('#'));
    lines.filter_map(|(index, line)| Some((index + 1, value(line)?))).last()
}

/// Line, from 1, and numbers of the rule that a file of Open MPI's `coll_tuned`, in the form of counts and numbers, has for a call: the largest
/// communicator size not above `ranks`, else the first; there the largest message size not above `bytes`.
#[must_use]
pub fn of_numbers(text: &str, collective: u64, ranks: u64, bytes: u64) -> Option<(usize, String)> {
    let mut tokens: Vec<(usize, u64)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        tokens.extend(
            line.split_ascii_whitespace()
                .filter_map(|word| Some((index + 1, word.parse().ok()?))),
        );
    }
    let mut tokens = tokens.into_iter().peekable();
    let collectives = tokens.next()?.1;
    for _ in 0..collectives {
        let is_it = tokens.next()?.1 == collective;
        let sizes = tokens.next()?.1;
        let mut best: Option<(usize, Vec<u64>)> = None;
        for position in 0..sizes {
            let from_ranks = tokens.next()?.1;
            let holds = position == 0 || from_ranks <= ranks;
            if holds {
                best = None;
            }
            let count = tokens.next()?.1;
            for rule in 0..count {
                let (line, from_bytes) = tokens.next()?;
                let mut numbers = vec![from_bytes];
                for _ in 0..3 {
                    numbers.push(tokens.next()?.1);
                }
                // The fifth number of version 2 is on the rule's own line.
                while numbers.len() < 5 && tokens.peek().is_some_and(|(other, _)| *other == line) {
                    numbers.push(tokens.next()?.1);
                }
                if holds && (rule == 0 || from_bytes <= bytes) {
                    best = Some((line, numbers));
                }
            }
        }
        if is_it {
            let text = |numbers: Vec<u64>| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
            return best.map(|(line, numbers)| (line, text(numbers)));
        }
    }
    None
}

/// Line, from 1, and text of the rule that a file of Open MPI's HAN has for a call: of the collective, by its number or name, on the level of the whole
/// communicator, the last communicator size not above `ranks`; there the last message size not above `size`.
#[must_use]
pub fn of_components(text: &str, collective: (u64, &str), ranks: u64, size: u64) -> Option<(usize, String)> {
    let mut words = text
        .lines()
        .enumerate()
        .flat_map(|(index, line)| {
            let line = line.split('#').next().unwrap_or_default();
            line.split_ascii_whitespace().map(move |word| (index + 1, word))
        })
        .peekable();
    let is = |word: &str, (number, name): (u64, &str)| word == name || word.parse() == Ok(number);
    let mut found = None;
    for _ in 0..words.next()?.1.parse::<u64>().ok()? {
        let is_collective = is(words.next()?.1, collective);
        for _ in 0..words.next()?.1.parse::<u64>().ok()? {
            let is_level = is(words.next()?.1, WHOLE);
            for _ in 0..words.next()?.1.parse::<u64>().ok()? {
                let from_ranks: u64 = words.next()?.1.parse().ok()?;
                let holds = is_collective && is_level && from_ranks <= ranks;
                for _ in 0..words.next()?.1.parse::<u64>().ok()? {
                    let (line, from) = words.next()?;
                    let mut rule = vec![from, words.next()?.1];
                    // The algorithm may be joined to its sign, or follow it.
                    if let Some((_, marked)) = words.next_if(|(_, word)| word.starts_with('@')) {
                        rule.push(marked);
                        rule.extend((marked == "@").then(|| words.next()).flatten().map(|(_, name)| name));
                    }
                    if holds && from.parse::<u64>().ok()? <= size {
                        found = Some((line, rule.join(" ")));
                    }
                }
            }
        }
    }
    found
}

/// Line, from 1, of the last of these keys of JSON, each within the object of the one before it.
#[must_use]
pub fn nested(text: &str, keys: &[String]) -> Option<usize> {
    let mut at = 0;
    for key in keys {
        let quoted = serde_json::to_string(key).ok()?;
        at += text[at..].find(&quoted)? + quoted.len();
    }
    Some(1 + text[..at].matches('\n').count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_assignment_counts_and_comments_do_not() {
        let text = "# x = 1\nx = 2\nxy=3\n x=4\n#x=5\n";
        assert_eq!(assignment(text, "x"), Some((4, "4".to_owned())));
        assert_eq!(assignment(text, "z"), None);
    }

    #[test]
    fn a_rule_is_found_with_its_line() {
        let text = "# rules\n2 # collectives\n7\n1\n0\n1\n0 6 0 0\n11 # reduce\n2\n0 # ranks\n1\n0 0 0 0\n4 # ranks and more\n2\n0 1 0 0\n4096 5 0 1024\n";
        let rule = |collective, ranks, bytes| of_numbers(text, collective, ranks, bytes);
        assert_eq!(rule(7, 4, 8), Some((7, "0 6 0 0".to_owned())));
        assert_eq!(rule(11, 4, 8), Some((15, "0 1 0 0".to_owned())));
        assert_eq!(rule(11, 8, 4096), Some((16, "4096 5 0 1024".to_owned())));
        assert_eq!(rule(11, 2, 4096), Some((12, "0 0 0 0".to_owned())));
        assert_eq!(rule(3, 4, 8), None);
        assert_eq!(of_numbers("1 11 1", 11, 4, 8), None);
        let second = "rule-file-version-2\n1\n11\n1\n0\n2\n0 1 0 0 4\n8 2 0 0\n";
        assert_eq!(of_numbers(second, 11, 4, 4), Some((7, "0 1 0 0 4".to_owned())));
    }

    #[test]
    fn a_component_is_found_with_its_line() {
        let text = "2 # collectives\n7 # bcast\n2\n1\n1\n1 1\n0 libnbc\n2 # level\n2\n1 1\n0 han\n8 # ranks and more\n2\n0 han @ simple\n65536 tuned\n\
                    allreduce\n1\nglobal_communicator\n1\n1 1 0 han @intra\n";
        let of = |collective, ranks, size| of_components(text, collective, ranks, size);
        let bcast = (7, "bcast");
        assert_eq!(of(bcast, 4, 1 << 20), Some((11, "0 han".to_owned())));
        assert_eq!(of(bcast, 8, 8), Some((14, "0 han @ simple".to_owned())));
        assert_eq!(of(bcast, 9, 65536), Some((15, "65536 tuned".to_owned())));
        assert_eq!(of((2, "allreduce"), 2, 8), Some((20, "0 han @intra".to_owned())));
        assert_eq!(of((9, "gather"), 8, 8), None);
        assert_eq!(of_components("1 7 1", bcast, 8, 8), None);
    }

    #[test]
    fn keys_are_found_within_each_other() {
        let text = "{\n\"a\": {\n\"x\": {}\n},\n\"b\": {\n\"x\": {}\n}\n}\n";
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
        assert_eq!(nested(text, &keys(&["b", "x"])), Some(6));
        assert_eq!(nested(text, &keys(&["b", "y"])), None);
    }
}
