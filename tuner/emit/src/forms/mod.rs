//! The environment of a deployment in the forms in which sites hand it to jobs: a shell fragment, module files, a Slurm prolog.
//!
//! Each form quotes for its own reader; the tests hand nasty values to the real ones. A value that not every form could carry is
//! refused before any is written, so that all of them say the same.

mod lua;
mod shell;
mod slurm;
mod tcl;

/// The variable that loads shared objects into every program.
pub const PRELOAD: &str = "LD_PRELOAD";

/// A form.
#[derive(Debug)]
pub struct Form {
    /// The file's name in a staging directory.
    pub file: &'static str,
    /// Place at which `kilter apply` puts it, below its share directory, with `{library}`.
    pub applied: &'static str,
    /// Its mode: a prolog is run, all others are read.
    pub mode: u32,
    /// Description for the README.
    pub what: &'static str,
    /// Writes it.
    pub text: fn(&Exported) -> String,
}

/// All forms.
pub static FORMS: &[Form] = &[shell::FORM, tcl::FORM, lua::FORM, slurm::FORM];

/// Variables that a form carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    title: Vec<String>,
    variables: Vec<(String, String)>,
    preload: Vec<String>,
    daemons: &'static [Daemon],
}

/// Program that a launcher starts on other hosts, which over ssh have the hosts' own environment and hand that to their ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Daemon {
    /// The variable that names the command which starts it.
    pub variable: &'static str,
    /// The default command.
    pub command: &'static str,
    /// Beginnings of variables that the launcher hands on by itself.
    pub handed_on: &'static [&'static str],
}

/// A variable that not every form can carry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}={value}` cannot be handed to a job: {message}")]
pub struct FormError {
    /// Name of the variable.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The reason, and the allowed values.
    pub message: &'static str,
}

impl Exported {
    /// Variables under a title of a few lines. The entries of `LD_PRELOAD` are put before those that a job already has there; all other
    /// variables are set.
    ///
    /// # Errors
    /// A name that is no variable of a shell, a value of more than one line, or a shared object that `LD_PRELOAD` cannot name.
    pub fn new(title: &[String], variables: &[(String, String)]) -> Result<Exported, FormError> {
        let mut exported = Exported {
            title: title.iter().map(|line| one_line(line)).collect(),
            variables: Vec::new(),
            preload: Vec::new(),
            daemons: &[],
        };
        for (name, value) in variables {
            let wrong = |message| FormError {
                name: name.clone(),
                value: value.clone(),
                message,
            };
            let first = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
            if !first || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                return Err(wrong("a name has letters, digits and `_` only"));
            }
            // Tcl ends a file at ^Z, and no reader's output could carry a line break.
            if value.chars().any(|c| c.is_control() && c != '\t') {
                return Err(wrong("a value is one line without control characters"));
            }
            if name == PRELOAD {
                if value.contains(char::is_whitespace) {
                    return Err(wrong(
                        "the loader takes a blank for the end of a path; use a directory without one",
                    ));
                }
                exported
                    .preload
                    .extend(value.split(':').filter(|path| !path.is_empty()).map(str::to_owned));
            } else {
                exported.variables.push((name.clone(), value.clone()));
            }
        }
        Ok(exported)
    }

    /// Sets the launcher's daemons.
    #[must_use]
    pub fn with_daemons(self, daemons: &'static [Daemon]) -> Exported {
        Exported { daemons, ..self }
    }

    /// Prefix that each daemon's command needs so that the variables reach ranks of other hosts: `env NAME=value ...`. `None` if there is
    /// nothing to hand on, or if a value has more than letters, digits and a path's signs, since launchers take the command apart at blanks and
    /// a shell of the other host reads it.
    fn started_with(&self, preload: bool) -> Option<String> {
        let handed_on = |name: &str| {
            let mut begins = self.daemons.iter().flat_map(|daemon| daemon.handed_on);
            begins.any(|begin| name.starts_with(begin))
        };
        let own = self.variables.iter().filter(|(name, _)| !handed_on(name));
        let mut words: Vec<String> = own.map(|(name, value)| format!("{name}={value}")).collect();
        if preload && !self.preload.is_empty() {
            words.push(format!("{PRELOAD}={}", self.preload.join(":")));
        }
        let is_plain = |word: &String| {
            word.chars()
                .all(|c| c.is_ascii_alphanumeric() || "_=/.:,@%+-".contains(c))
        };
        let is_carried = !self.daemons.is_empty() && !words.is_empty() && words.iter().all(is_plain);
        is_carried.then(|| format!("env {}", words.join(" ")))
    }

    /// True if there is nothing to hand to a job.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.variables.is_empty() && self.preload.is_empty()
    }

    /// The title as comments.
    fn comments(&self, sign: &str) -> String {
        self.title.iter().map(|line| format!("{sign} {line}\n")).collect()
    }

    /// The title's first line.
    fn whatis(&self) -> &str {
        self.title.first().map_or("Settings of kilter", String::as_str)
    }
}

/// Removes everything that would end a comment.
pub(crate) fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests;
