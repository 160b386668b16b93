//! A block: its items are prepared and checked one by one, then measured together, then checked once more.

use kilter_algorithms::Collective;
use std::time::Instant;

use anyhow::{Context, bail};
use kilter_protocol::expression::Layout;
use kilter_protocol::fault::Fault;
use kilter_protocol::json_line::JsonLine;
use kilter_protocol::plan::{ArrivalPattern, Block, Element, Implementation, Item, Operand, Root, SettingsAct};
use kilter_protocol::repetitions::WARM_UPS;
use kilter_protocol::report::{Costs, Event, MEAN_DELAY};
use kilter_protocol::task::Functionality;

use crate::among::Members;
use crate::candidate::{Buffers, Candidate, Commons, title};
use crate::control::Refusal;
use crate::images::Gallery;
use crate::implementation::Recipe;
use crate::place::Place;
use crate::reason::Reason;
use crate::schedule::{Schedule, Series};
use crate::session::{Session, fail};
use crate::{barrier, bits, call_paths, messages, settings};

/// An item with the candidate that carries it out, or the reason why it cannot run.
type Ready<'i> = (&'i Item, Result<Candidate, Refusal>);

/// Carries out a block and reports it. Called by all ranks.
///
/// # Errors
/// Those after which the job cannot go on: of the library, of an algorithm, of the report file.
pub(crate) fn carry_out(session: &mut Session, block: &Block) -> anyhow::Result<()> {
    let begin = Instant::now();
    let mut live: Vec<(&Item, Candidate)> = Vec::new();
    for (item, candidate) in prepare(session, block)? {
        match candidate {
            Ok(candidate) => live.push((item, candidate)),
            Err(refusal) => fail(session, block, item, refusal)?,
        }
    }
    let prepared = begin.elapsed();

    let mut schedule = Schedule::new(live.len(), WARM_UPS, block.repetitions, block.seed).of_tried_out();
    let on_calls = live
        .iter()
        .map(|(item, _)| settings::during_calls(&session.header, item));
    let on_calls: Vec<settings::Settings> = on_calls.collect();
    let patterns: Vec<Option<&ArrivalPattern>> = live.iter().map(|(item, _)| item.arrival.as_ref()).collect();
    session.measure(&mut schedule, &on_calls, &patterns, |i| {
        let (item, candidate) = &mut live[i];
        candidate.run().with_context(|| title(&block.id, item))
    })?;
    let measured = begin.elapsed();

    let (runs, own_seconds) = (schedule.runs(), schedule.own_seconds());
    let series = schedule.into_series();
    // Nothing was written between two repetitions, so this is what the last one left; `prepare` had made the output wrong.
    let right = live.iter().zip(&series).map(
        |((_, candidate), series)| {
            if series.has_run() { candidate.check() } else { Ok(()) }
        },
    );
    let right = session.control.agree_all(right.collect())?;
    let mut delays = mean_delays(session, &patterns, &series)?.into_iter();
    for (((item, candidate), series), right) in live.into_iter().zip(series).zip(right) {
        let delay = delays.next().flatten();
        if let (Ok(()), Some(seconds)) = (&right, delay) {
            session.tell(Event::Settings {
                block: block.id.clone(),
                item: item.id.clone(),
                read_back: vec![(MEAN_DELAY.to_owned(), format!("{seconds:e}"))],
            })?;
        }
        match right {
            Ok(()) => session.tell(Event::Samples {
                block: block.id.clone(),
                item: item.id.clone(),
                seconds: series.seconds,
                void: series.void,
            })?,
            Err(refusal) => fail(session, block, item, refusal)?,
        }
        candidate.free()?;
        session.heartbeat()?;
    }
    let all = begin.elapsed();
    session.tell(Event::BlockEnd {
        block: block.id.clone(),
        seconds: all.as_secs_f64(),
        costs: Some(Costs {
            prepare_seconds: prepared.as_secs_f64(),
            repeat_seconds: (measured - prepared).as_secs_f64(),
            own_seconds,
            runs,
            check_seconds: (all - measured).as_secs_f64(),
        }),
    })
}

/// Mean delay of the ranks in each item with an arrival pattern, in seconds, on rank 0. Called by all ranks.
fn mean_delays(
    session: &Session,
    patterns: &[Option<&ArrivalPattern>],
    series: &[Series],
) -> anyhow::Result<Vec<Option<f64>>> {
    if patterns.iter().all(Option::is_none) {
        return Ok(Vec::new());
    }
    let own: Vec<u64> = series.iter().map(|series| series.delay_ns).collect();
    let mut sums = vec![0.0; own.len()];
    let told = session.control.gather(own.to_json()?.into_bytes())?;
    let ranks = told.len() as f64;
    for line in told {
        let delays = Vec::<u64>::from_json(&line).context("delays of a rank")?;
        for (sum, delay_ns) in sums.iter_mut().zip(delays) {
            *sum += delay_ns as f64 / 1e9;
        }
    }
    let mean = |((pattern, series), sum): ((&Option<&ArrivalPattern>, &Series), f64)| {
        let counted = series.seconds.len() as f64 * ranks;
        (pattern.is_some() && counted > 0.0).then(|| sum / counted)
    };
    Ok(patterns.iter().zip(series).zip(sums).map(mean).collect())
}

