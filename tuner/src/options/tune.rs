//! Validated options of `tune`.

use std::path::PathBuf;

use kilter_algorithms::Collective;
use kilter_model::config::ConfigError;
use kilter_model::config::target::{self, Target};
use kilter_model::limits::Limits;
use kilter_model::options::{Goal, OptionError, TuneOptions, functions, parse_bytes, plugins, wrong};
use kilter_tune::layouts::turns::PROOF_SHARE;

use super::layouts::{Layouts, common, layouts};
use super::{application, arrival};
use crate::cli;

/// Validates the options of tuning.
pub fn tuning(typed: cli::Tune) -> Result<TuneOptions, OptionError> {
    if typed.rounds == 0 {
        return Err(wrong(
            "--rounds",
            "`0` rounds search nothing; use `kilter check` to verify only",
        ));
    }
    let contests = typed
        .contest
        .iter()
        .map(|text| {
            let (name, size) = text.split_once('@').ok_or_else(|| {
                wrong(
                    "--contest",
                    format!("`{text}` is not FUNCTION@SIZE, such as reduce@512KiB"),
                )
            })?;
            let collective = name.parse().map_err(|error| wrong("--contest", format!("{error}")))?;
            Ok((collective, parse_bytes("--contest", size)?))
        })
        .collect::<Result<Vec<_>, OptionError>>()?;
    let plugins = plugins(&typed.plugins)?;
    let mut limits = limits(typed.leave, typed.scratch_limit.as_deref(), &contests)?;
    limits.reproducible = typed.reproducible;
    limits.any_operator = typed.any_operator;
    limits.only_plugins = typed.only == Some(cli::Only::Plugins);
    if limits.only_plugins && plugins.is_empty() {
        return Err(wrong(
            "--only",
            "`plugins` needs one or more; give them by --plugin FILE",
        ));
    }
    if typed.online && typed.only == Some(cli::Only::Parameters) {
        return Err(wrong(
            "--online",
            "`--only parameters` compares nothing that a running job could try; take one of them out",
        ));
    }
    if typed.online && typed.measure.platform.is_some() {
        return Err(wrong(
            "--online",
            "the drop-in cannot be loaded into simulated ranks; take --platform out",
        ));
    }
    let application = application::read(&typed.measure)?;
    let application = application.as_ref();
    let Layouts { mut options, said } = layouts(typed.layouts.as_deref(), &typed.measure, application)?;
    let mut common = common(&options, typed.measure, application)?;
    for own in &mut options {
        // The files of all of them are proven with the rest.
        own.budget_seconds *= 1.0 - PROOF_SHARE;
    }
    for own in options.iter_mut().chain([&mut common]) {
        own.limits = limits.clone();
        own.plugins = plugins.clone();
        own.arrivals = arrival::patterns(&typed.arrival, own.ranks)?;
    }
    Ok(TuneOptions {
        common,
        layouts: options,
        said,
        parameters: matches!(typed.only, None | Some(cli::Only::Parameters)),
        mockups: matches!(typed.only, None | Some(cli::Only::Mockups | cli::Only::Algorithms)),
        algorithms: matches!(typed.only, None | Some(cli::Only::Algorithms | cli::Only::Plugins)),
        contests,
        goal: match typed.goal {
            cli::Goal::Fastest => Goal::Fastest,
            cli::Goal::Smallest => Goal::Smallest,
        },
        rounds: typed.rounds,
        targets: targets(&typed.targets, &typed.target_file)?,
        model: typed.model.model(),
        online: typed.online,
    })
}

/// Targets of these names (`all` for all of them), and those of files.
fn targets(names: &[String], files: &[PathBuf]) -> Result<Vec<Target>, OptionError> {
    let wrong_file = |error: ConfigError| wrong("--target-file", error.to_string());
    let known = target::load_embedded().map_err(|error| wrong("--targets", error.to_string()))?;
    let mut chosen = Vec::new();
    for name in names {
        let found: Vec<&Target> = known.iter().filter(|one| name == "all" || one.id == *name).collect();
        if found.is_empty() {
            let ids: Vec<&str> = known.iter().map(|one| one.id.as_str()).collect();
            return Err(wrong(
                "--targets",
                format!("`{name}` is no target; allowed: all, {}", ids.join(", ")),
            ));
        }
        chosen.extend(found.into_iter().cloned());
    }
    for file in files {
        chosen.push(target::load_file(file).map_err(wrong_file)?);
    }
    chosen.dedup_by(|a, b| a.id == b.id);
    Ok(chosen)
}

