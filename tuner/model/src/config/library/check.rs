//! Checks of a description beyond its form.

use std::collections::BTreeSet;

use super::{
    Algorithms, ByConnection, Constraint, ForOverlap, Library, Messages, Parameter, Value, components, rules_file,
    shares,
};

/// First mistake, with its key and what is allowed.
pub(super) fn problem(library: &Library) -> Option<String> {
    launcher(library)
        .or_else(|| {
            twice(
                "algorithms of",
                library.algorithms.iter().map(|row| row.collective.name()),
            )
        })
        .or_else(|| twice("rules_id", library.algorithms.iter().filter_map(|row| row.rules_id)))
        .or_else(|| rules_file::problem(&library.rules_file))
        .or_else(|| library.components.as_ref().and_then(components::problem))
        .or_else(|| library.algorithms.iter().find_map(algorithms))
        .or_else(|| library.messages.as_ref().and_then(messages))
        .or_else(|| twice("parameter", library.parameters.iter().map(|row| row.name.as_str())))
        .or_else(|| library.parameters.iter().find_map(|row| parameter(library, row)))
        .or_else(|| library.constraints.iter().find_map(Constraint::problem))
        .or_else(|| tried_and_broken(library))
        .or_else(|| shares::problem(library))
}

fn launcher(library: &Library) -> Option<String> {
    if library.detect.is_empty() || library.detect.iter().any(|part| part.trim().is_empty()) {
        return Some("detect is empty and would fit every library; give a part of its version line".to_owned());
    }
    if library.emitter.as_ref().is_some_and(|name| name.trim().is_empty()) {
        return Some(
            "emitter is empty; name one, or leave it out where nothing writes files for the library".to_owned(),
        );
    }
    if library.reports.trim().is_empty() {
        return Some(
            "reports is empty and would fit every library; give a part of what MPI_Get_library_version says".to_owned(),
        );
    }
    let name = |c: char| c.is_ascii_alphanumeric() || "-._{}".contains(c);
    if library.builds.is_empty() || !library.builds.chars().all(name) {
        return Some(format!(
            "builds is `{}`; give the name of a directory, such as mpich-{{major}}.{{minor}}",
            library.builds
        ));
    }
    let launcher = &library.launcher;
    for (key, flag) in [
        ("ranks_flag", &launcher.ranks_flag),
        ("hostfile_flag", &launcher.hostfile_flag),
    ] {
        if flag.is_empty() {
            return Some(format!("launcher.{key} is empty; give an option of the launcher"));
        }
    }
    for (key, form) in [
        ("parameter", &launcher.parameter),
        ("environment", &launcher.environment),
    ] {
        // A launcher that hands its environment on needs no form for it.
        if key == "environment" && form.is_empty() {
            continue;
        }
        let text = form.join(" ");
        if form.is_empty() {
            continue;
        }
        if !text.contains("{name}") || !text.contains("{value}") {
            return Some(format!("launcher.{key} must contain {{name}} and {{value}}"));
        }
    }
    if !launcher.agent.is_empty() && !launcher.agent.iter().any(|part| part.contains("{agent}")) {
        return Some("launcher.agent must contain {agent}".to_owned());
    }
    if !launcher.per_node.is_empty() && !launcher.per_node.iter().any(|part| part.contains("{per_node}")) {
        return Some("launcher.per_node must contain {per_node}".to_owned());
    }
    let text = launcher.platform.join(" ");
    if launcher.is_simulator() && !(text.contains("{platform}") && text.contains("{hostfile}")) {
        return Some("launcher.platform must contain {platform} and {hostfile}".to_owned());
    }
    let bare = |name: &String| !name.is_empty() && !name.contains('/') && name != "..";
    if !launcher.program.iter().all(bare) {
        return Some("launcher.program must be the name of a file beside the worker".to_owned());
    }
    None
}

fn messages(row: &Messages) -> Option<String> {
    if row.counters.is_empty() {
        return Some("messages.counters is empty; name performance variables, or remove the table".to_owned());
    }
    let names = row.parameters.keys().chain(row.among.keys());
    let wrong = names.into_iter().find(|name| !is_name(name, false))?;
    Some(format!(
        "messages: parameter name `{wrong}` cannot be set; allowed: letters, digits and `_`"
    ))
}

