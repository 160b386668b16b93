//! Kilter's marked block in a file of parameters that also belongs to a site or a user: everything else stays byte for byte.
//!
//! A line of theirs for a parameter that the block sets is a conflict. It is put aside, as a comment, only where that was asked
//! for, and comes back when the block no longer sets its parameter.

use std::collections::BTreeSet;

/// How the block's first line begins; the library follows.
const BEGIN: &str = "# >>> kilter ";
/// How the first line ends where the file had no line end before it.
const BEGIN_JOINED: &str = " (line end added) >>>";
/// How it ends else.
const BEGIN_END: &str = " >>>";
/// The last line.
const END: &str = "# <<< kilter <<<";
/// Before a line that was put aside.
const ASIDE: &[u8] = b"# put aside by kilter: ";

/// A line of theirs that says something else than the block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Line, from 1.
    pub line: usize,
    /// The parameter.
    pub name: String,
    /// Their value.
    pub theirs: String,
    /// The block's.
    pub ours: String,
}

/// Why a block cannot be put in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// The marks do not make one block.
    #[error(
        "line {line}: {message}; a block goes from a line `{BEGIN}LIBRARY{BEGIN_END}` to a line `{END}`; put the marks right or remove them"
    )]
    Marks {
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        message: &'static str,
    },
    /// Their lines.
    #[error("{}", conflicts_text(.0))]
    Conflicts(Vec<Conflict>),
    /// The block of another library that reads the same file.
    #[error(
        "line {line}: the file has the settings of {other}, and every version of the library reads them; take them back with \
         `kilter rollback`, or replace them with --override"
    )]
    OtherLibrary {
        /// Line, from 1.
        line: usize,
        /// Its id.
        other: String,
    },
}

fn conflicts_text(conflicts: &[Conflict]) -> String {
    let lines: Vec<String> = conflicts
        .iter()
        .map(|conflict| {
            format!(
                "line {}: it sets `{} = {}`, the tuning `{}`",
                conflict.line, conflict.name, conflict.theirs, conflict.ours
            )
        })
        .collect();
    format!(
        "{}; remove what is not wanted, or put these lines aside with --override, which `kilter rollback` takes back",
        lines.join("; ")
    )
}

/// A file with the block in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// Its text.
    pub text: Vec<u8>,
    /// The block with its marks; `None` where nothing is to be set.
    pub block: Option<Vec<u8>>,
    /// What was put aside now.
    pub put_aside: Vec<Conflict>,
}

/// The block of a text, where it is, and for which library.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    /// Bytes, the line end of the last mark included.
    bytes: std::ops::Range<usize>,
    /// Line of the first mark, from 1.
    line: usize,
    library: String,
    joined: bool,
}

fn find(text: &[u8]) -> Result<Option<Found>, BlockError> {
    let wrong = |line, message| Err(BlockError::Marks { line, message });
    let mut found: Option<Found> = None;
    let mut open = false;
    let mut start = 0;
    for (index, line) in text.split_inclusive(|b| *b == b'\n').enumerate() {
        let end = start + line.len();
        let shown = String::from_utf8_lossy(line);
        let shown = shown.trim_end();
        if let Some(rest) = shown.strip_prefix(BEGIN) {
            let Some(rest) = rest.strip_suffix(BEGIN_END) else {
                return wrong(index + 1, "the first line of a block is cut off");
            };
            if found.is_some() {
                return wrong(index + 1, "a second block begins");
            }
            open = true;
            found = Some(Found {
                bytes: start..end,
                line: index + 1,
                library: rest.split(' ').next().unwrap_or_default().to_owned(),
                joined: shown.ends_with(BEGIN_JOINED),
            });
        } else if shown == END {
            match &mut found {
                Some(block) if open => block.bytes.end = end,
                _ => return wrong(index + 1, "a block ends that did not begin"),
            }
            open = false;
        }
        start = end;
    }
    match found {
        Some(block) if open => wrong(block.line, "the block does not end"),
        found => Ok(found),
    }
}

