//! The writer: segments of a file that lies in memory, and streams of records in them.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::layout::{HEADER_BYTES, HEADER_WORDS, SEGMENT_BYTES, SEGMENT_WORDS, header, segment};
use super::record::{CALL_WORDS, Call, Definition, Part, Plain, Role, form, set};
use super::{VERSION, WhenFull, layout};

/// Words in memory; little-endian in the file.
pub type Words = [AtomicU64];

#[inline]
fn store(words: &Words, at: usize, value: u64, order: Ordering) {
    if let Some(word) = words.get(at) {
        word.store(value.to_le(), order);
    }
}

#[inline]
fn load(words: &Words, at: usize) -> u64 {
    words
        .get(at)
        .map_or(0, |word| u64::from_le(word.load(Ordering::Acquire)))
}

/// Content of the header that is known from the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begin {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Size of `MPI_COMM_WORLD`.
    pub ranks: u32,
    /// Process number.
    pub process: u32,
    /// Behaviour of a full file.
    pub when_full: WhenFull,
    /// True if several threads may call MPI at the same time.
    pub threads: bool,
    /// Bytes of a payload that are hashed at most.
    pub hash_limit: u64,
    /// Ticks, nanoseconds of the monotonic clock, and nanoseconds since 1970 at one moment.
    pub first: (u64, u64, u64),
    /// Ticks now.
    pub begin: u64,
}

/// A file in memory.
pub struct Space {
    words: &'static Words,
    /// Makes the file so many bytes long; false if the disk is full.
    grow: fn(usize) -> bool,
    when_full: WhenFull,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Segments in use.
    used: usize,
    sequence: u64,
    /// True once the file cannot grow any more.
    full: bool,
    /// Full segments with calls, the oldest first.
    closed: VecDeque<usize>,
    definitions: Option<Stream>,
    readings: u64,
}

/// Records of one thread, or definitions.
pub struct Stream {
    words: &'static Words,
    /// Number of the segment.
    number: usize,
    /// Next word.
    at: usize,
    calls: u64,
    /// First word of the latest record, if it is of calls that found nothing.
    polls: Option<usize>,
}

impl Space {
    /// Writes the header of a file, whose memory has the size that the file may have, and of which `HEADER_BYTES` are there.
    #[must_use]
    pub fn new(words: &'static Words, begin: &Begin, grow: fn(usize) -> bool) -> Space {
        let put = |at, value| store(words, at, value, Ordering::Relaxed);
        let (ticks, ns, real_ns) = begin.first;
        put(header::RANK, u64::from(begin.rank) | u64::from(begin.ranks) << 32);
        let mut process = u64::from(begin.process);
        if begin.when_full == WhenFull::Ring {
            process |= header::RING;
        }
        if begin.threads {
            process |= header::THREADS;
        }
        put(header::PROCESS, process);
        put(header::LIMIT, words.len() as u64 * 8);
        put(header::HASH_LIMIT, begin.hash_limit);
        put(header::FIRST_TICKS, ticks);
        put(header::FIRST_NS, ns);
        put(header::FIRST_REAL_NS, real_ns);
        put(header::BEGIN, begin.begin);
        store(words, header::MAGIC, layout::magic(VERSION), Ordering::Release);
        Space {
            words,
            grow,
            when_full: begin.when_full,
            state: Mutex::default(),
        }
    }

