//! Open MPI's software-based performance counters, as `mpi_spc_dump_enabled` prints them in `MPI_Finalize`.
//!
//! `MPI_COMM_WORLD Rank 0:` begins a rank, `OMPI_SPC_SEND -> 8192` is a counter; Open MPI puts `[host:pid] ` in front of both. A counter
//! has the printed name. `OMPI_SPC_MATCH_TIME` is printed in microseconds and becomes seconds. Counters of 0 are not printed.

use super::Format;
use crate::listing::{Found, Unit, number};

const HEAD: &str = "Open MPI Software-based Performance Counters";
const RANK: &str = "MPI_COMM_WORLD Rank ";
const COUNTER: &str = "OMPI_SPC_";
const ARROW: &str = " -> ";

pub(super) static FORMAT: Format = Format {
    id: "openmpi-spc",
    title: "software performance counters of Open MPI",
    made_by: "`mpirun --mca mpi_spc_attach all --mca mpi_spc_dump_enabled true ...`, with an Open MPI that was configured with --enable-spc",
    source: "Open MPI 4.1.4, 5.0.8 and main of 2026-08-21, ompi/runtime/ompi_spc.c",
    leaves_out_zeros: true,
    file_per_process: false,
    is_sign: |line| line.contains(HEAD) || counter(line).is_some(),
    read,
};

fn read(text: &str, found: &mut Found) {
    let mut rank = None;
    for (index, line) in text.lines().enumerate() {
        if let Some((_, rest)) = line.split_once(RANK) {
            let digits = rest.trim_end().trim_end_matches(':');
            rank = digits
                .parse::<u32>()
                .ok()
                .map(|rank| found.process_anew(&format!("rank {rank}")));
        } else if let (Some(process), Some((name, value))) = (rank, counter(line)) {
            let (value, unit) = match name {
                "OMPI_SPC_MATCH_TIME" => (value / 1e6, Unit::Seconds),
                _ if name.starts_with("OMPI_SPC_BYTES_") => (value, Unit::Bytes),
                _ => (value, Unit::Count),
            };
            found.push(process, name, value, unit, index + 1);
        }
    }
}

/// Name and printed value of a counter's line.
fn counter(line: &str) -> Option<(&str, f64)> {
    let (name, rest) = line.get(line.find(COUNTER)?..)?.split_once(ARROW)?;
    let is_name = name
        .chars()
        .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    let value = number(rest.split_whitespace().next()?)?;
    is_name.then_some((name, value))
}
