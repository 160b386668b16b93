//! `kilter tune`: the whole loop.

use super::{Status, measuring};
use crate::cli;
use crate::options::TuneOptions;
use crate::reporting;

pub(super) fn run(typed: cli::Tune) -> anyhow::Result<Status> {
    let options = TuneOptions::new(typed)?;
    let kinds = format!(
        "{}{}{} {} {:?} {:?}",
        if options.parameters { "p" } else { "" },
        if options.mockups { "m" } else { "" },
        if options.algorithms { "a" } else { "" },
        options.rounds,
        options.contests,
        options.targets
    );
    measuring::with_report(&options.common, "tune", &[kinds], |context| {
        // Before anything is measured.
        crate::emit::emitter(context)?;
        // Into a simulated rank nothing can be loaded: what is not the library's own is compared with, and not deployed.
        if (options.mockups || options.algorithms) && !context.library.launcher.is_simulator() {
            // Nothing is deployed that it has not proven.
            context.programs.verifier()?;
        }
        let tuned = crate::tune::tune(context, &options)?;
        Ok(reporting::of_tune(context, &tuned))
    })
}
