//! Measures how busy other programs kept this machine while a job ran. A resumed run measures again what ran beside a
//! compilation.
//!
//! It takes the busy time of all processors (`/proc/stat`) less the time of the tuner and its descendants, less that of the job's ranks which a daemon
//! of the batch system started (srun's do not descend from the tuner, nor does what mpirun starts through a daemon), and less that of a virtual cluster's
//! switch, which is the job's network. Ranks on other hosts are not looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::unistd::{SysconfVar, sysconf};

/// Program whose time is the network's, with its name as `/proc` cuts it.
const SWITCH: &str = "kilter-vcluster";

/// Share of a processor that is tolerated: daemons, the system's own work, and the error of clock ticks in a launch of
/// a second.
const QUARTER: f64 = 0.25;

/// Share of the unused processors that other programs may take. The system seldom puts them all beside the ranks, but
/// they share memory.
const SPARE_SHARE: f64 = 0.5;

/// The first look while a job runs, and the interval of those later on.
const FIRST: Duration = Duration::from_millis(125);
const INTERVAL: Duration = Duration::from_secs(2);

/// Time from a look to the next one, by the time from the job's start to it. The first ones come soon: the time of ranks that do not descend from the
/// tuner is known while they live, and a job of a second has some.
pub(super) fn until_next_look(since_start: Duration) -> Duration {
    since_start.clamp(FIRST, INTERVAL)
}

/// Shortest time over which ticks tell something.
const SHORTEST_SECONDS: f64 = 0.1;

/// Processors that other programs may take in the mean over a launch of so many ranks on this host.
#[must_use]
pub fn most_cores(ranks: usize) -> f64 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    most_cores_beside(ranks, cores)
}

fn most_cores_beside(ranks: usize, cores: usize) -> f64 {
    QUARTER + SPARE_SHARE * cores.saturating_sub(ranks) as f64
}

/// Load by others while a job runs: the clocks of this machine since its start, or a scripted load.
#[derive(Debug, Clone)]
pub enum Reading {
    /// Clocks of this machine.
    Clocks(Since),
    /// Others take so many processors all the time.
    Scripted(f64),
}

/// Readings of the clocks since the start of a job.
#[derive(Debug, Clone)]
pub struct Since {
    start: Clocks,
    /// An argument that the job's ranks have, and no other process.
    argument: PathBuf,
    /// Processes that lived at the start.
    older: BTreeSet<i32>,
    /// True once ranks were seen that do not descend from the tuner.
    has_ranks_apart: bool,
}

/// A reading of the clocks.
#[derive(Debug, Clone, Copy)]
struct Clocks {
    at: Instant,
    /// Seconds, over all processors.
    busy: f64,
    /// Busy time of the tuner, its job, and the network of a virtual cluster.
    own: f64,
}

impl Reading {
    /// Reads the clocks now, before a job starts whose ranks alone have this argument; `None` without `/proc`.
    pub(super) fn now(argument: &Path) -> Option<Reading> {
        let all = processes();
        let older = all.iter().map(|one| one.pid).collect();
        let (start, _) = Clocks::now(&all, argument, &older)?;
        Some(Reading::Clocks(Since {
            start,
            argument: argument.to_owned(),
            older,
            has_ranks_apart: false,
        }))
    }

    /// Mean number of processors that others took since then; `None` if too little time has passed to say, or if ranks have ended whose time nobody
    /// knows any more.
    pub(super) fn other_cores(&mut self) -> Option<f64> {
        match self {
            Reading::Clocks(since) => since.other_cores(),
            Reading::Scripted(cores) => Some(*cores),
        }
    }
}

impl Since {
    fn other_cores(&mut self) -> Option<f64> {
        let (now, has_ranks_apart) = Clocks::now(&processes(), &self.argument, &self.older)?;
        if self.has_ranks_apart && !has_ranks_apart {
            return None;
        }
        self.has_ranks_apart = has_ranks_apart;
        now.others_since(self.start, (now.at - self.start.at).as_secs_f64())
    }
}

impl Clocks {
    /// The clocks now, and true if ranks live that do not descend from the tuner.
    fn now(all: &[Living], argument: &Path, older: &BTreeSet<i32>) -> Option<(Clocks, bool)> {
        let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100) as f64;
        let busy = busy_ticks(&fs::read_to_string("/proc/stat").ok()?)? / ticks;
        let own = descendants(all, std::process::id().cast_signed());
        let ranks = all
            .iter()
            .map(|one| one.pid)
            .filter(|pid| !own.contains(pid) && has_argument(*pid, argument))
            .collect();
        let clocks = Clocks {
            at: Instant::now(),
            busy,
            own: own_ticks(all, own, &ranks, older) / ticks,
        };
        Some((clocks, !ranks.is_empty()))
    }

    fn others_since(self, then: Clocks, seconds: f64) -> Option<f64> {
        // The time of an own program that ended meanwhile, such as a cluster's switch, is gone from the sum: it was nobody's since then.
        let others = (self.busy - then.busy) - (self.own - then.own).max(0.0);
        (seconds >= SHORTEST_SECONDS).then(|| (others / seconds).max(0.0))
    }
}

