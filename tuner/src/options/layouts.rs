//! Layouts that one command measures, one after the other.

use kilter_model::layout::{self, Layout};
use kilter_model::options::{OptionError, Options, absolute, wrong};

use super::allocation::{self, Surroundings};
use super::application::{self, Application};
use super::{arrival, database, measuring_for};
use crate::cli;

/// Options of each layout, in a directory of its own.
#[derive(Debug, Default)]
pub(super) struct Layouts {
    /// Empty where there is one layout, whose options are the command's.
    pub(super) options: Vec<Options>,
    /// The reasons for this choice, in words for the user.
    pub(super) said: Vec<String>,
}

/// Options of `check`.
#[derive(Debug)]
pub struct Checking {
    /// Options of the measurement; with layouts, those of their common results.
    pub common: Options,
    /// Options of the measurement for each layout; empty without layouts.
    pub layouts: Vec<Options>,
    /// The reasons for these layouts, in words for the user.
    pub said: Vec<String>,
}

/// Validates the options of checking.
pub fn checking(typed: cli::Check) -> Result<Checking, OptionError> {
    let application = application::read(&typed.measure)?;
    let application = application.as_ref();
    let listed = typed.layouts.as_deref();
    // For a profile the dearest communicators are checked, and all of them tuned.
    let Layouts { mut options, said } = if application.is_some() && listed.is_none() {
        Layouts::default()
    } else {
        layouts(listed, &typed.measure, application)?
    };
    let mut common = common(&options, typed.measure, application)?;
    for own in options.iter_mut().chain([&mut common]) {
        own.arrivals = arrival::patterns(&typed.arrival, own.ranks)?;
    }
    Ok(Checking {
        common,
        layouts: options,
        said,
    })
}

/// Options of the results that all layouts share, in the directory above theirs; without layouts, those of the measurement.
pub(super) fn common(
    layouts: &[Options],
    typed: cli::Measure,
    application: Option<&Application>,
) -> Result<Options, OptionError> {
    match layouts.first() {
        Some(first) => Ok(Options {
            out: absolute("--out", &typed.job.out)?,
            budget_seconds: typed.budget,
            ..first.clone()
        }),
        None => measuring_for(typed, application),
    }
}

/// The layouts of `--layouts`; else, where neither it nor `--ranks` is given, those of the application; else those of the allocation in which the
/// command runs.
pub(super) fn layouts(
    listed: Option<&str>,
    typed: &cli::Measure,
    application: Option<&Application>,
) -> Result<Layouts, OptionError> {
    if let Some(text) = listed {
        let options = of_layouts(&layout_list(text)?, typed, application)?;
        return Ok(Layouts {
            options,
            said: Vec::new(),
        });
    }
    let is_free = typed.ranks.is_none() && typed.platform.is_none();
    if let Some(application) = application {
        // Communicators that are left out are named on a simulated machine as well.
        let choice = if typed.ranks.is_none() {
            application.choice()
        } else {
            application::Choice::default()
        };
        let chosen = if is_free { choice.layouts } else { Vec::new() };
        return Ok(Layouts {
            options: of_layouts(&chosen, typed, Some(application))?,
            said: choice.said,
        });
    }
    if !is_free || typed.job.hostfile.is_some() {
        return Ok(Layouts::default());
    }
    of_allocation(typed, &Surroundings::of_process())
}

/// The layouts of the allocation; none outside of any.
fn of_allocation(typed: &cli::Measure, surroundings: &Surroundings<'_>) -> Result<Layouts, OptionError> {
    let found = allocation::around("--layouts", surroundings)?;
    let Some(shape) = found.shape.filter(|shape| shape.cpus.len() > 1) else {
        return Ok(Layouts::default());
    };
    let chosen = shape.layouts();
    let names: Vec<String> = chosen.iter().map(ToString::to_string).collect();
    let said = format!(
        "{} has {} hosts: layouts {}, a rank on each host and one on each CPU; --layouts or --ranks for others",
        found.words,
        shape.cpus.len(),
        names.join(" and ")
    );
    Ok(Layouts {
        options: of_layouts(&chosen, typed, None)?,
        said: vec![said],
    })
}

