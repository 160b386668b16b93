//! Runs the worker under `mpirun` with a plan and reads what it reported.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use kilter_protocol::VERSION;
use kilter_protocol::plan::{
    Block, Cache, Element, Header, Implementation, Item, PlanLine, Repetitions, Root, Synchronisation, Wait,
};
use kilter_protocol::report::{Event, ReportLine};
use kilter_protocol::task::Task;
use kilter_tests::wait_until;
use tempfile::TempDir;

/// No job of these tests may take longer, in seconds; `mpirun` is killed then.
const LIMIT: &str = "120";

/// The worker, of the sources as they are.
fn worker() -> &'static Path {
    static WORKER: OnceLock<PathBuf> = OnceLock::new();
    WORKER.get_or_init(|| kilter_tests::program("kilter-worker"))
}

/// One job at a time.
static TURN: Mutex<()> = Mutex::new(());

/// A job to be started.
pub(crate) struct Job {
    pub(crate) ranks: usize,
    pub(crate) header: Header,
    /// Arguments of `mpirun`.
    pub(crate) options: Vec<String>,
    directory: TempDir,
}

/// A job under way.
pub(crate) struct Running {
    mpirun: Child,
    directory: TempDir,
    /// Held while it runs: jobs next to each other would take each other's cores.
    _turn: MutexGuard<'static, ()>,
}

