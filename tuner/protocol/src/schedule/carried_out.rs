//! Schedules on the bytes themselves: what combining leaves in memory is no piece of what was there before.

use std::collections::BTreeMap;

use super::walk::{Happens, Wait, walk};
use super::{Combination, Message, Schedule};

impl Schedule {
    /// Carries a checked schedule out once, on memories of the lengths that it says. `combine` gets data and those to which they are added.
    ///
    /// # Errors
    /// The circle in which ranks wait for each other.
    ///
    /// # Panics
    /// A memory is too short.
    pub fn carry_out(
        &self,
        memories: &mut [Vec<u8>],
        combine: &mut dyn FnMut(&[u8], &mut [u8]),
    ) -> Result<(), Vec<Wait>> {
        let mut under_way: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        walk(self, &mut |happens| match happens {
            Happens::Sent(number) => {
                let Message {
                    from, bytes, from_at, ..
                } = self.messages[number];
                let data = &memories[from as usize][from_at as usize..][..bytes as usize];
                under_way.insert(number, data.to_vec());
            }
            Happens::Received(number) => {
                let Message { to, to_at, .. } = self.messages[number];
                if let Some(data) = under_way.remove(&number) {
                    memories[to as usize][to_at as usize..][..data.len()].copy_from_slice(&data);
                }
            }
            Happens::Combined(rank, Combination { from_at, to_at, bytes }) => {
                let memory = &mut memories[rank];
                let added = memory[from_at as usize..][..bytes as usize].to_vec();
                combine(&added, &mut memory[to_at as usize..][..bytes as usize]);
            }
        })
    }
}
