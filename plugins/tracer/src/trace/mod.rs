//! The trace: every message, completion, probe and collective of a rank, in a file that outlives the process.
//!
//! Each thread has a stream of records in a segment of the file and takes a lock once for each segment, so that no record waits for another thread.
//! `kilter_protocol::trace` has the format.
//!
//! * [`act`]: the effect of a call, as the wrappers say it.
//! * [`event`]: from calls to records.
//! * [`completion`]: which requests a call completed.
//! * [`recorder`]: the records of a call.
//! * [`operations`]: operations that are under way, by their requests. [`by_handle`]: their table.
//! * [`payload`]: elements as the bytes of a message.
//! * [`local`]: a thread's stream and memory.
//! * [`sites`]: numbers of call sites.
//! * [`mod@file`]: the mapped file.

pub(crate) mod act;
mod by_handle;
pub(crate) mod completion;
pub(crate) mod event;
mod file;
pub(crate) mod local;
mod operations;
mod payload;
pub(crate) mod recorder;
mod sites;

use std::io;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use kilter_protocol::trace::EXTENSION;
use kilter_protocol::trace::record::Definition;
use kilter_protocol::trace::space::{Begin, Space};

use crate::clock::{self, Moment};
use crate::communicator::State;
use crate::settings;
use act::{Done, Kind};
use kilter_protocol::calls::{Clock, Reading};
use kilter_protocol::functions::Function;
use operations::Requests;

/// The trace of this rank.
pub(crate) struct Trace {
    space: Space,
    requests: Requests,
    hash_limit: u64,
    /// True if several threads call MPI at the same time.
    shared: bool,
    operations: AtomicU64,
    threads: AtomicU64,
    settings: settings::Trace,
    path: PathBuf,
}

/// The trace while calls are traced, else null.
static ACTIVE: AtomicPtr<Trace> = AtomicPtr::new(std::ptr::null_mut());

/// The trace, while calls are traced.
#[inline(always)]
pub(crate) fn active() -> Option<&'static Trace> {
    // SAFETY: null or what `enable` was given, which lives as long as the process.
    unsafe { ACTIVE.load(Ordering::Acquire).as_ref() }
}

/// Traces calls from now on, or no more. What completes unseen must not be taken for complete later, so that all operations are forgotten then.
pub(crate) fn enable(trace: Option<&'static Trace>) {
    let to = trace.map_or(std::ptr::null_mut(), |trace| std::ptr::from_ref(trace).cast_mut());
    let was = ACTIVE.swap(to, Ordering::AcqRel);
    // SAFETY: as in `active`.
    if let (None, Some(was)) = (trace, unsafe { was.as_ref() }) {
        was.requests.clear();
    }
}

/// Traces nothing more. Operations are not forgotten, for which MPI would have to run.
pub(crate) fn stop() {
    ACTIVE.store(std::ptr::null_mut(), Ordering::SeqCst);
}

/// A rank without a file for its trace.
#[derive(Debug, thiserror::Error)]
#[error("rank {rank}: `{}` cannot be made: {source}; name a directory that every node can write to, on a disk with space", path.display())]
pub(crate) struct NoFile {
    rank: u32,
    path: PathBuf,
    source: io::Error,
}

/// The rank, as its files say it.
pub(crate) struct Identity<'r> {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    pub(crate) process: u32,
    pub(crate) host: &'r str,
    pub(crate) library: &'r str,
    /// True if several threads may call MPI at the same time.
    pub(crate) threads: bool,
}

