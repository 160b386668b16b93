//! Safety of a replacement: may the messages of a finding become calls of a blocking collective?
//!
//! Each instance is contracted to one step that all its ranks make together, in the graph of what happens before what. A circle through it
//! means that the collective would wait for itself. A rank may make the call where it first gives data, or where it completes the last
//! message: only if both end in a circle, the replacement is refused. A collective that waits for nobody, as a small broadcast does at its
//! root, would pass: a program that counts on it is wrong.

mod graph;
mod polling;

use kilter_protocol::functions::Function;

use crate::arena::Arena;
use crate::findings::Found;
use crate::matching::{Matched, Place};
use crate::model::finding::{Replacement, Step};
use graph::{Call, Contracted};

/// Places at which the ranks of an instance make the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// A rank's first send, if it has data to give, else its first message.
    First,
    /// The last message that the rank receives, since what it does next may depend on it; of a rank that receives none, its last one.
    Last,
}

/// Judges a finding: its replacement becomes what is safe.
pub(crate) fn judge(matched: &Matched<'_>, arena: &Arena<'_>, found: &mut Found) {
    let Replacement::Blocking(function) = found.finding.replacement.clone() else {
        return;
    };
    let first = cycle(matched, arena, found, Moment::First);
    let last = first.as_ref().and_then(|_| cycle(matched, arena, found, Moment::Last));
    let needs_last = first.is_some() && last.is_none();
    let (polled, receives) = polling::polled(matched, arena, &found.messages);
    let deadlock = first.filter(|_| last.is_some());
    let why = &mut found.finding.why;
    if polled > 0 {
        why.push(format!(
            "{polled} of {receives} receives are polled for, with other work between"
        ));
        if deadlock.is_some() {
            why.push(format!(
                "{function} would wait for itself: the ranks do other things first"
            ));
        }
        found.finding.replacement = Replacement::NonBlocking(non_blocking(&function));
    } else if let Some(cycle) = deadlock {
        found.finding.replacement = Replacement::Deadlock { function, cycle };
    } else if needs_last {
        why.push("the call must stand where a rank completes the last of its messages".to_owned());
    }
}

/// Name of the non-blocking form: `MPI_Ibcast` of `MPI_Bcast`.
fn non_blocking(function: &str) -> String {
    let begun = Function::named(function).and_then(Function::non_blocking);
    begun.map_or_else(|| function.to_owned(), |begun| begun.name().to_owned())
}

/// Circle through a finding whose calls stand at the given moments.
fn cycle(matched: &Matched<'_>, arena: &Arena<'_>, found: &Found, moment: Moment) -> Option<Vec<Step>> {
    let mut contracted = Contracted::new(matched);
    for (instance, messages) in found.messages.iter().enumerate() {
        for (place, is_send) in ends(arena, messages) {
            contracted.take(place, instance, is_send);
        }
    }
    let gives = found.finding.instances.iter().map(|one| {
        let collective = found.finding.collective;
        (collective, one.root)
    });
    for (instance, (collective, root)) in gives.enumerate() {
        use crate::model::finding::Collective::{Broadcast, Scatter};
        let world = |local: u32| {
            matched.trace.communicators[arena.communicator as usize]
                .members
                .get(local as usize)
        };
        let root = root.and_then(world).copied();
        let only_root = matches!(collective, Broadcast | Scatter);
        let gives = |rank: u32| !only_root || Some(rank) == root;
        contracted.place(instance, |rank| Call {
            at_first_send: moment == Moment::First && gives(rank),
            at_last: moment == Moment::Last,
        });
    }
    contracted.cycle()
}

/// Ends of messages, with true for sends.
fn ends(arena: &Arena<'_>, messages: &[u32]) -> Vec<(Place, bool)> {
    let of = |&id: &u32| {
        let message = &arena.messages[id as usize];
        [(message.send, true), (message.receive, false)]
    };
    messages.iter().flat_map(of).collect()
}
