//! The places at which a thread polled last, with the cells that count its polls there. A program polls in a loop, and its next poll is found without looking
//! for its cell again. Each function has a place of its own: programs test what they receive and what they send in turn.

#[cfg(target_arch = "x86_64")]
use std::mem::offset_of;

use kilter_protocol::functions::Function;

use crate::table::{Cell, Table};

/// Functions that poll.
const FUNCTIONS: usize = 6;

/// The places of a thread, one for each function that polls; zeros at its start.
#[repr(transparent)]
pub(crate) struct Places([Polled; FUNCTIONS]);

/// Place of a function that polls among those of a thread.
#[inline(always)]
const fn place(function: Function) -> usize {
    match function {
        Function::Test => 0,
        Function::Testany => 1,
        Function::Testall => 2,
        Function::Testsome => 3,
        Function::Iprobe => 4,
        _ => FUNCTIONS - 1,
    }
}

impl Places {
    /// At a thread's start.
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) const NONE: Places = Places([Polled::NOWHERE; FUNCTIONS]);

    /// Distance of the place of a function that polls.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const fn distance(function: Function) -> usize {
        place(function) * size_of::<Polled>()
    }

    /// The place of a function that polls.
    #[inline(always)]
    pub(crate) fn of(&mut self, function: Function) -> &mut Polled {
        &mut self.0[place(function)]
    }
}

/// A place at which a thread polls with one function; zeros at its start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Polled {
    /// The call site if polls from there may go the short way, else 0.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "there is no short way"))]
    short: usize,
    site: usize,
    asked: Asked,
    /// Null or a cell of the table, whose memory is never freed; that of the table's sole thread where there is a short way.
    cell: *const Cell,
}

/// What polls of one function and call site ask for, as far as their cells differ by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Number of requests, or the handle of a communicator, as bits.
    pub(crate) bits: usize,
    /// That of communicators, since a handle comes back for another one; 0 for requests.
    pub(crate) generation: u64,
}

impl Polled {
    /// At a thread's start.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    const NOWHERE: Polled = Polled {
        short: 0,
        site: 0,
        asked: Asked { bits: 0, generation: 0 },
        cell: std::ptr::null(),
    };

    /// Keeps the place of a poll, and its cell of this table.
    #[inline]
    pub(crate) fn move_to(&mut self, site: usize, asked: Asked, table: &Table, cell: &'static Cell) {
        *self = Polled {
            short: if table.is_shared() { 0 } else { site },
            site,
            asked,
            cell,
        };
    }

    /// The cell of a poll of the place's function, if this is its place.
    #[inline(always)]
    pub(crate) fn cell(&self, function: Function, site: usize, asked: Asked) -> Option<&'static Cell> {
        let is_here = self.site == site && self.asks_for(function, asked);
        // SAFETY: null, or a cell that lives as long as the process.
        unsafe { self.cell.as_ref() }.filter(|_| is_here)
    }

    /// True if a poll asks for what those of this place ask for.
    #[inline(always)]
    pub(crate) fn asks_for(&self, function: Function, asked: Asked) -> bool {
        let Asked { bits, generation } = asked;
        // A test has one request, and requests have no generation.
        function == Function::Test
            || self.asked.bits == bits && (function.is_test() || self.asked.generation == generation)
    }

    /// Requests of a poll here.
    #[cfg(any(test, target_arch = "x86_64"))]
    fn requests(&self, function: Function) -> u64 {
        match function {
            Function::Test => 1,
            _ if function.is_test() => self.asked.bits as u64,
            _ => 0,
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Polled {
    /// Distances of its parts from the place, for the exported functions: the call site from which polls may go the short way, what they ask for, and their cell.
    pub(crate) const SHORT: usize = offset_of!(Polled, short);
    pub(crate) const BITS: usize = offset_of!(Polled, asked.bits);
    pub(crate) const GENERATION: usize = offset_of!(Polled, asked.generation);
    pub(crate) const CELL: usize = offset_of!(Polled, cell);

    /// Takes a poll of the place's function back that was counted on the short way.
    ///
    /// # Safety
    /// The place has a call site for the short way: then it has a cell, to which this thread alone adds.
    pub(crate) unsafe fn take_back(&self, function: Function) {
        // SAFETY: by this function's contract; cells live as long as the process.
        unsafe { (*self.cell).take_back_untimed(self.requests(function)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: usize = 0x1000;

    /// So many requests, or a message on this communicator.
    fn asked(bits: usize) -> Asked {
        Asked { bits, generation: 0 }
    }

    /// The place of polls of one call, counted in a table for one thread or several.
    fn polled(function: Function, asked: Asked, shared: bool) -> Polled {
        let table = Table::new(1 << 12, shared).unwrap();
        let key = crate::key::Key::new(function, None, 3, 0, 0);
        let ended = crate::table::Ended {
            site: SITE,
            ticks: 5,
            stands_for: 1,
            amount: 3,
        };
        table.add(key, ended, |_| false);
        let mut polled = Polled::NOWHERE;
        polled.move_to(SITE, asked, &table, table.known(key, SITE).unwrap());
        polled
    }

    #[test]
    fn every_function_that_polls_has_a_place_of_its_own() {
        let polls = Function::ALL.iter().filter(|function| function.may_find_nothing());
        let mut places: Vec<usize> = polls.map(|function| place(*function)).collect();
        places.sort_unstable();
        assert_eq!(places, (0..FUNCTIONS).collect::<Vec<usize>>());
    }

    #[test]
    fn a_place_is_known_by_all_that_its_cell_counts() {
        let three = polled(Function::Testany, asked(3), false);
        assert!(three.cell(Function::Testany, SITE, asked(3)).is_some());
        assert!(three.cell(Function::Testany, SITE, asked(2)).is_none());
        assert!(three.cell(Function::Testany, 0x2000, asked(3)).is_none());
        assert_eq!(three.requests(Function::Testany), 3);
        let [world, own] = [asked(7), asked(8)];
        let mut on_world = polled(Function::Iprobe, world, false);
        assert!(on_world.cell(Function::Iprobe, SITE, world).is_some());
        assert!(on_world.cell(Function::Iprobe, SITE, own).is_none());
        assert_eq!(on_world.requests(Function::Iprobe), 0);
        on_world.asked.generation += 1;
        assert!(
            on_world.cell(Function::Iprobe, SITE, world).is_none(),
            "a handle that came back"
        );
        assert!(Polled::NOWHERE.cell(Function::Test, 0, asked(1)).is_none());
    }

    #[test]
    fn polls_go_the_short_way_where_one_thread_counts() {
        assert_eq!(polled(Function::Test, asked(1), false).short, SITE);
        let shared = polled(Function::Test, asked(1), true);
        assert_eq!(shared.short, 0);
        assert!(shared.cell(Function::Test, SITE, asked(1)).is_some());
    }
}
