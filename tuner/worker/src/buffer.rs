//! Buffers as MPI gets them: aligned to pages, between two zones that nobody may write.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::RefCell;
use std::ptr::NonNull;

use kilter_protocol::fault::{Buffer, Fault, WrongData, Zone};

use crate::clock::SIMULATED;
use crate::problem::Wrong;
use crate::reason::Reason;

/// Alignment of the first byte, and length of the zone before and of the smallest zone after, in bytes.
const PAGE: usize = 4096;

/// Most bytes that a rank keeps for later buffers.
const KEPT_BYTES: usize = 32 << 20;

thread_local! {
    /// Memory of buffers that are gone. Mapping its pages anew takes as long as writing them several times, and the next block has buffers of the same lengths.
    static KEPT: RefCell<Kept> = const { RefCell::new(Kept { memory: Vec::new(), bytes: 0 }) };
}

/// Memory for later buffers, all of it initialised.
#[derive(Debug)]
struct Kept {
    memory: Vec<(NonNull<u8>, Layout)>,
    bytes: usize,
}

impl Kept {
    /// Memory of this layout.
    fn take(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let place = self.memory.iter().rposition(|(_, kept)| *kept == layout)?;
        self.bytes -= layout.size();
        Some(self.memory.swap_remove(place).0)
    }

    /// Keeps memory, if there is room for it. Ranks of a simulation share the memory of one machine, and keep none.
    fn keep(&mut self, memory: NonNull<u8>, layout: Layout) -> bool {
        let has_room = !SIMULATED && self.bytes + layout.size() <= KEPT_BYTES;
        if has_room {
            self.bytes += layout.size();
            self.memory.push((memory, layout));
        }
        has_room
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        for (memory, layout) in self.memory.drain(..) {
            // SAFETY: allocated with this layout in `GuardedBuffer::new`, and nobody else's.
            unsafe { dealloc(memory.as_ptr(), layout) };
        }
    }
}

/// A buffer with guard zones.
#[derive(Debug)]
pub(crate) struct GuardedBuffer {
    memory: NonNull<u8>,
    layout: Layout,
    bytes: usize,
}

impl GuardedBuffer {
    /// Allocates `bytes` bytes of zeros. Every page is written, so that none is mapped for the first time while something is measured.
    pub(crate) fn new(bytes: usize) -> Result<GuardedBuffer, Reason> {
        let no_memory = || Reason::Memory(bytes);
        let total = bytes
            .checked_next_multiple_of(PAGE)
            .and_then(|payload| payload.checked_add(2 * PAGE));
        let layout = total
            .and_then(|total| Layout::from_size_align(total, PAGE).ok())
            .ok_or_else(no_memory)?;
        let memory = match KEPT.with_borrow_mut(|kept| kept.take(layout)) {
            Some(memory) => memory,
            // SAFETY: the layout's size is not zero.
            None => NonNull::new(unsafe { alloc(layout) }).ok_or_else(no_memory)?,
        };
        let mut buffer = GuardedBuffer { memory, layout, bytes };
        // SAFETY: `layout.size()` bytes were allocated.
        unsafe { memory.as_ptr().write_bytes(0, layout.size()) };
        let (before, _, after) = buffer.zones_mut();
        for zone in [before, after] {
            for (i, byte) in zone.iter_mut().enumerate() {
                *byte = guard(i);
            }
        }
        Ok(buffer)
    }

    /// The first byte between the zones; valid for reads and writes of the buffer's length.
    pub(crate) fn pointer(&self) -> *mut u8 {
        // SAFETY: the allocation is longer than the zone before.
        unsafe { self.memory.as_ptr().add(PAGE) }
    }

