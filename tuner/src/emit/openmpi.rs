//! Open MPI 4.x: MCA parameter file, dynamic rules file, environment, profile; and the launch that uses them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use kilter_algorithms::Collective;

use super::decisions::{Decisions, Part};
use super::rules::{Choice, Rules};
use super::{Emitted, File, dropin, environment, finish, mca, range, read, readme, write};
use crate::context::{Context, Setup};
use crate::deployment::Selection;

const PARAMETERS: &str = "openmpi-mca-params.conf";
const RULES: &str = "openmpi-coll-rules.conf";

/// Variable with the list of parameter files, first one strongest. It replaces the default list, so the site's and the user's
/// files are named after ours.
const PARAMETER_FILES: &str = "OMPI_MCA_mca_base_param_files";

/// Writes everything a deployment needs into `directory`.
pub(super) fn emit(context: &Context<'_>, decisions: &Decisions<'_>, directory: &Path) -> anyhow::Result<Emitted> {
    let mut emitted = Emitted {
        directory: directory.to_path_buf(),
        ..Emitted::default()
    };
    let mut parameters = Vec::new();
    let mut variables = Vec::new();
    for assignment in decisions.assignments {
        let list = if assignment.environment {
            &mut variables
        } else {
            &mut parameters
        };
        list.push((assignment.name.clone(), assignment.value.clone()));
    }
    let rules = rules(context, decisions)?;
    if !rules.is_empty() {
        write(directory, RULES, &rules.to_text())?;
        emitted.files.insert(File::Rules, RULES.to_owned());
        parameters.push(("coll_tuned_use_dynamic_rules".to_owned(), "1".to_owned()));
        parameters.push((
            "coll_tuned_dynamic_rules_filename".to_owned(),
            directory.join(RULES).display().to_string(),
        ));
    }
    variables.extend(dropin::install(context, decisions, directory, &mut emitted)?);
    if !parameters.is_empty() {
        write(directory, PARAMETERS, &mca::to_text(&parameters)?)?;
        emitted.files.insert(File::Parameters, PARAMETERS.to_owned());
    }
    finish(context, decisions, emitted, &variables, |emitted, library| {
        readme::text(emitted, library, &decisions.ranks(), &variables)
    })
}

/// The rules file, fenced by communicator size.
fn rules(context: &Context<'_>, decisions: &Decisions<'_>) -> anyhow::Result<Rules> {
    let mut rules = Rules::default();
    for part in &decisions.parts {
        add(&mut rules, context, part)?;
    }
    let text = rules.to_text();
    let read_back = Rules::parse(&text)?;
    if read_back != rules {
        bail!("the rules file does not read back as it was written; please report this");
    }
    Ok(rules)
}

/// The rules for one communicator size. A collective that must not be switched on size gets one rule for all sizes: the choice of its
/// worst cell.
fn add(rules: &mut Rules, context: &Context<'_>, part: &Part<'_>) -> anyhow::Result<()> {
    let mut by_collective: BTreeMap<Collective, Vec<(u64, Choice)>> = BTreeMap::new();
    for ((collective, bytes), selection) in part.selections {
        if let Selection::Settings(settings) = selection {
            by_collective
                .entry(*collective)
                .or_default()
                .push((*bytes, choice(*collective, settings)?));
        }
    }
    let ranks = part.ranks as u64;
    for (collective, choices) in by_collective {
        let entry = context
            .library
            .rules_entry(collective)
            .with_context(|| format!("{} has no rules for {collective}", context.library.name))?;
        if entry.size_switch {
            let volumes = part.volumes_of(collective);
            for (bytes, choice) in choices {
                rules.add(entry.id, ranks, range::around(&volumes, bytes), choice);
            }
        } else if let Some((_, choice)) = choices.last() {
            rules.add(entry.id, ranks, (0, u64::MAX), *choice);
        }
    }
    Ok(())
}

/// Settings `coll_tuned_<collective>_algorithm[_<knob>]` as columns of a rule.
fn choice(collective: Collective, settings: &[(String, String)]) -> anyhow::Result<Choice> {
    let mut choice = Choice::default();
    let prefix = format!("coll_tuned_{collective}_algorithm");
    for (name, value) in settings {
        let value: u64 = value
            .parse()
            .with_context(|| format!("`{name}={value}`: a rule takes numbers only"))?;
        match name.strip_prefix(&prefix) {
            Some("") => choice.algorithm = value,
            Some("_segmentsize") => choice.segment_bytes = value,
            Some("_tree_fanout" | "_chain_fanout") => choice.fan = value,
            _ => bail!("`{name}` cannot be carried by a rules file"),
        }
    }
    Ok(choice)
}

/// Reads the files back and makes the launch that uses them.
pub(super) fn staged(context: &Context<'_>, emitted: &Emitted) -> anyhow::Result<Setup> {
    let mut setup = Setup::default();
    let directory = &emitted.directory;
    if let Some(name) = emitted.files.get(&File::Rules) {
        Rules::parse(&read(directory, name)?)?;
    }
    dropin::read_back(emitted)?;
    if let Some(name) = emitted.files.get(&File::Parameters) {
        setup.expected = mca::parse(&read(directory, name)?)?;
        let mut files = vec![directory.join(name).display().to_string()];
        files.extend(default_parameter_files(&context.options.mpirun));
        setup
            .launcher_environment
            .push((PARAMETER_FILES.to_owned(), files.join(",")));
    }
    if let Some(name) = emitted.files.get(&File::Environment) {
        setup.environment = environment::parse(&read(directory, name)?)?;
    }
    Ok(setup)
}

/// The files that Open MPI reads when nothing is said: what the environment names, else the user's, then the site's.
fn default_parameter_files(mpirun: &Path) -> Vec<String> {
    if let Ok(list) = std::env::var(PARAMETER_FILES) {
        return list
            .split([',', ':'])
            .filter(|file| !file.is_empty())
            .map(str::to_owned)
            .collect();
    }
    let beside = mpirun
        .parent()
        .map(|directory| directory.join("ompi_info"))
        .filter(|path| path.is_file());
    let program = beside.unwrap_or_else(|| "ompi_info".into());
    let output = std::process::Command::new(program)
        .args(["--path", "sysconfdir", "--parsable"])
        .output();
    let sysconfdir = output
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .and_then(|text| text.trim().strip_prefix("path:sysconfdir:").map(str::to_owned))
        .unwrap_or_else(|| "/etc/openmpi".to_owned());
    let mut files = Vec::new();
    if let Some(home) = std::env::var_os("HOME") {
        files.push(Path::new(&home).join(".openmpi/mca-params.conf"));
    }
    files.push(Path::new(&sysconfdir).join("openmpi-mca-params.conf"));
    files
        .into_iter()
        .filter(|path| path.is_file())
        .map(|path| path.display().to_string())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_columns() {
        let settings = [
            ("coll_tuned_reduce_algorithm", "4"),
            ("coll_tuned_reduce_algorithm_segmentsize", "32768"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let expected = Choice {
            algorithm: 4,
            fan: 0,
            segment_bytes: 32768,
        };
        assert_eq!(choice(Collective::Reduce, &settings).unwrap(), expected);
    }

    #[test]
    fn a_knob_without_a_column_is_refused() {
        let settings = [("coll_tuned_bcast_algorithm_knomial_radix".to_owned(), "4".to_owned())];
        assert!(
            choice(Collective::Bcast, &settings)
                .unwrap_err()
                .to_string()
                .contains("rules file")
        );
    }
}
