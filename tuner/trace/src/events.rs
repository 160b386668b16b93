//! Every event on a line, as text for people and as JSON for programs.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::trace::{ANY_TAG, Event, Part, Role, Trace, class_name, flag, operator_name, peer};

/// Writes the events of all ranks, or of one, by rank and begin.
pub fn write(trace: &Trace, rank: Option<u32>, as_json: bool, out: &mut impl Write) -> io::Result<()> {
    for one in trace
        .ranks
        .iter()
        .filter(|one| rank.is_none_or(|rank| rank == one.rank))
    {
        for event in &one.events {
            if as_json {
                serde_json::to_writer(&mut *out, &value(trace, one.rank, event))?;
                out.write_all(b"\n")?;
            } else {
                out.write_all(line(trace, one.rank, event).as_bytes())?;
            }
        }
    }
    out.flush()
}

/// An event as a line, and a line for each of its parts.
fn line(trace: &Trace, rank: u32, event: &Event) -> String {
    let mut line = format!(
        "{rank}.{} {:.9} {:>8} ns {}",
        event.thread,
        event.begin_ns as f64 * 1e-9,
        event.end_ns.saturating_sub(event.begin_ns),
        trace.function(event)
    );
    if event.polls > 0 {
        let _ = write!(line, " x{} found nothing", event.polls);
    }
    if let Some(communicator) = trace.communicator(event, None) {
        let _ = write!(line, " on {}", communicator.name);
    }
    if let Some(site) = event.site.and_then(|at| trace.sites.get(at)) {
        let _ = write!(line, " at {}", site.place());
    }
    line.push('\n');
    for part in &event.parts {
        line.push_str("    ");
        line.push_str(&words(trace, event, part));
        line.push('\n');
    }
    line
}

/// Another side, as its rank or in a word.
fn side(rank: i32) -> String {
    match rank {
        peer::ANY => "any".to_owned(),
        peer::NOBODY => "nobody".to_owned(),
        peer::ROOT => "root".to_owned(),
        peer::UNKNOWN => "-".to_owned(),
        _ => rank.to_string(),
    }
}

/// A part in words.
pub(crate) fn words(trace: &Trace, event: &Event, part: &Part) -> String {
    let plain = &part.plain;
    let mut out = part.role.word().to_owned();
    if plain.operation > 0 {
        let _ = write!(out, " #{}", plain.operation);
    }
    if event.communicator.is_none()
        && let Some(communicator) = trace.communicator(event, Some(part))
    {
        let _ = write!(out, " on {}", communicator.name);
    }
    match part.role {
        Role::Completed | Role::Cancelled | Role::Freed => return out,
        Role::Own => {}
        Role::Collective => {
            if plain.peer != peer::UNKNOWN {
                let _ = write!(out, " root {}", side(plain.peer));
            }
        }
        _ => {
            let _ = write!(out, " peer {}", side(plain.peer));
            if plain.world != plain.peer {
                let _ = write!(out, " (world {})", side(plain.world));
            }
            let tag = if plain.tag == ANY_TAG {
                "any".to_owned()
            } else {
                plain.tag.to_string()
            };
            let _ = write!(out, " tag {tag}");
        }
    }
    if part.role != Role::Asked {
        let _ = write!(out, " {} bytes", plain.bytes);
    }
    for word in [class_name(plain.class), operator_name(plain.operator)] {
        if !word.is_empty() {
            let _ = write!(out, " {word}");
        }
    }
    if part.role.has_payload() {
        if plain.flags & flag::NOT_HASHED == 0 {
            let _ = write!(out, " crc {:08x}", plain.crc);
        }
        if !part.chunks.is_empty() {
            let _ = write!(out, " {} chunks", part.chunks.len());
        }
    }
    for word in flags(plain.flags) {
        let _ = write!(out, " {word}");
    }
    out
}

