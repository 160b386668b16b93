//! Steps that combine data, of reductions: no trace shows them.
//!
//! Assumed is one combination for each message that brings a part of the result. A rank's own part lies where it sends from, and elsewhere
//! where it sends nothing, or sends from where it received.

use std::ops::Range;

use kilter_protocol::plan::{Element, Operand, Operator};
use kilter_protocol::schedule::{Combination, Message, Schedule, Step};

use super::{Ends, NoSchedule};
use crate::model::finding::{Collective, Finding};
use crate::model::trace::Class;
use crate::ranks::RankSet;

/// Parts of ranks that have nothing to send begin at a line of the cache.
const LINE: u64 = 64;

/// Operand of the combinations, and true if each rank that must have it has the contributions of all ranks that belong into it.
///
/// # Errors
/// A schedule that is not carried out with them.
pub(super) fn combine(
    schedule: &mut Schedule,
    finding: &Finding,
    all: &[Ends<'_>],
    root: usize,
) -> Result<(Operand, bool), NoSchedule> {
    let ranks = schedule.ranks();
    let contributors = contributors(ranks, all);
    let brings_part: Vec<bool> = contributors.iter().map(|set| set.len() < ranks).collect();
    for rank in 0..ranks {
        let own = Own {
            rank: rank as u32,
            messages: &schedule.messages,
            brings_part: &brings_part,
        };
        schedule.steps[rank] = own.combining(&schedule.steps[rank], &mut schedule.memory[rank]);
    }
    schedule.check()?;
    let has = |rank: usize, wanted: usize| {
        let mut set = RankSet::one(ranks, rank as u32);
        let received = all
            .iter()
            .zip(&contributors)
            .filter(|(ends, _)| ends.to as usize == rank);
        received.for_each(|(_, more)| set.unite(more));
        (0..wanted as u32).all(|one| set.contains(one))
    };
    let is_shown = match finding.collective {
        Collective::Reduce => has(root, ranks),
        Collective::Scan => (0..ranks).all(|rank| has(rank, rank + 1)),
        _ => (0..ranks).all(|rank| has(rank, ranks)),
    };
    Ok((operand(element(schedule, all), &finding.operators), is_shown))
}

/// Ranks whose parts may be in each message: the sender, and those of messages that it received before.
fn contributors(ranks: usize, all: &[Ends<'_>]) -> Vec<RankSet> {
    let mut sets: Vec<RankSet> = all.iter().map(|ends| RankSet::one(ranks, ends.from)).collect();
    let mut received: Vec<Vec<usize>> = vec![Vec::new(); ranks];
    all.iter()
        .zip(0..)
        .for_each(|(ends, one)| received[ends.to as usize].push(one));
    let before = |ends: &Ends<'_>| {
        let is_before = |one: &usize| all[*one].receive.end_ns <= ends.send.begin_ns;
        received[ends.from as usize].iter().copied().filter(is_before).collect()
    };
    let before: Vec<Vec<usize>> = all.iter().map(before).collect();
    // Sets only grow, and each round takes them one message further.
    let mut grows = true;
    while grows {
        grows = false;
        for (message, before) in before.iter().enumerate() {
            let size = sets[message].len();
            for one in before {
                let more = sets[*one].clone();
                sets[message].unite(&more);
            }
            grows |= sets[message].len() > size;
        }
    }
    sets
}

/// Element of all messages, or a byte where the worker has no such element, or data lie between two.
fn element(schedule: &Schedule, all: &[Ends<'_>]) -> Element {
    let of = |ends: &Ends<'_>| match (ends.sent.class, ends.sent.element_bytes) {
        (Class::Integer, 4) => Element::Int,
        (Class::Real, 4) => Element::Float,
        (Class::Real, 8) => Element::Double,
        _ => Element::Byte,
    };
    let first = all.first().map_or(Element::Byte, of);
    let fits = |at: u64| at.is_multiple_of(first.bytes());
    let steps = schedule.steps.iter().flatten();
    let is_whole = steps
        .filter_map(|step| match step {
            Step::Combine(combination) => Some(combination),
            _ => None,
        })
        .all(|one| fits(one.from_at) && fits(one.to_at) && fits(one.bytes));
    if is_whole && all.iter().all(|ends| of(ends) == first) {
        first
    } else {
        Element::Byte
    }
}

/// Elements with an operator that all recorded values allow: the usual one of the elements if it is among them, else the first that takes them. Where
/// none does, the usual one.
fn operand(element: Element, allowed: &[String]) -> Operand {
    let usual = Operand::from(element);
    let named = allowed.iter().filter_map(|name| Operator::named(name));
    let mut fitting = named.filter(|operator| operator.takes(element)).peekable();
    let first = fitting.peek().copied().unwrap_or(usual.operator);
    let operator = if fitting.any(|operator| operator == usual.operator) {
        usual.operator
    } else {
        first
    };
    Operand { element, operator }
}

/// A rank's part of the schedule.
struct Own<'a> {
    rank: u32,
    messages: &'a [Message],
    /// True for messages that bring a part, and not the result.
    brings_part: &'a [bool],
}

