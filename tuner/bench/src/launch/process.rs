//! A process tree that can be ended for certain.
//!
//! The child leads a session of its own, so that a signal to the tuner's group does not reach it. It gets SIGTERM when
//! the tuner dies. Its environment carries a tag. To kill the child's process group is not enough: Open MPI puts every
//! rank into a group of its own, and daemons detach from their session. Every process on this host that descends from
//! the child, shares its session or carries the tag is therefore found through `/proc`. Ranks on other hosts end with
//! their launcher, or by the worker's own idle limit.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;

use super::command::CommandSpec;
use super::proc_table::{self, Entry, Family};

/// Time for a launcher to end its ranks itself after SIGTERM.
pub(super) const KILL_GRACE: Duration = Duration::from_secs(5);

/// Environment variable that marks every process of a launch.
pub const TAG_VARIABLE: &str = "KILTER_LAUNCH_ID";

/// Time that SIGKILL may take to remove processes before they count as left over.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// First pause between two looks at processes; doubles up to [`LONGEST_PAUSE`]. Most of a job's processes are nobody's children here, and their
/// ends are no event.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// The same between two looks at the direct child, which take one system call each: a launcher ends a tenth of a second after its ranks, and
/// every launch waits for that.
const LONGEST_PAUSE_FOR_CHILD: Duration = Duration::from_millis(4);

/// Errors of processes.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// No program.
    #[error("a command without a program cannot be run")]
    Empty,
    /// It did not start.
    #[error("cannot run `{command}`: {source}")]
    Spawn {
        /// The command line.
        command: String,
        /// Cause.
        source: io::Error,
    },
    /// A replay starts nothing.
    #[error("the stored run has no answer to `{command}`, and nothing is started")]
    Replayed {
        /// The command line.
        command: String,
    },
    /// SIGKILL did not remove them.
    #[error("processes {pids:?} of launch {tag} are still there {seconds} s after SIGKILL; remove them by hand")]
    Leftover {
        /// Ids of the processes.
        pids: Vec<i32>,
        /// Tag of their launch.
        tag: String,
        /// Seconds that were allowed for it.
        seconds: u64,
    },
    /// The system refused.
    #[error("cannot {action}: {errno}")]
    System {
        /// The attempted action.
        action: &'static str,
        /// Cause.
        errno: Errno,
    },
}

/// Makes orphans of our children our own children, so that they can be seen and waited for. Call it once, before the
/// first launch.
pub fn become_subreaper() -> Result<(), ProcessError> {
    nix::sys::prctl::set_child_subreaper(true).map_err(|errno| ProcessError::System {
        action: "become the parent of orphaned processes",
        errno,
    })
}

/// Direct children that have an owner who waits for them. The lock is held while one is started, so that nobody takes
/// it for an orphan.
static OWNED: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn owned() -> MutexGuard<'static, BTreeSet<i32>> {
    OWNED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running command with all processes that it started.
#[derive(Debug)]
pub struct Process {
    child: Child,
    family: Family,
    tag: String,
    status: Option<ExitStatus>,
}

impl Process {
    /// Starts a command in a session of its own; standard input is empty, standard output and error go to `output`.
    ///
    /// Call it from the main thread: the child gets SIGTERM when the *thread* that started it ends.
    pub fn spawn(spec: &CommandSpec, tag: &str, output: File) -> Result<Process, ProcessError> {
        let (program, arguments) = spec.argv.split_first().ok_or(ProcessError::Empty)?;
        let failed = |source| ProcessError::Spawn {
            command: spec.to_string(),
            source,
        };
        let errors = output.try_clone().map_err(failed)?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(spec.environment.iter().map(|(name, value)| (name, value)))
            .env(TAG_VARIABLE, tag)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        let tuner = std::process::id().cast_signed();
        // SAFETY: between fork and exec only async-signal-safe calls are made (sigaction, setsid, prctl, getppid); nothing is allocated.
        unsafe { command.pre_exec(move || detach(tuner)) };
        let child = {
            let mut owned = owned();
            let child = command.spawn().map_err(failed)?;
            owned.insert(child.id().cast_signed());
            child
        };
        let family = Family::new(Some(child.id().cast_signed()), format!("{TAG_VARIABLE}={tag}"));
        Ok(Process {
            child,
            family,
            tag: tag.to_owned(),
            status: None,
        })
    }

