//! Interrupts, and real signals to a tuner in a process of its own.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Command};

use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};

use super::*;
use crate::launch::process::become_subreaper;
use crate::launch::stand_in::{gate, waiting};

/// Milliseconds for which a test waits for an event that must come.
const PATIENCE_MS: u16 = 60_000;

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let flag: &'static Flag = Box::leak(Box::new(Flag::new(0)));
    let site = Site::new();
    {
        let run = site.run();
        let mut session = site.session(&run, "waits b2 right").interrupted_by(flag);
        let mut raise = |id: &str| {
            assert_eq!(id, "b1");
            flag.store(2, std::sync::atomic::Ordering::SeqCst);
        };
        let error = session.measure_all(&blocks(&["b1", "b2"]), &mut raise).unwrap_err();
        assert!(matches!(error, SessionError::Interrupted { signal: 2 }), "{error}");
        site.nobody_is_left();
        assert!(matches!(
            session.measure(&block("b3")),
            Err(SessionError::Interrupted { .. })
        ));
        assert_eq!(site.sql::<String>("SELECT outcome FROM launches"), ["interrupted"]);
    }
    let run = site.run();
    let outcomes = site
        .session(&run, "good")
        .measure_all(&blocks(&["b1", "b2"]), &mut |_| ())
        .unwrap();
    assert_eq!(outcomes, [expected("b1"), expected("b2")]);
    assert_eq!(site.asked(2), ["b2"]);
}

/// A tuner in a process of its own, for real signals. Not a test by itself.
#[test]
fn tuner_process() {
    let Ok(directory) = std::env::var("KILTER_TEST_TUNER") else {
        return;
    };
    interrupt::install().unwrap();
    become_subreaper().unwrap();
    let directory = PathBuf::from(directory);
    let store = Store::open(&directory.join("kilter.db")).unwrap();
    let run = run(&store);
    let mut session = Session::new(&run, Path::new("worker"), &directory, spec("key", "waits b2 right"));
    let status = match session.measure_all(&blocks(&["b1", "b2", "b3"]), &mut |_| ()) {
        Err(SessionError::Interrupted { signal }) => interrupt::exit_status(signal),
        _ => 1,
    };
    drop(session);
    std::process::exit(status.into());
}

/// The reading end of the pipe of a worker that waits.
struct Waiting(File);

impl Waiting {
    fn listen(site: &Site) -> Waiting {
        let path = waiting(site.directory.path());
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        let pipe = File::options()
            .read(true)
            .custom_flags(OFlag::O_NONBLOCK.bits())
            .open(path);
        Waiting(pipe.unwrap())
    }

    /// True once the worker waits, false once it has gone.
    fn is_there(&mut self, else_what: &str) -> bool {
        let mut pipe = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut pipe, PATIENCE_MS), Ok(1), "not in time: {else_what}");
        self.0.read(&mut [0]).unwrap() > 0
    }
}

/// Starts the tuner and returns when its worker is in the second block.
fn tuner_in_second_block(site: &Site) -> (Child, Waiting) {
    let mut worker = Waiting::listen(site);
    let child = Command::new(std::env::current_exe().unwrap())
        .args([
            "launch::session::tests::signals::tuner_process",
            "--exact",
            "--nocapture",
            "--quiet",
        ])
        .env("KILTER_TEST_TUNER", site.directory.path())
        .spawn()
        .unwrap();
    assert!(worker.is_there("the job did not get to its second block"));
    (child, worker)
}

#[test]
fn sigkill_of_the_tuner_ends_its_job_and_loses_nothing() {
    let site = Site::new();
    let (mut tuner, mut worker) = tuner_in_second_block(&site);
    tuner.kill().unwrap();
    tuner.wait().unwrap();
    // Its job gets SIGTERM from the system, with nobody there to send it.
    assert!(!worker.is_there("the job outlives the tuner"));
    std::fs::write(gate(site.directory.path()), "").unwrap();
    let run = site.run();
    assert!(run.resumed);
    let mut session = site.session(&run, "waits b2 right");
    let outcomes = session.measure_all(&blocks(&["b1", "b2", "b3"]), &mut |_| ()).unwrap();
    assert_eq!(outcomes, ["b1", "b2", "b3"].map(expected));
    // The first block has no end line of its own launch: it was run once more for it.
    assert_eq!(session.finish().unwrap().dropin_calls["blocks"], 3);
    assert_eq!(site.asked(2), ["b2", "b3"]);
    assert_eq!(site.asked(3), ["b1"]);
    assert_eq!(
        site.sql::<String>("SELECT outcome FROM launches"),
        ["tuner was killed", "ended", "ended"]
    );
    site.nobody_is_left();
}

#[test]
fn ctrl_c_and_sigterm_end_the_job_and_set_the_exit_status() {
    for (signal, status) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let site = Site::new();
        let (mut tuner, _worker) = tuner_in_second_block(&site);
        kill(Pid::from_raw(tuner.id().cast_signed()), signal).unwrap();
        assert_eq!(tuner.wait().unwrap().code(), Some(status));
        assert_eq!(site.sql::<String>("SELECT outcome FROM launches"), ["interrupted"]);
        assert_eq!(site.sql::<String>("SELECT block FROM blocks_view"), ["b1"]);
        site.nobody_is_left();
    }
}
