//! Rows as text, CSV or JSON, written as they come.

use std::io::{self, Write};

use kilter_render::format;
use kilter_render::quoting::field;
use rusqlite::types::Value;

use super::fit::{Columns, fitted};

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

/// Columns of the printed rows, and their widths.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The format.
    pub form: Form,
    /// Columns by name, in their order; all where there are none.
    pub columns: Vec<String>,
    /// Characters of a line of text; `None` has no limit.
    pub width: Option<usize>,
}

impl From<Form> for Layout {
    fn from(form: Form) -> Self {
        Self {
            form,
            columns: Vec::new(),
            width: None,
        }
    }
}

/// Writes pages of rows.
pub(super) struct Printer<'a> {
    form: Form,
    /// All columns, shown or not.
    heads: Vec<&'a str>,
    /// Widths of all columns; without a limit they grow with a page that needs more.
    widths: Vec<usize>,
    columns: Columns,
    /// The columns that go first where there is no room.
    least_important: &'a [&'a str],
    /// Columns for which there is no room.
    left_out: Vec<String>,
    begun: bool,
    out: &'a mut dyn Write,
}

impl<'a> Printer<'a> {
    pub(super) fn new(
        form: Form,
        heads: Vec<&'a str>,
        columns: Columns,
        least_important: &'a [&'a str],
        out: &'a mut dyn Write,
    ) -> Self {
        Self {
            form,
            widths: heads.iter().map(|head| head.len()).collect(),
            heads,
            columns,
            least_important,
            left_out: Vec::new(),
            begun: false,
            out,
        }
    }

    pub(super) fn begin(&mut self) -> io::Result<()> {
        match self.form {
            // The widths are not known yet.
            Form::Text => Ok(()),
            Form::Csv => write!(self.out, "{}\r\n", self.shown_heads().join(",")),
            Form::Json => write!(self.out, "["),
        }
    }

    fn shown_heads(&self) -> Vec<&'a str> {
        self.columns.shown.iter().map(|index| self.heads[*index]).collect()
    }

    /// Rows that a page is about to show, before its first line is printed: of samples what is common.
    pub(super) fn foresee<'r>(&mut self, rows: impl Iterator<Item = &'r [Value]>) {
        if self.form == Form::Text && !self.begun {
            rows.for_each(|row| self.widen(row));
        }
    }

    pub(super) fn page(&mut self, rows: &[Vec<Value>]) -> io::Result<()> {
        match self.form {
            Form::Text => self.text(rows),
            Form::Csv => rows.iter().try_for_each(|row| {
                let fields: Vec<String> = self.columns.pick(row).iter().map(plain).collect();
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
        // Two of the samples are not there yet.
        let shown = self.columns.shown.iter().filter(|index| **index < row.len());
        shown
            .map(|index| (self.heads[*index].to_owned(), json(&row[*index])))
            .collect()
    }

    /// A line per value: what is common, then `repetition` from 1 and `seconds`. What is common is rendered once where all is shown.
    pub(super) fn repetitions(&mut self, common: &[Value], seconds: &[f64]) -> io::Result<()> {
        if self.form == Form::Text {
            let mut longest: Vec<Value> = common.to_vec();
            longest.extend([Value::Integer(seconds.len() as i64), Value::Real(0.0)]);
            self.measure(&longest)?;
        }
        if !self.columns.are_all(self.heads.len()) || self.columns.width.is_some() {
            return seconds.iter().enumerate().try_for_each(|(index, value)| {
                let mut row = common.to_vec();
                row.extend([Value::Integer(index as i64 + 1), Value::Real(*value)]);
                self.page(&[row])
            });
        }
        let start = match self.form {
            Form::Text => self.aligned(&self.words(common)),
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

    /// Ends the listing; returns the columns for which there was no room.
    pub(super) fn end(self) -> io::Result<Vec<String>> {
        match self.form {
            Form::Text if !self.begun => writeln!(self.out, "nothing passes the filters"),
            Form::Json => writeln!(self.out, "\n]"),
            _ => Ok(()),
        }?;
        self.out.flush()?;
        Ok(self.left_out)
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
        if self.begun && self.columns.width.is_some() {
            return;
        }
        let words = self.words(row);
        for (width, word) in self.widths.iter_mut().zip(words) {
            *width = (*width).max(word.chars().count());
        }
    }

    /// Makes room for a row; the first time, prints the heads.
    fn measure(&mut self, row: &[Value]) -> io::Result<()> {
        self.widen(row);
        if !std::mem::replace(&mut self.begun, true) {
            self.left_out = self.columns.fit(&self.heads, &mut self.widths, self.least_important);
            let heads: Vec<String> = self.heads.iter().map(|head| (*head).to_owned()).collect();
            let line = self.aligned(&heads);
            writeln!(self.out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    fn aligned(&self, words: &[String]) -> String {
        let shown = self.columns.shown.iter().filter(|index| **index < words.len());
        shown
            .map(|index| fitted(&words[*index], self.widths[*index]) + "  ")
            .collect()
    }
}

/// A value for programs.
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

/// A value for people: with units, on one line, without control characters.
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
