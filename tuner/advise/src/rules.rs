//! Rules as data: TOML files of `configs/advice`, a file per printed form, and a site's own.

mod mistake;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use crate::condition::{Comparison, Expression};
use crate::formats;
use crate::quantity::{Over, Quantity, Written};
use crate::template::{Part, Template};
use mistake::{At, Mistake, Wrong, WrongQuantity, WrongText};

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
#[error("{file}: {mistake}")]
pub struct RuleError {
    /// The file.
    pub file: String,
    /// The mistake, with its line, and what is allowed.
    mistake: Mistake,
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

/// Reads the rules of a file's text. The error names `file`, the line, the rule, the key and what is allowed.
pub fn parse(text: &str, file: &str) -> Result<Vec<Rule>, RuleError> {
    let wrong = |mistake| RuleError {
        file: file.to_owned(),
        mistake,
    };
    let unread = |error: toml::de::Error| wrong(Mistake::Unread(error.to_string().trim_end().to_owned()));
    let raw: File = toml::from_str(text).map_err(unread)?;
    let mut rules = Vec::with_capacity(raw.rules.len());
    for raw in raw.rules {
        let id = raw.id.as_ref().clone();
        let rule = read(raw).map_err(|At { at, what }| {
            let line = text.bytes().take(at.start).filter(|byte| *byte == b'\n').count() + 1;
            let what = Box::new(what);
            wrong(Mistake::Rule { line, id, what })
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
            mistake: Mistake::Twice(twice.id.clone()),
        }),
    }
}

fn read(raw: Raw) -> Result<Rule, At> {
    let at = |at: Range<usize>, what| Err(At { at, what });
    let id = raw.id.as_ref();
    if id.is_empty() || !id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        return at(raw.id.span(), Wrong::Id);
    }
    if raw.formats.is_empty() {
        return at(raw.id.span(), Wrong::NoFormat);
    }
    for format in &raw.formats {
        if formats::find(format.as_ref()).is_none() {
            return at(format.span(), Wrong::UnknownFormat(format.as_ref().clone()));
        }
    }
    if raw.when.is_empty() {
        return at(raw.id.span(), Wrong::NoComparison);
    }
    let quantities = quantities(raw.quantities, &raw.id.span())?;
    let sentence = |key, text: &Spanned<String>| in_text(key, text, |text| sentence(text, &quantities));
    let when = raw.when.iter();
    let when = when.map(|text| in_text("when", text, |text| comparison(text, &quantities)));
    let when = when.collect::<Result<Vec<_>, At>>()?;
    let seconds = raw.seconds.as_ref();
    let seconds = seconds.map(|text| in_text("seconds", text, |text| expression(text, &quantities)));
    let seconds = seconds.transpose()?;
    Ok(Rule {
        seen: sentence("seen", &raw.seen)?,
        change: sentence("change", &raw.change)?,
        step: sentence("step", &raw.step)?,
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

/// Reads the text of a key.
fn in_text<T>(
    key: &'static str,
    text: &Spanned<String>,
    read: impl FnOnce(&str) -> Result<T, WrongText>,
) -> Result<T, At> {
    read(text.as_ref()).map_err(|what| At {
        at: text.span(),
        what: Wrong::Text { key, what },
    })
}

/// A sentence that names quantities of the rule.
fn sentence(text: &str, quantities: &BTreeMap<String, Quantity>) -> Result<Template, WrongText> {
    let template = Template::parse(text)?;
    for (name, part) in template.fields() {
        named(quantities, name)?;
        check_part(quantities, name, part)?;
    }
    Ok(template)
}

/// A comparison of quantities of the rule.
fn comparison(text: &str, quantities: &BTreeMap<String, Quantity>) -> Result<Comparison, WrongText> {
    let comparison = Comparison::parse(text)?;
    let mut names = Vec::new();
    comparison.names(&mut names);
    names.iter().try_for_each(|name| named(quantities, name))?;
    Ok(comparison)
}

/// An expression over quantities of the rule.
fn expression(text: &str, quantities: &BTreeMap<String, Quantity>) -> Result<Expression, WrongText> {
    let expression = Expression::parse(text)?;
    let mut names = Vec::new();
    expression.names(&mut names);
    names.iter().try_for_each(|name| named(quantities, name))?;
    Ok(expression)
}

/// The quantities of a rule; derived ones name only those of counters.
fn quantities(
    written: BTreeMap<String, Spanned<Written>>,
    rule: &Range<usize>,
) -> Result<BTreeMap<String, Quantity>, At> {
    if written.len() > MOST_QUANTITIES {
        let what = Wrong::ManyQuantities {
            given: written.len(),
            most: MOST_QUANTITIES,
        };
        return Err(At { at: rule.clone(), what });
    }
    let mut quantities = BTreeMap::new();
    let mut places = BTreeMap::new();
    let wrong = |at: Range<usize>, name: &str, what| At {
        at,
        what: Wrong::Quantity {
            name: name.to_owned(),
            what,
        },
    };
    for (name, written) in written {
        let at = written.span();
        let quantity = quantity(&name, written.into_inner()).map_err(|what| wrong(at.clone(), &name, what))?;
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
                return Err(wrong(at, name, WrongQuantity::NotOfCounters(other.to_owned())));
            }
        }
    }
    Ok(quantities)
}

/// A quantity by itself.
fn quantity(name: &str, written: Written) -> Result<Quantity, WrongQuantity> {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !begins || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(WrongQuantity::Name);
    }
    let quantity = written.read()?;
    if let Quantity::Counters(_, names) = &quantity {
        for counter in names {
            let stars = counter.matches('*').count();
            if stars > 2 {
                let counter = counter.clone();
                return Err(WrongQuantity::Stars { counter, stars });
            }
        }
    }
    Ok(quantity)
}

/// Error for a name that is no quantity.
fn named(quantities: &BTreeMap<String, Quantity>, name: &str) -> Result<(), WrongText> {
    if quantities.contains_key(name) {
        return Ok(());
    }
    Err(WrongText::Unknown {
        name: name.to_owned(),
        known: quantities.keys().cloned().collect(),
    })
}

/// Error for a part that a quantity does not have.
fn check_part(quantities: &BTreeMap<String, Quantity>, name: &str, part: Part) -> Result<(), WrongText> {
    let over = match quantities.get(name) {
        Some(Quantity::Counters(over, _)) => Some(*over),
        _ => None,
    };
    match (part, over) {
        (Part::Value, _) | (Part::At, Some(Over::Max | Over::Min)) | (Part::Name | Part::Call, Some(Over::Largest)) => {
            Ok(())
        }
        (Part::At, _) => Err(WrongText::NoProcess(name.to_owned())),
        (Part::Name | Part::Call, _) => Err(WrongText::NoName(name.to_owned())),
    }
}

#[cfg(test)]
mod tests;
