//! Compares the file of a shared transport with what the transport's own program prints. Pure.

use kilter_model::config::library::{KINDS, Parameter, Value};
use kilter_model::config::transport::Transport;

use super::{Difference, LibraryInfo, bytes};

/// Differences between the transport's file and its program. A part of the transport that is not built in (a provider of libfabric, InfiniBand
/// of UCX) is passed over: its settings are never proposed there.
#[must_use]
pub fn differences_of_transport(transport: &Transport, info: &LibraryInfo) -> Vec<Difference> {
    let mut found = Vec::new();
    for row in &transport.parameters {
        compare(row, info, &mut found);
    }
    found
}

fn compare(row: &Parameter, info: &LibraryInfo, found: &mut Vec<Difference>) {
    let Some(reported) = info.parameters.get(&row.name) else {
        let is_built = info.parameters.keys().any(|other| part_of(other) == part_of(&row.name));
        if is_built {
            found.push(Difference::Unknown(row.name.clone()));
        }
        return;
    };
    // A file leaves the default open where releases differ.
    if let Some(default) = reported
        .default
        .as_ref()
        .filter(|default| !row.default.is_empty() && !is_same_of_each_kind(row, default))
    {
        found.push(Difference::Default {
            parameter: row.name.clone(),
            described: row.default.clone(),
            reported: default.clone(),
        });
    }
    let tried = row.r#try.iter().chain(row.overlap.iter().map(|tried| &tried.value));
    for value in tried.map(Value::to_string).filter(|value| !reported.allows(value)) {
        found.push(Difference::Illegal {
            parameter: row.name.clone(),
            value,
            kind: reported.kind.clone(),
        });
    }
}

/// The part of the transport to which a variable belongs: `FI_CXI` of `FI_CXI_RX_MATCH_MODE`.
fn part_of(name: &str) -> Option<&str> {
    let (at, _) = name.match_indices('_').nth(1)?;
    name.get(..at)
}

/// True if the value, which may be one for each kind of connection, is the row's default.
fn is_same_of_each_kind(row: &Parameter, value: &str) -> bool {
    let values = row.by_connection.as_ref().and_then(|words| words.read(value).ok());
    match values {
        Some(values) => KINDS.iter().all(|kind| is_same(&row.default, values.of(*kind))),
        None => is_same(&row.default, value),
    }
}

/// True if both are the same word, truth value or number of bytes.
fn is_same(one: &str, other: &str) -> bool {
    let truth = |word: &str| match word {
        "y" | "yes" | "true" | "on" | "1" => Some(true),
        "n" | "no" | "false" | "off" | "0" => Some(false),
        _ => None,
    };
    one == other
        || truth(one).is_some_and(|known| truth(other) == Some(known))
        || bytes(one).is_some_and(|known| bytes(other) == Some(known))
}
