//! Rules as data: TOML files of `configs/advice`, a file per printed form, and a site's own.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use crate::condition::{Comparison, Expression};
use crate::formats::{self, FORMATS};
use crate::quantity::{Over, Quantity, Written};
use crate::template::{Part, Template};

/// The directory `configs/advice` at the time when the command was built.
static EMBEDDED: include_dir::Dir<'_> = include_dir::include_dir!("$CARGO_MANIFEST_DIR/../../configs/advice");

/// Quantities that a rule may have.
const MOST_QUANTITIES: usize = 32;

/// A rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Such as `MPT_BUFS_PER_PROC`.
    pub id: String,
    /// Name of the pattern that the counters show.
    pub title: String,
    /// Ids of the forms whose counters it reads.
    pub formats: Vec<String>,
    /// Place at which the change is made.
    pub place: String,
    /// Reason.
    pub why: String,
    /// Source of the advice.
    pub source: String,
    pub(crate) quantities: BTreeMap<String, Quantity>,
    pub(crate) when: Vec<Comparison>,
    pub(crate) seconds: Option<Expression>,
    pub(crate) seen: Template,
    pub(crate) change: Template,
    pub(crate) step: Template,
}

impl Rule {
    /// The command or line with which the advice ends, as the file has it: quantities stand in braces.
    #[must_use]
    pub fn step(&self) -> String {
        self.step.to_string()
    }
}

/// A file of rules that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {message}")]
pub struct RuleError {
    /// The file.
    pub file: String,
    /// The mistake, with its line, and what is allowed.
    pub message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rules: Vec<Raw>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    id: Spanned<String>,
    title: String,
    formats: Vec<Spanned<String>>,
    quantities: BTreeMap<String, Spanned<Written>>,
    when: Vec<Spanned<String>>,
    seconds: Option<Spanned<String>>,
    seen: Spanned<String>,
    change: Spanned<String>,
    place: String,
    why: String,
    source: String,
    step: Spanned<String>,
}

/// A mistake and its place in the text.
type Mistake = (Range<usize>, String);

/// Reads the rules of a file's text. The error names `file`, the line, the rule, the key and what is allowed.
pub fn parse(text: &str, file: &str) -> Result<Vec<Rule>, RuleError> {
    let wrong = |message: String| RuleError {
        file: file.to_owned(),
        message,
    };
    let raw: File = toml::from_str(text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
    let mut rules = Vec::with_capacity(raw.rules.len());
    for raw in raw.rules {
        let id = raw.id.as_ref().clone();
        let rule = read(raw).map_err(|(at, message)| {
            let line = text.bytes().take(at.start).filter(|byte| *byte == b'\n').count() + 1;
            wrong(format!("line {line}: rule `{id}`: {message}"))
        })?;
        rules.push(rule);
    }
    Ok(rules)
}

/// The rules that come with Kilter, in the order of their files.
pub fn load_embedded() -> Result<Vec<Rule>, RuleError> {
    let mut files: Vec<(String, &str)> = EMBEDDED
        .files()
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "toml"))
        .filter_map(|file| {
            Some((
                format!("configs/advice/{}", file.path().display()),
                file.contents_utf8()?,
            ))
        })
        .collect();
    files.sort();
    let mut rules = Vec::new();
    for (file, text) in files {
        rules.extend(parse(text, &file)?);
    }
    Ok(rules)
}

/// Error for an id that two rules have; `file` is the one that brought the second.
pub fn check_ids(rules: &[Rule], file: &str) -> Result<(), RuleError> {
    let mut ids = BTreeSet::new();
    match rules.iter().find(|rule| !ids.insert(&rule.id)) {
        None => Ok(()),
        Some(twice) => Err(RuleError {
            file: file.to_owned(),
            message: format!("the id `{}` is another rule's; give this one another", twice.id),
        }),
    }
}

