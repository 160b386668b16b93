//! The blocks that a session was asked, and those of its job that the store knew before.

use std::collections::{BTreeMap, BTreeSet};

use kilter_protocol::plan::Block;

/// Blocks in the order in which they were asked, each once; found by their ids, of which a session may have thousands.
#[derive(Debug, Default)]
pub(super) struct Asked {
    blocks: Vec<Block>,
    places: BTreeMap<String, usize>,
    /// Ids that the store knew before the first question.
    known: Option<BTreeSet<String>>,
}

impl Asked {
    /// Learns what the store knows, before the first question. Most blocks are new: looked up one by one, each would cost as much as what is read of
    /// it in the end.
    pub(super) fn ask_once<E>(&mut self, known: impl FnOnce() -> Result<BTreeSet<String>, E>) -> Result<(), E> {
        if self.known.is_none() {
            self.known = Some(known()?);
        }
        Ok(())
    }

    /// False if the store has neither an answer nor a failure under this id: it knew none, and this session has not asked.
    pub(super) fn may_be_stored(&self, id: &str) -> bool {
        self.places.contains_key(id) || self.known.as_ref().is_none_or(|known| known.contains(id))
    }

    /// Adds a block, unless one of its id is there.
    pub(super) fn add(&mut self, block: &Block) {
        if !self.places.contains_key(&block.id) {
            self.places.insert(block.id.clone(), self.blocks.len());
            self.blocks.push(block.clone());
        }
    }

    /// The block of this id.
    pub(super) fn get(&self, id: &str) -> Option<&Block> {
        self.places.get(id).map(|place| &self.blocks[*place])
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter()
    }
}
