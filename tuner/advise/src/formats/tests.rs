use super::*;
use crate::listing::Unit;

const SAMPLES: &[(&str, &str, &str)] = &[
    (
        "mpt-stats",
        "mpt-chapter.txt",
        include_str!("../../samples/mpt-chapter.txt"),
    ),
    (
        "call-profile",
        "call-profile-chapter.txt",
        include_str!("../../samples/call-profile-chapter.txt"),
    ),
    (
        "openmpi-spc",
        "openmpi-spc.txt",
        include_str!("../../samples/openmpi-spc.txt"),
    ),
    (
        "mpich-algorithms",
        "mpich-algorithms.txt",
        include_str!("../../samples/mpich-algorithms.txt"),
    ),
    ("ucx-stats", "ucx-full.txt", include_str!("../../samples/ucx-full.txt")),
    ("ucx-stats", "ucx-agg.txt", include_str!("../../samples/ucx-agg.txt")),
    (
        "intel-aps",
        "intel-aps.txt",
        include_str!("../../samples/intel-aps.txt"),
    ),
    (
        "intel-aps",
        "intel-aps-rank.txt",
        include_str!("../../samples/intel-aps-rank.txt"),
    ),
    (
        "kilter-profile",
        "kilter-profile.txt",
        include_str!("../../samples/kilter-profile.txt"),
    ),
    (
        "kilter-trace",
        "kilter-trace.txt",
        include_str!("../../samples/kilter-trace.txt"),
    ),
];

/// The value of a counter of a process, with its unit and line.
fn counter(listing: &Listing, process: &str, name: &str) -> Option<(f64, Unit, usize)> {
    let process = listing.processes.iter().find(|one| one.label == process)?;
    let counter = process.counters.iter().find(|counter| counter.name == name)?;
    Some((counter.value, counter.unit, counter.line))
}

fn sample(file: &str) -> Listing {
    let (_, _, text) = SAMPLES.iter().find(|(_, name, _)| *name == file).unwrap();
    read(text, file).unwrap().remove(0)
}

#[test]
fn every_sample_is_of_its_form_and_of_no_other() {
    for (id, file, text) in SAMPLES {
        let listings = read(text, file).unwrap();
        let ids: Vec<&str> = listings.iter().map(|listing| listing.format.id).collect();
        assert_eq!(ids, [*id], "{file}");
    }
}

