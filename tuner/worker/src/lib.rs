//! `kilter-worker PLAN REPORT`, run under `mpirun`: measures the plan's blocks and appends the results to the report.
//!
//! Read [`measure`] first, which takes the times; then [`block`], which does everything around that.
//!
//! * [`control`], [`dissemination`]: messages among the ranks, point-to-point only.
//! * [`clock`], [`lead`], [`common_time`]: starting at one absolute time. [`ranks`]: the real ranks, together or apart by a pattern.
//! * [`shared_clock`], [`round_time`], [`fit`], [`mod@line`]: how the ranks come to share one.
//! * [`sweep`], [`overhead`]: cold caches; the cost of the loop itself.
//! * [`schedule`], [`stop`], [`order`]: the next item to repeat, and when it is enough.
//! * [`implementation`], [`candidate`]: from an item of the plan to calls.
//! * [`program`]: calls that are more than plain collectives: other forms, strided data, parts of the ranks, messages.
//! * [`barrier`]: what a barrier promises. [`among`]: items of a part of the ranks; [`irregular`]: blocks of the lengths that a plan lists;
//!   [`replay`]: messages as a program sent them.
//! * [`problem`], [`operand`], [`layout`], [`buffer`]: inputs, expected outputs, what is combined, their layout, guarded memory.
//! * [`overlap`]: communication beside computation, which is measured in another way.
//! * [`row`]: Kilter's own rows and those of a user's plugin, called as the drop-in does.
//! * [`reason`]: why a rank cannot carry an item out.
//! * [`settings`]: the library's control variables, per item; [`messages`]: the library's messages for an item; [`bits`]: an item's results on
//!   random doubles.
//! * [`environment`], [`mod@processing_units`]: description of the job and its hosts. [`waiting`]: whether ranks spin or sleep there.
//! * [`plan_file`], [`report_file`]: the two files, which rank 0 alone touches.
//!
//! With the feature `simulated` it is for SimGrid's SMPI, where ranks are called in one process and time is simulated: the differences
//! are in `simulated` and marked there.
//!
//! `kilter-worker library`, run by itself, prints the first line of `MPI_Get_library_version` and the library's file; `kilter-worker describe`, run
//! under `mpirun`, prints what [`describe`] says; `kilter-worker rows PLUGIN`, run by itself, prints the rows of a plugin.
//!
//! Nothing else is printed on standard output. A failure of one item is a line of the report; a failure that stops the job is a message on
//! standard error and `MPI_Abort`.

mod among;
mod barrier;
mod bits;
mod block;
mod buffer;
mod call_paths;
mod candidate;
mod clock;
mod common_time;
mod control;
mod describe;
mod dissemination;
mod dropin;
mod environment;
mod fit;
mod hash;
mod images;
mod implementation;
mod irregular;
mod layout;
mod lead;
mod line;
mod measure;
mod messages;
mod operand;
mod order;
mod overhead;
mod overlap;
mod place;
mod plan_file;
mod problem;
mod processing_units;
mod program;
mod ranks;
mod reason;
mod replay;
mod report_file;
mod round_time;
mod row;
mod schedule;
mod session;
mod settings;
mod shared_clock;
#[cfg(feature = "simulated")]
mod simulated;
mod stop;
mod sweep;
mod unit;
mod waiting;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use kilter_mpi::mpit::ControlVariables;
use kilter_protocol::json_line::JsonLine as _;
use kilter_protocol::plan::{Header, PlanLine, Root};
use kilter_protocol::report::{End, Event};
use mpi::Threading;
use mpi::traits::Communicator;

use common_time::CommonTime;
use control::Control;
use describe::Question;
use lead::Lead;
use overlap::Speed;
use plan_file::PlanFile;
use report_file::ReportFile;
use session::Session;
use sweep::Sweep;

/// Time that the first line of the plan may take to come.
const FIRST_LINE: Duration = Duration::from_secs(60);

/// A line of the worker's on standard error, in one piece.
fn say(message: std::fmt::Arguments<'_>) {
    kilter_mpi::say_as("kilter-worker", message);
}

/// Exit status of a worker that could not begin.
const NOT_BEGUN: u8 = 2;

