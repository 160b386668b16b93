//! Tables for a terminal, and text that is safe there.

use comfy_table::{Cell as Field, CellAlignment, LineStyle, Table, TableStyle, presets};

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

/// Without the blanks that fill each line to the table's width.
pub fn trimmed(table: &Table) -> String {
    table
        .to_string()
        .lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n")
}
