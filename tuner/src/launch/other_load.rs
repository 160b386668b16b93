//! How busy other programs kept this machine while a job ran: what it measured beside a compilation is measured again when the run is
//! resumed.
//!
//! Busy time of all processors (`/proc/stat`) less what the tuner and its children used (`getrusage`; a job's processes are children once
//! they are waited for) and less the switch of a virtual cluster, which is the job's network. Ranks on other hosts are not looked at.

use std::fs;
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use nix::unistd::{SysconfVar, sysconf};

/// The program whose time is the network's, as `/proc` cuts its name.
const SWITCH: &str = "kilter-vcluster";

/// Processors that other programs may take, in the mean over a launch: daemons and the system's own work do not reach it.
pub const MOST_CORES: f64 = 0.5;

/// A reading of the clocks, at the start of a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    at: Instant,
    /// Seconds, over all processors.
    busy: f64,
    own: f64,
    switch: f64,
}

impl Reading {
    /// Reads now; `None` where there is no `/proc`.
    pub(super) fn now() -> Option<Reading> {
        let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100) as f64;
        Some(Reading {
            at: Instant::now(),
            busy: busy_ticks(&fs::read_to_string("/proc/stat").ok()?)? / ticks,
            own: own_seconds()?,
            switch: switch_ticks() / ticks,
        })
    }

    /// Processors that others took since then, in the mean.
    pub(super) fn other_cores(self) -> Option<f64> {
        let now = Reading::now()?;
        Some(now.others_since(self, (now.at - self.at).as_secs_f64()))
    }

    fn others_since(self, then: Reading, seconds: f64) -> f64 {
        let others = (self.busy - then.busy) - (self.own - then.own) - (self.switch - then.switch);
        (others / seconds.max(1e-3)).max(0.0)
    }
}

/// User, nice, system, irq and softirq of the first line; idle, waiting and stolen time is nobody's work here.
fn busy_ticks(stat: &str) -> Option<f64> {
    let line = stat.lines().find(|line| line.starts_with("cpu "))?;
    let fields: Vec<f64> = line
        .split_whitespace()
        .skip(1)
        .map_while(|field| field.parse().ok())
        .collect();
    (fields.len() >= 7).then(|| [0, 1, 2, 5, 6].iter().map(|index| fields[*index]).sum())
}

/// Of this process and of its children that were waited for.
fn own_seconds() -> Option<f64> {
    let mut seconds = 0.0;
    for who in [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN] {
        let usage = getrusage(who).ok()?;
        let time = usage.user_time() + usage.system_time();
        seconds += time.num_microseconds() as f64 / 1e6;
    }
    Some(seconds)
}

fn switch_ticks() -> f64 {
    let Ok(directory) = fs::read_dir("/proc") else {
        return 0.0;
    };
    let stats = directory
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/stat")).ok());
    stats.filter_map(|stat| ticks_of(&stat, SWITCH)).sum()
}

/// User and system time of a process by this name.
fn ticks_of(stat: &str, name: &str) -> Option<f64> {
    let (open, close) = (stat.find('(')?, stat.rfind(')')?);
    if !stat[open + 1..close].starts_with(name) {
        return None;
    }
    let fields: Vec<&str> = stat[close + 1..].split_whitespace().collect();
    Some(fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?)
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
    fn a_process_is_known_by_the_beginning_of_its_name() {
        let stat = "42 (kilter-vcluster) S 1 42 42 0 -1 0 0 0 0 0 150 50 0 0 20 0 1 0 9";
        assert_eq!(ticks_of(stat, SWITCH), Some(200.0));
        assert_eq!(ticks_of(&stat.replace("kilter-vcluster", "a (b) c"), SWITCH), None);
        assert_eq!(ticks_of("nonsense", SWITCH), None);
    }

    #[test]
    fn others_are_what_neither_the_job_nor_its_network_used() {
        let reading = |busy, own, switch| Reading {
            at: Instant::now(),
            busy,
            own,
            switch,
        };
        let (then, now) = (reading(100.0, 10.0, 5.0), reading(120.0, 22.0, 7.0));
        assert_eq!(now.others_since(then, 4.0), 1.5);
        // Children are counted when they are waited for: never below nothing.
        assert_eq!(reading(101.0, 30.0, 5.0).others_since(then, 4.0), 0.0);
    }

    #[test]
    fn this_machine_can_be_read() {
        let reading = Reading::now().unwrap();
        assert!(reading.other_cores().is_some_and(|cores| cores >= 0.0));
    }
}