/// True if a process that lives was started with this argument.
fn has_argument(pid: i32, argument: &Path) -> bool {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut arguments = arguments.split(|byte| *byte == 0);
    arguments.any(|one| one == argument.as_os_str().as_bytes())
}

/// Sum of user, nice, system, irq and softirq of the first line. Idle, waiting and stolen time is nobody's work here.
fn busy_ticks(stat: &str) -> Option<f64> {
    let line = stat.lines().find(|line| line.starts_with("cpu "))?;
    let fields: Vec<f64> = line
        .split_whitespace()
        .skip(1)
        .map_while(|field| field.parse().ok())
        .collect();
    (fields.len() >= 7).then(|| [0, 1, 2, 5, 6].iter().map(|index| fields[*index]).sum())
}

/// A living process.
#[derive(Debug, Clone, PartialEq)]
struct Living {
    pid: i32,
    parent: i32,
    is_switch: bool,
    /// User and system time of the process, and of its children that it waited for.
    ticks: f64,
}

/// Every process that can be seen.
fn processes() -> Vec<Living> {
    let Ok(directory) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let stats = directory
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/stat")).ok());
    stats.filter_map(|stat| living(&stat)).collect()
}

/// Reads `pid (name) state ppid ... utime stime cutime cstime ...`.
fn living(stat: &str) -> Option<Living> {
    let (open, close) = (stat.find('(')?, stat.rfind(')')?);
    let fields: Vec<&str> = stat[close + 1..].split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<f64>().ok();
    Some(Living {
        pid: stat[..open].trim().parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        is_switch: stat.get(open + 1..close)?.starts_with(SWITCH),
        ticks: number(11)? + number(12)? + number(13)? + number(14)?,
    })
}

/// A process with its descendants.
fn descendants(all: &[Living], root: i32) -> BTreeSet<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process.pid);
    }
    let mut found = BTreeSet::from([root]);
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for child in children.get(&parent).into_iter().flatten() {
            if found.insert(*child) {
                open.push(*child);
            }
        }
    }
    found
}

