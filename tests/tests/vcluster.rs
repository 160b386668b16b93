//! The virtual cluster itself: what MPI sees of its network, and that nothing of it is ever left behind.
//!
//! The bounds on times are wide on purpose. They tell a modelled network from shared memory, from a network without rate
//! or latency, and from one that is broken; they do not measure the machine.

use std::{
    fs,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd},
        linux::fs::MetadataExt,
        unix::{
            fs::PermissionsExt,
            process::{CommandExt, ExitStatusExt},
        },
    },
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use kilter_tests::{left_out, program, root};
use nix::libc;

/// A cluster of this process: it ends with the test, however the test ends.
struct Cluster {
    name: String,
    state: PathBuf,
}

impl Cluster {
    /// `None` where no cluster can be had, which is said.
    fn up(suffix: &str, hosts: &str, options: &[&str]) -> Option<Cluster> {
        let name = name(suffix);
        let owner = std::process::id().to_string();
        let mut command = script();
        command.args(["up", hosts, "--name", &name]);
        if !options.contains(&"--owner") {
            command.args(["--owner", &owner]);
        }
        let output = command.args(options).output().unwrap();
        match output.status.code() {
            Some(0) => Some(Cluster {
                name,
                state: String::from_utf8_lossy(&output.stdout).trim().into(),
            }),
            Some(3) => {
                left_out(text(&output.stderr).trim());
                None
            }
            code => panic!("up ended with {code:?}: {}", text(&output.stderr)),
        }
    }

    fn run(&self, arguments: &[&str]) -> Command {
        let mut command = script();
        command.args(["run", "--name", &self.name]).args(arguments);
        command
    }

    fn down(&self) -> Output {
        script().args(["down", "--name", &self.name]).output().unwrap()
    }

    /// Device and inode of every host's network namespace.
    fn namespaces(&self) -> Vec<(u64, u64)> {
        let entries = fs::read_dir(self.state.join("net")).unwrap();
        entries.map(|entry| identity(&entry.unwrap().path()).unwrap()).collect()
    }

    /// The switch, held by a descriptor that becomes readable when it ends.
    fn switch(&self) -> OwnedFd {
        let record = fs::read_to_string(self.state.join("switch.pid")).unwrap();
        let pid: i32 = record.split(' ').next().unwrap().parse().unwrap();
        // SAFETY: pidfd_open takes two integers; the descriptor is new and ours.
        unsafe {
            let descriptor = libc::syscall(libc::SYS_pidfd_open, pid, 0);
            assert!(descriptor >= 0, "the switch {pid} does not run");
            OwnedFd::from_raw_fd(descriptor as i32)
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.down();
    }
}

/// Kills a child of the test when the test is done with it.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn script() -> Command {
    kilter_tests::script("virtual-cluster")
}

/// A name that no other test and no user has.
fn name(suffix: &str) -> String {
    format!("t{}{suffix}", std::process::id())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|data| (data.st_dev(), data.st_ino()))
}

/// Processes in any of these network namespaces.
fn processes_in(namespaces: &[(u64, u64)]) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    processes
        .filter(|path| identity(&path.join("ns/net")).is_some_and(|own| namespaces.contains(&own)))
        .collect()
}

/// The machine's own network: links, addresses, routes.
fn own_network() -> String {
    let show = |what: &[&str]| text(&Command::new("ip").arg("-o").args(what).output().unwrap().stdout);
    [&["link"][..], &["addr"], &["route", "show", "table", "all"]]
        .map(show)
        .concat()
}

fn assert_nothing_left(state: &Path, namespaces: &[(u64, u64)]) {
    assert!(!state.exists(), "{} is left", state.display());
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(
        !mounts.contains(state.to_str().unwrap()),
        "a namespace is still mounted:\n{mounts}"
    );
    assert_eq!(processes_in(namespaces), Vec::<PathBuf>::new());
}

