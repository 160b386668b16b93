//! The table of counts: a cell for each kind of calls, in memory of a fixed size.
//!
//! The table is open addressing with linear probing. Cells are never removed, so a cell that was found stays where it is. If several threads
//! call MPI at the same time, numbers are added atomically and a new cell is claimed by a compare-and-swap; otherwise both are plain loads
//! and stores.

use std::alloc::Layout;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::key::Key;

/// Cells that are looked at before a kind counts as lost.
const MOST_PROBES: usize = 64;

/// Key of a cell that another thread is about to claim.
const CLAIMED: u64 = u64::MAX;

/// Counts of one kind of calls; as long as a line of the cache.
#[repr(C, align(64))]
pub(crate) struct Cell {
    /// 0 in a free cell.
    key: AtomicU64,
    site: AtomicU64,
    calls: AtomicU64,
    ticks: AtomicU64,
    /// Bytes, or requests of a call that completes operations.
    amount: AtomicU64,
    longest: AtomicU64,
    /// Complement of the shortest call's ticks, so that it begins with 0 as the others do.
    shortest: AtomicU64,
    /// 1 if the call site is in a library of Kilter's, whose calls are not the program's.
    own: AtomicU64,
}

impl Cell {
    /// Distance of the number of calls from the cell, for the exported functions.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const CALLS: usize = std::mem::offset_of!(Cell, calls);

    /// Distance of the number of bytes or requests.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const AMOUNT: usize = std::mem::offset_of!(Cell, amount);

    /// Takes a call back that was added without a time, where no other thread adds any.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn take_back_untimed(&self, amount: u64) {
        increase(&self.calls, 1_u64.wrapping_neg(), false);
        increase(&self.amount, amount.wrapping_neg(), false);
    }

    /// Adds a call; atomically if several threads do.
    #[inline(always)]
    pub(crate) fn add(&self, call: Ended, shared: bool) {
        increase(&self.calls, 1, shared);
        increase(&self.amount, call.amount, shared);
        if call.stands_for > 0 {
            increase(&self.ticks, call.ticks.wrapping_mul(call.stands_for), shared);
            raise(&self.longest, call.ticks, shared);
            raise(&self.shortest, !call.ticks, shared);
        }
    }
}

/// Counts of a cell, as they are read at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) key: Key,
    pub(crate) site: usize,
    pub(crate) calls: u64,
    pub(crate) ticks: u64,
    pub(crate) amount: u64,
    pub(crate) shortest: u64,
    pub(crate) longest: u64,
    pub(crate) own: bool,
}

/// The table.
pub(crate) struct Table {
    cells: &'static [Cell],
    /// True if several threads call MPI at the same time.
    shared: bool,
    lost: AtomicU64,
}

/// A call that has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) site: usize,
    pub(crate) ticks: u64,
    /// Calls for which its ticks stand; 0 if it was not timed.
    pub(crate) stands_for: u64,
    pub(crate) amount: u64,
}

impl Table {
    /// A table in about so many bytes; `None` if the system has not got them. The memory is never freed.
    pub(crate) fn new(bytes: usize, shared: bool) -> Option<Table> {
        let count = (bytes / size_of::<Cell>()).max(2);
        // The largest power of two that is not above it.
        let count = 1_usize << count.ilog2();
        let layout = Layout::array::<Cell>(count).ok()?;
        // SAFETY: the layout has a size above 0.
        let cells = unsafe { std::alloc::alloc_zeroed(layout) };
        if cells.is_null() {
            return None;
        }
        // SAFETY: so many cells were allocated, and zeros are valid cells; the memory lives as long as the process.
        let cells = unsafe { std::slice::from_raw_parts(cells.cast::<Cell>(), count) };
        Some(Table {
            cells,
            shared,
            lost: AtomicU64::new(0),
        })
    }

    /// Adds a call. `is_own` is asked for a new kind whether the call site is in a library of Kilter's. Returns whether the call counts as
    /// the program's.
    #[inline]
    pub(crate) fn add(&self, key: Key, call: Ended, is_own: impl FnOnce(usize) -> bool) -> bool {
        let Some(cell) = self.find(key, call.site, is_own) else {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return true;
        };
        cell.add(call, self.shared);
        cell.own.load(Ordering::Relaxed) == 0
    }

