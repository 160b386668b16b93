//! The file of a rank. It gets its name when it is complete.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use kilter_protocol::calls::{
    self, Calls, Communicator, EXTENSION, End, Line, Messages, Rank, Reading, Received, Samples, Sampling, Site,
};

use crate::clock::Moment;
use crate::communicator::{self, State};
use crate::datatype;
use crate::site::{self, Place};
use crate::start::{self, Tracer};
use crate::table::Counts;
use kilter_protocol::functions::Function;

/// A file that cannot be written.
#[derive(Debug)]
pub(crate) struct WriteError {
    path: PathBuf,
    source: io::Error,
}

impl std::fmt::Display for WriteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "`{}` cannot be written: {}; its calls are lost (name a directory that every node can write to)",
            self.path.display(),
            self.source
        )
    }
}

/// Writes the counts of this rank into its directory; the file.
pub(crate) fn write(tracer: &Tracer, counts: &start::Counts, finalized: bool) -> Result<PathBuf, WriteError> {
    let host: String = tracer
        .host
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c))
        .collect();
    let name = format!("rank-{}.{host}.{}.{EXTENSION}", tracer.rank, tracer.process);
    let path = counts.directory.join(&name);
    let part = counts.directory.join(format!("{name}.part"));
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| WriteError { path, source }
    };
    let file = File::create(&part).map_err(failed(&part))?;
    let mut out = BufWriter::new(file);
    lines((tracer, counts), finalized, &mut out).map_err(failed(&part))?;
    out.flush().map_err(failed(&part))?;
    drop(out);
    std::fs::rename(&part, &path).map_err(failed(&path))?;
    Ok(path)
}

/// Adds what was learnt when the file was there already.
pub(crate) fn append(file: &Path, clock_at_end: Option<Reading>) -> Result<(), WriteError> {
    let Some(reading) = clock_at_end else { return Ok(()) };
    let failed = |source| WriteError {
        path: file.to_owned(),
        source,
    };
    let mut line = Vec::new();
    put(&mut line, &Line::ClockAtEnd(reading)).map_err(failed)?;
    // In one piece: a file that ends within a line is refused.
    let mut open = OpenOptions::new().append(true).open(file).map_err(failed)?;
    open.write_all(&line).map_err(failed)
}

fn lines((tracer, all): (&Tracer, &start::Counts), finalized: bool, out: &mut impl Write) -> io::Result<()> {
    let end = Moment::careful();
    let seconds_of_tick = end.seconds_of_tick(tracer.begin);
    let clock = tracer.clock.as_ref().filter(|_| all.samples.interval() > 0);
    put(
        out,
        &Line::Rank(Rank {
            v: calls::VERSION,
            rank: tracer.rank,
            ranks: tracer.ranks,
            host: tracer.host.clone(),
            process: tracer.process,
            library: tracer.library.clone(),
            seconds: end.seconds_since(tracer.begin),
            finalized,
            sampling: clock.map(|clock| Sampling {
                interval: all.samples.interval(),
                halvings: all.samples.halvings(),
                clock: clock.known(),
            }),
        }),
    )?;
    for state in communicator::all() {
        put(out, &Line::Communicator(described(state)))?;
    }
    let mut sites = Sites::default();
    let mut cells = HashMap::new();
    for (line, counts) in all.table.counts().filter(|counts| !counts.own).enumerate() {
        cells.insert((counts.key.bits(), counts.site), line);
        let (site, new) = sites.number(counts.site);
        if let Some(line) = new {
            put(out, &Line::Site(line))?;
        }
        put(out, &Line::Calls(calls_of(counts, site, seconds_of_tick)))?;
    }
    for counts in all.receives.counts() {
        let Some(from) = counts.key.sender() else { continue };
        let (site, new) = sites.number(counts.site);
        if let Some(line) = new {
            put(out, &Line::Site(line))?;
        }
        put(
            out,
            &Line::Received(Received {
                from,
                function: Function::name_of(counts.key.function()).to_owned(),
                site,
                calls: counts.calls,
                seconds: counts.ticks as f64 * seconds_of_tick,
                bytes: counts.amount,
            }),
        )?;
    }
    for samples in samples(all, &cells, (tracer.begin, seconds_of_tick)).into_values() {
        put(out, &Line::Samples(samples))?;
    }
    for (to, messages, bytes) in all.messages.messages() {
        put(out, &Line::Messages(Messages { to, messages, bytes }))?;
    }
    put(
        out,
        &Line::End(End {
            lost_calls: all.table.lost(),
            lost_messages: all.messages.lost(),
            lost_receives: all.receives.lost(),
            failed_calls: tracer.failed.load(Ordering::Relaxed),
        }),
    )
}

