//! `kilter tune`: the whole loop.

use super::{Status, measuring, tune_layouts, tune_loop, whole_machine};
use crate::reporting;
use crate::{cli, options};

pub(super) fn run(typed: cli::Tune) -> anyhow::Result<Status> {
    if let Some(asked) = options::whole_machine(&typed)? {
        return whole_machine::run(typed, &asked);
    }
    let options = options::tuning(typed)?;
    for line in &options.said {
        eprintln!("kilter: {line}");
    }
    let own = tune_loop::key_of(&options);
    if !options.layouts.is_empty() {
        return tune_layouts::run(&options, own);
    }
    measuring::with_report(&options.common, "tune", &[own], |context| {
        let tuned = tune_loop::tuned(context, &options)?;
        Ok(reporting::of_tune(
            &context.jobs,
            &context.plan,
            &context.quarantine,
            &tuned,
        ))
    })
}
