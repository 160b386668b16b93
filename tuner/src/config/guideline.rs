//! Guidelines as data: one TOML file each.

use std::collections::BTreeSet;
use std::path::Path;

use kilter_algorithms::{Collective, registry};
use kilter_protocol::expression::{self, Call};
use serde::Deserialize;

use super::{ConfigError, embedded, read};

/// What kind of ordering a guideline states.
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
}

/// The meta-rules of Traeff et al. 2010, section III.
const FAMILIES: [&str; 6] = ["I", "II", "III", "IV", "V", "VI"];

/// A guideline.
#[derive(Debug, Clone, PartialEq)]
pub struct Guideline {
    /// Such as `GL8`.
    pub id: String,
    /// The pattern that is found when it is violated, such as `ReduceSlowerThanAllreduce`.
    pub name: String,
    /// What kind of ordering it states.
    pub kind: Kind,
    /// The meta-rule it follows from, `I` to `VI`.
    pub family: String,
    /// Both sides, for a pattern.
    pub expression: Option<expression::Guideline>,
    /// The collectives it is stated for, for monotony and split-robustness.
    pub functions: Vec<Collective>,
    /// Paper and number there.
    pub source: String,
    /// What it says.
    pub what: String,
    /// Why it should hold.
    pub why: String,
    /// How the right side does the left side's work.
    pub mockup: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    id: String,
    name: String,
    kind: Kind,
    family: String,
    guideline: Option<String>,
    #[serde(default)]
    functions: Vec<String>,
    source: String,
    what: String,
    why: String,
    mockup: String,
}

impl Guideline {
    /// Reads a file's text; `file` is named in errors.
    ///
    /// # Errors
    /// Whatever is wrong, with the line where TOML is, and what is allowed.
    pub fn parse(text: &str, file: &str) -> Result<Guideline, ConfigError> {
        let wrong = |message: String| ConfigError { file: file.to_owned(), message };
        let raw: Raw = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if !FAMILIES.contains(&raw.family.as_str()) {
            return Err(wrong(format!("family `{}` is no meta-rule; allowed: {}", raw.family, FAMILIES.join(", "))));
        }
        if raw.id.is_empty() || raw.id.contains([',', ' ']) {
            return Err(wrong(format!("id `{}` must be a word without commas", raw.id)));
        }
        let functions = raw
            .functions
            .iter()
            .map(|name| name.parse::<Collective>().map_err(|error| wrong(format!("functions: {error}"))))
            .collect::<Result<Vec<_>, _>>()?;
        let expression = match (&raw.guideline, raw.kind) {
            (Some(text), Kind::Pattern) => Some(pattern(text).map_err(|message| wrong(format!("guideline: {message}")))?),
            (None, Kind::Pattern) => return Err(wrong("a pattern needs `guideline = \"left <= right\"`".to_owned())),
            (Some(_), _) => return Err(wrong(format!("a {} guideline takes `functions`, not `guideline`", raw.kind.name()))),
            (None, _) if functions.is_empty() => {
                return Err(wrong(format!("a {} guideline needs `functions`", raw.kind.name())));
            }
            (None, _) => None,
        };
        Ok(Guideline {
            id: raw.id,
            name: raw.name,
            kind: raw.kind,
            family: raw.family,
            expression,
            functions,
            source: raw.source,
            what: raw.what,
            why: raw.why,
            mockup: raw.mockup,
        })
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

/// Parses a pattern and checks what the grammar alone cannot.
fn pattern(text: &str) -> Result<expression::Guideline, String> {
    let guideline: expression::Guideline = text.parse().map_err(|error: expression::ExpressionError| error.to_string())?;
    let left = guideline
        .left
        .single()
        .ok_or_else(|| format!("the left side `{}` must be one collective on n, such as `reduce(n)`", guideline.left))?;
    if guideline.to_string().contains('k') && guideline.right.with_k(2) != guideline.right {
        return Err("`k` belongs to split-robustness; write a number, or use kind = \"split\"".to_owned());
    }
    for term in &guideline.right.terms {
        if let Call::PointToPoint(name) = &term.call {
            let id = format!("{left}.{name}");
            if registry::find(&id).is_none() {
                let known: Vec<&str> = registry::algorithms().filter(|a| a.collective == left).map(|a| a.id).collect();
                return Err(format!("`p2p.{name}` is no algorithm for {left}; known: {}", known.join(", ")));
            }
        }
    }
    Ok(guideline)
}

/// The guidelines that come with Kilter, in the order of their ids.
///
/// # Errors
/// A file is wrong: a defect of this build.
pub fn load_embedded() -> Result<Vec<Guideline>, ConfigError> {
    embedded("guidelines").into_iter().map(|(file, text)| Guideline::parse(text, &file)).collect()
}

/// A site's own guideline.
///
/// # Errors
/// It cannot be read or is wrong.
pub fn load_file(path: &Path) -> Result<Guideline, ConfigError> {
    Guideline::parse(&read(path)?, &path.display().to_string())
}

/// Those whose id or family is named; all if nothing is.
///
/// # Errors
/// Two with one id, or a name that is neither an id nor a family.
pub fn select(all: &[Guideline], names: &[String]) -> Result<Vec<Guideline>, ConfigError> {
    let wrong = |message: String| ConfigError { file: "--guidelines".to_owned(), message };
    let mut ids = BTreeSet::new();
    if let Some(twice) = all.iter().find(|guideline| !ids.insert(&guideline.id)) {
        return Err(wrong(format!("two guidelines have the id `{}`; give one of them another", twice.id)));
    }
    let named = |guideline: &Guideline, name: &String| guideline.id == *name || guideline.family == *name;
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|guideline| named(guideline, name))) {
        let ids: Vec<&str> = all.iter().map(|guideline| guideline.id.as_str()).collect();
        return Err(wrong(format!("`{unknown}` is no guideline; allowed: {} or a family of {}", ids.join(", "), FAMILIES.join(", "))));
    }
    let wanted = |guideline: &&Guideline| names.is_empty() || names.iter().any(|name| named(guideline, name));
    Ok(all.iter().filter(wanted).cloned().collect())
}