/// Ticks of the tuner's `own` processes, of `ranks` apart with their descendants and the daemons that started them, and of switches. A daemon that is
/// `older` than the job is not the job's: it has the time of other jobs.
fn own_ticks(all: &[Living], mut own: BTreeSet<i32>, ranks: &BTreeSet<i32>, older: &BTreeSet<i32>) -> f64 {
    let parents = all.iter().filter(|one| ranks.contains(&one.pid)).map(|one| one.parent);
    own.extend(parents.filter(|parent| !older.contains(parent)));
    for rank in ranks {
        own.extend(descendants(all, *rank));
    }
    let is_own = |one: &&Living| one.is_switch || own.contains(&one.pid);
    all.iter().filter(is_own).map(|one| one.ticks).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_leaves_out_idle_waiting_and_stolen_time() {
        let stat = "cpu  10 20 30 4000 500 6 7 80 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(busy_ticks(stat), Some(73.0));
        assert_eq!(busy_ticks("cpu  1 2"), None);
        assert_eq!(busy_ticks(""), None);
    }

    #[test]
    fn looks_come_soon_at_first_and_seldom_later() {
        let mut at = vec![Duration::ZERO];
        while at.len() < 8 {
            let last = at[at.len() - 1];
            at.push(last + until_next_look(last));
        }
        let at: Vec<f64> = at.iter().map(Duration::as_secs_f64).collect();
        assert_eq!(at, [0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 6.0]);
    }

    fn stat(pid: i32, name: &str, parent: i32, ticks: [u32; 4]) -> String {
        let [user, system, of_children, of_children_system] = ticks;
        format!(
            "{pid} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 {user} {system} {of_children} {of_children_system} 20 0 1 0 9"
        )
    }

    #[test]
    fn what_descends_from_the_tuner_is_its_own_and_the_switch_is_the_network() {
        let stats = [
            stat(10, "kilter", 1, [1000, 0, 0, 0]),
            stat(11, "mpirun", 10, [3, 2, 10, 1]),
            stat(12, "a (b) c", 11, [20, 5, 0, 0]),
            stat(13, "kilter-vcluster", 1, [100, 0, 0, 0]),
            stat(14, "cc1", 1, [5000, 0, 0, 0]),
        ];
        let all: Vec<Living> = stats.iter().filter_map(|text| living(text)).collect();
        assert_eq!(all.len(), stats.len());
        let own = descendants(&all, 10);
        assert_eq!(
            own_ticks(&all, own, &BTreeSet::new(), &BTreeSet::new()),
            1000.0 + 16.0 + 25.0 + 100.0
        );
        assert_eq!(living("nonsense"), None);
    }

    /// Slurm has a daemon for each step, and PBS one for all jobs of a host.
    #[test]
    fn ranks_that_a_daemon_started_are_the_jobs_with_a_daemon_that_is_no_older() {
        let stats = [
            stat(10, "kilter", 1, [1000, 0, 0, 0]),
            stat(11, "srun", 10, [1, 0, 0, 0]),
            stat(20, "slurmstepd", 1, [3, 1, 600, 0]),
            stat(21, "kilter-worker", 20, [200, 0, 0, 0]),
            stat(22, "a child", 21, [40, 0, 0, 0]),
            stat(30, "slurmstepd", 1, [0, 0, 7000, 0]),
            stat(31, "somebody's", 30, [9000, 0, 0, 0]),
        ];
        let all: Vec<Living> = stats.iter().filter_map(|text| living(text)).collect();
        let own = |older| own_ticks(&all, descendants(&all, 10), &BTreeSet::from([21]), &older);
        assert_eq!(own(BTreeSet::from([1, 10, 30, 31])), 1001.0 + 604.0 + 200.0 + 40.0);
        assert_eq!(own(BTreeSet::from([1, 10, 20, 30, 31])), 1001.0 + 200.0 + 40.0);
    }

    #[test]
    fn others_are_what_neither_the_job_nor_its_network_used() {
        let reading = |busy, own| Clocks {
            at: Instant::now(),
            busy,
            own,
        };
        let (then, now) = (reading(100.0, 15.0), reading(120.0, 29.0));
        assert_eq!(now.others_since(then, 4.0), Some(1.5));
        assert_eq!(
            reading(101.0, 35.0).others_since(then, 4.0),
            Some(0.0),
            "never below nothing"
        );
        let ended = reading(101.0, 0.5);
        assert!(ended.own < then.own);
        let busy = ended.busy - then.busy;
        assert_eq!(ended.others_since(then, 4.0), Some(busy / 4.0), "at most what was busy");
        assert_eq!(now.others_since(then, 0.01), None, "less than a tick or two");
    }

    #[test]
    fn what_others_may_take_depends_on_what_the_ranks_leave() {
        assert_eq!(most_cores_beside(2, 2), 0.25);
        assert_eq!(most_cores_beside(8, 2), 0.25, "ranks that share cores");
        assert_eq!(most_cores_beside(8, 64), 28.25);
    }

    fn seconds_of(pid: i32) -> f64 {
        let all = processes();
        let found = all.iter().find(|one| one.pid == pid).unwrap();
        found.ticks / sysconf(SysconfVar::CLK_TCK).unwrap().unwrap() as f64
    }

    fn wait_until(is_so: impl Fn() -> bool, otherwise: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_so() {
            assert!(Instant::now() < deadline, "{otherwise}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn wait_until_busy(pid: i32) {
        wait_until(|| seconds_of(pid) >= 0.3, "the process gets no processor");
    }

    fn own_seconds(argument: &Path) -> f64 {
        let all = processes();
        let older = all.iter().map(|one| one.pid).collect();
        Clocks::now(&all, argument, &older)
            .map(|(clocks, _)| clocks.own)
            .unwrap()
    }

    #[test]
    fn a_busy_child_is_nobody_else() {
        let none = Path::new("/no/such/plan");
        let mut reading = Reading::now(none).unwrap();
        let child = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn();
        let mut child = child.unwrap();
        let pid = child.id().cast_signed();
        wait_until_busy(pid);
        let both = seconds_of(std::process::id().cast_signed()) + seconds_of(pid);
        let while_it_lives = own_seconds(none);
        child.kill().unwrap();
        child.wait().unwrap();
        let afterwards = own_seconds(none);
        // Sums of whole ticks, whose last digit depends on their order.
        let half_a_tick_seconds = 0.005;
        assert!(
            while_it_lives > both - half_a_tick_seconds,
            "{while_it_lives} without the child's of {both}"
        );
        assert!(
            afterwards > while_it_lives - half_a_tick_seconds,
            "and it is not forgotten when it ends"
        );
        assert!(reading.other_cores().is_some());
    }

    /// What `setsid --fork` starts descends from the tuner no more, as the ranks of srun.
    #[test]
    fn a_rank_that_does_not_descend_from_the_tuner_is_known_by_its_argument() {
        let directory = kilter_fixtures::directory();
        let plan = directory.path().join("run1.plan.jsonl");
        let mut reading = Reading::now(&plan).unwrap();
        let started = std::process::Command::new("setsid")
            .args([
                "--fork",
                "sh",
                "-c",
                // It ends with the directory, however the test ends.
                "echo $$ > $0.pid.new; mv $0.pid.new $0.pid; while [ -e $0.pid ]; do :; done",
            ])
            .arg(&plan)
            .status();
        assert!(started.unwrap().success());
        let told = plan.with_extension("jsonl.pid");
        wait_until(|| told.exists(), "nothing was started");
        let pid: i32 = fs::read_to_string(&told).unwrap().trim().parse().unwrap();
        wait_until_busy(pid);
        let (with, without) = (own_seconds(&plan), own_seconds(Path::new("/no/such/plan")));
        let told_while_it_lives = reading.other_cores();
        fs::remove_file(&told).unwrap();
        wait_until(|| !has_argument(pid, &plan), "the process outlives its end");
        assert!(with >= without + 0.2, "{with} and {without}");
        assert!(told_while_it_lives.is_some());
        assert_eq!(reading.other_cores(), None, "nobody knows its time any more");
    }
}
