//! A map by handles of the library, for tables with few entries at a time that come and go with each call.
//!
//! An entry lies at the place of its handle, if that is free when it comes, else in a table behind. A hash table of any size would do, and takes three
//! times the instructions for an entry that is put and taken.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Places in front, as a power of two.
const PLACE_BITS: u32 = 6;

/// Fibonacci hashing: handles are addresses of large structures, or numbers that differ in their lowest bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hash of the table behind.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    fn write_usize(&mut self, number: usize) {
        self.0 = (self.0 ^ number as u64).wrapping_mul(SPREAD).rotate_left(32);
    }
}

/// The map.
pub(super) struct ByHandle<T> {
    front: [Option<(usize, T)>; 1 << PLACE_BITS],
    behind: HashMap<usize, T, BuildHasherDefault<Spread>>,
}

impl<T> Default for ByHandle<T> {
    fn default() -> Self {
        ByHandle {
            front: [const { None }; 1 << PLACE_BITS],
            behind: HashMap::default(),
        }
    }
}

impl<T> ByHandle<T> {
    #[inline(always)]
    fn place(&mut self, handle: usize) -> &mut Option<(usize, T)> {
        let spread = (handle as u64).wrapping_mul(SPREAD) >> (u64::BITS - PLACE_BITS);
        &mut self.front[spread as usize]
    }

    /// The entry of a handle.
    #[inline]
    pub(super) fn get_mut(&mut self, handle: usize) -> Option<&mut T> {
        // The place is found twice, since a reference that is returned is held to the end.
        if matches!(self.place(handle), Some((known, _)) if *known == handle) {
            return self.place(handle).as_mut().map(|(_, entry)| entry);
        }
        if self.behind.is_empty() {
            return None;
        }
        self.behind.get_mut(&handle)
    }

    /// Puts an entry of a handle that has none into its place in front; false, with nothing put, where it may have one or the place is taken.
    #[inline(always)]
    pub(super) fn put_in_front(&mut self, handle: usize, entry: T) -> bool {
        let is_free = self.behind.is_empty() && self.place(handle).is_none();
        if is_free {
            *self.place(handle) = Some((handle, entry));
        }
        is_free
    }

    /// Takes the entry of a handle from its place in front, if it is there and may be taken.
    #[inline(always)]
    pub(super) fn take_from_front(&mut self, handle: usize, may_be: impl FnOnce(&T) -> bool) -> Option<T> {
        let place = self.place(handle);
        match place {
            Some((known, entry)) if *known == handle && may_be(&*entry) => place.take().map(|(_, entry)| entry),
            _ => None,
        }
    }

    /// Puts an entry in the place of that which the handle had.
    #[inline]
    pub(super) fn insert(&mut self, handle: usize, entry: T) {
        let is_behind = !self.behind.is_empty() && self.behind.contains_key(&handle);
        let place = self.place(handle);
        let is_mine = place.as_ref().is_none_or(|(known, _)| *known == handle);
        if is_mine && !is_behind {
            *place = Some((handle, entry));
        } else {
            self.behind.insert(handle, entry);
        }
    }

    /// Takes the entry of a handle.
    #[inline]
    pub(super) fn remove(&mut self, handle: usize) -> Option<T> {
        let place = self.place(handle);
        if matches!(place, Some((known, _)) if *known == handle) {
            return place.take().map(|(_, entry)| entry);
        }
        if self.behind.is_empty() {
            return None;
        }
        self.behind.remove(&handle)
    }

    /// All entries.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let front = self.front.iter_mut().flatten().map(|(_, entry)| entry);
        front.chain(self.behind.values_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same as a table of the standard library, whatever is put and taken; with more handles than places, so that many lie behind.
    #[test]
    fn it_is_a_map() {
        let (mut map, mut model) = (ByHandle::default(), HashMap::new());
        let mut state = 1_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let (mut most_behind, mut in_front) = (0, 0);
        for entry in 0..200_000_u64 {
            // The null handle of some libraries, too.
            let handle = 448 * next(150) as usize;
            match next(7) {
                0 | 1 => {
                    map.insert(handle, entry);
                    model.insert(handle, entry);
                }
                2 => assert_eq!(map.remove(handle), model.remove(&handle)),
                3 => assert_eq!(map.get_mut(handle), model.get_mut(&handle)),
                4 => {
                    if map.put_in_front(handle, entry) {
                        in_front += 1;
                        assert_eq!(model.insert(handle, entry), None);
                    }
                }
                5 => {
                    let is_even = |entry: &u64| entry.is_multiple_of(2);
                    if let Some(taken) = map.take_from_front(handle, is_even) {
                        in_front += 1;
                        assert!(is_even(&taken));
                        assert_eq!(model.remove(&handle), Some(taken));
                    }
                }
                _ => {
                    let mut all: Vec<u64> = map.values_mut().map(|entry| *entry).collect();
                    let mut expected: Vec<u64> = model.values().copied().collect();
                    all.sort_unstable();
                    expected.sort_unstable();
                    assert_eq!(all, expected);
                }
            }
            most_behind = most_behind.max(map.behind.len());
        }
        assert!(most_behind > 10 && in_front > 1000, "{most_behind} {in_front}");
    }
}