/// Waits for a process's end; false after a minute.
fn ends(process: &OwnedFd) -> bool {
    let mut wanted = libc::pollfd {
        fd: process.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one pollfd, which outlives the call.
    unsafe { libc::poll(&raw mut wanted, 1, 60_000) == 1 }
}

/// Starts something on the cluster that outlives its shell, and returns when it is there.
fn leave_something_running(cluster: &Cluster) {
    let output = cluster
        .run(&["sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & echo $!"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(
        !processes_in(&cluster.namespaces()).is_empty(),
        "nothing runs on the cluster"
    );
}

fn mpi_sees_the_modelled_network_and_nothing_is_left_of_it() {
    let before = own_network();
    let Some(cluster) = Cluster::up("m", "4", &["--rate", "1Gbit", "--latency", "200us"]) else {
        return;
    };
    let namespaces = cluster.namespaces();
    assert_eq!(namespaces.len(), 4);
    let (directory, source) = (tempfile::tempdir().unwrap(), root().join("tests/fixtures/link.c"));
    let program = directory.path().join("link");
    let compiler = std::env::var_os("MPICC").unwrap_or_else(|| "mpicc.openmpi".into());
    let compiled = Command::new(compiler)
        .args(["-O2", "-o"])
        .args([&program, &source])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", text(&compiled.stderr));

    let printed = link(&cluster, &program, &[]);
    let value = |key: &str| value_in(&printed, key);
    let micros = |key: &str| value(key).parse::<f64>().unwrap();
    for rank in 0..4 {
        assert_eq!(
            value(&format!("host{rank}")),
            format!("{}{rank}", cluster.name),
            "one rank on each host"
        );
    }
    assert!(
        (200.0..600.0).contains(&micros("byte")),
        "one way takes 200 us and what MPI adds: {printed}"
    );
    let gigabits = 8.0 * f64::from(1 << 20) / (micros("mebibyte") - micros("byte")) / 1e3;
    assert!(
        (0.8..1.2).contains(&gigabits),
        "a mebibyte went at {gigabits:.2} Gbit/s: {printed}"
    );
    // Two rounds of messages; one that found a way through this machine's memory would be far below.
    assert!((400.0..4_000.0).contains(&micros("barrier")), "{printed}");
    assert!((200.0 + 524.0..20_000.0).contains(&micros("bcast")), "{printed}");

    // Ranks wait for a millisecond where they would spin, and outrank everything but the switch while they are in MPI.
    assert!((900.0..100_000.0).contains(&micros("empty poll")), "{printed}");
    assert_eq!(value("real-time"), REAL_TIME);
    // Also where the drop-in is preloaded, which comes first.
    let waiter = kilter_tests::program("libkilter_waiter.so");
    let dropin = kilter_tests::program("libkilter.so");
    let preload = format!("LD_PRELOAD={}:{}", dropin.display(), waiter.display());
    let printed = link(&cluster, &program, &["-x", &preload]);
    assert_eq!(value_in(&printed, "real-time"), REAL_TIME, "{printed}");

    let page = text(
        &script()
            .args(["stat", "--name", &cluster.name])
            .output()
            .unwrap()
            .stdout,
    );
    assert!(
        page.contains("refused = 0\n") && !page.contains("packets = 0\n"),
        "{page}"
    );
    leave_something_running(&cluster);
    for attempt in ["first", "second"] {
        let down = cluster.down();
        assert!(down.status.success(), "{attempt} down: {}", text(&down.stderr));
        assert_nothing_left(&cluster.state, &namespaces);
    }
    assert_eq!(own_network(), before);
}

/// Real-time priority of a rank while it is in MPI, before and after.
const REAL_TIME: &str = "1 (0 before, 0 after)";

/// Output of the program `link` on the hosts of the cluster, whose launcher gets further words.
fn link(cluster: &Cluster, program: &Path, words: &[&str]) -> String {
    let run = cluster.run(&[&["--mpirun"], words, &["--", program.to_str().unwrap()]].concat());
    let mut limited = Command::new("timeout");
    let limited = limited.arg("120").arg(run.get_program()).args(run.get_args());
    let output = limited.output().unwrap();
    let printed = text(&output.stdout);
    assert!(
        output.status.success(),
        "{:?}: {printed}{}",
        output.status,
        text(&output.stderr)
    );
    printed
}

/// The value behind `key = ` in what `link` printed.
fn value_in(printed: &str, key: &str) -> String {
    let mut lines = printed.lines().filter_map(|line| line.split_once(" = "));
    let found = lines.find(|(name, _)| *name == key);
    found
        .unwrap_or_else(|| panic!("'{key}' is missing in {printed}"))
        .1
        .to_owned()
}

fn a_cluster_ends_with_its_owner() {
    let mut owner = Killed(Command::new("cat").stdin(Stdio::piped()).spawn().unwrap());
    let pid = owner.0.id().to_string();
    let Some(cluster) = Cluster::up("o", "2", &["--owner", &pid]) else {
        return;
    };
    let (namespaces, switch) = (cluster.namespaces(), cluster.switch());
    leave_something_running(&cluster);
    owner.0.kill().unwrap();
    owner.0.wait().unwrap();
    assert!(ends(&switch), "the switch outlives its owner");
    assert_nothing_left(&cluster.state, &namespaces);
}

fn up_replaces_a_cluster_whose_switch_was_killed() {
    let Some(cluster) = Cluster::up("r", "2", &[]) else {
        return;
    };
    let (namespaces, switch) = (cluster.namespaces(), cluster.switch());
    leave_something_running(&cluster);
    // SAFETY: the descriptor is open; a null siginfo means the default.
    let killed = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            switch.as_raw_fd(),
            libc::SIGKILL,
            std::ptr::null::<()>(),
            0,
        )
    };
    assert!(killed == 0 && ends(&switch));
    let refused = cluster.run(&["true"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        text(&refused.stderr).contains("start the cluster again with `up`"),
        "{}",
        text(&refused.stderr)
    );

    let again = Cluster::up("r", "3", &[]).unwrap();
    assert_eq!(processes_in(&namespaces), Vec::<PathBuf>::new());
    assert_eq!(again.namespaces().len(), 3);
}

fn run_is_its_command() {
    let Some(cluster) = Cluster::up("c", "2", &[]) else {
        return;
    };
    let code = |arguments: &[&str]| cluster.run(arguments).output().unwrap().status.code();
    assert_eq!(code(&["sh", "-c", "exit 7"]), Some(7));
    assert_eq!(code(&["--", "/nonexistent/program"]), Some(127));
    assert_eq!(code(&["--", "/proc/version"]), Some(126));

    let first = format!("{}0", cluster.name);
    let seen = "hostname; cat \"$KILTER_HOSTFILE\"; \"$KILTER_LAUNCH_AGENT\" $(sed -n '2s/ .*//p' \"$KILTER_HOSTFILE\") hostname";
    let output = cluster.run(&["--ppn", "3", "sh", "-c", seen]).output().unwrap();
    let expected = format!("{first}\n{first} slots=3\n{0}1 slots=3\n{0}1\n", cluster.name);
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));

    // The machine's own network is invisible, and so unreachable.
    let links = cluster.run(&["ls", "/sys/class/net"]).output().unwrap();
    assert_eq!(text(&links.stdout), "eth0\nlo\n");

    // A signal to the runner is a signal to the command: the shell answers, so it is there, and dies of it.
    let mut command = cluster.run(&["sh", "-c", "echo here; exec cat"]);
    let mut child = Killed(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.0.stdout.take().unwrap()), &mut line).unwrap();
    assert_eq!(line, "here\n");
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(child.0.id() as i32),
        nix::sys::signal::Signal::SIGTERM,
    )
    .unwrap();
    assert_eq!(child.0.wait().unwrap().signal(), Some(libc::SIGTERM));
}

