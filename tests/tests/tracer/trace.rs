//! The trace of an unmodified program: exactly its messages, with their bytes, on both sides; and what is left of a rank that is killed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use kilter_protocol::trace::digest::digest;
use kilter_protocol::trace::record::Blocks;
use kilter_protocol::trace::{
    CLOCKS_VARIABLE, Clocks, DIRECTORY_VARIABLE, HASH_VARIABLE, LIMIT_VARIABLE, WHEN_FULL_VARIABLE,
};
use kilter_tests::program;
use kilter_tracing::gather::gather;
use kilter_tracing::matching::{Place, matches};
use kilter_tracing::trace::{Event, Part, Role, Trace, flag, operator_name, peer};

use super::waiting::three_clocks;
use crate::dropin::job::{Deployed, Mpi, Output, rule};

/// `trace.c`.
fn messages(mpi: Mpi) -> PathBuf {
    mpi.built(
        "mpicc",
        "../tracer/trace.c",
        &["-std=c11", "-D_GNU_SOURCE", "-O1", "-g"],
        "tracer_trace",
    )
}

/// Runs `trace.c` with the tracer in its ranks.
fn traced(mpi: Mpi, words: &[&str], ranks: usize, variables: &[(&str, &str)]) -> (Output, Trace) {
    let program = messages(mpi);
    let words = std::iter::once(program.as_path()).chain(words.iter().map(Path::new));
    traced_with(mpi, &words.collect::<Vec<_>>(), ranks, &[], variables)
}

/// Runs a program with the tracer in front of further libraries.
pub(super) fn traced_with(
    mpi: Mpi,
    words: &[&Path],
    ranks: usize,
    further: &[&str],
    variables: &[(&str, &str)],
) -> (Output, Trace) {
    let directory = tempfile::tempdir().unwrap();
    let libraries = std::iter::once("libkilter_tracer.so").chain(further.iter().copied());
    let files: Vec<String> = libraries.map(|name| mpi.library(name).display().to_string()).collect();
    let preload = files.join(":");
    let path = directory.path().display().to_string();
    let mut all = vec![("LD_PRELOAD", preload.as_str()), (DIRECTORY_VARIABLE, path.as_str())];
    all.extend(variables);
    let output = mpi.run(words, ranks, &all);
    let trace = gather(directory.path()).unwrap_or_else(|error| panic!("{mpi:?}: {error}\n{output:?}"));
    (output, trace)
}

/// The payload of a message of `trace.c`.
fn payload(number: u32, bytes: u32) -> Vec<u8> {
    (0..bytes).map(|i| (31 * i + 7 * number + i / 256) as u8).collect()
}

/// Communicator, sender, receiver, tag, bytes, CRC; the functions that sent and received.
type Message = (String, u32, u32, i32, u64, u32, String, String);

/// The messages of `trace.c` on four ranks.
fn expected() -> Vec<Message> {
    let mut all = Vec::new();
    let mut add =
        |comm: &str, (from, to): (u32, u32), tag: i32, (bytes, number): (u32, u32), (sends, receives): (&str, &str)| {
            let crc = digest(&payload(number, bytes), &mut Vec::new()).crc;
            let (sends, receives) = (format!("MPI_{sends}"), format!("MPI_{receives}"));
            all.push((comm.to_owned(), from, to, tag, u64::from(bytes), crc, sends, receives));
        };
    for from in 0..4 {
        let way = (from, (from + 1) % 4);
        add("world", way, 1, (100, 10 + from), ("Send", "Recv"));
        add("world", way, 3, (3000, 30 + from), ("Sendrecv", "Sendrecv"));
        add(
            "world",
            way,
            4,
            (40, 40 + from),
            ("Sendrecv_replace", "Sendrecv_replace"),
        );
        add("world", way, 5, (16, 50 + from), ("Isend", "Waitall"));
        add("world", way, 5, (0, 0), ("Isend", "Waitall"));
        add("world", way, 6, (24, 60 + from), ("Startall", "Waitall"));
        add("world", way, 6, (24, 70 + from), ("Startall", "Waitall"));
    }
    add("world", (0, 1), 2, (20, 20), ("Ssend", "Recv"));
    add("world", (1, 0), 2, (20, 21), ("Send", "Wait"));
    add("world", (0, 1), 20, (0, 0), ("Send", "Recv"));
    add("world", (3, 2), 7, (12, 80), ("Send", "Mrecv"));
    add("world", (3, 2), 77, (12, 81), ("Send", "Wait"));
    add("world", (3, 2), 7, (12, 82), ("Send", "Recv"));
    add("world", (3, 2), 7, (12, 83), ("Send", "Recv"));
    let ways = ["Bsend", "Rsend", "Isend", "Ibsend", "Irsend", "Issend"];
    for (from, half) in [(0, "0-2:2"), (1, "1-3:2")] {
        for (at, way) in (0..).zip(ways) {
            add(half, (from, from + 2), 8, (8, 90 + at + 10 * from), (way, ""));
        }
    }
    all.sort();
    all
}

