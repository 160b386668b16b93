//! Guidelines as data: one TOML file each.

use std::collections::BTreeSet;
use std::path::Path;

use kilter_algorithms::{Collective, registry};
use kilter_protocol::expression::{self, Operation};
use kilter_protocol::task::Task;
use serde::Deserialize;
use toml::Spanned;

use super::{At, ConfigError, Embedded, all, parsed, read};
use crate::place::Place;

mod mistake;
mod page;

use mistake::{Mistake, NoPattern};
pub(super) use page::wrapped;
pub use page::{explain, list};

/// Kind of ordering that a guideline states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A(n) <= A(n + k).
    Monotony,
    /// A(n) <= k A(n/k).
    Split,
    /// A(n) <= a composition of other functionalities.
    Pattern,
}

impl Kind {
    /// The word in files and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Monotony => "monotony",
            Kind::Split => "split",
            Kind::Pattern => "pattern",
        }
    }

    /// True if a cell of this kind, given by its word, is found again by its function and volume alone: each
    /// verification chooses its bound anew.
    #[must_use]
    pub fn is_found_by_function(word: &str) -> bool {
        [Kind::Monotony, Kind::Split].iter().any(|kind| kind.name() == word)
    }
}

/// The meta-rules of Traeff et al. 2010, section III.
const FAMILIES: [&str; 6] = ["I", "II", "III", "IV", "V", "VI"];

/// A guideline.
#[derive(Debug, Clone, PartialEq)]
pub struct Guideline {
    /// Such as `GL8`.
    pub id: String,
    /// Name of the pattern that a violation shows, such as `ReduceSlowerThanAllreduce`.
    pub name: String,
    /// The same in words, such as `Reduce slower than Allreduce`.
    pub title: String,
    /// Kind of ordering that it states.
    pub kind: Kind,
    /// The meta-rule it follows from, `I` to `VI`.
    pub family: String,
    /// Both sides, for a pattern.
    pub expression: Option<expression::Guideline>,
    /// Functions for which it is stated: those that stand for `A`.
    pub functions: Vec<Collective>,
    /// Values of `k`, one cell each; empty if no `k` occurs.
    pub k: Vec<u64>,
    /// Smallest number of ranks for which it says something.
    pub min_ranks: usize,
    /// True if it matters only for ranks on several nodes.
    pub several_nodes: bool,
    /// Version of the MPI standard that has its calls, such as `4.0`; empty if any has.
    pub mpi: String,
    /// Paper and number there.
    pub source: String,
    /// Statement.
    pub what: String,
    /// Reason why it should hold.
    pub why: String,
    /// Way in which the right side does the left side's work.
    pub mockup: String,
    /// True if the drop-in can run the right side in place of the left: `kilter_algorithms::mockup` has a row of it.
    pub remedy: bool,
    /// Needs of the right side beyond the left side's buffers; empty if a site's file does not say.
    pub needs: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    id: Spanned<String>,
    name: String,
    title: Option<String>,
    kind: Spanned<Kind>,
    family: Spanned<String>,
    guideline: Option<Spanned<String>>,
    #[serde(default)]
    functions: Vec<Spanned<String>>,
    #[serde(default)]
    k: Vec<Spanned<u64>>,
    #[serde(default = "one")]
    min_ranks: usize,
    #[serde(default)]
    several_nodes: bool,
    #[serde(default)]
    mpi: String,
    source: String,
    what: String,
    why: String,
    mockup: String,
    #[serde(default)]
    remedy: bool,
    #[serde(default)]
    needs: String,
}

fn one() -> usize {
    1
}

/// Words of a name: `Sender does not overlap` of `SenderDoesNotOverlap`.
#[must_use]
pub fn words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 8);
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
            words.extend(letter.to_lowercase());
        } else {
            words.push(letter);
        }
    }
    words
}

/// Functions of these names, each once.
fn functions(names: &[Spanned<String>]) -> Result<Vec<Collective>, At<Mistake>> {
    let mut functions = Vec::with_capacity(names.len());
    for name in names {
        let unknown = |_| At::value(name, Mistake::UnknownFunction(name.as_ref().clone()));
        let function = name.as_ref().parse().map_err(unknown)?;
        if functions.contains(&function) {
            return Err(At::value(name, Mistake::Twice(function)));
        }
        functions.push(function);
    }
    Ok(functions)
}

