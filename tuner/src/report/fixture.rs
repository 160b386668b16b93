//! Reports to render: times of a plausible machine, made by formula, so that every run draws the same picture.
//!
//! Shared by the tests and by the example `report_fixture`, hence `super::model` and no other path.

use super::model::{
    Cell, Change, Comparison, Contest, Contestant, Fix, FixKind, Library, Outcome, Provenance, Quarantined, Report,
    SCHEMA, Setting,
};

const LAUNCHES: usize = 10;
const EAGER: &str = "btl_vader_eager_limit=32768";
const MALLOC: &str = "MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=4294967296";
const CHAIN: &str = "scan.pipelined_chain";

/// A report without a single cell.
pub(crate) fn empty() -> Report {
    Report {
        schema: SCHEMA,
        command: "check".to_owned(),
        library: Library {
            name: "Open MPI".to_owned(),
            version: "4.1.4".to_owned(),
        },
        ranks: 2,
        provenance: Provenance {
            library_string: "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022"
                .to_owned(),
            hosts: vec!["node01".to_owned()],
            seed: 42,
            command_line: "kilter check -n 2 --sizes 1..1MiB --launches 10 --seed 42".to_owned(),
            launch_before: "mpirun -n 2 kilter-worker --plan kilter-out/jobs/0001/plan.json".to_owned(),
            launch_after: String::new(),
            started: "2026-11-21T05:04:11Z".to_owned(),
            measuring_seconds: 0.0,
            budget: Vec::new(),
            launches: LAUNCHES,
            alpha: 0.05,
            effect_floor: 0.05,
            noise_seconds: 8.1e-8,
            clock_tick_seconds: 2.1e-8,
            clock_read_seconds: 1.9e-8,
            loop_overhead_seconds: 4.2e-8,
            sync_method: "shared-clock".to_owned(),
            sync_residual_seconds: 6.4e-8,
            sync_bound_seconds: 3.1e-7,
            kilter_version: "0.1.0".to_owned(),
            simulated_machine: None,
            site_parameters: Vec::new(),
        },
        cells: Vec::new(),
        changes: Vec::new(),
        contests: Vec::new(),
        savings: Vec::new(),
        targets: Vec::new(),
        overlap: None,
        quarantined: Vec::new(),
        not_verified: std::collections::BTreeMap::new(),
        warnings: Vec::new(),
    }
}

/// Every guideline holds.
pub(crate) fn holding() -> Report {
    let mut report = checked();
    report.warnings.clear();
    for cell in &mut report.cells {
        let bound = cell.before.right_seconds;
        cell.before = compare(0.8 * bound, bound, cell.bytes);
    }
    report
}

/// `kilter check`: violations, nothing tried.
pub(crate) fn checked() -> Report {
    let mut report = empty();
    report.provenance.measuring_seconds = 41.3;
    report.warnings = warnings();
    let sizes: Vec<u64> = (0..=20).map(|exponent| 1 << exponent).collect();
    for (guideline, function, right) in PATTERNS {
        for bytes in &sizes {
            report.cells.push(pattern(guideline, function, right, *bytes));
        }
    }
    for function in ["gather", "reduce"] {
        for pair in sizes.windows(2) {
            report.cells.push(monotony(function, pair[0], pair[1]));
        }
    }
    for bytes in sizes.iter().filter(|bytes| **bytes >= 1024) {
        report.cells.push(split("bcast", *bytes));
    }
    report
}

/// `kilter tune`: a parameter, a pair of them and an algorithm deployed, a violation that stays, one that is not proven.
pub(crate) fn tuned() -> Report {
    let mut report = checked();
    report.command = "tune".to_owned();
    report.provenance.command_line = "kilter tune -n 2 --sizes 1..1MiB --launches 10 --seed 42".to_owned();
    report.provenance.launch_after = "env OMPI_MCA_mca_base_param_files=kilter-out/emit/openmpi-mca-params.conf \
        KILTER_PROFILE=kilter-out/emit/profile.json LD_PRELOAD=kilter-out/emit/libkilter.so mpirun -n 2 kilter-worker \
        --plan kilter-out/jobs/0031/plan.json"
        .to_owned();
    report.provenance.measuring_seconds = 171.6;
    for cell in &mut report.cells {
        tune(cell);
    }
    report.changes = changes();
    report.contests = contests();
    report.quarantined = vec![
        Quarantined {
            id: "coll_tuned_bcast_algorithm=8".to_owned(),
            what: "crashed".to_owned(),
            detail: "rank 1 ended by signal 11 after 0.4 s at 1 MiB; the job's log is jobs/0017/stderr".to_owned(),
        },
        Quarantined {
            id: "coll_tuned_scan_algorithm=2".to_owned(),
            what: "had no effect".to_owned(),
            detail: "read back as 0 on the fresh communicator".to_owned(),
        },
    ];
    report
}

