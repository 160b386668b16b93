//! Snapshot of the processes of this host, from `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// A process as `/proc/PID/stat` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) session: i32,
    /// True if it is dead, but not yet waited for.
    pub(super) zombie: bool,
    /// Clock ticks after boot: with the pid, the identity of a process.
    pub(super) start: u64,
}

/// Every visible process; those that end meanwhile are left out.
pub(super) fn snapshot() -> Vec<Entry> {
    let Ok(directory) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    directory
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|pid| parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?))
        .collect()
}

/// Reads `pid (name) state ppid pgrp session ... starttime ...`; the name may hold anything, also parentheses.
fn parse_stat(text: &[u8]) -> Option<Entry> {
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let open = text.iter().position(|byte| *byte == b'(')?;
    let pid = std::str::from_utf8(&text[..open]).ok()?.trim().parse().ok()?;
    let rest = std::str::from_utf8(&text[close + 1..]).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Entry {
        pid,
        zombie: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
    })
}

/// True if the environment with which the process began holds exactly this `NAME=value`. Other users' processes do not
/// tell.
fn has_environment(pid: i32, entry: &str) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
        environment
            .split(|byte| *byte == 0)
            .any(|found| found == entry.as_bytes())
    })
}

/// Processes of a job: its first process, the session that it leads, every descendant of a member, and every process
/// with the job's tag in its environment. Members are remembered, because descent is lost when a parent dies.
#[derive(Debug)]
pub(super) struct Family {
    /// The direct child, as long as it has not been waited for (its pid cannot be given away before).
    root: Option<i32>,
    tag: String,
    known: BTreeMap<i32, u64>,
}

impl Family {
    /// `tag` is the whole environment entry.
    pub(super) fn new(root: Option<i32>, tag: String) -> Family {
        Family {
            root,
            tag,
            known: BTreeMap::new(),
        }
    }

    /// Looks again and returns the members that exist now, zombies included.
    pub(super) fn members(&mut self) -> Vec<Entry> {
        let own = std::process::id().cast_signed();
        let processes = snapshot();
        let mut members: BTreeSet<i32> = processes
            .iter()
            .filter(|entry| {
                self.root.is_some_and(|root| entry.pid == root || entry.session == root)
                    || self.known.get(&entry.pid) == Some(&entry.start)
            })
            .map(|entry| entry.pid)
            .collect();
        // Descendants: until nobody is added, because the table is in no useful order.
        loop {
            let before = members.len();
            members.extend(
                processes
                    .iter()
                    .filter(|e| members.contains(&e.parent))
                    .map(|e| e.pid)
                    .collect::<Vec<_>>(),
            );
            if members.len() == before {
                break;
            }
        }
        let tagged: Vec<i32> = processes
            .iter()
            .filter(|entry| !members.contains(&entry.pid) && has_environment(entry.pid, &self.tag))
            .map(|entry| entry.pid)
            .collect();
        members.extend(tagged);
        members.remove(&own);
        let found: Vec<Entry> = processes
            .into_iter()
            .filter(|entry| members.contains(&entry.pid))
            .collect();
        self.known.extend(found.iter().map(|entry| (entry.pid, entry.start)));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_parentheses_and_spaces() {
        let line = b"42 (a) R (b) Z 7 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0";
        assert_eq!(
            parse_stat(line),
            Some(Entry {
                pid: 42,
                parent: 7,
                session: 9,
                zombie: true,
                start: 12345
            })
        );
        assert_eq!(parse_stat(b"42 (a"), None);
        assert_eq!(parse_stat(b""), None);
    }

    #[test]
    fn this_process_is_seen() {
        let own = std::process::id().cast_signed();
        let entry = snapshot().into_iter().find(|entry| entry.pid == own).unwrap();
        assert_eq!(entry.parent, std::os::unix::process::parent_id().cast_signed());
        assert!(!entry.zombie);
    }
}