/// The matched messages, as the trace has them.
fn found(trace: &Trace) -> Vec<Message> {
    let matches = matches(trace);
    assert!(matches.sends.is_empty() && matches.receives.is_empty(), "{matches:?}");
    assert_eq!(matches.different(), 0);
    let event = |place: Place| &trace.ranks[place.rank].events[place.event];
    let mut all: Vec<Message> = matches
        .messages
        .iter()
        .map(|one| {
            let (send, receive) = (one.send.of(trace).unwrap(), one.receive.of(trace).unwrap());
            assert_eq!(
                (send.plain.prefix, &send.chunks),
                (receive.plain.prefix, &receive.chunks)
            );
            let comm = trace.communicator(event(one.send), Some(send)).unwrap().name.clone();
            let mut receives = trace.function(event(one.receive)).to_owned();
            if comm != "world" {
                // All ways to complete take part.
                receives = "MPI_".to_owned();
            }
            (
                comm,
                trace.ranks[one.send.rank].rank,
                trace.ranks[one.receive.rank].rank,
                send.plain.tag,
                send.plain.bytes,
                receive.plain.crc,
                trace.function(event(one.send)).to_owned(),
                receives,
            )
        })
        .collect();
    all.sort();
    all
}

/// Parts of a rank with their events.
fn parts(trace: &Trace, rank: usize) -> impl Iterator<Item = (&Event, &Part)> {
    trace.ranks[rank]
        .events
        .iter()
        .flat_map(|event| event.parts.iter().map(move |part| (event, part)))
}

fn every_message_is_in_the_trace_with_its_bytes() {
    for mpi in Mpi::installed() {
        let (output, trace) = traced(mpi, &[], 4, &[]);
        assert!(output.ok && output.stdout == "OK\n", "{mpi:?}: {output:?}");
        assert_eq!(found(&trace), expected(), "{mpi:?}");
        for rank in &trace.ranks {
            assert!(rank.finalized && rank.failed_calls == 0, "{mpi:?}");
            assert_eq!(
                (rank.lost_calls, rank.lost_parts, rank.lost_definitions),
                (0, 0, 0),
                "{mpi:?}"
            );
            assert!(rank.events.iter().all(|event| event.begin_ns <= event.end_ns));
            let threads: BTreeSet<u32> = rank.events.iter().map(|event| event.thread).collect();
            assert_eq!(threads.len(), 1);
        }
        operations(&trace);
        wild_cards_and_probes(&trace);
        collectives(&trace);
        details(&trace);
    }
}

/// Each operation that begins is completed or cancelled, once.
fn operations(trace: &Trace) {
    for rank in 0..4 {
        let mut begun = BTreeSet::new();
        let mut ended = BTreeSet::new();
        for (event, part) in parts(trace, rank) {
            let function = trace.function(event);
            let blocks = ["MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend"].contains(&function)
                || function.starts_with("MPI_Sendrecv");
            match part.role {
                Role::Send if !blocks => assert!(begun.insert(part.plain.operation)),
                Role::Posted => assert!(begun.insert(part.plain.operation)),
                Role::Collective if part.plain.operation > 0 => assert!(begun.insert(part.plain.operation)),
                Role::Received if function.starts_with("MPI_Wait") || function.starts_with("MPI_Test") => {
                    assert!(ended.insert(part.plain.operation));
                }
                Role::Completed | Role::Cancelled => assert!(ended.insert(part.plain.operation)),
                _ => {}
            }
        }
        assert_eq!(begun, ended, "rank {rank}");
        let cancelled = parts(trace, rank).filter(|(_, part)| part.role == Role::Cancelled);
        assert_eq!(cancelled.count(), 1);
    }
}

