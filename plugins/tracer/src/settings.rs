//! The environment.

use std::ffi::OsString;
use std::path::PathBuf;

use kilter_protocol::calls::{DIRECTORY_VARIABLE, MAX_MEMORY_MIB, MEMORY_MIB, MEMORY_VARIABLE};

/// The environment, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Directory of the ranks' files.
    pub(crate) directory: PathBuf,
    /// Bytes of memory for the counts.
    pub(crate) memory: usize,
}

impl Settings {
    /// Reads the variables; an empty one counts as unset. The error names a wrong variable, its value, and what is allowed.
    pub(crate) fn from(variable: impl Fn(&str) -> Option<OsString>) -> Result<Settings, String> {
        let read = |name: &str| variable(name).filter(|value| !value.is_empty());
        let Some(directory) = read(DIRECTORY_VARIABLE) else {
            return Err(format!(
                "libkilter_tracer.so is loaded, but {DIRECTORY_VARIABLE} does not name a directory; `kilter profile -- COMMAND` sets it"
            ));
        };
        let memory = match read(MEMORY_VARIABLE) {
            None => MEMORY_MIB,
            Some(value) => {
                let value = value.to_string_lossy().into_owned();
                let number = value.trim().parse().ok();
                number
                    .filter(|number| (1..=MAX_MEMORY_MIB).contains(number))
                    .ok_or_else(|| format!("{MEMORY_VARIABLE} is `{value}`; allowed: 1 to {MAX_MEMORY_MIB} (MiB)"))?
            }
        };
        Ok(Settings {
            directory: directory.into(),
            memory: memory << 20,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::from(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_environment_decides() {
        let directory = (DIRECTORY_VARIABLE, "/calls");
        let plain = settings(&[directory]).unwrap();
        assert_eq!((plain.directory, plain.memory), (PathBuf::from("/calls"), 16 << 20));
        assert_eq!(settings(&[directory, (MEMORY_VARIABLE, "2")]).unwrap().memory, 2 << 20);
        for wrong in ["0", "-1", "4097", "many"] {
            let error = settings(&[directory, (MEMORY_VARIABLE, wrong)]).unwrap_err();
            assert!(error.contains(wrong) && error.contains("1 to 4096"), "{error}");
        }
        assert!(
            settings(&[(DIRECTORY_VARIABLE, "")])
                .unwrap_err()
                .contains(DIRECTORY_VARIABLE)
        );
    }
}
