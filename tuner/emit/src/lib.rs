//! Writes decisions as files: a staging directory that holds exactly what would be deployed, and the launch that uses it. [`emitters`] has a
//! file for each kind of library; [`apply`] installs a staging directory and takes it back.

mod announced;
pub mod apply;
pub mod command_line;
pub mod components;
pub mod decisions;
mod describe;
pub mod digest;
mod dropin;
pub mod emitters;
pub mod environment;
pub mod fence;
pub mod forms;
pub mod installation;
pub mod manifest;
pub mod mca;
pub mod mpich_library;
pub mod mvapich2_conf;
pub mod profile;
mod readme;
pub mod rules;
pub mod scope;
pub mod selection;
pub mod selection_guard;
pub mod selection_lint;
pub mod selection_parameters;
pub mod site_file;
pub mod staging;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kilter_algorithms::Collective;
use kilter_bench::progress::Progress;
use kilter_model::config::library::Library;
use kilter_model::deployment::{Deployment, Selection};
use kilter_model::options::Options;
use kilter_model::plan::Plan;
use kilter_model::setup::Setup;
use kilter_protocol::fault::FaultKind;
use kilter_search::context::{Facts, Jobs, Site};
use kilter_search::quarantine::Quarantine;
use kilter_search::verification::Verification;

use decisions::Decisions;
use emitters::{Emitter, Settings};
use installation::Installation;
use site_file::SiteFile;

/// Environment of the ranks.
const ENVIRONMENT: &str = "kilter.env";
/// The page that says how to install everything.
const README: &str = "README.txt";

/// Files of a staging directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Emitted {
    /// The directory.
    pub directory: PathBuf,
    /// File names by content.
    pub files: BTreeMap<File, String>,
    /// The file of the library's own settings, and the names of those that it carries. The environment file carries all others.
    pub own: Option<(File, BTreeSet<String>)>,
    /// Implementations that the drop-in must run in a verification.
    pub implementations: Vec<String>,
    /// Rows that the profile names for jobs to try.
    pub tried: Vec<String>,
}

impl Emitted {
    /// The name of the file that carries a setting of whole launches; empty where there is none.
    #[must_use]
    pub fn carrier(&self, setting: &str) -> &str {
        let own = self.own.as_ref().filter(|(_, names)| names.contains(setting));
        let file = own.map_or(File::Environment, |(file, _)| *file);
        self.files.get(&file).map_or("", String::as_str)
    }

    /// The names of the files that carry a choice for one size; empty where there are none.
    #[must_use]
    pub fn carriers_of(&self, library: &Library, collective: Collective, selection: &Selection) -> String {
        let carriers = match (selection, &library.components) {
            (Selection::Settings(settings), Some(components)) => {
                let is_handed =
                    |(name, value): &(String, String)| components.handed_to(collective, (name, value)).is_some();
                let (handed, others): (Vec<_>, Vec<_>) = settings.iter().partition(|one| is_handed(one));
                let (handed, others) = (!handed.is_empty(), !others.is_empty());
                vec![(File::Rules, others), (File::Components, handed)]
            }
            (Selection::Settings(_), None) => vec![(File::Rules, true)],
            _ => vec![(File::Profile, true)],
        };
        let carriers = carriers.into_iter().filter(|(_, carries)| *carries);
        let names = carriers.filter_map(|(file, _)| self.files.get(&file).cloned());
        names.collect::<Vec<_>>().join(", ")
    }
}

/// The content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum File {
    /// Parameters of the library.
    Parameters,
    /// Rules by collective, communicator size and message size.
    Rules,
    /// Components by collective, communicator size and message size.
    Components,
    /// Environment of the ranks.
    Environment,
    /// Profile of the drop-in.
    Profile,
    /// Arguments of the launcher.
    Arguments,
    /// The page that says how to install them.
    Readme,
}

/// The staging directory.
fn directory(options: &Options) -> PathBuf {
    options.out.join("emit")
}

