//! Constraints on settings: a value that ends the job, one that needs another setting beside it, two that belong
//! together. Settings that break a constraint are neither tried nor deployed.

use serde::Deserialize;

use super::{Library, Parameter, Value};

/// A setting that is forbidden, or that needs another one. With neither `needs` nor `at_most`, its `values` must not be
/// set at all.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    /// Name of the constrained setting.
    pub name: String,
    /// Values that are constrained; all if empty.
    #[serde(default)]
    pub values: Vec<Value>,
    /// Name of a setting that must be made as well, to any value.
    #[serde(default)]
    pub needs: Option<String>,
    /// Its largest value.
    #[serde(default)]
    pub at_most: Option<AtMost>,
    /// Consequence of breaking it, such as `the job ends by a signal`.
    pub otherwise: String,
    /// Source of this knowledge.
    pub source: String,
}

/// A part of another setting's value.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtMost {
    /// The other setting.
    pub of: String,
    /// Default of that setting.
    pub default: u64,
    /// Number of equal parts of which it is one.
    #[serde(default = "whole")]
    pub parts: u64,
    /// Amount by which the largest value lies below that part.
    #[serde(default)]
    pub less: u64,
}

impl AtMost {
    /// Largest value if the other setting is `of`.
    fn largest(&self, of: u64) -> u64 {
        (of / self.parts).saturating_sub(self.less)
    }

    /// Least value of the other setting for `value`: a power of two, since libraries make memory from such sizes.
    fn least(&self, value: u64) -> Option<u64> {
        let least = value.checked_add(self.less)?.checked_mul(self.parts)?;
        least.checked_next_power_of_two()
    }
}

fn whole() -> u64 {
    1
}

/// A setting that must not be made so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}={value}`: {otherwise} ({source_of_it}); {allowed}")]
pub struct Broken {
    /// The setting.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Consequence of the breach.
    pub otherwise: String,
    /// Source of this knowledge.
    pub source_of_it: String,
    /// Allowed settings.
    pub allowed: String,
    /// The setting beside it that would mend it.
    pub mend: Option<(String, String)>,
}

/// Last value of a name in a list of settings, because later ones win.
fn last<'s>(settings: &'s [(String, String)], name: &str) -> Option<&'s str> {
    let found = settings.iter().rev().find(|(other, _)| other == name)?;
    Some(&found.1)
}

impl Constraint {
    /// Tells if, and how, these settings break the constraint.
    fn broken(&self, settings: &[(String, String)]) -> Option<Broken> {
        let value = last(settings, &self.name)?;
        if !self.values.is_empty() && !self.values.iter().any(|one| one.to_string() == value) {
            return None;
        }
        let broken = |allowed: String, mend: Option<(String, String)>| {
            Some(Broken {
                name: self.name.clone(),
                value: value.to_owned(),
                otherwise: self.otherwise.clone(),
                source_of_it: self.source.clone(),
                allowed,
                mend,
            })
        };
        if let Some(needed) = &self.needs {
            return match last(settings, needed) {
                Some(_) => None,
                None => broken(format!("set `{needed}` as well, or leave it out"), None),
            };
        }
        let Some(limit) = &self.at_most else {
            return broken("leave it out".to_owned(), None);
        };
        // A value that is no number cannot be judged here.
        let number: u64 = value.parse().ok()?;
        let of = last(settings, &limit.of).map_or(Some(limit.default), |text| text.parse().ok())?;
        let largest = limit.largest(of);
        if number <= largest {
            return None;
        }
        let allowed = format!("allowed with `{}={of}`: up to {largest}", limit.of);
        match limit.least(number) {
            Some(least) => broken(
                format!("{allowed}; set `{}={least}` as well", limit.of),
                Some((limit.of.clone(), least.to_string())),
            ),
            None => broken(allowed, None),
        }
    }

    /// The mistake in how it is written, and what is allowed; `None` if there is none.
    pub(super) fn problem(&self) -> Option<String> {
        let wrong = |message: &str| Some(format!("constraint on `{}`: {message}", self.name));
        if self.needs.is_some() && self.at_most.is_some() {
            return wrong("`needs` and `at_most` are two constraints; write a table for each");
        }
        if self.name.is_empty() || self.otherwise.trim().is_empty() || self.source.trim().is_empty() {
            return wrong("`name`, `otherwise` and `source` must not be empty");
        }
        if self.at_most.as_ref().is_some_and(|limit| limit.parts == 0) {
            return wrong("`at_most.parts` is 0; allowed: from 1");
        }
        let other = self.needs.as_ref().or(self.at_most.as_ref().map(|limit| &limit.of));
        if other == Some(&self.name) {
            return wrong("it needs itself; name another setting");
        }
        None
    }
}

impl Library {
    /// First constraint that these settings break, or the first of them that is not written in the language of its values. A name that stands there twice has its last value.
    #[must_use]
    pub fn broken(&self, settings: &[(String, String)]) -> Option<Broken> {
        let broken = |constraint: &Constraint| constraint.broken(settings);
        self.constraints
            .iter()
            .find_map(broken)
            .or_else(|| self.unreadable(settings))
    }

    /// First of these settings that is not written in its parameter's language. A name that stands there twice has its last value.
    #[must_use]
    pub fn unreadable(&self, settings: &[(String, String)]) -> Option<Broken> {
        let broken = |row: &Parameter| {
            let value = last(settings, &row.name).filter(|value| !value.is_empty())?;
            Some(Broken {
                name: row.name.clone(),
                value: value.to_owned(),
                otherwise: row.mistake(value)?.to_string(),
                source_of_it: "the language of its values".to_owned(),
                allowed: "write it so, or leave it out".to_owned(),
                mend: None,
            })
        };
        self.parameters.iter().find_map(broken)
    }

    /// Settings to be made beside `settings`, on top of `in_force`, so that no constraint is broken. `None` if there
    /// are none, or if they would change `settings` themselves.
    #[must_use]
    pub fn mended(
        &self,
        in_force: &[(String, String)],
        settings: &[(String, String)],
    ) -> Option<Vec<(String, String)>> {
        let mut beside: Vec<(String, String)> = Vec::new();
        loop {
            let all = [in_force, settings, &beside].concat();
            let Some(broken) = self.broken(&all) else {
                return Some(beside);
            };
            let (name, value) = broken.mend?;
            let is_said = |list: &[(String, String)]| list.iter().any(|(other, _)| *other == name);
            if is_said(settings) || is_said(&beside) {
                return None;
            }
            beside.push((name, value));
        }
    }
}