fn algorithms(row: &Algorithms) -> Option<String> {
    let wrong = |message: String| Some(format!("{}: {message}", row.parameter));
    if row.choices.is_empty() {
        return wrong("`choices` is empty; name the library's algorithms, or remove the table".to_owned());
    }
    if let Some(message) = twice("value", row.choices.iter().map(|choice| choice.value))
        .or_else(|| twice("name", row.choices.iter().map(|choice| choice.name.as_str())))
    {
        return wrong(message);
    }
    if row.size_test.is_some() != (row.size_switch && row.rules_id.is_none() && row.at_start.is_none()) {
        return wrong(
            "`size_test` belongs to `size_switch = true` without a `rules_id` or `at_start`, and to nothing else"
                .to_owned(),
        );
    }
    if let Some(at_start) = row.at_start {
        if row.rules_id.is_some() || !row.knobs.is_empty() {
            return wrong("`at_start` goes with neither a `rules_id` nor `knobs`".to_owned());
        }
        if row.size_switch != at_start.unit.is_some() {
            return wrong("`at_start.unit` belongs to `size_switch = true`, and to nothing else".to_owned());
        }
        let above = |last| row.choices.iter().find(|choice| choice.value > last);
        if let Some(choice) = at_start.last.and_then(above) {
            return wrong(format!("choice `{}` is above `at_start.last`", choice.name));
        }
    }
    if let Some(test) = &row.size_test
        && !["avg_msg_size", "total_msg_size"].contains(&test.as_str())
    {
        return wrong(format!("size_test is `{test}`; allowed: avg_msg_size, total_msg_size"));
    }
    for choice in &row.choices {
        // MVAPICH2 has no value by which the library decides: its variable is not set then.
        let decides = row
            .at_start
            .is_none_or(|at_start| at_start.form.librarys_own().is_some());
        if choice.value == 0 && decides {
            return wrong(format!(
                "choice `{}` has the value 0, by which the library decides; allowed: from 1",
                choice.name
            ));
        }
        if choice.ranks == Some(0) {
            return wrong(format!("choice `{}` runs on 0 ranks; allowed: from 1", choice.name));
        }
        if let Some(id) = &choice.kilter
            && kilter_algorithms::registry::find(id).is_none_or(|known| known.collective != row.collective)
        {
            return wrong(format!(
                "choice `{}`: `{id}` is no algorithm of Kilter's for {}; see `kilter list algorithms`",
                choice.name, row.collective
            ));
        }
        if let Some(knob) = choice.knobs.iter().find(|knob| !row.knobs.contains_key(*knob)) {
            let known: Vec<&str> = row.knobs.keys().map(String::as_str).collect();
            return wrong(format!(
                "choice `{}` names the knob `{knob}`, which is not described; known: {}",
                choice.name,
                known.join(", ")
            ));
        }
    }
    let reversed = row.knobs.iter().find(|(_, knob)| knob.min >= knob.max);
    reversed.and_then(|(name, _)| wrong(format!("knob `{name}`: `min` must be below `max`")))
}

fn parameter(library: &Library, row: &Parameter) -> Option<String> {
    let of_row = |message: String| format!("{}: {message}", row.name);
    name_of_parameter(row).or_else(|| {
        screening(row)
            .or_else(|| tried_values(row))
            .or_else(|| range(row))
            .or_else(|| transport(library, row))
            .map(of_row)
    })
}

/// The companions of the values that are tried for overlap.
fn with_overlap(row: &Parameter) -> impl Iterator<Item = (&String, &String)> {
    row.overlap.iter().flat_map(|tried| &tried.together)
}

/// The values that are tried, for latency or for overlap.
fn tried(row: &Parameter) -> impl Iterator<Item = &Value> {
    row.r#try.iter().chain(row.overlap.iter().map(|tried| &tried.value))
}

fn name_of_parameter(row: &Parameter) -> Option<String> {
    let mut names = std::iter::once(&row.name)
        .chain(row.together.keys())
        .chain(with_overlap(row).map(|(name, _)| name));
    let name = names.find(|name| !is_name(name, row.environment))?;
    Some(format!(
        "parameter name `{name}` cannot be set; allowed: letters, digits and `_`"
    ))
}

/// A mistake in the keys that say how the parameter is screened.
fn screening(row: &Parameter) -> Option<String> {
    let message = if row.r#try.is_empty() && row.overlap.is_empty() {
        "`try` is empty; give the values of the screening, or remove the parameter"
    } else if row.screened_with.is_some() && row.collectives.is_empty() {
        "`screened_with` is for parameters that act on `collectives` of their own; name these, or remove the key"
    } else if row.nonblocking && row.collectives.is_empty() {
        "`nonblocking` is for parameters that act on `collectives` of their own; name these, or remove the key"
    } else {
        return None;
    };
    Some(message.to_owned())
}

