//! Files beside every library's own: a page on the tuned library and its conditions, the environment in the forms of sites, and the manifest
//! that lists it all.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Context as _;

use super::decisions::Decisions;
use super::forms::{Exported, FORMS};
use super::installation::Installation;
use super::manifest::{self, Carries, Manifest, StagedFile, TunedLibrary, TunedUnder};
use super::site_file::SiteFile;
use super::{Emitted, File, announced, comments, environment, read, rules, write};
use crate::digest::sha256;

/// Files that get a title of comments.
const TITLED: [File; 5] = [
    File::Parameters,
    File::Rules,
    File::Components,
    File::Environment,
    File::Arguments,
];

/// Completes the staging directory.
pub(super) fn describe(
    installation: &Installation<'_>,
    decisions: &Decisions<'_>,
    site_file: Option<&'static SiteFile>,
    emitted: &Emitted,
) -> anyhow::Result<()> {
    let directory = &emitted.directory;
    let mut manifest = of(installation, decisions, site_file, directory);
    let title = manifest.title();
    for file in TITLED {
        // Comments are for the formats that have them; only a rules file may have something before them.
        if let Some(name) = emitted.files.get(&file).filter(|name| !name.ends_with(".json")) {
            let text = read(directory, name)?;
            write(directory, name, &rules::numbers::titled(&comments(&title), &text))?;
        }
    }
    if let Some(name) = emitted.files.get(&File::Profile) {
        // The drop-in compares this with what the library says of itself, and warns.
        let path = directory.join(name).display().to_string();
        let mut profile = kilter_profile::Profile::parse_trusting(&read(directory, name)?, &path)?;
        if !installation.library_string.is_empty() {
            profile.library.clone_from(&installation.library_string);
            write(directory, name, &kilter_render::json::text(&profile)?)?;
        }
    }
    match Exported::new(&title, &variables(emitted, site_file)?) {
        Ok(exported) if exported.is_empty() => {}
        Ok(exported) => {
            let exported = exported.with_daemons(site_file.map_or(&[], |file| file.daemons));
            for form in FORMS {
                write(directory, form.file, &(form.text)(&exported))?;
                let path = directory.join(form.file);
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(form.mode))
                    .with_context(|| format!("the mode of `{}` cannot be set", path.display()))?;
            }
        }
        // The finding is worth more than its forms.
        Err(error) => installation.progress.warn(&format!("no module files: {error}")),
    }
    manifest.files = list(directory, emitted)?;
    write(directory, manifest::NAME, &manifest.to_text()?)
}

fn of(
    installation: &Installation<'_>,
    decisions: &Decisions<'_>,
    site_file: Option<&'static SiteFile>,
    directory: &Path,
) -> Manifest {
    // The setting that a decision replaces was not there when the files were proven.
    let is_replaced = |name: &str| decisions.assignments.iter().any(|one| one.name == name);
    let kept = |site: &[(String, String)]| site.iter().filter(|(name, _)| !is_replaced(name)).cloned().collect();
    Manifest {
        schema: manifest::SCHEMA,
        kilter: env!("CARGO_PKG_VERSION").to_owned(),
        directory: directory.display().to_string(),
        library: TunedLibrary {
            id: installation.library.id.clone(),
            name: installation.library.name.clone(),
            version: installation.version.to_owned(),
            site_file,
        },
        tuned_under: TunedUnder {
            ranks: decisions.parts.iter().map(|part| part.ranks).max().unwrap_or(0),
            layouts: decisions.layouts.iter().map(ToString::to_string).collect(),
            transports: decisions.transports.clone(),
            device: installation.device.clone(),
            parameters: kept(installation.site_parameters),
            environment: kept(installation.site_environment),
        },
        files: Vec::new(),
    }
}

/// Variables that a job's environment must have: the environment of the ranks, and the library's parameters as variables.
fn variables(emitted: &Emitted, site_file: Option<&SiteFile>) -> anyhow::Result<Vec<(String, String)>> {
    let mut variables = Vec::new();
    if let (Some(name), Some(site_file)) = (emitted.files.get(&File::Parameters), site_file) {
        variables.extend((site_file.as_environment)(&(site_file.parse)(&read(
            &emitted.directory,
            name,
        )?)?));
    }
    if let Some(name) = emitted.files.get(&File::Environment) {
        variables.extend(environment::parse(&read(&emitted.directory, name)?)?);
    }
    Ok(variables)
}

/// The files that are there, in the order of their names.
fn list(directory: &Path, emitted: &Emitted) -> anyhow::Result<Vec<StagedFile>> {
    let mut files = Vec::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(below) = open.pop() {
        let unreadable = || format!("`{}` cannot be listed", below.display());
        for entry in std::fs::read_dir(&below).with_context(unreadable)? {
            let path = entry.with_context(unreadable)?.path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(directory).unwrap_or(&path).display().to_string();
            if name == announced::JOURNAL {
                continue;
            }
            let carries = carries(&name, emitted);
            let content = std::fs::read(&path).with_context(|| format!("`{}` cannot be read", path.display()))?;
            files.push(StagedFile {
                name,
                carries,
                sha256: sha256(&content),
            });
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn carries(name: &str, emitted: &Emitted) -> Carries {
    let known = emitted.files.iter().find(|(_, file)| *file == name);
    match known.map(|(carried, _)| carried) {
        Some(File::Parameters) => Carries::Parameters,
        Some(File::Environment) => Carries::Environment,
        Some(File::Profile) => Carries::Profile,
        Some(File::Arguments) => Carries::Arguments,
        Some(File::Readme) => Carries::Readme,
        Some(File::Components) => Carries::Components,
        Some(_) => Carries::Rules,
        None if FORMS.iter().any(|form| form.file == name) => Carries::Form,
        None => Carries::Library,
    }
}
