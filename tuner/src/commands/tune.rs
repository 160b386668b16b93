//! `kilter tune`: the whole loop.

use kilter_model::options::TuneOptions;
use kilter_search::context::Context;
use kilter_tune::Tuned;

use super::{Status, measuring, tune_layouts};
use crate::reporting;
use crate::{cli, options};

pub(super) fn run(typed: cli::Tune) -> anyhow::Result<Status> {
    let options = options::tuning(typed)?;
    let kinds = format!(
        "{}{}{} {} {:?} {:?} {:?} {:?}",
        if options.parameters { "p" } else { "" },
        if options.mockups { "m" } else { "" },
        if options.algorithms { "a" } else { "" },
        options.rounds,
        options.contests,
        options.targets,
        options.model,
        options.common.limits
    );
    if !options.layouts.is_empty() {
        return tune_layouts::run(&options, kinds);
    }
    measuring::with_report(&options.common, "tune", &[kinds], |context| {
        let tuned = tuned(context, &options)?;
        Ok(reporting::of_tune(context, &tuned))
    })
}

/// Runs the loop.
pub(super) fn tuned(context: &Context<'_>, options: &TuneOptions) -> anyhow::Result<Tuned> {
    // Before anything is measured.
    kilter_emit::check(context)?;
    // Into a simulated rank nothing can be loaded: what is not the library's own is compared with, and not deployed.
    if (options.mockups || options.algorithms) && !context.library.launcher.is_simulator() {
        // Nothing is deployed that it has not proven.
        context.programs.verifier()?;
    }
    kilter_tune::tune(context, options)
}