/// Layouts of a list, or of the allocation.
fn layout_list(text: &str) -> Result<Vec<Layout>, OptionError> {
    if text == "auto" {
        return allocation::layouts(&Surroundings::of_process());
    }
    layout::parse_list(text).map_err(|error| wrong("--layouts", error.to_string()))
}

/// Options of each layout: a directory of its own, one database, an equal share of the budget.
fn of_layouts(
    layouts: &[Layout],
    typed: &cli::Measure,
    application: Option<&Application>,
) -> Result<Vec<Options>, OptionError> {
    if let Some(platform) = &typed.platform {
        return Err(wrong(
            "--layouts",
            format!(
                "ranks lie on the simulated machine `{platform}` as its description says, and what is found holds for all sizes of \
                 communicators; give --ranks, and a command for each number of them"
            ),
        ));
    }
    let db = database::place(typed.job.db.as_deref(), &absolute("--out", &typed.job.out)?)?;
    let each = layouts.iter().map(|layout| {
        let own = cli::Measure {
            ranks: Some(layout.ranks()),
            job: cli::Job {
                out: typed.job.out.join(layout.to_string()),
                db: Some(db.clone()),
                ..typed.job.clone()
            },
            budget: typed.budget / layouts.len() as f64,
            ..typed.clone()
        };
        Ok(Options {
            layout: Some(*layout),
            several_hosts: layout.nodes > 1,
            ..measuring_for(own, application)?
        })
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn typed(arguments: &[&str]) -> cli::Measure {
        let words = ["kilter", "check", "--mpirun", "/bin/true"].iter().chain(arguments);
        match cli::Cli::try_parse_from(words).unwrap().command {
            cli::Command::Check(typed) => typed.measure,
            other => panic!("{other:?}"),
        }
    }

    fn within(variables: &[(&str, &str)], typed: &cli::Measure) -> Layouts {
        let surroundings = Surroundings {
            variable: &|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            },
            read: &|_| Err(std::io::ErrorKind::NotFound.into()),
            cpus_here: 4,
        };
        of_allocation(typed, &surroundings).unwrap()
    }

    #[test]
    fn an_allocation_of_several_hosts_has_two_layouts_and_says_so() {
        let slurm = [
            ("SLURM_JOB_ID", "7"),
            ("SLURM_JOB_NUM_NODES", "8"),
            ("SLURM_JOB_CPUS_PER_NODE", "16(x8)"),
        ];
        let Layouts { options, said } = within(&slurm, &typed(&["--budget", "600"]));
        let layouts: Vec<String> = options.iter().filter_map(|own| Some(own.layout?.to_string())).collect();
        assert_eq!(layouts, ["8x1", "8x16"]);
        assert!(
            options
                .iter()
                .all(|own| own.several_hosts && own.budget_seconds == 300.0)
        );
        assert!(options[1].out.ends_with("kilter-out/8x16") && options[1].ranks == 128);
        assert_eq!(options[0].db, options[1].db);
        assert!(
            said[0].starts_with("SLURM_JOB_ID=7 has 8 hosts: layouts 8x1 and 8x16"),
            "{said:?}"
        );
        let one = [
            ("SLURM_JOB_ID", "7"),
            ("SLURM_JOB_NUM_NODES", "1"),
            ("SLURM_JOB_CPUS_PER_NODE", "16"),
        ];
        assert!(within(&one, &typed(&[])).options.is_empty());
        assert!(within(&[], &typed(&[])).options.is_empty());
    }

    #[test]
    fn layouts_are_checked_one_after_the_other() {
        let words = ["kilter", "check", "--mpirun", "/bin/true", "--layouts", "2,4"];
        let cli::Command::Check(typed) = cli::Cli::try_parse_from(words).unwrap().command else {
            panic!("no check")
        };
        let found = checking(typed).unwrap();
        assert_eq!(found.layouts.len(), 2);
        assert!(found.said.is_empty() && found.common.out.ends_with("kilter-out"));
    }
}