impl Own<'_> {
    /// The steps, with a combination of what a message brought before the rank sends, receives or posts anything more.
    fn combining(&self, steps: &[Step], memory: &mut u64) -> Vec<Step> {
        let mut made: Vec<Step> = Vec::new();
        // Sends and receives that are not complete, and parts that were not combined yet.
        let (mut under_way, mut parts): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        let mut apart = None;
        for (at, step) in steps.iter().enumerate() {
            if !matches!(step, Step::Complete(_)) {
                for part in parts.drain(..) {
                    made.push(self.combination(part, (steps, at), &under_way, (&mut apart, memory)));
                }
            }
            match step {
                Step::Start(number) | Step::Post(number) => under_way.push(*number),
                Step::Complete(numbers) => under_way.retain(|number| !numbers.contains(number)),
                _ => {}
            }
            let arrives = |number: &&u32| {
                let number = **number as usize;
                self.messages[number].to == self.rank && self.brings_part[number] && !matches!(step, Step::Post(_))
            };
            parts.extend(step.messages().iter().filter(arrives));
            made.push(step.clone());
        }
        for part in parts {
            made.push(self.combination(part, (steps, steps.len()), &under_way, (&mut apart, memory)));
        }
        made
    }

    /// The combination of what a message brought, before the step at this place.
    fn combination(
        &self,
        part: u32,
        (steps, at): (&[Step], usize),
        under_way: &[u32],
        (apart, memory): (&mut Option<u64>, &mut u64),
    ) -> Step {
        let message = self.messages[part as usize];
        let bytes = message.bytes;
        let place = |one: &Message| {
            let at = if one.from == self.rank { one.from_at } else { one.to_at };
            at..at + one.bytes
        };
        let received = message.to_at..message.to_at + bytes;
        let overlap = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
        let sent = |step: &Step| match step {
            Step::Send(number) | Step::Start(number) => Some(place(&self.messages[*number as usize])),
            _ => None,
        };
        // The place that the rank sends from next, or else sent from last.
        let (before, behind) = steps.split_at(at);
        let mut all = behind.iter().chain(before.iter().rev()).filter_map(sent);
        let own = all.find(|range| range.end - range.start == bytes);
        let mut elsewhere = || {
            *apart.get_or_insert_with(|| {
                let at = memory.next_multiple_of(LINE);
                *memory = at.saturating_add(bytes);
                at
            })
        };
        let is_busy = |range: &Range<u64>| {
            let mut busy = under_way.iter().map(|number| place(&self.messages[*number as usize]));
            busy.any(|other| overlap(&other, range))
        };
        let (from_at, to_at) = match own {
            Some(own) if overlap(&own, &received) => (elsewhere(), message.to_at),
            Some(own) if !is_busy(&own) => (message.to_at, own.start),
            _ => (message.to_at, elsewhere()),
        };
        Step::Combine(Combination { from_at, to_at, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(from: u32, to: u32, from_at: u64, to_at: u64) -> Message {
        Message {
            from,
            to,
            bytes: 8,
            from_at,
            to_at,
        }
    }

    /// Combinations of rank 1 in these steps, and the length of its memory afterwards.
    fn combined(messages: &[Message], steps: &[Step]) -> (Vec<Step>, u64) {
        let own = Own {
            rank: 1,
            messages,
            brings_part: &vec![true; messages.len()],
        };
        let mut memory = 16;
        (own.combining(steps, &mut memory), memory)
    }

    fn combine(from_at: u64, to_at: u64) -> Step {
        Step::Combine(Combination {
            from_at,
            to_at,
            bytes: 8,
        })
    }

    #[test]
    fn a_rank_that_sends_from_where_it_received_adds_its_own_part_there() {
        let messages = [message(0, 1, 0, 8), message(1, 2, 8, 0)];
        let (steps, memory) = combined(&messages, &[Step::Receive(0), Step::Send(1)]);
        assert_eq!(steps, [Step::Receive(0), combine(64, 8), Step::Send(1)]);
        assert_eq!(memory, 72);
    }

    #[test]
    fn ranks_combine_by_what_was_found_where_the_elements_allow_it() {
        let of = |element, allowed: &[&str]| {
            let allowed: Vec<String> = allowed.iter().map(|name| (*name).to_owned()).collect();
            operand(element, &allowed).to_string()
        };
        assert_eq!(of(Element::Double, &["MPI_MAX"]), "MPI_MAX of MPI_DOUBLE");
        assert_eq!(of(Element::Int, &["MPI_BOR", "MPI_BXOR"]), "MPI_BOR of MPI_INT");
        assert_eq!(of(Element::Float, &["MPI_PROD", "MPI_SUM"]), "MPI_SUM of MPI_FLOAT");
        assert_eq!(of(Element::Byte, &["MPI_SUM"]), "MPI_BOR of MPI_BYTE");
        assert_eq!(of(Element::Double, &[]), "MPI_SUM of MPI_DOUBLE");
    }

    #[test]
    fn what_is_being_sent_is_left_as_it_is() {
        let messages = [message(0, 1, 0, 8), message(1, 0, 0, 8), message(2, 1, 0, 8)];
        let steps = |last: [Step; 2]| {
            let first = [Step::Start(1), Step::Receive(0)];
            [&first[..], &last].concat()
        };
        let (busy, memory) = combined(&messages, &steps([Step::Receive(2), Step::Complete(vec![1])]));
        assert_eq!((&busy[2], memory), (&combine(8, 64), 72));
        let (free, memory) = combined(&messages, &steps([Step::Complete(vec![1]), Step::Receive(2)]));
        assert_eq!((&free[3], memory), (&combine(8, 0), 16));
        assert_eq!(free.last(), Some(&combine(8, 0)));
    }
}