impl Guideline {
    /// Reads a file's text. The error names `file`, the line and what is allowed.
    pub fn parse(text: &str, file: &str) -> Result<Guideline, ConfigError> {
        let unread = |error: toml::de::Error| ConfigError::of(file, error.to_string().trim_end());
        let raw: Raw = toml::from_str(text).map_err(unread)?;
        Guideline::of(raw).map_err(|mistake| ConfigError::at(file, text, mistake))
    }

    fn of(raw: Raw) -> Result<Guideline, At<Mistake>> {
        let family = raw.family.as_ref();
        if !FAMILIES.contains(&family.as_str()) {
            return Err(At::value(&raw.family, Mistake::Family(family.clone())));
        }
        let id = raw.id.as_ref();
        let is_word =
            |id: &str| !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        // An option names ids and families alike, so an id that is a family's would mean two things.
        if !is_word(id) || FAMILIES.contains(&id.as_str()) {
            return Err(At::value(&raw.id, Mistake::Id(id.clone())));
        }
        let functions = functions(&raw.functions)?;
        let kind = raw.kind.as_ref();
        let expression = match (&raw.guideline, kind) {
            (Some(text), Kind::Pattern) => {
                let k: Vec<u64> = raw.k.iter().map(|k| *k.as_ref()).collect();
                let parsed = pattern(text.as_ref(), &functions, &k);
                Some(parsed.map_err(|what| At::value(text, Mistake::Pattern(what)))?)
            }
            (None, Kind::Pattern) => return Err(At::value(&raw.kind, Mistake::NoStatement)),
            (Some(text), _) => return Err(At::value(text, Mistake::Statement(*kind))),
            (None, _) if functions.is_empty() => return Err(At::value(&raw.kind, Mistake::NoFunctions(*kind))),
            (None, _) => {
                if let Some((i, other)) = functions.iter().enumerate().find(|(_, f)| !f.has_data()) {
                    let (kind, function) = (*kind, *other);
                    return Err(At::value(&raw.functions[i], Mistake::NoVolume { kind, function }));
                }
                None
            }
        };
        Ok(Guideline {
            id: raw.id.into_inner(),
            title: raw.title.unwrap_or_else(|| words(&raw.name)),
            name: raw.name,
            kind: raw.kind.into_inner(),
            family: raw.family.into_inner(),
            expression,
            functions,
            k: raw.k.into_iter().map(Spanned::into_inner).collect(),
            min_ranks: raw.min_ranks,
            several_nodes: raw.several_nodes,
            mpi: raw.mpi,
            source: raw.source,
            what: raw.what,
            why: raw.why,
            mockup: raw.mockup,
            remedy: raw.remedy,
            needs: raw.needs,
        })
    }

    /// The pattern for each of its functions and each value of `k`; empty for monotony and split-robustness.
    #[must_use]
    pub fn filled(&self) -> Vec<expression::Guideline> {
        self.expression
            .iter()
            .flat_map(|expression| filled(expression, &self.functions, &self.k))
            .collect()
    }

    /// Reason why the guideline says nothing about a job at this place; `None` if it does.
    #[must_use]
    pub fn unmet(&self, place: Place) -> Option<String> {
        if place.ranks < self.min_ranks {
            return Some(format!("it needs {} ranks or more", self.min_ranks));
        }
        if self.several_nodes && !place.several_nodes {
            return Some("it needs ranks on several nodes".to_owned());
        }
        let has_lanes = (self.expression.as_ref()).is_some_and(|expression| expression.right.has_lanes_of_nodes());
        (has_lanes && place.each_alone).then(|| "it needs several ranks on each node".to_owned())
    }

    /// The statement as one line.
    #[must_use]
    pub fn statement(&self) -> String {
        match (&self.expression, self.kind) {
            (Some(expression), _) => expression.to_string(),
            (None, Kind::Split) => "A(n) <= k * A(n/k)".to_owned(),
            (None, _) => "A(n) <= A(n + k)".to_owned(),
        }
    }
}

