//! A library whose only place for settings is the environment, and that has no file of rules (Intel MPI, HPE MPT): variables,
//! profile; and the launch that uses them.

use kilter_bench::launch::command::quote;
use kilter_model::config::library::Library;
use kilter_model::ranged;
use kilter_model::setup::Setup;

use super::{Emitter, Written};
use crate::decisions::Decisions;
use crate::installation::Installation;
use crate::{Emitted, File, readme};

/// The environment alone.
pub(super) struct Variables;

impl Emitter for Variables {
    fn write(
        &self,
        installation: &Installation<'_>,
        decisions: &Decisions<'_>,
        _: &mut Emitted,
    ) -> anyhow::Result<Written> {
        let environment = decisions.pairs();
        check(installation.library, &environment)?;
        Ok(Written {
            environment,
            ..Written::default()
        })
    }

    fn staged(&self, installation: &Installation<'_>, _: &Emitted, setup: Setup) -> anyhow::Result<Setup> {
        check(installation.library, &setup.environment)?;
        Ok(setup)
    }

    fn page(
        &self,
        installation: &Installation<'_>,
        decisions: &Decisions<'_>,
        emitted: &Emitted,
        written: &Written,
    ) -> String {
        page(installation, decisions, emitted, written)
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

/// The page that says how to install the files of a library whose only place for settings is the environment.
pub(super) fn page(
    installation: &Installation<'_>,
    decisions: &Decisions<'_>,
    emitted: &Emitted,
    written: &Written,
) -> String {
    let (environment, ranks) = (&written.environment, decisions.ranks());
    let mut text = readme::beginning(emitted, &installation.named(), &ranks);
    if let Some(name) = emitted.files.get(&File::Environment) {
        let one_job = one_job(&installation.library.launcher.environment, environment);
        text.push_str(&format!(
            "1. {name}: environment of the ranks. The library reads its settings there and nowhere else.\n   \
             One job:    {one_job} ...\n   \
             Everybody:  a line `setenv NAME VALUE` for each in the library's module file, or an `export` in a file of\n   \
             /etc/profile.d; a wrapper around mpiexec does as well.\n   \
             LD_PRELOAD, where it is set, belongs to the ranks alone: pass it to them by the launcher, and put it into no login profile.\n"
        ));
        let names = environment.iter().map(|(name, _)| name.as_str());
        let choosing: Vec<&str> = names
            .filter(|name| installation.library.chosen_by(name).is_some())
            .collect();
        if !choosing.is_empty() {
            text.push_str(&format!(
                "   Algorithms are chosen on communicators of every size, not of {ranks} alone, and for all sizes of messages, by\n   {}.\n",
                choosing.join(", ")
            ));
        }
        text.push('\n');
    }
    if let Some(name) = emitted.files.get(&File::Rules) {
        text.push_str(&format!(
            "2. {name}: which algorithm for which message size, named by MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE by its full\n   \
             path. It holds the whole selection of this very release: another release needs one of its own, and a file that is\n   \
             missing or changed by hand ends programs in MPI_Init. It must be readable on every node.\n\n"
        ));
    }
    readme::profile(&mut text, emitted, 3);
    readme::forms(&mut text);
    text.push_str("\nTo take everything back, unset the variables: nothing else was changed.\n");
    text
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
