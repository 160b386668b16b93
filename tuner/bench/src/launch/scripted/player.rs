//! A scripted job. It reads the plan, writes the report, and ends, hangs or crashes by a scripted clock.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::rc::Rc;
use std::time::{Duration, Instant};

use kilter_protocol::plan::{Block, Header, PlanLine, Repetitions};
use kilter_protocol::report::{End, Event};

use super::super::bench::{Clock, Started};
use super::super::command::CommandSpec;
use super::super::files;
use super::super::process::ProcessError;
use super::plan::Plan;
use super::report::Report;
use super::{Ends, Launched, Noise, Play, Played, Script};

/// Time from the launch to the start line, and from the end line to the end of the launcher.
const START: Duration = Duration::from_millis(300);
const FINISH: Duration = Duration::from_millis(100);

/// Seconds of a repetition beyond the measured call: agreeing on a start, and waiting for it.
const BESIDE_SECONDS: f64 = 10e-6;

/// Time to make an item ready.
const PREPARE: Duration = Duration::from_millis(1);

/// Longest time of a repetition of the empty operation.
const EMPTY_SECONDS: f64 = 100e-9;

/// Interval of looks while somebody waits for the end.
const LOOK: Duration = Duration::from_millis(10);

/// The files of a job.
#[derive(Debug)]
pub(super) struct Files {
    plan: Plan,
    report: Report,
    log: File,
}

impl Files {
    pub(super) fn new(plan: &str, report: &str, log: File, now: Instant) -> Files {
        Files {
            plan: Plan::new(plan),
            report: Report::new(report, now),
            log,
        }
    }
}

/// An event at a time that is known in advance.
#[derive(Debug)]
enum Due {
    Says(Box<Event>),
    /// The launcher ends with this status.
    Ends(i32),
}

impl Due {
    fn says(event: Event) -> Due {
        Due::Says(Box::new(event))
    }
}

/// A scripted job.
#[derive(Debug)]
pub(super) struct Player {
    script: Rc<dyn Script>,
    noise: Noise,
    clock: Clock,
    files: Files,
    /// Name of the launch, from which noise is drawn: unique within a run, and the same when the run is repeated.
    name: String,
    play: Option<Box<dyn Play>>,
    header: Option<Header>,
    /// Events in the order of time.
    due: VecDeque<(Instant, Due)>,
    /// Lines of the plan that were read and not begun, each with when it was read.
    open: VecDeque<(Instant, PlanLine)>,
    /// End of the last line of the plan that was begun.
    over: Instant,
    /// True if the job says nothing any more.
    is_silent: bool,
    /// Calls that the drop-in carried out, by implementation.
    dropin: BTreeMap<String, u64>,
    status: Option<ExitStatus>,
}

impl Player {
    pub(super) fn new(script: Rc<dyn Script>, noise: Noise, clock: Clock, files: Files) -> Player {
        let name = files
            .plan
            .path()
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Player {
            script,
            noise,
            over: clock.now(),
            clock,
            files,
            name,
            play: None,
            header: None,
            due: VecDeque::new(),
            open: VecDeque::new(),
            is_silent: false,
            dropin: BTreeMap::new(),
            status: None,
        }
    }

    /// The same job with the behaviour of one that is launched by `command`.
    pub(super) fn launched_by(mut self, command: &CommandSpec) -> Player {
        let header = self.files.plan.next_lines().into_iter().find_map(|line| match line {
            PlanLine::Header(header) => Some(header),
            _ => None,
        });
        let Some(header) = header else {
            self.fail("there is no plan");
            return self;
        };
        let begin = self.clock.now() + START;
        match self.script.launch(command, &header) {
            Launched::Runs { start, play } => {
                self.play = Some(play);
                self.due.push_back((begin, Due::says(Event::Start(*start))));
                if header.noise_repetitions > 0 {
                    let mut factor = self.noise.of_repetitions(&self.name, "empty");
                    let seconds = (0..header.noise_repetitions)
                        .map(|_| EMPTY_SECONDS * factor())
                        .collect();
                    self.due.push_back((begin, Due::says(Event::Noise { seconds })));
                }
            }
            Launched::Fails(said) => self.fail(&said),
            Launched::Silent => self.is_silent = true,
        }
        self.header = Some(header);
        self
    }

