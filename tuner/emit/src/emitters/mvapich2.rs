//! MVAPICH2 2.3: file of variables, environment, profile; and the launch that uses them.

use std::path::Path;

use kilter_bench::launch::command::quote;
use kilter_model::setup::Setup;

use super::{Emitter, Written, variables};
use crate::decisions::Decisions;
use crate::installation::Installation;
use crate::mvapich2_conf::{PARAMETERS, parse, to_text};
use crate::scope::{Scope, home};
use crate::site_file::{Pairs, Places, SiteFile};
use crate::{Emitted, File, read, readme, write};

/// The beginning of the library's own variables.
const OWN: &str = "MV2_";
/// Names the file that is read in place of `~/.mvapich2.conf`.
const USER_FILE: &str = "MV2_USER_CONFIG";

/// The library's file of variables.
static SITE_FILE: SiteFile = SiteFile {
    name: "mvapich2",
    files: "`~/.mvapich2.conf` and `/etc/mvapich2.conf`.",
    parse: |text| Ok(parse(text)?),
    check: |parameters| Ok(to_text(parameters).map(drop)?),
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
        emitted: &mut Emitted,
    ) -> anyhow::Result<Written> {
        let (parameters, environment) = divided(decisions.pairs().into_iter(), &installation.set_by_site);
        variables::check(installation.library, &[parameters.as_slice(), &environment].concat())?;
        if !parameters.is_empty() {
            write(&emitted.directory, PARAMETERS, &to_text(&parameters)?)?;
            emitted.files.insert(File::Parameters, PARAMETERS.to_owned());
        }
        Ok(Written {
            parameters,
            environment,
            ..Written::default()
        })
    }

    fn staged(&self, installation: &Installation<'_>, emitted: &Emitted, mut setup: Setup) -> anyhow::Result<Setup> {
        if let Some(name) = emitted.files.get(&File::Parameters) {
            setup.expected_environment = parse(&read(&emitted.directory, name)?)?;
            let all = [setup.expected_environment.as_slice(), &setup.environment].concat();
            variables::check(installation.library, &all)?;
            let path = emitted.directory.join(name).display().to_string();
            setup.environment.push((USER_FILE.to_owned(), path));
        }
        Ok(setup)
    }

    fn page(
        &self,
        installation: &Installation<'_>,
        decisions: &Decisions<'_>,
        emitted: &Emitted,
        written: &Written,
    ) -> String {
        let words = |pairs: &[(String, String)]| -> String {
            let word = |(name, value): &(String, String)| format!("{name}={}", quote(value));
            pairs.iter().map(word).collect::<Vec<_>>().join(" ")
        };
        let directory = quote(&emitted.directory.display().to_string());
        let ranks = decisions.ranks();
        let mut text = readme::beginning(emitted, &installation.named(), &ranks);
        if let Some(name) = emitted.files.get(&File::Parameters) {
            text.push_str(&format!(
                "1. {name}: variables of MVAPICH2.\n   \
                 One job:    mpirun_rsh -np N ... {} ./application\n   \
                 One user:   cat {directory}/{name} >> ~/.mvapich2.conf\n   \
                 Everybody:  append it to /etc/mvapich2.conf on every node.\n   \
                 The environment wins over the user's file, that over the system's, and in a file the first of two lines. Variables\n   \
                 MV2_<...>_TUNING replace the library's tables on communicators of every size, not of {ranks} alone.\n\n",
                words(&written.parameters)
            ));
        }
        if let Some(name) = emitted.files.get(&File::Environment) {
            text.push_str(&format!(
                "2. {name}: environment of the ranks, on mpirun_rsh's command line before the program:\n     mpirun_rsh -np N ... {} ./application\n\n",
                words(&written.environment)
            ));
        }
        readme::profile(&mut text, emitted, 3);
        readme::forms(&mut text);
        text.push_str(
            "\nTo take everything back, remove the lines and unset the variables: nothing else was changed.\n",
        );
        text
    }

    fn site_file(&self) -> Option<&'static SiteFile> {
        Some(&SITE_FILE)
    }
}

/// Divides settings into those of the library's file and those of the environment. The environment wins over the file, so settings that already
/// stand there can be changed there alone.
fn divided(all: impl Iterator<Item = (String, String)>, set_by_site: &[(String, String)]) -> (Pairs, Pairs) {
    let is_set = |name: &str| set_by_site.iter().any(|(other, _)| other == name);
    all.partition(|(name, _)| name.starts_with(OWN) && !is_set(name))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_the_environment_is_changed_there() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let all = [pair("MV2_A", "1"), pair("MV2_B", "2"), pair("MALLOC_X", "3")];
        let (file, environment) = divided(all.into_iter(), &[pair("MV2_A", "0"), pair("MV2_C", "0")]);
        assert_eq!(file, [pair("MV2_B", "2")]);
        assert_eq!(environment, [pair("MV2_A", "1"), pair("MALLOC_X", "3")]);
    }
}
