//! Segments that follow each other closely along a tree whose inner ranks have one or two children.

use crate::overlap::{Overlap, SHORT_BYTES, WINDOW, send_each};
use crate::parameter::Parameter;
use crate::patterns::lent;
use crate::schedule::whole_elements;
use crate::{Cost, Setting, Transport, TransportError};

/// The tunable of pipelines.
pub(crate) const SEGMENT_BYTES: Parameter = Parameter {
    name: "segment_bytes",
    min: 256,
    max: 1_048_576,
    default: 16_384,
    summary: "bytes of a segment, rounded down to whole elements (at least one)",
};

/// Segments that may be on their way from a child or parent; from two children, as many messages as can be under way.
const AHEAD: usize = WINDOW / 2;

/// A rank's neighbours in a tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Neighbours {
    /// None for the root.
    pub(crate) parent: Option<usize>,
    /// In the order in which they are served; a second one comes after a first one.
    pub(crate) children: [Option<usize>; 2],
}

impl Neighbours {
    /// Those of a chain in relative ranks: `0 - 1 - 2 - ...`, with relative rank 0 the root.
    #[inline]
    pub(crate) fn in_chain(relative: usize, p: usize) -> Neighbours {
        Neighbours {
            parent: relative.checked_sub(1),
            children: [Some(relative + 1).filter(|&child| child < p), None],
        }
    }

    /// The same, with other names for the ranks.
    pub(crate) fn map(self, name: impl Fn(usize) -> usize) -> Neighbours {
        Neighbours {
            parent: self.parent.map(&name),
            children: self.children.map(|child| child.map(&name)),
        }
    }
}

/// Bytes of a segment in the cost functions: no more than all, and no less than one.
pub(crate) fn cost_segment(n_bytes: usize, parameters: &[u64]) -> usize {
    usize::try_from(parameters[0])
        .unwrap_or(usize::MAX)
        .clamp(1, n_bytes.max(1))
}

/// Cost of a call in segments by ranks, bytes and bytes of a segment. Nothing is passed on without data, or by a rank alone.
pub(crate) fn cost_by_segment(setting: &Setting<'_>, cost: impl FnOnce(usize, usize, usize) -> Cost) -> Cost {
    let &Setting {
        p_ranks,
        n_bytes,
        parameters,
        ..
    } = setting;
    if n_bytes == 0 || p_ranks < 2 {
        return Cost::ZERO;
    }
    cost(p_ranks, n_bytes, cost_segment(n_bytes, parameters))
}

/// Cost of a chain of all ranks: that of all data, and one more hop of a segment for each rank between the ends.
pub(crate) fn chain_cost(setting: &Setting<'_>) -> Cost {
    cost_by_segment(setting, |p, n_bytes, segment| {
        let hops = p - 2;
        Cost {
            rounds: (n_bytes.div_ceil(segment) + hops) as f64,
            bytes_sent: n_bytes as f64 + hops as f64 * segment as f64,
            bytes_reduced: 0.0,
        }
    })
}

/// Cost of a chain of all ranks on which all that is passed on is combined.
pub(crate) fn combining_chain_cost(setting: &Setting<'_>) -> Cost {
    let messages = chain_cost(setting);
    Cost {
        bytes_reduced: messages.bytes_sent,
        ..messages
    }
}

/// Bytes of the slots in which the segments of a second child come, at most.
pub(crate) fn slots_bytes(setting: &Setting<'_>) -> usize {
    let segment = cost_segment(setting.n_bytes, setting.parameters);
    if setting.n_bytes <= segment {
        return setting.n_bytes;
    }
    // Segments are rounded down to whole elements, so there may be one more segment, and each may be shorter.
    AHEAD
        .saturating_mul(segment)
        .min(setting.n_bytes.saturating_add(segment))
}

/// Bytes of a segment in a call.
pub(crate) fn call_segment<T: Transport>(transport: &T, parameters: &[u64]) -> usize {
    let segment_bytes = usize::try_from(parameters[0]).unwrap_or(usize::MAX);
    whole_elements(segment_bytes, transport.element_bytes())
}