    /// The cell of a kind, if it is the one at which the search for the kind begins; `None` if that cell is free or another kind's.
    #[inline]
    pub(crate) fn known(&self, key: Key, site: usize) -> Option<&'static Cell> {
        let cell = self.cells.get(self.first(key, site))?;
        let is_it = cell.key.load(Ordering::Acquire) == key.bits() && cell.site.load(Ordering::Relaxed) == site as u64;
        is_it.then_some(cell)
    }

    /// True if several threads add to the cells at the same time.
    #[inline(always)]
    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    /// The first cell at which a kind is looked for.
    #[inline(always)]
    fn first(&self, key: Key, site: usize) -> usize {
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4).
        let spread = (key.bits() ^ (site as u64).rotate_left(24)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (spread >> 20) as usize & (self.cells.len() - 1)
    }

    #[inline]
    fn find(&self, key: Key, site: usize, is_own: impl FnOnce(usize) -> bool) -> Option<&Cell> {
        let bits = key.bits();
        let mask = self.cells.len() - 1;
        let first = self.first(key, site);
        for probe in 0..MOST_PROBES {
            let cell = self.cells.get(first.wrapping_add(probe) & mask)?;
            let mut found = cell.key.load(Ordering::Acquire);
            if found == 0 {
                match self.claim(cell, bits, site) {
                    Ok(()) => {
                        cell.own.store(u64::from(is_own(site)), Ordering::Relaxed);
                        return Some(cell);
                    }
                    Err(other) => found = other,
                }
            }
            while found == CLAIMED {
                std::hint::spin_loop();
                found = cell.key.load(Ordering::Acquire);
            }
            if found == bits && cell.site.load(Ordering::Relaxed) == site as u64 {
                return Some(cell);
            }
        }
        None
    }

    /// Takes a free cell, or returns the key of who was faster.
    #[cold]
    fn claim(&self, cell: &Cell, bits: u64, site: usize) -> Result<(), u64> {
        cell.key
            .compare_exchange(0, CLAIMED, Ordering::AcqRel, Ordering::Acquire)?;
        cell.site.store(site as u64, Ordering::Relaxed);
        cell.key.store(bits, Ordering::Release);
        Ok(())
    }

    /// Calls for which there was no cell.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// The counts of every kind that was seen.
    pub(crate) fn counts(&self) -> impl Iterator<Item = Counts> {
        self.cells.iter().filter_map(|cell| {
            let key = cell.key.load(Ordering::Acquire);
            let calls = cell.calls.load(Ordering::Relaxed);
            (key != 0 && key != CLAIMED && calls > 0).then(|| Counts {
                key: Key::of_bits(key),
                site: cell.site.load(Ordering::Relaxed) as usize,
                calls,
                ticks: cell.ticks.load(Ordering::Relaxed),
                amount: cell.amount.load(Ordering::Relaxed),
                // 0 where none was timed.
                shortest: match cell.shortest.load(Ordering::Relaxed) {
                    0 => 0,
                    complement => !complement,
                },
                longest: cell.longest.load(Ordering::Relaxed),
                own: cell.own.load(Ordering::Relaxed) != 0,
            })
        })
    }
}

