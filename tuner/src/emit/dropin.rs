//! The drop-in beside the library's own files: its profile, the shared objects, and the variables that load them.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::{Emitted, File, profile, read, write};
use crate::context::Context;
use crate::deployment::Deployment;

const PROFILE: &str = "kilter-profile.json";
/// Where the drop-in and its plugins lie, beside the profile.
const LIBRARIES: &str = "lib";

/// Writes what a deployment needs of the drop-in, if it does; returns the variables of the ranks.
pub(super) fn install(
    context: &Context<'_>,
    deployment: &Deployment,
    directory: &Path,
    emitted: &mut Emitted,
) -> anyhow::Result<Vec<(String, String)>> {
    if !deployment.needs_dropin() {
        return Ok(Vec::new());
    }
    let libraries = directory.join(LIBRARIES);
    std::fs::create_dir_all(&libraries).with_context(|| format!("`{}` cannot be made", libraries.display()))?;
    let dropin = copy(&context.programs.dropin()?, &libraries)?;
    let plugin = copy(&context.programs.plugin()?, &libraries)?;
    let library = format!("{} {}", context.library.name, context.version);
    let relative = Path::new(LIBRARIES).join(plugin.file_name().unwrap_or_default());
    let profile = profile::of(
        deployment,
        &context.plan,
        &library,
        context.options.ranks,
        &relative.display().to_string(),
    );
    let Some(profile) = profile else {
        return Ok(Vec::new());
    };
    write(directory, PROFILE, &(serde_json::to_string_pretty(&profile)? + "\n"))?;
    emitted.files.insert(File::Profile, PROFILE.to_owned());
    emitted.implementations = profile.rules.iter().map(|rule| rule.implementation.clone()).collect();
    emitted.implementations.sort_unstable();
    emitted.implementations.dedup();
    Ok(vec![
        (
            "KILTER_PROFILE".to_owned(),
            directory.join(PROFILE).display().to_string(),
        ),
        ("LD_PRELOAD".to_owned(), dropin.display().to_string()),
    ])
}

/// Reads the profile back as the drop-in does.
pub(super) fn read_back(emitted: &Emitted) -> anyhow::Result<()> {
    if let Some(name) = emitted.files.get(&File::Profile) {
        let path = emitted.directory.join(name);
        kilter_profile::Profile::parse(&read(&emitted.directory, name)?, &path.display().to_string())?;
    }
    Ok(())
}

/// Copies a shared object so that only its owner can write it: the drop-in refuses others.
fn copy(from: &Path, directory: &Path) -> anyhow::Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let to = directory.join(
        from.file_name()
            .with_context(|| format!("`{}` is no file", from.display()))?,
    );
    std::fs::copy(from, &to).with_context(|| format!("`{}` cannot be copied to `{}`", from.display(), to.display()))?;
    std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o755))
        .with_context(|| format!("the mode of `{}` cannot be set", to.display()))?;
    Ok(to)
}