/// The parameter and value that a line sets. Open MPI takes `--mca NAME VALUE` in such files, too.
fn assignment(line: &[u8]) -> Option<(String, String)> {
    let line = String::from_utf8_lossy(line);
    let line = line.split_once('#').map_or(&*line, |(before, _)| before).trim();
    let mut words = line.split_whitespace();
    if matches!(words.next(), Some("-mca" | "--mca")) {
        let name = words.next()?.to_owned();
        return Some((name, words.collect::<Vec<_>>().join(" ")));
    }
    let (name, value) = line.split_once('=')?;
    Some((name.trim().to_owned(), value.trim().to_owned()))
}

/// The block of a text with its marks.
///
/// # Errors
/// Marks that do not make one block.
pub fn of(text: &[u8]) -> Result<Option<Vec<u8>>, BlockError> {
    Ok(find(text)?.map(|found| text[found.bytes].to_vec()))
}

/// Puts a block with these parameters into a text, in place of the one it has, else at its end; without parameters, takes it out.
///
/// # Errors
/// Broken marks; and without `put_aside`, lines that say something else, or the block of another library.
pub fn merge(
    text: &[u8],
    library: &str,
    title: &[String],
    parameters: &[(String, String)],
    put_aside: bool,
) -> Result<Merged, BlockError> {
    let found = find(text)?;
    if let Some(found) = found.as_ref().filter(|found| found.library != library) {
        if parameters.is_empty() {
            // Not ours to take out.
            let (text, block, put_aside) = (text.to_vec(), None, Vec::new());
            return Ok(Merged { text, block, put_aside });
        }
        if !put_aside {
            let (line, other) = (found.line, found.library.clone());
            return Err(BlockError::OtherLibrary { line, other });
        }
    }
    let conflicts = conflicts(text, found.as_ref(), parameters);
    if !conflicts.is_empty() && !put_aside {
        return Err(BlockError::Conflicts(conflicts));
    }
    let joined = found
        .as_ref()
        .map_or(!text.is_empty() && !text.ends_with(b"\n"), |found| found.joined);
    let block = (!parameters.is_empty()).then(|| written(library, title, parameters, joined));
    let lines: BTreeSet<usize> = conflicts.iter().map(|conflict| conflict.line).collect();
    Ok(Merged {
        text: rebuilt(
            text,
            (found.as_ref(), block.as_deref()),
            |line, _| lines.contains(&line),
            |original| assignment(original).is_some_and(|(name, _)| parameters.iter().any(|(set, _)| *set == name)),
        ),
        block,
        put_aside: conflicts,
    })
}

/// Puts the block of `old` back into a text, or takes the one it has out; lines that were put aside since come back. What else the
/// text has stays.
///
/// # Errors
/// Marks that do not make one block.
pub fn restore(text: &[u8], old: &[u8]) -> Result<Vec<u8>, BlockError> {
    let aside: BTreeSet<&[u8]> = old
        .split_inclusive(|b| *b == b'\n')
        .filter_map(|line| line.strip_prefix(ASIDE))
        .collect();
    let found = find(text)?;
    let block = of(old)?;
    let was_aside = |line: &[u8]| aside.contains(line);
    let blocks = (found.as_ref(), block.as_deref());
    Ok(rebuilt(text, blocks, |_, line| was_aside(line), was_aside))
}

fn written(library: &str, title: &[String], parameters: &[(String, String)], joined: bool) -> Vec<u8> {
    let end = if joined { BEGIN_JOINED } else { BEGIN_END };
    let mut text = format!("{BEGIN}{library}{end}\n");
    for line in title {
        text.push_str(&format!("# {line}\n"));
    }
    text.push_str("# `kilter rollback` takes this block out again.\n");
    for (name, value) in parameters {
        text.push_str(&format!("{name} = {value}\n"));
    }
    text.push_str(END);
    text.push('\n');
    text.into_bytes()
}

