//! Rows that are tried online beside those of the profile's rules, as they are named.

use kilter_protocol::row::Row;

/// The rows that the environment names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rows {
    /// These, each with values of its parameters behind `@` or without.
    Named(Vec<String>),
    /// Every row of the plugins.
    All,
}

impl Rows {
    /// Their texts; `further` are those of the profile, `rows` all there are.
    pub(crate) fn texts(&self, further: &[String], rows: &[&Row]) -> Vec<String> {
        match self {
            Rows::All => rows.iter().map(|row| row.id.clone()).collect(),
            Rows::Named(named) => further.iter().chain(named).cloned().collect(),
        }
    }
}

/// A row to try that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TriedError {
    /// No plugin has it.
    #[error(
        "KILTER_ONLINE_ROWS or `online` of the profile: no plugin has a row `{id}`; of its collective there are: {known}"
    )]
    Row {
        /// Its id.
        id: String,
        /// The ids of its collective.
        known: String,
    },
    /// It has fewer parameters.
    #[error(
        "KILTER_ONLINE_ROWS or `online` of the profile: `{text}` gives {given} values, and the row has {wanted} parameters: {names}"
    )]
    Number {
        text: String,
        given: usize,
        wanted: usize,
        names: String,
    },
    /// A value is out of range.
    #[error("KILTER_ONLINE_ROWS or `online` of the profile: `{text}`: `{name}` is {min} to {max}")]
    Value {
        text: String,
        name: String,
        min: u64,
        max: u64,
    },
}

/// The id and the values of the parameters of a text like `bcast.pipelined_chain@8192`. Parameters without a value have their defaults, so that a
/// profile stays valid when a row gets a further parameter.
pub(crate) fn parse(text: &str, rows: &[&Row]) -> Result<(String, Box<[u64]>), TriedError> {
    let (id, values) = text
        .split_once('@')
        .map_or((text, None), |(id, values)| (id, Some(values)));
    let Some(row) = rows.iter().find(|row| row.id == id) else {
        let collective = id.split('.').next().unwrap_or_default();
        let of = rows.iter().filter(|row| row.collective.name() == collective);
        let known: Vec<&str> = of.map(|row| row.id.as_str()).collect();
        let known = if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        };
        return Err(TriedError::Row {
            id: id.to_owned(),
            known,
        });
    };
    let given: Vec<&str> = values.map_or_else(Vec::new, |values| values.split('/').collect());
    if given.len() > row.parameters.len() {
        let names: Vec<&str> = row.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        return Err(TriedError::Number {
            text: text.to_owned(),
            given: given.len(),
            wanted: row.parameters.len(),
            names: if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            },
        });
    }
    let value = |(place, parameter): (usize, &kilter_protocol::row::Parameter)| {
        let Some(value) = given.get(place) else {
            return Ok(parameter.default);
        };
        let number = value.parse().ok();
        number
            .filter(|number| (parameter.min..=parameter.max).contains(number))
            .ok_or_else(|| TriedError::Value {
                text: text.to_owned(),
                name: parameter.name.clone(),
                min: parameter.min,
                max: parameter.max,
            })
    };
    let values: Result<Box<[u64]>, TriedError> = row.parameters.iter().enumerate().map(value).collect();
    Ok((id.to_owned(), values?))
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;
    use kilter_protocol::row::{Needs, Parameter};

    use super::*;

    fn row(id: &str, parameters: Vec<Parameter>) -> Row {
        Row {
            id: id.to_owned(),
            collective: Collective::Bcast,
            needs: Needs::default(),
            parameters,
            scratch: None,
        }
    }

    #[test]
    fn rows_are_named_with_values_or_without() {
        let segment = Parameter {
            name: "segment_bytes".to_owned(),
            min: 1,
            max: 100,
            default: 8,
        };
        let radix = Parameter {
            name: "radix".to_owned(),
            min: 2,
            max: 64,
            default: 4,
        };
        let plain = row("bcast.binomial", Vec::new());
        let (chain, tree) = (
            row("bcast.chain", vec![segment.clone()]),
            row("bcast.tree", vec![segment, radix]),
        );
        let rows = [&plain, &chain, &tree];
        let parsed = |text: &str| parse(text, &rows).map(|(id, values)| (id, values.to_vec()));
        assert_eq!(parsed("bcast.binomial"), Ok(("bcast.binomial".to_owned(), vec![])));
        assert_eq!(parsed("bcast.chain"), Ok(("bcast.chain".to_owned(), vec![8])));
        assert_eq!(parsed("bcast.chain@99"), Ok(("bcast.chain".to_owned(), vec![99])));
        assert_eq!(parsed("bcast.tree@99/2"), Ok(("bcast.tree".to_owned(), vec![99, 2])));
        // As it was named when it had one parameter.
        assert_eq!(parsed("bcast.tree@99"), Ok(("bcast.tree".to_owned(), vec![99, 4])));
        let refused = |text: &str| parsed(text).unwrap_err().to_string();
        assert!(refused("bcast.chian").contains("there are: bcast.binomial, bcast.chain, bcast.tree"));
        assert!(refused("scan.x").contains("there are: none"));
        assert!(refused("bcast.chain@0").contains("`segment_bytes` is 1 to 100"));
        assert!(refused("bcast.chain@x").contains("`bcast.chain@x`"));
        assert!(refused("bcast.chain@1/2").contains("gives 2 values, and the row has 1 parameters: segment_bytes"));
        assert!(refused("bcast.binomial@1").contains("has 0 parameters: none"));
    }

    #[test]
    fn all_is_every_row_and_names_join_those_of_the_profile() {
        let (one, two) = (row("bcast.a", Vec::new()), row("bcast.b", Vec::new()));
        let further = ["bcast.a".to_owned()];
        assert_eq!(Rows::All.texts(&further, &[&one, &two]), ["bcast.a", "bcast.b"]);
        let named = Rows::Named(vec!["bcast.b".to_owned()]);
        assert_eq!(named.texts(&further, &[]), ["bcast.a", "bcast.b"]);
    }
}