/// Parses a pattern and checks the rules beyond the grammar.
fn pattern(text: &str, functions: &[Collective], k: &[u64]) -> Result<expression::Guideline, NoPattern> {
    let guideline: expression::Guideline = text.parse()?;
    let any = guideline.left.mentions_any() || guideline.right.mentions_any();
    if any && functions.is_empty() {
        return Err(NoPattern::NoFunctions);
    }
    if !any && !functions.is_empty() {
        return Err(NoPattern::NoA);
    }
    let has_k = guideline.left.mentions_k() || guideline.right.mentions_k();
    if has_k && k.is_empty() {
        return Err(NoPattern::NoValues);
    }
    if !has_k && !k.is_empty() {
        return Err(NoPattern::NoK);
    }
    if k.contains(&0) {
        return Err(NoPattern::Zero);
    }
    for filled in filled(&guideline, functions, k) {
        Task::of(&filled.left)?;
        let left = filled.left.single();
        for term in &filled.right.terms {
            let (Operation::PointToPoint(name), Some(left)) = (&term.call.operation, left) else {
                continue;
            };
            let id = format!("{left}.{name}");
            if registry::find(&id).is_none() {
                let known = registry::algorithms().filter(|a| a.collective == left);
                return Err(NoPattern::NoAlgorithm {
                    name: name.clone(),
                    of: left,
                    known: known.map(|a| a.id).collect(),
                });
            }
        }
    }
    Ok(guideline)
}

/// A guideline for each of its functions and each value of `k`.
fn filled(guideline: &expression::Guideline, functions: &[Collective], k: &[u64]) -> Vec<expression::Guideline> {
    let by_function: Vec<expression::Guideline> = if functions.is_empty() {
        vec![guideline.clone()]
    } else {
        functions
            .iter()
            .map(|function| guideline.with_function(*function))
            .collect()
    };
    if k.is_empty() {
        return by_function;
    }
    by_function
        .iter()
        .flat_map(|guideline| k.iter().map(|k| guideline.with_k(*k)))
        .collect()
}

/// The guidelines that come with Kilter, in the order of their ids.
pub fn load_embedded() -> Result<Vec<Guideline>, ConfigError> {
    static GUIDELINES: Embedded<Vec<Guideline>> = Embedded::new(|| parsed("guidelines", Guideline::parse));
    all(&GUIDELINES).cloned()
}

/// A site's own guideline. The drop-in has the remedies with which it was built, so a site's file can state none.
pub fn load_file(path: &Path) -> Result<Guideline, ConfigError> {
    let file = path.display().to_string();
    let guideline = Guideline::parse(&read(path)?, &file)?;
    if guideline.remedy {
        return Err(ConfigError {
            file,
            message: "`remedy` is for guidelines that come with Kilter, whose right sides the drop-in was built with; leave it out"
                .to_owned(),
        });
    }
    Ok(guideline)
}

/// Guidelines whose id or family is named, or whose id begins with the text before a `*`; all guidelines without names.
/// The error tells of two guidelines with one id, or of a name that is neither an id nor a family.
pub fn select(all: &[Guideline], names: &[String]) -> Result<Vec<Guideline>, ConfigError> {
    let wrong = |message: String| ConfigError {
        file: "--guidelines".to_owned(),
        message,
    };
    let mut ids = BTreeSet::new();
    if let Some(twice) = all.iter().find(|guideline| !ids.insert(&guideline.id)) {
        return Err(wrong(format!(
            "two guidelines have the id `{}`; give one of them another",
            twice.id
        )));
    }
    let named = |guideline: &Guideline, name: &String| match name.strip_suffix('*') {
        Some(beginning) => guideline.id.starts_with(beginning),
        None => guideline.id == *name || guideline.family == *name,
    };
    if let Some(unknown) = names
        .iter()
        .find(|name| !all.iter().any(|guideline| named(guideline, name)))
    {
        let ids: Vec<&str> = all.iter().map(|guideline| guideline.id.as_str()).collect();
        let families: BTreeSet<&str> = all.iter().map(|guideline| guideline.family.as_str()).collect();
        return Err(wrong(format!(
            "`{unknown}` is no guideline; allowed: {}, or a family: {}",
            ids.join(", "),
            families.into_iter().collect::<Vec<_>>().join(", ")
        )));
    }
    let wanted = |guideline: &&Guideline| names.is_empty() || names.iter().any(|name| named(guideline, name));
    Ok(all.iter().filter(wanted).cloned().collect())
}

#[cfg(test)]
mod tests;
