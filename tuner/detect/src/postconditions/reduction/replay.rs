//! Replay of values: who contributed to what a rank sends.

use rustc_hash::FxHashMap;

use crate::arithmetic::{ALL, Operators, SELECTING, Shape};
use crate::model::trace::Payload;
use crate::postconditions::chance::{self, Coincidences};
use crate::ranks::RankSet;

/// Value that messages carry.
#[derive(Debug, Clone)]
pub(super) struct Value {
    prefix: [u8; 16],
    crc: u32,
    contributors: RankSet,
    pub(super) operators: Operators,
    /// True if arithmetic shows it to be made of its parts.
    pub(super) is_verified: bool,
    /// True if arithmetic makes it of its parts, but its first bytes are those of one part: nothing that is seen was computed.
    pub(super) is_like_part: bool,
    /// True if it is taken to be made of its parts and of a part that is not seen, and differs from all of them.
    pub(super) is_assumed: bool,
    /// Comparisons with parts where a part is not seen.
    pub(super) compared: u32,
    /// Values that it is made of.
    pub(super) parts: Vec<usize>,
    /// Messages that carry it.
    pub(super) carriers: Vec<u32>,
    /// Receivers of these.
    receivers: Vec<u32>,
    /// Number of these that others than the value's maker send.
    passed_on: u32,
}

/// Moment at which a rank has what the collective owes it.
#[derive(Debug, Clone)]
pub(super) struct Completion {
    pub(super) values: Vec<usize>,
    /// Number of these that it received.
    pub(super) received: usize,
    /// True if the rank showed the result, and it is the right one.
    pub(super) is_verified: bool,
}

/// Values that are looked at for chance.
const MOST_LOOKED_AT: usize = 64;

/// A part of many, from all over them.
fn some<T>(all: &[T]) -> impl Iterator<Item = &T> {
    all.iter().step_by(all.len().div_ceil(MOST_LOOKED_AT).max(1))
}

/// State of a rank.
#[derive(Debug, Clone, Default)]
struct State {
    /// Latest value that the rank sent or showed as its own or computed.
    own: Option<usize>,
    /// Values that it received since.
    since: Vec<usize>,
    /// Values that it may pass on, by CRC.
    held: FxHashMap<u32, usize>,
    /// True if it sends, or shows, its own part before it is changed.
    shows_own: bool,
    /// Operands of a result that was not seen yet.
    pending: Option<(Option<usize>, Vec<usize>)>,
}

/// Replay of the messages of one shape.
pub(super) struct Replay {
    size: usize,
    shape: Shape,
    pub(super) values: Vec<Value>,
    states: Vec<State>,
    carried: FxHashMap<u32, usize>,
    /// Attempts to explain a value by arithmetic.
    attempts: u64,
    /// By rank: it has contributions of all.
    pub(super) whole: Vec<Vec<Completion>>,
    /// By rank: it has contributions of itself and all ranks before it.
    pub(super) prefixes: Vec<Vec<Completion>>,
}

impl Replay {
    pub(super) fn new(size: usize, shape: Shape) -> Self {
        Self {
            size,
            shape,
            values: Vec::new(),
            states: vec![State::default(); size],
            carried: FxHashMap::default(),
            attempts: 0,
            whole: vec![Vec::new(); size],
            prefixes: vec![Vec::new(); size],
        }
    }

    /// Messages by which others than its maker send a value that lacks contributors.
    pub(super) fn passed_on(&self, value: usize) -> u32 {
        let one = &self.values[value];
        if one.contributors.len() == self.size {
            0
        } else {
            one.passed_on
        }
    }

    fn add(&mut self, payload: &Payload, contributors: RankSet, operators: Operators, parts: Vec<usize>) -> usize {
        self.values.push(Value {
            prefix: payload.prefix,
            crc: payload.crc32,
            contributors,
            operators,
            is_verified: false,
            is_like_part: false,
            is_assumed: false,
            compared: 0,
            parts,
            carriers: Vec::new(),
            receivers: Vec::new(),
            passed_on: 0,
        });
        self.values.len() - 1
    }

    fn fresh(&mut self, rank: u32, payload: &Payload) -> usize {
        let value = self.add(payload, RankSet::one(self.size, rank), ALL, Vec::new());
        let state = &mut self.states[rank as usize];
        if state.since.is_empty() {
            state.shows_own = true;
        }
        state.own = Some(value);
        state.since.clear();
        value
    }

    /// Contributors of several values; `None` if one contributed twice.
    fn united(&self, values: &[usize]) -> Option<RankSet> {
        let mut all = RankSet::new(self.size);
        for &value in values {
            let more = &self.values[value].contributors;
            if !all.is_disjoint(more) {
                return None;
            }
            all.unite(more);
        }
        Some(all)
    }