const PATTERNS: [(&str, &str, &str); 6] = [
    ("GL3", "gather", "allgather(n)"),
    ("GL7", "scatter", "bcast(n)"),
    ("GL8", "reduce", "allreduce(n)"),
    ("GL10", "bcast", "scatter(n) + allgather(n)"),
    ("GL14", "reduce", "reduce_scatter_block(n) + gather(n)"),
    ("GL16", "scan", "exscan(n) + reduce_local(n)"),
];

fn warnings() -> Vec<String> {
    vec![
        "The processor's frequency is not fixed (governor: schedutil); set it to performance before tuning for \
         production."
            .to_owned(),
    ]
}

/// Seconds of a collective on the untouched library: latency, bandwidth, and the steps of its protocols.
fn model(function: &str, bytes: u64) -> f64 {
    let n = bytes as f64;
    let (latency, bandwidth) = match function {
        "gather" => (0.62e-6, 9.0e9),
        "scatter" => (0.51e-6, 8.2e9),
        "allgather" => (0.95e-6, 8.0e9),
        "bcast" => (0.58e-6, 7.5e9),
        "reduce" => (0.78e-6, 4.6e9),
        "allreduce" => (1.12e-6, 4.2e9),
        "scan" => (0.85e-6, 3.2e9),
        _ => (1.0e-6, 6.0e9),
    };
    let smooth = latency + n / bandwidth;
    match (function, bytes) {
        ("gather", 1) => 1.61e-6,
        ("reduce", 4096) => smooth * 2.2,
        ("reduce", 524_288) => 528.0e-6,
        ("reduce", 1_048_576) => 760.0e-6,
        ("allreduce", 524_288..) => smooth * 1.9,
        ("scan", 262_144..=524_288) => smooth * 2.1,
        _ => smooth,
    }
}

fn right_model(expression: &str, bytes: u64) -> f64 {
    let sum: f64 = expression
        .split('+')
        .map(|term| match term.trim().trim_end_matches("(n)") {
            "exscan" => 0.88e-6 + bytes as f64 / 3.3e9,
            "reduce_local" => 0.03e-6 + bytes as f64 / 21.0e9,
            "reduce_scatter_block" => 0.7e-6 + bytes as f64 / 6.5e9,
            name => model(name, bytes),
        })
        .sum();
    if bytes >= 524_288 && expression.contains("reduce_scatter_block") {
        sum * 2.4
    } else {
        sum
    }
}

fn pattern(guideline: &str, function: &str, right: &str, bytes: u64) -> Cell {
    let mut cell = cell(
        guideline,
        "pattern",
        function,
        bytes,
        format!("{function}(n) <= {right}"),
    );
    let (mut left, bound) = (model(function, bytes), right_model(right, bytes));
    if guideline == "GL3" && bytes == 1 {
        left = 0.9e-6;
    }
    cell.before = compare(left, bound, bytes);
    if (guideline, bytes) == ("GL7", 64) {
        cell.before.verdict = Outcome::Undecided;
        cell.before.p_adjusted = 0.21;
    }
    cell
}

fn monotony(function: &str, bytes: u64, larger: u64) -> Cell {
    let mut cell = cell(
        "GL1",
        "monotony",
        function,
        bytes,
        format!("{function}({bytes}) <= {function}({larger})"),
    );
    cell.right_bytes = Some(larger);
    cell.before = compare(model(function, bytes), model(function, larger), bytes);
    if (function, bytes) == ("gather", 8) {
        cell.before.verdict = Outcome::Unstable;
        cell.before.left_medians[0] *= 2.3;
    }
    cell
}

fn split(function: &str, bytes: u64) -> Cell {
    let mut cell = cell(
        "GL2",
        "split",
        function,
        bytes,
        format!("{function}({bytes}) <= 2 {function}({})", bytes / 2),
    );
    cell.right_bytes = Some(bytes / 2);
    cell.before = compare(model(function, bytes), 2.0 * model(function, bytes / 2), bytes);
    cell
}