/// Gives every rank the root's `data`.
pub(crate) fn broadcast<T: Transport>(
    transport: &mut T,
    data: &mut [u8],
    segment: usize,
    neighbours: Neighbours,
) -> Result<(), TransportError> {
    let Neighbours { parent, children } = neighbours;
    if data.is_empty() {
        return Ok(());
    }
    if data.len() <= segment {
        if let Some(parent) = parent {
            transport.recv(parent, data)?;
        }
        let data: &[u8] = data;
        return send_each(transport, children.into_iter().flatten().map(|child| (child, data)));
    }
    let segments = data.len().div_ceil(segment);
    let mut overlap = Overlap::new(transport);
    let Some(parent) = parent else {
        for chunk in data.chunks(segment) {
            for child in children.into_iter().flatten() {
                overlap.send(child, chunk)?;
            }
        }
        return overlap.finish();
    };
    let mut to_post = data.chunks_mut(segment);
    for chunk in to_post.by_ref().take(AHEAD) {
        overlap.receive(parent, chunk)?;
    }
    for _ in 0..segments {
        let chunk: &[u8] = overlap.received()?;
        if let Some(next) = to_post.next() {
            overlap.receive(parent, next)?;
        }
        for child in children.into_iter().flatten() {
            overlap.send(child, chunk)?;
        }
    }
    overlap.finish()
}

/// Combines the inputs of this rank and of those below it and passes the result on to its parent.
///
/// With one child, the operands stay in the order rank, child, child's child, ...; with two, the operator must be
/// commutative. `output` is used on the root only.
pub(crate) fn reduce<T: Transport>(
    transport: &mut T,
    input: &[u8],
    output: &mut [u8],
    segment: usize,
    neighbours: Neighbours,
) -> Result<(), TransportError> {
    let Neighbours { parent, children } = neighbours;
    let [Some(first), second] = children else {
        return leaf(transport, input, output, segment, parent);
    };
    // Without the division, which a few bytes would feel.
    let segments = if input.len() <= segment {
        usize::from(!input.is_empty())
    } else {
        input.len().div_ceil(segment)
    };
    let slot_bytes = segment.min(input.len());
    if segments == 0 {
        return Ok(());
    }
    // A first child's data is received where it is combined, a second one's in slots.
    let slots = second.map_or(0, |_| segments.min(AHEAD) * slot_bytes);
    let combined_bytes = parent.map_or(0, |_| input.len());
    let mut scratch = lent::take(transport, slots + combined_bytes)?;
    let (slots, rest) = scratch.split_at_mut(slots);
    let combined = if parent.is_some() {
        &mut rest[..combined_bytes]
    } else {
        output
    };

    if segments == 1 && input.len() <= SHORT_BYTES {
        transport.recv(first, combined)?;
        transport.reduce_local(input, combined)?;
        if let Some(second) = second {
            transport.recv(second, &mut slots[..input.len()])?;
            transport.reduce_local(&slots[..input.len()], combined)?;
        }
        if let Some(parent) = parent {
            transport.send(parent, combined)?;
        }
        lent::give(transport, scratch);
        return Ok(());
    }
    let mut overlap = Overlap::new(transport);
    let mut to_post = combined.chunks_mut(segment);
    let mut slots = slots.chunks_exact_mut(slot_bytes);
    for chunk in to_post.by_ref().take(AHEAD) {
        let bytes = chunk.len();
        overlap.receive(first, chunk)?;
        if let (Some(second), Some(slot)) = (second, slots.next()) {
            overlap.receive(second, &mut slot[..bytes])?;
        }
    }
    for own in input.chunks(segment) {
        let chunk = overlap.received()?;
        overlap.transport().reduce_local(own, chunk)?;
        let mut free = None;
        if second.is_some() {
            let slot = overlap.received()?;
            overlap.transport().reduce_local(slot, chunk)?;
            free = Some(slot);
        }
        if let Some(parent) = parent {
            overlap.send(parent, chunk)?;
        }
        if let Some(next) = to_post.next() {
            let bytes = next.len();
            overlap.receive(first, next)?;
            if let (Some(second), Some(slot)) = (second, free) {
                overlap.receive(second, &mut slot[..bytes])?;
            }
        }
    }
    overlap.finish()?;
    lent::give(transport, scratch);
    Ok(())
}

/// A rank without children: its input is the combination.
fn leaf<T: Transport>(
    transport: &mut T,
    input: &[u8],
    output: &mut [u8],
    segment: usize,
    parent: Option<usize>,
) -> Result<(), TransportError> {
    let Some(parent) = parent else {
        transport.copy(input, output);
        return Ok(());
    };
    send(transport, input, segment, parent)
}

/// Sends all of `data` to one rank.
pub(crate) fn send<T: Transport>(
    transport: &mut T,
    data: &[u8],
    segment: usize,
    to: usize,
) -> Result<(), TransportError> {
    send_each(transport, data.chunks(segment).map(|chunk| (to, chunk)))
}