    /// The payload between the guard zones.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.zones().1
    }

    /// The payload, to be written.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.zones_mut().1
    }

    /// Looks whether the zones are as they were; says which byte is not, counted from the buffer's beginning or end.
    pub(crate) fn check_guards(&self) -> Option<(Zone, Wrong)> {
        let (before, _, after) = self.zones();
        let wrong = |zone: &[u8]| zone.iter().enumerate().position(|(i, byte)| *byte != guard(i));
        if let Some(i) = wrong(after) {
            return Some((
                Zone::Behind,
                Wrong {
                    byte: i,
                    got: after[i],
                    expected: guard(i),
                },
            ));
        }
        wrong(before).map(|i| {
            (
                Zone::Before,
                Wrong {
                    byte: PAGE - i,
                    got: before[i],
                    expected: guard(i),
                },
            )
        })
    }

    fn zones(&self) -> (&[u8], &[u8], &[u8]) {
        // SAFETY: all `layout.size()` bytes are initialised since `new`, and borrowed with `self`.
        let all = unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.layout.size()) };
        let (before, rest) = all.split_at(PAGE);
        let (payload, after) = rest.split_at(self.bytes);
        (before, payload, after)
    }

    fn zones_mut(&mut self) -> (&mut [u8], &mut [u8], &mut [u8]) {
        // SAFETY: all `layout.size()` bytes are initialised (by the caller in `new`), and borrowed with `self`.
        let all = unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), self.layout.size()) };
        let (before, rest) = all.split_at_mut(PAGE);
        let (payload, after) = rest.split_at_mut(self.bytes);
        (before, payload, after)
    }
}

impl Drop for GuardedBuffer {
    fn drop(&mut self) {
        // At the end of the thread there is nobody to keep it for.
        let is_kept = KEPT.try_with(|kept| kept.borrow_mut().keep(self.memory, self.layout));
        if is_kept != Ok(true) {
            // SAFETY: allocated with this layout in `new`.
            unsafe { dealloc(self.memory.as_ptr(), self.layout) };
        }
    }
}

/// Byte `i` of a zone.
fn guard(i: usize) -> u8 {
    (i as u8).wrapping_mul(31) ^ 0xA5
}

/// Looks whether a byte was written beside the buffers of an item.
pub(crate) fn check_guards(rank: usize, send: &GuardedBuffer, recv: &GuardedBuffer) -> Result<(), Fault> {
    for (guarded, buffer) in [(recv, Buffer::Output), (send, Buffer::Input)] {
        if let Some((zone, wrong)) = guarded.check_guards() {
            return Err(Fault::WrongData(wrong_data(rank, (buffer, zone), wrong)));
        }
    }
    Ok(())
}

/// A wrong byte with its place.
pub(crate) fn wrong_data(rank: usize, (buffer, zone): (Buffer, Zone), wrong: Wrong) -> WrongData {
    let Wrong { byte, got, expected } = wrong;
    WrongData {
        rank,
        buffer,
        zone,
        byte,
        got,
        expected,
        slice: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lies_on_a_page_and_has_its_length() {
        for bytes in [0, 1, 4095, 4096, 10_000] {
            let mut buffer = GuardedBuffer::new(bytes).unwrap();
            assert_eq!((buffer.pointer() as usize % PAGE, buffer.bytes().len()), (0, bytes));
            buffer.bytes_mut().fill(0xFF);
            assert_eq!(buffer.check_guards(), None);
        }
        assert!(GuardedBuffer::new(usize::MAX - 5000).is_err());
    }

    #[test]
    fn the_memory_of_one_that_is_gone_serves_the_next_and_is_bounded() {
        let mut first = GuardedBuffer::new(10_000).unwrap();
        let address = first.pointer();
        // SAFETY: within the allocation: the payload, and a byte of the zone behind it.
        unsafe { address.write_bytes(7, 10_001) };
        first.bytes_mut()[0] = 8;
        drop(first);
        let other = GuardedBuffer::new(20_000).unwrap();
        let next = GuardedBuffer::new(10_000).unwrap();
        assert_ne!(other.pointer(), address);
        assert_eq!(next.pointer(), address);
        assert!(next.bytes().iter().all(|byte| *byte == 0) && next.check_guards().is_none());
        let large = GuardedBuffer::new(KEPT_BYTES).unwrap();
        drop(large);
        drop((other, next));
        let kept_bytes = KEPT.with_borrow(|kept| kept.bytes);
        assert!(kept_bytes > 30_000 && kept_bytes < KEPT_BYTES, "{kept_bytes}");
    }

    #[test]
    fn a_byte_written_beside_it_is_found() {
        for bytes in [0_usize, 100, 4096] {
            for (offset, place) in [(-1, Zone::Before), (bytes as isize, Zone::Behind)] {
                let buffer = GuardedBuffer::new(bytes).unwrap();
                // SAFETY: within the allocation.
                unsafe { *buffer.pointer().offset(offset) ^= 1 };
                let (found, wrong) = buffer.check_guards().unwrap();
                assert_eq!((found, wrong.byte), (place, usize::from(offset < 0)));
            }
        }
    }
}