/// Active lines outside of the block that set one of the parameters to something else.
fn conflicts(text: &[u8], found: Option<&Found>, parameters: &[(String, String)]) -> Vec<Conflict> {
    let mut conflicts = Vec::new();
    let mut start = 0;
    for (index, line) in text.split_inclusive(|b| *b == b'\n').enumerate() {
        let inside = found.is_some_and(|found| found.bytes.contains(&start));
        start += line.len();
        let Some((name, theirs)) = assignment(line).filter(|_| !inside) else {
            continue;
        };
        if let Some((_, ours)) = parameters
            .iter()
            .find(|(parameter, ours)| *parameter == name && *ours != theirs)
        {
            conflicts.push(Conflict {
                line: index + 1,
                name,
                theirs,
                ours: ours.clone(),
            });
        }
    }
    conflicts
}

/// The text with `block` in place of the one that was `found`; `aside` says of a line, by number and bytes, whether it is put
/// aside now, and `still` of one that was, by its own bytes, whether it remains so.
fn rebuilt(
    text: &[u8],
    (found, block): (Option<&Found>, Option<&[u8]>),
    aside: impl Fn(usize, &[u8]) -> bool,
    still: impl Fn(&[u8]) -> bool,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + block.map_or(0, <[u8]>::len));
    let mut start = 0;
    for (index, line) in text.split_inclusive(|b| *b == b'\n').enumerate() {
        let here = start;
        start += line.len();
        match found {
            Some(found) if found.bytes.start == here => {
                if let Some(block) = block {
                    out.extend_from_slice(block);
                } else if found.joined && found.bytes.end == text.len() && out.ends_with(b"\n") {
                    // The line end came with the block.
                    out.pop();
                }
                continue;
            }
            Some(found) if found.bytes.contains(&here) => continue,
            _ => {}
        }
        match line.strip_prefix(ASIDE) {
            Some(original) if !still(original) => out.extend_from_slice(original),
            None if aside(index + 1, line) => {
                out.extend_from_slice(ASIDE);
                out.extend_from_slice(line);
            }
            _ => out.extend_from_slice(line),
        }
    }
    if let (None, Some(block)) = (found, block) {
        if !out.is_empty() && !out.ends_with(b"\n") {
            out.push(b'\n');
        }
        out.extend_from_slice(block);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parameters(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn limit(value: &str) -> Vec<(String, String)> {
        parameters(&[("btl_vader_eager_limit", value)])
    }

    fn put(text: &str, parameters: &[(String, String)], aside: bool) -> Result<Merged, BlockError> {
        merge(
            text.as_bytes(),
            "openmpi-4.1",
            &["A title.".to_owned()],
            parameters,
            aside,
        )
    }

    fn text(merged: &Merged) -> String {
        String::from_utf8(merged.text.clone()).unwrap()
    }

    #[test]
    fn the_block_comes_last_and_names_its_library() {
        let merged = put("# site\nbtl = ^openib\n", &limit("32768"), false).unwrap();
        insta::assert_snapshot!(text(&merged), @r"
        # site
        btl = ^openib
        # >>> kilter openmpi-4.1 >>>
        # A title.
        # `kilter rollback` takes this block out again.
        btl_vader_eager_limit = 32768
        # <<< kilter <<<
        ");
    }

    #[test]
    fn a_second_block_replaces_the_first_where_it_stands() {
        let first = text(&put("a = 1\n", &limit("1"), false).unwrap()) + "b = 2\n";
        let second = text(&put(&first, &limit("2"), false).unwrap());
        assert_eq!(second, first.replace("limit = 1", "limit = 2"));
        assert_eq!(text(&put(&second, &[], false).unwrap()), "a = 1\nb = 2\n");
    }

    #[test]
    fn a_line_of_theirs_is_a_conflict_with_line_and_both_values() {
        for line in ["btl_vader_eager_limit=4096 # ours", "--mca btl_vader_eager_limit 4096"] {
            let error = put(&format!("# x\n{line}\n"), &limit("32768"), false)
                .unwrap_err()
                .to_string();
            assert!(error.starts_with("line 2: "), "{error}");
            assert!(
                error.contains("`btl_vader_eager_limit = 4096`") && error.contains("`32768`"),
                "{error}"
            );
            assert!(error.contains("--override"), "{error}");
        }
        assert!(put("btl_vader_eager_limit = 32768\n", &limit("32768"), false).is_ok());
        assert!(put("# btl_vader_eager_limit = 1\n", &limit("32768"), false).is_ok());
    }

    #[test]
    fn what_was_put_aside_comes_back_when_the_block_no_longer_sets_it() {
        let theirs = "btl_vader_eager_limit = 4096 # why\r\nbtl = self\n";
        let merged = put(theirs, &limit("32768"), true).unwrap();
        assert_eq!(merged.put_aside.len(), 1);
        assert!(text(&merged).starts_with("# put aside by kilter: btl_vader_eager_limit = 4096 # why\r\nbtl = self\n"));
        // It stays aside under another value, and needs no second permission.
        let again = put(&text(&merged), &limit("65536"), false).unwrap();
        assert!(text(&again).starts_with("# put aside by kilter: btl_vader_eager_limit = 4096"));
        let other = put(&text(&again), &parameters(&[("pml", "ob1")]), false).unwrap();
        assert!(text(&other).starts_with(theirs));
        // And the other way.
        assert_eq!(restore(&other.text, &again.text).unwrap(), again.text);
        assert_eq!(text(&put(&text(&other), &[], false).unwrap()), theirs);
    }

    #[test]
    fn another_librarys_block_is_replaced_only_when_asked() {
        let first = merge(b"", "openmpi-5.0", &[], &limit("1"), false).unwrap();
        let error = put(&text(&first), &limit("2"), false).unwrap_err().to_string();
        assert!(error.contains("line 1") && error.contains("openmpi-5.0"), "{error}");
        assert!(put(&text(&first), &limit("2"), true).is_ok());
        assert_eq!(put(&text(&first), &[], false).unwrap().text, first.text);
    }

    #[test]
    fn broken_marks_are_named_and_nothing_is_guessed() {
        let whole = text(&put("", &limit("1"), false).unwrap());
        for (text, line, part) in [
            (whole.replace(END, ""), 1, "does not end"),
            (format!("a = 1\n{END}\n"), 2, "did not begin"),
            (format!("{whole}{whole}"), 6, "second"),
            (whole.replacen(" >>>\n", "\n", 1), 1, "cut off"),
        ] {
            let error = put(&text, &limit("2"), true).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("line {line}: ")) && error.contains(part),
                "{error}"
            );
        }
    }

    proptest! {
        #[test]
        fn everything_else_stays_byte_for_byte(
            lines in prop::collection::vec(prop_oneof!["[a-c]{1,2} ?= ?[0-9]{1,2}", "# [a-z= ]{0,8}", "[ -~]{0,9}", "é?\r?"], 0..8),
            ended: bool,
            before: bool,
        ) {
            let mut theirs = lines.join("\n");
            if ended {
                theirs.push('\n');
            }
            let ours = parameters(&[("a", "7"), ("b", "8")]);
            let first = put(&theirs, &ours, true).unwrap();
            // The way back from one block, and from a second one to the first.
            prop_assert_eq!(&restore(&first.text, theirs.as_bytes()).unwrap(), theirs.as_bytes());
            let second = put(&text(&first), &parameters(&[("b", "9"), ("c", "1")]), true).unwrap();
            prop_assert_eq!(&restore(&second.text, &first.text).unwrap(), &first.text);
            prop_assert_eq!(&put(&text(&second), &[], false).unwrap().text, theirs.as_bytes());
            // What they add meanwhile stays as well.
            if ended {
                let edited = if before { format!("z = 1\n{}", text(&first)) } else { format!("{}z = 1\n", text(&first)) };
                let back = restore(edited.as_bytes(), theirs.as_bytes()).unwrap();
                let expected = if before { format!("z = 1\n{theirs}") } else { format!("{theirs}z = 1\n") };
                prop_assert_eq!(String::from_utf8(back).unwrap(), expected);
            }
        }
    }
}
