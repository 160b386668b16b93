use std::collections::BTreeSet;

use super::*;
use crate::{formats, render, rules};

fn advised(file: &str, text: &str) -> Judged {
    judge(&rules::load_embedded().unwrap(), &formats::read(text, file).unwrap())
}

macro_rules! sample {
    ($file:literal) => {
        advised($file, include_str!(concat!("../../samples/", $file)))
    };
}

#[test]
fn the_chapters_listing_gives_the_chapters_advice() {
    let judged = sample!("mpt-chapter.txt");
    let ids: Vec<&str> = judged.advice.iter().map(|advice| advice.id.as_str()).collect();
    assert_eq!(ids, ["MPT_BUFS_PER_PROC", "MPT_NO_SINGLE_COPY"]);
    insta::assert_snapshot!(render::text(&judged));
}

/// The manual shows what the command prints.
#[test]
fn the_manual_has_the_first_advice_on_the_chapters_listing() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/manual/advise.md");
    let page = std::fs::read_to_string(page).unwrap();
    let text = render::text(&sample!("mpt-chapter.txt"));
    let first = text.split("\n\n").nth(1).unwrap();
    assert!(page.contains(first), "docs/manual/advise.md does not have\n{first}");
}

#[test]
fn the_chapters_profile_shows_waiting_and_allreduce() {
    let judged = sample!("call-profile-chapter.txt");
    let ids: Vec<&str> = judged.advice.iter().map(|advice| advice.id.as_str()).collect();
    assert_eq!(ids, ["CALLS_WAITING", "CALLS_COLLECTIVE_TIME"]);
    assert_eq!(judged.advice[1].step, "kilter tune --functions allreduce");
    insta::assert_snapshot!(render::text(&judged));
}

#[test]
fn samples_of_other_libraries_give_theirs() {
    insta::assert_snapshot!("openmpi_spc", render::text(&sample!("openmpi-spc.txt")));
    insta::assert_snapshot!("mpich_algorithms", render::text(&sample!("mpich-algorithms.txt")));
    insta::assert_snapshot!("ucx_full", render::text(&sample!("ucx-full.txt")));
    insta::assert_snapshot!("ucx_agg", render::text(&sample!("ucx-agg.txt")));
    insta::assert_snapshot!("intel_aps", render::text(&sample!("intel-aps.txt")));
}

#[test]
fn other_renderings_have_the_same() {
    let judged = sample!("mpt-chapter.txt");
    insta::assert_snapshot!("markdown", render::markdown(&judged));
    insta::assert_snapshot!("json", kilter_render::json::text(&judged).unwrap());
}

#[test]
fn the_json_has_the_schema_that_is_published() {
    kilter_fixtures::published::assert_current("advice", &kilter_render::json::schema::<Judged>().unwrap());
}

#[test]
fn text_fits_a_terminal_of_120_columns_but_for_commands() {
    for judged in [
        sample!("mpt-chapter.txt"),
        sample!("openmpi-spc.txt"),
        sample!("ucx-full.txt"),
        sample!("intel-aps.txt"),
    ] {
        for line in render::text(&judged).lines().filter(|line| !line.starts_with("  next")) {
            assert!(line.chars().count() <= 120, "{line}");
        }
    }
}

#[test]
fn names_from_outside_do_not_move_the_cursor() {
    let text = "n1\u{1b}[2J 7 retries allocating mpi PER_PROC buffers for point-to-point calls\n";
    let judged = advised("a\u{1b}[2J.log", text);
    assert_eq!(judged.advice.len(), 1);
    for out in [render::text(&judged), render::markdown(&judged)] {
        assert!(!out.contains('\u{1b}'), "{out}");
    }
}

/// A listing of Open MPI's form.
fn spc(counters: &[(&str, u64)]) -> String {
    let lines: String = counters
        .iter()
        .map(|(name, value)| format!("OMPI_SPC_{name} -> {value}\n"))
        .collect();
    format!("MPI_COMM_WORLD Rank 0:\nOMPI_SPC_WTIME -> 1\n{lines}")
}

