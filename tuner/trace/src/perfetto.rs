//! Export to the Perfetto viewer, and to `chrome://tracing`: JSON in the *Trace Event Format* (Google, 2016), with a process for each rank, a slice for
//! each call, and an arrow for each message.
//!
//! Numbers of processes and threads begin at 1: 0 is that of an idle processor to the viewer, which shows it otherwise or joins it with the next thread
//! (google/perfetto, issues 394 and 560). A thread's number is that of no thread of another rank, since names of threads are found by it alone.
//!
//! The viewer lets an arrow begin at whichever of its two slices begins first (`FlowTracker::End` in its sources), and a receive that waits begins before
//! the send. So an arrow joins two short slices of its own within the calls: one at the begin of the send, one at the end of the receive.

use std::collections::{BTreeSet, HashSet};
use std::io::{self, Write};

use kilter_protocol::trace::record::Role;
use serde_json::{Value, json};

use crate::events;
use crate::matching::{Matches, Place};
use crate::trace::{Event, Rank, Trace};

/// Writes the file.
pub fn write(trace: &Trace, matches: &Matches, out: &mut impl Write) -> io::Result<()> {
    let mut list = List { out, first: true };
    let numbers = Numbers::of(trace);
    list.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
    for rank in &trace.ranks {
        let name = format!("rank {} ({})", rank.rank, rank.host);
        let (process, _) = numbers.of_thread(rank, 0);
        list.put(&json!({"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}))?;
        list.put(&json!({"ph": "M", "name": "process_sort_index", "pid": process, "args": {"sort_index": rank.rank}}))?;
        let threads: BTreeSet<u32> = rank.events.iter().map(|event| event.thread).collect();
        for number in threads {
            let (process, thread) = numbers.of_thread(rank, number);
            let name = format!("thread {number}");
            list.put(
                &json!({"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": {"name": name}}),
            )?;
        }
        for event in &rank.events {
            list.put(&slice(trace, rank, event, &numbers))?;
        }
    }
    let mut marked = HashSet::new();
    for (number, message) in matches.messages.iter().enumerate() {
        for (place, role) in [(message.send, Role::Send), (message.receive, Role::Received)] {
            let Some(end) = End::of(trace, place, role, &numbers) else {
                continue;
            };
            // Messages of one call share its mark.
            if marked.insert((place.rank, place.event, role as u8)) {
                list.put(&end.mark())?;
            }
            list.put(&end.arrow(number))?;
        }
    }
    list.out.write_all(b"\n]}\n")?;
    list.out.flush()
}

struct List<'o, W> {
    out: &'o mut W,
    first: bool,
}

impl<W: Write> List<'_, W> {
    fn put(&mut self, value: &Value) -> io::Result<()> {
        if !self.first {
            self.out.write_all(b",\n")?;
        }
        self.first = false;
        serde_json::to_writer(&mut *self.out, value)?;
        Ok(())
    }
}

/// Numbers of processes and threads in the file.
struct Numbers {
    processes: u64,
}

impl Numbers {
    fn of(trace: &Trace) -> Numbers {
        let last = trace.ranks.iter().map(|rank| u64::from(rank.rank)).max();
        Numbers {
            processes: last.map_or(0, |last| last + 1),
        }
    }

    /// Process and thread. A rank's first thread has the number of its process.
    fn of_thread(&self, rank: &Rank, thread: u32) -> (u64, u64) {
        let process = u64::from(rank.rank) + 1;
        (process, process + u64::from(thread) * self.processes)
    }
}

/// Microseconds, as the format wants them. The nearest number to three decimals is written with no more than these.
fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}

/// Length of an event; the viewer does not show, and binds no arrow to, what takes no time.
fn length(event: &Event) -> u64 {
    event.end_ns.saturating_sub(event.begin_ns).max(1)
}

fn slice(trace: &Trace, rank: &Rank, event: &Event, numbers: &Numbers) -> Value {
    let (process, thread) = numbers.of_thread(rank, event.thread);
    let mut arguments = serde_json::Map::new();
    if let Some(communicator) = trace.communicator(event, None) {
        arguments.insert("communicator".to_owned(), communicator.name.clone().into());
    }
    if let Some(site) = event.site.and_then(|at| trace.sites.get(at)) {
        arguments.insert("site".to_owned(), site.place().into());
    }
    if event.polls > 0 {
        arguments.insert("found nothing".to_owned(), event.polls.into());
    }
    for (at, part) in event.parts.iter().enumerate() {
        arguments.insert((at + 1).to_string(), events::words(trace, event, part).into());
    }
    json!({
        "ph": "X",
        "cat": "mpi",
        "name": trace.function(event),
        "pid": process,
        "tid": thread,
        "ts": microseconds(event.begin_ns),
        "dur": microseconds(length(event)),
        "args": arguments,
    })
}

/// Nanoseconds of the slice at an end of an arrow: the least that the viewer binds an arrow to.
const MARK: u64 = 1;

/// An end of an arrow.
struct End {
    role: Role,
    process: u64,
    thread: u64,
    begin_ns: u64,
}

impl End {
    /// That of a send is its begin, that of a receive, or of its completion, the last nanosecond: the end itself may belong to the next call.
    fn of(trace: &Trace, place: Place, role: Role, numbers: &Numbers) -> Option<End> {
        let rank = trace.ranks.get(place.rank)?;
        let event = rank.events.get(place.event)?;
        let (process, thread) = numbers.of_thread(rank, event.thread);
        let begin_ns = match role {
            Role::Send => event.begin_ns,
            _ => event.begin_ns + length(event) - MARK,
        };
        Some(End {
            role,
            process,
            thread,
            begin_ns,
        })
    }