    /// A segment for a thread, whose number is from 1; `None` if there is no space.
    pub fn stream(&self, thread: u64) -> Option<Stream> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.take(&mut state, thread)
    }

    fn take(&self, state: &mut State, owner: u64) -> Option<Stream> {
        let number = self.fresh(state).or_else(|| self.overwritten(state))?;
        let at = HEADER_WORDS + number * SEGMENT_WORDS;
        let words = self.words.get(at..at + SEGMENT_WORDS)?;
        state.sequence += 1;
        store(words, segment::OWNER, owner, Ordering::Relaxed);
        store(words, segment::SEQUENCE, state.sequence, Ordering::Release);
        if number >= state.used {
            state.used = number + 1;
            store(self.words, header::SEGMENTS, state.used as u64, Ordering::Release);
        }
        Some(Stream {
            words,
            number,
            at: segment::RECORDS,
            calls: 0,
            polls: None,
        })
    }

    /// A segment that was never used.
    fn fresh(&self, state: &mut State) -> Option<usize> {
        let end = HEADER_BYTES + (state.used + 1) * SEGMENT_BYTES;
        if state.full || end > self.words.len() * 8 || !(self.grow)(end) {
            state.full = true;
            return None;
        }
        Some(state.used)
    }

    /// The oldest segment, emptied.
    fn overwritten(&self, state: &mut State) -> Option<usize> {
        if self.when_full == WhenFull::Stop {
            return None;
        }
        let number = state.closed.pop_front()?;
        let at = HEADER_WORDS + number * SEGMENT_WORDS;
        let words = self.words.get(at..at + SEGMENT_WORDS)?;
        self.lose(load(words, segment::CALLS));
        // Free, until it has its new number and no record.
        for at in [segment::SEQUENCE, segment::CALLS, segment::RECORDS] {
            store(words, at, 0, Ordering::Release);
        }
        Some(number)
    }

    /// Says that a stream gets no more records.
    pub fn close(&self, stream: &Stream) {
        store(stream.words, segment::CALLS, stream.calls, Ordering::Release);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed.push_back(stream.number);
    }

    /// Writes a definition. One for which there is no space is counted.
    pub fn define(&self, definition: &Definition) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let words = definition.words();
        let written = words.is_some_and(|words| {
            for _ in 0..2 {
                if state.definitions.as_mut().is_some_and(|stream| stream.put(&words)) {
                    return true;
                }
                let Some(stream) = self.take(&mut state, segment::DEFINITIONS) else {
                    return false;
                };
                state.definitions = Some(stream);
            }
            false
        });
        if !written {
            self.add(header::LOST_DEFINITIONS, 1);
        }
    }

    /// Counts calls that are not in the file.
    pub fn lose(&self, calls: u64) {
        self.add(header::LOST_CALLS, calls);
    }

    /// Counts a call that returned an error.
    pub fn fail(&self) {
        self.add(header::FAILED_CALLS, 1);
    }

    fn add(&self, at: usize, number: u64) {
        if let Some(word) = self.words.get(at) {
            // Also right where the file's order of bytes is not the machine's.
            let _ = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| {
                Some(u64::from_le(old).wrapping_add(number).to_le())
            });
        }
    }

    /// Keeps a reading of both clocks.
    pub fn read_clocks(&self, ticks: u64, nanoseconds: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.readings += 1;
        let at = header::LATER + if state.readings % 2 == 1 { 0 } else { 2 };
        store(self.words, at, ticks, Ordering::Relaxed);
        store(self.words, at + 1, nanoseconds, Ordering::Relaxed);
        store(self.words, header::READINGS, state.readings, Ordering::Release);
    }

    /// True if there was no space at some time.
    pub fn is_full(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).full
    }

    /// Says that nothing follows. Returns the bytes of the file that are in use.
    pub fn end(&self, ticks: u64, finalized: bool) -> usize {
        store(self.words, header::FINALIZED, u64::from(finalized), Ordering::Relaxed);
        store(self.words, header::END, ticks, Ordering::Release);
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        HEADER_BYTES + state.used * SEGMENT_BYTES
    }
}

/// Words in a line of the cache, and how far ahead of a record lines are fetched: a dozen records.
#[cfg(target_arch = "x86_64")]
const LINE_WORDS: usize = 8;
#[cfg(target_arch = "x86_64")]
const AHEAD_WORDS: usize = 128;

impl Stream {
    /// Places for the words of a record: the first, and the others. `None` if it does not fit.
    #[inline(always)]
    fn places(&self, length: usize) -> Option<(&'static AtomicU64, &'static Words)> {
        let words = self.words;
        words.get(self.at..self.at + length)?.split_first()
    }