    fn fail(&mut self, said: &str) {
        let _ = writeln!(self.files.log, "{said}");
        self.due.push_back((self.clock.now() + FINISH, Due::Ends(1 << 8)));
    }

    /// Carries out all events that are due, and shows what was said.
    fn catch_up(&mut self) {
        self.carry_out();
        // An ended job has closed its file, so that all is visible.
        let interval = match self.status {
            Some(_) => Duration::ZERO,
            None => self.script.shows_reports_every(self.clock.elapsed()),
        };
        let shown = self.files.report.show(self.clock.now(), interval);
        self.heed(shown);
    }

    /// Silences a job that cannot write.
    fn heed(&mut self, written: std::io::Result<()>) {
        if let Err(error) = written {
            self.is_silent = true;
            tracing::error!("a scripted job cannot write its report: {error}");
        }
    }

    fn carry_out(&mut self) {
        while self.status.is_none() {
            let now = self.clock.now();
            match self.due.front() {
                Some((at, _)) if *at > now => return,
                Some(_) => {
                    let next = self.due.pop_front();
                    match next {
                        Some((_, Due::Says(event))) => self.say(*event),
                        Some((_, Due::Ends(status))) => self.status = Some(ExitStatus::from_raw(status)),
                        None => {}
                    }
                }
                None if self.is_silent => return,
                None => {
                    let lines = self.files.plan.next_lines();
                    self.open.extend(lines.into_iter().map(|line| (now, line)));
                    // One after the other: between two blocks the job may be told to end.
                    let Some((read, line)) = self.open.pop_front() else {
                        return;
                    };
                    self.over = self.schedule(&line, read.max(self.over));
                }
            }
        }
    }

    fn say(&mut self, event: Event) {
        let written = self.files.report.say(event);
        self.heed(written);
    }

    /// Schedules the events of a line of the plan; returns the time at which it is over.
    fn schedule(&mut self, line: &PlanLine, at: Instant) -> Instant {
        match line {
            PlanLine::Header(_) => at,
            PlanLine::Block(_) if files::stop_path(self.files.plan.path()).exists() => self.end(at),
            PlanLine::Block(block) => self.block(block, at),
            PlanLine::End => self.end(at),
        }
    }

    fn end(&mut self, at: Instant) -> Instant {
        let end = End {
            dropin_calls: self.dropin.clone(),
            ..End::default()
        };
        self.due.push_back((at, Due::says(Event::End(end))));
        self.due.push_back((at + FINISH, Due::Ends(0)));
        at + FINISH
    }

