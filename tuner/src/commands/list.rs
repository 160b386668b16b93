//! `kilter list`: what there is.

use comfy_table::Table;
use kilter_algorithms::{mockup, registry};
use kilter_model::config::{guideline, library, target};

use super::{Status, list_json, print};
use crate::cli::{List, ListFormat, Listed};

pub(super) fn run(typed: &List) -> anyhow::Result<Status> {
    if typed.format == ListFormat::Json {
        print(&list_json::text(typed.what)?)?;
        return Ok(Status::Holds);
    }
    let text = match typed.what {
        Listed::Guidelines => guideline::list(&guideline::load_embedded()?),
        Listed::Algorithms => algorithms(),
        Listed::Mockups => mockups(),
        Listed::Libraries => libraries()?,
        Listed::Targets => target::list(&target::load_embedded()?),
    };
    print(&text)?;
    Ok(Status::Holds)
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(comfy_table::presets::NOTHING)
        .set_header(header.to_vec());
    table
}

fn algorithms() -> String {
    let mut table = table(&["id", "what", "needs", "parameters", "source"]);
    for algorithm in registry::algorithms() {
        let needs = algorithm
            .needs
            .iter()
            .map(|need| format!("{need:?}"))
            .collect::<Vec<_>>()
            .join(", ");
        let parameters = algorithm
            .parameters
            .iter()
            .map(|p| format!("{} {}..{} (default {})", p.name, p.min, p.max, p.default))
            .collect::<Vec<_>>()
            .join(", ");
        table.add_row([algorithm.id, algorithm.summary, &needs, &parameters, algorithm.source]);
    }
    table.to_string()
}

fn mockups() -> String {
    let mut table = table(&["id", "stands for", "calls"]);
    for row in mockup::MOCKUPS {
        let calls = row
            .calls
            .iter()
            .map(|call| format!("{call}(n)"))
            .collect::<Vec<_>>()
            .join(" + ");
        table.add_row([row.id, row.collective.mpi_name(), &calls]);
    }
    table.to_string()
}

fn libraries() -> anyhow::Result<String> {
    let mut table = table(&["id", "library", "builds", "can be", "parameters", "rows verified by"]);
    for library in library::load_embedded()? {
        table.add_row([
            library.id.clone(),
            library.name.clone(),
            library.builds.replace("{major}.{minor}", "*"),
            (if library.emitter.is_some() {
                "verified and tuned"
            } else {
                "verified"
            })
            .to_owned(),
            library.parameters.len().to_string(),
            shares(&library.shares()),
        ]);
    }
    Ok(table.to_string())
}

/// Such as `run 3, source 74`.
fn shares(shares: &library::Shares) -> String {
    let said = shares
        .by
        .iter()
        .map(|(verified, rows)| format!("{} {rows}", verified.word()));
    let unsaid = (shares.unsaid > 0).then(|| format!("not said {}", shares.unsaid));
    said.chain(unsaid).collect::<Vec<_>>().join(", ")
}
