//! The columns for which a terminal has room.

use rusqlite::types::Value;

use super::{QueryError, What};

/// Between columns.
const GAP: usize = 2;
/// A column that was asked for is cut to no less.
const LEAST: usize = 8;

/// The columns of a listing: those asked for, and those that are shown.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    /// Indexes into all columns, in the order of printing.
    pub(super) shown: Vec<usize>,
    /// They were asked for by name.
    pub(super) are_chosen: bool,
    /// Characters of a line, where there is a limit.
    pub(super) width: Option<usize>,
}

impl Columns {
    /// `names` in their order, all where there are none.
    pub(super) fn of(what: What, all: &[&str], names: &[String], width: Option<usize>) -> Result<Self, QueryError> {
        let index = |name: &String| {
            all.iter()
                .position(|known| known.eq_ignore_ascii_case(name))
                .ok_or_else(|| {
                    let message = format!("`{}` have no `{name}`; they have: {}", what.name(), all.join(", "));
                    QueryError::Filter {
                        option: "--columns",
                        message,
                    }
                })
        };
        let shown = match names {
            [] => (0..all.len()).collect(),
            _ => names.iter().map(index).collect::<Result<_, _>>()?,
        };
        Ok(Self {
            shown,
            are_chosen: !names.is_empty(),
            width,
        })
    }

    /// True if all of them are shown as they are stored.
    pub(super) fn are_all(&self, count: usize) -> bool {
        self.shown.iter().copied().eq(0..count)
    }

    pub(super) fn pick(&self, row: &[Value]) -> Vec<Value> {
        self.shown.iter().map(|index| row[*index].clone()).collect()
    }

    /// Makes `widths`, one for each column, fit the terminal: leaves out columns, the least important first, or cuts those that were asked
    /// for, the widest first. Returns what is left out.
    pub(super) fn fit(&mut self, heads: &[&str], widths: &mut [usize], least_important: &[&str]) -> Vec<String> {
        let Some(width) = self.width else { return Vec::new() };
        if self.are_chosen {
            self.cut(widths, width);
        }
        let mut left_out = Vec::new();
        while self.shown.len() > 1 && self.needed(widths) > width {
            let next = match self.are_chosen {
                true => self.shown.len() - 1,
                false => self.next_to_go(heads, least_important),
            };
            left_out.push(heads[self.shown.remove(next)].to_owned());
        }
        if !self.are_chosen {
            self.put_back(heads, widths, width, &mut left_out);
        }
        // One column is always there.
        if let [only] = self.shown[..] {
            widths[only] = widths[only].min(width);
        }
        left_out
    }

    fn needed(&self, widths: &[usize]) -> usize {
        let own: usize = self.shown.iter().map(|index| widths[*index]).sum();
        own + GAP * self.shown.len().saturating_sub(1)
    }

    fn cut(&self, widths: &mut [usize], width: usize) {
        let mut over = self.needed(widths).saturating_sub(width);
        while over > 0 {
            let Some(widest) = self.shown.iter().copied().max_by_key(|index| widths[*index]) else {
                return;
            };
            if widths[widest] <= LEAST {
                return;
            }
            widths[widest] -= 1;
            over -= 1;
        }
    }

    /// The position of the shown column that is missed least: what the list names first, then the last.
    fn next_to_go(&self, heads: &[&str], least_important: &[&str]) -> usize {
        let position = |name: &&str| self.shown.iter().position(|index| heads[*index] == *name);
        least_important
            .iter()
            .find_map(position)
            .unwrap_or(self.shown.len() - 1)
    }

    /// Narrow columns may fit where a wide one that went later did not.
    fn put_back(&mut self, heads: &[&str], widths: &[usize], width: usize, left_out: &mut Vec<String>) {
        for name in left_out.clone().into_iter().rev() {
            let Some(index) = heads.iter().position(|head| *head == name) else {
                continue;
            };
            if self.needed(widths) + GAP + widths[index] <= width {
                let at = self.shown.partition_point(|shown| *shown < index);
                self.shown.insert(at, index);
                left_out.retain(|other| *other != name);
            }
        }
    }
}

/// A word in a column, cut where the column is narrower.
pub(super) fn fitted(word: &str, width: usize) -> String {
    if word.chars().count() <= width {
        return format!("{word:<width$}");
    }
    let kept: String = word.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}