fn read(raw: Raw) -> Result<Rule, Mistake> {
    let id = raw.id.as_ref();
    if id.is_empty() || !id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        let message = "id: it is no name; allowed: letters, digits, `_` and `-`".to_owned();
        return Err((raw.id.span(), message));
    }
    if raw.formats.is_empty() {
        return Err((
            raw.id.span(),
            format!("formats: none is named; allowed: {}", known_formats()),
        ));
    }
    for format in &raw.formats {
        if formats::find(format.as_ref()).is_none() {
            let message = format!(
                "formats: `{}` is not known; allowed: {}",
                format.as_ref(),
                known_formats()
            );
            return Err((format.span(), message));
        }
    }
    if raw.when.is_empty() {
        return Err((
            raw.id.span(),
            "when: it has no comparison, such as `retries > 0`".to_owned(),
        ));
    }
    let quantities = quantities(raw.quantities, &raw.id.span())?;
    let parsed = |key: &str, text: &Spanned<String>| -> Result<Template, Mistake> {
        let wrong = |message: String| (text.span(), format!("{key}: {message}"));
        let template = Template::parse(text.as_ref()).map_err(wrong)?;
        for (name, part) in template.fields() {
            named(&quantities, name).map_err(wrong)?;
            check_part(&quantities, name, part).map_err(wrong)?;
        }
        Ok(template)
    };
    let when = raw
        .when
        .iter()
        .map(|text| {
            let wrong = |message: String| (text.span(), format!("when: {message}"));
            let comparison = Comparison::parse(text.as_ref()).map_err(wrong)?;
            let mut names = Vec::new();
            comparison.names(&mut names);
            names
                .iter()
                .try_for_each(|name| named(&quantities, name))
                .map_err(wrong)?;
            Ok::<_, Mistake>(comparison)
        })
        .collect::<Result<Vec<_>, Mistake>>()?;
    let seconds = raw
        .seconds
        .as_ref()
        .map(|text| {
            let wrong = |message: String| (text.span(), format!("seconds: {message}"));
            let expression = Expression::parse(text.as_ref()).map_err(wrong)?;
            let mut names = Vec::new();
            expression.names(&mut names);
            names
                .iter()
                .try_for_each(|name| named(&quantities, name))
                .map_err(wrong)?;
            Ok::<_, Mistake>(expression)
        })
        .transpose()?;
    Ok(Rule {
        seen: parsed("seen", &raw.seen)?,
        change: parsed("change", &raw.change)?,
        step: parsed("step", &raw.step)?,
        id: raw.id.into_inner(),
        title: raw.title,
        formats: raw.formats.into_iter().map(Spanned::into_inner).collect(),
        place: raw.place,
        why: raw.why,
        source: raw.source,
        quantities,
        when,
        seconds,
    })
}

/// The quantities of a rule; derived ones name only those of counters.
fn quantities(
    written: BTreeMap<String, Spanned<Written>>,
    rule: &Range<usize>,
) -> Result<BTreeMap<String, Quantity>, Mistake> {
    if written.len() > MOST_QUANTITIES {
        let message = format!("quantities: it has {}; allowed: {MOST_QUANTITIES}", written.len());
        return Err((rule.clone(), message));
    }
    let mut quantities = BTreeMap::new();
    let mut places = BTreeMap::new();
    for (name, written) in written {
        let at = written.span();
        let wrong = |message: String| (at.clone(), format!("quantities: {name}: {message}"));
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !begins || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(wrong(
                "it is no name; allowed: a letter, then letters, digits and `_`".to_owned(),
            ));
        }
        let quantity = written.into_inner().read().map_err(wrong)?;
        if let Quantity::Counters(_, names) = &quantity {
            for counter in names {
                let stars = counter.matches('*').count();
                if stars > 2 {
                    return Err(wrong(format!("`{counter}` has {stars} `*`; allowed: 2")));
                }
            }
        }
        places.insert(name.clone(), at);
        quantities.insert(name, quantity);
    }
    for (name, quantity) in &quantities {
        let Quantity::Derived(expression, _) = quantity else {
            continue;
        };
        let mut names = Vec::new();
        expression.names(&mut names);
        for other in names {
            if !matches!(quantities.get(other), Some(Quantity::Counters(..))) {
                let at = places.get(name).cloned().unwrap_or_else(|| rule.clone());
                let message = format!("quantities: {name}: `{other}` is no quantity of counters of this rule");
                return Err((at, message));
            }
        }
    }
    Ok(quantities)
}

/// Error for a name that is no quantity.
fn named(quantities: &BTreeMap<String, Quantity>, name: &str) -> Result<(), String> {
    if quantities.contains_key(name) {
        return Ok(());
    }
    let known: Vec<&str> = quantities.keys().map(String::as_str).collect();
    Err(format!(
        "`{name}` is no quantity of the rule; allowed: {}",
        known.join(", ")
    ))
}

/// Error for a part that a quantity does not have.
fn check_part(quantities: &BTreeMap<String, Quantity>, name: &str, part: Part) -> Result<(), String> {
    let over = match quantities.get(name) {
        Some(Quantity::Counters(over, _)) => Some(*over),
        _ => None,
    };
    match (part, over) {
        (Part::Value, _) | (Part::At, Some(Over::Max | Over::Min)) | (Part::Name | Part::Call, Some(Over::Largest)) => {
            Ok(())
        }
        (Part::At, _) => Err(format!("`{name}.at` is a process; allowed for max and min")),
        (Part::Name | Part::Call, _) => Err(format!("`{name}` has no name; allowed for largest")),
    }
}

fn known_formats() -> String {
    let ids: Vec<&str> = FORMATS.iter().map(|format| format.id).collect();
    ids.join(", ")
}

#[cfg(test)]
mod tests;