    /// Value that arithmetic makes of others.
    fn computed(&mut self, payload: &Payload, parts: &[usize]) -> Option<usize> {
        // Equal data are passed on, not computed.
        if parts.len() < 2 || parts.iter().any(|&part| self.values[part].crc == payload.crc32) {
            return None;
        }
        let contributors = self.united(parts)?;
        self.attempts += 1;
        let operators = self.explaining(parts, &payload.prefix);
        if operators == 0 {
            return None;
        }
        let value = self.add(payload, contributors, operators, parts.to_vec());
        // First bytes of a part are those of data that were passed on and changed behind them, as well.
        let is_like_part = parts.iter().any(|&part| self.values[part].prefix == payload.prefix);
        self.values[value].is_verified = !is_like_part;
        self.values[value].is_like_part = is_like_part;
        Some(value)
    }

    /// Operators that make a result of values.
    fn explaining(&self, parts: &[usize], result: &[u8; 16]) -> Operators {
        let asked = parts.iter().fold(ALL, |all, &part| all & self.values[part].operators);
        let operands: Vec<[u8; 16]> = parts.iter().map(|&part| self.values[part].prefix).collect();
        self.shape.explaining(asked, &operands, result)
    }

    /// True if chance explains as many values as arithmetic does: the operands make others that have nothing to do with them, too.
    pub(super) fn is_by_chance(&self) -> bool {
        let computed: Vec<&Value> = self.values.iter().filter(|one| one.is_verified).collect();
        let mut unrelated = Coincidences::default();
        for value in some(&computed) {
            for other in some(&self.values) {
                let is_like_part = value.parts.iter().any(|part| self.values[*part].prefix == other.prefix);
                if !std::ptr::eq(*value, other) && !is_like_part {
                    unrelated.of += 1;
                    unrelated.seen += u64::from(self.explaining(&value.parts, &other.prefix) != 0);
                }
            }
        }
        chance::explains(unrelated, self.attempts, computed.len() as u64, 1.0)
    }

    /// Value equal to one of the values that it may be made of, as maxima are. It shows nothing, but all have contributed to it.
    fn selected(&mut self, payload: &Payload, own: usize, since: &[usize]) -> Option<usize> {
        let parts = [&[own], since].concat();
        if parts.iter().all(|&part| self.values[part].crc != payload.crc32) {
            return None;
        }
        let contributors = self.united(&parts)?;
        let asked = parts
            .iter()
            .fold(SELECTING, |all, &part| all & self.values[part].operators);
        let operands: Vec<[u8; 16]> = parts.iter().map(|&part| self.values[part].prefix).collect();
        let operators = self.shape.explaining(asked, &operands, &payload.prefix);
        (operators != 0).then(|| self.add(payload, contributors, operators, parts))
    }

    /// Value that may be made of others and of the rank's own part, which is not seen.
    fn assumed(&mut self, rank: u32, payload: &Payload, parts: &[usize]) -> Option<usize> {
        let mut contributors = self.united(parts)?;
        if !contributors.insert(rank) {
            return None;
        }
        let operands: Vec<[u8; 16]> = parts.iter().map(|&part| self.values[part].prefix).collect();
        let asked = parts.iter().fold(ALL, |all, &part| all & self.values[part].operators);
        let (allowed, compared) = self.shape.allowing(&operands, &payload.prefix);
        let value = self.add(payload, contributors, asked & allowed, parts.to_vec());
        self.values[value].is_assumed = parts.iter().all(|&part| self.values[part].crc != payload.crc32);
        self.values[value].compared = compared;
        Some(value)
    }

    /// Result of a completed reduction that the rank sends or shows.
    fn result(&mut self, rank: u32, payload: &Payload) -> Option<usize> {
        let (own, since) = self.states[rank as usize].pending.clone()?;
        let value = match own {
            Some(own) => {
                let parts = [&[own], since.as_slice()].concat();
                let selected = self.selected(payload, own, &since);
                selected.or_else(|| self.computed(payload, &parts))
            }
            None => self.assumed(rank, payload, &since),
        }?;
        self.states[rank as usize].pending = None;
        Some(value)
    }

    pub(super) fn send(&mut self, message: u32, rank: u32, to: u32, payload: &Payload) {
        let attempts = self.attempts;
        let value = self.sent(rank, to, payload);
        // Several ways to explain a value are one attempt; one that shows nothing is none.
        let is_shown = !self.values[value].is_like_part;
        self.attempts = attempts + u64::from(self.attempts > attempts && is_shown);
        self.values[value].carriers.push(message);
        self.values[value].receivers.push(to);
        self.carried.insert(message, value);
    }

