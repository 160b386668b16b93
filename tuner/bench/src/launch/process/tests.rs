use std::path::PathBuf;
use std::sync::mpsc;

use super::super::proc_table::snapshot;
use super::*;

/// Waits for an answer from a script, but not for ever.
const AMPLE: Duration = Duration::from_secs(60);

struct Stage {
    directory: tempfile::TempDir,
}

impl Stage {
    fn new() -> Stage {
        become_subreaper().unwrap();
        let directory = kilter_fixtures::directory();
        nix::unistd::mkfifo(&directory.path().join("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        Stage { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a script; `$0` is the FIFO.
    fn start(&self, script: &str, tag: &str) -> Process {
        let argv = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        let spec = CommandSpec {
            argv,
            environment: Vec::new(),
        }
        .with_arguments([self.path("fifo").to_string_lossy()]);
        Process::spawn(&spec, tag, File::create(self.path("log")).unwrap()).unwrap()
    }

    /// Reads what the script writes to the FIFO.
    fn hear(&self) -> String {
        let (sender, receiver) = mpsc::channel();
        let fifo = self.path("fifo");
        std::thread::spawn(move || sender.send(std::fs::read_to_string(fifo).unwrap()));
        receiver.recv_timeout(AMPLE).unwrap().trim().to_owned()
    }

    fn hear_pid(&self) -> i32 {
        self.hear().parse().unwrap()
    }
}

/// True if the process exists, dead or alive.
fn exists(pid: i32) -> bool {
    snapshot().iter().any(|entry| entry.pid == pid)
}

fn tag() -> String {
    crate::store::unique()
}

#[test]
fn who_listens_to_sigterm_ends_in_order() {
    let stage = Stage::new();
    let mut process = stage.start(
        "trap 'exit 5' TERM; echo ready >$0; while :; do sleep 0.01; done",
        &tag(),
    );
    assert_eq!(stage.hear(), "ready");
    assert!(!process.has_ended());
    let pid = process.id();
    assert_eq!(process.kill_all(AMPLE).unwrap().code(), Some(5));
    assert!(!exists(pid));
    assert!(process.has_ended());
    assert_eq!(
        process.kill_all(AMPLE).unwrap().code(),
        Some(5),
        "a second call changes nothing"
    );
}

#[test]
fn who_ignores_sigterm_is_killed_with_its_children() {
    let stage = Stage::new();
    let mut process = stage.start("trap '' TERM; sleep 600 & echo $! >$0; wait; sleep 600", &tag());
    let (child, pid) = (stage.hear_pid(), process.id());
    let status = process.kill_all(Duration::from_millis(50)).unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    assert!(!exists(child) && !exists(pid));
}

/// Starts a process in a session of its own whose parent is gone.
const ESCAPE: &str = "(setsid sh -c 'trap \"\" TERM; echo $$ >$0; exec sleep 600' $0 &)";

#[test]
fn who_escapes_from_group_session_and_parent_is_found_by_the_tag() {
    for ending in ["exec sleep 600", "exit 0"] {
        let stage = Stage::new();
        let mut process = stage.start(&format!("{ESCAPE}; {ending}"), &tag());
        let escaped = stage.hear_pid();
        if ending == "exit 0" {
            assert!(process.wait(AMPLE));
        }
        assert!(exists(escaped));
        process.kill_all(Duration::from_millis(20)).unwrap();
        assert!(!exists(escaped), "left over after `{ending}`");
    }
}

#[test]
fn who_hides_the_tag_is_found_by_descent_or_session() {
    let hidden = "env -i sh -c 'echo $$ >$0; exec sleep 600' $0";
    // The first script's process is found by descent: it has a session of its own, but its parent lives. The second
    // one's is found by its session: its parent is gone.
    for script in [format!("setsid {hidden} & wait"), format!("({hidden} &); exit 0")] {
        let stage = Stage::new();
        let mut process = stage.start(&script, &tag());
        let hiding = stage.hear_pid();
        process.kill_all(Duration::from_millis(20)).unwrap();
        assert!(!exists(hiding), "left over by `{script}`");
    }
}

#[test]
fn a_stopped_process_is_killed_too() {
    let stage = Stage::new();
    let mut process = stage.start("echo ready >$0; kill -STOP $$", &tag());
    stage.hear();
    let pid = process.id();
    process.kill_all(Duration::from_millis(20)).unwrap();
    assert!(!exists(pid));
}

#[test]
fn a_sweep_takes_only_its_own_tag() {
    let (one, two) = (Stage::new(), Stage::new());
    let tag = tag();
    let mut owner = one.start(&format!("{ESCAPE}; exit 0"), &tag);
    let escaped = one.hear_pid();
    let mut other = two.start("echo ready >$0; exec sleep 600", &format!("{tag}1"));
    two.hear();
    assert!(owner.wait(AMPLE));
    sweep(&tag, Duration::from_millis(20)).unwrap();
    assert!(!exists(escaped));
    assert!(!other.has_ended());
    other.kill_all(Duration::ZERO).unwrap();
    owner.kill_all(Duration::ZERO).unwrap();
}

#[test]
fn orphans_that_died_unseen_are_waited_for() {
    let stage = Stage::new();
    // A daemon without tag and in a session of its own, which ends before anybody looks.
    let script = "(env -i setsid sh -c 'echo $$ >$0' $0 &); exec sleep 600";
    let mut process = stage.start(script, &tag());
    let daemon = stage.hear_pid();
    let deadline = Instant::now() + AMPLE;
    while snapshot().iter().any(|entry| entry.pid == daemon && !entry.zombie) {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
    process.kill_all(Duration::ZERO).unwrap();
    assert!(!exists(daemon));
}

#[test]
fn dropping_ends_everything() {
    let stage = Stage::new();
    let process = stage.start(&format!("{ESCAPE}; exec sleep 600"), &tag());
    let (escaped, pid) = (stage.hear_pid(), process.id());
    drop(process);
    assert!(!exists(escaped) && !exists(pid));
}

#[test]
fn output_goes_to_the_log_and_input_is_empty() {
    let stage = Stage::new();
    let mut process = stage.start("cat; echo out; echo err >&2; echo \"$KILTER_LAUNCH_ID\"", "the tag");
    assert!(process.wait(AMPLE));
    assert!(process.kill_all(Duration::ZERO).unwrap().success());
    assert_eq!(
        std::fs::read_to_string(stage.path("log")).unwrap(),
        "out\nerr\nthe tag\n"
    );
}

#[test]
fn what_cannot_be_run_is_named() {
    let stage = Stage::new();
    let spawn = |argv: &[&str]| {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        let spec = CommandSpec {
            argv,
            environment: Vec::new(),
        };
        Process::spawn(&spec, "tag", File::create(stage.path("log")).unwrap())
            .unwrap_err()
            .to_string()
    };
    assert!(spawn(&["no-such-launcher", "-n", "2"]).contains("`no-such-launcher -n 2`"));
    assert!(spawn(&[]).contains("without a program"));
}

/// Linux sends the signal whenever the tuner dies, also where its child has asked for it and is not yet another program.
#[test]
fn a_child_whose_tuner_dies_before_it_is_another_program_dies_of_it() {
    use std::os::unix::process::ExitStatusExt as _;
    let tuner = std::process::id().cast_signed();
    let mut command = Command::new("true");
    let dies = move || {
        // As the child of a tuner has it.
        crate::launch::interrupt::install()?;
        detach(tuner)?;
        nix::sys::signal::raise(Signal::SIGTERM)?;
        Ok(())
    };
    // SAFETY: only async-signal-safe calls are made, and nothing is allocated.
    unsafe { command.pre_exec(dies) };
    let _owned = owned();
    let status = command.status().unwrap();
    assert_eq!(status.signal(), Some(Signal::SIGTERM as i32), "{status}");
}