fn cell(guideline: &str, kind: &str, function: &str, bytes: u64, expression: String) -> Cell {
    Cell {
        guideline: guideline.to_owned(),
        expression,
        kind: kind.to_owned(),
        function: function.to_owned(),
        bytes,
        measured_bytes: bytes.next_multiple_of(2),
        right_bytes: None,
        ranks: 2,
        before: compare(1e-6, 2e-6, bytes),
        after: None,
        fix: None,
        unfixed_because: None,
        note: None,
    }
}

/// Launch medians around two times, and the verdict that ten launches a side give.
fn compare(left: f64, right: f64, seed: u64) -> Comparison {
    let launches = |center: f64, salt: u64| -> Vec<f64> {
        (0..LAUNCHES as u64)
            .map(|launch| {
                let mixed = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23) ^ (launch * 7 + salt);
                let unit = (mixed.wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f64 / f64::from(1 << 24);
                center * (0.975 + 0.06 * unit * unit)
            })
            .collect()
    };
    let (left_medians, right_medians) = (launches(left, 1), launches(right, 2));
    let (seconds, right_seconds) = (median(&left_medians), median(&right_medians));
    let ratio = seconds / right_seconds;
    let (verdict, p, p_adjusted) = match ratio {
        r if r > 1.3 => (Outcome::Violated, 5.4e-6, 0.000_72),
        r if r > 1.05 => (Outcome::Violated, 9.1e-5, 0.0084),
        r if r > 0.98 => (Outcome::Undecided, 0.18, 1.0),
        _ => (Outcome::Holds, 0.999, 1.0),
    };
    Comparison {
        verdict,
        ratio,
        ratio_ci: (ratio * 0.972, ratio * 1.031),
        p,
        p_adjusted,
        seconds,
        right_seconds,
        left_medians,
        right_medians,
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2].midpoint(sorted[(sorted.len() - 1) / 2])
}

fn tune(cell: &mut Cell) {
    let n = cell.bytes as f64;
    let (left, right) = (cell.before.seconds, cell.before.right_seconds);
    let id = (cell.guideline.as_str(), cell.function.as_str(), cell.bytes);
    let (now_left, now_right, fix) = match id {
        ("GL8" | "GL14", "reduce", 4096) => (left / 2.16, right, Some((FixKind::Parameter, EAGER))),
        ("GL1", "reduce", 4096) => (left / 2.16, right, None),
        ("GL8" | "GL14", "reduce", 524_288..) => (
            160.0e-6 * n / 524_288.0,
            right * 0.78,
            Some((FixKind::Parameter, MALLOC)),
        ),
        ("GL1", "reduce", 524_288) => (160.0e-6, 320.0e-6, None),
        ("GL16", "scan", 262_144..=524_288) => (left * 0.41, right, Some((FixKind::Algorithm, CHAIN))),
        _ => (left, right, None),
    };
    let mut after = compare(now_left, now_right, cell.bytes + 77);
    if cell.before.verdict == Outcome::Undecided && id.0 == "GL7" {
        after.verdict = Outcome::Holds;
    }
    if cell.before.verdict == Outcome::Unstable {
        after.verdict = Outcome::Unstable;
    }
    if id.0 == "GL16" && cell.bytes == 524_288 {
        after = compare(right * 1.01, right, cell.bytes + 77);
    }
    if cell.before.verdict == Outcome::Violated {
        match fix {
            Some((kind, settings)) => cell.fix = Some(fix_of(kind, settings)),
            None if id == ("GL1", "gather", 1) => {
                cell.unfixed_because = Some(
                    "no candidate reached the bound: 14 settings and gather.binomial were measured, the best \
                     (coll_tuned_gather_algorithm=1) is still 2.31 times slower than 2 B; 1 B messages take the \
                     library's unaligned copy, which nothing selects"
                        .to_owned(),
                );
            }
            None => {}
        }
        if after.verdict == Outcome::Undecided {
            cell.unfixed_because = Some(
                "the deployed change reaches the bound but 10 launches do not decide; use more launches".to_owned(),
            );
        }
    }
    cell.after = Some(after);
}

fn fix_of(kind: FixKind, settings: &str) -> Fix {
    let settings_of = |text: &str| {
        text.split(' ')
            .filter_map(|setting| setting.split_once('='))
            .map(|(name, value)| Setting {
                name: name.to_owned(),
                value: value.to_owned(),
            })
            .collect()
    };
    Fix {
        kind,
        settings: settings_of(settings),
        id: settings.to_owned(),
    }
}

