//! A worker without MPI, which speaks the protocol and misbehaves on request. It is this test binary itself, started
//! again as the command of a job, so that real processes, real files and the real line formats are tested.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kilter_protocol::VERSION;
use kilter_protocol::fault::Fault;
use kilter_protocol::json_line::JsonLine as _;
use kilter_protocol::plan::{Block, Cache, Header, Implementation, Item, PlanLine, Repetitions, Synchronisation, Wait};
use kilter_protocol::report::{End, Event, ReportLine, Start};
use nix::fcntl::OFlag;

use super::command::CommandSpec;
use super::job_spec::JobSpec;
use super::limits::Limits;

/// Variable with the stand-in's behaviour: words separated by spaces, the first one of those in [`Player::plays`].
const BEHAVIOUR: &str = "KILTER_STAND_IN";

/// Interval of looks at files, which are followed as the worker does it: it has them alone to hear of the tuner.
const LOOK: Duration = Duration::from_millis(1);

/// Time for which `leaves-behind-the-next` is there beside the next job.
const LATE: Duration = Duration::from_millis(200);

/// A job whose worker behaves like this.
pub(super) fn spec(key: &str, behaviour: &str) -> JobSpec {
    let program = std::env::current_exe().unwrap().to_string_lossy().into_owned();
    // Further words are read as names of tests, of which there are none: worker, plan and report may follow.
    let argv = [&program, "launch::stand_in::play", "--exact", "--nocapture", "--quiet"]
        .map(str::to_owned)
        .to_vec();
    JobSpec {
        key: key.to_owned(),
        command: CommandSpec {
            argv,
            environment: vec![(BEHAVIOUR.to_owned(), behaviour.to_owned())],
        },
        header: Header {
            v: VERSION,
            wait: Some(Wait::Sleep),
            root: kilter_protocol::plan::Root::Fixed(0),
            element: kilter_protocol::plan::Element::Byte,
            seed: 0,
            read_variables: Vec::new(),
            read_environment: Vec::new(),
            noise_repetitions: 3,
            idle_seconds: 60.0,
            sync: Synchronisation::Auto,
            cache: Cache::Warm,
            settings: Default::default(),
            held_on_calls: Vec::new(),
            asks_processing_units: false,
            counters: Vec::new(),
            bits_at: Vec::new(),
            call_paths: false,
            clock_faults: Vec::new(),
        },
        limits: Limits {
            start_seconds: 60.0,
            first_start_seconds: None,
            stall_seconds: 60.0,
            candidate_seconds: None,
            finish_seconds: 60.0,
        },
        ends_by: None,
    }
}

/// A block of two items.
pub(super) fn block(id: &str) -> Block {
    let item = |name: &str, text: &str| Item {
        id: name.to_owned(),
        task: "reduce".parse().unwrap(),
        bytes: 4096,
        implementation: Implementation::Expression { text: text.to_owned() },
        settings: vec![("segment".to_owned(), "7".to_owned())],
        arrival: None,
        deployed: Vec::new(),
    };
    let repetitions = Repetitions::until(2, 3, 0.1, 1.0);
    Block {
        id: id.to_owned(),
        seed: 1,
        items: vec![item("left", "reduce(n)"), item("right", "allreduce(n)")],
        repetitions,
    }
}

