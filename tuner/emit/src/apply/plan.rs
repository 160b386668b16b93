//! Computes the list of changes from a staging directory and the installed files: a function of contents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use kilter_model::config::library::{self, RulesForm};

use super::Change;
use super::block::{self, Conflict};
use super::layout::Layout;
use super::relocate::Relocation;
use super::site_rules::{self, Found, Theirs};
use super::staged::{Current, Staged};
use crate::components::ComponentRules;
use crate::forms::{Exported, FORMS, one_line};
use crate::manifest::{Carries, Manifest};
use crate::rules::{ByNodes, numbers};
use crate::{comments, emitters, environment};

/// The wanted state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Desired {
    /// This and nothing else.
    Whole {
        /// Its content.
        content: Vec<u8>,
        /// Its mode when it is made.
        mode: u32,
    },
    /// Its present content, with these parameters in Kilter's block.
    Block(Vec<(String, String)>),
    /// Not there.
    Gone,
}

/// The changes, and the lines that they put aside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// Files that change, in the order in which they are written: files that others name come first.
    pub changes: Vec<Change>,
    /// Lines of theirs that are put aside, by file.
    pub put_aside: Vec<(PathBuf, Conflict)>,
}

impl Staged {
    /// A file's content as text.
    pub(super) fn text(&self, name: &str) -> anyhow::Result<&str> {
        let path = self.directory.join(name);
        let bytes = self.files.get(name).map_or(&[][..], Vec::as_slice);
        std::str::from_utf8(bytes).with_context(|| format!("`{}` is no text", path.display()))
    }

    fn path(&self, name: &str) -> String {
        self.directory.join(name).display().to_string()
    }
}

/// The wanted state of every file under a layout. `earlier` are the files of Kilter's own that an earlier apply made for this library: those no
/// longer wanted go. `theirs` are the rules that are in force beside the tuning.
///
/// # Errors
/// A file that its reader would refuse or ignore, or a path that cannot be carried to its new place.
pub fn desired(
    staged: &Staged,
    layout: &Layout,
    earlier: &BTreeSet<PathBuf>,
    theirs: &Found,
) -> anyhow::Result<Vec<(PathBuf, Desired)>> {
    let manifest = &staged.manifest;
    let id = &manifest.library.id;
    let own = layout.share.join(id);
    let relocation = relocation(staged, layout)?;
    let parameters = parameters(staged, layout)?;
    let mut variables = Vec::new();
    let mut files = Vec::new();
    for file in &manifest.files {
        let name = &file.name;
        let mode = match file.carries {
            Carries::Environment => {
                let read =
                    environment::parse(staged.text(name)?).with_context(|| format!("`{}`", staged.path(name)))?;
                variables.extend(relocation.pairs(read));
                continue;
            }
            Carries::Parameters | Carries::Arguments | Carries::Form | Carries::Readme => continue,
            Carries::Rules => {
                if let Some(text) = rules(staged, name, theirs)? {
                    files.push((own.join(name), whole(text, 0o644)));
                    continue;
                }
                0o644
            }
            Carries::Components => {
                components(staged, name)?;
                0o644
            }
            Carries::Profile => {
                kilter_profile::Profile::parse_trusting(staged.text(name)?, &staged.path(name))?;
                0o644
            }
            Carries::Library => 0o755,
        };
        let content = staged.files.get(name).cloned().unwrap_or_default();
        files.push((own.join(name), Desired::Whole { content, mode }));
    }
    for (name, value) in parameters.iter().chain(&variables) {
        for named in relocation.named(value) {
            if !files.iter().any(|(path, _)| *path == own.join(named)) {
                bail!(
                    "`{name}` names `{named}` of the staging directory, which `{}` does not list; let `kilter tune` write it anew",
                    staged.path(crate::manifest::NAME)
                );
            }
        }
    }
    let site_file = manifest.library.site_file.unwrap_or(emitters::UNNAMED_SITE_FILE);
    (site_file.to_text)(&parameters)?;
    if layout.parameters.is_none() {
        variables.splice(0..0, (site_file.as_environment)(&parameters));
    }
    if !variables.is_empty() {
        let daemons = manifest.library.site_file.map_or(&[][..], |file| file.daemons);
        let exported = Exported::new(&manifest.title(), &variables)?.with_daemons(daemons);
        let text = comments(&manifest.title()) + &environment::to_text(&variables)?;
        files.push((own.join("kilter.env"), whole(text, 0o644)));
        for form in FORMS {
            let path = layout.share.join(form.applied.replace("{library}", id));
            files.push((path, whole((form.text)(&exported), form.mode)));
        }
    }
    // After the files that it names, and before those that it named go.
    if let Some(path) = &layout.parameters {
        files.push((path.clone(), Desired::Block(parameters)));
    }
    for path in earlier {
        if path.starts_with(&layout.share) && !files.iter().any(|(wanted, _)| wanted == path) {
            files.push((path.clone(), Desired::Gone));
        }
    }
    Ok(files)
}

