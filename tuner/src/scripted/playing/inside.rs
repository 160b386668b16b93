//! Calls inside compositions, split calls and padded calls.

use kilter_algorithms::{Collective, mockup};
use kilter_protocol::plan::Item;

use super::Playing;
use crate::scripted::call::Call;

/// Compositions inside each other at most.
pub(super) const DEPTH: usize = 4;

/// The rows that an item says are deployed inside it.
pub(super) fn told(item: &Item) -> impl Fn(Collective, u64) -> Option<(String, Vec<u64>)> {
    |collective, bytes| {
        let mut rows = item.deployed.iter();
        let row = rows.find(|one| one.answers(collective, bytes))?;
        Some((row.id.clone(), row.parameters.clone()))
    }
}

impl Playing {
    /// Seconds of a row in place of a call. Calls inside a composition run what `rows` has for them, and the library's own beyond some depth.
    pub(super) fn row_seconds(
        &self,
        item: &Item,
        call: &Call<'_>,
        (id, values): (&str, &[u64]),
        rows: &dyn Fn(Collective, u64) -> Option<(String, Vec<u64>)>,
        depth: usize,
    ) -> f64 {
        let inside = |collective: Collective, bytes: u64| {
            let inner = Call {
                item: call.item,
                ..self.call(item, &call.settings, collective, bytes)
            };
            match rows(collective, bytes).filter(|_| depth > 0) {
                Some((id, values)) => {
                    let inner = Call { item: &id, ..inner };
                    self.row_seconds(item, &inner, (&id, &values), rows, depth - 1)
                }
                None => self.library.seconds(&inner),
            }
        };
        match (mockup::find(id), id.rsplit_once('.'), values) {
            (Some(row), _, _) => row.calls.iter().map(|one| inside(*one, call.bytes)).sum(),
            (None, Some((_, "split")), [part, ..]) => {
                call.bytes.div_ceil(*part) as f64 * inside(call.collective, *part)
            }
            (None, Some((_, "padded")), [bytes, ..]) => inside(call.collective, *bytes),
            _ => self.library.seconds_of_row(id, call),
        }
    }
}
