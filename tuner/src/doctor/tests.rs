//! Every check on scripted facts: a machine that is fit, and what each check finds on one that is not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use kilter_protocol::machine::{Machine, RankPlace};

use super::facts::{Facts, Host, Moment, Printed, Problem, Variable};
use super::render::{Examination, text};
use super::*;
use crate::launcher::Remark;
use crate::library_info::Difference;

const FILES: &[(&str, &str)] = &[
    ("/sys/devices/system/cpu/online", "0-1"),
    ("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB"),
    ("/sys/fs/cgroup/cpu.max", "max 100000"),
    ("/sys/devices/system/cpu/smt/active", "0"),
    ("/proc/loadavg", "0.05 0.10 0.10 1/100 99"),
    ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance"),
    ("/sys/devices/system/cpu/intel_pstate/no_turbo", "1"),
    ("/proc/cpuinfo", "processor : 0\nflags : fpu sse2 avx2"),
    (
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        "tsc",
    ),
    ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
    ("/sys/devices/system/cpu/cpu0/cache/index0/size", "32K"),
    ("/sys/devices/system/cpu/cpu0/cache/index2/size", "1024K"),
];

fn host(boot: &str) -> Host {
    let mut files: BTreeMap<String, String> = FILES
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    files.insert("/proc/sys/kernel/random/boot_id".to_owned(), boot.to_owned());
    Host {
        files,
        moment: Some(Moment::default()),
        processes: Vec::new(),
    }
}

fn place(host: &str, cpus: &str, round_trip_ns: u64) -> RankPlace {
    RankPlace {
        host: host.to_owned(),
        cpus: cpus.to_owned(),
        clock_offset_ns: 0,
        round_trip_ns,
    }
}

/// Two ranks on each of two hosts of two processors, all as it should be.
fn fit() -> Facts {
    let mut facts = Facts {
        ranks: 4,
        hostfile: true,
        library: "MPICH 4.0.2".to_owned(),
        hosts: BTreeMap::from([("a".to_owned(), host("1")), ("b".to_owned(), host("2"))]),
        job: Some(Machine {
            library: "MPICH Version:\t4.0.2\nMPICH Device:\tch4:ucx\n".to_owned(),
            ranks: vec![
                place("a", "0", 0),
                place("a", "1", 600),
                place("b", "0", 9_000),
                place("b", "1", 9_500),
            ],
            clock_tick_seconds: 20e-9,
            clock_read_seconds: 25e-9,
            malloc_maps_from_bytes: Some(32 << 20),
            variables: BTreeMap::from([("MPIR_CVAR_CH4_NETMOD".to_owned(), "ucx".to_owned())]),
            ..Machine::default()
        }),
        described: vec![
            variable("MPIR_CVAR_NOLOCAL", "0"),
            variable("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "0"),
        ],
        printed: printed(Vec::new()),
        transports_printed: vec![printed(Vec::new())],
        carriers: ["shm", "ucx", "ucx/rc_mlx5"].map(str::to_owned).to_vec(),
        single_copy_said: vec!["xpmem".to_owned()],
        problem: None,
        remark: None,
    };
    network(&mut facts, "a", &[("eth0", [10, 0, 0, 1])]);
    network(&mut facts, "b", &[("eth0", [10, 0, 0, 2])]);
    facts
}

/// A control variable at its default.
fn variable(name: &str, default: &str) -> Variable {
    Variable {
        name: name.to_owned(),
        default: default.to_owned(),
        reported: Some(default.to_owned()),
        is_default: true,
    }
}

/// Output of a library's program that differs from the description in these points.
fn printed(differences: Vec<Difference>) -> Printed {
    Printed::Compared {
        program: "ompi_info".to_owned(),
        parameters: 861,
        description: "openmpi-4.1".to_owned(),
        differences,
    }
}

/// The fit machine with something changed.
fn with(change: impl FnOnce(&mut Facts)) -> Facts {
    let mut facts = fit();
    change(&mut facts);
    facts
}

fn set(facts: &mut Facts, host: &str, path: &str, text: &str) {
    facts
        .hosts
        .get_mut(host)
        .unwrap()
        .files
        .insert(path.to_owned(), text.to_owned());
}

/// Devices of a host with their addresses, each in a network of 256.
fn network(facts: &mut Facts, host: &str, devices: &[(&str, [u8; 4])]) {
    let (mut routes, mut addresses) = (String::new(), String::new());
    for (name, [a, b, c, d]) in devices {
        let hexadecimal = |address: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(address));
        let (network, mask) = (hexadecimal([*a, *b, *c, 0]), hexadecimal([255, 255, 255, 0]));
        let _ = writeln!(routes, "{name}\t{network}\t00000000\t0001\t0\t0\t0\t{mask}\t0\t0\t0");
        let _ = writeln!(addresses, "   |-- {a}.{b}.{c}.{d}\n      /32 host LOCAL");
    }
    set(facts, host, "/proc/net/route", &routes);
    set(facts, host, "/proc/net/fib_trie", &addresses);
}