/// Makes the items of a block ready, runs each once and checks its data: all in turn, and the ranks agree on each step for all items
/// together. Called by all ranks, which all come to the same end.
fn prepare<'i>(session: &mut Session, block: &'i Block) -> anyhow::Result<Vec<Ready<'i>>> {
    let ready: Vec<Result<_, Fault>> = block
        .items
        .iter()
        .map(|item| buffers(session, item).map_err(|why| session.refused(why)))
        .collect();
    let ready = session.control.agree_all(ready)?;
    // Bytes of problems that items share are computed once.
    let mut gallery = Gallery::default();
    let mut made: Vec<Ready<'i>> = Vec::new();
    let mut right: Vec<Result<(), Fault>> = Vec::new();
    for (item, ready) in block.items.iter().zip(ready) {
        session.tell(Event::Enter {
            block: block.id.clone(),
            item: item.id.clone(),
        })?;
        let mut one = match ready {
            Ok(ready) => make(session, block, item, ready, &mut gallery).with_context(|| title(&block.id, item))?,
            Err(refusal) => Err(refusal),
        };
        // A refusal is everybody's: there is nothing more to agree on.
        let tried = match &mut one {
            Ok(candidate) => try_in(session, block, item, candidate).with_context(|| title(&block.id, item))?,
            Err(_) => Ok(Ok(())),
        };
        match tried {
            Ok(own) => right.push(own),
            Err(refusal) => {
                let refused = std::mem::replace(&mut one, Err(refusal));
                refused.map_or(Ok(()), Candidate::free)?;
                right.push(Ok(()));
            }
        }
        made.push((item, one));
        session.heartbeat()?;
    }
    let right = session.control.agree_all(right)?;
    for ((_, one), right) in made.iter_mut().zip(right) {
        match (one.as_mut(), right) {
            // Wrong again, so that the check at the end sees what the measured repetitions did.
            (Ok(candidate), Ok(())) => candidate.fill(),
            (Ok(_), Err(refusal)) => {
                let refused = std::mem::replace(one, Err(refusal));
                refused.map_or(Ok(()), Candidate::free)?;
            }
            (Err(_), _) => {}
        }
    }
    Ok(made)
}

/// The calls and the buffers of an item on this rank.
///
/// # Errors
/// Why this rank cannot carry it out.
fn buffers(session: &Session, item: &Item) -> Result<Vec<(Recipe, Buffers)>, Reason> {
    let members = Members::of(item, &session.control)?;
    let roots = match (members.root(), session.header.root) {
        (Some(root), _) | (None, Root::Fixed(root)) => vec![root],
        (None, Root::Rotating) => (0..session.control.p_ranks()).collect(),
    };
    let each = roots.into_iter().map(|root| {
        let place = Place {
            rank: session.control.rank(),
            p_ranks: session.control.p_ranks(),
            one_node: session.one_node,
            root,
            operand: operand(session.header.element, item),
        };
        let recipe = members.recipe(item, place)?;
        let buffers = Buffers::new(&recipe)?;
        Ok((recipe, buffers))
    });
    each.collect()
}

/// Elements of an item's data: those of the job where it is combined, and bytes where it is only moved.
fn operand(combined: Element, item: &Item) -> Operand {
    let element = if item.task.functionality.has_operator() {
        combined
    } else {
        Element::Byte
    };
    element.into()
}

/// Makes the candidate that carries an item out. Called by all ranks.
fn make(
    session: &mut Session,
    block: &Block,
    item: &Item,
    ready: Vec<(Recipe, Buffers)>,
    gallery: &mut Gallery,
) -> anyhow::Result<Result<Candidate, Refusal>> {
    let seed = session.header.seed;
    let shares = shares(session, item)?;
    // All ranks have come to the same conclusion about the members before.
    let members = Members::of(item, &session.control)?;
    let make = |session: &mut Session| {
        let commons = session.commons.as_mut().filter(|_| shares);
        Candidate::new(ready, seed, (&members, commons.map(Commons::lend)), gallery)
    };
    let (made, took) = match session.header.settings {
        SettingsAct::OnNewCommunicators => with_settings(session, block, item, make)?,
        SettingsAct::OnCalls => (Some(make(session)?), Ok(())),
    };
    let (candidate, made) = match (made, took) {
        (Some((candidate, made)), Ok(())) => (candidate, made),
        (Some((candidate, _)), Err(refusal)) => {
            candidate.free()?;
            return Ok(Err(refusal));
        }
        (None, Err(refusal)) => return Ok(Err(refusal)),
        (None, Ok(())) => bail!("an item was neither made nor refused"),
    };
    // Plain calls need nothing that a rank could lack.
    if candidate.has_programs()
        && let Err(refusal) = session.control.agree(made.map_err(|why| session.refused(why)))?
    {
        candidate.free()?;
        return Ok(Err(refusal));
    }
    Ok(Ok(candidate))
}

