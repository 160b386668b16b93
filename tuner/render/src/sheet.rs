//! A table without a rendering: heads, rows, and what each entry means.

use std::fmt::Write as _;

use serde::Serialize;

use crate::quoting::markdown;
use crate::table::{plain, printable, trimmed};

/// A table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sheet {
    /// Heading.
    pub title: String,
    /// Note for the reader below the table, a sentence or two; may be empty.
    pub note: String,
    /// Column heads.
    pub heads: Vec<String>,
    /// Rows, each as long as the heads.
    pub rows: Vec<Vec<Entry>>,
    /// The first so many columns are names, not values.
    pub names: usize,
    /// True if the values are single marks in narrow columns.
    pub narrow: bool,
}

/// A field of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Printed text.
    pub text: String,
    /// `bad`, `good`, `open`, `calm`, or empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub class: &'static str,
    /// Meaning in words, if `text` is a mark.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub words: String,
}

impl Entry {
    /// A name or a value.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            class: "",
            words: String::new(),
        }
    }

    /// A value that is good or bad.
    pub fn with_class(text: impl Into<String>, class: &'static str) -> Self {
        Self {
            class,
            ..Self::text(text)
        }
    }
}

impl Sheet {
    /// Title, table and note for the console. Empty if there are no rows.
    pub fn to_text(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        // Narrow columns have narrow heads: the number above its unit.
        let heads: Vec<String> = self
            .heads
            .iter()
            .enumerate()
            .map(|(index, head)| {
                let head = printable(head);
                if self.narrow && index >= self.names {
                    head.replace(' ', "\n")
                } else {
                    head
                }
            })
            .collect();
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let mut table = plain(&heads, &[]);
        for row in &self.rows {
            table.add_row(row.iter().map(|entry| printable(&entry.text)));
        }
        if self.narrow {
            for column in table.column_iter_mut().skip(self.names) {
                column.set_padding((0, 1));
            }
        }
        let mut out = format!("{}\n{}\n", self.title, trimmed(&table));
        if !self.note.is_empty() {
            let _ = writeln!(out, " {}", printable(&self.note));
        }
        out
    }

    /// Title, table and note in Markdown, to be pasted into a ticket. Entries and heads appear there as in the terminal; a note is in our own
    /// words, and code in it is code.
    pub fn to_markdown(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let line = |fields: &mut dyn Iterator<Item = &str>| {
            let fields: Vec<String> = fields.map(markdown).collect();
            format!("| {} |\n", fields.join(" | "))
        };
        let mut out = format!("### {}\n\n", markdown(&self.title));
        out.push_str(&line(&mut self.heads.iter().map(String::as_str)));
        out.push_str(&line(&mut self.heads.iter().map(|_| "---")));
        for row in &self.rows {
            out.push_str(&line(&mut row.iter().map(|entry| entry.text.as_str())));
        }
        if !self.note.is_empty() {
            let _ = writeln!(out, "\n{}", printable(&self.note));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_shows_what_the_terminal_shows() {
        let sheet = Sheet {
            title: "Worse in *b* than in a".to_owned(),
            note: "More in `report.json`.".to_owned(),
            heads: ["what", "<b>"].map(str::to_owned).to_vec(),
            rows: vec![
                vec![Entry::text("btl_tcp_eager_limit"), Entry::text("`x` | _y_\nz")],
                vec![Entry::text("MPI_* \\ 2 * 3"), Entry::text("<i>&amp;</i> < 5 %")],
            ],
            names: 1,
            narrow: false,
        };
        let lines = [
            r"### Worse in \*b\* than in a",
            "",
            r"| what | \<b> |",
            "| --- | --- |",
            r"| btl_tcp_eager_limit | \`x\` \| \_y\_ z |",
            r"| MPI\_\* \ 2 * 3 | \<i>\&amp;\</i> < 5 % |",
            "",
            "More in `report.json`.",
        ];
        assert_eq!(sheet.to_markdown().lines().collect::<Vec<_>>(), lines);
        assert!(sheet.to_text().contains("`x` | _y_ z") && sheet.to_text().contains("<i>&amp;</i> < 5 %"));
    }
}
