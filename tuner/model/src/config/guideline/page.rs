//! Guidelines for people: the table of `kilter list` and the page of `kilter explain`.

use kilter_algorithms::Collective;
use std::fmt::Write as _;

use kilter_protocol::expression::{Communicator, Form, Operation, Side, Term};
use kilter_render::table::{narrow, trimmed};

use super::Guideline;

/// Columns of a page.
const WIDTH: usize = 100;

/// Table of all guidelines.
#[must_use]
pub fn list(guidelines: &[Guideline]) -> String {
    let mut table = narrow(&["violated when", "id", "family", "guideline"]);
    for guideline in guidelines {
        let statement = guideline.statement();
        table.add_row([&guideline.title, &guideline.id, &guideline.family, &statement]);
    }
    trimmed(&table)
}

/// Page of one guideline.
#[must_use]
pub fn explain(guideline: &Guideline) -> String {
    let mut page = format!(
        "{} ({})\n\n    {}\n",
        guideline.title,
        guideline.id,
        guideline.statement()
    );
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
    if let Some(expression) = &guideline.expression {
        section("In MPI calls", &calls(&expression.right));
    }
    let needs: Vec<String> = [
        (!guideline.needs.is_empty()).then(|| guideline.needs.clone()),
        (guideline.min_ranks > 1).then(|| format!("{} ranks or more.", guideline.min_ranks)),
        guideline.several_nodes.then(|| "Ranks on several nodes.".to_owned()),
        (!guideline.mpi.is_empty()).then(|| format!("MPI {}, or the library's extension for it.", guideline.mpi)),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !needs.is_empty() {
        section("Needs", &needs.join("\n"));
    }
    if !guideline.k.is_empty() {
        let values: Vec<String> = guideline.k.iter().map(ToString::to_string).collect();
        section("For k =", &values.join(", "));
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

/// The calls of a side, a line each.
fn calls(side: &Side) -> String {
    let line = |term: &Term| {
        let call = &term.call;
        let mut line = match &call.operation {
            Operation::Collective(function, form) => {
                let name = function.map_or("MPI_A", Collective::mpi_name);
                match form {
                    Form::Blocking => name.to_owned(),
                    Form::Nonblocking => nonblocking(name),
                    Form::Persistent => format!("MPI_Start on {name}_init"),
                }
            }
            Operation::PointToPoint(name) => format!("Kilter's schedule `{name}` over MPI_Isend and MPI_Irecv"),
            Operation::Single(single) => single.mpi_name().to_owned(),
        };
        if let Some(size) = &call.size {
            let _ = write!(line, ", {size} bytes{}", call.attributes);
        }
        if call.on != Communicator::World {
            let _ = write!(line, ", on {}", call.on.name());
        }
        if !term.repeat.is_one() {
            let _ = write!(line, ", {} times", term.repeat);
        }
        line
    };
    side.terms.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// `MPI_Ibcast` of `MPI_Bcast`; `MPI_IA` of the placeholder.
fn nonblocking(name: &str) -> String {
    match name.strip_prefix("MPI_") {
        Some("A") | None => "MPI_IA".to_owned(),
        Some(rest) => format!("MPI_I{}", rest.to_ascii_lowercase()),
    }
}

/// The text indented by two, each of its lines broken between words before [`WIDTH`].
pub(in crate::config) fn wrapped(text: &str) -> String {
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
