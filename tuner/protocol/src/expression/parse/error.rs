//! Errors of the parser: what stood where, and what is allowed there.

use std::fmt;

use winnow::error::ParserError;

/// A text that is no guideline expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    /// The whole text.
    pub text: String,
    /// Byte offset of the error in `text`; `text.len()` if something is missing at the end.
    pub at: usize,
    /// The error.
    pub message: String,
    /// Words allowed there.
    pub allowed: String,
}

impl ExpressionError {
    pub(super) fn new(text: &str, fault: Fault) -> Self {
        let at = text.len().saturating_sub(fault.remaining);
        ExpressionError {
            text: text.to_owned(),
            at,
            message: fault.message,
            allowed: fault.allowed,
        }
    }

    /// The column of the error, in characters, from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.text.char_indices().take_while(|(at, _)| *at < self.at).count() + 1
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One line of text above the caret, whatever white space the source had.
        let line: String = self
            .text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        writeln!(f, "guideline expression, column {}: {}", self.column(), self.message)?;
        writeln!(f, "  {line}")?;
        writeln!(f, "  {:>1$}", '^', self.column())?;
        write!(f, "  allowed here: {}", self.allowed)
    }
}

impl std::error::Error for ExpressionError {}

/// Reason and place at which parsing stopped; `remaining` is the number of bytes from there to the end.
#[derive(Debug)]
pub(super) struct Fault {
    remaining: usize,
    message: String,
    allowed: String,
    /// True if a rule that knows the error raised it, rather than a token that did not match.
    refused: bool,
}

impl<'a> ParserError<&'a str> for Fault {
    type Inner = Self;

    fn from_input(input: &&'a str) -> Self {
        Fault {
            remaining: input.len(),
            message: String::new(),
            allowed: String::new(),
            refused: false,
        }
    }

    fn is_backtrack(&self) -> bool {
        !self.refused
    }

    fn into_inner(self) -> std::result::Result<Self::Inner, Self> {
        Ok(self)
    }
}

pub(super) fn refuse<T>(at: &str, message: impl Into<String>, allowed: impl Into<String>) -> Result<T, Fault> {
    Err(Fault {
        remaining: at.len(),
        message: message.into(),
        allowed: allowed.into(),
        refused: true,
    })
}

/// The word at the start of `rest`, for a message.
pub(super) fn found(rest: &str) -> String {
    let word: String = rest
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
        .take(40)
        .collect();
    match rest.chars().next() {
        None => "the end".to_owned(),
        Some(sign) if word.is_empty() => format!("`{}`", sign.escape_debug()),
        Some(_) => format!("`{word}`"),
    }
}
