//! The machine whose layouts `tune` chooses itself.

use std::path::Path;

use kilter_model::options::{OptionError, wrong};
use kilter_tune::machine::Machine;

use super::allocation::{self, Surroundings};
use super::slots;
use crate::cli;

/// The options as typed.
#[derive(Debug)]
pub struct WholeMachine {
    /// The nodes and their cores.
    pub machine: Machine,
    /// The allocation or the host file, in words.
    pub words: String,
    /// True if sizes and functions follow from the budget.
    pub chooses_effort: bool,
}

/// The machine of `--whole-machine` and of `--layouts auto`; `None` where neither was typed.
pub fn whole_machine(typed: &cli::Tune) -> Result<Option<WholeMachine>, OptionError> {
    whole_machine_in(typed, &Surroundings::of_process())
}

fn whole_machine_in(typed: &cli::Tune, surroundings: &Surroundings<'_>) -> Result<Option<WholeMachine>, OptionError> {
    let option = match (typed.whole_machine, typed.layouts.as_deref()) {
        (true, _) => "--whole-machine",
        (false, Some("auto")) => "--layouts",
        _ => return Ok(None),
    };
    let measure = &typed.measure;
    if let Some(platform) = &measure.platform {
        let message = format!("`{platform}` is simulated, and has no allocation; give --ranks");
        return Err(wrong(option, message));
    }
    let (machine, words) = match &measure.job.hostfile {
        Some(file) => (
            of_hostfile(option, file, surroundings)?,
            format!("host file `{}`", file.display()),
        ),
        None => of_allocation(option, surroundings)?,
    };
    if machine.nodes * machine.cores < 2 {
        return Err(wrong(
            option,
            format!("{words} has one core, on which collectives do nothing; ask for more"),
        ));
    }
    let is_said = !measure.functions.is_empty()
        || !measure.guidelines.is_empty()
        || !measure.guideline_file.is_empty()
        || measure.mix.is_some()
        || measure.profile.is_some()
        || measure.sizes != cli::DEFAULT_SIZES;
    Ok(Some(WholeMachine {
        machine,
        words,
        chooses_effort: typed.whole_machine && !is_said,
    }))
}

fn of_allocation(option: &'static str, surroundings: &Surroundings<'_>) -> Result<(Machine, String), OptionError> {
    let found = allocation::around(option, surroundings)?;
    let Some(shape) = found.shape else {
        return Err(wrong(
            option,
            "it asks an allocation, and no variable of a batch system that tells its hosts, such as SLURM_JOB_ID, is set here; give --hostfile, or \
             --layouts such as 8x1,8x16",
        ));
    };
    let machine = Machine {
        nodes: shape.cpus.len(),
        cores: shape.cpus.iter().min().copied().unwrap_or(1),
    };
    Ok((machine, found.words))
}

fn of_hostfile(option: &'static str, file: &Path, surroundings: &Surroundings<'_>) -> Result<Machine, OptionError> {
    let text = (surroundings.read)(file).map_err(|error| {
        wrong(
            option,
            format!("the host file `{}` cannot be read: {error}", file.display()),
        )
    })?;
    let hosts = slots::hosts(&text);
    if hosts.is_empty() {
        return Err(wrong(option, format!("the host file `{}` has no host", file.display())));
    }
    // Hosts are taken to be like this one where the file does not tell.
    let cores = hosts
        .values()
        .map(|slots| slots.unwrap_or(surroundings.cpus_here))
        .min();
    Ok(Machine {
        nodes: hosts.len(),
        cores: cores.unwrap_or(1),
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn asked(arguments: &[&str], variables: &[(&str, &str)]) -> Result<Option<WholeMachine>, OptionError> {
        let words = ["kilter", "tune"].iter().chain(arguments);
        let cli::Command::Tune(typed) = cli::Cli::try_parse_from(words).unwrap().command else {
            panic!("no tune")
        };
        let surroundings = Surroundings {
            variable: &|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            },
            read: &|path| match path.to_str() {
                Some("hosts") => Ok("# three\na slots=4\nb slots=8\n\nc:6\n".to_owned()),
                Some("names") => Ok("a\nb\nb\n".to_owned()),
                Some("none") => Ok("# nobody\n".to_owned()),
                _ => Err(std::io::ErrorKind::NotFound.into()),
            },
            cpus_here: 2,
        };
        whole_machine_in(&typed, &surroundings)
    }

    const SLURM: [(&str, &str); 3] = [
        ("SLURM_JOB_ID", "7"),
        ("SLURM_JOB_NUM_NODES", "8"),
        ("SLURM_JOB_CPUS_PER_NODE", "16(x7),48"),
    ];

    #[test]
    fn the_machine_is_the_allocation_or_the_host_file() {
        let found = |arguments: &[&str], variables: &[(&str, &str)]| {
            let asked = asked(arguments, variables).unwrap()?;
            Some((
                asked.machine.nodes,
                asked.machine.cores,
                asked.words,
                asked.chooses_effort,
            ))
        };
        assert_eq!(found(&[], &SLURM), None);
        assert_eq!(found(&["--layouts", "8x1"], &SLURM), None);
        let of_slurm = |chooses| Some((8, 16, "SLURM_JOB_ID=7".to_owned(), chooses));
        assert_eq!(found(&["--whole-machine"], &SLURM), of_slurm(true));
        assert_eq!(found(&["--layouts", "auto"], &SLURM), of_slurm(false));
        assert_eq!(found(&["--whole-machine", "--sizes", "8"], &SLURM), of_slurm(false));
        assert_eq!(
            found(&["--whole-machine", "--functions", "bcast"], &SLURM),
            of_slurm(false)
        );
        let of_file = |name: &str, nodes, cores| Some((nodes, cores, format!("host file `{name}`"), true));
        assert_eq!(
            found(&["--whole-machine", "--hostfile", "hosts"], &SLURM),
            of_file("hosts", 3, 4)
        );
        assert_eq!(
            found(&["--whole-machine", "--hostfile", "names"], &[]),
            of_file("names", 2, 2)
        );
    }

    #[test]
    fn without_a_machine_it_says_what_to_give() {
        for (arguments, variables, part) in [
            (
                &["--whole-machine"][..],
                &[][..],
                "--whole-machine: it asks an allocation",
            ),
            (&["--layouts", "auto"], &[], "--layouts: it asks an allocation"),
            (&["--whole-machine", "--hostfile", "gone"], &[], "`gone` cannot be read"),
            (&["--whole-machine", "--hostfile", "none"], &[], "`none` has no host"),
            (
                &["--whole-machine"],
                &[
                    ("SLURM_JOB_ID", "7"),
                    ("SLURM_JOB_NUM_NODES", "1"),
                    ("SLURM_JOB_CPUS_PER_NODE", "1"),
                ],
                "SLURM_JOB_ID=7 has one core",
            ),
        ] {
            let message = asked(arguments, variables).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
