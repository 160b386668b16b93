//! A block of items that measure overlap: each is prepared, carried out once and checked; then all are measured together, their
//! rounds interleaved, and checked once more.
//!
//! Rank 0 decides which round is next and announces it, since most times are its alone. Ranks that do not take part sleep meanwhile.

use std::time::{Duration, Instant};

use anyhow::Context;
use kilter_mpi::{MPI_Comm, constants, info};
use kilter_protocol::plan::{Block, Item};
use kilter_protocol::repetitions::WARM_UPS;
use kilter_protocol::report::Event;

use super::item::Prepared;
use super::refusal;
use super::team::Team;
use super::together;
use crate::candidate::title;
use crate::clock;
use crate::control::Refusal;
use crate::place::Place;
use crate::schedule::{Outcome, Schedule, Series};
use crate::session::{Session, fail};

/// Sleep of rank 0 after a void round: after the first, and at most after several in a row.
const PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(16);

/// Carries out a block and reports it. Called by all ranks.
///
/// # Errors
/// Those after which the job cannot go on: of the library, of the report file.
pub(crate) fn carry_out(session: &mut Session, block: &Block) -> anyhow::Result<()> {
    let begin = Instant::now();
    // SAFETY: MPI_COMM_WORLD is an intracommunicator, and all ranks carry out the same blocks in the same order.
    let comm = unsafe { info::comm_private(constants::comm_world()) }.context("no communicator for the block")?;
    let mut live: Vec<(&Item, Prepared)> = Vec::new();
    for item in &block.items {
        session.tell(Event::Enter {
            block: block.id.clone(),
            item: item.id.clone(),
        })?;
        match prepare(session, comm, item).with_context(|| title(&block.id, item))? {
            Ok(prepared) => live.push((item, prepared)),
            Err(refusal) => fail(session, block, item, refusal)?,
        }
        session.heartbeat()?;
    }

    let team = team(session, comm, live.iter().map(|(_, prepared)| prepared));
    let series = match &team {
        _ if live.is_empty() => Vec::new(),
        Some(team) if session.control.is_root() => lead(session, block, team, &live)?,
        Some(team) => {
            follow(session, team, &live).with_context(|| format!("block `{}`", block.id))?;
            Vec::new()
        }
        None => Vec::new(),
    };
    // A rank that takes no part has been asleep here since the items were made ready. Rank 0 alone knows the items that have been measured.
    let has_run: Vec<u8> = series.iter().map(|series| u8::from(series.has_run())).collect();
    let told = session.control.is_root().then_some(has_run.as_slice());
    let has_run = session.control.broadcast(told)?;

    let mut series = series.into_iter();
    for ((item, prepared), has_run) in live.into_iter().zip(has_run) {
        let right = if has_run == 1 { prepared.check() } else { Ok(()) };
        match session.control.agree(right)? {
            Ok(()) => {
                if let Some(Series { seconds, void, .. }) = series.next() {
                    session.tell(Event::Samples {
                        block: block.id.clone(),
                        item: item.id.clone(),
                        seconds,
                        void,
                    })?;
                }
            }
            Err(refusal) => {
                series.next();
                fail(session, block, item, refusal)?;
            }
        }
        session.heartbeat()?;
    }
    // SAFETY: all ranks come here, and everything on it is complete.
    unsafe { info::comm_free(comm) }.context("the block's communicator cannot be freed")?;
    session.tell(Event::BlockEnd {
        block: block.id.clone(),
        seconds: begin.elapsed().as_secs_f64(),
        costs: None,
    })
}

/// The team that carries out these items; `None` on a rank that is not in it.
fn team<'i>(session: &Session, comm: MPI_Comm, mut items: impl Iterator<Item = &'i Prepared>) -> Option<Team> {
    let control = &session.control;
    let place = (control.rank(), control.p_ranks());
    Team::new(comm, session.wait, items.any(Prepared::is_of_all_ranks), place)
}

/// Makes an item ready, carries it out once and checks its data. Called by all ranks, which all come to the same end.
fn prepare(session: &mut Session, comm: MPI_Comm, item: &Item) -> anyhow::Result<Result<Prepared, Refusal>> {
    let place = Place {
        rank: session.control.rank(),
        p_ranks: session.control.p_ranks(),
        one_node: session.one_node,
        root: 0,
        operand: session.header.element.into(),
    };
    let made = refusal::accept(item, place.p_ranks, refusal::processing_units())
        .and_then(|overlap| Prepared::new(item, &overlap, comm, place, session.speed));
    let mut prepared = match session.control.agree(made.map_err(|why| session.refused(why)))? {
        Ok(prepared) => prepared,
        Err(refusal) => return Ok(Err(refusal)),
    };
    prepared.fill();
    let right = match team(session, comm, std::iter::once(&prepared)) {
        Some(team) => {
            round(session, &team, &prepared)?;
            prepared.check()
        }
        None => Ok(()),
    };
    if let Err(refusal) = session.control.agree(right)? {
        return Ok(Err(refusal));
    }
    // Wrong again, so that the check at the end sees what the measured rounds did.
    prepared.fill();
    Ok(Ok(prepared))
}

/// Rank 0 chooses rounds and times them until the block has enough.
fn lead(session: &mut Session, block: &Block, team: &Team, live: &[(&Item, Prepared)]) -> anyhow::Result<Vec<Series>> {
    let mut schedule = Schedule::new(live.len(), WARM_UPS, block.repetitions, block.seed);
    let mut pause = PAUSE;
    while let Some(next) = schedule.next(clock::now_ns()) {
        let (item, prepared) = &live[next];
        team.command(next)?;
        sweep(session);
        let outcome = round(session, team, prepared).with_context(|| title(&block.id, item))?;
        schedule.record(next, outcome);
        session.heartbeat()?;
        pause = if outcome == Outcome::Void {
            // Two ranks that have come to share a core for once take turns there, and every round would be void: one that wakes
            // is given a core that is free.
            std::thread::sleep(pause);
            (2 * pause).min(LONGEST_PAUSE)
        } else {
            PAUSE
        };
    }
    team.dismiss()?;
    Ok(schedule.into_series())
}

/// The other ranks of the team follow rank 0's commands.
fn follow(session: &mut Session, team: &Team, live: &[(&Item, Prepared)]) -> anyhow::Result<()> {
    while let Some(next) = team.hear()? {
        let (_, prepared) = live
            .get(next)
            .context("rank 0 asked for an item that this rank does not have")?;
        sweep(session);
        round(session, team, prepared)?;
    }
    Ok(())
}

/// One round of an item on any rank of the team. Returns its outcome, which for messages only rank 0 knows.
fn round(session: &mut Session, team: &Team, prepared: &Prepared) -> anyhow::Result<Outcome> {
    if prepared.is_collective() {
        return together::round(session, prepared);
    }
    if session.control.is_root() {
        return Ok(prepared.lead(team, session.wait)?);
    }
    prepared.follow(team)?;
    Ok(Outcome::Void)
}

/// Sweeps the caches before a round, if they are to be cold.
fn sweep(session: &mut Session) {
    if let Some(sweep) = &mut session.sweep {
        sweep.run();
    }
}
