//! The loop of `tune` on one layout, for the commands on one, on several and on a whole machine.

use kilter_model::options::TuneOptions;
use kilter_search::context::Context;
use kilter_tune::Tuned;
use serde_json::json;

/// The options of `tune` by which its runs are known, beside those of the measurement.
pub(super) fn key_of(options: &TuneOptions) -> String {
    let contests: Vec<(&str, u64)> = options
        .contests
        .iter()
        .map(|(collective, bytes)| (collective.name(), *bytes))
        .collect();
    json!({
        "parameters": options.parameters,
        "mockups": options.mockups,
        "algorithms": options.algorithms,
        "goal": options.goal.name(),
        "rounds": options.rounds,
        "contests": contests,
        "targets": options.targets,
        "model": options.model,
        "limits": options.common.limits,
        "online": options.online,
    })
    .to_string()
}

/// Runs the loop.
pub(super) fn tuned(context: &Context<'_>, options: &TuneOptions) -> anyhow::Result<Tuned> {
    // Before anything is measured.
    kilter_emit::check(&context.site)?;
    // Into a simulated rank nothing can be loaded: what is not the library's own is compared with, and not deployed.
    if (options.mockups || options.algorithms) && !context.site.library.launcher.is_simulator() {
        // Rows are deployed only if the verifier has proven them.
        context.jobs.programs.verifier()?;
    }
    kilter_tune::tune(context, options)
}