fn wild_cards_and_probes(trace: &Trace) {
    let any = flag::ANY_SOURCE | flag::ANY_TAG;
    for rank in 0..4 {
        let wild = parts(trace, rank).filter(|(_, part)| part.role == Role::Received && part.plain.flags & any == any);
        let ring: Vec<_> = wild.map(|(_, part)| (part.plain.world, part.plain.tag)).collect();
        assert_eq!(ring, [((rank as i32 + 3) % 4, 1)]);
    }
    let probes: Vec<(&str, i32, i32, u64)> = parts(trace, 2)
        .filter(|(_, part)| part.role == Role::Probed)
        .map(|(event, part)| (trace.function(event), part.plain.peer, part.plain.tag, part.plain.bytes))
        .collect();
    assert_eq!(
        probes,
        [
            ("MPI_Mprobe", 3, 7, 12),
            ("MPI_Improbe", 3, 77, 12),
            ("MPI_Iprobe", 3, 7, 12),
            ("MPI_Probe", 3, 7, 12)
        ]
    );
    // Five looks for a message that never comes are one event.
    let nothing: Vec<(u32, i32, i32)> = trace.ranks[2]
        .events
        .iter()
        .filter(|event| event.polls > 0 && event.parts.first().is_some_and(|part| part.plain.tag == 99))
        .map(|event| (event.polls, event.parts[0].plain.peer, event.parts.len() as i32))
        .collect();
    assert_eq!(nothing, [(5, peer::ANY, 1)]);
}

fn collectives(trace: &Trace) {
    for rank in 0..4 {
        let all: Vec<(&str, i32, u64, &str, &str)> = parts(trace, rank)
            .filter(|(_, part)| part.role == Role::Collective)
            .map(|(event, part)| {
                let comm = trace.communicator(event, None).unwrap().name.as_str();
                (
                    trace.function(event),
                    part.plain.peer,
                    part.plain.bytes,
                    operator_name(part.plain.operator),
                    comm,
                )
            })
            .collect();
        let none = peer::UNKNOWN;
        let half = if rank % 2 == 0 { "0-2:2" } else { "1-3:2" };
        assert_eq!(
            all,
            [
                ("MPI_Barrier", none, 0, "", "world"),
                ("MPI_Barrier", none, 0, "", half),
                ("MPI_Reduce", 1, 4, "MPI_MAX", half),
                ("MPI_Bcast", 1, 32, "", "world"),
                ("MPI_Allreduce", none, 32, "MPI_SUM", "world"),
                ("MPI_Ibarrier", none, 0, "", "world"),
            ]
        );
    }
    let labels = trace.communicators.iter().filter(|one| one.label == "half").count();
    assert_eq!(labels, 2);
}

/// Derived types, chunks, call sites.
fn details(trace: &Trace) {
    let (_, vector) = parts(trace, 0)
        .find(|(event, _)| trace.function(event) == "MPI_Ssend")
        .unwrap();
    assert!(
        vector.plain.flags & flag::PACKED != 0 && vector.plain.element_bytes == 20,
        "{vector:?}"
    );
    assert_eq!(vector.plain.prefix[..], payload(20, 16)[..]);
    assert_eq!(vector.blocks, Some(Blocks { bytes: 4, stride: 12 }));
    let (event, exchange) = parts(trace, 0)
        .find(|(event, _)| trace.function(event) == "MPI_Sendrecv")
        .unwrap();
    let covered: u64 = exchange.chunks.iter().map(|chunk| u64::from(chunk.bytes)).sum();
    assert_eq!(covered, 3000, "{exchange:?}");
    if cfg!(target_arch = "x86_64") {
        let site = &trace.sites[event.site.unwrap()];
        assert!(site.module.contains("tracer_trace") && site.offset > 0, "{site:?}");
    }
}

fn a_killed_rank_leaves_all_calls_that_had_returned() {
    for mpi in Mpi::installed() {
        let (output, trace) = traced(mpi, &["kill"], 4, &[]);
        assert!(!output.ok, "{mpi:?}: {output:?}");
        let killed = trace.rank(1).unwrap();
        assert!(killed.end_ns.is_none() && !killed.finalized, "{mpi:?}");
        let calls: Vec<&str> = killed.events.iter().map(|event| trace.function(event)).collect();
        assert_eq!(calls, ["MPI_Recv", "MPI_Send", "MPI_Barrier"], "{mpi:?}");
        let crc = digest(&payload(10, 100), &mut Vec::new()).crc;
        assert_eq!(killed.events[0].parts[0].plain.crc, crc, "{mpi:?}");
    }
}

