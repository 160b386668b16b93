//! Text of the page around its figures.

use kilter_model::survey::Survey;
use kilter_protocol::overlap::{Benchmark, Model};
use kilter_render::format;

use crate::classify::Finding;

/// Replaces signs that a plain console may lack by those of a page.
pub(super) fn typeset(text: &str) -> String {
    text.replace(" us", " µs")
        .replace("<=", "≤")
        .replace(">=", "≥")
        .replace('\'', "’")
}

pub(super) fn subject(survey: &Survey) -> String {
    let mut hosts = survey.hosts.clone();
    hosts.sort();
    hosts.dedup();
    let hosts = match hosts.as_slice() {
        [] => String::new(),
        [only] => format!(" · {only}"),
        several => format!(" · {}", format::count(several.len(), "host")),
    };
    format!("{} · {}{hosts}", survey.library, format::count(survey.ranks, "rank"))
}

pub(super) fn facts(survey: &Survey, library: &Finding) -> Vec<(&'static str, String)> {
    let mut hosts = survey.hosts.clone();
    hosts.sort();
    hosts.dedup();
    let cells = survey.maps.iter().flat_map(|map| &map.cells);
    let disturbed: u64 = cells.clone().map(|cell| u64::from(cell.disturbed)).sum();
    let kept: u64 = cells.clone().map(|cell| u64::from(cell.repetitions)).sum();
    let computation = match survey.computation {
        Model::FixedWork => "a fixed amount of work, calibrated before the library started",
        Model::ClockSpin => "spinning until the clock says so: cycles that something else takes do not show",
    };
    let spare = if survey.has_spare_core() {
        "a spare core for each rank"
    } else {
        "no spare core for each rank"
    };
    vec![
        ("Library", survey.library.clone()),
        (
            "Transport",
            if survey.transport.is_empty() {
                "not known".to_owned()
            } else {
                survey.transport.clone()
            },
        ),
        ("Hosts", hosts.join(", ")),
        (
            "Processing units",
            format!(
                "{} on the first rank’s host{}; {spare}",
                survey.processing_units,
                match survey.processing_units_by.as_str() {
                    "" => String::new(),
                    by => format!(", says {by}"),
                }
            ),
        ),
        ("Computation", computation.to_owned()),
        (
            "Cells",
            format!(
                "{} measured, {} filled in; {kept} repetitions kept, {disturbed} disturbed",
                cells.clone().filter(|cell| !cell.inferred).count(),
                cells.filter(|cell| cell.inferred).count()
            ),
        ),
        ("Sides", library.evidence.clone()),
        ("Command", survey.command.clone()),
    ]
}

/// Heading of a benchmark, and rank 0's part in it.
pub(super) const fn caption(benchmark: Benchmark) -> (&'static str, &'static str) {
    match benchmark {
        Benchmark::Sender => (
            "Sender’s side",
            "MPI_Isend, computation, MPI_Wait; the receiver waits within the library.",
        ),
        Benchmark::Receiver => (
            "Receiver’s side",
            "MPI_Irecv, computation, MPI_Wait; the sender waits within the library.",
        ),
        Benchmark::BothSides => (
            "Both sides",
            "One rank sends and one receives, and both compute meanwhile.",
        ),
        Benchmark::NonContiguous => (
            "Non-contiguous data",
            "As the sender’s side, of blocks of 32 bytes at a stride of 64.",
        ),
        Benchmark::CpuOverhead => (
            "Sender’s processor time",
            "MPI_Isend, computation, MPI_Wait, without waiting for the arrival; communication alone is a blocking MPI_Send.",
        ),
        Benchmark::ThreadLoad => (
            "Computing threads",
            "Blocking round trips while threads compute beside the one that communicates.",
        ),
        Benchmark::ManyRequests => (
            "Several requests",
            "As the sender’s side, the message divided over several requests.",
        ),
        Benchmark::ManyPeers => (
            "Several peers",
            "As the sender’s side, the message divided over all other ranks.",
        ),
        Benchmark::Ibcast => (
            "Non-blocking broadcast",
            "MPI_Ibcast, computation, MPI_Wait on all ranks.",
        ),
        Benchmark::Iallreduce => (
            "Non-blocking allreduce",
            "MPI_Iallreduce, computation, MPI_Wait on all ranks.",
        ),
        Benchmark::Iallgather => (
            "Non-blocking allgather",
            "MPI_Iallgather, computation, MPI_Wait on all ranks.",
        ),
        Benchmark::Ialltoall => (
            "Non-blocking alltoall",
            "MPI_Ialltoall, computation, MPI_Wait on all ranks.",
        ),
    }
}
