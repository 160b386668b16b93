//! Rules of Open MPI that a site or a user has already. The library reads one rules file only, so where the tuning brings its own,
//! theirs are put below it and hold wherever the tuning leaves the choice to the library.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kilter_model::config::library::{self, Library, RulesForm};
use serde_json::Value;

use super::block;
use super::layout::{Layout, SHARE};
use crate::apply::staged::Staged;
use crate::digest::sha256;
use crate::manifest::{self, Carries, Manifest};
use crate::rules::json::others::{Algorithm, Others};
use crate::rules::{ByNodes, Rules};

/// The parameter that names the file.
pub const FILE: &str = "coll_tuned_dynamic_rules_filename";
/// The one without which the file is not read.
const SWITCH: &str = "coll_tuned_use_dynamic_rules";
/// Words in every rules file that Kilter wrote as numbers. JSON has no comments: see [`is_kilters`].
const OURS: &str = "written by kilter";
/// Collectives that must not be switched on message size, by their numbers: Open MPI looks at arguments that differ between ranks.
const UNSAFE: [(u64, &str); 2] = [(9, "gather"), (15, "scatter")];

/// Rules of theirs, in the form of their file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Theirs {
    /// Numbers, as Kilter writes them, too.
    Numbers(Rules),
    /// JSON, whatever the library takes.
    Json(Others),
}

impl Theirs {
    fn switched_on_size(&self) -> BTreeSet<u64> {
        match self {
            Theirs::Numbers(rules) => rules.switched_on_size(),
            Theirs::Json(others) => others.switched_on_size(),
        }
    }

    /// Remarks on what the library does not take as it is written.
    fn notes(&self) -> &[String] {
        match self {
            Theirs::Numbers(_) => &[],
            Theirs::Json(others) => others.notes(),
        }
    }
}

/// Rules that a site or a user has already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// No rules of theirs are in force, or the tuning has none.
    Nothing,
    /// Rules that can be kept.
    Rules {
        /// Their file.
        file: PathBuf,
        /// The file of parameters that names it.
        named_in: PathBuf,
        /// Its rules.
        rules: Theirs,
    },
    /// Rules that cannot, and why.
    Unusable(String),
}

impl Found {
    /// Parameters whose lines may be put aside, because the file that they name is kept.
    #[must_use]
    pub fn kept(&self) -> &'static [&'static str] {
        match self {
            Found::Rules { .. } => &[FILE],
            Found::Nothing | Found::Unusable(_) => &[],
        }
    }

    /// Remarks on it for when all else is clear, a line each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        match self {
            Found::Nothing => Vec::new(),
            Found::Unusable(why) => vec![format!("warning: {why}; they will no longer hold")],
            Found::Rules { file, named_in, rules } => {
                let mut notes = vec![format!(
                    "the rules of `{}`, which `{}` names, are kept where the tuning sets none; run this again when they change",
                    file.display(),
                    named_in.display()
                )];
                let said = rules.notes().iter();
                notes.extend(said.map(|said| format!("warning: `{}`, {said}", file.display())));
                let switched = rules.switched_on_size();
                for (_, name) in UNSAFE.iter().filter(|(id, _)| switched.contains(id)) {
                    notes.push(format!(
                        "warning: `{}` switches {name} on the message size, of which ranks see different ones: correct programs can \
                         crash or hang; it is kept as it is",
                        file.display()
                    ));
                }
                notes
            }
        }
    }
}

/// The form of a rules file of Open MPI; `None` for another library's file.
#[must_use]
pub fn form(manifest: &Manifest, name: &str) -> Option<RulesForm> {
    if !name.ends_with(".json") {
        return Some(RulesForm::Numbers);
    }
    manifest
        .library
        .site_file
        .is_some_and(|file| file.json_rules)
        .then_some(RulesForm::Json)
}