/// Limits of fixes.
fn limits(leave: Vec<String>, scratch: Option<&str>, contests: &[(Collective, u64)]) -> Result<Limits, OptionError> {
    let leave = leave.iter().map(|name| name.trim().to_owned()).collect();
    let left_alone = functions("--leave", leave)?;
    // Written as calls they are sides of guidelines, and would never be found among functions.
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if let Some(name) = left_alone.iter().find(|name| *name == "A" || !is_name(name)) {
        let message = format!("`{name}` is no name of a function; write it as in guidelines, such as reduce");
        return Err(wrong("--leave", message));
    }
    let limits = Limits {
        left_alone,
        scratch_bytes: scratch.map(|text| parse_bytes("--scratch-limit", text)).transpose()?,
        reproducible: false,
        any_operator: false,
        only_plugins: false,
    };
    for (collective, _) in contests {
        if limits.leaves(collective.name()).is_some() {
            let message = format!("`{collective}` is put through a contest by --contest; take it out of one of them");
            return Err(wrong("--leave", message));
        }
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn tuned(arguments: &[&str]) -> Result<TuneOptions, OptionError> {
        let words = ["kilter", "tune"].iter().chain(arguments);
        match cli::Cli::try_parse_from(words).unwrap().command {
            cli::Command::Tune(typed) => tuning(typed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_a_fix_may_not_do_holds_for_every_layout() {
        let options = tuned(&[
            "--reproducible",
            "--any-operator",
            "--leave",
            "reduce,isend",
            "--scratch-limit",
            "16MiB",
            "--layouts",
            "2,4",
        ])
        .unwrap();
        let expected = Limits {
            left_alone: vec!["reduce".to_owned(), "isend".to_owned()],
            scratch_bytes: Some(16 << 20),
            reproducible: true,
            any_operator: true,
            only_plugins: false,
        };
        assert_eq!(options.common.limits, expected);
        assert!(options.layouts.iter().all(|layout| layout.limits == expected));
        assert_eq!(tuned(&[]).unwrap().common.limits, Limits::default());
    }

    #[test]
    fn plugins_compete_with_the_rest_or_alone() {
        let all = tuned(&["--plugin", "/a.so", "--plugin", "/b.so", "--plugin", "/a.so"]).unwrap();
        assert_eq!(all.common.plugins, [PathBuf::from("/a.so"), PathBuf::from("/b.so")]);
        assert!(all.parameters && all.mockups && all.algorithms && !all.common.limits.only_plugins);
        let alone = tuned(&["--plugin", "/a.so", "--only", "plugins"]).unwrap();
        assert!(!alone.parameters && !alone.mockups && alone.algorithms && alone.common.limits.only_plugins);
        let none = tuned(&["--only", "plugins"]).unwrap_err().to_string();
        assert!(none.contains("--plugin FILE"), "{none}");
    }

    #[test]
    fn limits_that_make_no_sense_say_what_is_allowed() {
        for (arguments, part) in [
            (
                &["--leave", "reduse"][..],
                "--leave: `reduse` is no function; allowed: ",
            ),
            (&["--scratch-limit", "much"], "--scratch-limit: `much` is not a size"),
            (
                &["--leave", "reduce(n)"],
                "--leave: `reduce(n)` is no name of a function",
            ),
            (
                &["--leave", "reduce", "--contest", "reduce@4KiB"],
                "take it out of one of them",
            ),
            (
                &["--online", "--only", "parameters"],
                "--online: `--only parameters` compares nothing",
            ),
            (
                &["--online", "--platform", "ib-32x1"],
                "--online: the drop-in cannot be loaded into simulated ranks",
            ),
        ] {
            let message = tuned(arguments).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