/// Does what the arguments ask, as one rank; gives the exit status. Called once in a process, or, simulated, once for each rank.
pub fn work(arguments: Vec<PathBuf>) -> u8 {
    if let [what] = arguments.as_slice()
        && what.as_os_str() == "library"
    {
        return say_library();
    }
    if let [what, file] = arguments.as_slice()
        && what.as_os_str() == "rows"
    {
        return say_rows(file);
    }
    let question = arguments
        .split_first()
        .filter(|(what, _)| what.as_os_str() == "describe")
        .map(|(_, rest)| Question::parse(rest.iter().map(|word| word.display().to_string())));
    let (plan, report) = match (&question, arguments.as_slice()) {
        (Some(_), _) => (Path::new(""), Path::new("")),
        (None, [plan, report]) => (plan.as_path(), report.as_path()),
        (None, _) => {
            eprintln!("usage: mpirun [OPTIONS] kilter-worker PLAN REPORT (started by `kilter`, not by hand)");
            return NOT_BEGUN;
        }
    };
    environment::prepare_process();
    // Before there can be a thread of the library's that takes cycles away; what describes the job computes nothing.
    let speed = if question.is_some() {
        Speed::UNKNOWN
    } else {
        Speed::of_this_core()
    };
    // Threads compute in one benchmark of `overlap`, none but this one calls MPI.
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
        say(format_args!(
            "MPI is initialised already, which nothing but this program may do"
        ));
        return NOT_BEGUN;
    };
    let world = universe.world();
    let done = match &question {
        Some(question) => describe::describe(question),
        None => run(plan, report, speed),
    };
    if let Err(error) = done {
        say(format_args!("rank {} of {}: {error:#}", world.rank(), world.size()));
        world.abort(1);
    }
    // Dropping the universe ends MPI.
    0
}

/// Prints which MPI library this program runs with, which is legal before MPI is initialised.
fn say_library() -> u8 {
    use std::io::Write as _;
    let said = kilter_mpi::info::library_version()
        .map_err(anyhow::Error::from)
        .and_then(|line| {
            writeln!(std::io::stdout(), "{line}")?;
            if let Some(file) = kilter_mpi::library_file::path() {
                writeln!(std::io::stdout(), "file: {}", file.display())?;
            }
            Ok(())
        });
    match said {
        Ok(()) => 0,
        Err(error) => {
            say(format_args!("{error:#}"));
            NOT_BEGUN
        }
    }
}

/// Prints the rows of a plugin, for which MPI need not be initialised.
fn say_rows(file: &Path) -> u8 {
    use std::io::Write as _;
    let said = row::rows(file).map_err(anyhow::Error::from).and_then(|rows| {
        let line = rows.to_json()?;
        Ok(writeln!(std::io::stdout(), "{line}")?)
    });
    match said {
        Ok(()) => 0,
        Err(error) => {
            say(format_args!("{error:#}"));
            NOT_BEGUN
        }
    }
}

/// The job, on this rank. An error on any rank ends it for all.
fn run(plan: &Path, report: &Path, speed: Speed) -> anyhow::Result<()> {
    let control = Control::new().context("the ranks' private communicator")?;
    let mut plan = PlanFile::new(plan);
    let mut report = if control.is_root() {
        Some(ReportFile::open(report)?)
    } else {
        None
    };
    let header = match next(&control, &mut plan, report.as_mut(), FIRST_LINE)? {
        Some(PlanLine::Header(header)) => header,
        Some(PlanLine::Block(_)) => bail!(
            "{}: the plan begins with a block; its first line must be a header",
            plan.position()
        ),
        Some(PlanLine::End) | None => return control.free().context("the ranks' private communicator"),
    };
    let idle = check(&header, control.p_ranks()).with_context(|| format!("{}: the header", plan.position()))?;
    let variables = ControlVariables::when_asked();
    // Before variables are read: a component that counts may have to be asked for its own.
    let counters = messages::counters(&control, &header.counters)?;
    let wait = waiting::decide(&control, header.wait)?;
    let time = CommonTime::establish(&control, &header, wait)?;
    let sweep = Sweep::new(header.cache);
    let mut start = environment::start(&control, &variables, &header)?;
    if control.is_root() {
        start.loop_overhead_seconds = overhead::loop_overhead_seconds(&time, wait);
    }
    start.swept_bytes = sweep.as_ref().map(Sweep::bytes);
    start.sync = Some(time.survey(&control)?);
    start.wait = Some(wait);
    let lead = Lead::new(wait);
    let world = kilter_mpi::constants::comm_world();
    // SAFETY: MPI_COMM_WORLD is an intracommunicator, and all ranks come here.
    let one_node = unsafe { kilter_mpi::is_one_node(world) }.context("cannot find out which ranks share a node")?;
    let mut session = Session {
        control,
        variables,
        counters,
        header,
        wait,
        time,
        sweep,
        lead,
        one_node,
        speed,
        commons: None,
        report: report.take(),
    };
    session.tell(Event::Start(start))?;
    session.measure_noise()?;
    loop {
        match next(&session.control, &mut plan, session.report.as_mut(), idle)? {
            Some(PlanLine::Block(block)) if overlap::is_for(&block) => overlap::carry_out(&mut session, &block)?,
            Some(PlanLine::Block(block)) => block::carry_out(&mut session, &block)?,
            Some(PlanLine::Header(_)) => bail!("{}: a second header", plan.position()),
            Some(PlanLine::End) | None => break,
        }
    }
    let sync = Some(session.time.survey(&session.control)?);
    session.tell(Event::End(End {
        dropin_calls: dropin::calls(),
        sync,
        sweeps: session.sweep.as_ref().map_or(0, |sweep| sweep.count),
    }))?;
    if let Some(commons) = session.commons.take() {
        commons.free().context("the items' communicators cannot be freed")?;
    }
    session.control.free().context("the ranks' private communicator")
}