/// Empties the staging directory: nothing is to be deployed.
///
/// # Errors
/// The directory cannot be removed, or holds files that are not Kilter's.
pub fn clear(options: &Options) -> anyhow::Result<()> {
    staging::clear(&directory(options))
}

/// Refuses a deployment that could not be written in the end: no emitter, or a staging directory that holds files that are not Kilter's or whose
/// path the library takes apart. It is called before anything is measured.
pub fn check(site: &Site<'_>) -> anyhow::Result<()> {
    let directory = directory(site.options);
    emitter(&site.library)?.check_directory(&directory)?;
    staging::check(&directory)
}

/// The emitter of the context's library.
///
/// # Errors
/// The library has none.
fn emitter(library: &Library) -> anyhow::Result<&'static dyn Emitter> {
    emitters::of(library)?.with_context(|| {
        format!(
            "tuning {name} is not there yet: its algorithms are not described for the search, and nothing writes files for it; \
             `kilter check` verifies {name}, and `kilter tune` works on the libraries that `kilter list libraries` shows so",
            name = library.name
        )
    })
}

/// Writes the decisions, and the rows that jobs try.
///
/// # Errors
/// A decision that no file can carry, or a file that cannot be written.
pub fn emit(
    jobs: &Jobs<'_>,
    plan: &Plan,
    facts: &Facts,
    deployment: &Deployment,
    tried: &[Selection],
) -> anyhow::Result<Emitted> {
    let decisions = Decisions::of(&jobs.site, plan, facts, deployment).trying(tried);
    write_to(jobs, &decisions, &directory(jobs.site.options))
}

/// Writes decisions, which may be those of several layouts, into a directory that holds nothing else.
///
/// # Errors
/// A decision that no file can carry, or a file that cannot be written.
pub fn write_to(jobs: &Jobs<'_>, decisions: &Decisions<'_>, directory: &Path) -> anyhow::Result<Emitted> {
    write_files(
        emitter(&jobs.site.library)?,
        &Installation::of(jobs),
        decisions,
        directory,
    )
}

/// Writes all files of an installation.
fn write_files(
    emitter: &dyn Emitter,
    installation: &Installation<'_>,
    decisions: &Decisions<'_>,
    directory: &Path,
) -> anyhow::Result<Emitted> {
    staging::begin(directory)?;
    let mut emitted = Emitted {
        directory: directory.to_path_buf(),
        ..Emitted::default()
    };
    if !emitter.carries_selections() {
        let is_switched = |one: &Selection| matches!(one, Selection::Settings(_));
        emitters::refuse_selections(installation, decisions, is_switched)?;
    }
    let mut written = emitter.write(installation, decisions, &mut emitted)?;
    let preloaded = dropin::install(installation, decisions, &mut emitted)?;
    written.environment.extend(preloaded);
    let state = missing_state(installation, &written);
    written.environment.extend(state.iter().cloned());
    if let Some(site_file) = emitter.site_file() {
        divide(&mut written, installation, site_file);
        if !written.parameters.is_empty() {
            write(directory, site_file.staged, &(site_file.to_text)(&written.parameters)?)?;
            emitted.files.insert(File::Parameters, site_file.staged.to_owned());
        }
    }
    if !written.environment.is_empty() {
        write(directory, ENVIRONMENT, &environment::to_text(&written.environment)?)?;
        emitted.files.insert(File::Environment, ENVIRONMENT.to_owned());
    }
    let mut own = [File::Parameters, File::Arguments].into_iter();
    let own = own.find(|file| emitted.files.contains_key(file));
    let names = written.parameters.iter().map(|(name, _)| name.clone()).collect();
    emitted.own = own.map(|file| (file, names));
    emitted.files.insert(File::Readme, README.to_owned());
    let page = emitter.page(installation, decisions, &emitted, &written);
    let page = readme::page(page, &emitted, &installation.named(), &decisions.ranks())
        + &readme::replaced(&replaced(installation, decisions))
        + &readme::measured(&state, installation.library.measuring.as_ref())
        + &readme::left_out(&decisions.left_out);
    write(directory, README, &page)?;
    describe::describe(installation, decisions, emitter.site_file(), &emitted)?;
    announced::complete(directory)?;
    Ok(emitted)
}

