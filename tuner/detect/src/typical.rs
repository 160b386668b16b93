//! The typical occurrence of a finding as a schedule: its messages in the order in which each rank sent, posted, received and waited.
//!
//! Typical is the occurrence whose time is the median. Its ranks are numbered as in the finding, its memory is what its messages touch: data that
//! lay together lie together, so that what a rank received and sent on is sent on again. Pauses of the program between calls are left out, and so
//! are copies within a rank, which no trace shows. What ranks of a reduction compute is assumed ([`combining`]).

use kilter_protocol::plan::Operand;
use kilter_protocol::schedule::{Message, Schedule, ScheduleError, Step};

use crate::model::finding::{Finding, Instance, Sent};
use crate::model::trace::{Event, Kind, Payload, Trace};

mod arguments;
mod combining;
mod memory;

pub use arguments::Volume;
use memory::Layout;

/// Typical occurrence of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typical {
    /// Index among the finding's occurrences.
    pub instance: usize,
    /// Ranks of the world, in the order of the schedule's ranks.
    pub members: Vec<u32>,
    /// The messages.
    pub schedule: Schedule,
    /// Root, as a rank of the schedule; 0 for collectives without one.
    pub root: u32,
    /// Volume of the collective call that would do the same.
    pub volume: Volume,
    /// True if following the schedule's data shows that it does what the collective does. False where a rank copies data between its messages.
    pub is_shown: bool,
    /// Elements and operator of what ranks of a reduction combine, once for each message that brings a part: that is assumed, since no trace shows it.
    pub operand: Option<Operand>,
}

/// Reason why an occurrence is no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSchedule {
    /// The finding has no occurrence.
    #[error("the finding has no occurrence")]
    Nothing,
    /// A process that is not in the world.
    #[error("rank {rank} of the communicator is a process outside of MPI_COMM_WORLD")]
    OutsideOfWorld {
        /// Rank of the communicator.
        rank: u32,
    },
    /// The finding does not fit its trace.
    #[error("message {message} of occurrence {instance} is not in the trace: was the finding made from another one?")]
    NotInTrace {
        /// The occurrence.
        instance: usize,
        /// Its message.
        message: usize,
    },
    /// Lengths that only show by data that cannot be followed.
    #[error("the blocks differ in length, and copies between the messages hide how long each is")]
    UnknownBlocks,
    /// A root that takes no part.
    #[error("the root takes no part in the messages")]
    NoRoot,
    /// A schedule that is not carried out.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
}

/// The typical occurrence of a finding in the trace that it was found in.
///
/// # Errors
/// The reason why it cannot be repeated.
pub fn typical(trace: &Trace, finding: &Finding) -> Result<Typical, NoSchedule> {
    let number = median(&finding.instances).ok_or(NoSchedule::Nothing)?;
    let instance = &finding.instances[number];
    let members = members(trace, finding)?;
    let ends = ends(trace, finding, &members, number)?;
    let mut layout = Layout::of(members.len(), &ends);
    let messages: Vec<Message> = ends.iter().map(|ends| layout.message(ends)).collect();
    let mut schedule = Schedule {
        memory: layout.bytes(),
        messages,
        steps: (0..members.len() as u32).map(|rank| steps(rank, &ends)).collect(),
    };
    schedule.check()?;
    let root = match instance.root {
        Some(root) => finding
            .ranks
            .iter()
            .position(|rank| *rank == root)
            .ok_or(NoSchedule::NoRoot)?,
        None => 0,
    };
    let (volume, is_shown, operand) = if finding.collective.combines() {
        let (operand, is_shown) = combining::combine(&mut schedule, finding, &ends, root)?;
        (Volume::Whole(instance.bytes), is_shown, Some(operand))
    } else {
        let (volume, is_shown) = arguments::of(&schedule, finding, instance, root)?;
        (volume, is_shown, None)
    };
    Ok(Typical {
        instance: number,
        members,
        schedule,
        root: root as u32,
        volume,
        is_shown,
        operand,
    })
}

/// Index of the occurrence whose time is the median, the longer of two.
pub(crate) fn median(instances: &[Instance]) -> Option<usize> {
    let mut by_time: Vec<usize> = (0..instances.len()).collect();
    by_time.sort_by(|a, b| instances[*a].seconds().total_cmp(&instances[*b].seconds()));
    by_time.get(by_time.len() / 2).copied()
}

/// Ranks of the world that take part.
fn members(trace: &Trace, finding: &Finding) -> Result<Vec<u32>, NoSchedule> {
    let communicator = trace.communicators.get(finding.communicator as usize);
    let world = |rank: &u32| {
        let member = communicator.and_then(|one| one.members.get(*rank as usize));
        let known = member.filter(|member| (**member as usize) < trace.ranks);
        known.copied().ok_or(NoSchedule::OutsideOfWorld { rank: *rank })
    };
    finding.ranks.iter().map(world).collect()
}

