//! A profile compiled for one communicator: what the drop-in looks into in each call.

use kilter_algorithms::Collective;

use crate::{Placement, Profile};

/// Number of collectives, which index the table.
const COLLECTIVES: usize = Collective::ALL.len();

/// Per collective, disjoint ranges of bytes in ascending order. [`Table::lookup`] neither allocates nor locks.
///
/// The payload `T` is the index and the text of a rule at first ([`Entry`]); [`Table::try_map`] puts what a program needs in
/// its place, such as a function and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table<T = Entry> {
    ranges: [Vec<Piece<T>>; COLLECTIVES],
}

/// Choice for a range.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece<T> {
    min_bytes: u64,
    max_bytes: u64,
    value: T,
}

/// The rule that answers a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its index in the profile's rules.
    pub rule: usize,
    /// Its implementation's id.
    pub implementation: String,
    /// The parameters it sets, by name.
    pub parameters: std::collections::BTreeMap<String, u64>,
}

impl Table<Entry> {
    /// Compiles the rules for communicators whose ranks lie so.
    ///
    /// Total: the earlier of two overlapping rules answers, and in a profile that [`Profile::check`] would refuse, a rule for a
    /// collective that cannot be replaced answers nothing.
    #[must_use]
    pub fn compile(profile: &Profile, placement: &Placement) -> Table<Entry> {
        let mut ranges: [Vec<Piece<Entry>>; COLLECTIVES] = std::array::from_fn(|_| Vec::new());
        let rules = profile.rules.iter().enumerate();
        for (index, rule) in rules.filter(|(_, rule)| rule.communicators.contains(placement)) {
            let Some(collective) = rule.collective() else { continue };
            let entry = Entry {
                rule: index,
                implementation: rule.implementation.clone(),
                parameters: rule.parameters.clone(),
            };
            fill(&mut ranges[collective as usize], rule.min_bytes, rule.max_bytes, &entry);
        }
        Table { ranges }
    }
}

/// Puts `entry` wherever `min..=max` is still free in the sorted, disjoint `pieces`.
fn fill(pieces: &mut Vec<Piece<Entry>>, min: u64, max: u64, entry: &Entry) {
    let mut next = Some(min);
    let mut added = Vec::new();
    for piece in pieces.iter() {
        let Some(from) = next else { break };
        // Ranges are inclusive, so the last free byte before a piece is one below its start, which is above 0 there.
        if from < piece.min_bytes && from <= max {
            added.push(Piece {
                min_bytes: from,
                max_bytes: max.min(piece.min_bytes - 1),
                value: entry.clone(),
            });
        }
        if piece.max_bytes >= from {
            next = piece.max_bytes.checked_add(1);
        }
    }
    if let Some(from) = next.filter(|from| *from <= max) {
        added.push(Piece {
            min_bytes: from,
            max_bytes: max,
            value: entry.clone(),
        });
    }
    pieces.append(&mut added);
    pieces.sort_by_key(|piece| piece.min_bytes);
}

impl<T> Table<T> {
    /// The table that answers nothing.
    #[must_use]
    pub fn nothing() -> Table<T> {
        Table {
            ranges: std::array::from_fn(|_| Vec::new()),
        }
    }

    /// The choices for any volume of `from..=to`, in ascending order.
    pub fn within(&self, collective: Collective, from: u64, to: u64) -> impl Iterator<Item = &T> {
        let pieces = self.ranges[collective as usize].iter();
        let inside = pieces.filter(move |piece| piece.min_bytes <= to && from <= piece.max_bytes);
        inside.map(|piece| &piece.value)
    }

    /// Choice for this collective with a total volume of `bytes`; `None` if the library's own runs.
    #[must_use]
    pub fn lookup(&self, collective: Collective, bytes: u64) -> Option<&T> {
        let pieces = &self.ranges[collective as usize];
        let after = pieces.partition_point(|piece| piece.min_bytes <= bytes);
        let piece = pieces[..after].last()?;
        (bytes <= piece.max_bytes).then_some(&piece.value)
    }

    /// True if any call of this collective is answered.
    #[must_use]
    pub fn has(&self, collective: Collective) -> bool {
        !self.ranges[collective as usize].is_empty()
    }

    /// Every range: collective, smallest and largest volume in bytes (both inclusive), and its choice.
    pub fn ranges(&self) -> impl Iterator<Item = (Collective, u64, u64, &T)> {
        Collective::ALL
            .iter()
            .zip(&self.ranges)
            .flat_map(|(collective, pieces)| {
                pieces
                    .iter()
                    .map(|piece| (*collective, piece.min_bytes, piece.max_bytes, &piece.value))
            })
    }

    /// The same ranges with each value replaced by the result of `make`. The first error of `make` is returned.
    pub fn try_map<U, E>(&self, mut make: impl FnMut(Collective, &T) -> Result<U, E>) -> Result<Table<U>, E> {
        let mut ranges: [Vec<Piece<U>>; COLLECTIVES] = std::array::from_fn(|_| Vec::new());
        for (collective, min_bytes, max_bytes, value) in self.ranges() {
            ranges[collective as usize].push(Piece {
                min_bytes,
                max_bytes,
                value: make(collective, value)?,
            });
        }
        Ok(Table { ranges })
    }
}
