//! Origin of data by their chunks: a rank that repacks what it received is not where the data begin.

use rustc_hash::FxHashMap;

use super::Operation;
use crate::arena::{Arena, Message};

/// First message that carries each chunk.
pub(crate) struct Origins {
    first: FxHashMap<(u64, u64), u32>,
}

impl Origins {
    pub(crate) fn new(arena: &Arena<'_>) -> Self {
        let mut first = FxHashMap::default();
        for (id, message) in (0..).zip(&arena.messages) {
            for chunk in message.sent.sampled(arena.chunk_sample) {
                first.entry((chunk.hash, chunk.bytes)).or_insert(id);
            }
        }
        Self { first }
    }

    /// True if some rank sends, as the first thing in an operation, data that came to it mostly from others by messages of other content.
    pub(crate) fn contradict(&self, arena: &Arena<'_>, operation: &Operation) -> bool {
        let mut seen = vec![false; arena.size];
        operation.messages.iter().any(|&id| {
            let message = &arena.messages[id as usize];
            let is_first = !std::mem::replace(&mut seen[message.from as usize], true);
            is_first && self.is_foreign(arena, message, operation)
        })
    }

    fn is_foreign(&self, arena: &Arena<'_>, message: &Message<'_>, operation: &Operation) -> bool {
        let (mut all, mut foreign) = (0_u64, 0_u64);
        for chunk in message.sent.sampled(arena.chunk_sample) {
            all = all.saturating_add(chunk.bytes);
            let Some(&first) = self.first.get(&(chunk.hash, chunk.bytes)) else {
                continue;
            };
            let is_other = arena.messages[first as usize].from != message.from
                && operation.messages.binary_search(&first).is_err();
            foreign = foreign.saturating_add(if is_other { chunk.bytes } else { 0 });
        }
        foreign > all / 2
    }
}
