//! Filters: from what was typed to conditions in SQL, refused with what is allowed.

use std::time::{Duration, SystemTime};

use kilter_bench::store::{Reader, StoreError};
use kilter_model::options::parse_bytes;
use rusqlite::types::Value;

use super::What;

/// The verdicts that there are.
const VERDICTS: [&str; 5] = ["holds", "violated", "undecided", "unstable", "screened"];

/// Mistakes in a query.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// A filter that nothing can pass, or that makes no sense here.
    #[error("{option}: {message}")]
    Filter {
        /// The option.
        option: &'static str,
        /// The mistake, and what is allowed.
        message: String,
    },
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The output.
    #[error("cannot write: {0}")]
    Write(#[from] std::io::Error),
}

/// Conditions on rows; empty lists and `None` let everything through.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Runs by number, or `last`.
    pub runs: Vec<String>,
    /// Part of the library's version string, in any case.
    pub library: Option<String>,
    /// Guideline ids, in any case.
    pub guidelines: Vec<String>,
    /// Functions.
    pub functions: Vec<String>,
    /// Sizes or inclusive ranges `a..b`.
    pub sizes: Vec<String>,
    /// Numbers of ranks.
    pub ranks: Vec<u32>,
    /// Verdicts.
    pub verdicts: Vec<String>,
    /// Day or time, UTC.
    pub since: Option<String>,
    /// Day or time, UTC; a day counts as a whole.
    pub until: Option<String>,
    /// Part of a host's name, in any case.
    pub host: Option<String>,
}

/// Conditions joined by `AND`, with the values of their placeholders.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    /// Starts with `AND` unless it is empty.
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
}

impl Conditions {
    fn add(&mut self, sql: &str, values: impl IntoIterator<Item = Value>) {
        self.sql.push_str(&format!(" AND ({sql})"));
        self.values.extend(values);
    }

    fn one_of(&mut self, column: &str, values: Vec<Value>) {
        if !values.is_empty() {
            let places = vec!["?"; values.len()].join(", ");
            self.add(&format!("{column} COLLATE NOCASE IN ({places})"), values);
        }
    }
}

fn wrong(option: &'static str, message: impl Into<String>) -> QueryError {
    QueryError::Filter {
        option,
        message: message.into(),
    }
}

impl Filter {
    /// The conditions on the rows of a view.
    pub(super) fn conditions(&self, what: What, reader: &Reader) -> Result<Conditions, QueryError> {
        self.fits(what)?;
        let mut conditions = Conditions::default();
        let run_column = if what == What::Runs { "id" } else { "run" };
        conditions.one_of(run_column, self.run_ids(reader)?);
        if let Some(text) = &self.library {
            conditions.add(
                "instr(lower(concat_ws(' ', library, library_string)), lower(?)) > 0",
                [Value::from(text.clone())],
            );
        }
        if let Some(text) = &self.host {
            conditions.add("instr(lower(hosts), lower(?)) > 0", [Value::from(text.clone())]);
        }
        let known = |option, wanted: &[String], sql: &'static str| known(reader, option, wanted, sql);
        let guidelines = "SELECT DISTINCT guideline FROM cells ORDER BY 1";
        conditions.one_of("guideline", known("--guidelines", &self.guidelines, guidelines)?);
        let functions = match what {
            What::Samples => "SELECT DISTINCT function FROM items WHERE function IS NOT NULL ORDER BY 1",
            What::Learnt => "SELECT DISTINCT function FROM learnt ORDER BY 1",
            _ => "SELECT DISTINCT function FROM cells ORDER BY 1",
        };
        conditions.one_of("function", known("--functions", &self.functions, functions)?);
        for verdict in &self.verdicts {
            if !VERDICTS.contains(&verdict.as_str()) {
                return Err(wrong(
                    "--verdict",
                    format!("`{verdict}` is none; allowed: {}", VERDICTS.join(", ")),
                ));
            }
        }
        conditions.one_of("verdict", self.verdicts.iter().cloned().map(Value::from).collect());
        conditions.one_of("ranks", self.ranks.iter().map(|ranks| Value::from(*ranks)).collect());
        self.sizes(what, &mut conditions)?;
        let time = if what == What::Samples { "time" } else { "started" };
        if let Some(text) = &self.since {
            conditions.add(&format!("{time} >= ?"), [Value::from(moment("--since", text, false)?)]);
        }
        if let Some(text) = &self.until {
            conditions.add(&format!("{time} <= ?"), [Value::from(moment("--until", text, true)?)]);
        }
        Ok(conditions)
    }

