//! Safety of a replacement: may the messages of a finding become calls of a blocking collective?
//!
//! Each instance is contracted to one step that all its ranks make together, in the graph of what happens before what. A circle through it
//! means that the collective would wait for itself. A rank may make the call from where it first gives data to where it completes the last
//! message: if it comes to the call when all others can, nobody waits longer than it must, so that a circle of what lies before and behind these places
//! is one wherever the calls stand. A collective that waits for nobody, as a small broadcast does at its root, would pass: a program that counts on it is wrong.

mod graph;
mod polling;

use kilter_protocol::functions::Function;

use crate::arena::Arena;
use crate::findings::Found;
use crate::matching::{Matched, Place};
use crate::model::finding::{Replacement, Step};
use graph::{Contracted, Moment};

/// Judges a finding: its replacement becomes what is safe.
pub(crate) fn judge(matched: &Matched<'_>, arena: &Arena<'_>, found: &mut Found) {
    let Replacement::Blocking(function) = found.finding.replacement.clone() else {
        return;
    };
    let cycle = |moment| cycle(matched, arena, found, moment);
    let is_early = cycle(Moment::First).is_none();
    let is_late = !is_early && cycle(Moment::Last).is_none();
    let deadlock = if is_early || is_late { None } else { cycle(Moment::Any) };
    let (polled, receives) = polling::polled(matched, arena, &found.messages);
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
    } else if is_late {
        why.push("the call must stand where a rank completes the last of its messages".to_owned());
    } else if !is_early {
        why.push("the call must stand between the first and the last message of some ranks".to_owned());
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
        contracted.place(instance, moment, gives);
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
