//! Writes the table of mock-ups from `configs/guidelines`: a row for each guideline that says `remedy = true`.
//!
//! It reads lines and no TOML, so that what is linked with an MPI library waits for no parser; a test of `kilter-model` reads the same
//! files with one and compares.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../configs/guidelines");
    println!("cargo::rerun-if-changed={}", directory.display());
    println!("cargo::rerun-if-changed=build.rs");
    let mut rows = BTreeMap::new();
    for entry in fs::read_dir(&directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path)?;
            if let Some((id, row)) = row(&text).map_err(|error| format!("configs/guidelines/{name}: {error}"))? {
                rows.insert(id, format!("    // {name}\n{row}"));
            }
        }
    }
    let rows: String = rows.into_values().collect();
    let table = format!("/// All mock-ups, by their ids.\npub static MOCKUPS: &[Mockup] = &[\n{rows}];\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("mockups.rs"), table)?;
    Ok(())
}

/// The id and the row of a guideline; `None` if its right side is no remedy.
fn row(text: &str) -> Result<Option<(String, String)>, String> {
    if !text.lines().any(|line| line.starts_with("remedy")) {
        return Ok(None);
    }
    if !text.lines().any(|line| line == "remedy = true") {
        return Err("`remedy` stands as `remedy = true`, or not at all".to_owned());
    }
    let statement = text
        .lines()
        .find_map(|line| line.strip_prefix("guideline = \"")?.strip_suffix('"'))
        .ok_or("a remedy needs a line `guideline = \"...\"`")?;
    let wrong = || {
        format!(
            "a remedy is `a(n) <= b(n) + c(n)`, each a collective on the whole volume, or `a(n) <= b(n){{node}} + c(n*q/p){{lane}}`, \
             not `{statement}`"
        )
    };
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
