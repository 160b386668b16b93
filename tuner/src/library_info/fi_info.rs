//! libfabric's `fi_info -e`: name, type and a text for each variable, in which the default may stand.
//!
//! ```text
//! # FI_OFI_RXM_SAR_LIMIT: size_t
//! # ofi_rxm: Specifies the maximum size transfer that the SAR ... (default 131072).
//! ```
//!
//! Variables of providers that are not built in are not printed.

use super::{Legal, LibraryInfo, Program, Reported};

pub(super) const PROGRAM: Program = Program {
    name: "fi_info",
    arguments: &["-e"],
    parse,
    prints: |name, _| name.starts_with("FI_"),
};

/// The words of a truth value.
const TRUTH: [&str; 8] = ["0", "1", "on", "off", "true", "false", "yes", "no"];

fn parse(text: &str) -> LibraryInfo {
    let mut info = LibraryInfo::default();
    let mut lines = text
        .lines()
        .map(|line| line.strip_prefix("# ").unwrap_or(line))
        .peekable();
    while let Some(line) = lines.next() {
        let Some((name, kind)) = line.split_once(": ").filter(|(name, _)| is_name(name)) else {
            continue;
        };
        let mut about = String::new();
        while let Some(more) = lines.next_if(|next| !next.split_once(": ").is_some_and(|(name, _)| is_name(name))) {
            about.push_str(more);
            about.push(' ');
        }
        let reported = Reported {
            value: None,
            default: default(&about),
            kind: kind.to_owned(),
            legal: legal(kind),
        };
        info.parameters.insert(name.to_owned(), reported);
    }
    info
}

fn is_name(word: &str) -> bool {
    word.starts_with("FI_")
        && word
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

fn legal(kind: &str) -> Legal {
    match kind {
        "Integer" | "size_t" => Legal::Number,
        kind if kind.starts_with("Boolean") => Legal::Named(
            TRUTH
                .iter()
                .map(|word| ((*word).to_owned(), (*word).to_owned()))
                .collect(),
        ),
        _ => Legal::Text,
    }
}

/// The default in the text: after `default: `, `(default ` or `Default: `, up to a bracket or blank. Several words are no value.
fn default(about: &str) -> Option<String> {
    let at = ["(default: ", "(default ", "Default: "]
        .iter()
        .find_map(|before| about.split_once(before));
    let (_, rest) = at?;
    let value = rest.split([')', ' ', ',']).next()?.trim_end_matches('.');
    let ended = rest[value.len()..].starts_with([')', ',', '.']) || rest[value.len()..].trim().is_empty();
    // `false/no` are two words for one value.
    let word = value.split('/').next().unwrap_or(value);
    (ended && !word.is_empty()).then(|| word.to_owned())
}