/// A listing of MPT's form; counters that are not named are 0.
fn mpt(counters: &[(&str, u64)]) -> String {
    let mut text = String::new();
    for name in [
        "retries allocating mpi PER_PROC headers",
        "retries allocating mpi PER_HOST headers",
        "retries allocating mpi PER_PROC buffers",
        "retries allocating mpi PER_HOST buffers",
        "data buffers sent via shared memory",
        "bytes sent using single copy",
        "bytes sent via shared memory",
    ] {
        let value = counters
            .iter()
            .find(|(other, _)| *other == name)
            .map_or(0, |(_, value)| *value);
        text.push_str(&format!(
            "0: {value} {name} for collective calls\n0: {value} {name} for point-to-point calls\n"
        ));
    }
    text
}

/// A listing of calls, by rank: call, number, seconds.
fn calls(ranks: &[&[(&str, u64, f64)]]) -> String {
    let mut text = String::from("Total job time 100 sec\n");
    for (rank, calls) in ranks.iter().enumerate() {
        text.push_str(&format!(
            "activity on process rank {rank}\n barrier calls 1 time 0.001\n"
        ));
        for (call, number, seconds) in *calls {
            text.push_str(&format!(" {call} calls {number} time {seconds}\n"));
        }
    }
    text
}

/// A listing of UCX's form, of one class.
fn ucx(class: &str, counters: &[(&str, u64)]) -> String {
    let lines: String = counters
        .iter()
        .map(|(name, value)| format!("    {name}: {value}\n"))
        .collect();
    format!("host:1:\n  ucp_worker-0x1:\n    tag_rx_sync_msg: 0\n  {class}-0x2:\n{lines}")
}

/// Function summary of APS: function, seconds, idle seconds.
fn functions(rows: &[(&str, f64, f64)]) -> String {
    let rows: String = rows
        .iter()
        .map(|(name, time, idle)| format!("  {name} {time} {idle} 3\n"))
        .collect();
    format!("| Function summary for all ranks\n|---\n| Function Time(sec) Idle(sec) Calls\n|---\n{rows}|====\n")
}

/// MPI time per rank of APS, in jobs of 100 seconds.
fn ranks(seconds: &[f64]) -> String {
    let rows: String = seconds
        .iter()
        .enumerate()
        .map(|(rank, time)| format!("  {rank:04} 100 {time} {time}\n"))
        .collect();
    format!("| MPI Time per Rank\n|---\n| Rank LifeTime(sec) MPITime(sec) MPITime(%)\n|---\n{rows}|====\n")
}

/// Counters of a profile of two ranks that run for 100 s and compute for 50, the further ones on rank 0: name, value.
fn profile(counters: &[(&str, f64)]) -> String {
    let has = |wanted: &str| counters.iter().any(|(name, _)| *name == wanted);
    let mut text =
        "kilter profile counters\nrank 1\njob time\t100\ts\ncomputation.spent\t50\ts\nrank 0\njob time\t100\ts\n"
            .to_owned();
    if !has("computation.spent") {
        text.push_str("computation.spent\t50\ts\n");
    }
    for (name, value) in counters {
        let unit = if name.ends_with(".calls") || name.ends_with(".short") {
            ""
        } else {
            "s"
        };
        text.push_str(&format!("{name}\t{value}\t{unit}\n"));
    }
    text
}

/// Counters of a trace of a rank that runs for 100 s: name, value.
fn trace(counters: &[(&str, f64)]) -> String {
    let lines = counters.iter().map(|(name, value)| {
        let is_time = [".spent", ".late", ".held", ".next to work", ".hideable"]
            .iter()
            .any(|end| name.ends_with(end));
        format!("{name}\t{value}\t{}\n", if is_time { "s" } else { "" })
    });
    format!(
        "kilter trace counters\nrank 0\njob time\t100\ts\n{}",
        lines.collect::<String>()
    )
}

