//! A library whose only place for settings is the environment, and that has no file of rules (Intel MPI, HPE MPT): variables,
//! profile; and the launch that uses them.

use std::path::Path;

use anyhow::bail;
use kilter_model::config::library::Library;
use kilter_model::deployment::Selection;
use kilter_model::ranged;
use kilter_model::setup::Setup;
use kilter_search::context::Context;

use super::decisions::Decisions;
use super::{Emitted, File, dropin, environment, read, readme};

/// Writes everything a deployment needs into `directory`.
pub(super) fn emit(context: &Context<'_>, decisions: &Decisions<'_>, directory: &Path) -> anyhow::Result<Emitted> {
    let mut emitted = Emitted {
        directory: directory.to_path_buf(),
        ..Emitted::default()
    };
    refuse_selections(context, decisions)?;
    let assignments = decisions.assignments.iter();
    let mut variables: Vec<(String, String)> = assignments
        .map(|assignment| (assignment.name.clone(), assignment.value.clone()))
        .collect();
    check(&context.library, &variables)?;
    variables.extend(dropin::install(context, decisions, directory, &mut emitted)?);
    finish(context, decisions, emitted, &variables)
}

/// Refuses what would have to be switched while a program runs.
pub(super) fn refuse_selections(context: &Context<'_>, decisions: &Decisions<'_>) -> anyhow::Result<()> {
    for (_, collective, bytes, selection) in decisions.selections() {
        if let Selection::Settings(_) = selection {
            bail!(
                "`{}` for {collective} at {bytes} bytes: nothing that {} reads carries a choice for a size",
                selection.id(),
                context.library.name
            );
        }
    }
    Ok(())
}

/// Checks every variable that chooses an algorithm as the library reads it: it goes on with its own where it cannot read one.
pub(super) fn check(library: &Library, variables: &[(String, String)]) -> anyhow::Result<()> {
    for (name, value) in variables {
        let collective = library.chosen_by(name);
        if let Some((row, at_start)) = collective.and_then(|one| library.chosen_at_start(one)) {
            ranged::check(row, at_start.form, value)?;
            ranged::beside(row, value, variables)?;
        }
    }
    match library.broken(variables) {
        None => Ok(()),
        Some(broken) => Err(broken.into()),
    }
}

/// Writes the environment and the page that goes with it: all that is left to do where the library has no file of parameters.
pub(super) fn finish(
    context: &Context<'_>,
    decisions: &Decisions<'_>,
    emitted: Emitted,
    variables: &[(String, String)],
) -> anyhow::Result<Emitted> {
    super::finish(context, decisions, emitted, variables, |emitted, library| {
        let form = &context.library.launcher.environment;
        let names = variables.iter().map(|(name, _)| name.as_str());
        let choosing: Vec<&str> = names.filter(|name| context.library.chosen_by(name).is_some()).collect();
        readme::variables(emitted, library, &decisions.ranks(), (variables, &choosing), form)
    })
}

/// Reads the files back and makes the launch that uses them.
pub(super) fn staged(context: &Context<'_>, emitted: &Emitted) -> anyhow::Result<Setup> {
    let mut setup = Setup::default();
    dropin::read_back(emitted)?;
    if let Some(name) = emitted.files.get(&File::Environment) {
        setup.environment = environment::parse(&read(&emitted.directory, name)?)?;
        check(&context.library, &setup.environment)?;
    }
    Ok(setup)
}