/// Settings of the state in which all was measured that are not among those written; nothing where nothing is deployed.
fn missing_state(installation: &Installation<'_>, written: &Settings) -> Vec<(String, String)> {
    if written.environment.is_empty() && written.parameters.is_empty() {
        return Vec::new();
    }
    let is_there = |name: &str| written.environment.iter().any(|(other, _)| other == name);
    let missing = installation.measured.iter().filter(|(name, _)| !is_there(name));
    missing.cloned().collect()
}

/// The launch that uses exactly the files of the staging directory: each is read back from the disk by rules that mirror its
/// reader's.
///
/// # Errors
/// A file that its reader would refuse or ignore.
pub fn staged(jobs: &Jobs<'_>, emitted: &Emitted) -> anyhow::Result<Setup> {
    read_back(emitter(&jobs.site.library)?, &Installation::of(jobs), emitted)
}

/// The launch that uses exactly the emitted files of an installation.
fn read_back(emitter: &dyn Emitter, installation: &Installation<'_>, emitted: &Emitted) -> anyhow::Result<Setup> {
    dropin::read_back(emitted)?;
    let mut settings = Settings::default();
    if let Some((site_file, name)) = emitter.site_file().zip(emitted.files.get(&File::Parameters)) {
        settings.parameters = (site_file.parse)(&read(&emitted.directory, name)?)?;
    }
    if let Some(name) = emitted.files.get(&File::Environment) {
        settings.environment = environment::parse(&read(&emitted.directory, name)?)?;
    }
    let all = [settings.parameters.as_slice(), &settings.environment].concat();
    if let Some(broken) = installation.library.unreadable(&all) {
        return Err(broken.into());
    }
    emitter.staged(installation, emitted, settings)
}

/// Moves parameters that the site sets to the environment, which wins over files of parameters: what already stands there can be changed there
/// alone.
fn divide(settings: &mut Settings, installation: &Installation<'_>, site_file: &SiteFile) {
    let all = std::mem::take(&mut settings.parameters).into_iter();
    let (stronger, parameters): (Vec<_>, Vec<_>) = all.partition(|(name, _)| installation.is_set_by_site(name));
    settings.parameters = parameters;
    settings.environment.extend((site_file.as_environment)(&stronger));
}

/// Warns where the drop-in did not run an implementation that is deployed: its rules were never reached.
pub fn confirm_ran(progress: &Progress, quarantine: &Quarantine, emitted: &Emitted, after: &Verification) {
    for id in &emitted.implementations {
        if after.dropin_calls.get(id).is_none_or(|calls| *calls == 0) {
            progress.warn(&format!(
                "the drop-in never ran `{id}` in the verification; do not deploy its rule"
            ));
            quarantine.add(id, FaultKind::NoEffect, "the drop-in never ran it in the verification");
        }
    }
}

/// Lines as comments of a shell, which Open MPI's files take, too.
pub(crate) fn comments(lines: &[String]) -> String {
    lines.iter().map(|line| format!("# {line}\n")).collect()
}

/// Settings of the site's that a decision changes: a job must no longer be given them, since the command line wins over the deployment.
fn replaced(installation: &Installation<'_>, decisions: &Decisions<'_>) -> Vec<(String, String)> {
    let site = installation.site_parameters.iter().chain(installation.site_environment);
    let is_replaced = |(name, value): &&(String, String)| {
        let mut all = decisions.assignments.iter();
        name != "LD_PRELOAD" && all.any(|one| one.name == *name && one.value != *value)
    };
    site.filter(is_replaced).cloned().collect()
}

/// Writes one file.
fn write(directory: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let path = directory.join(name);
    announced::announce(directory, Path::new(name))?;
    std::fs::write(&path, text).with_context(|| format!("`{}` cannot be written", path.display()))
}

/// Reads one file.
fn read(directory: &Path, name: &str) -> anyhow::Result<String> {
    let path = directory.join(name);
    std::fs::read_to_string(&path).with_context(|| format!("`{}` cannot be read", path.display()))
}
