//! `kilter detect --measure` on a scripted library: broadcasts by hand, beside what would replace them.

use kilter_detect::model::finding::Detection;
use kilter_detect::model::proof::{Measured, Proof};
use kilter_detect::model::trace::{Class, Communicator, Event, Kind, Payload, Site as CallSite, Trace};

use super::resume::{copy, killed_after};
use super::*;

const RANKS: u32 = 4;

/// Occurrences of each broadcast.
const TIMES: u64 = 3;

/// Data of a message of so many bytes, unlike all others.
fn payload(bytes: u64, number: u64) -> Payload {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut prefix = [0; 16];
    prefix[..8].copy_from_slice(&mixed.to_le_bytes());
    prefix[8..].copy_from_slice(&mixed.rotate_left(29).to_le_bytes());
    Payload {
        bytes,
        crc32: (mixed >> 32) as u32,
        prefix,
        element_bytes: 8,
        class: Class::Real,
        address: 0x1000,
        ..Payload::default()
    }
}

/// A trace of all ranks in which nothing happens.
fn silent() -> Trace {
    Trace {
        ranks: RANKS as usize,
        communicators: vec![Communicator {
            members: (0..RANKS).collect(),
            name: "world".to_owned(),
        }],
        events: vec![Vec::new(); RANKS as usize],
        ..Trace::default()
    }
}

/// Rank 0 sends its data to each other rank: a broadcast of each of these numbers of bytes, at call sites of its own.
fn broadcasts(sizes: &[u64]) -> Trace {
    let mut trace = silent();
    let mut now_ns = 0;
    for (number, bytes) in sizes.iter().enumerate() {
        let site = trace.sites.len() as u32;
        let named = |function: &str, line| CallSite {
            function: function.to_owned(),
            line,
            ..CallSite::default()
        };
        trace.sites.push(named("spread", 10 * number as u32 + 1));
        trace.sites.push(named("spread", 10 * number as u32 + 2));
        for time in 0..TIMES {
            let payload = payload(*bytes, 100 * number as u64 + time);
            for rank in 1..RANKS {
                let event = |site, kind, begin_ns| Event {
                    begin_ns,
                    end_ns: begin_ns + 500,
                    site,
                    kind,
                };
                let send = Kind::Send {
                    communicator: 0,
                    to: rank,
                    tag: 0,
                    payload: payload.clone(),
                    completed_ns: None,
                };
                let receive = Kind::Receive {
                    communicator: 0,
                    from: 0,
                    tag: 0,
                    payload: payload.clone(),
                    posted_ns: now_ns,
                };
                trace.events[0].push(event(site, send, now_ns));
                trace.events[rank as usize].push(event(site + 1, receive, now_ns + 1000));
                now_ns += 1000;
            }
            now_ns += 100_000;
        }
    }
    trace
}

/// Each rank sends rank 0 a block, of these lengths beginning with that of rank 1, so many times at the same call sites.
fn gathers(lengths: [u64; 3]) -> Trace {
    let mut trace = silent();
    for line in [1, 2] {
        trace.sites.push(CallSite {
            function: "collect".to_owned(),
            line,
            ..CallSite::default()
        });
    }
    let mut now_ns = 0;
    for time in 0..TIMES {
        for (rank, bytes) in (1..RANKS).zip(lengths) {
            let at = lengths[..rank as usize - 1].iter().sum::<u64>();
            let sent = payload(bytes, 10 * time + u64::from(rank));
            let received = Payload {
                address: 0x1000 + at,
                ..sent.clone()
            };
            let event = |site, kind, begin_ns| Event {
                begin_ns,
                end_ns: begin_ns + 500,
                site,
                kind,
            };
            let send = Kind::Send {
                communicator: 0,
                to: 0,
                tag: 0,
                payload: sent,
                completed_ns: None,
            };
            let receive = Kind::Receive {
                communicator: 0,
                from: rank,
                tag: 0,
                payload: received,
                posted_ns: now_ns + 1000,
            };
            trace.events[rank as usize].push(event(0, send, now_ns));
            trace.events[0].push(event(1, receive, now_ns + 1000));
            now_ns += 2000;
        }
        now_ns += 100_000;
    }
    trace
}

#[test]
fn blocks_that_differ_in_length_are_measured_with_their_counts() {
    let library = ScriptedLibrary::new()
        .cost("gatherv", |_, usual| 0.5 * usual)
        .row("gatherv.binomial", |_, usual| 0.1 * usual);
    let (_directory, site) = site(library);
    let trace = gathers([800, 1600, 2400]);
    let (detection, ..) = site.prove(&trace, &kilter_detect::detect(&trace), &[]).unwrap();
    let Some(Proof::Measured(measured)) = &detection.findings[0].proof else {
        panic!("{detection:#?}");
    };
    let names: Vec<&str> = measured.replacements.iter().map(|side| side.name.as_str()).collect();
    assert_eq!(names, ["MPI_Gatherv", "gatherv.binomial"]);
    assert_eq!((measured.bytes, measured.is_shown), (4800, true));
    // The root's own block, which no message carries, is empty.
    let store = rusqlite::Connection::open(site.database()).unwrap();
    let mut query = store.prepare("SELECT description FROM items").unwrap();
    let all: Vec<String> = query
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let with_counts = all.iter().filter(|one| one.contains("\"listed\":[0,800,1600,2400]"));
    assert!(with_counts.count() >= 2, "{all:?}");
}

