//! The viewer of Perfetto on what is exported: its own reader finds each rank, thread, call and message where they were.

use std::path::Path;
use std::process::Command;

use kilter_tests::{build, left_out, root};
use kilter_tracing::matching::{Place, matches};
use kilter_tracing::perfetto;
use serde_json::Value;

use super::trace::traced;
use crate::dropin::job::Mpi;

/// What the viewer counts as a mistake in a file.
const MISTAKES: &str = "select name, value from stats where severity in ('error', 'data_loss') and value > 0";
const CALLS: &str = "select process.name as rank, thread.name as thread, slice.name as function, slice.ts as begin, slice.dur as length, slice.depth as depth \
    from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) join process using (upid)";
const MESSAGES: &str = "select sends.name as sends, sends.ts as sent, receives.name as receives, receives.ts as received \
    from flow join slice as sends on slice_out = sends.id join slice as receives on slice_in = receives.id";
const DETAILS: &str = "select distinct display_value as text from args where flat_key = 'args.1'";

/// Rows of the answer to each query.
fn answers<const COUNT: usize>(trace: &Path, queries: [&str; COUNT]) -> Option<[Vec<Value>; COUNT]> {
    let viewer = build().with_file_name("perfetto");
    if !viewer.join("trace_processor.wasm").exists() {
        left_out("the viewer of Perfetto is not there; get it with `scripts/perfetto-viewer`");
        return None;
    }
    let script = root().join("tests/tests/tracer/read_perfetto.mjs");
    let mut command = Command::new("node");
    command.arg(script).arg(viewer).arg(trace).args(queries);
    let Ok(output) = command.output() else {
        left_out("there is no node; install it with `scripts/setup --tests`");
        return None;
    };
    assert!(output.status.success(), "{output:?}");
    let lines: Vec<Vec<Value>> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    Some(lines.try_into().unwrap())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn the_viewer_shows_each_call_and_each_message_where_it_was() {
    let mpi = Mpi::OpenMpi;
    let (output, trace) = traced(mpi, &[], 4, &[]);
    assert!(output.ok && output.stdout == "OK\n", "{output:?}");
    let matches = matches(&trace);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.json");
    perfetto::write(&trace, &matches, &mut std::fs::File::create(&file).unwrap()).unwrap();
    let Some([mistakes, calls, messages, details]) = answers(&file, [MISTAKES, CALLS, MESSAGES, DETAILS]) else {
        return;
    };
    assert_eq!(mistakes, Vec::<Value>::new());

    let mut shown: Vec<(String, String, String, u64, u64)> = calls
        .iter()
        .map(|row| {
            assert_eq!(row["depth"], 0, "{row}");
            let [rank, thread, function] = ["rank", "thread", "function"].map(|key| text(&row[key]));
            (rank, thread, function, number(&row["begin"]), number(&row["length"]))
        })
        .collect();
    let mut expected = Vec::new();
    for rank in &trace.ranks {
        for event in &rank.events {
            expected.push((
                format!("rank {} ({})", rank.rank, rank.host),
                format!("thread {}", event.thread),
                trace.function(event).to_owned(),
                event.begin_ns,
                event.end_ns.saturating_sub(event.begin_ns).max(1),
            ));
        }
    }
    shown.sort();
    expected.sort();
    assert_eq!(shown, expected);

    // Whichever call began first has the arrow's begin in the viewer: a receive that waited, too.
    type Ends = [(u64, String); 2];
    let in_order = |mut ends: Ends| {
        ends.sort();
        ends
    };
    let mut arrows: Vec<Ends> = messages
        .iter()
        .map(|row| {
            let end = |begin: &str, function: &str| (number(&row[begin]), text(&row[function]));
            in_order([end("sent", "sends"), end("received", "receives")])
        })
        .collect();
    let event = |place: Place| &trace.ranks[place.rank].events[place.event];
    let end = |place: Place| (event(place).begin_ns, trace.function(event(place)).to_owned());
    let mut sent: Vec<Ends> = matches
        .messages
        .iter()
        .map(|message| in_order([end(message.send), end(message.receive)]))
        .collect();
    arrows.sort();
    sent.sort();
    assert!(!sent.is_empty());
    assert_eq!(arrows, sent);
    let says = |wanted: &str| details.iter().any(|row| text(&row["text"]).contains(wanted));
    assert!(says("send #") && says("received #"), "{details:?}");
}

kilter_tests::cases![the_viewer_shows_each_call_and_each_message_where_it_was];
