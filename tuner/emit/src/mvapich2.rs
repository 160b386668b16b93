//! MVAPICH2 2.3: file of variables, environment, profile; and the launch that uses them.

use std::path::Path;

use kilter_model::setup::Setup;
use kilter_search::context::Context;

use super::decisions::Decisions;
use super::mvapich2_conf::{PARAMETERS, parse, to_text};
use super::{Emitted, File, dropin, environment, finish, read, readme, variables, write};

/// What the library's own variables begin with.
const OWN: &str = "MV2_";
/// Names the file that is read in place of `~/.mvapich2.conf`.
const USER_FILE: &str = "MV2_USER_CONFIG";

/// Names and values.
type Pairs = Vec<(String, String)>;

/// Whether the library's own file carries this variable; the others are the environment's.
#[must_use]
pub fn carries(name: &str) -> bool {
    name.starts_with(OWN)
}

/// Writes everything a deployment needs into `directory`.
pub(super) fn emit(context: &Context<'_>, decisions: &Decisions<'_>, directory: &Path) -> anyhow::Result<Emitted> {
    let mut emitted = Emitted {
        directory: directory.to_path_buf(),
        ..Emitted::default()
    };
    variables::refuse_selections(context, decisions)?;
    let assignments = decisions.assignments.iter();
    let all = assignments.map(|assignment| (assignment.name.clone(), assignment.value.clone()));
    let (parameters, mut others) = divided(all, &context.set_by_site());
    variables::check(&context.library, &[parameters.as_slice(), &others].concat())?;
    others.extend(dropin::install(context, decisions, directory, &mut emitted)?);
    if !parameters.is_empty() {
        write(directory, PARAMETERS, &to_text(&parameters)?)?;
        emitted.files.insert(File::Parameters, PARAMETERS.to_owned());
    }
    finish(context, decisions, emitted, &others, |emitted, library| {
        readme::mvapich2(emitted, library, &decisions.ranks(), &parameters, &others)
    })
}

/// What the library's file carries, and what the environment has to: it wins over the file, so what stands there already can be changed
/// there alone.
fn divided(all: impl Iterator<Item = (String, String)>, set_by_site: &Pairs) -> (Pairs, Pairs) {
    let is_set = |name: &str| set_by_site.iter().any(|(other, _)| other == name);
    all.partition(|(name, _)| carries(name) && !is_set(name))
}

/// Reads the files back and makes the launch that uses them.
pub(super) fn staged(context: &Context<'_>, emitted: &Emitted) -> anyhow::Result<Setup> {
    let mut setup = Setup::default();
    dropin::read_back(emitted)?;
    if let Some(name) = emitted.files.get(&File::Environment) {
        setup.environment = environment::parse(&read(&emitted.directory, name)?)?;
    }
    if let Some(name) = emitted.files.get(&File::Parameters) {
        setup.expected_environment = parse(&read(&emitted.directory, name)?)?;
        let all = [setup.expected_environment.as_slice(), &setup.environment].concat();
        variables::check(&context.library, &all)?;
        let path = emitted.directory.join(name).display().to_string();
        setup.environment.push((USER_FILE.to_owned(), path));
    }
    Ok(setup)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_the_environment_is_changed_there() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let all = [pair("MV2_A", "1"), pair("MV2_B", "2"), pair("MALLOC_X", "3")];
        let (file, environment) = divided(all.into_iter(), &vec![pair("MV2_A", "0"), pair("MV2_C", "0")]);
        assert_eq!(file, [pair("MV2_B", "2")]);
        assert_eq!(environment, [pair("MV2_A", "1"), pair("MALLOC_X", "3")]);
    }
}
