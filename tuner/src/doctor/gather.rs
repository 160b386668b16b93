//! Gathers the facts: about this machine from `/proc` and `/sys`, about the job and its hosts by launching the worker
//! once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Context as _;
use kilter_bench::launch::capture::CaptureError;
use kilter_bench::programs::Programs;
use kilter_model::config::library::Library;
use kilter_model::options::Options;
use kilter_protocol::machine::Machine;

use super::checks::{AVERAGE, FILES};
use super::facts::{Facts, Host, Printed, Problem, Variable, moment};
use crate::carriers;
use crate::launcher::{self, Described, InUse, NotFound};
use crate::library_info::{self, ask::ask as ask_program};

/// Time for which the machine is watched for other load.
const WATCHED: Duration = Duration::from_millis(200);

/// Ticks of `/proc/PID/stat` in a second, on Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Source of a machine's facts; scripted in tests.
pub trait System {
    /// Those of these files that can be read.
    fn files(&self, paths: &[String]) -> BTreeMap<String, String>;
    /// `/proc/PID/stat` of every process but this one.
    fn processes(&self) -> Vec<String>;
    /// Lets time pass.
    fn pause(&self, time: Duration);
}

/// The machine on which this program runs.
pub struct Here;

impl System for Here {
    fn files(&self, paths: &[String]) -> BTreeMap<String, String> {
        kilter_protocol::machine::read_files(paths)
    }

    fn processes(&self) -> Vec<String> {
        let own = std::process::id().to_string();
        let is_other = |name: &str| name != own && name.bytes().all(|byte| byte.is_ascii_digit());
        std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_name().to_str().is_some_and(is_other))
            .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
            .collect()
    }

    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// Files that are read on every host.
fn files() -> Vec<String> {
    FILES.iter().map(|path| (*path).to_owned()).collect()
}

/// Watches a host for a moment.
#[must_use]
pub fn host(system: &dyn System) -> Host {
    let stat = "/proc/stat".to_owned();
    let read = || {
        let mut files = system.files(std::slice::from_ref(&stat));
        (files.remove(&stat).unwrap_or_default(), ticks(&system.processes()))
    };
    let (before, ticks_before) = read();
    system.pause(WATCHED);
    let (after, ticks_after) = read();
    let mut processes: Vec<(String, f64)> = ticks_after
        .into_iter()
        .filter_map(|(pid, (name, after))| {
            let (_, before) = ticks_before.get(&pid)?;
            let share = (after - before) / TICKS_PER_SECOND / WATCHED.as_secs_f64();
            (share > 0.0).then_some((name, share))
        })
        .collect();
    processes.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Host {
        files: system.files(&files()),
        moment: moment(&before, &after),
        processes,
    }
}

/// Name and ticks of each process by its number: `PID (NAME) STATE ...`, user and system time in fields 14 and 15.
fn ticks(stats: &[String]) -> BTreeMap<u64, (String, f64)> {
    let read = |text: &String| {
        let (pid, rest) = text.split_once(" (")?;
        // A name may hold brackets and blanks.
        let (name, rest) = rest.rsplit_once(") ")?;
        let mut fields = rest.split_whitespace().skip(11).map(str::parse::<f64>);
        let (user, system) = (fields.next()?.ok()?, fields.next()?.ok()?);
        Some((pid.parse().ok()?, (name.to_owned(), user + system)))
    };
    stats.iter().filter_map(read).collect()
}

/// Facts about this machine, without a job.
#[must_use]
pub fn local(options: &Options) -> Facts {
    Facts {
        ranks: options.ranks,
        hostfile: options.hostfile.is_some(),
        hosts: BTreeMap::from([(host_name(), host(&Here))]),
        ..Facts::default()
    }
}

fn host_name() -> String {
    nix::unistd::gethostname()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_else(|_| "this host".to_owned())
}

/// Facts about this machine, and about a job if one starts.
#[must_use]
pub fn all(options: &Options) -> Facts {
    let mut facts = local(options);
    let problem = |check: &'static str, error: &dyn std::fmt::Display| {
        Some(Problem {
            check,
            text: format!("{error:#}"),
        })
    };
    let InUse {
        library,
        version,
        programs,
        remark,
        ..
    } = match launcher::find(options) {
        Ok(found) => found,
        Err(NotFound::Library(error)) => {
            facts.problem = problem("library", &error);
            return facts;
        }
        Err(NotFound::Worker(error)) => {
            facts.problem = problem("worker", &error);
            return facts;
        }
    };
    facts.library = format!("{} {version}", library.name);
    facts.remark = remark;
    facts.printed = printed(options, &library, &version);
    match ask(options, &library, &programs) {
        Ok(machine) => {
            // A job that starts once and not under other settings leaves the check without an answer.
            facts.carriers = carriers::ask(options, &library, &programs)
                .unwrap_or_default()
                .transports;
            facts.add(machine, &library);
            facts.transports_printed = printed_by_transports(&library, &facts.carriers);
        }
        Err(error) => {
            let hint = hint(options.hostfile.is_some() || options.place().several_nodes, &error);
            facts.problem = problem("hosts", &format!("{error:#}{hint}"));
        }
    }
    facts
}