/// True if an item runs on the communicators that plain calls of the library share. They are made for the first that needs them, since making one takes the
/// ranks several rounds of messages. An item with settings or code of its own gets its own communicator. So does a call whose data has different datatypes
/// on different ranks: a library that divides it by its own ranks' types leaves messages behind, which the next item would take for its own.
fn shares(session: &mut Session, item: &Item) -> anyhow::Result<bool> {
    let is_typed = item.task.sendtype != Layout::Contiguous || item.task.recvtype != Layout::Contiguous;
    let is_local = matches!(
        item.task.functionality,
        Functionality::Packing | Functionality::Unpacking
    );
    let plain = match &item.implementation {
        Implementation::Expression { text } => {
            item.settings.is_empty() && (is_local || !is_typed && !text.contains("type="))
        }
        _ => false,
    };
    if plain && session.commons.is_none() {
        session.commons = Some(Commons::new().context("no communicator for the items")?);
    }
    Ok(plain)
}

/// Tries an item out while its settings hold. Returns this rank's verdict on its data, unless all ranks have refused it. Called by all ranks.
fn try_in(
    session: &mut Session,
    block: &Block,
    item: &Item,
    candidate: &mut Candidate,
) -> anyhow::Result<Result<Result<(), Fault>, Refusal>> {
    let counted = |session: &mut Session| {
        let right = match try_out(session, item, candidate)? {
            Ok(right) => right,
            Err(refusal) => return Ok(Err(refusal)),
        };
        bits::report(session, block, item, candidate)?;
        // An item whose messages or functions are reported has to be right on all ranks.
        if session.counters.is_some() || session.header.call_paths {
            if let Err(refusal) = session.control.agree(right)? {
                return Ok(Err(refusal));
            }
            messages::count(session, block, item, candidate)?;
            call_paths::report(session, block, item, candidate)?;
            return Ok(Ok(Ok(())));
        }
        Ok(Ok(right))
    };
    match session.header.settings {
        SettingsAct::OnNewCommunicators => settings::holding(session, item, counted),
        SettingsAct::OnCalls => {
            let (tried, took) = with_settings(session, block, item, counted)?;
            Ok(match (tried, took) {
                (_, Err(refusal)) => Err(refusal),
                (Some(tried), Ok(())) => tried,
                (None, Ok(())) => Ok(Ok(())),
            })
        }
    }
}

/// Runs an item once and looks at its data. Returns this rank's verdict, unless all ranks have refused the item already. Called by all ranks.
fn try_out(
    session: &mut Session,
    item: &Item,
    candidate: &mut Candidate,
) -> anyhow::Result<Result<Result<(), Fault>, Refusal>> {
    candidate.fill();
    if item.task.functionality == Functionality::Function(Collective::Barrier)
        && let Err(refusal) = barrier::check(session, item, candidate)?
    {
        return Ok(Err(refusal));
    }
    for _ in 0..candidate.turns() {
        candidate.run()?;
        // A plugin may say on one rank alone that it cannot run, and the others would wait for that rank in the next turn.
        if candidate.runs_plugin()
            && let Err(refusal) = session.control.agree(candidate.availability())?
        {
            return Ok(Err(refusal));
        }
    }
    Ok(Ok(candidate.check()))
}

/// Calls `act` while the item's settings hold, and sets them back. Returns its result if the settings could be written, and a refusal if they
/// did not take.
fn with_settings<T>(
    session: &mut Session,
    block: &Block,
    item: &Item,
    act: impl FnOnce(&mut Session) -> anyhow::Result<T>,
) -> anyhow::Result<(Option<T>, Result<(), Refusal>)> {
    if item.settings.is_empty() {
        return Ok((Some(act(session)?), Ok(())));
    }
    let mut before = settings::Before::default();
    let written = settings::write(&mut session.variables, &item.settings, &mut before);
    let written = written.map_err(|error| session.refused(error));
    if let Err(refusal) = session.control.agree(written)? {
        settings::restore(&mut session.variables, before)?;
        return Ok((None, Err(refusal)));
    }
    let returned = act(session)?;
    let read_back = settings::read_back(&session.variables, &item.settings);
    let nothing = Vec::new();
    let read = read_back.as_ref().unwrap_or(&nothing);
    let rank = session.control.rank();
    let effective = settings::ineffective(&session.variables, &item.settings, read).map(|setting| setting.fault(rank));

    let mut ranks: Vec<Vec<(String, String)>> = Vec::new();
    for values in session.control.gather(read.to_json()?.into_bytes())? {
        ranks.push(JsonLine::from_json(&values).context("settings as a rank reads them back")?);
    }
    session.tell(Event::Settings {
        block: block.id.clone(),
        item: item.id.clone(),
        read_back: settings::worst(&session.variables, &item.settings, &ranks),
    })?;
    settings::restore(&mut session.variables, before)?;

    let read_back = read_back.map_err(|error| session.refused(error));
    let effective = read_back.and_then(|_| effective.map_or(Ok(()), Err));
    let took = session.control.agree(effective)?;
    Ok((Some(returned), took))
}
