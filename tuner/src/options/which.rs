//! Validated options of `which`.

use kilter_algorithms::Collective;
use kilter_model::options::{OptionError, Options, parse_sizes, wrong};

use super::measuring;
use crate::cli;
use crate::which::Asked;
use crate::which::command::{self, Launched};

/// Options of `which`.
#[derive(Debug, Clone)]
pub struct WhichOptions {
    /// Options of the jobs.
    pub common: Options,
    /// The calls that were named.
    pub asked: Vec<Asked>,
    /// The program whose calls are counted; empty where calls were named.
    pub command: Vec<String>,
    /// True if the user has said on how many ranks a program's calls are answered.
    pub ranks_are_given: bool,
}

/// The argument, for errors.
const CALLS: &str = "CALLS";

/// Validates the options.
pub fn which(mut typed: cli::Which) -> Result<WhichOptions, OptionError> {
    if typed.measure.platform.is_some() {
        return Err(wrong(
            "--platform",
            "ranks of a simulated machine share a thread, so that no functions can be seen; leave it out",
        ));
    }
    let ranks_are_given = typed.measure.ranks.is_some();
    let mut asked = Vec::new();
    for call in &typed.calls {
        asked.extend(calls(call)?);
    }
    if !typed.command.is_empty() {
        let Launched {
            mpirun,
            parameters,
            environment,
            hostfile,
        } = command::launched(&typed.command);
        let job = &mut typed.measure.job;
        if let Some(mpirun) = mpirun {
            job.mpirun = mpirun;
        }
        job.mca.extend(parameters);
        job.environment.extend(environment);
        job.hostfile = job.hostfile.take().or(hostfile);
    }
    let common = measuring(typed.measure)?;
    Ok(WhichOptions {
        common: Options {
            // The rule that decided then need not decide now.
            fresh: true,
            ..common
        },
        asked,
        command: typed.command,
        ranks_are_given,
    })
}

/// The calls of `FUNCTION@SIZES`.
fn calls(typed: &str) -> Result<Vec<Asked>, OptionError> {
    let (name, sizes) = match typed.split_once('@') {
        Some((name, sizes)) => (name, Some(sizes)),
        None => (typed, None),
    };
    let name = name.trim_start_matches("MPI_").to_ascii_lowercase();
    let known = Collective::of_several_ranks().find(|one| one.name() == name);
    let collective = known.ok_or_else(|| {
        let names: Vec<&str> = Collective::of_several_ranks().map(Collective::name).collect();
        wrong(
            CALLS,
            format!(
                "`{name}` of `{typed}` is no collective; give one of {}",
                names.join(", ")
            ),
        )
    })?;
    let sizes = match sizes {
        Some(sizes) if collective.has_data() => parse_sizes(sizes)?,
        None if !collective.has_data() => vec![0],
        Some(_) => {
            return Err(wrong(
                CALLS,
                format!("`{typed}`: a {name} has no size; give `{name}` alone"),
            ));
        }
        None => {
            return Err(wrong(
                CALLS,
                format!("`{typed}` has no size; give it in bytes, such as `{name}@4096`"),
            ));
        }
    };
    let asked = |bytes| Asked {
        collective,
        bytes,
        called: None,
    };
    Ok(sizes.into_iter().map(asked).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(typed: &str) -> Vec<(&'static str, u64)> {
        let asked = calls(typed).unwrap().into_iter();
        asked.map(|one| (one.collective.name(), one.bytes)).collect()
    }

    #[test]
    fn calls_are_functions_at_sizes() {
        assert_eq!(named("reduce@4096"), [("reduce", 4096)]);
        assert_eq!(
            named("MPI_Bcast@1..4KiB:x64"),
            [("bcast", 1), ("bcast", 64), ("bcast", 4096)]
        );
        assert_eq!(named("barrier"), [("barrier", 0)]);
    }

    #[test]
    fn errors_say_what_is_allowed() {
        let error = |typed: &str| calls(typed).unwrap_err().to_string();
        assert!(
            error("redcue@8").contains("give one of allgather, "),
            "{}",
            error("redcue@8")
        );
        assert!(error("reduce").contains("such as `reduce@4096`"), "{}", error("reduce"));
        assert!(
            error("barrier@8").contains("give `barrier` alone"),
            "{}",
            error("barrier@8")
        );
    }
}
