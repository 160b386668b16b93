//! Open MPI's MCA parameter file: `name = value` lines, `#` to the end of the line is a comment; and parameters as variables.

use crate::site_file::Pairs;

/// The beginning of a variable that sets a parameter.
const VARIABLE: &str = "OMPI_MCA_";

/// The file's text.
///
/// # Errors
/// A name or value that the file cannot carry.
pub fn to_text(parameters: &[(String, String)]) -> Result<String, McaError> {
    let mut text = String::from(
        "# Parameters of Open MPI, written by kilter. Add these lines to the site's or the user's own file, or name this file\n\
         # in OMPI_MCA_mca_base_param_files together with the site's: it replaces nothing by itself.\n",
    );
    for (name, value) in parameters {
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let carried = !value.contains(['\n', '\r', '#', '"', '\'', '\\']) && value.trim() == value && !value.is_empty();
        if !plain || !carried {
            return Err(McaError {
                line: 0,
                message: format!("`{name} = {value}` cannot be written in a parameter file"),
            });
        }
        text.push_str(&format!("{name} = {value}\n"));
    }
    Ok(text)
}

/// The parameters as variables of the environment, which Open MPI lets win over its files.
#[must_use]
pub fn as_environment(parameters: &[(String, String)]) -> Vec<(String, String)> {
    parameters
        .iter()
        .map(|(name, value)| (format!("{VARIABLE}{name}"), value.clone()))
        .collect()
}

/// The parameters among variables of the environment, by their own names, and the other variables.
#[must_use]
pub fn of_environment(variables: Pairs) -> (Pairs, Pairs) {
    let (mut parameters, mut others) = (Vec::new(), Vec::new());
    for (variable, value) in variables {
        match variable.strip_prefix(VARIABLE) {
            Some(name) => parameters.push((name.to_owned(), value)),
            None => others.push((variable, value)),
        }
    }
    (parameters, others)
}

/// A line that Open MPI would misread.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("MCA parameter file, line {line}: {message}")]
pub struct McaError {
    /// Line, from 1; 0 when the text is being written.
    pub line: usize,
    /// The mistake.
    pub message: String,
}

/// Reads a file as Open MPI does; later lines win.
///
/// # Errors
/// A line that is no assignment.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, McaError> {
    let mut parameters: Vec<(String, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split_once('#').map_or(line, |(before, _)| before).trim();
        if line.is_empty() {
            continue;
        }
        let (name, value) = line.split_once('=').ok_or_else(|| McaError {
            line: index + 1,
            message: format!("`{line}` is not `name = value`"),
        })?;
        let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
        parameters.retain(|(known, _)| *known != name);
        parameters.push((name, value));
    }
    Ok(parameters)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_cannot_be_carried_is_refused() {
        for (name, value) in [
            ("a b", "1"),
            ("", "1"),
            ("a", "1 # 2"),
            ("a", "x\ny"),
            ("a", " 1"),
            ("a", ""),
        ] {
            assert!(
                to_text(&[(name.to_owned(), value.to_owned())]).is_err(),
                "{name}={value}"
            );
        }
    }

    #[test]
    fn a_line_without_an_assignment_is_named() {
        assert_eq!(parse("a = 1\n\n# c\nb\n").unwrap_err().line, 4);
    }

    #[test]
    fn parameters_among_variables_are_told_by_their_names() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let parameters = vec![pair("btl", "self,tcp"), pair("a", "1")];
        let others = vec![pair("MALLOC_X", "2"), pair("XOMPI_MCA_a", "3")];
        let all = [others.as_slice(), &as_environment(&parameters)].concat();
        assert_eq!(of_environment(all), (parameters, others));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(values in prop::collection::btree_map("[a-z_]{1,9}", "[a-zA-Z0-9^,./:=-]{1,12}", 0..6)) {
            let parameters: Vec<_> = values.into_iter().collect();
            prop_assert_eq!(parse(&to_text(&parameters).unwrap()).unwrap(), parameters);
        }
    }
}