/// Both ends of a message. Ranks are those of the schedule.
struct Ends<'t> {
    from: u32,
    to: u32,
    send: &'t Event,
    sent: &'t Payload,
    completed_ns: Option<u64>,
    receive: &'t Event,
    received: &'t Payload,
    posted_ns: u64,
}

fn ends<'t>(
    trace: &'t Trace,
    finding: &Finding,
    members: &[u32],
    instance: usize,
) -> Result<Vec<Ends<'t>>, NoSchedule> {
    let place = |rank: u32| finding.ranks.iter().position(|one| *one == rank);
    let event = |place: usize, event: u32| {
        let events = trace.events.get(members[place] as usize)?;
        events.get(event as usize)
    };
    let find = |sent: &Sent| {
        let (from, to) = (place(sent.from)?, place(sent.to)?);
        let (send, receive) = (event(from, sent.send_event)?, event(to, sent.receive_event)?);
        match (&send.kind, &receive.kind) {
            (
                Kind::Send {
                    payload, completed_ns, ..
                },
                Kind::Receive {
                    payload: received,
                    posted_ns,
                    ..
                },
            ) => Some(Ends {
                from: from as u32,
                to: to as u32,
                send,
                sent: payload,
                completed_ns: *completed_ns,
                receive,
                received,
                posted_ns: (*posted_ns).min(receive.begin_ns),
            }),
            _ => None,
        }
    };
    let messages = finding.instances[instance].messages.iter().enumerate();
    messages
        .map(|(message, sent)| find(sent).ok_or(NoSchedule::NotInTrace { instance, message }))
        .collect()
}

/// Order of steps that begin at the same time: a call that sends and receives posts, starts and waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Post,
    Start,
    Block,
    Complete,
}

/// Steps of a rank, in the order in which it made them.
fn steps(rank: u32, all: &[Ends<'_>]) -> Vec<Step> {
    let mut timed: Vec<(u64, Turn, u32, bool)> = Vec::new();
    for (number, ends) in (0..).zip(all) {
        if ends.from == rank {
            let begin = ends.send.begin_ns;
            match ends.completed_ns {
                Some(completed) => {
                    timed.push((begin, Turn::Start, number, true));
                    timed.push((completed.max(begin), Turn::Complete, number, true));
                }
                // The same call receives as well.
                None if is_exchange(rank, ends.send, all) => {
                    timed.push((begin, Turn::Start, number, true));
                    timed.push((begin, Turn::Complete, number, true));
                }
                None => timed.push((begin, Turn::Block, number, true)),
            }
        }
        if ends.to == rank {
            let begin = ends.receive.begin_ns;
            if ends.posted_ns < begin || sends_too(rank, ends.receive, all) {
                timed.push((ends.posted_ns, Turn::Post, number, false));
                timed.push((begin, Turn::Complete, number, false));
            } else {
                timed.push((begin, Turn::Block, number, false));
            }
        }
    }
    timed.sort_unstable();
    let mut steps: Vec<Step> = Vec::new();
    // Time of the waits that stand last.
    let mut waits_ns = None;
    for (time, turn, number, is_send) in timed {
        let step = match (turn, is_send) {
            (Turn::Complete, _) => {
                if let (Some(Step::Complete(together)), true) = (steps.last_mut(), waits_ns == Some(time)) {
                    together.push(number);
                } else {
                    steps.push(Step::Complete(vec![number]));
                    waits_ns = Some(time);
                }
                continue;
            }
            (Turn::Post, _) => Step::Post(number),
            (Turn::Start, _) => Step::Start(number),
            (Turn::Block, true) => Step::Send(number),
            (Turn::Block, false) => Step::Receive(number),
        };
        waits_ns = None;
        steps.push(step);
    }
    steps
}

/// True if a blocking send is one half of a call that receives as well.
fn is_exchange(rank: u32, send: &Event, all: &[Ends<'_>]) -> bool {
    all.iter().any(|other| {
        let receive = other.receive;
        let is_same_call = (receive.begin_ns, receive.end_ns) == (send.begin_ns, send.end_ns);
        other.to == rank && is_same_call && other.posted_ns == receive.begin_ns
    })
}

/// True if a receive that blocks is one half of a call that sends as well.
fn sends_too(rank: u32, receive: &Event, all: &[Ends<'_>]) -> bool {
    all.iter().any(|other| {
        let send = other.send;
        let is_same_call = (receive.begin_ns, receive.end_ns) == (send.begin_ns, send.end_ns);
        other.from == rank && is_same_call && other.completed_ns.is_none()
    })
}