/// For each rule a listing on which it gives advice, and one of the same form on which it does not.
fn cases() -> Vec<(&'static str, String, String)> {
    let retries = |name: &'static str| (mpt(&[(name, 3)]), mpt(&[]));
    let call = |name: &'static str, number| (calls(&[&[(name, number, 0.5)]]), calls(&[&[("isend", number, 0.5)]]));
    let long = "data buffers sent via shared memory";
    let copied = "bytes sent via shared memory";
    let single = "bytes sent using single copy";
    let pair = |id, (gives, quiet): (String, String)| (id, gives, quiet);
    let of = |class: &'static str, gives: &[(&str, u64)], quiet: &[(&str, u64)]| (ucx(class, gives), ucx(class, quiet));
    vec![
        pair("MPT_BUFS_PER_PROC", retries("retries allocating mpi PER_PROC buffers")),
        pair("MPT_BUFS_PER_HOST", retries("retries allocating mpi PER_HOST buffers")),
        pair("MPT_MSGS_PER_PROC", retries("retries allocating mpi PER_PROC headers")),
        pair("MPT_MSGS_PER_HOST", retries("retries allocating mpi PER_HOST headers")),
        (
            "MPT_NO_SINGLE_COPY",
            mpt(&[(long, 100), (copied, 1_000_000)]),
            mpt(&[(long, 1000), (copied, 1_000_000)]),
        ),
        (
            "MPT_LITTLE_SINGLE_COPY",
            mpt(&[(long, 100), (copied, 1_000_000), (single, 10_000)]),
            mpt(&[(long, 100), (copied, 1_000_000), (single, 9_000_000)]),
        ),
        pair("CALLS_BUFFERED_SENDS", call("ibsend", 7)),
        pair("CALLS_SYNCHRONOUS_SENDS", call("ssend", 7)),
        pair("CALLS_PACKING", call("MPI_Unpack", 7)),
        pair("CALLS_PROBING", call("iprobe", 1000)),
        pair("CALLS_CANCEL", call("cancel", 1)),
        (
            "CALLS_COLLECTIVE_TIME",
            calls(&[&[("gather", 9, 5.0)]]),
            calls(&[&[("gather", 9, 5.0), ("send", 9, 500.0)]]),
        ),
        (
            "CALLS_WAITING",
            calls(&[&[("waitall", 9, 5.0)]]),
            calls(&[&[("waitall", 9, 5.0), ("send", 9, 500.0)]]),
        ),
        (
            "CALLS_UNEVEN_RANKS",
            calls(&[&[("send", 9, 50.0)], &[("send", 9, 5.0)]]),
            calls(&[&[("send", 9, 50.0)], &[("send", 9, 45.0)]]),
        ),
        (
            "SPC_UNEXPECTED",
            spc(&[("UNEXPECTED", 200), ("RECV", 1000)]),
            spc(&[("UNEXPECTED", 200), ("RECV", 9000)]),
        ),
        (
            "SPC_LONG_QUEUE",
            spc(&[("MAX_UNEXPECTED_IN_QUEUE", 100)]),
            spc(&[("MAX_UNEXPECTED_IN_QUEUE", 99)]),
        ),
        (
            "SPC_OUT_OF_SEQUENCE",
            spc(&[("OUT_OF_SEQUENCE", 200)]),
            spc(&[("OUT_OF_SEQUENCE", 20)]),
        ),
        (
            "SPC_NEAR_EAGER_LIMIT",
            spc(&[("SEND", 2000), ("BYTES_SENT_USER", 2000 * 4096)]),
            spc(&[("SEND", 2000), ("BYTES_SENT_USER", 2000 * 8)]),
        ),
        pair(
            "UCX_UNEXPECTED_EAGER",
            of(
                "ucp_worker",
                &[("rx_eager_chunk_unexp", 500), ("rx_eager_chunk_exp", 100)],
                &[("rx_eager_chunk_unexp", 500), ("rx_eager_chunk_exp", 9000)],
            ),
        ),
        pair(
            "UCX_UNEXPECTED_RENDEZVOUS",
            of(
                "ucp_worker",
                &[("rndv_rx_unexp", 500), ("rndv_rx_exp", 100)],
                &[("rndv_rx_unexp", 500), ("rndv_rx_exp", 9000)],
            ),
        ),
        pair(
            "UCX_MOSTLY_RENDEZVOUS",
            of(
                "ucp_ep",
                &[("tx_rndv", 2000), ("tx_eager", 10)],
                &[("tx_rndv", 2000), ("tx_eager", 9000)],
            ),
        ),
        pair(
            "UCX_RENDEZVOUS_COPIES",
            of(
                "ucp_worker",
                &[("rndv_rx_exp", 500), ("rndv_get_zcopy", 0)],
                &[("rndv_rx_exp", 500), ("rndv_get_zcopy", 500)],
            ),
        ),
        pair(
            "UCX_NO_RESOURCES",
            of(
                "uct_ep",
                &[("no_res", 2000), ("am", 5000)],
                &[("no_res", 2000), ("am", 50_000)],
            ),
        ),
        pair("UCX_NO_CREDITS", of("rc_fc", &[("no_cred", 200)], &[("no_cred", 2)])),
        pair("UCX_GAPS", of("frag_list", &[("gaps", 200)], &[("gaps", 2)])),
        pair(
            "UCX_REGISTRATIONS",
            of(
                "rcache",
                &[("misses", 2000), ("gets", 5000), ("unmap_events", 1)],
                &[("misses", 2000), ("gets", 50_000), ("unmap_events", 1)],
            ),
        ),
        pair(
            "UCX_WILD_CARDS",
            of(
                "tag_offload",
                &[("block_wildcard", 1), ("posted", 5)],
                &[("block_wildcard", 0), ("posted", 5)],
            ),
        ),
        pair(
            "UCX_SYNCHRONOUS_SENDS",
            of(
                "ucp_ep",
                &[("tx_eager_sync", 1), ("tx_eager", 5)],
                &[("tx_eager_sync", 0), ("tx_eager", 5)],
            ),
        ),
        (
            "MPICH_ONE_ALGORITHM",
            include_str!("../../samples/mpich-algorithms.txt").to_owned(),
            include_str!("../../samples/mpich-algorithms.txt").replace("4000", "400"),
        ),
        (
            "APS_IDLE",
            functions(&[("MPI_Barrier", 9.0, 8.0)]),
            functions(&[("MPI_Barrier", 9.0, 0.5)]),
        ),
        (
            "PROFILE_COLLECTIVES",
            profile(&[("bcast on world.spent", 9.0), ("bcast on world.late", 2.0)]),
            profile(&[("bcast on world.spent", 9.0), ("bcast on world.late", 8.0)]),
        ),
        (
            "PROFILE_LATE_RANKS",
            profile(&[("bcast on world.spent", 20.0), ("bcast on world.late", 11.0)]),
            profile(&[("bcast on world.spent", 20.0), ("bcast on world.late", 9.0)]),
        ),
        (
            "PROFILE_LATE_SENDERS",
            profile(&[("waitall.waiting", 11.0)]),
            profile(&[("waitall.waiting", 9.0)]),
        ),
        (
            "PROFILE_LATE_PAIR",
            profile(&[("messages from 0 to 1.late", 5.0)]),
            profile(&[("messages from 0 to 1.late", 3.0)]),
        ),
        (
            "PROFILE_SHORT_MESSAGES",
            profile(&[("messages from 0 to 1.short", 5000.0), ("short sends.spent", 3.0)]),
            profile(&[("messages from 0 to 1.short", 500.0), ("short sends.spent", 3.0)]),
        ),
        (
            "PROFILE_LONG_BLOCKING",
            profile(&[("long messages.blocked", 5.0)]),
            profile(&[("long messages.blocked", 3.0)]),
        ),
        (
            "PROFILE_DERIVED_DATATYPES",
            profile(&[("derived datatypes.spent", 11.0)]),
            profile(&[("derived datatypes.spent", 9.0)]),
        ),
        (
            "PROFILE_NEW_COMMUNICATORS",
            profile(&[("new communicators.calls", 200.0), ("new communicators.spent", 3.0)]),
            profile(&[("new communicators.calls", 20.0), ("new communicators.spent", 3.0)]),
        ),
        (
            "PROFILE_UNEVEN_WORK",
            profile(&[("computation.spent", 90.0)]),
            profile(&[("computation.spent", 55.0)]),
        ),
        (
            "TRACE_LATE_SENDERS",
            trace(&[
                ("receives at step (a.c:1).late", 3.0),
                ("messages from 1 to 0.late", 3.0),
            ]),
            trace(&[
                ("receives at step (a.c:1).late", 1.0),
                ("messages from 1 to 0.late", 1.0),
            ]),
        ),
        (
            "TRACE_LATE_RECEIVERS",
            trace(&[("sends at step (a.c:1).held", 3.0)]),
            trace(&[("sends at step (a.c:1).held", 1.0)]),
        ),
        (
            "TRACE_JOINABLE_MESSAGES",
            trace(&[
                ("short messages at step.joinable", 1000.0),
                ("short messages.spent", 1.0),
            ]),
            trace(&[
                ("short messages at step.joinable", 999.0),
                ("short messages.spent", 1.0),
            ]),
        ),
        (
            "TRACE_BCASTS_IN_TURN",
            trace(&[
                ("MPI_Bcast of each rank in turn at step.times", 1.0),
                ("MPI_Bcast of each rank in turn at step.spent", 1.0),
            ]),
            trace(&[("MPI_Reduce of each rank in turn at step.times", 1.0)]),
        ),
        (
            "TRACE_GATHERS_IN_TURN",
            trace(&[
                ("MPI_Scatter of each rank in turn at step.times", 1.0),
                ("MPI_Scatter of each rank in turn at step.spent", 1.0),
            ]),
            trace(&[("MPI_Bcast of each rank in turn at step.times", 1.0)]),
        ),
        (
            "TRACE_REDUCES_IN_TURN",
            trace(&[
                ("MPI_Reduce of each rank in turn at step.times", 1.0),
                ("MPI_Reduce of each rank in turn at step.spent", 1.0),
            ]),
            trace(&[("MPI_Bcast of each rank in turn at step.times", 1.0)]),
        ),
        (
            "TRACE_REDUCE_THEN_BCAST",
            trace(&[
                ("MPI_Reduce then MPI_Bcast at step.times", 1.0),
                ("MPI_Reduce then MPI_Bcast at step.spent", 1.0),
            ]),
            trace(&[("MPI_Gather then MPI_Bcast at step.times", 1.0)]),
        ),
        (
            "TRACE_GATHER_THEN_BCAST",
            trace(&[
                ("MPI_Gather then MPI_Bcast at step.times", 1.0),
                ("MPI_Gather then MPI_Bcast at step.spent", 1.0),
            ]),
            trace(&[("MPI_Reduce then MPI_Bcast at step.times", 1.0)]),
        ),
        (
            "TRACE_REDUCE_THEN_SCATTER",
            trace(&[
                ("MPI_Reduce then MPI_Scatter at step.times", 1.0),
                ("MPI_Reduce then MPI_Scatter at step.spent", 1.0),
            ]),
            trace(&[("MPI_Reduce then MPI_Bcast at step.times", 1.0)]),
        ),
        (
            "TRACE_BARRIERS_BEFORE_COLLECTIVES",
            trace(&[
                ("MPI_Barrier before MPI_Allreduce at step.times", 10.0),
                ("MPI_Barrier before MPI_Allreduce at step.spent", 1.0),
            ]),
            trace(&[
                ("MPI_Barrier before MPI_Allreduce at step.times", 9.0),
                ("MPI_Barrier before MPI_Allreduce at step.spent", 1.0),
            ]),
        ),
        (
            "TRACE_COULD_OVERLAP",
            trace(&[
                ("MPI_Recv at step.next to work", 2.0),
                ("MPI_Recv at step.hideable", 1.0),
                ("overlap map.messages", 7.0),
            ]),
            trace(&[
                ("MPI_Recv at step.next to work", 2.0),
                ("MPI_Recv at step.hideable", 0.9),
                ("overlap map.messages", 7.0),
            ]),
        ),
        (
            "TRACE_MAY_OVERLAP",
            trace(&[("MPI_Send at step.next to work", 2.0)]),
            trace(&[("MPI_Send at step.next to work", 2.0), ("overlap map.messages", 7.0)]),
        ),
        (
            "TRACE_POLLS",
            trace(&[("MPI_Iprobe at step.polls", 10_000.0)]),
            trace(&[("MPI_Iprobe at step.polls", 9_999.0)]),
        ),
        (
            "TRACE_WILD_CARDS",
            trace(&[("receives of anybody at step.of one", 100.0)]),
            trace(&[("receives of anybody at step.calls", 100.0)]),
        ),
        ("APS_UNEVEN_RANKS", ranks(&[50.0, 5.0]), ranks(&[50.0, 45.0])),
    ]
}

