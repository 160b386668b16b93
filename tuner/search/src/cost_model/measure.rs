//! The blocks of the launch that measures prices, and their readings: round trips and streams between two ranks of each distance, copies and
//! combinations on one rank.
//!
//! Everything is timed by the clock of the rank that begins and ends it, once and several times. A price is the cost of more of the same, so it
//! depends neither on how well clocks agree nor on how ranks wake up. Blocks are items of a plan like all others: they are stored, and a resumed
//! run reads them back.

use kilter_algorithms::Nodes;
use kilter_bench::launch::session::BlockOutcome;
use kilter_protocol::plan::{Implementation, Item, Repetitions};
use kilter_protocol::task::{Functionality, Task};

use super::prices::{Distance, Level, Local, Messages, OnceAndMore, Price, Prices};

/// Sizes of messages, in bytes: eager ones, rendezvous ones and those between.
pub(super) const MESSAGES: [u64; 7] = [1, 1024, 8192, 32_768, 65_536, 262_144, 1 << 20];
/// Sizes of local work in bytes, within a core's caches and beyond; whole numbers of all elements.
pub(super) const LOCAL: [u64; 3] = [16_384, 262_144, 4 << 20];
/// Bytes in all, and the most times: something is done as often as both allow, and twice at least.
type More = (u64, u64);
pub(super) const MORE_ROUND_TRIPS: More = (1 << 20, 5);
pub(super) const MORE_MESSAGES: More = (1 << 20, 16);
pub(super) const MORE_LOCAL: More = (16 << 20, 64);
/// Names of the operations.
pub(super) const ROUND_TRIPS: &str = "round trip";
pub(super) const STREAM: &str = "message";
pub(super) const COPY: &str = "copy";
pub(super) const COMBINE: &str = "copy and combine";
/// Repetitions of each item.
pub const REPETITIONS: Repetitions = Repetitions::until(6, 12, 0.01, 1.0);

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

/// Number of times to do an item of so many bytes, where it is done more than once.
pub(super) fn more(bytes: u64, (whole, most): More) -> u64 {
    (whole / bytes).clamp(2, most)
}

/// A priced operation: its name, how often it is repeated, and the expression of so many.
type Work<'w> = (&'static str, u64, &'w dyn Fn(u64) -> String);

/// The operation's items, done once and done several times.
fn items((name, count, text): Work<'_>, functionality: Functionality, bytes: impl Fn(u64) -> u64) -> [Item; 2] {
    [1, count].map(|times| item(&item_id(name, times), functionality, bytes(times), text(times)))
}

/// Ids and items of the blocks.
#[must_use]
pub fn asked(nodes: &Nodes, element_bytes: u64) -> Vec<(String, Vec<Item>)> {
    let mut blocks = Vec::new();
    for distance in Distance::ALL {
        let Some((from, to)) = pair(nodes, distance) else {
            continue;
        };
        let on = format!("{{pair:{from}:{to}}}");
        let round_trips = |times: u64| format!("{times} * pingpong(n){on}");
        let stream = |times: u64| format!("{times} * isend(n/{times}){on} + wait + pingpong(1){on}");
        for bytes in MESSAGES {
            let trips = (
                ROUND_TRIPS,
                more(bytes, MORE_ROUND_TRIPS),
                &round_trips as &dyn Fn(u64) -> String,
            );
            let messages = (STREAM, more(bytes, MORE_MESSAGES), &stream as &dyn Fn(u64) -> String);
            let mut both = items(trips, Functionality::Transfer, |_| bytes).to_vec();
            both.extend(items(messages, Functionality::Transfer, |times| times * bytes));
            blocks.push((messages_id(distance, bytes), both));
        }
    }
    let copy = |times: u64| format!("{times} * copy(n)");
    let combine = |times: u64| vec!["copy(n) + combine(n)"; times as usize].join(" + ");
    for bytes in LOCAL.into_iter().filter(|bytes| bytes.is_multiple_of(element_bytes)) {
        let times = more(bytes, MORE_LOCAL);
        let mut both = items((COPY, times, &copy), Functionality::Copying, |_| bytes).to_vec();
        both.extend(items((COMBINE, times, &combine), Functionality::Combining, |_| bytes));
        blocks.push((local_id(bytes), both));
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
        arrival: None,
        deployed: Vec::new(),
    }
}

pub(super) fn item_id(name: &str, times: u64) -> String {
    format!("{name} x {times}")
}

pub(super) fn messages_id(distance: Distance, bytes: u64) -> String {
    format!("messages {} {bytes}", distance.name())
}

pub(super) fn local_id(bytes: u64) -> String {
    format!("local {bytes}")
}

/// Prices from the outcomes of blocks by their ids, of `least` times each or more; missing ones are left out.
pub fn read<'o>(outcomes: impl Iterator<Item = (&'o str, &'o BlockOutcome)>, least: usize) -> Prices {
    let known: Vec<(&str, &BlockOutcome)> = outcomes.collect();
    let price = |id: &str, item: &str| {
        let (_, outcome) = known.iter().find(|(known, _)| *known == id)?;
        Price::of(&outcome.samples.get(item)?.seconds, least)
    };
    let once_and_more = |id: &str, name: &str, count: u64| {
        Some(OnceAndMore {
            once: price(id, &item_id(name, 1))?,
            more: price(id, &item_id(name, count))?,
            count,
        })
    };
    let level = |distance: Distance| {
        let of_size = |bytes: u64| {
            let id = messages_id(distance, bytes);
            Some(Messages {
                bytes,
                round_trips: once_and_more(&id, ROUND_TRIPS, more(bytes, MORE_ROUND_TRIPS))?,
                stream: once_and_more(&id, STREAM, more(bytes, MORE_MESSAGES))?,
            })
        };
        let sizes: Vec<Messages> = MESSAGES.into_iter().filter_map(of_size).collect();
        Level::of(&sizes)
    };
    let local = |bytes: u64| {
        let (id, count) = (local_id(bytes), more(bytes, MORE_LOCAL));
        Some(Local {
            bytes,
            copy: once_and_more(&id, COPY, count)?,
            copy_and_combine: once_and_more(&id, COMBINE, count)?,
        })
    };
    Prices {
        within: level(Distance::Within),
        between: level(Distance::Between),
        local: LOCAL.into_iter().filter_map(local).collect(),
    }
}
