//! Intel MPI's `impi_info`: a line with a variable's name, and indented below it what it is:
//!
//! ```text
//! I_MPI_ADJUST_BCAST
//!   MPI Datatype:
//!     MPI_CHAR
//!   Description:
//!     Controls bcast algorithm: ...
//!     range: 0-22
//!    Default:
//!     -1
//! ```
//!
//! Few have a default, and it says no version. Its encoding is that of its texts; names and numbers are ASCII in all of them.

use super::{Legal, LibraryInfo, Program, Reported};

pub(super) const PROGRAM: Program = Program {
    name: "impi_info",
    arguments: &["-a", "-e"],
    parse,
    // Every parameter of the library is a variable with this prefix.
    prints: |name, _| name.starts_with("I_MPI_"),
};

/// Kind of the next line.
#[derive(Clone, Copy)]
enum Next {
    Type,
    Default,
    Text,
}

fn parse(text: &str) -> LibraryInfo {
    let mut info = LibraryInfo::default();
    let mut current: Option<&mut Reported> = None;
    let mut next = Next::Text;
    for line in text.lines() {
        let words = line.trim();
        if is_name(line) {
            current = Some(info.parameters.entry(words.to_owned()).or_default());
            next = Next::Text;
            continue;
        }
        let Some(reported) = current.as_deref_mut() else {
            continue;
        };
        match next {
            Next::Type => {
                words.clone_into(&mut reported.kind);
                if words == "MPI_CHAR" {
                    reported.legal = Legal::Text;
                }
            }
            Next::Default => reported.default = Some(words.to_owned()),
            Next::Text => {
                if let Some((first, last)) = range(words) {
                    reported.legal = Legal::Range(first, last);
                }
            }
        }
        next = match (next, words) {
            (Next::Text, "MPI Datatype:") => Next::Type,
            (Next::Text, "Default:") => Next::Default,
            _ => Next::Text,
        };
    }
    info
}

/// A name stands at the begin of its line, alone; a blank may follow.
fn is_name(line: &str) -> bool {
    let name = line.trim_end();
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// `FIRST-LAST` behind `range: `.
fn range(words: &str) -> Option<(u64, u64)> {
    let (_, numbers) = words.split_once("range: ")?;
    let (first, last) = numbers.trim_end().split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}
