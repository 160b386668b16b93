//! UCX's `ucx_info -c -f`: a text, a syntax and a value for each variable.
//!
//! ```text
//! #
//! # Threshold for switching from eager to rendezvous protocol
//! #
//! # syntax:    memory units: <number>[b|kb|mb|gb], "inf", or "auto"
//! #
//! UCX_RNDV_THRESH=auto
//! ```
//!
//! A value is the default unless this user's environment sets the variable. The version is not printed along with them.

use super::{Legal, LibraryInfo, Program, Reported};

pub(super) const PROGRAM: Program = Program {
    name: "ucx_info",
    arguments: &["-c", "-f"],
    parse,
    prints: |name, _| name.starts_with("UCX_"),
};

fn parse(text: &str) -> LibraryInfo {
    let mut info = LibraryInfo::default();
    let mut syntax = "";
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# syntax:") {
            syntax = rest.trim();
        } else if let Some((name, value)) = line.split_once('=').filter(|(name, _)| name.starts_with("UCX_")) {
            let reported = Reported {
                value: None,
                default: Some(value.to_owned()),
                kind: syntax.to_owned(),
                legal: legal(syntax),
            };
            info.parameters.insert(name.to_owned(), reported);
            syntax = "";
        }
    }
    info
}

/// Legal values by the syntax; those of lists and free forms are not checked.
fn legal(syntax: &str) -> Legal {
    let words = |list: &str| Legal::Named(list.split('|').map(|word| (word.to_owned(), word.to_owned())).collect());
    // From 1.17 on a value may be one for each kind of connection: `comma-separated list of value or key:value pairs, where key is one of
    // [intra,inter] and value is: memory units: ...`. A value by itself holds for all.
    if let Some((_, of_each)) = syntax.split_once("and value is: ") {
        return legal(of_each);
    }
    if syntax.starts_with("memory units") {
        return Legal::Bytes;
    }
    if let Some(list) = syntax.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
        return words(list);
    }
    if let Some(list) = syntax.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return words(list);
    }
    match syntax {
        "unsigned integer" | "unsigned long" | "long" | "integer" => Legal::Number,
        _ => Legal::Text,
    }
}
