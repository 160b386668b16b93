//! Words of the library before anything is measured: what carries its messages, its parameters, and its own values of what the site sets.

use std::collections::{BTreeMap, BTreeSet};

use kilter_bench::programs::Programs;
use kilter_bench::progress::Progress;
use kilter_search::context::{Context, Site};
use kilter_search::heard::Heard;

use crate::{carriers, library_info};

/// Asks a short job what carries its messages, so that settings are proposed for what is in use. A job that does not start leaves the usual
/// transports: the next one will say why.
pub(super) fn hear(context: &Context<'_>) {
    let site = &context.site;
    let programs = &context.jobs.programs;
    match carriers::ask(site.options, &site.library, programs) {
        Ok(mut heard) => {
            if !heard.transports.is_empty() {
                let words = carriers::in_words(&heard.transports);
                let note = format!("the running job says that messages go by {words}");
                context.progress.note(&note);
            }
            ask_the_program(site, programs, &context.progress, &mut heard);
            context.hear(heard);
        }
        Err(error) => context.progress.warn(&format!(
            "no job said what carries its messages, so the usual transports are assumed: {error:#}"
        )),
    }
}

/// Asks the library's own program for its parameters where the description has some that not every build has, and for its values without what the
/// site sets where that may act on times. Without an answer the former are not tried, and of the latter described defaults are known alone.
fn ask_the_program(site: &Site<'_>, programs: &Programs, progress: &Progress, heard: &mut Heard) {
    let (options, library) = (site.options, &site.library);
    let Some(tool) = library.info else { return };
    let is_wanted = library.parameters.iter().any(|row| row.built_with.is_some());
    let variables = library_info::ask::set_here(tool, library);
    let by_variables = variables.iter().filter_map(|name| library.launcher.parameter_of(name));
    let given = options.site_parameters.iter().map(|(name, _)| name.as_str());
    let set: BTreeSet<&str> = by_variables.chain(given.filter(|name| library.may_act(name))).collect();
    if !is_wanted && set.is_empty() {
        return;
    }
    let asked = (options.mpirun.as_path(), site.version.as_str());
    let info = match library_info::ask::ask_without(tool, asked, &variables) {
        Ok(info) => info,
        Err(error) => {
            if !set.is_empty() {
                let names: Vec<&str> = set.into_iter().collect();
                progress.warn(&format!(
                    "the library's own values of what the site sets ({}) are not known: {error}; where Kilter describes none, they are not tried",
                    names.join(", ")
                ));
            }
            return;
        }
    };
    let own = |name: &&str| {
        let value = info
            .parameters
            .get(*name)?
            .value_by(library.launcher.variable.is_empty())?;
        Some(((*name).to_owned(), value))
    };
    site.learn_own_values(that_may_act(
        site,
        programs,
        heard,
        set.iter().filter_map(own).collect(),
    ));
    if is_wanted {
        heard.parameters = info.parameters.into_keys().collect();
    }
}

/// What leaves the messages where they are takes nothing back: under what chooses carriers a short job is asked.
fn that_may_act(
    site: &Site<'_>,
    programs: &Programs,
    heard: &Heard,
    mut own: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let chooses = |name: &String| site.library.transports.variables.contains(name);
    let of_carriers: BTreeMap<String, String> = own.clone().into_iter().filter(|(name, _)| chooses(name)).collect();
    let is_as_before = || {
        let under = carriers::ask_under(site.options, &site.library, programs, &of_carriers);
        under.is_ok_and(|under| under.transports == heard.transports)
    };
    if !of_carriers.is_empty() && is_as_before() {
        own.retain(|name, _| !chooses(name));
    }
    own
}