fn what_cannot_be_had_is_said_with_an_exit_code_of_its_own() {
    let mut up = Command::new(program("kilter-vcluster"));
    up.args(["up", "2", "--name", &name("u")]);
    if nix::unistd::Uid::effective().is_root() {
        up.uid(65_534).gid(65_534);
    }
    let output = up.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("root"), "{}", text(&output.stderr));
}

fn an_up_that_fails_midway_leaves_nothing() {
    // Shows whether a cluster can be had at all; then one fails at its second host.
    let Some(probe) = Cluster::up("p", "1", &[]) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let (fake, once) = (directory.path().join("ip"), directory.path().join("once"));
    let body = "#!/bin/sh\ncat >/dev/null\nif [ -e ONCE ]; then echo 'no more hosts' >&2; exit 1; fi\n: >ONCE\n";
    fs::write(&fake, body.replace("ONCE", once.to_str().unwrap())).unwrap();
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", directory.path().display(), std::env::var("PATH").unwrap());
    let output = script()
        .args(["up", "4", "--name", &name("f")])
        .env("PATH", path)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(
        message.contains("no more hosts") && message.contains(&format!("{}1", name("f"))),
        "{message}"
    );
    assert!(once.exists(), "the first host was set up");
    let state = probe.state.with_file_name(format!("kilter-vcluster-{}", name("f")));
    assert_nothing_left(&state, &[]);
}

kilter_tests::cases![
    mpi_sees_the_modelled_network_and_nothing_is_left_of_it,
    a_cluster_ends_with_its_owner,
    up_replaces_a_cluster_whose_switch_was_killed,
    run_is_its_command,
    what_cannot_be_had_is_said_with_an_exit_code_of_its_own,
    an_up_that_fails_midway_leaves_nothing,
];