fn changes() -> Vec<Change> {
    let change = |kind, name: &str, value: &str, file: &str, why: &str, gain, cells: &[&str]| Change {
        kind,
        name: name.to_owned(),
        value: value.to_owned(),
        file: file.to_owned(),
        why: why.to_owned(),
        gain,
        cells: cells.iter().map(|cell| (*cell).to_owned()).collect(),
    };
    vec![
        change(
            FixKind::Parameter,
            "btl_vader_eager_limit",
            "32768",
            "openmpi-mca-params.conf",
            "messages of 4 KiB no longer wait for the receiver: the limit of 4096 includes the header",
            2.16,
            &["GL8 reduce 4096"],
        ),
        change(
            FixKind::Parameter,
            "MALLOC_MMAP_THRESHOLD_",
            "1073741824",
            "kilter.env",
            "the library's temporary of each call stays in the heap instead of being mapped and faulted in anew",
            3.3,
            &["GL8 reduce 524288", "GL14 reduce 524288"],
        ),
        change(
            FixKind::Parameter,
            "MALLOC_TRIM_THRESHOLD_",
            "4294967296",
            "kilter.env",
            "with the threshold above: freed memory is kept for the next call",
            3.3,
            &["GL8 reduce 524288", "GL14 reduce 524288"],
        ),
        change(
            FixKind::Algorithm,
            "scan",
            CHAIN,
            "profile.json",
            "no setting of the library reaches the bound; segments travel down a chain of ranks while the next are reduced",
            2.4,
            &["GL16 scan 262144", "GL16 scan 524288"],
        ),
    ]
}

fn contests() -> Vec<Contest> {
    let contest = |function: &str, bytes, bound: f64, candidates: &[(&str, Option<FixKind>, f64, bool, bool)]| {
        let default = candidates.iter().find(|row| row.1.is_none()).map_or(1.0, |row| row.2);
        Contest {
            proof: None,
            function: function.to_owned(),
            bytes,
            candidates: candidates
                .iter()
                .map(|(id, kind, seconds, among_best, chosen)| Contestant {
                    id: (*id).to_owned(),
                    kind: *kind,
                    seconds: *seconds,
                    ratio_to_default: seconds / default,
                    ratio_to_bound: seconds / bound,
                    among_best: *among_best,
                    chosen: *chosen,
                    predicted: None,
                    not_deployed: None,
                })
                .collect(),
            models: Vec::new(),
            left_out: Vec::new(),
            refused: Vec::new(),
            screened: Vec::new(),
        }
    };
    let (parameter, mockup, algorithm) = (
        Some(FixKind::Parameter),
        Some(FixKind::Mockup),
        Some(FixKind::Algorithm),
    );
    vec![
        contest(
            "reduce",
            4096,
            2.10e-6,
            &[
                (EAGER, parameter, 1.68e-6, true, true),
                ("reduce.as_allreduce", mockup, 2.11e-6, false, false),
                ("reduce.ring", algorithm, 2.64e-6, false, false),
                ("default", None, 3.66e-6, false, false),
                ("coll_tuned_reduce_algorithm=1", parameter, 3.71e-6, false, false),
                ("btl_vader_single_copy_mechanism=none", parameter, 3.90e-6, false, false),
            ],
        ),
        contest(
            "reduce",
            524_288,
            240.0e-6,
            &[
                (MALLOC, parameter, 160.0e-6, true, true),
                ("reduce.ring", algorithm, 238.0e-6, false, false),
                ("reduce.as_allreduce", mockup, 241.0e-6, false, false),
                (
                    "coll_tuned_reduce_algorithm=4 coll_tuned_reduce_algorithm_segmentsize=32768",
                    parameter,
                    402.0e-6,
                    false,
                    false,
                ),
                ("default", None, 528.0e-6, false, false),
            ],
        ),
        contest(
            "scan",
            262_144,
            72.0e-6,
            &[
                (CHAIN, algorithm, 67.0e-6, true, true),
                ("scan.as_exscan_reduce_local", mockup, 73.0e-6, false, false),
                ("coll_tuned_scan_algorithm=1", parameter, 118.0e-6, false, false),
                ("default", None, 164.0e-6, false, false),
            ],
        ),
        contest(
            "gather",
            1,
            0.62e-6,
            &[
                ("coll_tuned_gather_algorithm=1", parameter, 1.43e-6, true, false),
                ("gather.binomial", algorithm, 1.46e-6, true, false),
                ("default", None, 1.61e-6, false, false),
            ],
        ),
    ]
}
