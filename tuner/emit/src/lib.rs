//! From decisions to files: a staging directory that holds exactly what would be deployed, and the launch that uses it. [`apply`] installs such a
//! directory and takes it back.

pub mod apply;
pub mod command_line;
pub mod decisions;
mod describe;
pub mod digest;
mod dropin;
pub mod environment;
pub mod forms;
pub mod manifest;
pub mod mca;
pub mod mpich;
pub mod mpich_library;
pub mod mvapich2;
pub mod mvapich2_conf;
pub mod openmpi;
pub mod profile;
pub mod readme;
pub mod rules;
pub mod selection;
pub mod selection_guard;
pub mod selection_lint;
pub mod smpi;
pub mod staging;
pub mod variables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kilter_model::config::library::Emitter;
use kilter_model::deployment::Deployment;
use kilter_model::setup::Setup;
use kilter_protocol::fault::FaultKind;
use kilter_search::context::Context;
use kilter_search::verification::Verification;

use decisions::Decisions;

/// Environment of the ranks.
const ENVIRONMENT: &str = "kilter.env";
/// How to install everything.
const README: &str = "README.txt";

/// Files of a staging directory: name, what it carries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Emitted {
    /// The directory.
    pub directory: PathBuf,
    /// File names by what they carry.
    pub files: BTreeMap<File, String>,
    /// Implementations that the drop-in must run in a verification.
    pub implementations: Vec<String>,
}

/// What a file carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum File {
    /// Parameters of the library.
    Parameters,
    /// Rules by collective, communicator size and message size.
    Rules,
    /// Environment of the ranks.
    Environment,
    /// Profile of the drop-in.
    Profile,
    /// Arguments of the launcher.
    Arguments,
    /// How to install them.
    Readme,
}

/// The staging directory.
fn directory(context: &Context<'_>) -> PathBuf {
    context.options.out.join("emit")
}

/// Empties the staging directory: nothing is to be deployed.
///
/// # Errors
/// The directory cannot be removed, or holds what is not Kilter's.
pub fn clear(context: &Context<'_>) -> anyhow::Result<()> {
    staging::clear(&directory(context))
}

/// Refuses what could not be written in the end: no emitter, or a staging directory that holds what is not Kilter's. For the time before
/// anything is measured.
///
/// # Errors
/// Why.
pub fn check(context: &Context<'_>) -> anyhow::Result<()> {
    emitter(context)?;
    staging::check(&directory(context))
}

/// Who writes the files of the context's library.
///
/// # Errors
/// Nobody yet.
pub fn emitter(context: &Context<'_>) -> anyhow::Result<Emitter> {
    context.library.emitter.with_context(|| {
        format!(
            "tuning {name} is not there yet: its algorithms are not described for the search, and nothing writes files for it; \
             `kilter check` verifies {name}, and `kilter tune` works on the libraries that `kilter list libraries` shows so",
            name = context.library.name
        )
    })
}

/// Writes the decisions.
///
/// # Errors
/// A decision that no file can carry, or a file that cannot be written.
pub fn emit(context: &Context<'_>, deployment: &Deployment) -> anyhow::Result<Emitted> {
    write_to(context, &Decisions::of(context, deployment), &directory(context))
}

/// Writes decisions, which may be those of several layouts, into a directory that holds nothing else.
///
/// # Errors
/// A decision that no file can carry, or a file that cannot be written.
pub fn write_to(context: &Context<'_>, decisions: &Decisions<'_>, directory: &Path) -> anyhow::Result<Emitted> {
    staging::begin(directory)?;
    let emitter = emitter(context)?;
    let emitted = match emitter {
        Emitter::Mpich => mpich::emit(context, decisions, directory),
        Emitter::Mvapich2 => mvapich2::emit(context, decisions, directory),
        Emitter::OpenMpi => openmpi::emit(context, decisions, directory),
        Emitter::Smpi => smpi::emit(context, decisions, directory),
        Emitter::Variables => variables::emit(context, decisions, directory),
    }?;
    describe::describe(context, decisions, emitter, &emitted)?;
    staging::complete(directory)?;
    Ok(emitted)
}

/// The launch that uses exactly the files of the staging directory: each is read back from the disk by rules that mirror its
/// reader's.
///
/// # Errors
/// A file that its reader would refuse or ignore.
pub fn staged(context: &Context<'_>, emitted: &Emitted) -> anyhow::Result<Setup> {
    match emitter(context)? {
        Emitter::Mpich => mpich::staged(context, emitted),
        Emitter::OpenMpi => openmpi::staged(context, emitted),
        Emitter::Mvapich2 => mvapich2::staged(context, emitted),
        Emitter::Smpi => smpi::staged(emitted),
        Emitter::Variables => variables::staged(context, emitted),
    }
}

/// Warns where the drop-in did not run an implementation that is deployed: its rules were never reached.
pub fn confirm_ran(context: &Context<'_>, emitted: &Emitted, after: &Verification) {
    for id in &emitted.implementations {
        if after.dropin_calls.get(id).is_none_or(|calls| *calls == 0) {
            context.progress.warn(&format!(
                "the drop-in never ran `{id}` in the verification; do not deploy its rule"
            ));
            context
                .quarantine
                .add(id, FaultKind::NoEffect, "the drop-in never ran it in the verification");
        }
    }
}

/// Lines as comments of a shell, which Open MPI's files take, too.
pub(crate) fn comments(lines: &[String]) -> String {
    lines.iter().map(|line| format!("# {line}\n")).collect()
}

/// Writes the environment file, where there is something for it, and then the page that `page` makes of all files for the library that
/// it is given: what is left to do when a library's own files are written.
fn finish(
    context: &Context<'_>,
    decisions: &Decisions<'_>,
    mut emitted: Emitted,
    variables: &[(String, String)],
    page: impl FnOnce(&Emitted, &str) -> String,
) -> anyhow::Result<Emitted> {
    if !variables.is_empty() {
        write(&emitted.directory, ENVIRONMENT, &environment::to_text(variables)?)?;
        emitted.files.insert(File::Environment, ENVIRONMENT.to_owned());
    }
    emitted.files.insert(File::Readme, README.to_owned());
    let library = format!("{} {}", context.library.name, context.version);
    let page = page(&emitted, &library)
        + &readme::replaced(&replaced(context, decisions))
        + &readme::left_out(&decisions.left_out);
    write(&emitted.directory, README, &page)?;
    Ok(emitted)
}

/// What a job must no longer be given, since the command line wins over what is deployed: settings of the site's that a decision changes.
fn replaced(context: &Context<'_>, decisions: &Decisions<'_>) -> Vec<(String, String)> {
    let options = context.options;
    let site = options.site_parameters.iter().chain(&options.site_environment);
    let is_replaced = |(name, value): &&(String, String)| {
        let mut all = decisions.assignments.iter();
        name != "LD_PRELOAD" && all.any(|one| one.name == *name && one.value != *value)
    };
    site.filter(is_replaced).cloned().collect()
}

/// Writes one file.
fn write(directory: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let path = directory.join(name);
    staging::announce(directory, Path::new(name))?;
    std::fs::write(&path, text).with_context(|| format!("`{}` cannot be written", path.display()))
}

/// Reads one file.
fn read(directory: &Path, name: &str) -> anyhow::Result<String> {
    let path = directory.join(name);
    std::fs::read_to_string(&path).with_context(|| format!("`{}` cannot be read", path.display()))
}