    /// Filters that the rows asked for have no column for.
    fn fits(&self, what: What) -> Result<(), QueryError> {
        let of_cells = [
            ("--guidelines", !self.guidelines.is_empty()),
            ("--verdict", !self.verdicts.is_empty()),
        ];
        let of_both = [
            ("--functions", !self.functions.is_empty()),
            ("--sizes", !self.sizes.is_empty()),
        ];
        for (option, given) in of_cells {
            if given && what != What::Cells {
                return Err(wrong(
                    option,
                    format!("filters cells, not {}: `kilter query cells {option} ...`", what.name()),
                ));
            }
        }
        for (option, given) in of_both {
            if given && !matches!(what, What::Cells | What::Samples | What::Learnt) {
                return Err(wrong(
                    option,
                    format!("filters cells, samples and what was learnt, not {}", what.name()),
                ));
            }
        }
        let of_runs = [("--run", !self.runs.is_empty()), ("--host", self.host.is_some())];
        for (option, given) in of_runs {
            if given && what == What::Learnt {
                return Err(wrong(option, "filters what runs measured, not what jobs learnt"));
            }
        }
        Ok(())
    }

    fn run_ids(&self, reader: &Reader) -> Result<Vec<Value>, QueryError> {
        if self.runs.is_empty() {
            return Ok(Vec::new());
        }
        let known: Vec<i64> = reader.runs()?.iter().map(|run| run.id).collect();
        self.runs
            .iter()
            .map(|text| {
                let id = if text == "last" {
                    known.last().copied()
                } else {
                    text.parse().ok()
                };
                id.filter(|id| known.contains(id)).map(Value::from).ok_or_else(|| {
                    let ids: Vec<String> = known.iter().map(i64::to_string).collect();
                    let path = reader.path().display();
                    wrong(
                        "--run",
                        format!("`{path}` has no run `{text}`; it has: {} (or `last`)", listed(&ids)),
                    )
                })
            })
            .collect()
    }

    fn sizes(&self, what: What, conditions: &mut Conditions) -> Result<(), QueryError> {
        let mut parts = Vec::new();
        let mut values = Vec::new();
        for text in &self.sizes {
            let bytes = |text: &str| parse_bytes("--sizes", text).map_err(|error| wrong("--sizes", error.message));
            let (low, high) = match text.split_once("..") {
                Some((low, high)) => (bytes(low)?, bytes(high)?),
                None => (bytes(text)?, bytes(text)?),
            };
            if low > high {
                return Err(wrong(
                    "--sizes",
                    format!("`{text}` is an empty range; give the smaller size first"),
                ));
            }
            // A row of what was learnt is about a range of sizes.
            parts.push(match what {
                What::Learnt => "to_bytes >= ? AND bytes <= ?",
                _ => "bytes BETWEEN ? AND ?",
            });
            values.extend([low, high].map(|bytes| Value::from(bytes.cast_signed())));
        }
        if !parts.is_empty() {
            conditions.add(&parts.join(" OR "), values);
        }
        Ok(())
    }
}

/// The values asked for, if the database has them.
fn known(
    reader: &Reader,
    option: &'static str,
    wanted: &[String],
    sql: &'static str,
) -> Result<Vec<Value>, QueryError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let context = || reader.context("list what it has");
    let mut statement = reader.connection().prepare(sql).map_err(context())?;
    let there: Vec<String> = statement
        .query_map([], |row| row.get(0))
        .and_then(Iterator::collect)
        .map_err(context())?;
    for value in wanted {
        if !there.iter().any(|known| known.eq_ignore_ascii_case(value)) {
            let path = reader.path().display();
            return Err(wrong(
                option,
                format!("`{path}` has nothing of `{value}`; it has: {}", listed(&there)),
            ));
        }
    }
    Ok(wanted.iter().cloned().map(Value::from).collect())
}

fn listed(values: &[String]) -> String {
    if values.is_empty() {
        "nothing".to_owned()
    } else {
        values.join(", ")
    }
}

/// A moment in the form in which the views give times. `end`: of a day, its last second.
fn moment(option: &'static str, text: &str, end: bool) -> Result<String, QueryError> {
    let day = humantime::parse_rfc3339_weak(&format!("{text}T00:00:00Z"));
    let time: SystemTime = match day {
        Ok(day) if end => day + Duration::from_secs(86_399),
        Ok(day) => day,
        Err(_) => humantime::parse_rfc3339_weak(text).map_err(|_| {
            wrong(
                option,
                format!("`{text}` is no date; allowed: 2026-11-21, or 2026-11-21T12:00:00Z (UTC)"),
            )
        })?,
    };
    Ok(humantime::format_rfc3339_seconds(time).to_string())
}
