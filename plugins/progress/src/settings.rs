//! The environment.

use std::ffi::OsString;
use std::time::Duration;

use kilter_mpi::environment::{Variables, WrongValue};

use crate::cpus::WORDS;

/// Longest nap: the end waits for no more than one.
const MAX_NAP_US: u64 = 1_000_000;

/// True if a thread is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// No.
    Off,
    /// If a core is free.
    On,
    /// Always.
    Force,
}

/// Place of the thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cpu {
    /// Bound to a core that is free.
    Auto,
    /// On the free cores, but not bound to one.
    Unbound,
    /// Bound to these, of which each rank of a node takes the next one; never empty.
    Named(Vec<usize>),
}

/// Report of the thread at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// No report.
    None,
    /// A line on rank 0.
    First,
    /// A line on each rank.
    All,
}

/// The environment, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) mode: Mode,
    pub(crate) cpu: Cpu,
    /// Time between two probes, if it was said.
    pub(crate) nap: Option<Duration>,
    pub(crate) report: Report,
    /// Threads of this rank that compute, at least 1: `OMP_NUM_THREADS`, if it is there.
    pub(crate) computing: usize,
    /// Ranks of this rank's node, where the launcher says so.
    pub(crate) local_ranks: Option<usize>,
}

/// Variables in which launchers say how many ranks a node has: Open MPI's, Hydra's (MPICH, Intel MPI), MVAPICH2's.
const LOCAL_RANKS: [&str; 3] = [
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
    "MV2_COMM_WORLD_LOCAL_SIZE",
];

impl Settings {
    /// Settings for a wrong variable: the rank takes part in the exchange among all ranks, and has no thread.
    pub(crate) fn off() -> Settings {
        Settings {
            mode: Mode::Off,
            cpu: Cpu::Auto,
            nap: None,
            report: Report::None,
            computing: 1,
            local_ranks: None,
        }
    }

    /// True if no core will be free on a node with so many CPUs, which is known before MPI starts. The thread level,
    /// which makes every call of MPI slower, need not be raised then.
    pub(crate) fn is_refused_on(&self, cpus: usize) -> bool {
        let threads = |ranks: usize| ranks.saturating_mul(self.computing.saturating_add(1));
        self.mode == Mode::On && self.local_ranks.is_some_and(|ranks| threads(ranks) > cpus)
    }

    /// Reads the variables. An empty one counts as unset. The error names a wrong variable, its value, and what is
    /// allowed.
    pub(crate) fn from(variable: impl Fn(&str) -> Option<OsString>) -> Result<Settings, WrongValue> {
        let variables = Variables(variable);
        let modes = [("on", Mode::On), ("off", Mode::Off), ("force", Mode::Force)];
        let reports = [("0", Report::None), ("1", Report::First), ("all", Report::All)];
        let cpus = || "auto, none, or numbers of CPUs such as 6,7".to_owned();
        let nap = variables.number("KILTER_PROGRESS_NAP_US", &(0..=MAX_NAP_US), "")?;
        // It is another's variable, of which only the number of the first level matters; that one checks it.
        let threads = variables
            .text("OMP_NUM_THREADS")
            .and_then(|list| list.split(',').next()?.trim().parse().ok());
        Ok(Settings {
            mode: variables.word("KILTER_PROGRESS", &modes)?.unwrap_or(Mode::On),
            cpu: variables.parsed("KILTER_PROGRESS_CPU", cpu, cpus)?.unwrap_or(Cpu::Auto),
            nap: nap.map(Duration::from_micros),
            report: variables
                .word("KILTER_PROGRESS_REPORT", &reports)?
                .unwrap_or(Report::None),
            computing: threads.unwrap_or(1).max(1),
            local_ranks: LOCAL_RANKS.iter().find_map(|name| variables.text(name)?.parse().ok()),
        })
    }
}

/// `KILTER_PROGRESS_CPU`.
fn cpu(text: &str) -> Option<Cpu> {
    let number = |text: &str| text.trim().parse().ok().filter(|cpu| *cpu < WORDS * 64);
    match text {
        "auto" => Some(Cpu::Auto),
        "none" => Some(Cpu::Unbound),
        list => Some(Cpu::Named(list.split(',').map(number).collect::<Option<_>>()?)),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::time::Duration;

    use super::{Cpu, Mode, Report, Settings, WrongValue};

    fn settings(variables: &[(&str, &str)]) -> Result<Settings, WrongValue> {
        Settings::from(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_environment_decides() {
        let on = Settings {
            mode: Mode::On,
            ..Settings::off()
        };
        assert_eq!(settings(&[]), Ok(on.clone()));
        assert_eq!(
            settings(&[("KILTER_PROGRESS", ""), ("KILTER_PROGRESS_NAP_US", " ")]),
            Ok(on)
        );
        let all = settings(&[
            ("KILTER_PROGRESS", "force"),
            ("KILTER_PROGRESS_CPU", "6, 7"),
            ("KILTER_PROGRESS_NAP_US", "25"),
            ("KILTER_PROGRESS_REPORT", "all"),
            ("OMP_NUM_THREADS", "8,2"),
        ]);
        assert_eq!(
            all,
            Ok(Settings {
                mode: Mode::Force,
                cpu: Cpu::Named(vec![6, 7]),
                nap: Some(Duration::from_micros(25)),
                report: Report::All,
                computing: 8,
                local_ranks: None,
            })
        );
        assert_eq!(settings(&[("KILTER_PROGRESS_CPU", "none")]).unwrap().cpu, Cpu::Unbound);
        assert_eq!(settings(&[("OMP_NUM_THREADS", "many")]).unwrap().computing, 1);
    }

    #[test]
    fn a_full_node_is_known_before_mpi_starts() {
        let refused = |variables: &[(&str, &str)], cpus| settings(variables).unwrap().is_refused_on(cpus);
        for name in super::LOCAL_RANKS {
            // A core for each rank, and one for each thread.
            assert!(refused(&[(name, "2")], 3) && !refused(&[(name, "2")], 4));
        }
        let hybrid = [("MPI_LOCALNRANKS", "2"), ("OMP_NUM_THREADS", "3")];
        assert!(refused(&hybrid, 7) && !refused(&hybrid, 8));
        assert!(!refused(&[("MPI_LOCALNRANKS", "2"), ("KILTER_PROGRESS", "force")], 1));
        assert!(!refused(&[], 1), "nobody says how many ranks there are");
    }

    #[test]
    fn a_wrong_value_is_named_with_what_is_allowed() {
        for (name, value, allowed) in [
            ("KILTER_PROGRESS", "yes", "on, off, force"),
            ("KILTER_PROGRESS_CPU", "1-4", "auto, none, or numbers"),
            ("KILTER_PROGRESS_CPU", "-1", "auto, none, or numbers"),
            ("KILTER_PROGRESS_CPU", "0,1024", "auto, none, or numbers"),
            ("KILTER_PROGRESS_NAP_US", "-5", "0 to 1000000"),
            ("KILTER_PROGRESS_NAP_US", "1000001", "0 to 1000000"),
            ("KILTER_PROGRESS_REPORT", "2", "0, 1, all"),
        ] {
            let error = settings(&[(name, value)]).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("{name} is `{value}`; allowed: {allowed}")),
                "{error}"
            );
        }
    }
}
