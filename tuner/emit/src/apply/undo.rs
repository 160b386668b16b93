//! The way back: the changes left until every file is as it was. It is a function of the entry and of contents, and the same from wherever an
//! apply or an earlier way back was cut off.

use super::block::BlockError;
use super::journal::{Entry, Recorded};
use super::{Change, block};
use crate::digest::sha256;

/// A file that somebody edited since: to take it back would lose that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` {edit}")]
pub struct Edited {
    /// The file.
    pub path: String,
    /// The difference, and the remedy.
    pub edit: Edit,
}

/// An edit that is not taken back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Edit {
    /// The file is Kilter's as a whole.
    #[error("was edited after it was applied; move it away, then what was there before comes back, and run this again")]
    Whole,
    /// The lines between the marks are Kilter's.
    #[error(
        "was edited within Kilter's block; put your lines outside of the block, or remove it whole, and run this again"
    )]
    Block,
    /// The marks are no longer those of one block.
    #[error(transparent)]
    Marks(#[from] BlockError),
}

/// The changes that are left; `old` and `now` are the contents of the entry's files, in its order.
///
/// # Errors
/// All files that were edited since, where it was not only outside of Kilter's block.
pub fn changes(entry: &Entry, old: &[Option<Vec<u8>>], now: &[Option<Vec<u8>>]) -> Result<Vec<Change>, Vec<Edited>> {
    let mut changes = Vec::new();
    let mut edited = Vec::new();
    for ((recorded, old), now) in entry.changes.iter().zip(old).zip(now) {
        match target(recorded, old.as_deref(), now.as_deref()) {
            Ok(new) if new == *now => {}
            Ok(new) => changes.push(Change {
                path: recorded.path.clone(),
                link: None,
                old: now.clone(),
                new,
                mode: recorded.mode,
                block: None,
            }),
            Err(edit) => edited.push(Edited {
                path: recorded.path.display().to_string(),
                edit,
            }),
        }
    }
    if edited.is_empty() { Ok(changes) } else { Err(edited) }
}

/// The state that a file shall have again.
fn target(recorded: &Recorded, old: Option<&[u8]>, now: Option<&[u8]>) -> Result<Option<Vec<u8>>, Edit> {
    if now == old || now.map(sha256) == recorded.new {
        return Ok(old.map(<[u8]>::to_vec));
    }
    let Some(now) = now else {
        // Somebody removed it: nothing of Kilter's is left.
        return Ok(None);
    };
    let Some(applied) = &recorded.block else {
        return Err(Edit::Whole);
    };
    let old = old.unwrap_or_default();
    let in_now = block::of(now)?.unwrap_or_default();
    let in_old = block::of(old)?.unwrap_or_default();
    if in_now != applied.as_bytes() && in_now != in_old {
        return Err(Edit::Block);
    }
    let restored = block::restore(now, old)?;
    // It was made for the block alone.
    let made = recorded.old.is_none() && restored.is_empty();
    Ok((!made).then_some(restored))
}