fn job(facts: &mut Facts) -> &mut Machine {
    facts.job.as_mut().unwrap()
}

#[test]
fn a_machine_that_is_fit() {
    let findings = examine(&fit());
    assert_eq!(worst(&findings), Level::Fit, "{findings:#?}");
    insta::assert_snapshot!(text(&Examination::new("MPICH 4.0.2", 4, findings)));
    assert_eq!(warnings(&fit()), []);
}

/// Defects, each with the check that must find it.
fn cases() -> Vec<(&'static str, &'static str, Facts)> {
    let no_job = |check, text: &str| {
        with(|facts| {
            facts.job = None;
            facts.problem = Some(Problem {
                check,
                text: text.to_owned(),
            });
        })
    };
    vec![
        (
            "library",
            "unknown launcher",
            no_job("library", "no description fits `x`; give another --mpirun"),
        ),
        (
            "description",
            "parameters that another release has",
            with(|f| f.described[0].reported = None),
        ),
        (
            "description",
            "a setting of the site",
            with(|f| {
                f.described[0].reported = Some("1".to_owned());
                f.described[0].is_default = false;
            }),
        ),
        (
            "printed",
            "another default, and a knob that is new",
            with(|f| {
                f.printed = printed(vec![
                    Difference::Default {
                        parameter: "btl_vader_eager_limit".to_owned(),
                        described: "4096".to_owned(),
                        reported: "8192".to_owned(),
                    },
                    Difference::NotDescribed("coll_tuned_scan_algorithm_segmentsize".to_owned()),
                ]);
            }),
        ),
        (
            "printed",
            "an algorithm of another name",
            with(|f| {
                f.printed = printed(vec![Difference::Value {
                    parameter: "coll_tuned_scan_algorithm".to_owned(),
                    number: "2".to_owned(),
                    name: "recursive_doubling".to_owned(),
                    described: true,
                }]);
            }),
        ),
        (
            "printed",
            "more than is described",
            with(|f| {
                f.printed = printed(vec![Difference::Value {
                    parameter: "MPIR_CVAR_SCAN_INTRA_ALGORITHM".to_owned(),
                    number: "2".to_owned(),
                    name: "smp".to_owned(),
                    described: false,
                }]);
            }),
        ),
        (
            "printed",
            "no program",
            with(|f| f.printed = Printed::NoAnswer("there is no `ompi_info` beside the launcher `mpirun`".to_owned())),
        ),
        (
            "worker",
            "no worker",
            no_job("worker", "build it with `scripts/build --mpi mpich-4.0`"),
        ),
        (
            "hosts",
            "no start",
            no_job("hosts", "`mpirun -n 4` failed (exit status: 1): no such host"),
        ),
        (
            "library",
            "a launcher of another library",
            with(|f| {
                f.remark = Some(Remark {
                    contradicts: true,
                    text: "`mpirun` says `x`, but its ranks ran with `y`".to_owned(),
                });
            }),
        ),
        (
            "library",
            "a launcher of no known library",
            with(|f| {
                f.remark = Some(Remark {
                    contradicts: false,
                    text: "`mpirun` says `x`, and its ranks ran with `y`".to_owned(),
                });
            }),
        ),
        (
            "alike",
            "another processor, memory and binding",
            with(|f| {
                set(f, "b", "/proc/cpuinfo", "model name : Xeon\nflags : fpu sse2 avx2");
                set(
                    f,
                    "b",
                    "/proc/meminfo",
                    "MemTotal: 8388608 kB\nMemAvailable: 8388608 kB",
                );
                job(f).ranks[3].cpus = "0-1".to_owned();
            }),
        ),
        (
            "alike",
            "another library and kernel",
            with(|f| {
                let said = |number: &str| format!("MPICH Version: 4.0.{number}");
                job(f).libraries = BTreeMap::from([("a".to_owned(), said("2")), ("b".to_owned(), said("3"))]);
                set(f, "a", "/proc/sys/kernel/osrelease", "6.1.0");
            }),
        ),
        (
            "alike",
            "another kernel",
            with(|f| {
                set(f, "a", "/proc/sys/kernel/osrelease", "6.1.0");
                set(f, "b", "/proc/sys/kernel/osrelease", "6.12.0");
            }),
        ),
        ("hosts", "ranks that are missing", with(|f| drop(job(f).ranks.pop()))),
        ("hosts", "uneven hosts", with(|f| job(f).ranks[1].host = "b".to_owned())),
        (
            "hosts",
            "one host of several",
            with(|f| {
                f.hosts.remove("b");
                job(f).ranks.iter_mut().for_each(|place| place.host = "a".to_owned());
            }),
        ),
        (
            "hosts",
            "virtual hosts",
            with(|f| set(f, "b", "/proc/sys/kernel/random/boot_id", "1")),
        ),
        (
            "cores",
            "too few",
            with(|f| set(f, "b", "/sys/devices/system/cpu/online", "0")),
        ),
        (
            "cgroup",
            "a quota",
            with(|f| set(f, "a", "/sys/fs/cgroup/cpu.max", "150000 100000")),
        ),
        (
            "cgroup",
            "a quota of its own group",
            with(|f| set(f, "b", "/sys/fs/cgroup{cgroup}/cpu.max", "50000 100000")),
        ),
        ("binding", "two on one", with(|f| job(f).ranks[3].cpus = "0".to_owned())),
        ("binding", "unbound", with(|f| job(f).ranks[2].cpus = "0-1".to_owned())),
        (
            "smt",
            "shared cores",
            with(|f| {
                set(f, "a", "/sys/devices/system/cpu/smt/active", "1");
                set(f, "a", "/sys/devices/system/cpu/online", "0-2");
            }),
        ),
        (
            "load",
            "busy now",
            with(|f| {
                let host = f.hosts.get_mut("a").unwrap();
                host.moment = Some(Moment { busy: 0.4, stolen: 0.0 });
                host.processes = vec![("make".to_owned(), 0.9), ("sshd".to_owned(), 0.01)];
            }),
        ),
        (
            "load",
            "busy a minute ago",
            with(|f| set(f, "a", "/proc/loadavg", "7.5 3.0 1.0 1/100 99")),
        ),
        (
            "load",
            "busy elsewhere",
            with(|f| {
                f.hosts.get_mut("b").unwrap().moment = None;
                set(f, "b", "/proc/loadavg", "3.5 3.0 1.0 1/100 99");
            }),
        ),
        (
            "virtual",
            "stolen time",
            with(|f| {
                f.hosts.get_mut("a").unwrap().moment = Some(Moment {
                    busy: 0.0,
                    stolen: 0.03,
                });
            }),
        ),
        (
            "virtual",
            "a virtual machine",
            with(|f| set(f, "a", "/proc/cpuinfo", "flags : fpu hypervisor avx")),
        ),
        (
            "frequency",
            "a governor",
            with(|f| {
                set(
                    f,
                    "b",
                    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                    "powersave",
                );
            }),
        ),
        (
            "frequency",
            "turbo",
            with(|f| set(f, "b", "/sys/devices/system/cpu/intel_pstate/no_turbo", "0")),
        ),
        (
            "clocksource",
            "slow",
            with(|f| {
                set(
                    f,
                    "b",
                    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                    "hpet",
                );
            }),
        ),
        ("timer", "coarse", with(|f| job(f).clock_tick_seconds = 1e-6)),
        ("timer", "dear", with(|f| job(f).clock_read_seconds = 1e-6)),
        (
            "clocks",
            "another clock",
            with(|f| job(f).ranks[3].clock_offset_ns = -5_000_000_000),
        ),
        (
            "transport",
            "a network within a host",
            with(|f| job(f).ranks[1].round_trip_ns = 60_000),
        ),
        (
            "transport",
            "memory between hosts",
            with(|f| job(f).ranks[2].round_trip_ns = 500),
        ),
        (
            "fallback",
            "TCP beside InfiniBand",
            with(|f| {
                f.carriers = ["ucx", "ucx/tcp"].map(str::to_owned).to_vec();
                set(f, "b", "/sys/class/infiniband", "mlx5_0\nmlx5_1");
            }),
        ),
        (
            "fallback",
            "sockets of libfabric beside Slingshot",
            with(|f| {
                f.carriers = ["ofi", "ofi/ofi_rxm", "ofi/tcp"].map(str::to_owned).to_vec();
                set(f, "a", "/sys/class/cxi", "cxi0");
            }),
        ),
        (
            "fallback",
            "UCX without shared memory on one host",
            with(|f| {
                f.carriers = ["ucx", "ucx/tcp"].map(str::to_owned).to_vec();
                job(f).ranks.truncate(2);
            }),
        ),
        ("fallback", "a library that says nothing", with(|f| f.carriers.clear())),
        (
            "networks",
            "bridges of containers with one address, and TCP",
            with(|f| {
                f.carriers = ["ucx", "ucx/tcp"].map(str::to_owned).to_vec();
                network(f, "a", &[("docker0", [172, 17, 0, 1]), ("eth0", [10, 0, 0, 1])]);
                network(f, "b", &[("docker0", [172, 17, 0, 1]), ("eth0", [10, 0, 0, 2])]);
            }),
        ),
        (
            "networks",
            "a host that does not tell its addresses",
            with(|f| network(f, "a", &[])),
        ),
        (
            "single-copy",
            "a mechanism that the library names and the hosts have",
            with(|f| {
                set(f, "a", "/sys/class/misc", "fuse\nxpmem");
                set(f, "b", "/sys/class/misc", "xpmem");
            }),
        ),
        (
            "single-copy",
            "a mechanism that UCX uses, at scope 1",
            with(|f| {
                f.carriers = ["ucx", "ucx/posix", "ucx/cma"].map(str::to_owned).to_vec();
                set(f, "a", "/proc/sys/kernel/yama/ptrace_scope", "1");
                set(f, "b", "/proc/sys/kernel/yama/ptrace_scope", "1");
            }),
        ),
        (
            "single-copy",
            "a kernel that forbids it",
            with(|f| {
                set(f, "a", "/proc/sys/kernel/yama/ptrace_scope", "3");
                set(f, "b", "/proc/sys/kernel/yama/ptrace_scope", "3");
            }),
        ),
        (
            "single-copy",
            "hosts that differ",
            with(|f| set(f, "a", "/proc/sys/kernel/yama/ptrace_scope", "2")),
        ),
        (
            "single-copy",
            "a rank on each host",
            with(|f| {
                job(f).ranks.remove(3);
                job(f).ranks.remove(1);
            }),
        ),
        (
            "transport-settings",
            "a release with another default",
            with(|f| {
                f.transports_printed = vec![printed(vec![Difference::Default {
                    parameter: "UCX_MAX_RNDV_RAILS".to_owned(),
                    described: "2".to_owned(),
                    reported: "1".to_owned(),
                }])];
            }),
        ),
        (
            "transport-settings",
            "a value that is refused",
            with(|f| {
                f.transports_printed = vec![printed(vec![Difference::Illegal {
                    parameter: "UCX_RNDV_SCHEME".to_owned(),
                    value: "get_zcopy".to_owned(),
                    kind: "[auto|put_zcopy]".to_owned(),
                }])];
            }),
        ),
        (
            "transport-settings",
            "no program",
            with(|f| f.transports_printed = vec![Printed::NoAnswer("there is no `ucx_info` in PATH".to_owned())]),
        ),
        (
            "memory",
            "nearly full",
            with(|f| set(f, "a", "/proc/meminfo", "MemAvailable: 100000 kB")),
        ),
        (
            "hugepages",
            "always",
            with(|f| {
                for host in ["a", "b"] {
                    set(
                        f,
                        host,
                        "/sys/kernel/mm/transparent_hugepage/enabled",
                        "[always] madvise never",
                    );
                }
            }),
        ),
        (
            "hugepages",
            "unlike hosts",
            with(|f| {
                set(
                    f,
                    "b",
                    "/sys/kernel/mm/transparent_hugepage/enabled",
                    "always madvise [never]",
                );
            }),
        ),
        (
            "malloc",
            "the default",
            with(|f| job(f).malloc_maps_from_bytes = Some(128 << 10)),
        ),
        ("malloc", "never", with(|f| job(f).malloc_maps_from_bytes = None)),
        (
            "caches",
            "unlike hosts",
            with(|f| {
                set(f, "b", "/sys/devices/system/cpu/cpu0/cache/index2/size", "512K");
            }),
        ),
    ]
}