/// Words for the flags.
fn flags(flags: u8) -> impl Iterator<Item = &'static str> {
    [
        (flag::HASHED_IN_PART, "hashed-in-part"),
        (flag::NOT_HASHED, "not-hashed"),
        (flag::CONSTANT, "constant"),
        (flag::MORE_CHUNKS, "more-chunks"),
        (flag::PACKED, "packed"),
        (flag::PERSISTENT, "persistent"),
        (flag::ANY_SOURCE, "from-any-source"),
        (flag::ANY_TAG, "with-any-tag"),
    ]
    .into_iter()
    .filter(move |(bit, _)| flags & bit != 0)
    .map(|(_, word)| word)
}

/// An event as JSON.
fn value(trace: &Trace, rank: u32, event: &Event) -> Value {
    let mut all = Map::new();
    let mut put = |name: &str, value: Value| {
        all.insert(name.to_owned(), value);
    };
    put("rank", rank.into());
    put("thread", event.thread.into());
    put("begin_ns", event.begin_ns.into());
    put("end_ns", event.end_ns.into());
    put("function", trace.function(event).into());
    if let Some(communicator) = trace.communicator(event, None) {
        put("communicator", communicator.name.clone().into());
    }
    if let Some(site) = event.site.and_then(|at| trace.sites.get(at)) {
        put(
            "site",
            json!({"place": site.place(), "module": site.module, "offset": site.offset}),
        );
    }
    if event.polls > 0 {
        put("polls", event.polls.into());
    }
    put(
        "parts",
        event.parts.iter().map(|part| value_of(trace, event, part)).collect(),
    );
    Value::Object(all)
}

fn value_of(trace: &Trace, event: &Event, part: &Part) -> Value {
    let plain = &part.plain;
    let mut all = Map::new();
    let mut put = |name: &str, value: Value| {
        all.insert(name.to_owned(), value);
    };
    put("role", part.role.word().into());
    if plain.operation > 0 {
        put("operation", plain.operation.into());
    }
    if let Some(communicator) = trace.communicator(event, Some(part)) {
        put("communicator", communicator.name.clone().into());
    }
    if matches!(part.role, Role::Completed | Role::Cancelled | Role::Freed) {
        return Value::Object(all);
    }
    put("peer", plain.peer.into());
    put("world", plain.world.into());
    put("tag", plain.tag.into());
    put("bytes", plain.bytes.into());
    put("element_bytes", plain.element_bytes.into());
    put("address", plain.address.into());
    if let Some(blocks) = part.blocks {
        put("block_bytes", blocks.bytes.into());
        put("stride", blocks.stride.into());
    }
    if let Some(all) = &part.pieces {
        let piece = |piece: &crate::trace::Piece| json!([piece.offset, piece.bytes]);
        put("pieces", all.pieces.iter().map(piece).collect());
        put("extent", all.extent.into());
    }
    for (name, word) in [
        ("class", class_name(plain.class)),
        ("operator", operator_name(plain.operator)),
    ] {
        if !word.is_empty() {
            put(name, word.into());
        }
    }
    if part.role.has_payload() {
        if plain.flags & flag::NOT_HASHED == 0 {
            put("crc32", plain.crc.into());
            put(
                "prefix",
                plain
                    .prefix
                    .iter()
                    .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
                    .into(),
            );
        }
        let chunk = |chunk: &crate::trace::Chunk| json!([chunk.offset, chunk.bytes, chunk.crc]);
        put("chunks", part.chunks.iter().map(chunk).collect());
    }
    put("flags", flags(plain.flags).map(Value::from).collect());
    Value::Object(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn written(rank: Option<u32>, as_json: bool) -> String {
        let mut out = Vec::new();
        write(&fixture::trace(), rank, as_json, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn events_are_lines() {
        let text = written(Some(0), false);
        assert_eq!(
            text,
            "0.0 0.000000100      100 ns MPI_Send on world at main (solver)\n    send #1 peer 1 tag 5 24 bytes crc 00000009\n"
        );
        assert_eq!(written(None, false).lines().count(), 4);
    }

    #[test]
    fn json_has_a_line_for_each_event() {
        let text = written(None, true);
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1]["parts"][0]["role"], "received");
        assert_eq!(lines[1]["parts"][0]["crc32"], 9);
    }
}
