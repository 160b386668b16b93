//! A library whose only place for settings is the environment, and that has no file of rules (Intel MPI, HPE MPT): variables,
//! profile; and the launch that uses them.

use kilter_bench::launch::command::quote;
use kilter_model::config::library::Library;
use kilter_model::ranged;
use kilter_model::setup::Setup;

use super::{Emitter, Page, Settings};
use crate::decisions::Decisions;
use crate::installation::Installation;
use crate::{Emitted, File};

/// The way back where the environment alone has settings.
pub(super) const UNDO: &str = "unset the variables: nothing else was changed.";

/// The environment alone.
pub(super) struct Variables;

impl Emitter for Variables {
    fn write(
        &self,
        installation: &Installation<'_>,
        decisions: &Decisions<'_>,
        _: &mut Emitted,
    ) -> anyhow::Result<Settings> {
        let environment = decisions.pairs();
        check(installation.library, &environment)?;
        Ok(Settings {
            environment,
            ..Settings::default()
        })
    }

    fn staged(&self, installation: &Installation<'_>, _: &Emitted, read: Settings) -> anyhow::Result<Setup> {
        check(installation.library, &read.environment)?;
        Ok(Setup {
            environment: read.environment,
            ..Setup::default()
        })
    }

    fn page(
        &self,
        installation: &Installation<'_>,
        decisions: &Decisions<'_>,
        emitted: &Emitted,
        written: &Settings,
    ) -> Page {
        Page::Steps {
            before: String::new(),
            steps: Vec::from_iter(environment_step(installation, decisions, emitted, written)),
            undo: UNDO,
        }
    }
}

/// Checks every variable that chooses an algorithm as the library reads it: it goes on with its own where it cannot read one.
pub(super) fn check(library: &Library, variables: &[(String, String)]) -> anyhow::Result<()> {
    for (name, value) in variables {
        let collective = library.chosen_by(name);
        if let Some((row, at_start)) = collective.and_then(|one| library.chosen_at_start(one)) {
            ranged::check(row, at_start.form, value)?;
            ranged::beside(row, value, variables)?;
        }
    }
    match library.broken(variables) {
        None => Ok(()),
        Some(broken) => Err(broken.into()),
    }
}

/// The step of the environment file for a library that reads its settings nowhere else; `None` without such a file.
pub(super) fn environment_step(
    installation: &Installation<'_>,
    decisions: &Decisions<'_>,
    emitted: &Emitted,
    written: &Settings,
) -> Option<String> {
    let name = emitted.files.get(&File::Environment)?;
    let environment = &written.environment;
    let one_job = one_job(&installation.library.launcher.environment, environment);
    let mut text = format!(
        "{name}: environment of the ranks. The library reads its settings there and nowhere else.\n   \
         One job:    {one_job} ...\n   \
         Everybody:  a line `setenv NAME VALUE` for each in the library's module file, or an `export` in a file of\n   \
         /etc/profile.d; a wrapper around mpiexec does as well.\n   \
         LD_PRELOAD, where it is set, belongs to the ranks alone: pass it to them by the launcher, and put it into no login profile.\n"
    );
    let names = environment.iter().map(|(name, _)| name.as_str());
    let choosing: Vec<&str> = names
        .filter(|name| installation.library.chosen_by(name).is_some())
        .collect();
    if !choosing.is_empty() {
        text.push_str(&format!(
            "   Algorithms are chosen on communicators of every size, not of {} alone, and for all sizes of messages, by\n   {}.\n",
            decisions.ranks(),
            choosing.join(", ")
        ));
    }
    text.push('\n');
    Some(text)
}

/// The beginning of one job's command line; `form` is the launcher's, with `{name}` and `{value}`.
fn one_job(form: &[String], environment: &[(String, String)]) -> String {
    if form.is_empty() {
        // The launcher hands its own environment on.
        let words = environment
            .iter()
            .map(|(name, value)| format!("{name}={}", quote(value)));
        return format!("{} mpiexec_mpt", words.collect::<Vec<_>>().join(" "));
    }
    let flag = |(name, value): &(String, String)| -> String {
        let part = |part: &String| part.replace("{name}", name).replace("{value}", &quote(value));
        form.iter().map(part).collect::<Vec<_>>().join(" ")
    };
    let flags: Vec<String> = environment.iter().map(flag).collect();
    format!("mpiexec {}", flags.join(" "))
}