#[test]
fn every_check_finds_what_it_is_for() {
    let good: BTreeMap<String, Finding> = examine(&fit())
        .into_iter()
        .map(|finding| (finding.id.clone(), finding))
        .collect();
    let mut found = BTreeSet::new();
    let mut page = String::new();
    for (id, what, facts) in cases() {
        let finding = examine(&facts).into_iter().find(|finding| finding.id == id).unwrap();
        assert_ne!(finding, good[id], "{id}: {what} was not noticed");
        assert_eq!(
            finding.action.is_some(),
            finding.level >= Level::Warning,
            "{id}: {what}: what makes verdicts doubtful ends in an action, and nothing else does"
        );
        found.insert(id);
        let _ = writeln!(page, "{id}, {what}: {:?}: {}", finding.level, finding.says);
        if let Some(action) = finding.action {
            let _ = writeln!(page, "    -> {action}");
        }
    }
    insta::assert_snapshot!(page);
    for check in CHECKS {
        assert!(found.contains(check.id), "{} has no case", check.id);
    }
}

/// A machine of which nothing can be read is unknown, not fit and not unfit.
#[test]
fn what_cannot_be_read_is_said_to_be_unknown() {
    let facts = Facts {
        ranks: 2,
        library: "MPICH 4.0.2".to_owned(),
        hosts: BTreeMap::from([("a".to_owned(), Host::default())]),
        ..Facts::default()
    };
    let findings = examine(&facts);
    assert_eq!(worst(&findings), Level::Unknown, "{findings:#?}");
    let fit: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.level == Level::Fit)
        .map(|finding| finding.id.as_str())
        .collect();
    assert_eq!(fit, ["library", "worker", "alike", "cgroup"]);
}

