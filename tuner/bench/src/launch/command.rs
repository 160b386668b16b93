//! The launcher's command line, built from data.

use std::fmt;
use std::path::PathBuf;

/// A command: program, arguments, additions to the environment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandSpec {
    /// Program and arguments; never empty in a command that can be run.
    pub argv: Vec<String>,
    /// Variables for the launcher itself, in addition to the tuner's own environment.
    pub environment: Vec<(String, String)>,
}

impl CommandSpec {
    /// The same with further arguments.
    #[must_use]
    pub fn with_arguments<I: IntoIterator<Item = S>, S: Into<String>>(mut self, arguments: I) -> CommandSpec {
        self.argv.extend(arguments.into_iter().map(Into::into));
        self
    }
}

impl fmt::Display for CommandSpec {
    /// The command as one could type it into a shell.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        let mut word = |text: &dyn fmt::Display| {
            let space = if std::mem::take(&mut first) { "" } else { " " };
            write!(f, "{space}{text}")
        };
        for (name, value) in &self.environment {
            word(&format_args!("{name}={}", quote(value)))?;
        }
        for argument in &self.argv {
            word(&quote(argument))?;
        }
        Ok(())
    }
}

/// Quotes a word for a POSIX shell if it needs quotes.
#[must_use]
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Template of a launcher's command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandTemplate {
    /// The launcher.
    pub program: PathBuf,
    /// Its first arguments; `{ranks}` stands for the number of ranks, for example `-n`, `{ranks}`.
    pub arguments_before: Vec<String>,
    /// Word that follows once for each rank, for launchers that want the name of a host for each.
    pub for_each_rank: Option<String>,
    /// Words before parameters and variables, if there are any, such as `env`.
    pub before_variables: Vec<String>,
    /// Form of a library parameter, with `{name}` and `{value}`, for example `--mca`, `{name}`, `{value}`. Empty if it
    /// cannot be given, or is a variable like those of `environment_form`.
    pub parameter_form: Vec<String>,
    /// Form of an environment variable for the ranks, for example `-x`, `{name}={value}`. Empty if the launcher hands
    /// on its own environment, in which the variable is then set.
    pub environment_form: Vec<String>,
}

/// A template that cannot make the command asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The template has no place for the number of ranks.
    #[error("the arguments of launcher `{0}` have no `{{ranks}}`; add for example `-n`, `{{ranks}}`")]
    NoRanks(String),
    /// The form lacks a placeholder.
    #[error("the {form} of launcher `{program}` has no `{placeholder}`")]
    NoPlaceholder {
        /// Launcher.
        program: String,
        /// The incomplete form.
        form: &'static str,
        /// The missing placeholder.
        placeholder: &'static str,
    },
    /// The template has no form for parameters.
    #[error("parameter `{name}` cannot be set: launcher `{program}` has no form for parameters")]
    NoParameters {
        /// Launcher.
        program: String,
        /// Parameter.
        name: String,
    },
    /// An argument holds a character that none can hold.
    #[error("`{0}` contains a NUL character")]
    Nul(String),
}

impl CommandTemplate {
    /// Builds the command that starts `ranks` ranks of a program under parameters and environment.
    ///
    /// A name that is given several times has its last value, at its first place. Entries of `LD_PRELOAD` are joined
    /// with `:` in their order. Errors are an incomplete template and a NUL character in a value.
    pub fn build(
        &self,
        ranks: usize,
        parameters: &[(String, String)],
        environment: &[(String, String)],
        program_and_args: &[String],
    ) -> Result<CommandSpec, TemplateError> {
        let program = self.program.to_string_lossy().into_owned();
        if !self
            .arguments_before
            .iter()
            .any(|argument| argument.contains("{ranks}"))
        {
            return Err(TemplateError::NoRanks(program));
        }
        let mut own = Vec::new();
        let mut argv = vec![program.clone()];
        argv.extend(
            self.arguments_before
                .iter()
                .map(|argument| argument.replace("{ranks}", &ranks.to_string())),
        );
        argv.extend(self.for_each_rank.iter().flat_map(|word| vec![word.clone(); ranks]));
        if !parameters.is_empty() || !environment.is_empty() {
            argv.extend(self.before_variables.iter().cloned());
        }
        for (name, value) in merged(parameters) {
            if self.parameter_form.is_empty() && self.environment_form.is_empty() {
                // A library whose parameters are variables, and a launcher that hands its own on.
                own.push((name, value));
                continue;
            }
            if self.parameter_form.is_empty() {
                return Err(TemplateError::NoParameters { program, name });
            }
            argv.extend(self.fill("parameter form", &self.parameter_form, &name, &value)?);
        }
        for (name, value) in merged(environment) {
            if self.environment_form.is_empty() {
                own.push((name, value));
            } else {
                argv.extend(self.fill("environment form", &self.environment_form, &name, &value)?);
            }
        }
        argv.extend(program_and_args.iter().cloned());
        let own_words = own.iter().flat_map(|(name, value)| [name, value]);
        if let Some(word) = argv.iter().chain(own_words).find(|word| word.contains('\0')) {
            return Err(TemplateError::Nul(word.replace('\0', "\\0")));
        }
        Ok(CommandSpec { argv, environment: own })
    }