/// Finds the rules in force beside the tuning. `written` are the checksums of the files that Kilter has written here before. `read` gives the
/// content of a file by the name that it has for its reader once all is installed.
///
/// # Errors
/// A file of parameters that cannot be read, or with broken marks.
pub fn find(
    staged: &Staged,
    layout: &Layout,
    written: &BTreeSet<String>,
    read: impl Fn(&Path) -> anyhow::Result<Option<Vec<u8>>>,
) -> anyhow::Result<Found> {
    let manifest = &staged.manifest;
    let ours = manifest.files.iter().find(|file| file.carries == Carries::Rules);
    let Some((ours, form)) = ours.and_then(|file| Some((file, form(manifest, &file.name)?))) else {
        return Ok(Found::Nothing);
    };
    let mut named = None;
    let mut switch = None;
    // The user's file wins over the site's.
    for (path, must_be_read) in [(&layout.parameters, true), (&layout.site, false)] {
        let Some(path) = path else { continue };
        let content = match read(path) {
            Err(_) if !must_be_read => None,
            content => content?,
        };
        let text = content.unwrap_or_default();
        let theirs = |name: &str| block::set_by_others(&text, name).with_context(|| format!("`{}`", path.display()));
        named = named.or(theirs(FILE)?.map(|file| (PathBuf::from(file), path.clone())));
        switch = switch.or(theirs(SWITCH)?);
    }
    let is_on = switch.is_some_and(|value| ["1", "true", "yes", "enabled"].contains(&&*value.to_lowercase()));
    let Some((file, named_in)) = named.filter(|_| is_on) else {
        return Ok(Found::Nothing);
    };
    let installed = layout.share.join(&manifest.library.id).join(&ours.name);
    if file == installed {
        return Ok(Found::Nothing);
    }
    let unusable = |why: &str| {
        Ok(Found::Unusable(format!(
            "the rules of `{}`, which `{}` names, cannot be kept: {why}",
            file.display(),
            named_in.display()
        )))
    };
    if !file.is_absolute() {
        return unusable("it is no absolute path");
    }
    let content = match read(&file) {
        Ok(Some(content)) => content,
        Ok(None) => return unusable("it is not there, so Open MPI reads no rules"),
        Err(error) => return unusable(&format!("{error:#}")),
    };
    let text = String::from_utf8_lossy(&content);
    if text.contains(OURS) || written.contains(&sha256(&content)) || is_kilters(&file, &ours.name, &read) {
        return unusable("Kilter wrote it, and what it says may be out of date");
    }
    // A release that is given JSON still reads numbers.
    if form == RulesForm::Json && text.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
        let described = described(staged)?;
        let knows = |collective, algorithm: &Algorithm| {
            described
                .as_ref()
                .is_none_or(|library| knows(library, collective, algorithm))
        };
        return match Others::read(&text, &knows) {
            Err(error) => unusable(&format!("{error}; put that right")),
            Ok(others) => Ok(Found::Rules {
                file,
                named_in,
                rules: Theirs::Json(others),
            }),
        };
    }
    match Rules::parse(&text) {
        Err(error) => unusable(&format!("{error}; put that right")),
        Ok(rules) if rules.limits_requests() && !carries_requests(staged, &ours.name, form)? => {
            unusable("it has the column for requests, for which this release ignores the whole file")
        }
        Ok(rules) => Ok(Found::Rules {
            file,
            named_in,
            rules: Theirs::Numbers(rules),
        }),
    }
}

/// True if a library has an algorithm, by its number or its name; 0 leaves the choice to it.
fn knows(library: &Library, collective: u64, algorithm: &Algorithm) -> bool {
    let row = library.algorithms.iter().find(|row| row.rules_id == Some(collective));
    let mut choices = row.into_iter().flat_map(|row| &row.choices);
    match algorithm {
        Algorithm::Number(0) => true,
        Algorithm::Name(name) if name == "ignore" => true,
        Algorithm::Number(number) => choices.any(|choice| i64::try_from(choice.value) == Ok(*number)),
        Algorithm::Name(name) => choices.any(|choice| choice.name == *name),
    }
}

/// Description of the library that was tuned, if Kilter has one.
fn described(staged: &Staged) -> anyhow::Result<Option<Library>> {
    let id = &staged.manifest.library.id;
    Ok(library::load_embedded()?.into_iter().find(|library| library.id == *id))
}

/// True if a file lies where Kilter puts rules files of this name: installed for others, whose journal need not be readable, or beside the
/// manifest of a staging directory that lists it.
fn is_kilters(file: &Path, name: &str, read: impl Fn(&Path) -> anyhow::Result<Option<Vec<u8>>>) -> bool {
    if file.file_name() != Some(OsStr::new(name)) {
        return false;
    }
    if file.ancestors().nth(2).is_some_and(|share| share.ends_with(SHARE)) {
        return true;
    }
    let manifest = read(&file.with_file_name(manifest::NAME)).ok().flatten();
    let manifest: Value = manifest
        .and_then(|content| serde_json::from_slice(&content).ok())
        .unwrap_or_default();
    // Any version will do.
    let lists = |files: &Vec<Value>| files.iter().any(|file| file["name"] == name);
    manifest["kilter"].is_string() && manifest["files"].as_array().is_some_and(lists)
}

/// True if the release reads how many requests a rule allows; for a release that is not described, the staged rules tell.
fn carries_requests(staged: &Staged, ours: &str, form: RulesForm) -> anyhow::Result<bool> {
    Ok(match described(staged)? {
        Some(library) => library.rules_file.carries_requests(&staged.manifest.library.version),
        None => ByNodes::read(staged.text(ours)?, form)?.limits_requests(),
    })
}