/// Numbers, 1000 doubles each, that every rank sends to rank 0, which shows its own and the sum.
fn reductions() -> Trace {
    let mut trace = gathers([8000; 3]);
    trace.events.iter_mut().for_each(Vec::clear);
    let numbers = |number: f64| {
        let mut one = payload(8000, number.to_bits());
        one.prefix[..8].copy_from_slice(&number.to_le_bytes());
        one.prefix[8..].copy_from_slice(&(number * 3.0).to_le_bytes());
        one
    };
    let mut now_ns = 0;
    for time in 0..TIMES {
        let own = |rank: u32| (f64::from(rank) * 1.37 + time as f64 * 0.71).sin();
        let mut put = |rank: u32, site, mut kind| {
            now_ns += 1000;
            if let Kind::Receive { posted_ns, .. } = &mut kind {
                *posted_ns = now_ns;
            }
            trace.events[rank as usize].push(Event {
                begin_ns: now_ns,
                end_ns: now_ns + 500,
                site,
                kind,
            });
        };
        let to_self = |number| Kind::ToSelf {
            communicator: 0,
            payload: numbers(number),
        };
        let mut sum = own(0);
        put(0, 0, to_self(sum));
        for rank in 1..RANKS {
            let mine = numbers(own(rank));
            put(
                rank,
                0,
                Kind::Send {
                    communicator: 0,
                    to: 0,
                    tag: 0,
                    payload: mine.clone(),
                    completed_ns: None,
                },
            );
            put(
                0,
                1,
                Kind::Receive {
                    communicator: 0,
                    from: rank,
                    tag: 0,
                    payload: mine,
                    posted_ns: 0,
                },
            );
            sum += own(rank);
        }
        put(0, 0, to_self(sum));
        now_ns += 100_000;
    }
    trace
}

#[test]
fn a_reduction_is_measured_with_what_its_sides_combine() {
    let library = ScriptedLibrary::new().row("reduce.binomial", |_, usual| 0.1 * usual);
    let (_directory, site) = site(library);
    let trace = reductions();
    let (detection, ..) = site.prove(&trace, &kilter_detect::detect(&trace), &[]).unwrap();
    let Some(Proof::Measured(measured)) = &detection.findings[0].proof else {
        panic!("{detection:#?}");
    };
    let names: Vec<&str> = measured.replacements.iter().map(|side| side.name.as_str()).collect();
    assert_eq!(names, ["MPI_Reduce", "reduce.binomial"]);
    assert_eq!((measured.bytes, measured.is_shown), (8000, true));
    assert_eq!(measured.combined.as_deref(), Some("MPI_SUM of MPI_DOUBLE"));
    let store = rusqlite::Connection::open(site.database()).unwrap();
    let count = |text: &str| -> i64 {
        let query = "SELECT count(*) FROM items WHERE description LIKE '%' || ?1 || '%'";
        store.query_row(query, [text], |row| row.get(0)).unwrap()
    };
    assert_eq!(count("\"combine\""), 1, "the messages alone have combinations as steps");
    assert!(count("\"element\":\"double\"") >= 3, "all sides combine doubles");
}

/// Times of broadcasts of these sizes, the number of jobs, and seconds.
fn proven_at(site: &Site, sizes: &[u64], arguments: &str) -> (Detection, u64, f64) {
    let trace = broadcasts(sizes);
    let detection = kilter_detect::detect(&trace);
    assert_eq!(detection.findings.len(), sizes.len(), "{detection:#?}");
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    site.prove(&trace, &detection, &arguments).unwrap()
}

fn proven(library: ScriptedLibrary, sizes: &[u64], arguments: &str) -> (Detection, u64, f64) {
    let (_directory, site) = site(library);
    proven_at(&site, sizes, arguments)
}

/// Measured times of the finding of this number of bytes.
fn measured(detection: &Detection, bytes: u64) -> &Measured {
    match proof(detection, bytes) {
        Proof::Measured(measured) => measured,
        Proof::NotMeasured(why) => panic!("not measured: {why}"),
    }
}

fn proof(detection: &Detection, bytes: u64) -> &Proof {
    let mut found = detection.findings.iter();
    let finding = found.find(|finding| finding.bytes == bytes).unwrap();
    finding.proof.as_ref().unwrap()
}

fn not_measured(detection: &Detection, bytes: u64) -> &str {
    match proof(detection, bytes) {
        Proof::NotMeasured(why) => why,
        Proof::Measured(measured) => panic!("measured: {measured:#?}"),
    }
}

