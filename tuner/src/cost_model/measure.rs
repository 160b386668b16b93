//! The launch that measures prices: round trips and streams between two ranks of each distance, copies and combinations on one rank.
//!
//! Everything is timed by the clock of the rank that begins and ends it, so that no price depends on how well clocks agree. Blocks
//! are items of a plan like all others: they are stored, and a run that is resumed reads them back.

use kilter_algorithms::Nodes;
use kilter_protocol::plan::{Block, Implementation, Item, Repetitions};
use kilter_protocol::task::{Functionality, Task};

use super::prices::{Distance, Level, Local, Messages, Price, Prices};
use crate::context::{Context, Setup};
use crate::launch::session::{BlockOutcome, SessionError};
use crate::plan;

/// Sizes of messages, in bytes: eager and rendezvous messages and what lies between.
pub(super) const MESSAGES: [u64; 6] = [1, 1024, 8192, 65_536, 262_144, 1 << 20];
/// Of local work, in bytes: within a core's cache, and beyond; whole numbers of all elements.
pub(super) const LOCAL: [u64; 4] = [1024, 16_384, 262_144, 4 << 20];
/// Bytes of a stream at most, or two messages.
const STREAM_BYTES: u64 = 1 << 20;
/// Messages of a stream at most.
const STREAM: u64 = 16;
/// So often each is repeated.
const REPETITIONS: Repetitions = Repetitions::until(7, 40, 0.02, 0.25);

/// Measures the prices under `setup`, in one launch named after `label`, and takes its seconds from the budget. Empty where ranks have
/// no clock of their own or the launch failed, with a warning: nothing is explained then.
///
/// # Errors
/// The database, files, an interruption; a setup that did not take effect.
pub fn measure(context: &Context<'_>, label: &str, setup: &Setup) -> anyhow::Result<Prices> {
    let Some(nodes) = context.nodes() else {
        context
            .progress
            .warn("no prices of messages are measured: it is not known which ranks share a node");
        return Ok(Prices::default());
    };
    let repetitions = context.options.repetitions_or(REPETITIONS);
    let blocks: Vec<Block> = asked(&nodes, context.options.element.bytes())
        .into_iter()
        .map(|(id, items)| Block {
            seed: plan::derived_seed(context.run.seed, &format!("{label}/{id}")),
            id,
            items,
            repetitions,
        })
        .collect();
    context
        .progress
        .phase("prices of messages and local work", blocks.len() as u64);
    let mut session = context.session(label, setup, false)?;
    let measured = session
        .measure_all(&blocks, &mut |_| context.progress.step(1))
        .and_then(|outcomes| Ok((outcomes, session.start()?)));
    let outcomes = match measured {
        Ok((outcomes, start)) => {
            context.confirm(setup, &start)?;
            session.finish()?;
            outcomes
        }
        Err(SessionError::Job(failure)) => {
            context.budget.spend(context.launch_seconds());
            context.progress.warn(&format!(
                "the prices of messages could not be measured, so nothing is explained by them: {failure}"
            ));
            return Ok(Prices::default());
        }
        Err(error) => return Err(error.into()),
    };
    let seconds: f64 = outcomes.iter().map(|outcome| outcome.seconds).sum();
    context.budget.spend(seconds + context.launch_seconds());
    for (block, outcome) in blocks.iter().zip(&outcomes) {
        for (item, reason) in &outcome.failed {
            context
                .progress
                .warn(&format!("no price from `{}`, `{item}`: {reason}", block.id));
        }
    }
    Ok(read(blocks.iter().map(|block| block.id.as_str()).zip(&outcomes)))
}

/// Two ranks that are so far from each other: the first ones.
fn pair(nodes: &Nodes, distance: Distance) -> Option<(usize, usize)> {
    match distance {
        Distance::Within => (0..nodes.count()).find_map(|node| match nodes.members(node) {
            [one, other, ..] => Some((*one, *other)),
            _ => None,
        }),
        Distance::Between => (nodes.count() > 1).then(|| (nodes.members(0)[0], nodes.members(1)[0])),
    }
}

/// Messages of a stream.
pub(super) fn stream(bytes: u64) -> u64 {
    (STREAM_BYTES / bytes).clamp(2, STREAM)
}

/// Ids and items of the blocks.
fn asked(nodes: &Nodes, element_bytes: u64) -> Vec<(String, Vec<Item>)> {
    let mut blocks = Vec::new();
    for distance in Distance::ALL {
        let Some((from, to)) = pair(nodes, distance) else {
            continue;
        };
        let on = format!("{{pair:{from}:{to}}}");
        for bytes in MESSAGES {
            let count = stream(bytes);
            let message = |id, bytes, text| item(id, Functionality::Transfer, bytes, text);
            let items = vec![
                message("round trip", bytes, format!("pingpong(n){on}")),
                message("one", bytes, format!("isend(n){on} + wait + pingpong(1){on}")),
                message(
                    "many",
                    count * bytes,
                    format!("{count} * isend(n/{count}){on} + wait + pingpong(1){on}"),
                ),
            ];
            blocks.push((messages_id(distance, bytes), items));
        }
    }
    for bytes in LOCAL.into_iter().filter(|bytes| bytes.is_multiple_of(element_bytes)) {
        let items = vec![
            item("copy", Functionality::Copying, bytes, "copy(n)".to_owned()),
            item(
                "copy and combine",
                Functionality::Combining,
                bytes,
                "copy(n) + combine(n)".to_owned(),
            ),
        ];
        blocks.push((local_id(bytes), items));
    }
    blocks
}

fn item(id: &str, functionality: Functionality, bytes: u64, text: String) -> Item {
    Item {
        id: id.to_owned(),
        task: Task::plain(functionality),
        bytes,
        implementation: Implementation::Expression { text },
        settings: Vec::new(),
    }
}

pub(super) fn messages_id(distance: Distance, bytes: u64) -> String {
    format!("messages {} {bytes}", distance.name())
}

pub(super) fn local_id(bytes: u64) -> String {
    format!("local {bytes}")
}

/// Prices from the outcomes of blocks by their ids; what is missing is left out.
pub(super) fn read<'o>(outcomes: impl Iterator<Item = (&'o str, &'o BlockOutcome)>) -> Prices {
    let known: Vec<(&str, &BlockOutcome)> = outcomes.collect();
    let price = |id: &str, item: &str| {
        let (_, outcome) = known.iter().find(|(known, _)| *known == id)?;
        Price::of(&outcome.samples.get(item)?.seconds)
    };
    let level = |distance: Distance| {
        let of_size = |bytes: u64| {
            let id = messages_id(distance, bytes);
            Some(Messages {
                bytes,
                round_trip: price(&id, "round trip")?,
                one: price(&id, "one")?,
                many: price(&id, "many")?,
                count: stream(bytes) as u32,
            })
        };
        let sizes: Vec<Messages> = MESSAGES.into_iter().filter_map(of_size).collect();
        Level::of(&sizes)
    };
    let local = |bytes: u64| {
        Some(Local {
            bytes,
            copy: price(&local_id(bytes), "copy")?,
            copy_and_combine: price(&local_id(bytes), "copy and combine")?,
        })
    };
    Prices {
        within: level(Distance::Within),
        between: level(Distance::Between),
        local: LOCAL.into_iter().filter_map(local).collect(),
    }
}
