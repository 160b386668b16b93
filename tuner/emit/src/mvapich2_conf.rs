//! MVAPICH2's file of variables.
//!
//! Its reader, as the source of 2.3.7 has it: lines `NAME = VALUE`, `#` begins a comment at the beginning of a line alone, a line
//! has less than 8192 bytes, neither side is empty. Each line sets a variable that is not there yet, so the environment wins over
//! files, the user's file over the system's, and in a file the first of two lines. A line it cannot read ends the program.

use super::comments;

/// Name of the file.
pub const PARAMETERS: &str = "mvapich2.conf";
/// Bytes that the reader takes of a line.
const LINE: usize = 8192;

/// A line that the library would misread.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{PARAMETERS}, line {line}: {message}")]
pub struct Mvapich2Error {
    /// Line, from 1; 0 when the text is being written.
    pub line: usize,
    /// The mistake.
    pub message: String,
}

/// The file's text.
///
/// # Errors
/// A name or value that the file cannot carry.
pub fn to_text(parameters: &[(String, String)]) -> Result<String, Mvapich2Error> {
    let mut text = comments(&[
        "Variables of MVAPICH2, written by kilter. Add these lines to /etc/mvapich2.conf or ~/.mvapich2.conf, or name this file in".to_owned(),
        "MV2_USER_CONFIG, which replaces ~/.mvapich2.conf; it must be readable on every node.".to_owned(),
    ]);
    for (index, (name, value)) in parameters.iter().enumerate() {
        let wrong = |message: &str| Mvapich2Error {
            line: 0,
            message: format!("`{name} = {value}` {message}"),
        };
        let line = format!("{name} = {value}\n");
        let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !plain || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(wrong("names no variable: letters, digits and `_`"));
        }
        if value.is_empty() || value.trim() != value || value.chars().any(char::is_control) || line.len() >= LINE {
            return Err(wrong(
                "cannot be carried: a value is one line, not empty, without blanks around it",
            ));
        }
        if parameters[..index].iter().any(|(other, _)| other == name) {
            return Err(wrong("stands there twice: the library takes the first one"));
        }
        text.push_str(&line);
    }
    Ok(text)
}

/// Reads a file as the library does; the first of two lines wins.
///
/// # Errors
/// A line that ends programs.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, Mvapich2Error> {
    // C's white space; all of it is ASCII.
    let blank = |c: char| matches!(c, ' ' | '\t'..='\r');
    let mut parameters: Vec<(String, String)> = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        let wrong = |message: &str| Mvapich2Error {
            line: index + 1,
            message: format!("`{line}` {message}"),
        };
        if line.len() + 1 >= LINE {
            return Err(wrong("is too long: less than 8191 bytes are read"));
        }
        let line = line.trim_matches(blank);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let pair = line.split_once('=');
        let pair = pair.map(|(name, value)| (name.trim_matches(blank), value.trim_matches(blank)));
        let (name, value) = pair
            .filter(|(name, value)| !name.is_empty() && !value.is_empty())
            .ok_or_else(|| wrong("is not `NAME = VALUE`, and the library ends the program"))?;
        if !parameters.iter().any(|(known, _)| known == name) {
            parameters.push((name.to_owned(), value.to_owned()));
        }
    }
    Ok(parameters)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(values in prop::collection::btree_map("MV2_[A-Z0-9_]{1,9}", "[ -~]{0,20}", 0..6)) {
            let parameters: Vec<_> = values.into_iter().collect();
            match to_text(&parameters) {
                Ok(text) => prop_assert_eq!(parse(&text).unwrap(), parameters),
                // Nothing but what no line can hold.
                Err(_) => prop_assert!(parameters.iter().any(|(_, value)| value.is_empty() || value.trim() != value)),
            }
        }
    }

    #[test]
    fn the_file_is_read_as_the_library_reads_it() {
        let text = "# comment\n\n  MV2_A=1:0-16384,5:16385-+ \n\tMV2_B = a # b\nMV2_A = 2\nMV2_C = x=y";
        let pairs = [("MV2_A", "1:0-16384,5:16385-+"), ("MV2_B", "a # b"), ("MV2_C", "x=y")];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(parse(text).unwrap(), pairs);
        for (text, line) in [("MV2_A", 1), ("\nMV2_A =", 2), ("= 1", 1), (&*"x".repeat(9000), 1)] {
            assert_eq!(parse(text).unwrap_err().line, line, "{text}");
        }
    }

    #[test]
    fn what_the_file_cannot_carry_is_refused() {
        let refused = |pairs: &[(&str, &str)]| {
            let pairs: Vec<_> = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            to_text(&pairs).unwrap_err().to_string()
        };
        assert!(refused(&[("MV2_A", "1"), ("MV2_A", "2")]).contains("twice"));
        for (name, value) in [
            ("MV2_A", ""),
            ("MV2_A", " 1"),
            ("MV2_A", "1\n2"),
            ("MV2 A", "1"),
            ("#A", "1"),
        ] {
            refused(&[(name, value)]);
        }
    }
}