/// Three messages one after the other take 3 us, MPI_Bcast 2 us and a little, a row half of that.
#[test]
fn the_fastest_replacement_is_named_with_its_gain_and_the_larger_gain_comes_first() {
    let library = ScriptedLibrary::new().row("bcast.pipelined_chain", |_, usual| 0.5 * usual);
    let (detection, jobs, _) = proven(library, &[256, 4096], "");
    let bytes: Vec<u64> = detection.findings.iter().map(|finding| finding.bytes).collect();
    assert_eq!(bytes, [4096, 256]);
    let measured = measured(&detection, 4096);
    let best = measured.best().unwrap();
    assert_eq!(
        (best.name.as_str(), measured.launches, measured.is_shown),
        ("bcast.pipelined_chain", 10, true)
    );
    let saved = 3.0 * (1e-6 + 4096e-10) - 0.5 * (2e-6 + 4096e-10);
    assert!(
        (measured.gain_seconds(3) - 3.0 * saved).abs() < 0.02 * saved,
        "{measured:#?}"
    );
    assert!(measured.failed.is_empty() && !measured.ended_by_budget);
    assert_eq!(jobs, 11, "one that tries all, and ten that compare");
}

#[test]
fn where_the_messages_are_fastest_they_stay() {
    let library = ScriptedLibrary::new().cost("bcast", |_, usual| 3.0 * usual);
    let (detection, ..) = proven(library, &[4096], "");
    assert_eq!(measured(&detection, 4096).gain_seconds(3), 0.0);
}

#[test]
fn a_row_that_takes_its_job_down_is_left_out_and_named() {
    for library in [
        ScriptedLibrary::new().crashes(|call| call.item == "bcast.pipelined_chain"),
        ScriptedLibrary::new().hangs(|call| call.item == "bcast.pipelined_chain"),
        ScriptedLibrary::new().wrong_data(|call| call.item == "bcast.pipelined_chain"),
    ] {
        let library = library.row("bcast.pipelined_chain", |_, usual| 0.1 * usual);
        let (detection, ..) = proven(library.row("bcast.binomial", |_, usual| 0.5 * usual), &[4096], "");
        let measured = measured(&detection, 4096);
        assert_eq!(measured.best().unwrap().name, "bcast.binomial");
        assert_eq!(measured.failed.len(), 1, "{:?}", measured.failed);
        assert!(
            measured.failed[0].starts_with("bcast.pipelined_chain: "),
            "{:?}",
            measured.failed
        );
    }
}

#[test]
fn messages_that_take_their_job_down_are_not_measured_and_the_others_are() {
    for library in [
        ScriptedLibrary::new().crashes(|call| call.item == "by hand" && call.bytes == 256),
        ScriptedLibrary::new().hangs(|call| call.item == "by hand" && call.bytes == 256),
        ScriptedLibrary::new().wrong_data(|call| call.item == "library" && call.bytes == 256),
    ] {
        let (detection, ..) = proven(library, &[256, 4096], "");
        let why = not_measured(&detection, 256);
        assert!(why.starts_with("by hand: ") || why.starts_with("library: "), "{why}");
        assert_eq!(measured(&detection, 4096).launches, 10);
        assert_eq!(
            detection.findings[0].bytes, 4096,
            "the one that is not measured comes last"
        );
    }
}

#[test]
fn a_launch_without_valid_times_counts_for_no_side() {
    let library = ScriptedLibrary::new().voids(|call| call.item == "library");
    let (detection, ..) = proven(library, &[4096], "");
    assert!(not_measured(&detection, 4096).contains("no launch has valid times"));
}

/// Calls of more than a second.
#[test]
fn a_budget_that_ends_is_said() {
    let (detection, jobs, seconds) = proven(ScriptedLibrary::new().slower(300_000.0), &[4096], "--budget 70");
    let measured = measured(&detection, 4096);
    assert!(measured.ended_by_budget && measured.launches < 10, "{measured:#?}");
    assert_eq!(jobs, measured.launches as u64 + 1);
    assert!(seconds < 77.0, "{seconds}");
}

#[test]
fn a_killed_run_goes_on_and_measures_nothing_anew() {
    let library = || ScriptedLibrary::new().row("bcast.pipelined_chain", |_, usual| 0.5 * usual);
    let (whole, jobs, _) = proven(library(), &[256, 4096], "");
    let (home, left) = (directory(), directory());
    let place = home.path().join("site");
    let kept = killed_after((9, "bcast"), library(), place.clone(), left.path().to_path_buf());
    proven_at(&Site::new(&place, kept).unwrap(), &[256, 4096], "");
    std::fs::remove_dir_all(&place).unwrap();
    copy(left.path(), &place);
    let (resumed, further, _) = proven_at(&Site::new(&place, library()).unwrap(), &[256, 4096], "");
    // The launch that was under way is made again, and has other times.
    let said = |detection: &Detection| {
        let best = |bytes| measured(detection, bytes).best().map(|side| side.name.clone());
        [256, 4096].map(|bytes| (best(bytes), measured(detection, bytes).launches))
    };
    assert_eq!(said(&resumed), said(&whole));
    assert!(further < jobs - 2, "{further} of {jobs}");
}
