//! The environment file: `NAME='value'` lines that a POSIX shell reads with `.`, one variable a line.

use kilter_bench::launch::command::quote;

/// A line that is no assignment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("environment file, line {line}: {message}")]
pub struct EnvironmentError {
    /// Line, from 1; 0 when the text is being written.
    pub line: usize,
    /// The mistake.
    pub message: String,
}

/// The file's text.
///
/// # Errors
/// A name that is no shell variable, or a value with a line break.
pub fn to_text(variables: &[(String, String)]) -> Result<String, EnvironmentError> {
    let mut text =
        String::from("# Environment of the ranks, written by kilter. See README.txt for how to pass it on.\n");
    for (name, value) in variables {
        let first = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        if !first || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') || value.contains(['\n', '\0']) {
            return Err(EnvironmentError {
                line: 0,
                message: format!("`{name}={value}` is no variable a shell can read"),
            });
        }
        text.push_str(&format!("{name}={}\n", quote(value)));
    }
    Ok(text)
}

/// Reads the file as a shell does, as far as [`to_text`] writes.
///
/// # Errors
/// A line that is no assignment, or an open quote.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, EnvironmentError> {
    let mut variables = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = |message: &str| EnvironmentError {
            line: index + 1,
            message: format!("`{line}` {message}"),
        };
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, quoted) = line.split_once('=').ok_or_else(|| wrong("is not NAME=VALUE"))?;
        let mut value = String::new();
        let mut rest = quoted.chars();
        let mut inside = false;
        while let Some(c) = rest.next() {
            match c {
                '\'' => inside = !inside,
                '\\' if !inside => value.push(rest.next().ok_or_else(|| wrong("ends in a backslash"))?),
                _ => value.push(c),
            }
        }
        if inside {
            return Err(wrong("has an open quote"));
        }
        variables.push((name.to_owned(), value));
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(values in prop::collection::btree_map("[A-Z_][A-Z0-9_]{0,9}", "[^\\n\\x00]{0,20}", 0..6)) {
            let variables: Vec<_> = values.into_iter().collect();
            let text = to_text(&variables).unwrap();
            prop_assume!(!text.contains('\r'));
            prop_assert_eq!(parse(&text).unwrap(), variables);
        }
    }

    #[test]
    fn a_real_shell_reads_the_same() {
        let variables = vec![
            ("A_B".to_owned(), "it's $HOME `x` \"y\" \\ z".to_owned()),
            ("C".to_owned(), String::new()),
        ];
        let text = to_text(&variables).unwrap();
        let script = format!("{text}\nprintf '%s|%s' \"$A_B\" \"$C\"");
        let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            format!("{}|", variables[0].1)
        );
    }
}