    fn block(&mut self, block: &Block, begin: Instant) -> Instant {
        let Some(play) = self.play.take() else { return begin };
        let mut at = begin;
        let mut takes: Vec<(String, f64)> = Vec::new();
        let mut taken_down = false;
        let repetitions = block.repetitions.max;
        for item in &block.items {
            let Played {
                ends,
                read_back,
                dropin,
            } = play.item(item);
            let (block, item) = (block.id.clone(), item.id.clone());
            let entered = Event::Enter {
                block: block.clone(),
                item: item.clone(),
            };
            self.due.push_back((at, Due::says(entered)));
            at += PREPARE;
            if !read_back.is_empty() {
                let (block, item) = (block.clone(), item.clone());
                self.due
                    .push_back((at, Due::says(Event::Settings { block, item, read_back })));
            }
            match ends {
                Ends::Takes(seconds) => {
                    let elapsed = self.clock.elapsed().as_secs_f64();
                    let factor = self.noise.of_item(&self.name, &item) * self.noise.of_disturbance(&item, elapsed);
                    takes.push((item, seconds * factor));
                    for implementation in dropin {
                        *self.dropin.entry(implementation).or_default() += 1;
                    }
                }
                Ends::Fails(fault) => {
                    self.due
                        .push_back((at, Due::says(Event::Failed { block, item, fault })));
                }
                Ends::Void => {
                    let (seconds, void) = (Vec::new(), repetitions);
                    self.due.push_back((
                        at,
                        Due::says(Event::Samples {
                            block,
                            item,
                            seconds,
                            void,
                        }),
                    ));
                }
                Ends::Crashes => {
                    let _ = writeln!(self.files.log, "scripted crash of `{item}`");
                    self.due.push_back((at, Due::Ends(nix::libc::SIGSEGV)));
                    taken_down = true;
                }
                Ends::Hangs => {
                    self.is_silent = true;
                    taken_down = true;
                }
            }
            if taken_down {
                self.play = Some(play);
                return at;
            }
        }
        self.play = Some(play);
        let elapsed = self.clock.elapsed().as_secs_f64();
        let drift = 1.0 + self.noise.drift_per_second * elapsed;
        let factor = self.noise.of_repetitions(&self.name, &block.id);
        let (samples, seconds) = repeat(&takes, drift, block.repetitions, factor);
        let end = at + Duration::from_secs_f64(seconds);
        // A worker says every second that it lives.
        let mut beat = at + Duration::from_secs(1);
        while beat < end {
            self.due.push_back((beat, Due::says(Event::Heartbeat)));
            beat += Duration::from_secs(1);
        }
        for ((item, _), seconds) in takes.into_iter().zip(samples) {
            let block = block.id.clone();
            self.due.push_back((
                end,
                Due::says(Event::Samples {
                    block,
                    item,
                    seconds,
                    void: 0,
                }),
            ));
        }
        let done = Event::BlockEnd {
            block: block.id.clone(),
            seconds: (end - begin).as_secs_f64(),
            costs: None,
        };
        self.due.push_back((end, Due::says(done)));
        end
    }
}

/// Repeats all items in turn until the rule ends them: the times of each, and the time of the whole in seconds.
fn repeat(
    items: &[(String, f64)],
    drift: f64,
    rule: Repetitions,
    mut factor: impl FnMut() -> f64,
) -> (Vec<Vec<f64>>, f64) {
    let mut samples = vec![Vec::new(); items.len()];
    let mut seconds = 0.0;
    if items.is_empty() {
        return (samples, seconds);
    }
    for made in 1..=u64::from(rule.max.max(1)) {
        for ((_, typical), samples) in items.iter().zip(&mut samples) {
            let time = typical * drift * factor();
            samples.push(time);
            seconds += time + BESIDE_SECONDS;
        }
        let is_enough = |samples: &Vec<f64>| match rule.stop.relative_standard_error {
            Some(most) => relative_standard_error(samples) <= most,
            None => false,
        };
        if seconds >= rule.seconds || rule.is_asked_after(made) && samples.iter().all(is_enough) {
            break;
        }
    }
    (samples, seconds)
}

fn relative_standard_error(samples: &[f64]) -> f64 {
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let variance = samples.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    variance.sqrt() / (count.sqrt() * mean)
}

impl Started for Player {
    fn has_ended(&mut self) -> bool {
        self.catch_up();
        self.status.is_some()
    }

    fn may_have_written_more_than(&self, bytes: u64) -> bool {
        self.files.report.shown_bytes() > bytes
    }

    fn wait(&mut self, limit: Duration) -> bool {
        let until = self.clock.now() + limit;
        while !self.has_ended() {
            if self.clock.now() >= until {
                return false;
            }
            self.clock.sleep(LOOK);
        }
        true
    }

    fn kill_all(&mut self, _grace: Duration) -> Result<ExitStatus, ProcessError> {
        self.catch_up();
        Ok(*self.status.get_or_insert(ExitStatus::from_raw(nix::libc::SIGTERM)))
    }
}
