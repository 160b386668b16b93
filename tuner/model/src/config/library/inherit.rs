//! A description that names another one it is like, and says what differs. Releases of one library have most parameters in common.
//!
//! * `like = "openmpi-4.1"`: the other description.
//! * `rename = { vader = "sm" }`: what is called otherwise, wherever it is part of a name or value.
//! * `without = ["NAME"]`: parameters that are gone.
//!
//! Everything else that the description has replaces what the other has under the same key; of `[[algorithms]]` that of the same
//! collective, of `[[parameters]]` that of the same name. What is new comes last. How rows were verified is not taken over.

use toml::{Table, Value};

/// Lists of tables, and the key that tells their entries apart.
const LISTS: [(&str, &str); 2] = [("algorithms", "collective"), ("parameters", "name")];

/// Mistake in what a description says of the one that it is like.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum InheritError {
    /// There is no such description.
    #[error("it is like `{id}`, which is none of {}", known.join(", "))]
    Unknown { id: String, known: Vec<String> },
    /// The other one is like it in turn.
    #[error("`{0}` is like itself, by way of others")]
    Circle(String),
    /// The value of `rename` has another form.
    #[error("`rename` is a table of words, such as {{ vader = \"sm\" }}")]
    Rename,
    /// The value of `without` has another form.
    #[error("`without` is a list of parameters' names")]
    Without,
    /// A parameter cannot be gone, as it was never there.
    #[error("`without` names `{0}`, which is no parameter of the description it is like")]
    NeverThere(String),
}

/// The id of the description that this one is like.
pub(super) fn like(own: &Table) -> Option<&str> {
    own.get("like")?.as_str()
}

/// Fills `own` with everything from `base` that it does not say itself. An error names a mistake in `rename` or
/// `without`.
pub(super) fn filled(mut own: Table, base: Table) -> Result<Table, InheritError> {
    own.remove("like");
    let renames = names_of_rename(own.remove("rename"))?;
    let without = names_of_without(own.remove("without"))?;
    let mut all = match renamed(Value::Table(base), &renames) {
        Value::Table(table) => table,
        _ => Table::new(),
    };
    forget_verified(&mut all);
    if let Some(Value::Array(parameters)) = all.get_mut("parameters") {
        for name in &without {
            let before = parameters.len();
            parameters.retain(|entry| entry.get("name").and_then(Value::as_str) != Some(name));
            if parameters.len() == before {
                return Err(InheritError::NeverThere(name.clone()));
            }
        }
    }
    for (key, value) in own {
        let list = LISTS.iter().find(|(list, _)| *list == key);
        match (list, value, all.get_mut(&key)) {
            (Some((_, name)), Value::Array(entries), Some(Value::Array(present))) => {
                for entry in entries {
                    let same = |other: &&mut Value| other.get(name).is_some() && other.get(name) == entry.get(name);
                    match present.iter_mut().find(same) {
                        Some(other) => *other = entry,
                        None => present.push(entry),
                    }
                }
            }
            (_, value, _) => {
                all.insert(key, value);
            }
        }
    }
    Ok(all)
}

/// Removes the words `verified`: the rows were verified with the other library.
fn forget_verified(base: &mut Table) {
    base.remove("verified");
    for (list, _) in LISTS {
        let rows = base.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for row in rows.filter_map(Value::as_table_mut) {
            row.remove("verified");
            let choices = row
                .get_mut("choices")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten();
            for choice in choices.filter_map(Value::as_table_mut) {
                choice.remove("verified");
            }
        }
    }
}

fn names_of_rename(value: Option<Value>) -> Result<Vec<(String, String)>, InheritError> {
    let wrong = || InheritError::Rename;
    let Some(value) = value else { return Ok(Vec::new()) };
    let table = value.as_table().ok_or_else(wrong)?;
    table
        .iter()
        .map(|(from, to)| Ok((from.clone(), to.as_str().ok_or_else(wrong)?.to_owned())))
        .collect()
}

fn names_of_without(value: Option<Value>) -> Result<Vec<String>, InheritError> {
    let wrong = || InheritError::Without;
    let Some(value) = value else { return Ok(Vec::new()) };
    let list = value.as_array().ok_or_else(wrong)?;
    list.iter()
        .map(|name| Ok(name.as_str().ok_or_else(wrong)?.to_owned()))
        .collect()
}

/// A value with all names in it, keys included, changed.
fn renamed(value: Value, renames: &[(String, String)]) -> Value {
    let text = |text: String| {
        renames
            .iter()
            .fold(text, |text, (from, to)| text.replace(from.as_str(), to))
    };
    match value {
        Value::String(word) => Value::String(text(word)),
        Value::Array(entries) => Value::Array(entries.into_iter().map(|entry| renamed(entry, renames)).collect()),
        Value::Table(table) => Value::Table(
            table
                .into_iter()
                .map(|(key, entry)| (text(key), renamed(entry, renames)))
                .collect(),
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        text.parse().unwrap()
    }

    const BASE: &str = r#"
        id = "old-1"
        builds = "old"
        [transports]
        one_host = ["vader"]
        [verified]
        rows = "run"
        [[parameters]]
        name = "btl_vader_eager_limit"
        default = "4096"
        verified = "printed"
        [[parameters]]
        name = "gone"
        default = "1"
        [[algorithms]]
        collective = "bcast"
        parameter = "bcast"
        [[algorithms]]
        collective = "scan"
        parameter = "scan"
        choices = [{ value = 1, verified = "run" }]
    "#;

    #[test]
    fn what_differs_replaces_what_is_there() {
        let own = table(
            r#"
            id = "new-2"
            like = "old-1"
            rename = { vader = "sm" }
            without = ["gone"]
            [[algorithms]]
            collective = "scan"
            parameter = "other"
            [[parameters]]
            name = "added"
            default = "2"
        "#,
        );
        let expected = table(
            r#"
            id = "new-2"
            builds = "old"
            [transports]
            one_host = ["sm"]
            [[parameters]]
            name = "btl_sm_eager_limit"
            default = "4096"
            [[parameters]]
            name = "added"
            default = "2"
            [[algorithms]]
            collective = "bcast"
            parameter = "bcast"
            [[algorithms]]
            collective = "scan"
            parameter = "other"
        "#,
        );
        assert_eq!(like(&own), Some("old-1"));
        assert_eq!(filled(own, table(BASE)).unwrap(), expected);
    }

    #[test]
    fn what_is_not_there_cannot_be_without() {
        let own = table("id = \"new-2\"\nwithout = [\"never\"]");
        assert_eq!(
            filled(own, table(BASE)),
            Err(InheritError::NeverThere("never".to_owned()))
        );
        for (wrong, error) in [
            ("rename = 1", InheritError::Rename),
            ("rename = { a = 1 }", InheritError::Rename),
            ("without = \"a\"", InheritError::Without),
            ("without = [1]", InheritError::Without),
        ] {
            assert_eq!(filled(table(wrong), table(BASE)), Err(error), "{wrong}");
        }
    }
}
