//! An emitter as somebody would add it: a library that reads its settings from an INI file, `name=value` lines below `[mpi]`.

use std::path::Path;

use anyhow::Context as _;
use kilter_model::setup::Setup;

use crate::decisions::Decisions;
use crate::emitters::{Emitter, Written};
use crate::installation::Installation;
use crate::scope::{Scope, home};
use crate::site_file::{Pairs, Places, SiteFile};
use crate::{Emitted, File, read, readme, write};

const PARAMETERS: &str = "mpi.ini";
/// Names the file that the launcher reads in place of `~/.mpi.ini`.
const NAMING: &str = "INI_FILE";

static SITE_FILE: SiteFile = SiteFile {
    name: "ini",
    files: "`~/.mpi.ini`.",
    parse,
    check: |parameters| to_text(parameters).map(drop),
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
    fn write(&self, _: &Installation<'_>, decisions: &Decisions<'_>, emitted: &mut Emitted) -> anyhow::Result<Written> {
        let (parameters, environment) = decisions.divided();
        write(&emitted.directory, PARAMETERS, &to_text(&parameters)?)?;
        emitted.files.insert(File::Parameters, PARAMETERS.to_owned());
        Ok(Written {
            parameters,
            environment,
            ..Written::default()
        })
    }

    fn staged(&self, _: &Installation<'_>, emitted: &Emitted, mut setup: Setup) -> anyhow::Result<Setup> {
        if let Some(name) = emitted.files.get(&File::Parameters) {
            setup.expected = parse(&read(&emitted.directory, name)?)?;
            let path = emitted.directory.join(name).display().to_string();
            setup.launcher_environment.push((NAMING.to_owned(), path));
        }
        Ok(setup)
    }

    fn page(
        &self,
        installation: &Installation<'_>,
        decisions: &Decisions<'_>,
        emitted: &Emitted,
        _: &Written,
    ) -> String {
        let mut text = readme::beginning(emitted, &installation.named(), &decisions.ranks());
        text.push_str("1. mpi.ini: add its lines to ~/.mpi.ini.\n\n");
        readme::profile(&mut text, emitted, 2);
        readme::forms(&mut text);
        text
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