fn a_full_file_is_said_aloud_and_both_ways_are_matched() {
    const CALLS: u64 = 8000;
    let mpi = Mpi::OpenMpi;
    for (way, says) in [("stop", true), ("ring", false)] {
        let variables = [(LIMIT_VARIABLE, "1"), (WHEN_FULL_VARIABLE, way)];
        let (output, trace) = traced(mpi, &["many", "8000"], 2, &variables);
        assert!(output.ok, "{output:?}");
        assert_eq!(
            output.stderr.contains("kilter: warning: trace: rank 1: "),
            says,
            "{output:?}"
        );
        for rank in &trace.ranks {
            assert_eq!(rank.events.len() as u64 + rank.lost_calls, CALLS, "{way}");
            assert!(rank.lost_calls > 1000 && rank.events.len() > 1000, "{way}");
        }
        let matches = matches(&trace);
        assert_eq!(matches.different(), 0, "{way}");
        assert!(matches.messages.len() > 2000, "{way}: {}", matches.messages.len());
        assert!(matches.sends.len() < 50 && matches.receives.len() < 50, "{way}");
    }
}

/// Counting and tracing at once, as each alone does.
fn counts_and_trace_come_together() {
    for mpi in Mpi::installed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().display().to_string();
        let variables = [(DIRECTORY_VARIABLE, path.as_str()), (HASH_VARIABLE, "0")];
        let (output, profile) = super::traced(mpi, &[&super::calls(mpi)], 4, &[], &variables);
        assert!(output.ok && output.stdout == "OK\n", "{mpi:?}: {output:?}");
        assert_eq!(super::counts(&profile), super::expected(), "{mpi:?}");
        let trace = gather(directory.path()).unwrap();
        let mut calls: BTreeMap<&str, u64> = BTreeMap::new();
        for event in trace.ranks.iter().flat_map(|rank| &rank.events) {
            *calls.entry(trace.function(event)).or_default() += 1;
        }
        let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
        for one in &profile.calls {
            *counted.entry(&one.function).or_default() += one.calls;
        }
        assert_eq!(calls.remove("MPI_Request_free"), Some(8), "{mpi:?}");
        assert_eq!(calls, counted, "{mpi:?}");
        let all = (0..4).flat_map(|rank| parts(&trace, rank));
        let sends: Vec<&Part> = all
            .map(|(_, part)| part)
            .filter(|part| part.role == Role::Send && part.plain.bytes > 0)
            .collect();
        assert!(!sends.is_empty() && sends.iter().all(|part| part.plain.flags & flag::NOT_HASHED != 0));
    }
}

/// The algorithms' own messages are not the program's.
fn the_drop_in_and_the_progress_thread_leave_no_event() {
    for mpi in Mpi::installed() {
        let deployed = Deployed::for_library(
            mpi,
            vec![rule("allreduce", 4, 1..=u64::MAX, "allreduce.recursive_doubling")],
        );
        let path = deployed.path.display().to_string();
        let variables = [
            ("KILTER_PROFILE", path.as_str()),
            ("KILTER_LOG", "1"),
            ("KILTER_PRIVATE_AFTER", "0"),
            ("KILTER_PROGRESS", "force"),
        ];
        let further = ["libkilter.so", "libkilter_progress.so"];
        let (output, trace) = traced_with(mpi, &[&messages(mpi)], 4, &further, &variables);
        assert!(output.ok && output.stdout == "OK\n", "{mpi:?}: {output:?}");
        assert_eq!(
            output.calls()["allreduce.recursive_doubling"],
            1,
            "{mpi:?}: {}",
            output.stderr
        );
        assert_eq!(found(&trace), expected(), "{mpi:?}");
        operations(&trace);
        collectives(&trace);
    }
}

/// A library of MPI 4 ends a program that asks for the construction of such a type in the old way.
fn types_made_with_large_counts_end_no_program() {
    for mpi in Mpi::installed() {
        let program = mpi.built(
            "mpicc",
            "../tracer/large_types.c",
            &["-std=c11", "-O1"],
            "tracer_large_types",
        );
        let deployed = Deployed::for_library(mpi, vec![rule("bcast", 2, 1..=u64::MAX, "bcast.binomial")]);
        let path = deployed.path.display().to_string();
        let variables = [("KILTER_PROFILE", path.as_str()), ("KILTER_PRIVATE_AFTER", "0")];
        let (output, trace) = traced_with(mpi, &[&program], 2, &["libkilter.so"], &variables);
        assert!(output.ok && output.stdout == "OK\n", "{mpi:?}: {output:?}");
        let sent: Vec<u64> = parts(&trace, 0)
            .filter(|(_, part)| part.role == Role::Send)
            .map(|(_, part)| part.plain.bytes)
            .collect();
        assert_eq!(sent, [128], "{mpi:?}");
    }
}

