//! Profiles of version 1, whose rules hold for one number of ranks, however these lie. They are read as profiles of today that mean the same.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::communicators::Communicators;
use crate::error::Problem;
use crate::{Profile, Rule, unique};

/// Version of the format.
pub(crate) const VERSION: u32 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile1 {
    #[serde(rename = "version")]
    _version: u32,
    library: String,
    plugins: Vec<String>,
    rules: Vec<Rule1>,
    #[serde(default)]
    online: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule1 {
    collective: String,
    ranks: usize,
    min_bytes: u64,
    max_bytes: u64,
    implementation: String,
    #[serde(default, deserialize_with = "unique::map")]
    parameters: BTreeMap<String, u64>,
}

/// Reads one, as a profile of the version of today. An error if it is no JSON of this form, or a rule is for a number of ranks that no
/// communicator has.
pub(crate) fn read(text: &str) -> Result<Profile, Problem> {
    let read: Profile1 = serde_json::from_str(text).map_err(Problem::Json)?;
    let rules = read.rules.into_iter().enumerate();
    let rules: Result<Vec<Rule>, Problem> = rules.map(|(index, rule)| of_today(index, rule)).collect();
    Ok(Profile {
        version: crate::VERSION,
        library: read.library,
        plugins: read.plugins,
        order: None,
        rules: rules?,
        online: read.online,
    })
}

fn of_today(index: usize, rule: Rule1) -> Result<Rule, Problem> {
    if !(1..=i32::MAX as usize).contains(&rule.ranks) {
        return Err(Problem::Ranks {
            rule: index,
            key: "ranks".to_owned(),
            number: rule.ranks,
        });
    }
    Ok(Rule {
        collective: rule.collective,
        communicators: Communicators::of_ranks(rule.ranks),
        min_bytes: rule.min_bytes,
        max_bytes: rule.max_bytes,
        implementation: rule.implementation,
        parameters: rule.parameters,
    })
}