#[test]
fn every_form_has_a_sample_and_every_file_a_row() {
    for format in FORMATS {
        assert!(SAMPLES.iter().any(|(id, ..)| *id == format.id), "{}", format.id);
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/formats");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    // Besides the table itself and these tests.
    assert_eq!(files.count(), FORMATS.len() + 2, "a file has no row, or a row no file");
}

#[test]
fn the_chapters_listing_is_read_whole() {
    let listing = sample("mpt-chapter.txt");
    assert_eq!(listing.processes.len(), 1);
    assert_eq!(listing.processes[0].label, "rank 3");
    assert_eq!(listing.processes[0].counters.len(), 18);
    assert!(!listing.has_times());
    assert_eq!(
        counter(
            &listing,
            "rank 3",
            "retries allocating mpi PER_PROC buffers for point-to-point calls"
        ),
        Some((5672.0, Unit::Count, 12))
    );
    assert_eq!(
        counter(
            &listing,
            "rank 3",
            "bytes sent via shared memory for point-to-point calls"
        ),
        Some((15_756_000.0, Unit::Bytes, 23))
    );
}

#[test]
fn the_chapters_profile_is_read_whole() {
    let listing = sample("call-profile-chapter.txt");
    assert_eq!(listing.processes.len(), 1);
    assert_eq!(counter(&listing, "rank 0", "job time").map(|one| one.0), Some(220.3333));
    assert_eq!(
        counter(&listing, "rank 0", "waitall.time").map(|one| (one.0, one.1)),
        Some((77.3805, Unit::Seconds))
    );
    assert_eq!(
        counter(&listing, "rank 0", "waitall.# of Reqs").map(|one| one.0),
        Some(44078.0)
    );
    assert_eq!(
        counter(&listing, "rank 0", "allreduce.calls").map(|one| one.0),
        Some(4658.0)
    );
}

#[test]
fn counters_of_open_mpi_have_their_units() {
    let listing = sample("openmpi-spc.txt");
    assert_eq!(listing.processes.len(), 2);
    assert_eq!(
        counter(&listing, "rank 0", "OMPI_SPC_UNEXPECTED"),
        Some((6040.0, Unit::Count, 10))
    );
    assert_eq!(
        counter(&listing, "rank 0", "OMPI_SPC_MATCH_TIME").map(|one| (one.0, one.1)),
        Some((1.84, Unit::Seconds))
    );
    assert_eq!(
        counter(&listing, "rank 1", "OMPI_SPC_BYTES_SENT_USER").map(|one| one.1),
        Some(Unit::Bytes)
    );
}

#[test]
fn counters_of_ucx_belong_to_the_node_above() {
    let listing = sample("ucx-full.txt");
    assert_eq!(
        counter(&listing, "node1:31415", "ucp_worker.rndv_rx_exp").map(|one| one.0),
        Some(4000.0)
    );
    assert_eq!(
        counter(&listing, "node1:31415", "ucp_ep.tx_rndv").map(|one| one.0),
        Some(5500.0)
    );
    assert_eq!(
        counter(&listing, "node1:31415", "tag_offload.block_wildcard").map(|one| one.0),
        Some(0.0)
    );
    assert_eq!(
        counter(&listing, "node1:31415", "uct_ep.no_res").map(|one| one.0),
        Some(12000.0)
    );
    assert_eq!(
        counter(&listing, "node1:31415", "uct_iface.rx_am").map(|one| one.0),
        Some(30000.0)
    );
    let listing = sample("ucx-agg.txt");
    assert_eq!(
        counter(&listing, "node2:2718", "ucp_ep.tx_eager").map(|one| one.0),
        Some(1000.0)
    );
    assert_eq!(
        counter(&listing, "node2:2718", "rcache.misses").map(|one| one.0),
        Some(12000.0)
    );
}

/// As a comment of the pull request that brought the counters shows them: without the process.
#[test]
fn nodes_of_ucx_are_read_without_their_process() {
    let text = "ucp_worker-0x2d2f020:\n    rx_eager_msg: 0\n    ucp_ep-0x2edb5b0:\n      tx_eager: 1000\n";
    let listing = read(text, "a.txt").unwrap().remove(0);
    assert_eq!(
        counter(&listing, "process 1", "ucp_ep.tx_eager").map(|one| one.0),
        Some(1000.0)
    );
    assert_eq!(
        counter(&listing, "process 1", "ucp_worker.rx_eager_msg").map(|one| one.0),
        Some(0.0)
    );
}

#[test]
fn a_process_of_ucx_that_prints_again_replaces_what_it_printed() {
    let text = "n:1:\n  ucp_ep-0x1:\n    tx_eager: 5\n\nn:1:\n  ucp_ep-0x1:\n    tx_eager: 9\n";
    let listing = read(text, "a.txt").unwrap().remove(0);
    assert_eq!(listing.processes[0].counters.len(), 1);
    assert_eq!(listing.processes[0].counters[0].value, 9.0);
}

#[test]
fn charts_of_aps_are_told_apart() {
    let listing = sample("intel-aps.txt");
    assert_eq!(
        counter(&listing, "all ranks", "Barrier.idle").map(|one| (one.0, one.1)),
        Some((91.79, Unit::Seconds))
    );
    assert_eq!(
        counter(&listing, "all ranks", "Ssend.calls").map(|one| one.0),
        Some(4096.0)
    );
    assert_eq!(
        counter(&listing, "all ranks", "Ssend.volume").map(|one| (one.0, one.1)),
        Some((8_388_608.0, Unit::Bytes))
    );
    assert_eq!(counter(&listing, "rank 1", "mpi time").map(|one| one.0), Some(101.2));
    assert_eq!(
        counter(&listing, "all ranks", "262144 B.transfers").map(|one| one.0),
        Some(33360.0)
    );
    let all = listing.processes.iter().flat_map(|process| &process.counters);
    assert!(all.clone().all(|counter| !counter.name.starts_with("TOTAL")));
    let listing = sample("intel-aps-rank.txt");
    assert_eq!(
        counter(&listing, "rank 3", "Alltoallv.time").map(|one| one.0),
        Some(23.9206)
    );
}

#[test]
fn a_jobs_output_may_have_listings_of_several_forms() {
    let all: String = SAMPLES
        .iter()
        .map(|(_, _, text)| format!("output of the program\n{text}\n"))
        .collect();
    let listings = read(&all, "job.log").unwrap();
    assert_eq!(listings.len(), FORMATS.len());
}

#[test]
fn files_of_the_processes_of_one_job_are_one_listing() {
    let of = |file: &str| sample(file);
    let jobs = joined(vec![
        of("ucx-full.txt"),
        of("openmpi-spc.txt"),
        of("ucx-agg.txt"),
        of("openmpi-spc.txt"),
    ]);
    let seen: Vec<(&str, usize, usize)> = jobs
        .iter()
        .map(|job| (job.format.id, job.files.len(), job.processes.len()))
        .collect();
    assert_eq!(
        seen,
        [("ucx-stats", 2, 2), ("openmpi-spc", 1, 2), ("openmpi-spc", 1, 2)]
    );
}

#[test]
fn files_without_statistics_are_refused_with_what_is_expected() {
    let unknown = read("hello\nworld\n", "job.log").unwrap_err();
    insta::assert_snapshot!(unknown);
    let empty = read("n1: *** Dumping MPI internal resource statistics...\n", "job.log").unwrap_err();
    insta::assert_snapshot!(empty);
}