/// Times that the stand-in reports: different for every item of every block, with all digits in use.
pub(super) fn seconds(block: &str, item: &str) -> Vec<f64> {
    let seed = block
        .bytes()
        .chain(item.bytes())
        .fold(7u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    (1..=3).map(|i| f64::from(seed) / 3.0e12 * f64::from(i)).collect()
}

/// The file for which `waits` waits.
pub(super) fn gate(directory: &Path) -> PathBuf {
    directory.join("gate")
}

/// The pipe that `waits` holds open while it waits, if anybody reads it. Its reader gets a byte at the begin.
pub(super) fn waiting(directory: &Path) -> PathBuf {
    directory.join("waiting")
}

/// The plan of the job for which `leaves-behind-the-next` waits at its end.
fn next_plan(directory: &Path) -> PathBuf {
    directory.join("run1-next-1.plan.jsonl")
}

/// What `leaves-behind-the-next` leaves, some time later, when it ends.
pub(super) fn left(directory: &Path) -> PathBuf {
    directory.join("left")
}

struct Player {
    report: File,
    behaviour: Vec<String>,
    plan: PathBuf,
    directory: PathBuf,
    blocks: u64,
}

impl Player {
    fn plays(&self, words: &[&str]) -> bool {
        self.behaviour.iter().map(String::as_str).eq(words.iter().copied())
    }

    fn tell(&mut self, event: Event) {
        let mut line = ReportLine { v: VERSION, event }.to_json().unwrap().into_bytes();
        line.push(b'\n');
        let middle = line.len() / 2;
        // The line comes in two halves, as a reader may well see it.
        self.report.write_all(&line[..middle]).unwrap();
        self.report.write_all(&line[middle..]).unwrap();
    }

    fn carry_out(&mut self, block: &Block) {
        for item in &block.items {
            let (b, i) = (block.id.clone(), item.id.clone());
            self.tell(Event::Enter {
                block: b.clone(),
                item: i.clone(),
            });
            if self.plays(&["hang", &b, &i]) {
                halt();
            } else if self.plays(&["crash", &b, &i]) {
                eprintln!("stand-in: boom");
                std::process::exit(7);
            } else if self.plays(&["quit", &b, &i]) {
                std::process::exit(0);
            } else if self.plays(&["waits", &b, &i]) {
                let pipe = waiting(&self.directory);
                let pipe = File::options()
                    .write(true)
                    .custom_flags(OFlag::O_NONBLOCK.bits())
                    .open(pipe);
                if let Ok(mut pipe) = pipe.as_ref() {
                    pipe.write_all(b"b").unwrap();
                }
                while !gate(&self.directory).exists() {
                    self.tell(Event::Heartbeat);
                    std::thread::sleep(LOOK);
                }
            } else if self.plays(&["comes-next"]) && !left(&self.directory).exists() {
                eprintln!("stand-in: the job before this one is still there");
                std::process::exit(11);
            } else if self.plays(&["talks-nonsense", &b]) {
                self.report.write_all(b"{\"v\":4,\"kind\":\"nonsense\"}\n").unwrap();
                halt();
            } else if self.plays(&["answers-another", &b]) {
                self.tell(Event::BlockEnd {
                    block: "nobody asked".to_owned(),
                    seconds: 1.0,
                    costs: None,
                });
                halt();
            }
            let read_back = item.settings.clone();
            self.tell(Event::Settings {
                block: b.clone(),
                item: i.clone(),
                read_back,
            });
        }
        for item in &block.items {
            let (b, i) = (block.id.clone(), item.id.clone());
            if self.plays(&["refuses", &i]) {
                self.tell(Event::Failed {
                    block: b,
                    item: i,
                    fault: Fault::BrokenBarrier,
                });
            } else {
                self.tell(Event::Samples {
                    seconds: seconds(&b, &i),
                    block: b,
                    item: i,
                    void: 1,
                });
            }
        }
        self.tell(Event::BlockEnd {
            block: block.id.clone(),
            seconds: 0.25,
            costs: None,
        });
        self.blocks += 1;
    }

    fn end(&mut self) {
        let dropin_calls = [("blocks".to_owned(), self.blocks)].into();
        self.tell(Event::End(End {
            dropin_calls,
            ..End::default()
        }));
        if self.plays(&["lingers"]) {
            halt();
        } else if self.plays(&["leaves-behind-the-next"]) {
            while !next_plan(&self.directory).exists() {
                std::thread::sleep(LOOK);
            }
            std::thread::sleep(LATE);
            File::create(left(&self.directory)).unwrap();
        }
        std::process::exit(if self.plays(&["ends-badly"]) { 15 } else { 0 });
    }
}

/// True for the plan of a job's first attempt.
fn is_first(plan: &str) -> bool {
    plan.ends_with("-1.plan.jsonl")
}

fn halt() -> ! {
    loop {
        std::thread::park();
    }
}

#[test]
fn play() {
    let Ok(behaviour) = std::env::var(BEHAVIOUR) else {
        return;
    };
    let arguments: Vec<String> = std::env::args().collect();
    let [.., plan, report] = arguments.as_slice() else {
        panic!("no plan and report in {arguments:?}")
    };
    let behaviour: Vec<String> = behaviour.split(' ').map(str::to_owned).collect();
    let directory = Path::new(plan).parent().unwrap().to_path_buf();
    let report = File::options().create_new(true).append(true).open(report).unwrap();
    let mut player = Player {
        report,
        behaviour,
        plan: Path::new(plan).to_path_buf(),
        directory,
        blocks: 0,
    };
    if player.plays(&["never-starts"]) || (player.plays(&["first-job-hangs"]) && is_first(plan)) {
        halt();
    } else if player.plays(&["fails-to-start"]) || (player.plays(&["fails-to-start-once"]) && is_first(plan)) {
        eprintln!("stand-in: not enough slots");
        std::process::exit(3);
    }
    player.tell(Event::Start(Start {
        library: "stand-in 1".to_owned(),
        ranks: 2,
        ..Start::default()
    }));
    player.tell(Event::Noise {
        seconds: vec![1e-7, 2e-7, 3e-7],
    });
    if player.plays(&["ends-at-once"]) {
        player.end();
    }
    let mut read = 0;
    loop {
        let text = std::fs::read_to_string(plan).unwrap();
        let complete = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        for line in complete.lines().skip(read) {
            read += 1;
            match serde_json::from_str(line).unwrap() {
                PlanLine::Header(header) => assert_eq!(header.v, VERSION),
                PlanLine::Block(_) if super::files::stop_path(&player.plan).exists() => player.end(),
                PlanLine::Block(block) => {
                    player.carry_out(&block);
                    if player.plays(&["tires"]) {
                        player.end();
                    }
                }
                PlanLine::End if player.plays(&["forgets-the-end"]) => std::process::exit(0),
                PlanLine::End if player.plays(&["hangs-at-the-end"]) => halt(),
                PlanLine::End => player.end(),
            }
        }
        std::thread::sleep(LOOK);
    }
}