/// The rules file of Open MPI with the rules that are in force beside it; `None` where it stays as it is.
fn rules(staged: &Staged, name: &str, theirs: &Found) -> anyhow::Result<Option<String>> {
    let Some(form) = site_rules::form(&staged.manifest, name) else {
        return Ok(None);
    };
    let ours = ByNodes::read(staged.text(name)?, form).with_context(|| format!("`{}`", staged.path(name)))?;
    let Found::Rules { file, rules, .. } = theirs else {
        return Ok(None);
    };
    let rules = match rules {
        Theirs::Numbers(rules) => rules,
        Theirs::Json(others) => return Ok(Some(others.under(&ours)?)),
    };
    let merged = ours.over(rules);
    let text = merged.write(form)?;
    if ByNodes::read(&text, form)?.normalized() != merged {
        bail!(
            "the rules together with those of `{}` do not read back as they were written; please report this",
            file.display()
        );
    }
    // JSON has no comments.
    Ok(Some(if form == RulesForm::Json {
        text
    } else {
        let mut title = staged.manifest.title();
        title.push(one_line(&format!(
            "Where the tuning sets none, the rules of {} hold.",
            file.display()
        )));
        numbers::titled(&comments(&title), &text)
    }))
}

/// Refuses a file of components that its library would ignore; one whose description does not come with Kilter was read when it was written.
fn components(staged: &Staged, name: &str) -> anyhow::Result<()> {
    let described = library::load_embedded()?.into_iter();
    let described = described.filter(|library| library.id == staged.manifest.library.id);
    for components in described.filter_map(|library| library.components) {
        ComponentRules::parse(staged.text(name)?, &components).with_context(|| format!("`{}`", staged.path(name)))?;
    }
    Ok(())
}

fn relocation(staged: &Staged, layout: &Layout) -> anyhow::Result<Relocation> {
    let own = layout.share.join(&staged.manifest.library.id);
    Ok(Relocation {
        from: staged.manifest.directory.clone(),
        to: utf8(&own)?.to_owned(),
    })
}

/// The library's parameters, with the paths that they will have.
fn parameters(staged: &Staged, layout: &Layout) -> anyhow::Result<Vec<(String, String)>> {
    let relocation = relocation(staged, layout)?;
    let site_file = staged.manifest.library.site_file.unwrap_or(emitters::UNNAMED_SITE_FILE);
    let mut parameters = Vec::new();
    let all = staged.manifest.files.iter();
    for file in all.filter(|file| file.carries == Carries::Parameters) {
        let read =
            (site_file.parse)(staged.text(&file.name)?).with_context(|| format!("`{}`", staged.path(&file.name)))?;
        parameters.extend(relocation.pairs(read));
    }
    Ok(parameters)
}

/// Parameters that will not hold because the site's file of overrides, with the content `overrides`, says something else, a line
/// each.
///
/// # Errors
/// A staged file that its reader would refuse.
pub fn overridden(staged: &Staged, layout: &Layout, overrides: &[u8]) -> anyhow::Result<Vec<String>> {
    let file = layout.overrides.as_deref().unwrap_or(Path::new("")).display();
    let text = String::from_utf8_lossy(overrides);
    let site_file = staged.manifest.library.site_file.unwrap_or(emitters::UNNAMED_SITE_FILE);
    let theirs = match (site_file.parse)(&text) {
        Ok(theirs) => theirs,
        Err(error) => {
            return Ok(vec![format!(
                "`{file}` wins over what is installed, and cannot be read: {error}"
            )]);
        }
    };
    let mut lines = Vec::new();
    for (name, value) in parameters(staged, layout)? {
        let other = theirs.iter().rfind(|(known, _)| *known == name);
        if let Some((_, other)) = other.filter(|(_, other)| *other != value) {
            lines.push(format!(
                "`{file}` sets `{name} = {other}` and wins over everything, so `{name} = {value}` will not hold: take that line out, or \
                 tune under it"
            ));
        }
    }
    Ok(lines)
}

fn whole(text: String, mode: u32) -> Desired {
    Desired::Whole {
        content: text.into_bytes(),
        mode,
    }
}

/// The changes from the present to the wanted state. `put_aside` allows to put lines of others aside; those of the parameters `kept` always may
/// be.
///
/// # Errors
/// Lines of a site or user that say something else, by file and line.
pub fn changes(
    desired: Vec<(PathBuf, Desired)>,
    manifest: &Manifest,
    current: &BTreeMap<PathBuf, Current>,
    (put_aside, kept): (bool, &[&str]),
) -> anyhow::Result<Changes> {
    let mut all = Changes::default();
    for (path, desired) in desired {
        let now = current.get(&path).cloned().unwrap_or_default();
        let mut mode = now.mode.unwrap_or(0o644);
        let mut block = None;
        let new = match desired {
            Desired::Gone => None,
            Desired::Whole { content, mode: wanted } => {
                mode = now.mode.unwrap_or(wanted);
                Some(content)
            }
            Desired::Block(parameters) => {
                let text = now.content.as_deref().unwrap_or_default();
                let (id, title) = (&manifest.library.id, manifest.title());
                let merged = block::merge(text, id, &title, &parameters, (put_aside, kept))
                    .with_context(|| format!("`{}`", path.display()))?;
                all.put_aside
                    .extend(merged.put_aside.into_iter().map(|line| (path.clone(), line)));
                // Empty either way.
                let nothing = now.content.is_none() && merged.text.is_empty();
                // An empty block is a block: what was taken out can be put back.
                block = Some(merged.block.unwrap_or_default());
                (!nothing).then_some(merged.text)
            }
        };
        if new != now.content {
            let link = now.target.is_some().then(|| path.clone());
            all.changes.push(Change {
                path: now.target.unwrap_or(path),
                link,
                old: now.content,
                new,
                mode,
                block,
            });
        }
    }
    Ok(all)
}

fn utf8(path: &Path) -> anyhow::Result<&str> {
    path.to_str()
        .with_context(|| format!("`{}` is not UTF-8, which the files cannot carry", path.display()))
}
