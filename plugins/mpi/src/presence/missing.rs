//! The ranks that are missing, as messages carry them and as people read them.

use super::Presence;

/// Ranks that a message can name.
pub(super) const NAMED: usize = 7;

/// Numbers of a message: how many are missing, and the first of them.
pub(super) const NUMBERS: usize = 1 + NAMED;

/// Ranks that did not say that they are there. Those below them in the tree are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Missing {
    pub(super) number: u64,
    first: [u64; NAMED],
}

impl Missing {
    pub(super) fn add(&mut self, rank: u64) {
        if let Some(place) = self.first.get_mut(self.number as usize) {
            *place = rank;
        }
        self.number += 1;
    }

    pub(super) fn take(&mut self, numbers: &[u64; NUMBERS]) {
        let (number, first) = (numbers[0], &numbers[1..]);
        let named = first.iter().take(usize::try_from(number).unwrap_or(NAMED));
        named.for_each(|rank| self.add(*rank));
        // Those that the message did not name.
        self.number += number.saturating_sub(NAMED as u64);
    }

    pub(super) fn numbers(&self) -> [u64; NUMBERS] {
        let mut numbers = [0; NUMBERS];
        numbers[0] = self.number;
        numbers[1..].copy_from_slice(&self.first);
        numbers
    }

    pub(super) fn presence(self) -> Presence {
        if self.number == 0 {
            Presence::Everywhere
        } else {
            Presence::Missing(self)
        }
    }
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let named: Vec<String> = self
            .first
            .iter()
            .take(self.number as usize)
            .map(u64::to_string)
            .collect();
        write!(
            f,
            "rank{} {}",
            if self.number == 1 { "" } else { "s" },
            named.join(", ")
        )?;
        match self.number.saturating_sub(NAMED as u64) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
