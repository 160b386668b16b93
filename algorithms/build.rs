//! Writes the table of mock-ups from `configs/guidelines`: a row for each guideline that says `remedy = true`.
//!
//! It reads lines and no TOML, so that what is linked with an MPI library waits for no parser; a test of `kilter-model` reads the same
//! files with one and compares.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    // An error that `main` returned would be printed as its fields.
    if let Err(error) = write_table() {
        println!("cargo::error={error}");
    }
}

fn write_table() -> Result<(), Box<dyn Error>> {
    let directory = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../configs/guidelines");
    println!("cargo::rerun-if-changed={}", directory.display());
    println!("cargo::rerun-if-changed=build.rs");
    let mut rows = BTreeMap::new();
    for entry in fs::read_dir(&directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path)?;
            let row = row(&text).map_err(|error| GuidelineError {
                file: name.clone(),
                error,
            })?;
            if let Some((id, row)) = row {
                rows.insert(id, format!("    // {name}\n{row}"));
            }
        }
    }
    let rows: String = rows.into_values().collect();
    let table = format!("/// All mock-ups, by their ids.\npub static MOCKUPS: &[Mockup] = &[\n{rows}];\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("mockups.rs"), table)?;
    Ok(())
}

/// A guideline that no row can be written for.
#[derive(Debug, thiserror::Error)]
#[error("configs/guidelines/{file}: {error}")]
struct GuidelineError {
    file: String,
    error: RowError,
}

/// The objection to a guideline.
#[derive(Debug, thiserror::Error)]
enum RowError {
    #[error("`remedy` stands as `remedy = true`, or not at all")]
    Remedy,
    #[error("a remedy needs a line `guideline = \"...\"`")]
    NoStatement,
    #[error(
        "a remedy is `a(n) <= b(n) + c(n)`, each a collective on the whole volume, or `a(n) <= b(n){{node}} + c(n*q/p){{lane}}`, \
         not `{0}`"
    )]
    Statement(String),
}

/// The id and the row of a guideline; `None` if its right side is no remedy.
fn row(text: &str) -> Result<Option<(String, String)>, RowError> {
    if !text.lines().any(|line| line.starts_with("remedy")) {
        return Ok(None);
    }
    if !text.lines().any(|line| line == "remedy = true") {
        return Err(RowError::Remedy);
    }
    let statement = text
        .lines()
        .find_map(|line| line.strip_prefix("guideline = \"")?.strip_suffix('"'))
        .ok_or(RowError::NoStatement)?;
    let wrong = || RowError::Statement(statement.to_owned());
    let plain = |call: &str| call.trim().strip_suffix("(n)").map(str::to_owned).ok_or_else(wrong);
    // Volumes of lanes are read by the guideline's parser alone.
    let on_part = |call: &str| {
        let is_there = ["(n){node}", "(n){lane}", "(n*q/p){lane}"].iter();
        let mut names = is_there.filter_map(|end| call.trim().strip_suffix(end));
        names.next_back().map(str::to_owned).ok_or_else(wrong)
    };
    let (left, right) = statement.split_once("<=").ok_or_else(wrong)?;
    let (left, right) = (plain(left)?, right.trim());
    let over_lanes = right.contains("{lane}");
    let calls: Vec<String> = if over_lanes {
        right.split('+').map(on_part).collect::<Result<_, _>>()?
    } else {
        right.split('+').map(plain).collect::<Result<_, _>>()?
    };
    let id = if over_lanes {
        format!("{left}.over_lanes")
    } else {
        format!("{left}.as_{}", calls.join("_"))
    };
    let calls: Vec<String> = calls
        .iter()
        .map(|call| format!("Collective::{}", variant(call)))
        .collect();
    let mut row = String::new();
    let _ = writeln!(row, "    Mockup {{");
    let _ = writeln!(row, "        id: {id:?},");
    let _ = writeln!(row, "        collective: Collective::{},", variant(&left));
    let _ = writeln!(row, "        calls: &[{}],", calls.join(", "));
    let _ = writeln!(row, "        side: {right:?},");
    let _ = writeln!(row, "    }},");
    Ok(Some((id, row)))
}

/// `ReduceScatter` of `reduce_scatter`. A name that is no collective's is found by the compiler.
fn variant(name: &str) -> String {
    let mut variant = String::new();
    for word in name.split('_') {
        let (first, rest) = word.split_at(word.len().min(1));
        variant.push_str(&first.to_uppercase());
        variant.push_str(rest);
    }
    variant
}