    /// Ends a record of so many words, of which all but the first are written. The word behind the record becomes 0, and then the first one is written: a
    /// reader that finds it finds the whole record.
    #[inline(always)]
    fn end(&mut self, length: usize, first: &AtomicU64, word: u64) {
        self.at += length;
        store(self.words, self.at, 0, Ordering::Relaxed);
        first.store(word.to_le(), Ordering::Release);
        self.look_ahead();
    }

    /// Has the lines of the cache fetched into which further records will come. A ring is longer than the caches that are near, and each of its pages is new
    /// to the processor: without this a record of three calls waits 14 ns for its lines.
    #[inline(always)]
    fn look_ahead(&self) {
        #[cfg(target_arch = "x86_64")]
        for line in [0, LINE_WORDS] {
            let ahead = self.words.as_ptr().wrapping_add(self.at + AHEAD_WORDS + line);
            // SAFETY: a hint, of any address.
            unsafe { x86_64::_mm_prefetch::<{ x86_64::_MM_HINT_ET0 }>(ahead.cast()) };
        }
    }

    /// Puts a record; false if it does not fit.
    #[inline]
    fn put(&mut self, record: &[u64]) -> bool {
        let (Some((place, places)), Some((first, rest))) = (self.places(record.len()), record.split_first()) else {
            return false;
        };
        set(places, rest);
        self.end(record.len(), place, *first);
        true
    }

    /// Puts a call; false if it does not fit.
    #[inline]
    pub fn call(&mut self, call: &Call) -> bool {
        let is_put = self.put(&call.words());
        if is_put {
            self.calls += 1;
            self.polls = (call.polls > 0).then_some(self.at - CALL_WORDS);
        }
        is_put
    }

    /// Puts a call and its only part; false if both do not fit. They come together: a process that is killed leaves both or none.
    #[inline(always)]
    pub fn call_with(&mut self, call: &Call, role: Role, part: &Plain) -> bool {
        // The length tells how many places there are, so that words are stored without a question for every one.
        let length = role.words();
        let Some((place, places)) = self.places(CALL_WORDS + length) else {
            return false;
        };
        let [first, rest @ ..] = call.words();
        let (of_call, of_part) = places.split_at(rest.len());
        set(of_call, &rest);
        if let [first_of_part, of_part @ ..] = of_part {
            let (word, _) = part.put((role, form::NONE), length, of_part);
            first_of_part.store(word.to_le(), Ordering::Relaxed);
        }
        self.end(CALL_WORDS + length, place, first);
        self.calls += 1;
        self.polls = None;
        true
    }

    /// Adds one more call that found nothing to the latest record, and the call's begin. False if that record is not of such calls, or has no room for
    /// one more in its number.
    #[inline(always)]
    pub fn poll(&mut self, begin: u64) -> bool {
        /// A call in the record's last word, whose upper half is their number.
        const ONE: u64 = 1 << 32;
        let Some(at) = self.polls else { return false };
        let Some([_, _, end, count]) = self.words.get(at..at + CALL_WORDS) else {
            return false;
        };
        let Some(more) = u64::from_le(count.load(Ordering::Relaxed)).checked_add(ONE) else {
            return false;
        };
        end.store(begin.to_le(), Ordering::Relaxed);
        count.store(more.to_le(), Ordering::Relaxed);
        true
    }

    /// Puts a part of the latest call; false if it does not fit.
    pub fn part(&mut self, part: &Part) -> bool {
        let length = part.length();
        let Some((place, places)) = self.places(length) else {
            return false;
        };
        let first = part.put(length, places);
        self.further(part.role, length, place, first);
        true
    }

    /// The same of a part without blocks, pieces and chunks.
    #[inline]
    pub fn plain(&mut self, role: Role, part: &Plain) -> bool {
        let length = role.words();
        let Some((place, places)) = self.places(length) else {
            return false;
        };
        let (first, _) = part.put((role, form::NONE), length, places);
        self.further(role, length, place, first);
        true
    }

    /// Ends a part. Behind one that does not say what calls looked for, the next call that finds nothing has a record of its own.
    #[inline(always)]
    fn further(&mut self, role: Role, length: usize, place: &AtomicU64, first: u64) {
        self.end(length, place, first);
        if role != Role::Asked {
            self.polls = None;
        }
    }
}
