//! The harness of the test programs: a table of tests for each subject, run one at a time, and *ignored* with the reason where this machine
//! cannot have what they test.
//!
//! libtest's attributes cannot tell that at run time, so these programs are run by libtest-mimic: the same options, the same closing lines.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use nix::unistd::{dup2_stderr, dup2_stdout};

/// Number of the longest tests that are named at the end.
const LONGEST: usize = 10;

/// A test by its name; [`cases!`](crate::cases) makes them.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// The function's name.
    pub name: &'static str,
    /// The test: it fails by a panic.
    pub run: fn(),
}

/// The tests of a module: `CASES`. A function that is not named here is dead code, so none is forgotten.
#[macro_export]
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        /// The tests of this module.
        pub(crate) const CASES: &[$crate::harness::Case] =
            &[$($crate::harness::Case { name: stringify!($name), run: $name }),*];
    };
}

/// The tests of these modules, each with a `CASES`, by the modules' paths.
#[macro_export]
macro_rules! subjects {
    ($($($module:ident)::+),* $(,)?) => {
        &[$((stringify!($($module)::+), $($module)::+::CASES)),*]
    };
}

thread_local! {
    /// Reasons for which the running test left something out.
    static LEFT_OUT: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Notes that the running test leaves something out, and why: unless it fails, it is reported as ignored with these reasons, whatever it
/// tested beside that.
pub fn left_out(reason: impl Into<String>) {
    let reason = reason.into();
    LEFT_OUT.with_borrow_mut(|reasons| {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    });
}

/// Times of a test.
struct Taken {
    name: String,
    /// Time that passed.
    passed: Duration,
    /// Time of processors, of this program and of all below it that were waited for: what others of this machine did not have meanwhile.
    computed: Duration,
}

static TAKEN: Mutex<Vec<Taken>> = Mutex::new(Vec::new());

/// Runs the tests of these modules, as the arguments of this program say, and names the longest.
#[must_use]
pub fn main(modules: &[(&str, &'static [Case])]) -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Launchers and measurements share the machine's cores.
    arguments.test_threads = Some(1);
    let shown = arguments.nocapture;
    // No test writes into the home of who runs it; one that says otherwise names its own.
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("KILTER_DB", "{out}/kilter.db") };
    let components = crate::components::leave_out().expect("links to the components of Open MPI");
    let shared = crate::shared::begin().expect("a folder for what tests share");
    let trial = |module: &str, case: &'static Case| {
        // As the compiler writes a path.
        let name = format!("{}::{}", module.replace(' ', ""), case.name);
        Trial::ignorable_test(name.clone(), move || timed(name, || outcome(case.run, shown)))
    };
    let of =
        |(module, cases): &(&str, &'static [Case])| cases.iter().map(|case| trial(module, case)).collect::<Vec<_>>();
    let conclusion = libtest_mimic::run(&arguments, modules.iter().flat_map(of).collect());
    print_longest();
    drop((components, shared));
    conclusion.exit_code()
}

fn timed<T>(name: String, run: impl FnOnce() -> T) -> T {
    let (begin, computed_before) = (Instant::now(), computed());
    let result = run();
    if let Ok(mut all) = TAKEN.lock() {
        all.push(Taken {
            name,
            passed: begin.elapsed(),
            computed: computed().saturating_sub(computed_before),
        });
    }
    result
}

/// Time of processors of this program and its children up to now; nothing where the system does not say it.
fn computed() -> Duration {
    let of = |who| {
        let usage = getrusage(who).ok()?;
        let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        u64::try_from(micros).ok().map(Duration::from_micros)
    };
    let both = [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN];
    both.into_iter().filter_map(of).sum()
}

fn print_longest() {
    let Ok(mut all) = TAKEN.lock() else { return };
    if all.len() < 2 {
        return;
    }
    let computed: Duration = all.iter().map(|one| one.computed).sum();
    println!(
        "all tests: {:.1} s of a processor; the longest:",
        computed.as_secs_f64()
    );
    all.sort_by_key(|one| std::cmp::Reverse(one.passed));
    for one in all.iter().take(LONGEST) {
        let (passed, computed) = (one.passed.as_secs_f64(), one.computed.as_secs_f64());
        println!("{passed:8.1} s, {computed:6.1} s of a processor  {}", one.name);
    }
}

/// Runs a test; what it prints is shown if it fails.
fn outcome(run: fn(), shown: bool) -> Result<Completion, Failed> {
    LEFT_OUT.take();
    let capture = if shown { None } else { Capture::start().ok() };
    let result = catch_unwind(AssertUnwindSafe(run));
    let printed = capture.map(Capture::end).unwrap_or_default();
    let reasons = LEFT_OUT.take();
    match result {
        Err(_) if shown => Err("it panicked: see above".into()),
        Err(_) => Err(printed.into()),
        Ok(()) if reasons.is_empty() => Ok(Completion::Completed),
        Ok(()) => Ok(Completion::ignored_with(reasons.join("; "))),
    }
}

/// Standard output and error of this process and its children, in a file meanwhile.
struct Capture {
    file: std::fs::File,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl Capture {
    fn start() -> std::io::Result<Capture> {
        let file = tempfile::tempfile()?;
        let capture = Capture {
            stdout: std::io::stdout().as_fd().try_clone_to_owned()?,
            stderr: std::io::stderr().as_fd().try_clone_to_owned()?,
            file,
        };
        std::io::stdout().flush()?;
        dup2_stdout(&capture.file)?;
        dup2_stderr(&capture.file)?;
        Ok(capture)
    }

    fn end(mut self) -> String {
        let mut text = String::new();
        let flushed = std::io::stdout().flush();
        for result in [dup2_stdout(&self.stdout), dup2_stderr(&self.stderr)] {
            if let Err(error) = result {
                let _ = writeln!(text, "cannot restore where this program prints: {error}");
            }
        }
        let mut bytes = Vec::new();
        let read = flushed
            .and_then(|()| self.file.rewind())
            .and_then(|()| self.file.read_to_end(&mut bytes));
        text.push_str(&String::from_utf8_lossy(&bytes));
        if let Err(error) = read {
            let _ = writeln!(text, "cannot read what the test printed: {error}");
        }
        text
    }
}
