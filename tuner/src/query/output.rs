//! Rows as text, CSV or JSON, written as they come.

use std::io::{self, Write};

use rusqlite::types::Value;

use crate::report::csv::field;
use crate::report::format;

/// The format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Aligned columns, numbers with units.
    Text,
    /// RFC 4180.
    Csv,
    /// An array of objects, one a line.
    Json,
}

/// Writes pages of rows.
pub(super) struct Printer<'a> {
    form: Form,
    heads: Vec<&'a str>,
    /// Widths of the columns; they grow with a page that needs more.
    widths: Vec<usize>,
    begun: bool,
    out: &'a mut dyn Write,
}

impl<'a> Printer<'a> {
    pub(super) fn new(form: Form, heads: Vec<&'a str>, out: &'a mut dyn Write) -> Self {
        Self {
            form,
            widths: heads.iter().map(|head| head.len()).collect(),
            heads,
            begun: false,
            out,
        }
    }

    pub(super) fn begin(&mut self) -> io::Result<()> {
        match self.form {
            // The widths are not known yet.
            Form::Text => Ok(()),
            Form::Csv => write!(self.out, "{}\r\n", self.heads.join(",")),
            Form::Json => write!(self.out, "["),
        }
    }

    pub(super) fn page(&mut self, rows: &[Vec<Value>]) -> io::Result<()> {
        match self.form {
            Form::Text => self.text(rows),
            Form::Csv => rows.iter().try_for_each(|row| {
                let fields: Vec<String> = row.iter().map(plain).collect();
                write!(self.out, "{}\r\n", fields.join(","))
            }),
            Form::Json => rows.iter().try_for_each(|row| {
                let (separator, object) = (self.separator(), self.object(row));
                write!(self.out, "{separator}\n{}", serde_json::Value::Object(object))
            }),
        }
    }

    /// Between objects.
    fn separator(&mut self) -> &'static str {
        match self.form {
            Form::Json if std::mem::replace(&mut self.begun, true) => ",",
            _ => "",
        }
    }

    fn object(&self, row: &[Value]) -> serde_json::Map<String, serde_json::Value> {
        let named = self.heads.iter().zip(row);
        named.map(|(head, value)| ((*head).to_owned(), json(value))).collect()
    }

    /// A line per value: what is common, then `repetition` from 1 and `seconds`. What is common is rendered once.
    pub(super) fn repetitions(&mut self, common: &[Value], seconds: &[f64]) -> io::Result<()> {
        let start = match self.form {
            Form::Text => {
                let mut longest: Vec<Value> = common.to_vec();
                longest.extend([Value::Integer(seconds.len() as i64), Value::Real(0.0)]);
                self.measure(&longest)?;
                self.aligned(&self.words(common))
            }
            Form::Csv => common.iter().map(plain).collect::<Vec<_>>().join(","),
            Form::Json => serde_json::Value::Object(self.object(common)).to_string(),
        };
        let repetition = self.widths[common.len()];
        for (index, value) in seconds.iter().enumerate() {
            let (number, separator) = (index + 1, self.separator());
            match self.form {
                Form::Text => writeln!(self.out, "{start}{number:<repetition$}  {}", format::seconds(*value)),
                Form::Csv => write!(self.out, "{start},{number},{}\r\n", plain(&Value::Real(*value))),
                Form::Json => {
                    let (open, value) = (start.trim_end_matches('}'), json(&Value::Real(*value)));
                    write!(
                        self.out,
                        "{separator}\n{open},\"repetition\":{number},\"seconds\":{value}}}"
                    )
                }
            }?;
        }
        Ok(())
    }

    pub(super) fn end(&mut self) -> io::Result<()> {
        match self.form {
            Form::Text if !self.begun => writeln!(self.out, "nothing passes the filters"),
            Form::Json => writeln!(self.out, "\n]"),
            _ => Ok(()),
        }?;
        self.out.flush()
    }

    fn text(&mut self, rows: &[Vec<Value>]) -> io::Result<()> {
        rows.iter().for_each(|row| self.widen(row));
        for row in rows {
            self.measure(row)?;
            let line = self.aligned(&self.words(row));
            writeln!(self.out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    fn words(&self, row: &[Value]) -> Vec<String> {
        self.heads
            .iter()
            .zip(row)
            .map(|(head, value)| words(head, value))
            .collect()
    }

    fn widen(&mut self, row: &[Value]) {
        let words = self.words(row);
        for (width, word) in self.widths.iter_mut().zip(words) {
            *width = (*width).max(word.chars().count());
        }
    }

    /// Makes room for a row; the first time, prints the heads.
    fn measure(&mut self, row: &[Value]) -> io::Result<()> {
        self.widen(row);
        if !std::mem::replace(&mut self.begun, true) {
            let heads: Vec<String> = self.heads.iter().map(|head| (*head).to_owned()).collect();
            let line = self.aligned(&heads);
            writeln!(self.out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    fn aligned(&self, words: &[String]) -> String {
        let fields = self.widths.iter().zip(words);
        fields.map(|(width, word)| format!("{word:<width$}  ")).collect()
    }
}

/// For programs.
fn plain(value: &Value) -> String {
    match value {
        Value::Null | Value::Blob(_) => String::new(),
        Value::Integer(integer) => integer.to_string(),
        Value::Real(real) if real.is_finite() => format!("{real:e}"),
        Value::Real(_) => String::new(),
        Value::Text(text) => field(text),
    }
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null | Value::Blob(_) => serde_json::Value::Null,
        Value::Integer(integer) => (*integer).into(),
        Value::Real(real) => (*real).into(),
        // Lists and tables are stored as JSON.
        Value::Text(text) if text.starts_with(['[', '{']) => {
            serde_json::from_str(text).unwrap_or_else(|_| text.clone().into())
        }
        Value::Text(text) => text.clone().into(),
    }
}

/// For people: with units, on one line, without control characters.
fn words(head: &str, value: &Value) -> String {
    match value {
        Value::Null | Value::Blob(_) => format::NONE.to_owned(),
        Value::Integer(bytes) if head.ends_with("bytes") => format::bytes(bytes.cast_unsigned()),
        Value::Integer(integer) => integer.to_string(),
        Value::Real(seconds) if head.ends_with("seconds") => format::seconds(*seconds),
        Value::Real(p) if head.starts_with("p_") || head == "p" => format::p_value(*p),
        Value::Real(ratio) => format::ratio(*ratio),
        Value::Text(text) if text.is_empty() => format::NONE.to_owned(),
        Value::Text(text) if head == "hosts" => match serde_json::from_str::<Vec<String>>(text) {
            Ok(hosts) => hosts.join(" "),
            Err(_) => text.clone(),
        },
        Value::Text(text) => text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect(),
    }
}