    fn sent(&mut self, rank: u32, to: u32, payload: &Payload) -> usize {
        let at = rank as usize;
        if let Some(own) = self.states[at].own
            && self.values[own].crc == payload.crc32
            && self.states[at].since.is_empty()
        {
            if !self.values[own].receivers.contains(&to) {
                return own;
            }
            if self.values[own].parts.is_empty() {
                return self.fresh(rank, payload);
            }
        }
        if let Some(&held) = self.states[at].held.get(&payload.crc32) {
            return self.equal_to_received(rank, payload, held);
        }
        if let Some(value) = self.result(rank, payload) {
            self.states[at].held.insert(payload.crc32, value);
            self.note_result(rank, value);
            return value;
        }
        let since = self.states[at].since.clone();
        let own = self.states[at].own;
        if since.is_empty() {
            return self.fresh(rank, payload);
        }
        if let Some(own) = own
            && let Some(value) = self.selected(payload, own, &since)
        {
            self.states[at].own = Some(value);
            self.states[at].since.clear();
            return value;
        }
        let with_own = |parts: &[usize]| own.map(|own| [&[own], parts].concat());
        let last = &since[since.len() - 1..];
        // The own part of a rank that does not show it may lie within a maximum, beyond the first bytes.
        let without_own = self.states[at].shows_own.then(|| since.clone());
        let tries = [with_own(&since), with_own(last), without_own];
        for parts in tries.into_iter().flatten() {
            if let Some(value) = self.computed(payload, &parts) {
                self.states[at].own = Some(value);
                self.states[at].since.clear();
                return value;
            }
        }
        if !self.states[at].shows_own
            && let Some(value) = self.assumed(rank, payload, &since)
        {
            self.states[at].own = Some(value);
            self.states[at].since.clear();
            return value;
        }
        self.fresh(rank, payload)
    }

    /// Value equal to one that the rank received: it passes that on, or selects it among others.
    fn equal_to_received(&mut self, rank: u32, payload: &Payload, held: usize) -> usize {
        let at = rank as usize;
        let since = self.states[at].since.clone();
        if !since.contains(&held) {
            self.values[held].passed_on += 1;
            return held;
        }
        let made = match self.states[at].own {
            Some(own) => self.selected(payload, own, &since),
            None if self.states[at].shows_own => None,
            None => self.assumed(rank, payload, &since),
        };
        let Some(value) = made else {
            self.values[held].passed_on += 1;
            return held;
        };
        self.states[at].own = Some(value);
        self.states[at].since.clear();
        value
    }

    /// The result replaces the operands of the rank's completion.
    fn note_result(&mut self, rank: u32, value: usize) {
        if let Some(completion) = self.whole[rank as usize].last_mut() {
            completion.values.push(value);
        }
    }

    pub(super) fn receive(&mut self, message: u32, rank: u32) {
        let Some(&value) = self.carried.get(&message) else {
            return;
        };
        let at = rank as usize;
        let (crc, contributors) = (self.values[value].crc, self.values[value].contributors.clone());
        let completion = |values: Vec<usize>, received: usize| Completion {
            values,
            received,
            is_verified: false,
        };
        if contributors.len() == self.size {
            self.states[at] = State {
                held: FxHashMap::from_iter([(crc, value)]),
                shows_own: self.states[at].shows_own,
                ..State::default()
            };
            self.whole[at].push(completion(vec![value], 1));
            return;
        }
        let state = &mut self.states[at];
        state.held.insert(crc, value);
        // Values that overlap belong to an earlier epoch.
        if state
            .own
            .is_some_and(|own| !self.values[own].contributors.is_disjoint(&contributors))
        {
            state.own = None;
        }
        let overlaps = |&old: &usize| !self.values[old].contributors.is_disjoint(&contributors);
        if state.since.iter().any(overlaps) {
            state.since.clear();
        }
        state.since.push(value);
        let mut values: Vec<usize> = self.states[at].own.into_iter().collect();
        values.extend(&self.states[at].since);
        let received = self.states[at].since.len();
        let Some(mut all) = self.united(&values) else { return };
        all.insert(rank);
        if rank > 0 && all.len() == rank as usize + 1 && (0..=rank).all(|one| all.contains(one)) {
            self.prefixes[at].push(completion(values.clone(), 1));
        }
        if all.len() == self.size {
            let state = &mut self.states[at];
            let pending = (state.own, std::mem::take(&mut state.since));
            *state = State {
                shows_own: state.shows_own,
                pending: Some(pending),
                ..State::default()
            };
            self.whole[at].push(completion(values, received));
        }
    }

    /// Data that a rank shows: a result, or its own part.
    pub(super) fn show(&mut self, rank: u32, payload: &Payload) {
        if let Some(value) = self.result(rank, payload) {
            let verified = self.values[value].is_verified;
            if let Some(completion) = self.whole[rank as usize].last_mut() {
                completion.values.push(value);
                completion.is_verified |= verified;
            }
            return;
        }
        self.states[rank as usize].since.clear();
        self.fresh(rank, payload);
    }
}
