//! Sentences with values: `{retries} retries, {worst} of them on {worst.at}`.

use kilter_render::format;
use kilter_render::table::printable;

use crate::listing::Unit;
use crate::quantity::Value;

/// A sentence.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    Field(String, Part),
}

/// Part of a quantity that a sentence names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The value with its unit.
    Value,
    /// `.at`: the process of the largest or smallest value.
    At,
    /// `.name`: the largest name, up to its last dot.
    Name,
    /// `.call`: the same in small letters, as options of Kilter's name collectives.
    Call,
}

impl Part {
    /// The word behind the dot.
    const fn word(self) -> &'static str {
        match self {
            Part::Value => "",
            Part::At => "at",
            Part::Name => "name",
            Part::Call => "call",
        }
    }
}

/// Mistake in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TemplateError {
    /// A field does not end.
    #[error("a `{{` has no `}}`; a quantity stands as `{{name}}`")]
    Open,
    /// A field names a part that no quantity has.
    #[error("`{{{field}}}` has no part `{part}`; allowed: {{{name}}}, or with .at, .name, .call")]
    UnknownPart { field: String, name: String, part: String },
}

impl Template {
    /// Reads a sentence. The error says what is allowed.
    pub(crate) fn parse(text: &str) -> Result<Template, TemplateError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, field)) = rest.split_once('{') {
            let (field, after) = field.split_once('}').ok_or(TemplateError::Open)?;
            let (name, part) = match field.split_once('.') {
                None => (field, Part::Value),
                Some((name, "at")) => (name, Part::At),
                Some((name, "name")) => (name, Part::Name),
                Some((name, "call")) => (name, Part::Call),
                Some((name, part)) => {
                    return Err(TemplateError::UnknownPart {
                        field: field.to_owned(),
                        name: name.to_owned(),
                        part: part.to_owned(),
                    });
                }
            };
            pieces.push(Piece::Text(before.to_owned()));
            pieces.push(Piece::Field(name.to_owned(), part));
            rest = after;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Template(pieces))
    }

    /// Quantities that are named, and the part of each.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, Part)> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Field(name, part) => Some((name.as_str(), *part)),
        })
    }

    /// The sentence with values; `-` stands for one that there is not.
    pub(crate) fn filled<'a>(&self, of: &dyn Fn(&str) -> Option<&'a Value<'a>>) -> String {
        let field = |name: &str, part: Part| -> Option<String> {
            let value = of(name)?;
            match part {
                Part::Value => Some(shown(value.number, value.unit)),
                Part::At => value.at.map(str::to_owned),
                Part::Name => value.name.map(str::to_owned),
                Part::Call => value.name.map(str::to_ascii_lowercase),
            }
        };
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Field(name, part) => {
                    text.push_str(&printable(
                        &field(name, *part).unwrap_or_else(|| format::NONE.to_owned()),
                    ));
                }
            }
        }
        text
    }
}

/// The sentence as it was written.
impl std::fmt::Display for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => f.write_str(text)?,
                Piece::Field(name, Part::Value) => write!(f, "{{{name}}}")?,
                Piece::Field(name, part) => write!(f, "{{{name}.{}}}", part.word())?,
            }
        }
        Ok(())
    }
}

/// A value with its unit.
pub(crate) fn shown(number: f64, unit: Unit) -> String {
    match unit {
        Unit::Count => rounded(number),
        Unit::Bytes if number.abs() < 1e7 => format!("{} B", rounded(number)),
        Unit::Bytes if number.abs() < 1e10 => format!("{:.1} MiB", number / f64::from(1 << 20)),
        Unit::Bytes => format!("{:.1} GiB", number / f64::from(1 << 30)),
        Unit::Seconds => format::seconds(number),
        Unit::Share => format::percent(number),
        Unit::Ratio => format::ratio(number),
    }
}

/// A whole number as it is, another one with a decimal.
fn rounded(number: f64) -> String {
    if !number.is_finite() {
        format::NONE.to_owned()
    } else if number.fract() == 0.0 || number.abs() >= 1000.0 {
        format!("{number:.0}")
    } else {
        format!("{number:.1}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_filled() {
        let value = Value {
            number: 5672.0,
            unit: Unit::Count,
            at: Some("rank 3"),
            name: Some("Allreduce"),
            seen: None,
        };
        let template = Template::parse("{n} retries on {n.at}, {n.name}: --functions {n.call}, {other}").unwrap();
        let text = template.filled(&|name| (name == "n").then_some(&value));
        assert_eq!(text, "5672 retries on rank 3, Allreduce: --functions allreduce, -");
        assert_eq!(template.fields().count(), 5);
        assert_eq!(
            template.to_string(),
            "{n} retries on {n.at}, {n.name}: --functions {n.call}, {other}"
        );
        for (wrong, why) in [
            ("{n", "a `{` has no `}`; a quantity stands as `{name}`"),
            (
                "{n.worst}",
                "`{n.worst}` has no part `worst`; allowed: {n}, or with .at, .name, .call",
            ),
        ] {
            assert_eq!(Template::parse(wrong).unwrap_err().to_string(), why);
        }
    }

    #[test]
    fn values_have_their_unit() {
        let text: Vec<String> = [
            (15_756_000.0, Unit::Bytes),
            (2478.5, Unit::Bytes),
            (3e12, Unit::Bytes),
            (20.7, Unit::Seconds),
            (0.094, Unit::Share),
            (2.5, Unit::Ratio),
            (0.5, Unit::Count),
            (f64::NAN, Unit::Count),
        ]
        .into_iter()
        .map(|(number, unit)| shown(number, unit))
        .collect();
        assert_eq!(
            text,
            [
                "15.0 MiB",
                "2478 B",
                "2794.0 GiB",
                "20.7 s",
                "9.4 %",
                "2.50",
                "0.5",
                "-"
            ]
        );
    }
}
