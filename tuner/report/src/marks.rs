//! Pieces of Markdown in which nothing from outside becomes markup.

use std::fmt::Write as _;

/// A list below its title; nothing where it has no items.
pub(crate) fn list(title: &str, items: impl Iterator<Item = String>) -> String {
    let mut out = String::new();
    for item in items {
        if out.is_empty() {
            let _ = writeln!(out, "\n## {title}\n");
        }
        let _ = writeln!(out, "- {item}");
    }
    out
}

/// A code span in a table; a span cannot hold a backtick, and a pipe would end the table's field.
pub(crate) fn code(raw: &str) -> String {
    let one_line: String = raw
        .chars()
        .map(|c| if c.is_control() || c == '`' { ' ' } else { c })
        .collect();
    if one_line.trim().is_empty() {
        String::new()
    } else {
        format!("`{}`", one_line.replace('|', "\\|"))
    }
}
