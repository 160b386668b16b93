//! Key by which an interrupted run is found and resumed.
//!
//! Every option that changes the measurements is part of the key, in the words in which it is written to files.
//! Renaming a type or a field of the code does not start runs anew.

use kilter_model::config::guideline::Guideline;
use kilter_model::options::Options;
use serde_json::json;

/// Version of the method of measuring. It is raised when a release measures otherwise, so that a run is not finished
/// with other times.
const METHOD: u32 = 2;

/// Key of a command's run. `further` are the command's own options that change its measurements.
pub(super) fn of(
    options: &Options,
    command: &str,
    further: &[String],
    version: &str,
    guidelines: &[Guideline],
) -> String {
    let ids: Vec<&str> = guidelines.iter().map(|guideline| guideline.id.as_str()).collect();
    let path = |path: &std::path::PathBuf| path.display().to_string();
    let mut key = json!({
        "command": command,
        "method": METHOD,
        "further": further,
        "library": version,
        "description": options.library_description.as_ref().map(path),
        "mpirun": path(&options.mpirun),
        "ranks": options.ranks,
        "layout": options.layout.map(|layout| layout.to_string()),
        "hostfile": options.hostfile.as_ref().map(path),
        "launcher": options.starts,
        "platform": options.platform,
        "site_parameters": options.site_parameters,
        "site_environment": options.site_environment,
        "sizes": options.sizes,
        "guidelines": ids,
        "functions": options.functions,
        "mix": options.mix,
        "root": options.root,
        "element": options.element,
        "launches": options.launches,
        "fixed": options.fixed,
        "repetitions": options.repetitions,
        "synchronisation": options.sync,
        "cache": options.cache,
        "arrivals": options.arrivals,
        "budget_seconds": options.budget_seconds,
        "seed": options.seed,
        "alpha": options.alpha,
        "effect_floor": options.effect_floor,
        "test": options.test,
        "correction": options.correction,
    });
    if options.goes_on {
        // Each allocation brings its own, and the layout says how many hosts there are.
        key["budget_seconds"] = serde_json::Value::Null;
        key["hostfile"] = serde_json::Value::Null;
    }
    // In a database that several directories share, a run belongs to one: its jobs write there, and others of the same command may run meanwhile.
    if !options.db.parent().is_some_and(|own| options.out.starts_with(own)) {
        key["out"] = path(&options.out).into();
    }
    key.to_string()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn key(arguments: &str) -> String {
        let words = format!("kilter check {arguments}");
        let typed = Cli::try_parse_from(words.split_whitespace()).unwrap();
        let Command::Check(typed) = typed.command else {
            panic!("`{words}` is no check");
        };
        let options = crate::options::measuring(typed.measure).unwrap();
        of(&options, "check", &[], "4.1.4", &[])
    }

    #[test]
    fn what_changes_the_times_makes_a_run_anew_and_what_does_not_resumes_it() {
        let usual = key("--mpirun /bin/true -n 2");
        for other in [
            "-n 4",
            "-n 2 --sizes 8",
            "-n 2 --test unpaired",
            "-n 2 --alpha 0.01",
            "-n 2 --seed 7",
            "-n 2 --cache cold",
        ] {
            assert_ne!(usual, key(&format!("--mpirun /bin/true {other}")), "{other}");
        }
        for same in ["--quiet", "--format json"] {
            assert_eq!(usual, key(&format!("--mpirun /bin/true -n 2 {same}")), "{same}");
        }
        let elsewhere = |db: &str| key(&format!("--mpirun /bin/true -n 2 --db {db} --out elsewhere"));
        let here = |db: &str| key(&format!("--mpirun /bin/true -n 2 --db {db}"));
        assert_eq!(
            here("{out}/kilter.db"),
            elsewhere("{out}/kilter.db"),
            "a directory that was moved"
        );
        assert_ne!(here("/shared/kilter.db"), elsewhere("/shared/kilter.db"));
    }

    #[test]
    fn a_run_that_goes_on_has_another_budget_in_each_allocation() {
        let options = |budget: &str| {
            let words = format!("kilter check --mpirun /bin/true -n 2 --budget {budget}");
            let typed = Cli::try_parse_from(words.split_whitespace()).unwrap();
            let Command::Check(typed) = typed.command else {
                panic!("`{words}` is no check");
            };
            crate::options::measuring(typed.measure).unwrap()
        };
        let key = |budget: &str, goes_on| {
            let options = Options {
                goes_on,
                ..options(budget)
            };
            of(&options, "check", &[], "4.1.4", &[])
        };
        assert_eq!(key("1h", true), key("600", true));
        assert_ne!(key("1h", false), key("600", false));
        assert_eq!(key("10m", false), key("600", false));
    }

    #[test]
    fn a_key_has_no_word_of_the_code() {
        let key = key("--mpirun /bin/true -n 2");
        for word in ["Some(", "None", "Options", "Pairs", "Holm"] {
            assert!(!key.contains(word), "`{word}` in {key}");
        }
    }
}
