//! Memory of a schedule: the addresses that its messages touch, without what lies between them.

use kilter_protocol::schedule::Message;

use super::Ends;
use crate::model::trace::Payload;

/// Data begin at the same place of a cache line as they did.
const LINE: u64 = 64;

/// Addresses in a row that a rank's messages touch, and their place in the schedule's memory.
#[derive(Debug, Clone, Copy)]
struct Span {
    begin: u64,
    end: u64,
    at: u64,
}

/// Memory of each rank.
pub(super) struct Layout {
    spans: Vec<Vec<Span>>,
    bytes: Vec<u64>,
    /// Places of data without an address: of the sender and of the receiver of each message.
    apart: Vec<[Option<u64>; 2]>,
    next: usize,
}

impl Layout {
    pub(super) fn of(ranks: usize, all: &[Ends<'_>]) -> Layout {
        let mut touched: Vec<Vec<(u64, u64)>> = vec![Vec::new(); ranks];
        for ends in all {
            for (rank, payload) in [(ends.from, ends.sent), (ends.to, ends.received)] {
                let end = payload.address.saturating_add(ends.sent.bytes);
                if is_in_one_piece(payload) && ends.sent.bytes > 0 {
                    touched[rank as usize].push((payload.address, end));
                }
            }
        }
        let mut bytes = vec![0; ranks];
        let spans = touched
            .into_iter()
            .zip(&mut bytes)
            .map(|(touched, bytes)| spans(touched, bytes));
        let spans = spans.collect();
        // Data that lie in pieces get a place of their own for each end.
        let mut apart = Vec::with_capacity(all.len());
        for ends in all {
            let ends = [
                (ends.from, ends.sent, ends.sent.bytes),
                (ends.to, ends.received, ends.sent.bytes),
            ];
            apart.push(ends.map(|(rank, payload, length)| {
                if is_in_one_piece(payload) {
                    return None;
                }
                let end = &mut bytes[rank as usize];
                let at = end.next_multiple_of(LINE);
                *end = at.saturating_add(length);
                Some(at)
            }));
        }
        Layout {
            spans,
            bytes,
            apart,
            next: 0,
        }
    }

    /// Bytes of each rank's memory.
    pub(super) fn bytes(&self) -> Vec<u64> {
        self.bytes.clone()
    }

    /// The next message, in the order of the ends that the layout was made of.
    pub(super) fn message(&mut self, ends: &Ends<'_>) -> Message {
        let [from_at, to_at] = self.apart[self.next];
        self.next += 1;
        let place = |rank: u32, address: u64| {
            let own = &self.spans[rank as usize];
            let span = own.iter().find(|span| (span.begin..span.end).contains(&address));
            // Empty messages touch nothing.
            span.map_or(0, |span| span.at + (address - span.begin))
        };
        Message {
            from: ends.from,
            to: ends.to,
            bytes: ends.sent.bytes,
            from_at: from_at.unwrap_or_else(|| place(ends.from, ends.sent.address)),
            to_at: to_at.unwrap_or_else(|| place(ends.to, ends.received.address)),
        }
    }
}

/// True if data are known to lie one behind the other.
fn is_in_one_piece(payload: &Payload) -> bool {
    payload.address != 0 && payload.blocks.is_none()
}

/// Addresses in a row, one behind the other in memory; `bytes` becomes the length of all.
fn spans(mut touched: Vec<(u64, u64)>, bytes: &mut u64) -> Vec<Span> {
    touched.sort_unstable();
    let mut spans: Vec<Span> = Vec::new();
    for (begin, end) in touched {
        match spans.last_mut() {
            Some(last) if begin <= last.end => last.end = last.end.max(end),
            _ => spans.push(Span { begin, end, at: 0 }),
        }
    }
    for span in &mut spans {
        span.at = bytes.next_multiple_of(LINE) + span.begin % LINE;
        *bytes = span.at.saturating_add(span.end - span.begin);
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_together_stays_together_and_gaps_are_left_out() {
        let mut bytes = 0;
        let made = spans(
            vec![(1_000_000, 1_000_100), (64, 128), (100, 200), (200, 210)],
            &mut bytes,
        );
        let places: Vec<(u64, u64, u64)> = made.iter().map(|span| (span.begin, span.end, span.at)).collect();
        assert_eq!(places, [(64, 210, 0), (1_000_000, 1_000_100, 192)]);
        assert_eq!(bytes, 292);
    }
}