fn tried_values(row: &Parameter) -> Option<String> {
    let values = tried(row)
        .map(Value::to_string)
        .chain(row.together.values().cloned())
        .chain(with_overlap(row).map(|(_, text)| text.clone()));
    if let Some(value) = values.into_iter().find(|value| value.chars().any(char::is_control)) {
        return Some(format!(
            "the value {value:?} holds a control character, which no file of settings can carry"
        ));
    }
    // The same value may be tried with different companions.
    let with = |tried: &ForOverlap| {
        let companions = tried.together.iter().map(|(name, text)| format!(" {name}={text}"));
        tried.value.to_string() + &companions.collect::<String>()
    };
    let all = row
        .r#try
        .iter()
        .map(Value::to_string)
        .chain(row.overlap.iter().map(with));
    if let Some(message) = twice("try", all) {
        return Some(message);
    }
    if tried(row).any(|value| value.to_string() == row.default) {
        return Some(format!(
            "`try` holds the default `{}`, which is always measured; remove it",
            row.default
        ));
    }
    if let Some(message) = row.by_connection.as_ref().and_then(ByConnection::problem) {
        return Some(message);
    }
    if let Some(mistake) = tried(row).find_map(|value| row.mistake(&value.to_string())) {
        return Some(format!("`try` holds a value that cannot be read: {mistake}"));
    }
    let is_tried = |named: &&String| tried(row).any(|value| value.to_string() == **named);
    let unknown = row.devices.keys().find(|named| !is_tried(named))?;
    Some(format!(
        "`devices` names the value `{unknown}`, which is not tried; remove it"
    ))
}

/// A mistake in the range of an ordered parameter, which must hold all values that are tried.
fn range(row: &Parameter) -> Option<String> {
    let range = row.ordered?;
    if range.min >= range.max {
        return Some("`min` must be below `max`".to_owned());
    }
    let inside = |value: &Value| matches!(value, Value::Number(number) if (range.min..=range.max).contains(number));
    let outside = row.r#try.iter().find(|value| !inside(value))?;
    Some(format!(
        "`try` holds {outside}; allowed: {} to {}, as `ordered` says",
        range.min, range.max
    ))
}

fn transport(library: &Library, row: &Parameter) -> Option<String> {
    let transports = &library.transports;
    let known: BTreeSet<&str> = transports
        .one_host
        .iter()
        .chain(&transports.several_hosts)
        .chain(transports.shared.keys())
        .map(String::as_str)
        .collect();
    let unknown = row
        .transport
        .as_deref()
        .filter(|transport| !known.contains(transport))?;
    let known: Vec<&str> = known.into_iter().collect();
    Some(format!(
        "transport `{unknown}` is never in use; known: {}",
        known.join(", ")
    ))
}

/// A value that is tried by itself and breaks a constraint that no setting beside it mends.
fn tried_and_broken(library: &Library) -> Option<String> {
    for row in &library.parameters {
        for value in &row.r#try {
            let own = std::iter::once((row.name.clone(), value.to_string()));
            let together = row.together.iter();
            let together = together.map(|(name, text)| (name.clone(), text.replace("{value}", &value.to_string())));
            let settings: Vec<(String, String)> = own.chain(together).collect();
            // A parameter that needs another one is tried once that is deployed.
            let waits = |name: &String| {
                library
                    .parameters
                    .iter()
                    .any(|row| row.name == *name && !row.r#try.is_empty())
            };
            let waits = library
                .constraints
                .iter()
                .any(|one| one.name == row.name && one.needs.as_ref().is_some_and(waits));
            if !waits
                && library.mended(&[], &settings).is_none()
                && let Some(broken) = library.broken(&settings)
            {
                return Some(format!("{}: `try` holds {value}, and {broken}", row.name));
            }
        }
    }
    None
}

/// True if it can be a name. Parameters of the library may have dots, slashes and hyphens as well.
fn is_name(name: &str, environment: bool) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let other = |c: char| c.is_ascii_alphanumeric() || c == '_' || (".-/".contains(c) && !environment);
    name.starts_with(first) && name.chars().all(other)
}

fn twice<T: Ord + std::fmt::Display>(what: &str, values: impl Iterator<Item = T>) -> Option<String> {
    let mut seen = BTreeSet::new();
    for value in values {
        if seen.contains(&value) {
            return Some(format!("{what} `{value}` stands there twice; remove one"));
        }
        seen.insert(value);
    }
    None
}
