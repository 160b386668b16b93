//! Members of a communicator: world ranks as progressions, so that a regular group takes little memory and its text is short.

use std::fmt;

/// A rank outside of the world.
pub(crate) const OUTSIDE: i32 = -1;

/// Consecutive members whose world ranks differ by the same step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Progression {
    first: i32,
    step: i32,
    count: u32,
    /// Members before it.
    before: u32,
}

impl Progression {
    /// World rank of one of its members; `None` outside of the world.
    #[inline(always)]
    fn world_rank(&self, within: u32) -> Option<u32> {
        u32::try_from(self.first.wrapping_add(self.step.wrapping_mul(within.cast_signed()))).ok()
    }
}

/// Members in their order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Members {
    /// The first part; most communicators have no other.
    first: Progression,
    parts: Box<[Progression]>,
    count: u32,
}

impl Members {
    /// Members with these world ranks; those outside of the world are negative.
    pub(crate) fn new(ranks: &[i32]) -> Members {
        let mut parts: Vec<Progression> = Vec::new();
        for (before, rank) in (0..).zip(ranks.iter().map(|rank| (*rank).max(OUTSIDE))) {
            if let Some(last) = parts.last_mut() {
                let step = if rank == OUTSIDE || last.first == OUTSIDE {
                    0
                } else {
                    rank - last.first
                };
                let continues = match last.count {
                    1 if last.first == OUTSIDE || rank == OUTSIDE => last.first == rank,
                    1 => step > 0,
                    count => rank == last.first + last.step * count as i32,
                };
                if continues {
                    if last.count == 1 {
                        last.step = step;
                    }
                    last.count += 1;
                    continue;
                }
                // Two members that happen to follow each other are no progression if a third does not.
                if last.count == 2 && last.step > 1 {
                    let second = Progression {
                        first: last.first + last.step,
                        step: 0,
                        count: 1,
                        before: last.before + 1,
                    };
                    last.count = 1;
                    last.step = 0;
                    let step = rank - second.first;
                    parts.push(second);
                    if rank != OUTSIDE && step > 0 {
                        if let Some(last) = parts.last_mut() {
                            last.step = step;
                            last.count = 2;
                        }
                        continue;
                    }
                }
            }
            parts.push(Progression {
                first: rank,
                step: 0,
                count: 1,
                before,
            });
        }
        Members {
            first: parts.first().copied().unwrap_or_default(),
            parts: parts.into(),
            count: u32::try_from(ranks.len()).unwrap_or(u32::MAX),
        }
    }

    /// Number of members.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// World rank of a member; `None` if there is no such member, or if it is outside of the world.
    #[inline(always)]
    pub(crate) fn world_rank(&self, member: u32) -> Option<u32> {
        if member < self.first.count {
            self.first.world_rank(member)
        } else {
            self.world_rank_in_others(member)
        }
    }

    /// World rank of a member that is not in the first part.
    #[inline(never)]
    fn world_rank_in_others(&self, member: u32) -> Option<u32> {
        let at = self.parts.partition_point(|part| part.before <= member);
        let part = self.parts.get(at.checked_sub(1)?)?;
        let within = member - part.before;
        (within < part.count).then(|| part.world_rank(within)).flatten()
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.parts)
    }
}

impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for part in &self.parts {
            let Progression { first, step, count, .. } = *part;
            let last = first + step * (count as i32 - 1);
            match (first, count) {
                (OUTSIDE, 1) => write!(f, "{comma}?")?,
                (OUTSIDE, _) => write!(f, "{comma}?*{count}")?,
                (_, 1) => write!(f, "{comma}{first}")?,
                _ if step == 1 => write!(f, "{comma}{first}-{last}")?,
                _ => write!(f, "{comma}{first}-{last}:{step}")?,
            }
            comma = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_written_as_people_would() {
        for (ranks, expected) in [
            (vec![], ""),
            (vec![5], "5"),
            (vec![0, 1], "0-1"),
            (vec![0, 1, 2, 3], "0-3"),
            (vec![0, 2, 4, 6], "0-6:2"),
            (vec![3, 1, 0], "3,1,0"),
            (vec![0, 5, 6, 7], "0,5-7"),
            (vec![0, 1, 2, 8, 9], "0-2,8-9"),
            (vec![OUTSIDE, OUTSIDE, 4], "?*2,4"),
            (vec![2, OUTSIDE], "2,?"),
        ] {
            assert_eq!(Members::new(&ranks).to_string(), expected, "{ranks:?}");
        }
    }

    #[test]
    fn every_member_is_found_again() {
        // A generator of numbers, so that groups of all forms come.
        let mut state = 7_u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        for _ in 0..2000 {
            let length = next(12);
            let ranks: Vec<i32> = (0..length).map(|_| next(10) as i32 - 1).collect();
            let members = Members::new(&ranks);
            assert_eq!(members.count() as usize, ranks.len());
            for (member, rank) in (0..).zip(&ranks) {
                let expected = u32::try_from(*rank).ok();
                assert_eq!(members.world_rank(member), expected, "{ranks:?}: {members}");
            }
            assert_eq!(members.world_rank(ranks.len() as u32), None);
        }
    }
}
