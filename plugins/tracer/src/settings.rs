//! The environment.

use std::ffi::OsString;
use std::path::PathBuf;

use kilter_mpi::environment::{Variables, WrongValue};
use kilter_protocol::calls::{DIRECTORY_VARIABLE, MAX_MEMORY_MIB, MEMORY_MIB, MEMORY_VARIABLE};
use kilter_protocol::sampling::{self, INTERVAL, MAX_INTERVAL};
use kilter_protocol::trace::{
    self, CLOCKS_VARIABLE, Clocks, HASH_MIB, HASH_VARIABLE, LIMIT_MIB, LIMIT_VARIABLE, LIMITS_MIB, MAX_HASH_MIB,
    WHEN_FULL_VARIABLE, WhenFull,
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
    /// One collective call in so many is sampled; none if it is 0.
    pub(crate) interval: u32,
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
    /// Source of one time for several hosts.
    pub(crate) clocks: Clocks,
}

impl Settings {
    /// Reads the variables; an empty one counts as unset.
    pub(crate) fn from(variable: impl Fn(&str) -> Option<OsString>) -> Result<Settings, SettingsError> {
        let variables = Variables(variable);
        let mebibytes = |name, default: usize, (least, most): (usize, usize)| -> Result<usize, WrongValue> {
            let number = variables.number(name, &(least as u64..=most as u64), "MiB")?;
            Ok(number.map_or(default, |number| usize::try_from(number).unwrap_or(usize::MAX)) << 20)
        };
        let counts = match variables.raw(DIRECTORY_VARIABLE) {
            None => None,
            Some(directory) => Some(Counts {
                directory: directory.into(),
                memory: mebibytes(MEMORY_VARIABLE, MEMORY_MIB, (1, MAX_MEMORY_MIB))?,
                interval: variables
                    .number(sampling::VARIABLE, &(0..=u64::from(MAX_INTERVAL)), "calls")?
                    .map_or(INTERVAL, |number| u32::try_from(number).unwrap_or(MAX_INTERVAL)),
            }),
        };
        let clocks = Clocks::ALL.map(|clocks| (clocks.word(), clocks));
        let full = WhenFull::ALL.map(|when| (when.word(), when));
        let trace = match variables.raw(trace::DIRECTORY_VARIABLE) {
            None => None,
            Some(directory) => Some(Trace {
                directory: directory.into(),
                limit: mebibytes(LIMIT_VARIABLE, LIMIT_MIB, LIMITS_MIB)?,
                when_full: variables.word(WHEN_FULL_VARIABLE, &full)?.unwrap_or_default(),
                hash_limit: mebibytes(HASH_VARIABLE, HASH_MIB, (0, MAX_HASH_MIB))?,
                clocks: variables.word(CLOCKS_VARIABLE, &clocks)?.unwrap_or_default(),
            }),
        };
        if counts.is_none() && trace.is_none() {
            return Err(SettingsError::Nothing);
        }
        Ok(Settings { counts, trace })
    }

    /// True if the ranks compare their clocks, for samples or for the trace.
    pub(crate) fn compares_clocks(&self) -> bool {
        let for_samples = self.counts.as_ref().is_some_and(|counts| counts.interval > 0);
        for_samples
            || self
                .trace
                .as_ref()
                .is_some_and(|trace| trace.clocks == Clocks::Compared)
    }
}

/// An environment in which nothing is recorded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    /// A variable is wrong.
    #[error(transparent)]
    Wrong(#[from] WrongValue),
    /// No directory is named.
    #[error(
        "libkilter_tracer.so is loaded, but neither {DIRECTORY_VARIABLE} nor {} names a directory; `kilter profile -- COMMAND` and \
         `kilter trace -- COMMAND` set them",
        trace::DIRECTORY_VARIABLE
    )]
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
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
        assert_eq!(counts.interval, INTERVAL);
        let none = settings(&[directory, (sampling::VARIABLE, "0")]).unwrap();
        assert_eq!(none.counts.unwrap().interval, 0);
        let error = settings(&[directory, (sampling::VARIABLE, "often")]).unwrap_err();
        assert!(error.to_string().contains("0 to 16777216"), "{error}");
        let memory = settings(&[directory, (MEMORY_VARIABLE, "2")]).unwrap();
        assert_eq!(memory.counts.unwrap().memory, 2 << 20);
        for wrong in ["0", "-1", "4097", "many"] {
            let error = settings(&[directory, (MEMORY_VARIABLE, wrong)])
                .unwrap_err()
                .to_string();
            assert!(error.contains(wrong) && error.contains("1 to 4096"), "{error}");
        }
        assert!(
            settings(&[(DIRECTORY_VARIABLE, "")])
                .unwrap_err()
                .to_string()
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
        assert_eq!((trace.when_full, trace.clocks), (WhenFull::Stop, Clocks::Day));
        let other = settings(&[directory, (WHEN_FULL_VARIABLE, "ring"), (HASH_VARIABLE, "0")]).unwrap();
        let trace = other.trace.unwrap();
        assert_eq!((trace.when_full, trace.hash_limit), (WhenFull::Ring, 0));
        for (name, wrong, allowed) in [
            (LIMIT_VARIABLE, "0", "1 to 1048576"),
            (WHEN_FULL_VARIABLE, "wait", "stop, ring"),
            (CLOCKS_VARIABLE, "none", "day, compared"),
            (HASH_VARIABLE, "x", "0 to 65536"),
        ] {
            let error = settings(&[directory, (name, wrong)]).unwrap_err().to_string();
            assert!(
                [name, wrong, allowed].iter().all(|part| error.contains(part)),
                "{error}"
            );
        }
    }
}
