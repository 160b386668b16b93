//! Export to the Perfetto viewer, and to `chrome://tracing`: JSON in the *Trace Event Format* (Google, 2016), with a process for each rank, a slice for
//! each call, and an arrow for each message.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::events;
use crate::matching::{Matches, Place};
use crate::trace::{Event, Rank, Trace};

/// Writes the file.
pub fn write(trace: &Trace, matches: &Matches, out: &mut impl Write) -> io::Result<()> {
    let mut list = List { out, first: true };
    list.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
    for rank in &trace.ranks {
        let name = format!("rank {} ({})", rank.rank, rank.host);
        list.put(&json!({"ph": "M", "name": "process_name", "pid": rank.rank, "args": {"name": name}}))?;
        list.put(
            &json!({"ph": "M", "name": "process_sort_index", "pid": rank.rank, "args": {"sort_index": rank.rank}}),
        )?;
        for event in &rank.events {
            list.put(&slice(trace, rank, event))?;
        }
    }
    for (number, message) in matches.messages.iter().enumerate() {
        let ends = [(message.send, "s"), (message.receive, "f")];
        for (place, phase) in ends {
            if let Some(arrow) = arrow(trace, place, phase, number) {
                list.put(&arrow)?;
            }
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

/// Microseconds, as the format wants them.
fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 * 1e-3
}

/// Length of an event; the viewer does not show, and binds no arrow to, what takes no time.
fn length(event: &Event) -> u64 {
    event.end_ns.saturating_sub(event.begin_ns).max(1)
}

fn slice(trace: &Trace, rank: &Rank, event: &Event) -> Value {
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
        "pid": rank.rank,
        "tid": event.thread,
        "ts": microseconds(event.begin_ns),
        "dur": microseconds(length(event)),
        "args": arguments,
    })
}

/// An end of an arrow: within the send at its begin, within the receive or its completion at the end.
fn arrow(trace: &Trace, place: Place, phase: &str, number: usize) -> Option<Value> {
    let rank = trace.ranks.get(place.rank)?;
    let event = rank.events.get(place.event)?;
    let at = if phase == "s" {
        event.begin_ns
    } else {
        // The end itself may belong to the next slice.
        event.begin_ns + length(event) - 1
    };
    Some(json!({
        "ph": phase,
        "bp": "e",
        "cat": "message",
        "name": "message",
        "id": number,
        "pid": rank.rank,
        "tid": event.thread,
        "ts": microseconds(at),
    }))
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
        assert_eq!(
            (of("M").len(), of("X").len(), of("s").len(), of("f").len()),
            (4, 2, 1, 1)
        );
        let (begin, end) = (of("s")[0], of("f")[0]);
        assert_eq!(
            (&begin["pid"], &end["pid"], &begin["id"]),
            (&0.into(), &1.into(), &end["id"])
        );
        // Both ends lie within their slices.
        for (end, slice) in [begin, end].into_iter().zip(of("X")) {
            let number = |value: &Value| value.as_f64().unwrap();
            let (at, from) = (number(&end["ts"]), number(&slice["ts"]));
            assert!(at >= from && at < from + number(&slice["dur"]), "{end} {slice}");
        }
    }
}
