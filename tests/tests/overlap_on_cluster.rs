//! `kilter overlap` between hosts: what crosses the network takes its latency at least.

use kilter_tests::cluster::Cluster;
use kilter_tests::{kilter, run};
use serde_json::Value;

/// Latency of the cluster's links, in seconds.
const LATENCY: f64 = 200e-6;
/// Computation that communication is overlapped with, in seconds.
const COMPUTATION: f64 = 2e-3;

/// If other ranks began earlier than the timed rank, their data would already have arrived, and the time would be below the latency.
fn a_collective_between_hosts_takes_their_latency() {
    let Some(cluster) = Cluster::up("2") else { return };
    let out = tempfile::tempdir().unwrap();
    let mut overlap = kilter("overlap", out.path());
    overlap
        .args(["-n", "2", "--benchmarks", "ibcast,iallreduce,iallgather,ialltoall"])
        .args([
            "--sizes",
            "8,4KiB",
            "--computation",
            "2ms",
            "--repetitions",
            "7",
            "--full",
        ]);
    run(&mut cluster.inside(&overlap, None), &[0]);
    let survey = std::fs::read_to_string(out.path().join("overlap.json")).unwrap();
    let survey: Value = serde_json::from_str(&survey).unwrap();
    let maps = survey["maps"].as_array().unwrap();
    assert_eq!(maps.len(), 4);
    for map in maps {
        let cells = map["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 2, "{map:#}");
        for cell in cells {
            let seconds = |name: &str| cell[name].as_f64().unwrap_or_else(|| panic!("no {name}: {cell:#}"));
            let (communication, both) = (seconds("communication_seconds"), seconds("overlapped_seconds"));
            // The margins allow for timers (5 %) and for an error of the computation's calibration.
            assert!(communication > 0.95 * LATENCY, "{cell:#}");
            assert!(both > 0.5 * COMPUTATION, "{cell:#}");
        }
    }
}

kilter_tests::cases![a_collective_between_hosts_takes_their_latency,];
