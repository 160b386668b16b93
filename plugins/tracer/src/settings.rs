//! The environment.

use std::ffi::OsString;
use std::path::PathBuf;

use kilter_protocol::calls::{DIRECTORY_VARIABLE, MAX_MEMORY_MIB, MEMORY_MIB, MEMORY_VARIABLE};
use kilter_protocol::trace::{
    self, HASH_MIB, HASH_VARIABLE, LIMIT_MIB, LIMIT_VARIABLE, LIMITS_MIB, MAX_HASH_MIB, WHEN_FULL_VARIABLE, WhenFull,
};

/// The environment, understood. At least one of both jobs is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) counts: Option<Counts>,
    pub(crate) trace: Option<Trace>,
}

/// Settings of the counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Directory of the ranks' files.
    pub(crate) directory: PathBuf,
    /// Bytes of memory for the counts.
    pub(crate) memory: usize,
}

/// Settings of the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trace {
    /// Directory of the ranks' files.
    pub(crate) directory: PathBuf,
    /// Bytes that the file may have.
    pub(crate) limit: usize,
    /// Behaviour of a full file.
    pub(crate) when_full: WhenFull,
    /// Bytes of a payload that are hashed at most.
    pub(crate) hash_limit: usize,
}

impl Settings {
    /// Reads the variables; an empty one counts as unset. The error names a wrong variable, its value, and what is allowed.
    pub(crate) fn from(variable: impl Fn(&str) -> Option<OsString>) -> Result<Settings, String> {
        let read = |name: &str| variable(name).filter(|value| !value.is_empty());
        let mebibytes = |name: &str, default: usize, (least, most): (usize, usize)| match read(name) {
            None => Ok(default << 20),
            Some(value) => {
                let value = value.to_string_lossy().into_owned();
                let number = value.trim().parse::<usize>().ok();
                number
                    .filter(|number| (least..=most).contains(number))
                    .map(|number| number << 20)
                    .ok_or_else(|| format!("{name} is `{value}`; allowed: {least} to {most} (MiB)"))
            }
        };
        let counts = match read(DIRECTORY_VARIABLE) {
            None => None,
            Some(directory) => Some(Counts {
                directory: directory.into(),
                memory: mebibytes(MEMORY_VARIABLE, MEMORY_MIB, (1, MAX_MEMORY_MIB))?,
            }),
        };
        let trace = match read(trace::DIRECTORY_VARIABLE) {
            None => None,
            Some(directory) => Some(Trace {
                directory: directory.into(),
                limit: mebibytes(LIMIT_VARIABLE, LIMIT_MIB, LIMITS_MIB)?,
                when_full: when_full(read(WHEN_FULL_VARIABLE))?,
                hash_limit: mebibytes(HASH_VARIABLE, HASH_MIB, (0, MAX_HASH_MIB))?,
            }),
        };
        if counts.is_none() && trace.is_none() {
            return Err(format!(
                "libkilter_tracer.so is loaded, but neither {DIRECTORY_VARIABLE} nor {} names a directory; `kilter profile -- COMMAND` and \
                 `kilter trace -- COMMAND` set them",
                trace::DIRECTORY_VARIABLE
            ));
        }
        Ok(Settings { counts, trace })
    }
}

fn when_full(value: Option<OsString>) -> Result<WhenFull, String> {
    let Some(value) = value else {
        return Ok(WhenFull::default());
    };
    let value = value.to_string_lossy().into_owned();
    WhenFull::of(value.trim()).ok_or_else(|| format!("{WHEN_FULL_VARIABLE} is `{value}`; allowed: stop, ring"))
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
        assert_eq!(plain.trace, None);
        let counts = plain.counts.unwrap();
        assert_eq!((counts.directory, counts.memory), (PathBuf::from("/calls"), 16 << 20));
        let memory = settings(&[directory, (MEMORY_VARIABLE, "2")]).unwrap();
        assert_eq!(memory.counts.unwrap().memory, 2 << 20);
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

    #[test]
    fn traces_have_variables_of_their_own() {
        let directory = (trace::DIRECTORY_VARIABLE, "/trace");
        let plain = settings(&[directory]).unwrap();
        assert_eq!(plain.counts, None);
        let trace = plain.trace.unwrap();
        assert_eq!((trace.limit, trace.hash_limit), (256 << 20, 16 << 20));
        assert_eq!(trace.when_full, WhenFull::Stop);
        let other = settings(&[directory, (WHEN_FULL_VARIABLE, "ring"), (HASH_VARIABLE, "0")]).unwrap();
        let trace = other.trace.unwrap();
        assert_eq!((trace.when_full, trace.hash_limit), (WhenFull::Ring, 0));
        for (name, wrong, allowed) in [
            (LIMIT_VARIABLE, "0", "1 to 1048576"),
            (WHEN_FULL_VARIABLE, "wait", "stop, ring"),
            (HASH_VARIABLE, "x", "0 to 65536"),
        ] {
            let error = settings(&[directory, (name, wrong)]).unwrap_err();
            assert!(
                [name, wrong, allowed].iter().all(|part| error.contains(part)),
                "{error}"
            );
        }
    }
}
