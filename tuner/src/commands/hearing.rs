//! Words of the library before anything is measured: what carries its messages, its parameters, and its own values of what the site sets.

use std::collections::{BTreeMap, BTreeSet};

use kilter_bench::programs::Programs;
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
            site.learn_own_values(own_values(site, programs, &heard));
            if !heard.transports.is_empty() {
                let words = carriers::in_words(&heard.transports);
                let note = format!("the running job says that messages go by {words}");
                context.progress.note(&note);
            }
            heard.parameters = printed_parameters(site);
            context.hear(heard);
        }
        Err(error) => context.progress.warn(&format!(
            "no job said what carries its messages, so the usual transports are assumed: {error:#}"
        )),
    }
}

/// Values that the library has without what the site sets; none where its own program does not say them, and only described defaults are known then.
/// What leaves the messages where they are takes nothing back: under what chooses carriers a short job is asked.
fn own_values(site: &Site<'_>, programs: &Programs, heard: &Heard) -> BTreeMap<String, String> {
    let (options, library) = (site.options, &site.library);
    let ask = |tool| library_info::ask::own_values(tool, &options.mpirun, library, &options.site_parameters);
    let mut own = library.info.map(ask).and_then(Result::ok).unwrap_or_default();
    let chooses = |name: &String| library.transports.variables.contains(name);
    let of_carriers: BTreeMap<String, String> = own.clone().into_iter().filter(|(name, _)| chooses(name)).collect();
    let is_as_before = || {
        let under = carriers::ask_under(options, library, programs, &of_carriers);
        under.is_ok_and(|under| under.transports == heard.transports)
    };
    if !of_carriers.is_empty() && is_as_before() {
        own.retain(|name, _| !chooses(name));
    }
    own
}

/// Parameters that the library's own program prints. It is asked only if the description has some that not every build has; without an answer
/// they are not tried.
fn printed_parameters(site: &Site<'_>) -> BTreeSet<String> {
    let is_wanted = site.library.parameters.iter().any(|row| row.built_with.is_some());
    let Some(tool) = site.library.info.filter(|_| is_wanted) else {
        return BTreeSet::new();
    };
    let printed = library_info::ask::ask(tool, &site.options.mpirun, &site.version);
    printed
        .map(|info| info.parameters.into_keys().collect())
        .unwrap_or_default()
}