    /// The slice to which the arrow is bound. It comes behind that of its call in the file, within which the viewer puts it.
    fn mark(&self) -> Value {
        json!({
            "ph": "X",
            "cat": "message",
            "name": self.role.word(),
            "pid": self.process,
            "tid": self.thread,
            "ts": microseconds(self.begin_ns),
            "dur": microseconds(MARK),
        })
    }

    /// The end itself, which is bound to the innermost slice that is there at its time.
    fn arrow(&self, number: usize) -> Value {
        json!({
            "ph": if self.role == Role::Send { "s" } else { "f" },
            "bp": "e",
            "cat": "message",
            "name": "message",
            "id": number,
            "pid": self.process,
            "tid": self.thread,
            "ts": microseconds(self.begin_ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::matching::matches;

    #[test]
    fn each_call_is_a_slice_and_each_message_an_arrow() {
        let trace = fixture::trace();
        let mut out = Vec::new();
        write(&trace, &matches(&trace), &mut out).unwrap();
        let file: Value = serde_json::from_slice(&out).unwrap();
        let events = file["traceEvents"].as_array().unwrap();
        let of = |phase: &str| -> Vec<&Value> { events.iter().filter(|event| event["ph"] == phase).collect() };
        let calls = of("X").iter().filter(|slice| slice["cat"] == "mpi").count();
        assert_eq!((of("M").len(), calls, of("s").len(), of("f").len()), (6, 2, 1, 1));
        let (begin, end) = (of("s")[0], of("f")[0]);
        assert_eq!(
            (&begin["pid"], &end["pid"], &begin["id"]),
            (&1.into(), &2.into(), &end["id"])
        );
    }

    /// The innermost slice at the time of an arrow's end, as the viewer finds it: of those that are open there, the last one in the file.
    fn bound<'v>(events: &'v [Value], end: &Value) -> &'v Value {
        let is_there = |slice: &&Value| {
            let at = |value: &Value| (value["ts"].as_f64().unwrap() * 1e3).round();
            let length = (slice["dur"].as_f64().unwrap_or(0.0) * 1e3).round();
            slice["ph"] == "X" && slice["tid"] == end["tid"] && at(slice) <= at(end) && at(end) < at(slice) + length
        };
        events.iter().rfind(is_there).unwrap()
    }

    /// A receive that waits begins before the send; the viewer turns an arrow whose second slice begins first.
    #[test]
    fn an_arrow_leads_from_the_begin_of_the_send_to_the_end_of_the_receive() {
        for waited in [0, 70] {
            let mut trace = fixture::trace();
            let send = &mut trace.ranks[0].events[0];
            send.begin_ns += 100;
            send.end_ns += 100;
            let (begin, end) = (send.begin_ns, send.end_ns + 50);
            let receive = &mut trace.ranks[1].events[0];
            (receive.begin_ns, receive.end_ns) = (begin + 10 - waited, end);
            let mut out = Vec::new();
            write(&trace, &matches(&trace), &mut out).unwrap();
            let file: Value = serde_json::from_slice(&out).unwrap();
            let events = file["traceEvents"].as_array().unwrap();
            let marks = ["s", "f"].map(|phase| {
                let arrow = events.iter().find(|event| event["ph"] == phase).unwrap();
                bound(events, arrow)
            });
            let nanoseconds = |value: &Value| (value.as_f64().unwrap() * 1e3).round() as u64;
            let [sent, received] =
                marks.map(|mark| (&mark["name"], nanoseconds(&mark["ts"]), nanoseconds(&mark["dur"])));
            assert_eq!(sent, (&"send".into(), begin, 1), "{waited}");
            assert_eq!(received, (&"received".into(), end - 1, 1), "{waited}");
        }
    }

    /// A call that completes many receives would have as many slices below each other.
    #[test]
    fn messages_of_one_call_share_a_mark() {
        let trace = fixture::trace();
        let mut matched = matches(&trace);
        matched.messages.extend_from_within(..);
        let mut out = Vec::new();
        write(&trace, &matched, &mut out).unwrap();
        let file: Value = serde_json::from_slice(&out).unwrap();
        let events = file["traceEvents"].as_array().unwrap();
        let count = |key: &str, value: &str| events.iter().filter(|event| event[key] == value).count();
        assert_eq!((count("ph", "s"), count("ph", "f"), count("ph", "X")), (2, 2, 2 + 2));
    }

    /// The viewer shows what has the number 0 otherwise, and finds names of threads by their numbers alone.
    #[test]
    fn no_number_is_0_and_no_two_threads_share_one() {
        let mut trace = fixture::trace();
        let mut other = trace.ranks[0].events[0].clone();
        other.thread += 1;
        trace.ranks[0].events.push(other);
        let mut out = Vec::new();
        write(&trace, &matches(&trace), &mut out).unwrap();
        let file: Value = serde_json::from_slice(&out).unwrap();
        let events = file["traceEvents"].as_array().unwrap();
        let slices = events.iter().filter(|event| event["cat"] == "mpi");
        let numbers: Vec<(u64, u64)> = slices
            .map(|event| (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap()))
            .collect();
        assert_eq!(numbers, [(1, 1), (1, 3), (2, 2)]);
        let names = events.iter().filter(|event| event["name"] == "thread_name");
        assert_eq!(names.count(), 3);
    }

    #[test]
    fn times_have_three_decimals_at_most() {
        for nanoseconds in [1, 29, 1001, 23_346_445, 1_234_567_890_123] {
            let text = serde_json::to_string(&microseconds(nanoseconds)).unwrap();
            let (whole, part) = text.split_once('.').unwrap();
            assert_eq!(format!("{whole}{part:0<3}").parse(), Ok(nanoseconds), "{text}");
        }
    }
}
