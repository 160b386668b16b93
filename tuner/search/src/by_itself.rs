//! The untouched library by itself, where a job under other settings ended in one of its own calls: what it cannot do without them either blames
//! nobody. The first verification may never have reached such a call.

use std::collections::BTreeSet;

use kilter_bench::launch::session::BlockOutcome;
use kilter_bench::launch::{Broken, JobFailure, Session, SessionError};
use kilter_model::plan;
use kilter_model::setup::Setup;
use kilter_protocol::plan::{Block, Item, Repetitions};

use crate::context::Jobs;

/// Few: a call that ends a job mostly does so the first time.
const REPETITIONS: Repetitions = Repetitions::fixed(3, 0.1);

/// Asks all blocks of a session under `setup`, the launch `name`; `done` hears each block once. Calls that end a job of the untouched library as
/// well are put away and answered as failed, and the rest is asked again. The inner error is any other failure.
///
/// # Errors
/// An interruption, a file of the run, or the database, while the library is launched by itself.
pub(crate) fn measured(
    jobs: &Jobs<'_>,
    session: &mut Session<'_>,
    (name, setup): (&str, &Setup),
    blocks: &[Block],
    mut done: impl FnMut(),
) -> anyhow::Result<Result<Vec<BlockOutcome>, SessionError>> {
    let mut heard = BTreeSet::new();
    loop {
        let measured = session.measure_all(blocks, &mut |id| {
            if heard.insert(id.to_owned()) {
                done();
            }
        });
        match measured {
            Err(SessionError::Job(failure))
                if *setup != Setup::default() && ends_jobs(jobs, name, blocks, &failure)? => {}
            measured => return Ok(measured),
        }
    }
}

/// Launches the untouched library with the items of the block in which a job of the launch `name` ended, each in a block of its own, so that the
/// one that ends the job is known. True if one does: it is put away.
fn ends_jobs(jobs: &Jobs<'_>, name: &str, blocks: &[Block], failure: &JobFailure) -> anyhow::Result<bool> {
    let Some(failed) = Broken::block_of(blocks, failure) else {
        return Ok(false);
    };
    let open: Vec<&Item> = failed.items.iter().filter(|item| !jobs.is_broken(item)).collect();
    let key = format!("{name}/by itself/{}", failed.id);
    let alone = open.iter().enumerate().map(|(number, item)| Block {
        id: format!("{}#{number}", failed.id),
        seed: plan::derived_seed(jobs.run.seed, &format!("{key}/{number}")),
        items: vec![(*item).clone()],
        repetitions: REPETITIONS,
    });
    let alone: Vec<Block> = alone.collect();
    let mut session = jobs.session(&key, &Setup::default(), false)?.surviving();
    match session.measure_all(&alone, &mut |_| ()) {
        // Several failures in a row are one as well.
        Ok(_) | Err(SessionError::Job(_)) => Ok(open.into_iter().any(|item| jobs.is_broken(item))),
        Err(error) => Err(error.into()),
    }
}