    fn fill(&self, what: &'static str, form: &[String], name: &str, value: &str) -> Result<Vec<String>, TemplateError> {
        for placeholder in ["{name}", "{value}"] {
            if !form.iter().any(|part| part.contains(placeholder)) {
                let program = self.program.to_string_lossy().into_owned();
                return Err(TemplateError::NoPlaceholder {
                    program,
                    form: what,
                    placeholder,
                });
            }
        }
        Ok(form.iter().map(|part| fill_part(part, name, value)).collect())
    }
}

/// Puts name and value into one part. Placeholders within them are left alone.
fn fill_part(part: &str, name: &str, value: &str) -> String {
    let mut filled = String::new();
    let mut rest = part;
    while let Some(open) = rest.find('{') {
        filled.push_str(&rest[..open]);
        rest = &rest[open..];
        if let Some(after) = rest.strip_prefix("{name}") {
            filled.push_str(name);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("{value}") {
            filled.push_str(value);
            rest = after;
        } else {
            filled.push('{');
            rest = &rest[1..];
        }
    }
    filled + rest
}

/// Pairs with each name once.
fn merged(pairs: &[(String, String)]) -> Vec<(String, String)> {
    let mut merged: Vec<(String, String)> = Vec::new();
    for (name, value) in pairs {
        match merged.iter_mut().find(|(known, _)| known == name) {
            None => merged.push((name.clone(), value.clone())),
            Some((known, old)) if known == "LD_PRELOAD" && !old.is_empty() => {
                if !value.is_empty() {
                    old.push(':');
                    old.push_str(value);
                }
            }
            Some((_, old)) => old.clone_from(value),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn pairs(words: &[(&str, &str)]) -> Vec<(String, String)> {
        words
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn open_mpi() -> CommandTemplate {
        CommandTemplate {
            program: "mpirun".into(),
            arguments_before: strings(&["--oversubscribe", "-n", "{ranks}"]),
            for_each_rank: None,
            before_variables: Vec::new(),
            parameter_form: strings(&["--mca", "{name}", "{value}"]),
            environment_form: strings(&["-x", "{name}={value}"]),
        }
    }

    #[test]
    fn open_mpi_command_line() {
        let environment = pairs(&[("LD_PRELOAD", "a.so"), ("X", "1"), ("LD_PRELOAD", "b.so"), ("X", "2")]);
        let command = open_mpi()
            .build(
                4,
                &pairs(&[("btl", "tcp,self"), ("x", "{name}")]),
                &environment,
                &strings(&["w", "a b"]),
            )
            .unwrap();
        assert_eq!(
            command.to_string(),
            "mpirun --oversubscribe -n 4 --mca btl tcp,self --mca x '{name}' -x LD_PRELOAD=a.so:b.so -x X=2 w 'a b'"
        );
    }

    #[test]
    fn without_a_form_the_launcher_hands_its_environment_on() {
        let template = CommandTemplate {
            environment_form: Vec::new(),
            ..open_mpi()
        };
        let command = template.build(1, &[], &pairs(&[("A", "it's")]), &[]).unwrap();
        assert_eq!(command.environment, pairs(&[("A", "it's")]));
        assert_eq!(command.to_string(), r"A='it'\''s' mpirun --oversubscribe -n 1");
    }

    #[test]
    fn incomplete_templates_say_what_is_missing() {
        let one = pairs(&[("a", "b")]);
        let no_ranks = CommandTemplate {
            arguments_before: Vec::new(),
            ..open_mpi()
        };
        assert!(
            no_ranks
                .build(1, &[], &[], &[])
                .unwrap_err()
                .to_string()
                .contains("{ranks}")
        );
        let no_parameters = CommandTemplate {
            parameter_form: Vec::new(),
            ..open_mpi()
        };
        assert!(
            no_parameters
                .build(1, &one, &[], &[])
                .unwrap_err()
                .to_string()
                .contains("`a`")
        );
        let no_value = CommandTemplate {
            parameter_form: strings(&["-p", "{name}"]),
            ..open_mpi()
        };
        assert!(
            no_value
                .build(1, &one, &[], &[])
                .unwrap_err()
                .to_string()
                .contains("{value}")
        );
        assert!(
            open_mpi()
                .build(1, &pairs(&[("a", "b\0c")]), &[], &[])
                .unwrap_err()
                .to_string()
                .contains("NUL")
        );
    }
}