/// Three hosts to the tracer: no message is there before it was sent.
fn hosts_with_clocks_of_their_own_have_one_time() {
    let folder = tempfile::tempdir().unwrap();
    let Some(wrapper) = three_clocks(folder.path()) else {
        return;
    };
    for mpi in [Mpi::OpenMpi, Mpi::Mpich].into_iter().filter(|mpi| mpi.is_there()) {
        let program = messages(mpi);
        let words: [&Path; 2] = [&wrapper, &program];
        let compared = [(CLOCKS_VARIABLE, Clocks::Compared.word())];
        let (output, trace) = traced_with(mpi, &words, 4, &[], &compared);
        assert!(output.ok && output.stdout == "OK\n", "{mpi:?}: {output:?}");
        assert_eq!(found(&trace), expected(), "{mpi:?}");
        let common = trace.common_clock.unwrap();
        assert_eq!(common.clocks, 3, "{mpi:?}");
        let begins: Vec<u64> = trace.ranks.iter().map(|rank| rank.begin_ns).collect();
        assert!(begins.iter().all(|ns| *ns < 100_000_000_000), "{mpi:?}: {begins:?}");
        let event = |place: Place| &trace.ranks[place.rank].events[place.event];
        for message in &matches(&trace).messages {
            let (sent, came) = (event(message.send).begin_ns, event(message.receive).end_ns);
            assert!(came + common.bound_ns >= sent, "{mpi:?}: {sent} {came} {common:?}");
        }
        // Nobody is asked without the variable.
        let (_, trace) = traced_with(mpi, &words, 4, &[], &[]);
        assert_eq!(trace.common_clock, None, "{mpi:?}");
    }
}

fn fortran_of_every_kind_is_traced_once() {
    for (case, mpi, program) in super::fortran_programs() {
        let (output, trace) = traced_with(mpi, &[&program], 2, &[], &[]);
        assert!(output.ok && output.stdout.ends_with("OK\n"), "{case}: {output:?}");
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for event in trace.ranks.iter().flat_map(|rank| &rank.events) {
            *counts.entry(trace.function(event)).or_default() += 1;
        }
        let expected = [("MPI_Allreduce", 20), ("MPI_Bcast", 10), ("MPI_Gather", 6)];
        assert_eq!(counts, BTreeMap::from(expected), "{case}");
    }
}

fn threads_have_streams_of_their_own() {
    for mpi in Mpi::installed() {
        let program = mpi.built("mpicc", "threads.c", &["-std=c11", "-O1", "-pthread"], "threads");
        let directory = tempfile::tempdir().unwrap();
        let tracer = mpi.library("libkilter_tracer.so").display().to_string();
        let path = directory.path().display().to_string();
        let variables = [("LD_PRELOAD", tracer.as_str()), (DIRECTORY_VARIABLE, path.as_str())];
        let output = mpi.run(&[&program], 2, &variables);
        assert!(output.ok, "{mpi:?}: {output:?}");
        if output.stdout.contains("NO THREADS") {
            kilter_tests::left_out("this library has no MPI_THREAD_MULTIPLE");
            continue;
        }
        let trace = gather(directory.path()).unwrap();
        let count = |function: &str| {
            let events = trace.ranks.iter().flat_map(|rank| &rank.events);
            events.filter(|event| trace.function(event) == function).count()
        };
        // 4 threads, 25 rounds, 9 allreduces and 8 broadcasts on 2 ranks.
        assert_eq!((count("MPI_Allreduce"), count("MPI_Bcast")), (1800, 1600), "{mpi:?}");
        for rank in &trace.ranks {
            let threads: BTreeSet<u32> = rank.events.iter().map(|event| event.thread).collect();
            assert!(threads.len() >= 4, "{mpi:?}: {threads:?}");
        }
    }
}

