//! Kilter's marked block in a file of parameters that also belongs to a site or a user: everything else stays byte for byte.
//!
//! A line of theirs for a parameter that the block sets is a conflict. It is put aside, as a comment, only where that was asked
//! for, and comes back when the block no longer sets its parameter.

use std::collections::BTreeSet;

/// Beginning of the block's first line; the library follows.
const BEGIN: &str = "# >>> kilter ";
/// End of the first line where the file had no line end before it.
const BEGIN_JOINED: &str = " (line end added) >>>";
/// Its end else.
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

/// The reason why a block cannot be put in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// The marks do not make one block.
    #[error(
        "line {line}: {message}; a block goes from a line `{BEGIN}LIBRARY{BEGIN_END}` to a line `{END}`; put the marks right or remove them"
    )]
    Marks {
        /// Line, from 1.
        line: usize,
        /// The mistake.
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
    /// Lines that were put aside now.
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

/// The value that lines outside of the block give a parameter: the last that is in force, else the last that was put aside.
///
/// # Errors
/// Marks that do not make one block.
pub fn set_by_others(text: &[u8], name: &str) -> Result<Option<String>, BlockError> {
    let found = find(text)?;
    let (mut active, mut aside) = (None, None);
    let mut start = 0;
    for line in text.split_inclusive(|b| *b == b'\n') {
        let inside = found.as_ref().is_some_and(|found| found.bytes.contains(&start));
        start += line.len();
        let (place, line) = match line.strip_prefix(ASIDE) {
            Some(original) => (&mut aside, original),
            None => (&mut active, line),
        };
        if let Some((_, value)) = assignment(line).filter(|(set, _)| !inside && set == name) {
            *place = Some(value);
        }
    }
    Ok(active.or(aside))
}

/// Puts a block with these parameters into a text, in place of the one it has, else at its end; without parameters, takes it out. Lines for the
/// parameters of `kept` may always be put aside: their content is kept elsewhere.
///
/// # Errors
/// Broken marks; and without `put_aside`, other lines that say something else, or the block of another library.
pub fn merge(
    text: &[u8],
    library: &str,
    title: &[String],
    parameters: &[(String, String)],
    (put_aside, kept): (bool, &[&str]),
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
    let stops = |conflict: &&Conflict| !put_aside && !kept.contains(&&*conflict.name);
    let stopping: Vec<Conflict> = conflicts.iter().filter(stops).cloned().collect();
    if !stopping.is_empty() {
        return Err(BlockError::Conflicts(stopping));
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

/// Puts the block of `old` back into a text, or takes the one it has out; lines that were put aside since come back. The rest of the text stays.
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
mod tests;
