//! Stores verdicts: a row per cell and phase, written when a run ends, so that a comparison need not analyse anything
//! again.
//!
//! Columns are for people and queries. The rest of a cell goes into `rest` as JSON, so that a report comes back from
//! the database as it went in, also after the model has changed.

use kilter_model::report::Report;
use rusqlite::types::Value as Sql;
use rusqlite::{Transaction, params_from_iter};
use serde_json::{Map, Value};

use super::{Reader, Run, StoreError, blob};

/// Columns of a cell, named as in `report.json`.
const OF_CELL: [&str; 8] = [
    "guideline",
    "expression",
    "kind",
    "function",
    "bytes",
    "measured_bytes",
    "right_bytes",
    "ranks",
];

/// Columns of a comparison, named as in `report.json`.
const OF_COMPARISON: [&str; 6] = ["verdict", "ratio", "p", "p_adjusted", "seconds", "right_seconds"];

/// Further columns: the interval's ends, launches and medians of both sides, the fix.
const FURTHER: [&str; 8] = [
    "ratio_low",
    "ratio_high",
    "launches",
    "right_launches",
    "medians",
    "right_medians",
    "fix",
    "rest",
];

impl Run {
    /// Stores the report with its verdicts, and replaces what was stored for this run before.
    ///
    /// Call it before [`Run::finish`].
    pub fn record_report(&self, report: &Report) -> Result<(), StoreError> {
        let context = || self.store.context("store the verdicts");
        let mut head = serde_json::to_value(report).map_err(|error| self.store.damaged(format!("report: {error}")))?;
        let cells = head.get_mut("cells").map(Value::take).unwrap_or_default();
        let transaction = self.store.connection.unchecked_transaction().map_err(context())?;
        write(&transaction, self.id, &head, cells)
            .and_then(|()| transaction.commit())
            .map_err(context())
    }
}

fn write(transaction: &Transaction<'_>, run: i64, head: &Value, cells: Value) -> Result<(), rusqlite::Error> {
    transaction.execute("DELETE FROM cells WHERE run = ?1", [run])?;
    transaction.execute(
        "INSERT OR REPLACE INTO reports (run, head) VALUES (?1, ?2)",
        (run, head.to_string()),
    )?;
    let names: Vec<&str> = ["run", "number", "phase"]
        .into_iter()
        .chain(OF_CELL)
        .chain(OF_COMPARISON)
        .chain(FURTHER)
        .collect();
    let places = vec!["?"; names.len()].join(", ");
    let mut insert = transaction.prepare(&format!("INSERT INTO cells ({}) VALUES ({places})", names.join(", ")))?;
    let Value::Array(cells) = cells else { return Ok(()) };
    for (number, cell) in cells.into_iter().enumerate() {
        let Value::Object(mut cell) = cell else { continue };
        let phases = ["before", "after"].map(|phase| (phase, cell.remove(phase)));
        let columns: Vec<Sql> = OF_CELL.iter().map(|name| sql(cell.remove(*name))).collect();
        let fix = cell.get("fix").and_then(|fix| fix.get("id")).cloned();
        for (phase, comparison) in phases {
            let Some(Value::Object(mut comparison)) = comparison else {
                continue;
            };
            let mut row = vec![
                Sql::Integer(run),
                Sql::Integer(number as i64),
                Sql::Text(phase.to_owned()),
            ];
            row.extend(columns.iter().cloned());
            row.extend(OF_COMPARISON.iter().map(|name| sql(comparison.remove(*name))));
            let interval = comparison.remove("ratio_ci").unwrap_or_default();
            row.extend([0, 1].map(|end| sql(interval.get(end).cloned())));
            let medians = ["left_medians", "right_medians"].map(|side| floats(comparison.remove(side)));
            row.extend(medians.iter().map(|side| Sql::Integer(side.len() as i64)));
            row.extend(medians.iter().map(|side| Sql::Blob(blob::encode(side))));
            row.push(sql(fix.clone()));
            let rest = serde_json::json!({
                // Once is enough.
                "cell": if phase == "before" { Value::Object(cell.clone()) } else { Value::Null },
                "comparison": comparison,
            });
            row.push(Sql::Text(rest.to_string()));
            insert.execute(params_from_iter(row))?;
        }
    }
    Ok(())
}

