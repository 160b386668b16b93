//! The launch that measures the prices of messages and of local work ([`crate::cost_model::measure`] makes its blocks).

use kilter_bench::launch::session::SessionError;
use kilter_model::plan;
use kilter_model::setup::Setup;
use kilter_protocol::plan::Block;

use crate::context::Jobs;
use crate::cost_model::measure::{REPETITIONS, asked, read};
use crate::cost_model::prices::{LEAST_TIMES, Prices};

/// Measures the prices under `setup`, in one launch named after `label`, and takes its seconds from the budget. Empty where ranks have
/// no clock of their own or the launch failed, with a warning: nothing is explained then.
///
/// # Errors
/// The database, files, an interruption; a setup that did not take effect.
pub fn measure(jobs: &Jobs<'_>, label: &str, setup: &Setup) -> anyhow::Result<Prices> {
    if jobs.budget.exhausted() {
        jobs.progress.warn(
            "the budget ended before the prices of messages were measured, so the report explains no times by them",
        );
        return Ok(Prices::default());
    }
    let Some(nodes) = jobs.site.nodes() else {
        jobs.progress
            .warn("no prices of messages are measured: it is not known which ranks share a node");
        return Ok(Prices::default());
    };
    let repetitions = jobs.site.options.repetitions_or(REPETITIONS);
    let blocks: Vec<Block> = asked(&nodes, jobs.site.options.element.bytes())
        .into_iter()
        .map(|(id, items)| Block {
            seed: plan::derived_seed(jobs.run.seed, &format!("{label}/{id}")),
            id,
            items,
            repetitions,
        })
        .collect();
    jobs.progress
        .phase("prices of messages and local work", blocks.len() as u64);
    let mut session = jobs.session(label, setup, false)?;
    let measured = session
        .measure_all(&blocks, &mut |_| jobs.progress.step(1))
        .and_then(|outcomes| Ok((outcomes, session.start()?)));
    let outcomes = match measured {
        Ok((outcomes, start)) => {
            jobs.site.confirm(setup, &start)?;
            session.finish()?;
            outcomes
        }
        Err(SessionError::Job(failure)) => {
            jobs.progress.warn(&format!(
                "the prices of messages could not be measured, so the report explains no times by them: {failure}"
            ));
            return Ok(Prices::default());
        }
        Err(error) => return Err(error.into()),
    };
    for (block, outcome) in blocks.iter().zip(&outcomes) {
        for (item, fault) in &outcome.failed {
            jobs.progress
                .warn(&format!("no price from `{}`, `{item}`: {fault}", block.id));
        }
    }
    let least = if jobs.site.options.is_exact() { 1 } else { LEAST_TIMES };
    let prices = read(blocks.iter().map(|block| block.id.as_str()).zip(&outcomes), least);
    if prices.within.is_none() && prices.between.is_none() {
        jobs.progress.warn(
            "no price of messages could be measured, since too few repetitions began in time; look for other load on the machine",
        );
    }
    Ok(prices)
}