/// The samples by the lines of their calls. Those whose kind did not fit into the table are lost with it.
fn samples(
    all: &start::Counts,
    cells: &HashMap<(u64, usize), usize>,
    (begin, seconds_of_tick): (Moment, f64),
) -> BTreeMap<usize, Samples> {
    let nanoseconds = |ticks: u64| (ticks as f64 * seconds_of_tick * 1e9).round() as u64;
    let mut lines: BTreeMap<usize, Samples> = BTreeMap::new();
    for sample in all.samples.all() {
        let Some(of) = cells.get(&(sample.key.bits(), sample.site)) else {
            continue;
        };
        let line = lines.entry(*of).or_insert_with(|| Samples {
            of: *of,
            ..Samples::default()
        });
        if sample.is_root {
            line.as_root.push(line.numbers.len());
        }
        let since = nanoseconds(sample.begin_ticks.wrapping_sub(begin.ticks()));
        line.numbers.push(sample.number);
        line.begins_ns.push(begin.nanoseconds().wrapping_add(since));
        line.took_ns.push(nanoseconds(sample.took_ticks));
    }
    lines
}

fn put(out: &mut impl Write, line: &Line) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

fn described(state: &State) -> Communicator {
    Communicator {
        id: state.id,
        size: state.members.count(),
        members: state.members.to_string(),
        remote: state.remote.as_ref().map(ToString::to_string),
        sequence: state.sequence,
        label: state.label.lock().unwrap_or_else(PoisonError::into_inner).clone(),
    }
}

fn calls_of(counts: Counts, site: Option<u32>, seconds_of_tick: f64) -> Calls {
    let function = Function::name_of(counts.key.function());
    let has_requests = Function::named(function).is_some_and(Function::counts_requests);
    let seconds = |ticks: u64| ticks as f64 * seconds_of_tick;
    Calls {
        communicator: counts.key.communicator(),
        function: function.to_owned(),
        site,
        bucket: if has_requests { 0 } else { counts.key.bucket() },
        datatype: datatype::class_name(counts.key.class()).map(str::to_owned),
        operator: datatype::operator_name(counts.key.operator()).map(str::to_owned),
        calls: counts.calls,
        seconds: seconds(counts.ticks),
        shortest: seconds(counts.shortest),
        longest: seconds(counts.longest),
        bytes: if has_requests { 0 } else { counts.amount },
        requests: if has_requests { counts.amount } else { 0 },
    }
}

/// Numbers of the call sites. Addresses in one place have one number.
#[derive(Default)]
struct Sites {
    by_address: BTreeMap<usize, u32>,
    by_place: BTreeMap<Place, u32>,
}

impl Sites {
    /// Number of an address, with its line if the place is new.
    fn number(&mut self, address: usize) -> (Option<u32>, Option<Site>) {
        if address == 0 {
            return (None, None);
        }
        if let Some(number) = self.by_address.get(&address) {
            return (Some(*number), None);
        }
        let place = site::place(address);
        let next = u32::try_from(self.by_place.len()).unwrap_or(u32::MAX);
        let number = *self.by_place.entry(place.clone()).or_insert(next);
        self.by_address.insert(address, number);
        let line = (number == next).then_some(Site {
            id: number,
            module: place.module,
            offset: place.offset,
            symbol: place.symbol,
        });
        (Some(number), line)
    }
}
