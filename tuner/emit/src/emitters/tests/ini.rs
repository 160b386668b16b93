//! An emitter as somebody would add it: a library that reads its parameters from an INI file, `name=value` lines below `[mpi]`.

use std::path::Path;

use anyhow::Context as _;
use kilter_model::setup::Setup;

use crate::decisions::Decisions;
use crate::emitters::{Emitter, Page, Settings};
use crate::installation::Installation;
use crate::scope::{Scope, home};
use crate::site_file::{Pairs, Places, SiteFile};
use crate::{Emitted, File};

/// Names the file that is read in place of `~/.mpi.ini`.
const USER_FILE: &str = "INI_FILE";

static SITE_FILE: SiteFile = SiteFile {
    name: "ini",
    files: "`~/.mpi.ini`.",
    staged: "mpi.ini",
    parse,
    to_text,
    as_environment: |parameters| {
        let variable = |(name, value): &(String, String)| (format!("INI_{name}"), value.clone());
        parameters.iter().map(variable).collect()
    },
    daemons: &[],
    places,
    json_rules: false,
};

/// INI files.
pub(in crate::emitters) struct Ini;

impl Emitter for Ini {
    fn write(&self, _: &Installation<'_>, decisions: &Decisions<'_>, _: &mut Emitted) -> anyhow::Result<Settings> {
        Ok(Settings::divided(decisions))
    }

    fn staged(&self, _: &Installation<'_>, emitted: &Emitted, read: Settings) -> anyhow::Result<Setup> {
        let mut setup = Setup {
            expected: read.parameters,
            environment: read.environment,
            ..Setup::default()
        };
        if let Some(name) = emitted.files.get(&File::Parameters) {
            let path = emitted.directory.join(name).display().to_string();
            setup.environment.push((USER_FILE.to_owned(), path));
        }
        Ok(setup)
    }

    fn page(&self, _: &Installation<'_>, _: &Decisions<'_>, emitted: &Emitted, _: &Settings) -> Page {
        let name = emitted.files.get(&File::Parameters);
        let step = name.map(|name| format!("{name}: add its lines to ~/.mpi.ini.\n\n"));
        Page::Steps {
            before: String::new(),
            steps: Vec::from_iter(step),
            undo: "remove the lines.",
        }
    }

    fn site_file(&self) -> Option<&'static SiteFile> {
        Some(&SITE_FILE)
    }
}

fn places(_: &Scope, _: &Path) -> anyhow::Result<Places> {
    Ok(Places {
        parameters: Some(home()?.join(".mpi.ini")),
        ..Places::default()
    })
}

fn to_text(parameters: &[(String, String)]) -> anyhow::Result<String> {
    let mut text = "[mpi]\n".to_owned();
    for (name, value) in parameters {
        anyhow::ensure!(!value.contains('\n'), "`{name}` has a line break");
        text.push_str(&format!("{name}={value}\n"));
    }
    Ok(text)
}

fn parse(text: &str) -> anyhow::Result<Pairs> {
    let lines = text.lines().filter(|line| !line.starts_with(['#', '[']));
    lines
        .map(|line| {
            let (name, value) = line
                .split_once('=')
                .with_context(|| format!("`{line}` is not name=value"))?;
            Ok((name.to_owned(), value.to_owned()))
        })
        .collect()
}
