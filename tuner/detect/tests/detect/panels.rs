//! Broadcasts of panels on grids of 1 x 4 and 2 x 4 ranks, where each row is a communicator.

use kilter_detect::detect;
use kilter_detect::model::finding::{Collective, Confidence, Replacement, Root};
use kilter_detect::model::trace::{Kind, Trace};

use crate::fixture::{Program, Rank, on_world, trace};
use crate::patterns::panels;

fn on_rows(program: &Program<'_>) -> Trace {
    let rows = [(0..8).collect(), vec![0, 2, 4, 6], vec![1, 3, 5, 7]];
    trace(8, &rows, &[(1, program), (2, program)])
}

fn check(name: &str, trace: &Trace, rows: usize, bytes_of: fn(u32) -> usize, least: Confidence) {
    let detection = detect(trace);
    let shown: Vec<String> = detection.findings.iter().map(crate::table::shown).collect();
    assert_eq!(shown.len(), rows, "{name}: {shown:#?} {:?}", detection.filtered);
    for finding in &detection.findings {
        assert_eq!(finding.collective, Collective::Broadcast, "{name}: {shown:#?}");
        assert_eq!(finding.instances.len(), panels::PANELS as usize, "{name}: {shown:#?}");
        assert_eq!(finding.root, Root::Varies, "{name}: {shown:#?}");
        assert!(finding.confidence >= least && !finding.is_subset, "{name}: {shown:#?}");
        let bytes: Vec<u64> = finding.instances.iter().map(|one| one.bytes).collect();
        let right: Vec<u64> = (0..panels::PANELS).map(|panel| bytes_of(panel) as u64).collect();
        assert_eq!(bytes, right, "{name}");
        let roots: Vec<_> = finding.instances.iter().map(|one| one.root).collect();
        assert_eq!(roots, [0, 1, 2, 3, 0, 1, 2, 3].map(Some), "{name}");
        assert_eq!(
            finding.replacement,
            Replacement::Blocking("MPI_Bcast".to_owned()),
            "{name}"
        );
    }
}

type Variant = fn(&mut Rank);

#[test]
fn all_six_variants_are_broadcasts_of_as_many_panels() {
    let variants: [(&str, Variant); 6] = [
        ("increasing ring", panels::increasing_ring),
        ("increasing ring, modified", panels::increasing_ring_modified),
        ("two rings", panels::two_rings),
        ("two rings, modified", panels::two_rings_modified),
        ("long", panels::long),
        ("long, modified", panels::long_modified),
    ];
    for (name, program) in variants {
        for is_packed in [true, false] {
            let program = move |rank: &mut Rank| {
                rank.is_packed = is_packed;
                program(rank);
            };
            let name = if is_packed {
                format!("{name}, packed")
            } else {
                name.to_owned()
            };
            check(&name, &on_world(4, &program), 1, panels::bytes, Confidence::Likely);
            check(&name, &on_rows(&program), 2, panels::bytes, Confidence::Likely);
        }
    }
}

/// Reported before as two broadcasts that wait for each other: the pieces that a rank cut from what it received seemed to be its own.
#[test]
fn pieces_without_chunks_and_without_a_place_are_those_of_the_root() {
    for (name, program) in [
        ("long", panels::long_of_few_bytes as Variant),
        ("long, modified", panels::long_modified_of_few_bytes),
    ] {
        let program = move |rank: &mut Rank| {
            rank.is_packed = true;
            program(rank);
        };
        check(name, &on_world(4, &program), 1, panels::few_bytes, Confidence::Certain);
        check(name, &on_rows(&program), 2, panels::few_bytes, Confidence::Certain);
    }
}

#[test]
fn panels_that_are_looked_for_want_the_non_blocking_broadcast() {
    let detection = detect(&on_world(4, &panels::increasing_ring_polled));
    let finding = crate::findings::only(&detection);
    assert_eq!(finding.instances.len(), panels::PANELS as usize);
    assert_eq!(finding.replacement, Replacement::NonBlocking("MPI_Ibcast".to_owned()));
}

/// Long payloads have every second chunk, shorter ones have all: what only some messages show is not where data begin.
#[test]
fn a_sample_of_the_chunks_of_long_payloads_is_enough() {
    for program in [panels::long as Variant, panels::long_modified] {
        let packed = move |rank: &mut Rank| {
            rank.is_packed = true;
            program(rank);
        };
        let mut trace = on_world(4, &packed);
        trace.chunk_sample = 2;
        for event in trace.events.iter_mut().flatten() {
            if let Kind::Send { payload, .. } | Kind::Receive { payload, .. } = &mut event.kind {
                payload
                    .chunks
                    .retain(|chunk| payload.bytes < 9000 || chunk.hash.is_multiple_of(2));
            }
        }
        // The last panels are short: their pieces have two chunks of the sample, or one, at a border.
        let detection = detect(&trace);
        let finding = crate::findings::only(&detection);
        assert_eq!(
            (finding.collective, &finding.root),
            (Collective::Broadcast, &Root::Varies)
        );
        assert!(finding.instances.len() >= 6, "{}", crate::table::shown(finding));
    }
}
