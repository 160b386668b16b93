//! Receives that a program polls for: it asks if the message is there, and does other work while it is not.

use crate::arena::Arena;
use crate::matching::{Matched, Place};
use crate::model::trace::Kind;

/// Events before a receive that are looked at.
const LOOK_BACK: usize = 256;

/// Receives of messages that are polled for, and all of them.
pub(super) fn polled(matched: &Matched<'_>, arena: &Arena<'_>, instances: &[Vec<u32>]) -> (usize, usize) {
    let mut receives = 0;
    let mut polled = 0;
    for &id in instances.iter().flatten() {
        receives += 1;
        polled += usize::from(is_polled(matched, arena.messages[id as usize].receive));
    }
    (polled, receives)
}

/// True if, before the receive and behind the one before it from the same rank, a probe for it found nothing, or a test since it was posted.
fn is_polled(matched: &Matched<'_>, receive: Place) -> bool {
    let Kind::Receive {
        communicator,
        from,
        tag,
        posted_ns,
        ..
    } = matched.event(receive).kind
    else {
        return false;
    };
    let was_posted = posted_ns < matched.event(receive).begin_ns;
    let events = &matched.trace.events[receive.rank as usize][..receive.event as usize];
    for event in events.iter().rev().take(LOOK_BACK) {
        match event.kind {
            Kind::Probe {
                communicator: of,
                from: source,
                tag: asked,
                found: false,
                blocking: false,
            } => {
                let is_asked =
                    of == communicator && source.is_none_or(|one| one == from) && asked.is_none_or(|one| one == tag);
                if is_asked {
                    return true;
                }
            }
            Kind::Test { found: false } if was_posted && event.begin_ns >= posted_ns => return true,
            Kind::Receive {
                communicator: of,
                from: source,
                tag: other,
                ..
            } if (of, source, other) == (communicator, from, tag) => return false,
            _ => {}
        }
    }
    false
}
