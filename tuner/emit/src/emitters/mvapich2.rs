//! MVAPICH2 2.3: file of variables, environment, profile; and the launch that uses them.

use std::path::Path;

use kilter_bench::launch::command::quote;
use kilter_model::setup::Setup;

use super::{Emitter, Page, Settings, variables};
use crate::decisions::Decisions;
use crate::installation::Installation;
use crate::mvapich2_conf::{PARAMETERS, parse, to_text};
use crate::scope::{Scope, home};
use crate::site_file::{Places, SiteFile};
use crate::{Emitted, File};

/// The beginning of the library's own variables.
const OWN: &str = "MV2_";
/// Names the file that is read in place of `~/.mvapich2.conf`.
const USER_FILE: &str = "MV2_USER_CONFIG";

/// The library's file of variables.
static SITE_FILE: SiteFile = SiteFile {
    name: "mvapich2",
    files: "`~/.mvapich2.conf` and `/etc/mvapich2.conf`.",
    staged: PARAMETERS,
    parse: |text| Ok(parse(text)?),
    to_text: |parameters| Ok(to_text(parameters)?),
    as_environment: <[_]>::to_vec,
    daemons: &[],
    places,
    json_rules: false,
};

/// Files of variables and the environment.
pub(super) struct Mvapich2;

impl Emitter for Mvapich2 {
    fn write(
        &self,
        installation: &Installation<'_>,
        decisions: &Decisions<'_>,
        _: &mut Emitted,
    ) -> anyhow::Result<Settings> {
        let all = decisions.pairs();
        variables::check(installation.library, &all)?;
        let (parameters, environment) = all.into_iter().partition(|(name, _)| name.starts_with(OWN));
        Ok(Settings {
            parameters,
            environment,
        })
    }

    fn staged(&self, installation: &Installation<'_>, emitted: &Emitted, read: Settings) -> anyhow::Result<Setup> {
        let mut setup = Setup {
            environment: read.environment,
            ..Setup::default()
        };
        if let Some(name) = emitted.files.get(&File::Parameters) {
            setup.expected_environment = read.parameters;
            let all = [setup.expected_environment.as_slice(), &setup.environment].concat();
            variables::check(installation.library, &all)?;
            let path = emitted.directory.join(name).display().to_string();
            setup.environment.push((USER_FILE.to_owned(), path));
        }
        Ok(setup)
    }

    fn page(&self, _: &Installation<'_>, decisions: &Decisions<'_>, emitted: &Emitted, written: &Settings) -> Page {
        let words = |pairs: &[(String, String)]| -> String {
            let word = |(name, value): &(String, String)| format!("{name}={}", quote(value));
            pairs.iter().map(word).collect::<Vec<_>>().join(" ")
        };
        let directory = quote(&emitted.directory.display().to_string());
        let parameters = emitted.files.get(&File::Parameters).map(|name| {
            format!(
                "{name}: variables of MVAPICH2.\n   \
                 One job:    mpirun_rsh -np N ... {} ./application\n   \
                 One user:   cat {directory}/{name} >> ~/.mvapich2.conf\n   \
                 Everybody:  append it to /etc/mvapich2.conf on every node.\n   \
                 The environment wins over the user's file, that over the system's, and in a file the first of two lines. Variables\n   \
                 MV2_<...>_TUNING replace the library's tables on communicators of every size, not of {} alone.\n\n",
                words(&written.parameters),
                decisions.ranks()
            )
        });
        let environment = emitted.files.get(&File::Environment).map(|name| {
            format!(
                "{name}: environment of the ranks, on mpirun_rsh's command line before the program:\n     mpirun_rsh -np N ... {} ./application\n\n",
                words(&written.environment)
            )
        });
        Page::Steps {
            before: String::new(),
            steps: parameters.into_iter().chain(environment).collect(),
            undo: "remove the lines and unset the variables: nothing else was changed.",
        }
    }

    fn site_file(&self) -> Option<&'static SiteFile> {
        Some(&SITE_FILE)
    }
}

/// The library has one place for the system and one for the user; the modules carry it elsewhere.
fn places(scope: &Scope, _launcher: &Path) -> anyhow::Result<Places> {
    Ok(Places {
        parameters: match scope {
            Scope::User => Some(home()?.join(".mvapich2.conf")),
            Scope::System(_) => Some("/etc/mvapich2.conf".into()),
            Scope::Prefix(_) => None,
        },
        ..Places::default()
    })
}
