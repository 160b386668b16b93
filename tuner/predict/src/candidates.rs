//! Implementations that may be chosen on a layout.

use kilter_algorithms::registry;
use kilter_model::deployment::Selection;
use kilter_model::layout::Layout;

use crate::Implementation;
use crate::between::{is_odd, is_single};
use crate::models::{Fitted, Guess};
use crate::table::Table;

/// Predicted times of the implementations that may be chosen for a call on a layout.
///
/// Numbers of ranks that are no power of two are of their own kind, and so are nodes with a single rank: where any layout of the kind was
/// measured, an implementation that did not run on one of them is left out.
pub(crate) fn guesses(table: &Table, fitted: &dyn Fitted, layout: Layout, bytes: u64) -> Vec<Guess> {
    let known = table.compared(bytes);
    let kinds: [fn(Layout) -> bool; 2] = [is_odd, is_single];
    let ran = |implementation: usize| {
        kinds.iter().all(|kind| {
            let mut alike = known.iter().filter(|other| kind(**other) == kind(layout)).peekable();
            let none = alike.peek().is_none();
            none || alike.any(|other| table.point(*other, bytes, implementation).is_some())
        })
    };
    let mut guesses = fitted.guesses(layout, bytes);
    guesses.retain(|guess| {
        let can = |implementation: &Implementation| runs_on(implementation, layout);
        table.implementations.get(guess.implementation).is_some_and(can) && ran(guess.implementation)
    });
    // Without the default there is nothing to be compared with.
    let has_default = guesses
        .iter()
        .any(|guess| Some(guess.implementation) == table.default());
    if has_default { guesses } else { Vec::new() }
}

/// True if nothing that is known of an implementation forbids the layout.
fn runs_on(implementation: &Implementation, layout: Layout) -> bool {
    let (ranks, one_node) = (layout.ranks(), layout.nodes == 1);
    match implementation {
        Implementation::Selected(Selection::Algorithm(id, _)) => {
            registry::find(id).is_none_or(|row| row.unmet(ranks, true, one_node).is_none())
        }
        Implementation::Selected(Selection::Plugin(plugin)) => {
            let needs = plugin.row.needs;
            (!needs.power_of_two_ranks || ranks.is_power_of_two())
                && (!needs.even_ranks || ranks.is_multiple_of(2))
                && (!needs.one_node || one_node)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_needs_an_even_number_of_ranks_is_no_candidate_for_others() {
        let exchange = Implementation::Selected(Selection::Algorithm(
            "allgather.neighbour_exchange".to_owned(),
            Vec::new(),
        ));
        let on = |nodes, per_node| runs_on(&exchange, Layout { nodes, per_node });
        assert!(on(8, 1) && on(9, 2) && !on(9, 3));
        assert!(runs_on(&Implementation::Default, Layout { nodes: 9, per_node: 3 }));
        let shared = Implementation::Selected(Selection::Algorithm("bcast.shared_memory".to_owned(), vec![16384]));
        assert!(
            runs_on(&shared, Layout { nodes: 1, per_node: 4 }) && !runs_on(&shared, Layout { nodes: 2, per_node: 4 })
        );
    }
}