/// A likely reason for a job that hangs on several hosts.
fn hint(several_hosts: bool, error: &anyhow::Error) -> &'static str {
    match error.downcast_ref::<CaptureError>() {
        Some(CaptureError::TimedOut { .. }) if several_hosts => {
            "; if it hangs, its library may try a network device that reaches no other host, such as docker0: name the right one \
             (UCX_NET_DEVICES, --mca btl_tcp_if_include, FI_TCP_IFACE)"
        }
        _ => "",
    }
}

/// Facts about the hosts of a job, which it reads itself. The load average is left out: a job before this one, perhaps of Kilter's own, is in it.
pub fn of_job(options: &Options, library: &Library, programs: &Programs) -> anyhow::Result<Facts> {
    let mut facts = local(options);
    let mut machine = ask(options, library, programs)?;
    for files in machine.hosts.values_mut() {
        files.remove(AVERAGE);
    }
    facts.add(machine, library);
    Ok(facts)
}

/// Compares the output of the library's own program with the description. Parameters of transports are those of one
/// host if there is no host file.
fn printed(options: &Options, library: &Library, version: &str) -> Printed {
    let Some(tool) = library.info else {
        return Printed::NoProgram;
    };
    let transports = library.transports.on(options.hostfile.is_none());
    match ask_program(tool, &options.mpirun, version) {
        Ok(info) => Printed::Compared {
            program: library_info::ask::name(tool).to_owned(),
            parameters: info.parameters.len(),
            description: library.id.clone(),
            differences: library_info::differences(library, tool, &info, transports),
        },
        Err(error) => Printed::NoAnswer(error.to_string()),
    }
}

/// Compares the output of the programs of shared transports in use with the transports' files.
fn printed_by_transports(library: &Library, in_use: &[String]) -> Vec<Printed> {
    let shared = carriers::shared(library).unwrap_or_default();
    let shared = shared.into_iter().filter(|(name, _)| in_use.contains(name));
    shared
        .map(
            |(_, transport)| match library_info::ask::ask_transport(transport.info) {
                Ok(info) => Printed::Compared {
                    program: library_info::ask::name_of_transport(transport.info).to_owned(),
                    parameters: info.parameters.len(),
                    differences: library_info::differences_of_transport(&transport, &info),
                    description: transport.id,
                },
                Err(error) => Printed::NoAnswer(format!("{}: {error}", transport.name)),
            },
        )
        .collect()
}

impl Facts {
    /// Adds a job's report. Its hosts replace this machine, which keeps its own facts if it is one of them.
    fn add(&mut self, mut machine: Machine, library: &Library) {
        let one_host = machine.hosts.len() <= 1;
        let in_use = match self.carriers.as_slice() {
            [] => library.transports.on(one_host),
            said => said,
        };
        self.described = library
            .described(in_use)
            .into_iter()
            .map(|described| {
                let reported = machine.variables.get(&described.name).cloned();
                Variable {
                    is_default: reported
                        .as_ref()
                        .is_some_and(|value| described.is_default(library, value)),
                    reported,
                    name: described.name,
                    default: described.default,
                }
            })
            .collect();
        self.single_copy_said = library.single_copy(&machine.variables);
        machine
            .variables
            .retain(|name, _| library.transports.variables.contains(name));
        let mut hosts: BTreeMap<String, Host> = BTreeMap::new();
        for (name, files) in &machine.hosts {
            let known = self.hosts.remove(name).unwrap_or_default();
            hosts.insert(
                name.clone(),
                Host {
                    // The load of the job itself is not what was asked for.
                    files: known.files.into_iter().fold(files.clone(), |mut files, (path, text)| {
                        files.insert(path, text);
                        files
                    }),
                    ..known
                },
            );
        }
        self.hosts = hosts;
        self.job = Some(machine);
    }
}