/// Adds to a number; atomically if several threads do.
#[inline]
pub(crate) fn increase(number: &AtomicU64, by: u64, shared: bool) {
    if shared {
        number.fetch_add(by, Ordering::Relaxed);
    } else {
        number.store(number.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
    }
}

/// Raises a number to this one, if it is below; atomically if several threads do.
#[inline]
fn raise(number: &AtomicU64, to: u64, shared: bool) {
    if number.load(Ordering::Relaxed) < to {
        if shared {
            number.fetch_max(to, Ordering::Relaxed);
        } else {
            number.store(to, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kilter_protocol::functions::Function;

    fn key(communicator: u32, bytes: u64) -> Key {
        Key::new(Function::Send, Some(communicator), bytes, 1, 0)
    }

    fn call(site: usize, ticks: u64, amount: u64) -> Ended {
        Ended {
            site,
            ticks,
            stands_for: 1,
            amount,
        }
    }

    fn untimed(amount: u64) -> Ended {
        Ended {
            stands_for: 0,
            ..call(0x1000, 0, amount)
        }
    }

    #[test]
    fn calls_that_are_not_timed_are_counted_and_others_stand_for_them() {
        let table = Table::new(1 << 16, false).unwrap();
        for (ticks, stands_for) in [(0, 0), (12, 3), (0, 0), (20, 1)] {
            let ended = Ended {
                stands_for,
                ..call(0x1000, ticks, 1)
            };
            table.add(key(3, 1), ended, |_| false);
        }
        let all: Vec<Counts> = table.counts().collect();
        assert_eq!((all.len(), all[0].calls, all[0].ticks, all[0].amount), (1, 4, 56, 4));
        assert_eq!((all[0].shortest, all[0].longest), (12, 20));
        let table = Table::new(1 << 16, false).unwrap();
        table.add(key(3, 1), untimed(1), |_| false);
        let all: Vec<Counts> = table.counts().collect();
        assert_eq!(
            (all[0].calls, all[0].ticks, all[0].shortest, all[0].longest),
            (1, 0, 0, 0)
        );
    }

    #[test]
    fn untimed_calls_are_added_to_a_cell_that_is_there() {
        for shared in [false, true] {
            let table = Table::new(1 << 16, shared).unwrap();
            let add = |bytes, site| {
                table
                    .known(key(3, bytes), site)
                    .map(|cell| cell.add(untimed(bytes), shared))
            };
            assert!(add(2, 0x1000).is_none(), "free");
            table.add(key(3, 2), call(0x1000, 9, 2), |_| false);
            assert!(add(3, 0x1000).is_some(), "of one bucket");
            assert!(add(2, 0x2000).is_none(), "another site");
            let all: Vec<Counts> = table.counts().collect();
            assert_eq!((all.len(), all[0].calls, all[0].amount, all[0].ticks), (1, 2, 5, 9));
        }
        // Kinds may share their first cell, and then one is elsewhere; together with `add` none is lost.
        let full = Table::new(16 * 64, false).unwrap();
        let added = |site: usize| match full.known(key(0, 1), site) {
            Some(cell) => {
                cell.add(untimed(1), false);
                true
            }
            None => full.add(key(0, 1), call(site, 1, 1), |_| false),
        };
        assert!((0..3).all(|_| (1..=16).all(added)));
        assert!(full.counts().all(|counts| counts.calls == 3 && counts.amount == 3));
        assert_eq!((full.counts().count(), full.lost()), (16, 0));
    }

    #[test]
    fn calls_of_one_kind_are_added_up() {
        for shared in [false, true] {
            let table = Table::new(1 << 16, shared).unwrap();
            for (ticks, bytes) in [(10, 4), (7, 5), (30, 6)] {
                assert!(table.add(key(3, bytes), call(0x1000, ticks, bytes), |_| false));
            }
            assert!(table.add(key(3, 8), call(0x1000, 1, 8), |_| false), "another size");
            assert!(table.add(key(3, 4), call(0x2000, 1, 4), |_| false), "another site");
            assert!(!table.add(key(4, 4), call(0x3000, 1, 4), |_| true), "our own");
            let mut all: Vec<Counts> = table.counts().collect();
            all.sort_by_key(|counts| std::cmp::Reverse(counts.calls));
            assert_eq!(all.len(), 4);
            let most = all[0];
            assert_eq!((most.calls, most.ticks, most.amount), (3, 47, 15));
            assert_eq!((most.shortest, most.longest, most.site), (7, 30, 0x1000));
            assert_eq!(all.iter().filter(|counts| counts.own).count(), 1);
            assert_eq!(table.lost(), 0);
        }
    }

    #[test]
    fn what_does_not_fit_is_counted_as_lost() {
        let table = Table::new(16 * 64, false).unwrap();
        for site in 1..=100 {
            assert!(table.add(key(0, 1), call(site, 1, 1), |_| false));
        }
        assert_eq!(table.counts().count(), 16);
        assert_eq!(table.lost(), 84);
    }

    #[test]
    fn threads_lose_nothing() {
        let table = Table::new(1 << 16, true).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..5000 {
                        table.add(key(round % 50, 8), call(7, 2, 8), |_| false);
                    }
                });
            }
        });
        let all: Vec<Counts> = table.counts().collect();
        assert_eq!(all.len(), 50);
        assert!(
            all.iter().all(|counts| counts.calls == 400 && counts.ticks == 800),
            "{all:?}"
        );
    }
}
