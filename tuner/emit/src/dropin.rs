//! Preloaded libraries beside the library's own files: the drop-in with its profile and plugins, the progress thread, and the variables
//! that load them.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::decisions::Decisions;
use super::installation::Installation;
use super::{Emitted, File, announced, profile, read, write};

const PROFILE: &str = "kilter-profile.json";
/// Directory of the shared objects, beside the profile.
const LIBRARIES: &str = "lib";

/// Writes the shared objects that a deployment preloads, if it needs any; returns the variables of the ranks.
pub(super) fn install(
    installation: &Installation<'_>,
    decisions: &Decisions<'_>,
    emitted: &mut Emitted,
) -> anyhow::Result<Vec<(String, String)>> {
    let directory = emitted.directory.clone();
    let mut variables = Vec::new();
    let mut preloaded = Vec::new();
    if let Some(dropin) = install_dropin(installation, decisions, emitted)? {
        let path = directory.join(PROFILE);
        variables.push(("KILTER_PROFILE".to_owned(), path.display().to_string()));
        preloaded.push(dropin);
    }
    if decisions.needs_progress() {
        preloaded.push(copy(&installation.programs.progress()?, &directory)?);
    }
    if !preloaded.is_empty() {
        let all: Vec<String> = preloaded.iter().map(|path| path.display().to_string()).collect();
        variables.push(("LD_PRELOAD".to_owned(), all.join(":")));
    }
    Ok(variables)
}

/// The drop-in's profile and shared objects; its own path, or `None` where nothing needs it.
fn install_dropin(
    installation: &Installation<'_>,
    decisions: &Decisions<'_>,
    emitted: &mut Emitted,
) -> anyhow::Result<Option<PathBuf>> {
    if !decisions.needs_dropin() {
        return Ok(None);
    }
    let directory = &emitted.directory.clone();
    let dropin = copy(&installation.programs.dropin()?, directory)?;
    let mut plugins = vec![relative(&copy(&installation.programs.plugin()?, directory)?)];
    for (number, plugin) in decisions.plugins().into_iter().enumerate() {
        // Two may have one file name, and one of ours may be taken.
        let name = plugin.file_name().unwrap_or_default().to_string_lossy();
        let name = if directory.join(LIBRARIES).join(&*name).exists() {
            format!("{}-{name}", number + 1)
        } else {
            name.into_owned()
        };
        plugins.push(relative(&copy_as(plugin, directory, &name)?));
    }
    let profile = profile::of(decisions, &installation.named(), plugins, installation.limits);
    let Some(profile) = profile else {
        return Ok(None);
    };
    write(directory, PROFILE, &kilter_render::json::text(&profile)?)?;
    emitted.files.insert(File::Profile, PROFILE.to_owned());
    emitted.implementations = profile.rules.iter().map(|rule| rule.implementation.clone()).collect();
    emitted.implementations.sort_unstable();
    emitted.implementations.dedup();
    emitted.tried = profile.online;
    Ok(Some(dropin))
}

/// Reads the profile back as the drop-in does.
pub(super) fn read_back(emitted: &Emitted) -> anyhow::Result<()> {
    if let Some(name) = emitted.files.get(&File::Profile) {
        let path = emitted.directory.join(name);
        kilter_profile::Profile::parse_trusting(&read(&emitted.directory, name)?, &path.display().to_string())?;
    }
    Ok(())
}

/// Path of a copy, as the profile beside the directory of copies names it.
fn relative(copied: &Path) -> String {
    let name = copied.file_name().unwrap_or_default();
    Path::new(LIBRARIES).join(name).display().to_string()
}

/// Copies a shared object under its own name into a staging directory.
fn copy(from: &Path, directory: &Path) -> anyhow::Result<PathBuf> {
    let name = from
        .file_name()
        .with_context(|| format!("`{}` is no file", from.display()))?;
    copy_as(from, directory, &name.to_string_lossy())
}

/// Copies a shared object so that only its owner can write it: the drop-in refuses others.
fn copy_as(from: &Path, directory: &Path, name: &str) -> anyhow::Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let own = Path::new(LIBRARIES).join(name);
    let (libraries, to) = (directory.join(LIBRARIES), directory.join(&own));
    announced::announce(directory, &own)?;
    std::fs::create_dir_all(&libraries).with_context(|| format!("`{}` cannot be made", libraries.display()))?;
    std::fs::copy(from, &to).with_context(|| format!("`{}` cannot be copied to `{}`", from.display(), to.display()))?;
    std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o755))
        .with_context(|| format!("the mode of `{}` cannot be set", to.display()))?;
    Ok(to)
}