/// Exit, events and output of a finished job.
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) events: Vec<Event>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Job {
    /// A job of so many ranks, which sleep until a repetition starts: they may share cores, also with other programs.
    pub(crate) fn new(ranks: usize) -> Job {
        let header = Header {
            v: VERSION,
            wait: Some(Wait::Sleep),
            root: Root::Fixed(0),
            element: Element::Byte,
            seed: 5,
            read_variables: Vec::new(),
            read_environment: Vec::new(),
            noise_repetitions: 0,
            idle_seconds: 30.0,
            sync: Synchronisation::Auto,
            cache: Cache::Warm,
            settings: Default::default(),
            held_on_calls: Vec::new(),
            asks_processing_units: false,
            counters: Vec::new(),
            bits_at: Vec::new(),
            call_paths: false,
            clock_faults: Vec::new(),
        };
        Job {
            ranks,
            header,
            options: Vec::new(),
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn option(mut self, arguments: &[&str]) -> Job {
        self.options
            .extend(arguments.iter().map(|argument| (*argument).to_owned()));
        self
    }

    /// A directory that lives as long as the job.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Starts it with these lines after the header.
    pub(crate) fn start(self, lines: &[PlanLine]) -> Running {
        let mut mpirun = vec!["mpirun", "--oversubscribe", "--bind-to", "none", "-np"];
        let ranks = self.ranks.to_string();
        mpirun.push(&ranks);
        mpirun.extend(self.options.iter().map(String::as_str));
        let mpirun = mpirun.into_iter().map(str::to_owned).collect();
        self.start_by(mpirun, lines)
    }

    /// Starts one rank without `mpirun`.
    pub(crate) fn start_alone(self, lines: &[PlanLine]) -> Running {
        self.start_by(Vec::new(), lines)
    }

    fn start_by(self, launcher: Vec<String>, lines: &[PlanLine]) -> Running {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = self.directory.path().join("plan.jsonl");
        append(&plan, &[PlanLine::Header(self.header.clone())]);
        append(&plan, lines);
        let file = |name: &str| std::fs::File::create(self.directory.path().join(name)).unwrap();
        let mut command = Command::new("timeout");
        command
            .args(["--kill-after=5", LIMIT])
            .args(launcher)
            .arg(worker())
            .arg(&plan)
            .arg(self.directory.path().join("report.jsonl"))
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"));
        Running {
            mpirun: command.spawn().unwrap(),
            directory: self.directory,
            _turn: turn,
        }
    }

    /// Runs it to its end.
    pub(crate) fn run(self, blocks: &[Block]) -> Finished {
        let mut lines: Vec<PlanLine> = blocks.iter().cloned().map(PlanLine::Block).collect();
        lines.push(PlanLine::End);
        self.start(&lines).finish()
    }

    /// Runs it to its end, which must be in order.
    pub(crate) fn run_well(self, blocks: &[Block]) -> Finished {
        let finished = self.run(blocks);
        let entered = finished
            .events
            .iter()
            .rev()
            .find(|event| matches!(event, Event::Enter { .. }));
        assert!(
            finished.status.success(),
            "{:?}, last entered: {entered:?}\n{}",
            finished.status,
            finished.stderr
        );
        assert!(
            matches!(finished.events.last(), Some(Event::End(_))),
            "{:?}",
            finished.events.last()
        );
        assert_eq!(finished.stdout, "", "nothing may be printed on standard output");
        finished
    }
}

impl Running {
    pub(crate) fn append(&self, lines: &[PlanLine]) {
        append(&self.directory.path().join("plan.jsonl"), lines);
    }

    /// The events that have been reported so far.
    pub(crate) fn events(&self) -> Vec<Event> {
        let report = std::fs::read_to_string(self.directory.path().join("report.jsonl")).unwrap_or_default();
        report
            .lines()
            .map(|line| {
                let line: ReportLine = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
                assert_eq!(line.v, VERSION);
                line.event
            })
            .collect()
    }

    /// Waits until the report holds what is wanted.
    pub(crate) fn wait_for(&self, what: &str, wanted: impl Fn(&[Event]) -> bool) {
        wait_until(
            || format!("no {what} in {:?}", self.events()),
            || wanted(&self.events()),
        );
    }

    /// Kills `mpirun` so that it can end nothing: it is the child of `timeout`, which is ours.
    pub(crate) fn kill_mpirun(&self) {
        kill(self.child());
    }

    /// Kills whoever started the job.
    pub(crate) fn kill_starter(&self) {
        kill(self.mpirun.id());
    }

    /// The process that `timeout` watches.
    pub(crate) fn child(&self) -> u32 {
        let timeout = self.mpirun.id();
        let children = std::fs::read_to_string(format!("/proc/{timeout}/task/{timeout}/children")).unwrap();
        children.trim().parse().expect("one child")
    }

    pub(crate) fn finish(mut self) -> Finished {
        let status = self.mpirun.wait().unwrap();
        let text = |name: &str| std::fs::read_to_string(self.directory.path().join(name)).unwrap();
        Finished {
            status,
            events: self.events(),
            stdout: text("stdout"),
            stderr: text("stderr"),
        }
    }
}

impl Finished {
    /// Why each item failed: block, item, reason.
    pub(crate) fn failures(&self) -> Vec<(&str, &str, String)> {
        self.events
            .iter()
            .filter_map(|event| match event {
                Event::Failed { block, item, fault } => Some((block.as_str(), item.as_str(), fault.to_string())),
                _ => None,
            })
            .collect()
    }

    /// The reason why this item failed.
    pub(crate) fn failure(&self, wanted: &str) -> String {
        let failure = self.failures().into_iter().find(|(_, item, _)| *item == wanted);
        failure
            .unwrap_or_else(|| panic!("`{wanted}` did not fail: {:?}", self.events))
            .2
    }

    /// True if an item was repeated, or would have been: a busy machine keeps ranks from their starts, and a block whose repetitions are void
    /// ends before it reaches every item.
    pub(crate) fn was_repeated(&self, wanted_block: &str, wanted_item: &str) -> bool {
        let of_block = self.events.iter().filter_map(|event| match event {
            Event::Samples {
                block,
                item,
                seconds,
                void,
            } if block == wanted_block => Some((item == wanted_item, !seconds.is_empty(), *void > 0)),
            _ => None,
        });
        let (mut is_there, mut has_times, mut any_void) = (false, false, false);
        for (is_it, timed, void) in of_block {
            is_there |= is_it;
            has_times |= is_it && timed;
            any_void |= void;
        }
        has_times || (is_there && any_void)
    }

    /// The times of an item, in seconds.
    pub(crate) fn samples(&self, wanted_block: &str, wanted_item: &str) -> &[f64] {
        let samples = self.events.iter().find_map(|event| match event {
            Event::Samples {
                block, item, seconds, ..
            } if block == wanted_block && item == wanted_item => Some(seconds),
            _ => None,
        });
        samples.unwrap_or_else(|| panic!("no samples of {wanted_block} {wanted_item}: {:?}", self.failures()))
    }
}

fn kill(process: u32) {
    let process = nix::unistd::Pid::from_raw(process.try_into().unwrap());
    nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGKILL).unwrap();
}

fn append(plan: &Path, lines: &[PlanLine]) {
    let text: String = lines
        .iter()
        .map(|line| serde_json::to_string(line).unwrap() + "\n")
        .collect();
    let mut file = OpenOptions::new().append(true).create(true).open(plan).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// A block of few repetitions.
pub(crate) fn block(id: &str, items: Vec<Item>) -> Block {
    let repetitions = Repetitions::until(2, 3, 0.05, 30.0);
    Block {
        id: id.to_owned(),
        seed: 11,
        items,
        repetitions,
    }
}

/// An item by expression.
pub(crate) fn item(id: &str, task: impl Into<Task>, bytes: u64, text: &str) -> Item {
    let implementation = Implementation::Expression { text: text.to_owned() };
    Item {
        id: id.to_owned(),
        task: task.into(),
        bytes,
        implementation,
        settings: Vec::new(),
        arrival: None,
        deployed: Vec::new(),
    }
}

/// An item with control variables.
pub(crate) fn with_settings(mut item: Item, settings: &[(&str, &str)]) -> Item {
    item.settings = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    item
}
