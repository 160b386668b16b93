//! Ranks that take part in an item: all of them, or a part on a communicator of its own, while the others wait.

use kilter_algorithms::Collective;
use kilter_mpi::{MPI_Comm, MpiError, constants, info};
use kilter_protocol::plan::{Among, Implementation, Item};

use crate::control::Control;
use crate::implementation::{self, How, Recipe};
use crate::irregular;
use crate::place::Place;
use crate::program::groups;
use crate::reason::{NoPart, Reason};
use crate::row::Inside;

/// Ranks that take part in an item.
pub(crate) struct Members {
    /// Their ranks in the job, in the order of the communicator, and the root among them; none for all ranks.
    part: Option<(Vec<usize>, usize)>,
    p_ranks: usize,
    /// This rank.
    rank: usize,
}

impl Members {
    /// Those of an item; decided by the plan alone, so alike on every rank.
    ///
    /// # Errors
    /// A part that is none of these ranks.
    pub(crate) fn of(item: &Item, control: &Control) -> Result<Members, NoPart> {
        let (rank, p_ranks) = (control.rank(), control.p_ranks());
        let part = match &item.implementation {
            Implementation::Among(among) => Some(checked(among, p_ranks)?),
            _ => None,
        };
        Ok(Members { part, p_ranks, rank })
    }

    /// The root that the item names.
    pub(crate) fn root(&self) -> Option<usize> {
        self.part.as_ref().map(|(_, root)| *root)
    }

    /// True if this rank of the job takes part.
    pub(crate) fn has(&self, rank: usize) -> bool {
        self.part.as_ref().is_none_or(|(members, _)| members.contains(&rank))
    }

    /// The last and the first rank, as ranks of the job.
    pub(crate) fn last_and_first(&self) -> [usize; 2] {
        match &self.part {
            Some((members, _)) => [members[members.len() - 1], members[0]],
            None => [self.p_ranks - 1, 0],
        }
    }

    /// The item as this rank carries it out, which is nothing on a rank that waits.
    ///
    /// # Errors
    /// Why the members cannot carry it out.
    pub(crate) fn recipe(&self, item: &Item, place: Place) -> Result<Recipe, Reason> {
        let (Some((members, root)), Implementation::Among(among)) = (&self.part, &item.implementation) else {
            return implementation::recipe(item, place);
        };
        let inner = Item {
            implementation: among.implementation.clone(),
            ..item.clone()
        };
        let position = members.iter().position(|member| *member == place.rank);
        // Ranks that wait refuse what the members refuse.
        let place = Place {
            rank: position.unwrap_or(0),
            p_ranks: members.len(),
            root: *root,
            operand: among.operand.unwrap_or(place.operand),
            ..place
        };
        let mut recipe = match &among.blocks {
            Some(blocks) => irregular::recipe(&inner, blocks, place)?,
            None => implementation::recipe(&inner, place)?,
        };
        let is_barrier = item.task.collective() == Some(Collective::Barrier);
        if is_barrier
            && matches!(&inner.implementation, Implementation::Expression { text } if text == Collective::Barrier.name())
        {
            // Plain, though it has no volume.
            for part in &mut recipe.parts {
                part.how = How::Library(Collective::Barrier);
            }
        }
        if recipe.parts.iter().any(|part| matches!(part.how, How::Program(_))) {
            return Err(NoPart::NotPlain.into());
        }
        Ok(match position {
            Some(_) => recipe,
            None => Recipe {
                problems: Vec::new(),
                parts: Vec::new(),
                inside: Inside::default(),
            },
        })
    }

    /// A communicator of the members; the null one on other ranks. Called by all ranks.
    pub(crate) fn communicator(&self) -> Result<MPI_Comm, MpiError> {
        let world = constants::comm_world();
        let Some((members, _)) = &self.part else {
            // SAFETY: MPI_COMM_WORLD is an intracommunicator; every rank prepares the same items in the same order.
            return unsafe { info::comm_private(world) };
        };
        let position = members.iter().position(|member| *member == self.rank);
        // SAFETY: as above.
        let part = unsafe { groups::split(world, position.map(|_| 0), position.unwrap_or(0))? };
        if part == constants::comm_null() {
            return Ok(part);
        }
        // SAFETY: all members come here, and nothing but the private one is used.
        unsafe {
            let private = info::comm_private(part);
            info::comm_free(part)?;
            private
        }
    }
}

/// Members and root of a part.
///
/// # Errors
/// A rank that does not exist, comes twice, or a root that is no member.
fn checked(among: &Among, p_ranks: usize) -> Result<(Vec<usize>, usize), NoPart> {
    let members: Vec<usize> = among.members.iter().map(|member| *member as usize).collect();
    let root = among.root as usize;
    if members.is_empty() {
        return Err(NoPart::Nobody);
    }
    for (at, &member) in members.iter().enumerate() {
        if member >= p_ranks {
            return Err(NoPart::NoRank {
                rank: member,
                last: p_ranks - 1,
            });
        }
        if members[..at].contains(&member) {
            return Err(NoPart::Twice(member));
        }
    }
    if root >= members.len() {
        return Err(NoPart::NoRoot {
            root,
            ranks: members.len(),
        });
    }
    Ok((members, root))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn among(members: &[u32], root: u32) -> Among {
        Among {
            members: members.to_vec(),
            root,
            blocks: None,
            operand: None,
            implementation: Implementation::Expression {
                text: "bcast(n)".to_owned(),
            },
        }
    }

    #[test]
    fn a_part_is_ranks_of_the_job_each_once_and_one_is_the_root() {
        assert_eq!(checked(&among(&[3, 1], 1), 4), Ok((vec![3, 1], 1)));
        for (wrong, why) in [
            (among(&[], 0), "no rank takes part"),
            (among(&[0, 4], 0), "rank 4 takes part, and the job has ranks 0 to 3"),
            (among(&[0, 2, 0], 0), "rank 0 takes part twice"),
            (among(&[0, 2], 2), "root 2 is none of the 2 ranks that take part"),
        ] {
            assert_eq!(checked(&wrong, 4).unwrap_err().to_string(), why);
        }
    }
}