/// OTF2's own reader finds each message at both ends, and calls that lie within each other.
fn read_by_otf2(archive: &Path, mpi: Mpi) {
    let script = kilter_tests::root().join("tests/tests/tracer/read_otf2.py");
    let output = Command::new("/usr/bin/python3")
        .arg(script)
        .arg(archive)
        .output()
        .unwrap();
    assert!(output.status.success(), "{mpi:?}: {output:?}");
    let read: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&read["ordered"], &read["ranks"]),
        (&true.into(), &4.into()),
        "{mpi:?}: {read:#}"
    );
    assert_eq!(read["sent"], read["received"], "{mpi:?}");
    let messages = read["sent"].as_object().unwrap().values();
    let messages: u64 = messages.map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(messages, expected().len() as u64, "{mpi:?}: {read:#}");
    let places = read["places"].as_array().unwrap();
    let is_known = |place: &serde_json::Value| place.as_str().unwrap().starts_with("MPI_Ssend trace.c:");
    assert!(places.iter().any(is_known), "{mpi:?}: {places:?}");
}

fn the_command_traces_shows_and_exports() {
    for mpi in [Mpi::OpenMpi, Mpi::Mpich] {
        if !mpi.is_there() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let run = |words: &[&str]| {
            let mut command = Command::new(program("kilter"));
            command.current_dir(folder.path()).arg("trace").args(words);
            for name in ["KILTER_MPIRUN", "KILTER_LIBEXEC", "LD_PRELOAD"] {
                command.env_remove(name);
            }
            let output = command.output().unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (output.status.code(), text(&output.stdout), text(&output.stderr))
        };
        let program = messages(mpi);
        let mut words = vec!["--out", "t", "--"];
        words.extend(super::launch(mpi, "4"));
        words.push(program.to_str().unwrap());
        let (code, stdout, stderr) = run(&words);
        assert_eq!(code, Some(0), "{mpi:?}: {stderr}");
        let count = format!("\n{} messages from send to receive\n", expected().len());
        assert!(
            stdout.starts_with("OK\n") && stdout.contains(&count),
            "{mpi:?}: {stdout}"
        );
        assert!(stdout.contains("ring (trace.c:"), "{mpi:?}: {stdout}");

        let (code, _, stderr) = run(&words);
        assert!(code == Some(2) && stderr.contains("must not be there"), "{stderr}");
        let (_, json, _) = run(&["show", "t", "--format", "json"]);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["matched"], expected().len(), "{mpi:?}");
        let (_, events, _) = run(&["show", "t", "--events", "--rank", "2", "--format", "json"]);
        let events: Vec<serde_json::Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(
            events.len() > 30 && events.iter().all(|event| event["rank"] == 2),
            "{mpi:?}"
        );
        let (code, _, stderr) = run(&["show", "t", "--events", "--rank", "9"]);
        assert!(code == Some(2) && stderr.contains("no file of rank 9 of 4"), "{stderr}");

        let (code, _, stderr) = run(&["export", "t", "--perfetto", "t.json"]);
        assert_eq!(code, Some(0), "{stderr}");
        let file = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
        let file: serde_json::Value = serde_json::from_str(&file).unwrap();
        let arrows = file["traceEvents"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|event| event["ph"] == "s");
        assert_eq!(arrows.count(), expected().len(), "{mpi:?}");

        let (code, _, stderr) = run(&["export", "t", "--otf2", "o"]);
        assert_eq!(code, Some(0), "{stderr}");
        read_by_otf2(&folder.path().join("o/traces.otf2"), mpi);
        let (code, _, stderr) = run(&["export", "t", "--otf2", "o"]);
        assert!(code == Some(2) && stderr.contains("`o` is not empty"), "{stderr}");
        let (code, _, stderr) = run(&["export", "t", "--otf2", "p", "--otf2-library", "./no.so"]);
        assert!(
            code == Some(2) && stderr.contains("libotf2 cannot be loaded"),
            "{stderr}"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(program("kilter"))
        .current_dir(folder.path())
        .args(["trace", "--", "true"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && said.contains("no rank left a trace"),
        "{said}"
    );
    assert!(!folder.path().join("kilter-trace").exists());
}

kilter_tests::cases![
    every_message_is_in_the_trace_with_its_bytes,
    a_killed_rank_leaves_all_calls_that_had_returned,
    a_full_file_is_said_aloud_and_both_ways_are_matched,
    counts_and_trace_come_together,
    the_drop_in_and_the_progress_thread_leave_no_event,
    types_made_with_large_counts_end_no_program,
    hosts_with_clocks_of_their_own_have_one_time,
    fortran_of_every_kind_is_traced_once,
    threads_have_streams_of_their_own,
    the_command_traces_shows_and_exports,
];
