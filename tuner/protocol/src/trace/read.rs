//! The reader.

use std::collections::BTreeMap;

use super::layout::{self, HEADER_BYTES, SEGMENT_BYTES, header, segment};
use super::record::{Call, Definition, First, Part, kind};
use super::{VERSION, WhenFull};
use crate::calls;

/// Bytes that are no trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {message}")]
pub struct ReadError {
    /// Place of the mistake.
    pub offset: usize,
    /// The mistake in words.
    pub message: String,
}

/// The trace of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankTrace {
    /// Content of the header.
    pub header: Header,
    /// Name of the node.
    pub host: String,
    /// First line of `MPI_Get_library_version`.
    pub library: String,
    /// Names of functions by their numbers.
    pub functions: BTreeMap<u8, String>,
    /// Communicators by their numbers.
    pub communicators: BTreeMap<u32, Definition>,
    /// Call sites by their numbers.
    pub sites: BTreeMap<u32, Definition>,
    /// Calls of each thread in their order.
    pub threads: Vec<Vec<Event>>,
    /// Parts whose calls were overwritten.
    pub orphans: u64,
    /// The rank's clock beside those of others; none where clocks were not compared.
    pub clock: Option<calls::Clock>,
    /// The other clock at the end of the program.
    pub clock_at_end: Option<calls::Reading>,
}

/// A call with its parts. Times are nanoseconds of the rank's monotonic clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Number of the function.
    pub function: u8,
    /// Number of the communicator.
    pub communicator: Option<u32>,
    /// Begin.
    pub begin_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Number of the call site.
    pub site: Option<u32>,
    /// Calls after each other that found nothing; 0 for one call that did something.
    pub polls: u32,
    /// Its parts.
    pub parts: Vec<Part>,
    /// Parts that are not in the file.
    pub lost_parts: u32,
}

/// The header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
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
    /// Bytes that the file may have.
    pub limit: u64,
    /// Bytes of a payload that are hashed at most.
    pub hash_limit: u64,
    /// Nanoseconds since 1970 at 0 of the monotonic clock.
    pub epoch_ns: i64,
    /// End of `MPI_Init`, in nanoseconds of the monotonic clock.
    pub begin_ns: u64,
    /// Call of `MPI_Finalize`, or end of the process; none if it was killed.
    pub end_ns: Option<u64>,
    /// True if `MPI_Finalize` was called.
    pub finalized: bool,
    /// Calls for which there was no space, or that were overwritten.
    pub lost_calls: u64,
    /// Definitions for which there was no space.
    pub lost_definitions: u64,
    /// Calls that returned an error.
    pub failed_calls: u64,
}

/// From ticks to nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Clock {
    ticks: u64,
    nanoseconds: u64,
    per_tick: f64,
}

impl Clock {
    fn nanoseconds(self, ticks: u64) -> u64 {
        // A moment before the first reading is put at it.
        let passed = ticks.saturating_sub(self.ticks) as f64 * self.per_tick;
        self.nanoseconds.saturating_add(passed as u64)
    }
}

struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn word(&self, at: usize) -> Option<u64> {
        let bytes = self.0.get(at..at.checked_add(8)?)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }
}

/// Reads a file.
pub fn read(bytes: &[u8]) -> Result<RankTrace, ReadError> {
    let wrong = |offset, message: String| ReadError { offset, message };
    let bytes = Bytes(bytes);
    let word = |at: usize| {
        bytes
            .word(at * 8)
            .ok_or_else(|| wrong(at * 8, "the file ends within its header".to_owned()))
    };
    let magic = word(header::MAGIC)?;
    if magic != layout::magic(VERSION) {
        let is_trace = magic & 0xffff_ffff_ffff == layout::magic(0);
        return Err(wrong(
            0,
            if is_trace {
                format!("version {} of the format, and {VERSION} is read", magic >> 48)
            } else {
                "this is no trace of Kilter's".to_owned()
            },
        ));
    }
    let clock = clock(&word)?;
    let header = head(&word, clock)?;
    let mut segments = Vec::new();
    let used = usize::try_from(word(header::SEGMENTS)?).unwrap_or(usize::MAX);
    // More segments than the file has are no reason to look for all of them.
    for number in 0..used {
        let begin = number
            .checked_mul(SEGMENT_BYTES)
            .and_then(|at| at.checked_add(HEADER_BYTES));
        let found = begin.and_then(|begin| Some((begin, bytes.0.get(begin..begin.checked_add(SEGMENT_BYTES)?)?)));
        let Some((begin, content)) = found else {
            return Err(wrong(
                bytes.0.len(),
                format!("the file ends before segment {number} of {used}"),
            ));
        };
        let content = Bytes(content);
        let sequence = content.word(segment::SEQUENCE * 8).unwrap_or(0);
        let owner = content.word(segment::OWNER * 8).unwrap_or(0);
        if sequence > 0 {
            segments.push((sequence, owner, begin));
        }
    }
    segments.sort_unstable();
    let mut trace = RankTrace {
        header,
        host: String::new(),
        library: String::new(),
        functions: BTreeMap::new(),
        communicators: BTreeMap::new(),
        sites: BTreeMap::new(),
        threads: Vec::new(),
        orphans: 0,
        clock: None,
        clock_at_end: None,
    };
    let mut threads: BTreeMap<u64, Vec<Event>> = BTreeMap::new();
    for (_, owner, begin) in segments {
        for (offset, words) in records(&bytes, begin)? {
            let known = match First::of(words.first().copied().unwrap_or(0)).kind {
                kind::CALL | kind::POLLS if owner != segment::DEFINITIONS => {
                    Call::of(&words).map(|call| threads.entry(owner).or_default().push(event(&call, clock)))
                }
                kind::PART if owner != segment::DEFINITIONS => {
                    Part::of(&words).map(|part| match threads.entry(owner).or_default().last_mut() {
                        Some(event) if event.polls > 0 && event.parts.is_empty() => event.parts.push(part),
                        Some(event) if event.lost_parts > 0 => {
                            event.lost_parts -= 1;
                            event.parts.push(part);
                        }
                        _ => trace.orphans += 1,
                    })
                }
                _ if owner == segment::DEFINITIONS => Definition::of(&words).map(|one| trace.define(one)),
                _ => None,
            };
            if known.is_none() {
                return Err(wrong(offset, "this is no record".to_owned()));
            }
        }
    }
    trace.threads = threads.into_values().collect();
    Ok(trace)
}