impl Trace {
    /// Makes the file. The error names it. `first` is a moment before MPI was initialised: two readings of both clocks tell the length of a tick.
    pub(crate) fn new(settings: settings::Trace, identity: &Identity<'_>, first: Moment) -> Result<Trace, NoFile> {
        let host: String = identity
            .host
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c))
            .collect();
        let name = format!("rank-{}.{host}.{}.{EXTENSION}", identity.rank, identity.process);
        let path = settings.directory.join(name);
        let words = file::create(&path, settings.limit).map_err(|source| NoFile {
            rank: identity.rank,
            path: path.clone(),
            source,
        })?;
        let now = Moment::now();
        let real_ns = clock::real_nanoseconds().wrapping_sub(now.nanoseconds().wrapping_sub(first.nanoseconds()));
        let begin = Begin {
            rank: identity.rank,
            ranks: identity.ranks,
            process: identity.process,
            when_full: settings.when_full,
            threads: identity.threads,
            hash_limit: settings.hash_limit as u64,
            first: (first.ticks(), first.nanoseconds(), real_ns),
            begin: now.ticks(),
        };
        let space = Space::new(words, &begin, file::grow);
        space.read_clocks(now.ticks(), now.nanoseconds());
        space.define(&Definition::Host(identity.host.to_owned()));
        space.define(&Definition::Library(identity.library.to_owned()));
        for (number, name) in (0..).zip(Function::NAMES) {
            space.define(&Definition::Function {
                number,
                name: (*name).to_owned(),
            });
        }
        payload::look_for_devices();
        Ok(Trace {
            space,
            requests: Requests::new(identity.threads),
            hash_limit: settings.hash_limit as u64,
            shared: identity.threads,
            operations: AtomicU64::new(0),
            threads: AtomicU64::new(0),
            settings,
            path,
        })
    }

    /// A number for an operation, from 1.
    #[inline]
    fn operation(&self) -> u64 {
        if self.shared {
            return self.operations.fetch_add(1, Ordering::Relaxed) + 1;
        }
        // Nobody else counts; this takes a fraction of the time.
        let next = self.operations.load(Ordering::Relaxed) + 1;
        self.operations.store(next, Ordering::Relaxed);
        next
    }

    /// Defines a communicator, again if it was given a name.
    #[cold]
    pub(crate) fn define(&self, state: &State) {
        state.is_traced.store(true, Ordering::Relaxed);
        self.space.define(&Definition::Communicator {
            number: state.id,
            rank: state.rank,
            size: state.members.count(),
            sequence: state.sequence,
            members: state.members.to_string(),
            remote: state.remote.as_ref().map(ToString::to_string),
            label: state.label.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        });
    }

    /// A call of this kind, where that matters, returned an error: what it was to complete is not known any more.
    pub(crate) fn fail(&self, kind: Option<Kind>) {
        self.space.fail();
        let one = match kind {
            Some(Kind::Completes(Done::One(handle, _))) => Some(handle),
            _ => None,
        };
        for handle in local::of(self).taken().into_iter().chain(one) {
            if let Some(mut pending) = self.requests.forget(handle)
                && let Some(elements) = &mut pending.elements
            {
                elements.free();
            }
        }
    }

    /// Keeps what is known of the rank's clock at the begin.
    pub(crate) fn know_clock(&self, clock: Clock) {
        self.space.define(&Definition::Clock(clock));
    }

    /// Nothing follows. The program ended at `now`, and another clock was read later.
    pub(crate) fn end(&self, rank: u32, now: Moment, clock_at_end: Option<Reading>, finalized: bool) {
        if let Some(reading) = clock_at_end {
            self.space.define(&Definition::ClockAtEnd(reading));
        }
        self.space.read_clocks(now.ticks(), now.nanoseconds());
        file::cut(self.space.end(now.ticks(), finalized));
        if self.space.is_full() && self.settings.when_full == kilter_protocol::trace::WhenFull::Stop {
            kilter_mpi::say(format_args!(
                "warning: trace: rank {rank}: `{}` was full, and the calls after that are not in it; give it more than {} MiB (--limit, {}), or \
                 keep the latest calls (--when-full ring)",
                self.path.display(),
                self.settings.limit >> 20,
                kilter_protocol::trace::LIMIT_VARIABLE
            ));
        }
    }
}