/// All of them as a table.
#[must_use]
pub fn list(guidelines: &[Guideline]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_header(["id", "kind", "family", "guideline", "violated when"]);
    for guideline in guidelines {
        let statement = guideline.statement();
        table.add_row([&guideline.id, guideline.kind.name(), &guideline.family, &statement, &guideline.name]);
    }
    table.to_string()
}

/// One of them as a page.
#[must_use]
pub fn explain(guideline: &Guideline) -> String {
    let functions = if guideline.functions.is_empty() {
        String::new()
    } else {
        let names: Vec<&str> = guideline.functions.iter().map(|function| function.mpi_name()).collect();
        format!("\nA is one of {}.\n", names.join(", "))
    };
    format!(
        "{id} {name}\n\n    {statement}\n{functions}\nWhat it says\n  {what}\n\nWhy it should hold\n  {why}\n\nMock-up\n  {mockup}\n\n\
         Family\n  meta-rule {family} of Traeff, Gropp, Thakur 2010 ({kind})\n\nReferences\n  {source}\n",
        id = guideline.id,
        name = guideline.name,
        statement = guideline.statement(),
        what = guideline.what,
        why = guideline.why,
        mockup = guideline.mockup,
        family = guideline.family,
        kind = guideline.kind.name(),
        source = guideline.source,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gl1_to_gl17_are_there_in_order_and_round_trip() {
        let all = load_embedded().unwrap();
        let ids: Vec<String> = all.iter().map(|guideline| guideline.id.clone()).collect();
        assert_eq!(ids, (1..=17).map(|i| format!("GL{i}")).collect::<Vec<_>>());
        for guideline in all.iter().filter(|guideline| guideline.kind == Kind::Pattern) {
            let calls = guideline.expression.as_ref().unwrap().right.plain_calls().unwrap();
            let left = guideline.expression.as_ref().unwrap().left.single().unwrap();
            assert!(kilter_algorithms::mockup::of_calls(left, &calls).is_some(), "{} has no mock-up row", guideline.id);
        }
    }

    #[test]
    fn every_mockup_row_stands_in_a_guideline() {
        let all = load_embedded().unwrap();
        for row in kilter_algorithms::mockup::MOCKUPS {
            let stands = all.iter().filter_map(|g| g.expression.as_ref()).any(|expression| {
                expression.left.single() == Some(row.collective) && expression.right.plain_calls().as_deref() == Some(row.calls)
            });
            assert!(stands, "{} stands in no guideline", row.id);
        }
    }

    #[test]
    fn the_example_of_a_site_is_read() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/examples/scan-recursive-doubling.toml");
        assert_eq!(load_file(&path).unwrap().statement(), "scan(n) <= p2p.recursive_doubling(n)");
    }

    #[test]
    fn mistakes_name_file_line_and_what_is_allowed() {
        let good = "id='X'\nname='N'\nkind='pattern'\nfamily='III'\nguideline='reduce(n) <= allreduce(n)'\nsource='s'\nwhat='w'\nwhy='y'\nmockup='m'\n";
        assert!(Guideline::parse(good, "x.toml").is_ok());
        for (from, to, part) in [
            ("kind='pattern'", "kind='patern'", "line 3"),
            ("name='N'", "nome='N'", "unknown field `nome`"),
            ("family='III'", "family='VII'", "allowed: I, II"),
            ("<= allreduce(n)", "<= allreduse(n)", "`allreduse` is not a collective"),
            ("reduce(n) <=", "2 * reduce(n) <=", "must be one collective"),
            ("<= allreduce(n)", "<= p2p.ring_a_ding(n)", "known: reduce.ring"),
            ("<= allreduce(n)", "<= k * reduce(n/k)", "split-robustness"),
            ("guideline='reduce(n) <= allreduce(n)'\n", "", "needs `guideline"),
        ] {
            let error = Guideline::parse(&good.replacen(from, to, 1), "x.toml").unwrap_err().to_string();
            assert!(error.starts_with("x.toml: ") && error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_selection_takes_ids_and_families_and_refuses_others() {
        let all = load_embedded().unwrap();
        assert_eq!(select(&all, &["GL8".to_owned()]).unwrap().len(), 1);
        assert!(select(&all, &["IV".to_owned()]).unwrap().len() > 3);
        assert!(select(&all, &["GL99".to_owned()]).unwrap_err().to_string().contains("GL1, GL2"));
        let twice = [all.clone(), all[..1].to_vec()].concat();
        assert!(select(&twice, &[]).unwrap_err().to_string().contains("two guidelines have the id `GL1`"));
    }
}