/// Records of a segment with their places.
fn records(bytes: &Bytes<'_>, begin: usize) -> Result<Vec<(usize, Vec<u64>)>, ReadError> {
    let end = begin + SEGMENT_BYTES;
    let mut at = begin + segment::RECORDS * 8;
    let mut all = Vec::new();
    while at < end {
        let first = bytes.word(at).unwrap_or(0);
        if first == 0 {
            break;
        }
        let length = usize::from(First::of(first).words) * 8;
        if length == 0 || at + length > end {
            return Err(ReadError {
                offset: at,
                message: "a record with a wrong length".to_owned(),
            });
        }
        let words = (at..at + length).step_by(8).filter_map(|at| bytes.word(at)).collect();
        all.push((at, words));
        at += length;
    }
    Ok(all)
}

fn event(call: &Call, clock: Clock) -> Event {
    Event {
        function: call.function,
        communicator: call.communicator.checked_sub(1),
        begin_ns: clock.nanoseconds(call.begin),
        end_ns: clock.nanoseconds(call.end),
        site: call.site.checked_sub(1),
        polls: call.polls,
        parts: Vec::new(),
        lost_parts: call.parts,
    }
}

fn clock(word: &impl Fn(usize) -> Result<u64, ReadError>) -> Result<Clock, ReadError> {
    let (ticks, nanoseconds) = (word(header::FIRST_TICKS)?, word(header::FIRST_NS)?);
    let at = header::LATER + if word(header::READINGS)? % 2 == 1 { 0 } else { 2 };
    let (later_ticks, later_nanoseconds) = (word(at)?, word(at + 1)?);
    let passed = later_ticks.saturating_sub(ticks);
    let per_tick = if passed == 0 {
        1.0
    } else {
        later_nanoseconds.saturating_sub(nanoseconds) as f64 / passed as f64
    };
    Ok(Clock {
        ticks,
        nanoseconds,
        per_tick,
    })
}

fn head(word: &impl Fn(usize) -> Result<u64, ReadError>, clock: Clock) -> Result<Header, ReadError> {
    let low = |word: u64| word as u32;
    let (rank, process) = (word(header::RANK)?, word(header::PROCESS)?);
    let end = word(header::END)?;
    Ok(Header {
        rank: low(rank),
        ranks: low(rank >> 32),
        process: low(process),
        when_full: if process & header::RING == 0 {
            WhenFull::Stop
        } else {
            WhenFull::Ring
        },
        threads: process & header::THREADS != 0,
        limit: word(header::LIMIT)?,
        hash_limit: word(header::HASH_LIMIT)?,
        epoch_ns: word(header::FIRST_REAL_NS)?
            .wrapping_sub(word(header::FIRST_NS)?)
            .cast_signed(),
        begin_ns: clock.nanoseconds(word(header::BEGIN)?),
        end_ns: (end != 0).then(|| clock.nanoseconds(end)),
        finalized: word(header::FINALIZED)? != 0,
        lost_calls: word(header::LOST_CALLS)?,
        lost_definitions: word(header::LOST_DEFINITIONS)?,
        failed_calls: word(header::FAILED_CALLS)?,
    })
}

impl RankTrace {
    fn define(&mut self, definition: Definition) {
        match definition {
            Definition::Function { number, name } => {
                self.functions.insert(number, name);
            }
            Definition::Site { number, .. } => {
                self.sites.insert(number, definition);
            }
            Definition::Communicator { number, .. } => {
                self.communicators.insert(number, definition);
            }
            Definition::Host(host) => self.host = host,
            Definition::Library(library) => self.library = library,
            Definition::Clock(clock) => self.clock = Some(clock),
            Definition::ClockAtEnd(reading) => self.clock_at_end = Some(reading),
        }
    }

    /// Name of a function.
    #[must_use]
    pub fn function(&self, number: u8) -> &str {
        self.functions.get(&number).map_or("MPI_?", String::as_str)
    }
}

#[cfg(test)]
mod tests;
