//! Tables for a terminal, and text that is safe there.

use comfy_table::{Cell as Field, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle, presets};

/// Text from outside on one line without control characters: a library's name must not move the cursor.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A rule under the head and nothing else.
const RULED: TableStyle = presets::NOTHING.header_separator(LineStyle::none().fill('-').junction('-'));

/// A table in the house's style; `numeric` columns are aligned to the right.
pub fn plain(head: &[&str], numeric: &[usize]) -> Table {
    let mut table = Table::new();
    table
        .load_style(RULED)
        .set_header(head.iter().map(|head| Field::new(*head)));
    for column in numeric {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Columns of a list, so that it fits a terminal.
pub const LIST_WIDTH: u16 = 120;

/// A table without lines that breaks its cells between words where it would be wider than [`LIST_WIDTH`].
#[must_use]
pub fn narrow(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(LIST_WIDTH)
        .set_header(header.to_vec());
    table
}

/// The table as text, without the blanks that fill each line to its width.
pub fn trimmed(table: &Table) -> String {
    table
        .to_string()
        .lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n")
}