#[test]
fn measuring_commands_are_warned_without_a_job() {
    let facts = with(|facts| {
        facts.job = None;
        facts.hosts.remove("b");
        facts.ranks = 9;
    });
    let found = warnings(&facts);
    assert_eq!(
        found.iter().map(|warning| warning.id.as_str()).collect::<Vec<_>>(),
        ["cores"]
    );
    assert_eq!(
        found[0].text,
        "9 ranks share 2 processors of a: times are the scheduler's as much as the library's; run 2 ranks there (--ranks), \
         or spread them over more hosts (--hostfile)"
    );
}

#[test]
fn every_file_of_checks_has_a_row_and_every_id_is_used_once() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/doctor/checks");
    let files = std::fs::read_dir(directory).unwrap().count() - 1;
    assert_eq!(CHECKS.len(), files, "a file has no row, or a row no file");
    let ids: BTreeSet<&str> = CHECKS.iter().map(|check| check.id).collect();
    assert_eq!(ids.len(), CHECKS.len());
    assert!(CHECKS.iter().all(|check| !check.what.is_empty()));
}

#[test]
fn the_json_has_the_schema_that_is_published() {
    kilter_fixtures::published::assert_current("doctor", &kilter_render::json::schema::<Examination>().unwrap());
    let json = kilter_render::json::text(&Examination::new("MPICH 4.0.2", 4, examine(&fit()))).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["level"], "fit");
    assert_eq!(value["findings"].as_array().unwrap().len(), CHECKS.len());
    assert_eq!(value["findings"][4]["id"], "cores");
}