/// Launches the worker once for its report.
fn ask(options: &Options, library: &Library, programs: &Programs) -> anyhow::Result<Machine> {
    let mut words = Vec::new();
    let (one, several) = (&library.transports.one_host, &library.transports.several_hosts);
    let described = library.described(&[one.as_slice(), several].concat());
    let names: BTreeSet<String> = described.into_iter().map(|variable| variable.name).collect();
    for name in names.into_iter().chain(library.transports.variables.clone()) {
        words.extend(["-v".to_owned(), name]);
    }
    words.extend(files());
    let Described { command, machines } =
        launcher::describe(options, library, programs, &options.site_environment, &words)?;
    // Ranks that do not find each other answer one by one: the first is judged.
    machines
        .into_iter()
        .next()
        .with_context(|| format!("`{command}` printed nothing"))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A machine on which `make` takes half a processor.
    struct Scripted(Cell<u32>);

    impl System for Scripted {
        fn files(&self, paths: &[String]) -> BTreeMap<String, String> {
            let time = self.0.get();
            let text = |path: &String| match path.as_str() {
                "/proc/stat" if time == 0 => Some("cpu  100 0 0 900 0 0 0 0 0 0"),
                "/proc/stat" => Some("cpu  110 0 0 920 0 0 0 10 0 0"),
                super::super::facts::ONLINE => Some("0-1"),
                _ => None,
            };
            paths
                .iter()
                .filter_map(|path| Some((path.clone(), text(path)?.to_owned())))
                .collect()
        }

        fn processes(&self) -> Vec<String> {
            let ticks = 40 + 10 * self.0.get();
            vec![
                format!("7 (a (b) make) R 1 1 1 0 -1 0 0 0 0 0 {ticks} 3 0 0"),
                "8 (idle) S 1 1 1 0 -1 0 0 0 0 0 5 5 0 0".to_owned(),
                "torn".to_owned(),
            ]
        }

        fn pause(&self, _: Duration) {
            self.0.set(self.0.get() + 1);
        }
    }

    #[test]
    fn a_host_is_watched_for_a_moment() {
        let found = host(&Scripted(Cell::new(0)));
        assert_eq!(found.processors(), Some(2));
        let watched = found.moment.unwrap();
        assert_eq!((watched.busy, watched.stolen), (0.25, 0.25));
        assert_eq!(found.processes, [("a (b) make".to_owned(), 0.5)]);
    }

    #[test]
    fn a_job_that_hangs_on_several_hosts_is_told_of_network_devices() {
        let hangs = anyhow::Error::from(CaptureError::TimedOut {
            command: "mpirun".to_owned(),
            seconds: 40.0,
        });
        assert!(hint(true, &hangs).contains("UCX_NET_DEVICES"));
        assert_eq!(hint(false, &hangs), "");
        assert_eq!(hint(true, &anyhow::anyhow!("it printed nothing")), "");
    }

    #[test]
    fn this_machine_has_processors_and_memory() {
        let found = host(&Here);
        assert!(found.processors().is_some_and(|count| count >= 1), "{found:?}");
        assert!(found.memory_bytes("MemAvailable:").is_some_and(|bytes| bytes > 1 << 20));
        assert!(found.moment.is_some_and(|moment| (0.0..=1.0).contains(&moment.busy)));
    }

    #[test]
    fn the_jobs_hosts_take_the_place_of_this_machine() {
        let own = Host {
            files: BTreeMap::from([("/proc/loadavg".to_owned(), "0.1".to_owned())]),
            ..Host::default()
        };
        let mut facts = Facts {
            hosts: BTreeMap::from([("a".to_owned(), own)]),
            ..Facts::default()
        };
        let library = kilter_model::config::library::find_for("mpirun (Open MPI) 4.1.4").unwrap();
        let said = |load: &str| BTreeMap::from([("/proc/loadavg".to_owned(), load.to_owned())]);
        facts.add(
            Machine {
                hosts: BTreeMap::from([("a".to_owned(), said("9")), ("b".to_owned(), said("8"))]),
                ..Machine::default()
            },
            &library,
        );
        let loads: Vec<_> = facts
            .hosts
            .values()
            .map(|host| host.text("/proc/loadavg").unwrap())
            .collect();
        assert_eq!(loads, ["0.1", "8"]);
        facts.add(
            Machine {
                hosts: BTreeMap::from([("c".to_owned(), said("7"))]),
                ..Machine::default()
            },
            &library,
        );
        assert_eq!(facts.hosts.len(), 1);
    }

    #[test]
    fn described_variables_are_told_apart_from_those_of_transports() {
        let library = kilter_model::config::library::find_for("mpirun (Open MPI) 4.1.4").unwrap();
        let mut facts = Facts::default();
        let variables = [
            ("coll_tuned_bcast_algorithm", "ignore"),
            ("coll_tuned_reduce_algorithm", "binomial"),
            ("btl_vader_eager_limit", "8192"),
            ("btl_vader_single_copy_mechanism", "cma"),
        ];
        facts.add(
            Machine {
                variables: variables
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .into(),
                ..Machine::default()
            },
            &library,
        );
        let of = |name: &str| facts.described.iter().find(|variable| variable.name == name).unwrap();
        assert!(of("coll_tuned_bcast_algorithm").is_default);
        assert!(!of("coll_tuned_reduce_algorithm").is_default);
        assert!(!of("btl_vader_eager_limit").is_default);
        assert_eq!(of("coll_tuned_gather_algorithm").reported, None);
        // One host: the network's parameters are not asked after.
        assert!(
            !facts
                .described
                .iter()
                .any(|variable| variable.name.starts_with("btl_tcp"))
        );
        // MPI_T does not have variables that a job reads at its start.
        let intel =
            kilter_model::config::library::find_for("Intel(R) MPI Library for Linux* OS, Version 2021.19.0").unwrap();
        assert_eq!(intel.described(intel.transports.on(true)), []);
        let left: Vec<&String> = facts.job.as_ref().unwrap().variables.keys().collect();
        assert!(
            left.iter().all(|name| library.transports.variables.contains(name)),
            "{left:?}"
        );
    }
}
