//! Guidelines for people: the table of `kilter list` and the page of `kilter explain`.

use std::fmt::Write as _;

use super::Guideline;

/// Columns of a page.
const WIDTH: usize = 100;

/// All of them as a table.
#[must_use]
pub fn list(guidelines: &[Guideline]) -> String {
    let mut table = comfy_table::Table::new();
    table
        .load_style(comfy_table::presets::NOTHING)
        .set_header(["id", "kind", "family", "guideline", "violated when"]);
    for guideline in guidelines {
        let statement = guideline.statement();
        table.add_row([
            &guideline.id,
            guideline.kind.name(),
            &guideline.family,
            &statement,
            &guideline.name,
        ]);
    }
    table.to_string()
}

/// One of them as a page.
#[must_use]
pub fn explain(guideline: &Guideline) -> String {
    let mut page = format!("{} {}\n\n    {}\n", guideline.id, guideline.name, guideline.statement());
    let mut section = |heading: &str, text: &str| {
        // Writing to a string cannot fail.
        let _ = write!(page, "\n{heading}\n{}", wrapped(text));
    };
    if !guideline.functions.is_empty() {
        let names: Vec<&str> = guideline.functions.iter().map(|function| function.mpi_name()).collect();
        section("For A in", &names.join(", "));
    }
    section("What it says", &guideline.what);
    section("Why it should hold", &guideline.why);
    section("Mock-up", &guideline.mockup);
    if !guideline.needs.is_empty() {
        section("Needs", &guideline.needs);
    }
    section(
        "Family",
        &format!(
            "meta-rule {} of Traeff, Gropp, Thakur 2010 ({})",
            guideline.family,
            guideline.kind.name()
        ),
    );
    section("References", &guideline.source.replace("; ", "\n"));
    page
}

/// The text indented by two, each of its lines broken between words before [`WIDTH`].
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut column = 0;
        for word in line.split_whitespace() {
            let length = word.chars().count();
            if column > 0 && column + 1 + length > WIDTH {
                out.push('\n');
                column = 0;
            }
            let gap = if column == 0 { "  " } else { " " };
            out.push_str(gap);
            out.push_str(word);
            column += gap.len() + length;
        }
        out.push('\n');
    }
    out
}