#[test]
fn every_rule_gives_advice_on_one_listing_and_none_on_another() {
    let cases = cases();
    let named: BTreeSet<&str> = cases.iter().map(|(id, ..)| *id).collect();
    for rule in rules::load_embedded().unwrap() {
        assert!(named.contains(rule.id.as_str()), "{} has no case", rule.id);
    }
    for (id, gives, quiet) in &cases {
        let judged = advised("a.log", gives);
        let advice = judged.advice.iter().find(|advice| advice.id == *id);
        let advice = advice.unwrap_or_else(|| panic!("{id} gives no advice on\n{gives}"));
        assert!(!advice.evidence.is_empty(), "{id}");
        for text in [&advice.seen, &advice.change, &advice.step] {
            assert!(!text.contains(['{', '}']) && !text.ends_with(" -"), "{id}: {text}");
        }
        let judged = advised("a.log", quiet);
        assert!(
            judged.advice.iter().all(|advice| advice.id != *id),
            "{id} gives advice on\n{quiet}"
        );
        assert!(
            judged.lacking.iter().all(|lacking| lacking.id != *id),
            "{id} was not judged on\n{quiet}"
        );
    }
}

#[test]
fn a_rule_whose_counters_are_not_printed_is_named() {
    let judged = advised(
        "a.log",
        "0: 7 retries allocating mpi PER_PROC buffers for collective calls\n",
    );
    assert_eq!(judged.advice.len(), 1);
    let lacking: Vec<&str> = judged.lacking.iter().map(|lacking| lacking.id.as_str()).collect();
    assert!(lacking.contains(&"MPT_NO_SINGLE_COPY"), "{lacking:?}");
    assert!(render::text(&judged).contains("not judged, since the listing lacks their counters: MPT_BUFS_PER_HOST"));
}

#[test]
fn the_same_call_is_found_in_every_form_that_counts_it() {
    let ssend = functions(&[("MPI_Ssend", 9.0, 0.0)]);
    for text in [spc(&[("SSEND", 3)]), calls(&[&[("ssend", 3, 0.1)]]), ssend] {
        let judged = advised("a.log", &text);
        assert!(
            judged
                .advice
                .iter()
                .any(|advice| advice.id == "CALLS_SYNCHRONOUS_SENDS"),
            "{text}"
        );
    }
}

#[test]
fn seconds_come_first_and_are_said_to_be_missing() {
    let judged = advised("a.log", &calls(&[&[("ssend", 3, 0.1), ("waitall", 9, 7.0)]]));
    let seconds: Vec<Option<f64>> = judged.advice.iter().map(|advice| advice.seconds).collect();
    assert_eq!(seconds, [Some(7.0), Some(0.1)]);
    let judged = advised("a.log", &spc(&[("SSEND", 3)]));
    assert_eq!(judged.advice[0].at_stake, "the listing has no times");
    let judged = advised("a.log", &spc(&[("SSEND", 3), ("MATCH_TIME", 5)]));
    assert_eq!(judged.advice[0].at_stake, "the listing has no time of this");
}
