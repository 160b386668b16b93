//! Arguments of the collective call that would do what a schedule does, as the data of the schedule show them.

use kilter_protocol::plan::Blocks;
use kilter_protocol::schedule::{Piece, Schedule, Step, covered};

use super::NoSchedule;
use crate::model::finding::{Collective, Finding, Instance};

/// Volume of a collective call, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Volume {
    /// No data.
    Nothing,
    /// All data of a root.
    Whole(u64),
    /// Each block, all of one length.
    Blocks(u64),
    /// Blocks of different lengths. One that no message carries is empty: that of a root, and what a rank of an all-to-all has for itself.
    Varied(Blocks),
}

/// Volume of an occurrence, and true if the schedule's data show that it does what the collective does.
///
/// # Errors
/// Blocks of different lengths that the data do not show.
pub(super) fn of(
    schedule: &Schedule,
    finding: &Finding,
    instance: &Instance,
    root: usize,
) -> Result<(Volume, bool), NoSchedule> {
    let ranks = schedule.ranks();
    if finding.collective == Collective::Barrier {
        return Ok((Volume::Nothing, everyone_knows_of_all(schedule)));
    }
    let delivered = schedule.delivered(1);
    // Bytes of one rank that another one has in the end.
    let has = |rank: usize, of: usize| {
        let pieces: Option<&Vec<Piece>> = delivered.as_ref().and_then(|all| all.get(rank));
        pieces.map_or(0, |pieces| covered(pieces, of))
    };
    let others = || (0..ranks).filter(|rank| *rank != root);
    let is_shown = |lengths: &[u64]| lengths.iter().all(|length| *length > 0);
    if finding.collective == Collective::Broadcast {
        let lengths: Vec<u64> = others().map(|rank| has(rank, root)).collect();
        let least = lengths.iter().copied().min().unwrap_or(0);
        let is_shown = least > 0 && least >= instance.bytes;
        return Ok((Volume::Whole(if is_shown { least } else { instance.bytes }), is_shown));
    }
    let is_varied = finding.varies();
    if finding.collective == Collective::Alltoall {
        let row = |from: usize| {
            (0..ranks)
                .map(|to| if from == to { 0 } else { has(to, from) })
                .collect()
        };
        let pairs: Vec<Vec<u64>> = (0..ranks).map(row).collect();
        let between = || (0..ranks).flat_map(|from| (0..ranks).filter(move |to| *to != from).map(move |to| (from, to)));
        let lengths: Vec<u64> = between().map(|(from, to)| pairs[from][to]).collect();
        return volume(&lengths, is_varied, instance.bytes, is_shown(&lengths), || {
            Volume::Varied(Blocks::Pairs(pairs))
        });
    }
    let block = |rank: usize| match finding.collective {
        Collective::Gather => has(root, rank),
        Collective::Scatter => has(rank, root),
        // Everyone must have it.
        _ => (0..ranks)
            .filter(|other| *other != rank)
            .map(|other| has(other, rank))
            .min()
            .unwrap_or(0),
    };
    let is_rooted = finding.collective != Collective::Allgather;
    let skips = |rank: usize| is_rooted && rank == root;
    let all: Vec<u64> = (0..ranks)
        .map(|rank| if skips(rank) { 0 } else { block(rank) })
        .collect();
    let lengths: Vec<u64> = (0..ranks).filter(|rank| !skips(*rank)).map(|rank| all[rank]).collect();
    volume(&lengths, is_varied, instance.bytes, is_shown(&lengths), || {
        Volume::Varied(Blocks::Listed(all))
    })
}

/// The volume of blocks of these lengths.
fn volume(
    lengths: &[u64],
    is_varied: bool,
    bytes: u64,
    is_shown: bool,
    listed: impl FnOnce() -> Volume,
) -> Result<(Volume, bool), NoSchedule> {
    if is_varied {
        return if is_shown {
            Ok((listed(), true))
        } else {
            Err(NoSchedule::UnknownBlocks)
        };
    }
    // A receive that is followed by a copy leaves the data twice, or not at all.
    let is_shown = is_shown && lengths.iter().all(|length| *length >= bytes);
    Ok((Volume::Blocks(bytes), is_shown))
}

/// True if each rank has heard, straight or through others, that every other one has begun.
fn everyone_knows_of_all(schedule: &Schedule) -> bool {
    let ranks = schedule.ranks();
    let mut known: Vec<Vec<bool>> = (0..ranks)
        .map(|rank| (0..ranks).map(|other| other == rank).collect())
        .collect();
    let mut carried: Vec<Option<Vec<bool>>> = vec![None; schedule.messages.len()];
    let mut at = vec![0; ranks];
    // Whoever has to wait for a message is looked at again once it is under way.
    let mut moves = true;
    while moves {
        moves = false;
        for rank in 0..ranks {
            while let Some(step) = schedule.steps[rank].get(at[rank]) {
                let arrives = |number: u32| schedule.messages[number as usize].to as usize == rank;
                match step {
                    Step::Send(number) | Step::Start(number) => carried[*number as usize] = Some(known[rank].clone()),
                    Step::Post(_) | Step::Combine(_) => {}
                    Step::Receive(_) | Step::Complete(_) => {
                        let mut numbers = step.messages().iter().filter(|number| arrives(**number));
                        if numbers.any(|number| carried[*number as usize].is_none()) {
                            break;
                        }
                        for number in step.messages().iter().filter(|number| arrives(**number)) {
                            let news = carried[*number as usize].iter().flatten();
                            known[rank].iter_mut().zip(news).for_each(|(own, new)| *own |= *new);
                        }
                    }
                }
                at[rank] += 1;
                moves = true;
            }
        }
    }
    known.iter().flatten().all(|known| *known)
}
