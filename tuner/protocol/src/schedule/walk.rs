//! A schedule carried out in thought: every rank goes on until it has to wait, and nobody waits for ever, or there is a circle.
//!
//! A call that may end ends whatever the others do meanwhile, so that the order in which ranks are looked at does not matter.

use std::fmt;

use super::{Combination, Schedule, Step};

/// A rank that waits for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// The rank that waits.
    pub rank: usize,
    /// Its step.
    pub step: usize,
    /// The rank that it waits for.
    pub peer: usize,
    /// Length of the message.
    pub bytes: u64,
    /// True if it waits for the end of a send, false if for what it receives.
    pub sends: bool,
}

impl Wait {
    /// Sends up to this length need not wait for their receives: each library copies so little aside.
    pub const EAGER_BYTES: u64 = 1024;
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Wait {
            rank,
            step,
            peer,
            bytes,
            sends,
        } = self;
        if *sends {
            write!(
                f,
                "rank {rank} (step {step}) sends {bytes} bytes and waits for rank {peer} to receive them"
            )
        } else {
            write!(f, "rank {rank} (step {step}) waits for {bytes} bytes from rank {peer}")
        }
    }
}

/// Something that happens to a message, or to data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Happens {
    /// Its data are as they are now.
    Sent(usize),
    /// Its data are there.
    Received(usize),
    /// A rank combines data.
    Combined(usize, Combination),
}

/// Carries a checked schedule out and tells what happens.
///
/// # Errors
/// The circle in which ranks wait for each other.
pub(super) fn walk(schedule: &Schedule, tell: &mut dyn FnMut(Happens)) -> Result<(), Vec<Wait>> {
    let ranks = schedule.ranks();
    let mut at = vec![0; ranks];
    // True once the rank has entered its next step.
    let mut entered = vec![false; ranks];
    let mut started = vec![false; schedule.messages.len()];
    let mut posted = vec![false; schedule.messages.len()];
    // Ranks that may go on; a rank that waits is looked at again when its message moves.
    let mut ready: Vec<usize> = (0..ranks).rev().collect();
    while let Some(rank) = ready.pop() {
        while let Some(step) = schedule.steps[rank].get(at[rank]) {
            if !entered[rank] {
                entered[rank] = true;
                for &one in step.messages() {
                    let one = one as usize;
                    let message = &schedule.messages[one];
                    match step {
                        Step::Send(_) | Step::Start(_) => {
                            started[one] = true;
                            tell(Happens::Sent(one));
                            ready.push(message.to as usize);
                        }
                        Step::Receive(_) | Step::Post(_) => {
                            posted[one] = true;
                            ready.push(message.from as usize);
                        }
                        Step::Complete(_) | Step::Combine(_) => {}
                    }
                }
            }
            if waits(schedule, rank, at[rank], step, (&started, &posted)).is_some() {
                break;
            }
            if let Step::Combine(combination) = step {
                tell(Happens::Combined(rank, *combination));
            }
            for &one in step.messages() {
                let is_receiver = schedule.messages[one as usize].to as usize == rank;
                if is_receiver && !matches!(step, Step::Post(_)) {
                    tell(Happens::Received(one as usize));
                }
            }
            at[rank] += 1;
            entered[rank] = false;
        }
    }
    let stuck = |rank: usize| {
        let step = schedule.steps[rank].get(at[rank])?;
        waits(schedule, rank, at[rank], step, (&started, &posted))
    };
    match (0..ranks).find_map(stuck) {
        Some(first) => Err(circle(first, stuck)),
        None => Ok(()),
    }
}

/// The first message for which a step has to wait.
fn waits(
    schedule: &Schedule,
    rank: usize,
    at: usize,
    step: &Step,
    (started, posted): (&[bool], &[bool]),
) -> Option<Wait> {
    let needs_wait = !matches!(step, Step::Start(_) | Step::Post(_));
    let mut messages = step.messages().iter().filter(|_| needs_wait);
    messages.find_map(|&one| {
        let message = &schedule.messages[one as usize];
        let sends = message.from as usize == rank;
        let is_over = if sends {
            posted[one as usize] || message.bytes <= Wait::EAGER_BYTES
        } else {
            started[one as usize]
        };
        (!is_over).then_some(Wait {
            rank,
            step: at,
            peer: if sends { message.to } else { message.from } as usize,
            bytes: message.bytes,
            sends,
        })
    })
}

/// Follows waits from the first until a rank comes again.
fn circle(first: Wait, waits_of: impl Fn(usize) -> Option<Wait>) -> Vec<Wait> {
    let mut way = vec![first];
    loop {
        let peer = way[way.len() - 1].peer;
        if let Some(begin) = way.iter().position(|wait| wait.rank == peer) {
            return way.split_off(begin);
        }
        match waits_of(peer) {
            Some(next) => way.push(next),
            // A checked schedule has both ends of each message, so that the peer waits, too.
            None => return way,
        }
    }
}