fn sql(value: Option<Value>) -> Sql {
    match value {
        None | Some(Value::Null) => Sql::Null,
        Some(Value::String(text)) => Sql::Text(text),
        Some(Value::Number(number)) => number
            .as_i64()
            .map_or_else(|| Sql::Real(number.as_f64().unwrap_or(f64::NAN)), Sql::Integer),
        Some(other) => Sql::Text(other.to_string()),
    }
}

fn json(value: Sql) -> Value {
    match value {
        Sql::Null => Value::Null,
        Sql::Integer(integer) => integer.into(),
        Sql::Real(real) => real.into(),
        Sql::Text(text) => text.into(),
        Sql::Blob(bytes) => blob::decode(&bytes).map_or(Value::Null, |values| values.into()),
    }
}

fn floats(value: Option<Value>) -> Vec<f64> {
    match value {
        Some(Value::Array(values)) => values.iter().map(|value| value.as_f64().unwrap_or(f64::NAN)).collect(),
        _ => Vec::new(),
    }
}

impl Reader {
    /// The report of a run as it was when the run ended; `None` for an unfinished run, or for one that is older than
    /// verdicts in the database. An error if the entry is no report.
    pub fn report(&self, run: i64) -> Result<Option<Report>, StoreError> {
        let context = || self.context("read the verdicts");
        let connection = self.connection();
        let mut heads = connection
            .prepare("SELECT head FROM reports WHERE run = ?1")
            .map_err(context())?;
        let mut found = heads.query([run]).map_err(context())?;
        let Some(row) = found.next().map_err(context())? else {
            return Ok(None);
        };
        let head: String = row.get(0).map_err(context())?;
        let wrong = |error: serde_json::Error| self.damaged(format!("reports of run {run}: {error}"));
        let mut report: Value = serde_json::from_str(&head).map_err(wrong)?;
        report["cells"] = self.cells(run).map_err(context())?.into();
        serde_json::from_value(report).map(Some).map_err(wrong)
    }

    fn cells(&self, run: i64) -> Result<Vec<Value>, rusqlite::Error> {
        let mut statement = self
            .connection()
            .prepare("SELECT * FROM cells WHERE run = ?1 ORDER BY number, phase DESC")?;
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query([run])?;
        let mut cells: Vec<Value> = Vec::new();
        while let Some(row) = rows.next()? {
            let mut columns = Map::new();
            for (index, name) in names.iter().enumerate() {
                columns.insert(name.clone(), json(row.get(index)?));
            }
            let mut column = |name: &str| columns.remove(name).unwrap_or_default();
            let rest = column("rest");
            let rest: Value = serde_json::from_str(rest.as_str().unwrap_or_default()).unwrap_or_default();
            let mut comparison = rest["comparison"].as_object().cloned().unwrap_or_default();
            for name in OF_COMPARISON {
                comparison.insert(name.to_owned(), column(name));
            }
            let interval = [column("ratio_low"), column("ratio_high")];
            comparison.insert("ratio_ci".to_owned(), interval.to_vec().into());
            comparison.insert("left_medians".to_owned(), column("medians"));
            comparison.insert("right_medians".to_owned(), column("right_medians"));
            // `before` comes first.
            if column("phase") == "after" {
                if let Some(cell) = cells.last_mut() {
                    cell["after"] = comparison.into();
                }
                continue;
            }
            let mut cell = rest["cell"].as_object().cloned().unwrap_or_default();
            for name in OF_CELL {
                cell.insert(name.to_owned(), column(name));
            }
            cell.insert("before".to_owned(), comparison.into());
            cell.insert("after".to_owned(), Value::Null);
            cells.push(cell.into());
        }
        Ok(cells)
    }
}