/// The next line of the plan, on all ranks; `None` where none has come for `idle`.
fn next(
    control: &Control,
    plan: &mut PlanFile,
    report: Option<&mut ReportFile>,
    idle: Duration,
) -> anyhow::Result<Option<PlanLine>> {
    let Some(report) = report else {
        let told = control.broadcast(None)?;
        let (number, line) = told
            .split_first_chunk()
            .context("a line of the plan without its number")?;
        // Any rank may be the first to name the line.
        plan.follow(u64::from_le_bytes(*number));
        return if line.is_empty() {
            Ok(None)
        } else {
            Ok(Some(PlanLine::from_json(line)?))
        };
    };
    let line = if plan.is_stopped() {
        Some(PlanLine::End.to_json()?.into_bytes())
    } else {
        plan.next_line(idle, || report.heartbeat())?
    };
    let parsed = line
        .as_deref()
        .map(PlanLine::read)
        .transpose()
        .with_context(|| plan.position())?;
    if line.is_none() {
        say(format_args!(
            "the plan has not grown for {} s; the job ends",
            idle.as_secs_f64()
        ));
    }
    // Silence travels as an empty line.
    let told = [&plan.number().to_le_bytes(), line.as_deref().unwrap_or_default()].concat();
    control.broadcast(Some(&told))?;
    Ok(parsed)
}

/// Checks the header against the job; gives the time of silence that ends it.
fn check(header: &Header, p_ranks: usize) -> anyhow::Result<Duration> {
    if let Root::Fixed(root) = header.root {
        ensure!(
            root < p_ranks,
            "root {root} is none of the {p_ranks} ranks, 0 to {}",
            p_ranks - 1
        );
    }
    for fault in &header.clock_faults {
        ensure!(
            fault.rank < p_ranks && fault.offset_seconds.is_finite() && fault.drift_ppm.abs() < 1000.0,
            "{fault:?} is none that a rank's clock can have: rank below {p_ranks}, drift within 1000 ppm"
        );
    }
    Duration::try_from_secs_f64(header.idle_seconds)
        .with_context(|| format!("idle_seconds is {}, which is no time", header.idle_seconds))
}

#[cfg(test)]
mod tests {
    use kilter_protocol::VERSION;
    use kilter_protocol::plan::{Cache, Element, Synchronisation, Wait};

    use super::*;

    fn header() -> Header {
        Header {
            v: VERSION,
            wait: Some(Wait::Sleep),
            root: Root::Fixed(0),
            element: Element::Byte,
            seed: 0,
            read_variables: Vec::new(),
            read_environment: Vec::new(),
            noise_repetitions: 0,
            idle_seconds: 1.5,
            sync: Synchronisation::Auto,
            cache: Cache::Warm,
            settings: Default::default(),
            held_on_calls: Vec::new(),
            asks_processing_units: false,
            counters: Vec::new(),
            bits_at: Vec::new(),
            call_paths: false,
            clock_faults: Vec::new(),
        }
    }

    #[test]
    fn a_header_is_checked_against_the_job() {
        assert_eq!(check(&header(), 2).unwrap(), Duration::from_millis(1500));
        let error = check(
            &Header {
                root: Root::Fixed(2),
                ..header()
            },
            2,
        )
        .unwrap_err();
        assert_eq!(error.to_string(), "root 2 is none of the 2 ranks, 0 to 1");
        assert!(
            check(
                &Header {
                    idle_seconds: -1.0,
                    ..header()
                },
                2
            )
            .is_err()
        );
    }
}