    /// Process id of the direct child.
    #[must_use]
    pub fn id(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// True if the direct child has ended. It is not waited for before [`Process::kill_all`], so that its pid stays its
    /// own.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        if self.status.is_some() {
            return true;
        }
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        !matches!(
            waitid(Id::Pid(Pid::from_raw(self.id())), flags),
            Ok(WaitStatus::StillAlive) | Err(Errno::EINTR)
        )
    }

    /// Waits until the direct child has ended, for at most `limit`; returns true if it has.
    #[must_use]
    pub fn wait(&self, limit: Duration) -> bool {
        let mut pause = Pause {
            longest: LONGEST_PAUSE_FOR_CHILD,
            ..Pause::new(limit)
        };
        loop {
            if self.has_ended() {
                return true;
            }
            if !pause.sleep() {
                return false;
            }
        }
    }

    /// Ends everything: SIGTERM, SIGKILL after `grace`, until nothing is left. Returns how the direct child ended. A
    /// second call does nothing. The error lists the ids of processes that do not go away.
    pub fn kill_all(&mut self, grace: Duration) -> Result<ExitStatus, ProcessError> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let members = self.family.members();
        if self.has_ended() {
            // Nobody is left to pass the signal on.
            members.iter().for_each(|entry| signal(entry, Signal::SIGTERM));
        } else {
            // The launcher ends its ranks itself, in order; a second signal would only disturb it.
            let _ = killpg(Pid::from_raw(self.id()), Signal::SIGTERM);
        }
        let gone = end(&mut self.family, self.child.id().cast_signed(), &self.tag, grace);
        // A zombie by the process table may have threads that are still dying: it can be waited for a moment later. What then
        // cannot is named in the error.
        if self.wait(if gone.is_ok() { KILL_LIMIT } else { Duration::ZERO }) {
            let status = self.child.wait().map_err(|source| ProcessError::System {
                action: "wait for the launcher",
                errno: Errno::from_raw(source.raw_os_error().unwrap_or_default()),
            })?;
            owned().remove(&self.id());
            reap_orphans();
            self.status = Some(status);
            return gone.map(|()| status);
        }
        gone?;
        Err(ProcessError::Leftover {
            pids: vec![self.id()],
            tag: self.tag.clone(),
            seconds: KILL_LIMIT.as_secs(),
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Err(error) = self.kill_all(Duration::ZERO) {
            tracing::error!("{error}");
        }
    }
}

/// Ends every process that carries the tag, as [`Process::kill_all`] does. It is for a launcher that was started by
/// another process which is gone. The error lists the ids of processes that do not go away.
pub fn sweep(tag: &str, grace: Duration) -> Result<(), ProcessError> {
    let mut family = Family::new(None, format!("{TAG_VARIABLE}={tag}"));
    family.members().iter().for_each(|entry| signal(entry, Signal::SIGTERM));
    let gone = end(&mut family, 0, tag, grace);
    reap_orphans();
    gone
}

/// Waits for dead processes that came to us as orphans before anybody saw whose they were: daemons and their
/// short-lived parents.
///
/// A job's processes are all in sessions other than ours. Other processes that the tuner starts stay in its own.
fn reap_orphans() {
    let processes = proc_table::snapshot();
    let own = std::process::id().cast_signed();
    let Some(session) = processes
        .iter()
        .find(|entry| entry.pid == own)
        .map(|entry| entry.session)
    else {
        return;
    };
    let owned = owned();
    processes
        .iter()
        .filter(|entry| entry.zombie && entry.parent == own && entry.session != session && !owned.contains(&entry.pid))
        .for_each(|entry| {
            let _ = waitpid(Pid::from_raw(entry.pid), Some(WaitPidFlag::WNOHANG));
        });
}

/// Waits for the members to end, then kills the rest until none is left.
fn end(family: &mut Family, root: i32, tag: &str, grace: Duration) -> Result<(), ProcessError> {
    let mut pause = Pause::new(grace);
    while !alive(family, root).is_empty() && pause.sleep() {}
    let mut pause = Pause::new(KILL_LIMIT);
    loop {
        let left = alive(family, root);
        if left.is_empty() {
            return Ok(());
        }
        left.iter().for_each(|entry| signal(entry, Signal::SIGKILL));
        if !pause.sleep() {
            let pids = left.iter().map(|entry| entry.pid).collect();
            return Err(ProcessError::Leftover {
                pids,
                tag: tag.to_owned(),
                seconds: KILL_LIMIT.as_secs(),
            });
        }
    }
}

/// Living members. Dead ones that came to us as orphans are waited for on the way; the root is left to its owner.
fn alive(family: &mut Family, root: i32) -> Vec<Entry> {
    let own = std::process::id().cast_signed();
    let (dead, living): (Vec<Entry>, Vec<Entry>) = family.members().into_iter().partition(|entry| entry.zombie);
    for entry in dead.iter().filter(|entry| entry.parent == own && entry.pid != root) {
        // Somebody else's zombie, or one that is gone meanwhile, is no trouble.
        let _ = waitpid(Pid::from_raw(entry.pid), Some(WaitPidFlag::WNOHANG));
    }
    living
}

/// Sends a signal to a process. An error is ignored: a process that has ended meanwhile is what we want.
fn signal(entry: &Entry, signal: Signal) {
    if !entry.zombie {
        let _ = kill(Pid::from_raw(entry.pid), signal);
    }
}

/// Prepares the child before exec.
fn detach(tuner: i32) -> io::Result<()> {
    // The tuner's handler would note, in the child, the signal that is to end it. Up to exec it would be lost, and the job outlive the tuner.
    super::interrupt::reset()?;
    nix::unistd::setsid()?;
    nix::sys::prctl::set_pdeathsig(Signal::SIGTERM)?;
    // The tuner may have died before the signal was asked for.
    if nix::unistd::getppid().as_raw() == tuner {
        Ok(())
    } else {
        Err(Errno::ESRCH.into())
    }
}

/// Pauses that grow, up to a limit in all.
pub(super) struct Pause {
    next: Duration,
    longest: Duration,
    deadline: Instant,
}

impl Pause {
    pub(super) fn new(limit: Duration) -> Pause {
        Pause {
            next: SHORTEST_PAUSE,
            longest: LONGEST_PAUSE,
            deadline: Instant::now() + limit,
        }
    }

    /// Sleeps and returns true; false if the limit is reached.
    pub(super) fn sleep(&mut self) -> bool {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(self.next.min(left));
        self.next = (self.next * 2).min(self.longest);
        true
    }
}

#[cfg(test)]
mod tests;
