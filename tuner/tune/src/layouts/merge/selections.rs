//! Choices for sizes, merged: those of the drop-in layout by layout, algorithms of the library by the layouts on which its files act alike.

use std::collections::{BTreeMap, BTreeSet};

use kilter_emit::decisions::Selections;
use kilter_emit::fence::Fence;
use kilter_model::change::Cell;
use kilter_model::config::library::Library;
use kilter_model::deployment::Selection;
use kilter_model::layout::Layout;

use super::{Chosen, LeftOut, Merged, list, name_at, values};

/// Takes what each layout chose, and of the library's own algorithms what does not contradict another layout.
pub(super) fn selections(merged: &mut Merged, chosen: &[Chosen<'_>], library: &Library) {
    let numbers: BTreeSet<usize> = chosen.iter().map(|one| one.layout.ranks()).collect();
    for ranks in numbers {
        let with: Vec<&Chosen<'_>> = chosen.iter().filter(|one| one.layout.ranks() == ranks).collect();
        let mut taken: BTreeMap<Layout, Selections> = with.iter().map(|one| (one.layout, Selections::new())).collect();
        let keys: BTreeSet<_> = with
            .iter()
            .flat_map(|one| one.deployment.selections.keys().copied())
            .collect();
        for key in keys {
            let of = |one: &&Chosen<'_>| (one.layout, one.deployment.selections.get(&key).cloned());
            let (own, mut of_library): (Vec<_>, Vec<_>) = with
                .iter()
                .map(of)
                .partition(|(_, selection)| selection.as_ref().is_some_and(|one| !is_of_library(one)));
            let mut take = |layout: &Layout, selection: &Selection| {
                if let Some(taken) = taken.get_mut(layout) {
                    taken.insert(key, selection.clone());
                }
            };
            for (layout, selection) in &own {
                selection.iter().for_each(|selection| take(layout, selection));
            }
            // The file that tells the fewest layouts apart decides for all.
            let fences = of_library
                .iter()
                .filter_map(|(_, selection)| fence(library, key, selection.as_ref()?));
            let Some(fence) = fences.min() else { continue };
            while let Some((layout, _)) = of_library.first() {
                let layout = *layout;
                let (joined, others) = of_library
                    .into_iter()
                    .partition(|(other, _)| fence.joins(*other, layout));
                of_library = others;
                let joined: Vec<(Layout, Option<Selection>)> = joined;
                match values(joined.into_iter()).as_slice() {
                    [(selection, layouts)] => layouts.iter().for_each(|layout| {
                        selection.iter().for_each(|selection| take(layout, selection));
                    }),
                    values => leave_out(
                        merged,
                        values,
                        |selection| name_at(key, selection),
                        &fence.words(layout),
                    ),
                }
            }
        }
        merged.selections.extend(taken);
    }
}

/// True for an algorithm that the library's own files choose.
fn is_of_library(selection: &Selection) -> bool {
    selection.implementation().is_none()
}

/// The fence of an algorithm that the library's own files choose.
pub(super) fn fence(library: &Library, (collective, _): Cell, selection: &Selection) -> Option<Fence> {
    match selection {
        Selection::Settings(settings) => Some(Fence::of(library, collective, settings)),
        _ => None,
    }
}

/// Notes the values on which layouts within one fence, `where_it_acts` in words, do not agree; nothing if none of them chose any.
fn leave_out<T>(
    merged: &mut Merged,
    values: &[(Option<T>, Vec<Layout>)],
    name: impl Fn(&T) -> String,
    where_it_acts: &str,
) {
    let silent = values.iter().find(|(value, _)| value.is_none());
    let silent = silent.map(|(_, layouts)| list(layouts));
    for (value, layouts) in values {
        let Some(value) = value else { continue };
        let because = match &silent {
            Some(silent) => format!("the choice acts on {where_it_acts}, and {silent} did not make it"),
            None => format!("the choice acts on {where_it_acts}, and they chose differently"),
        };
        merged.left_out.push(LeftOut {
            what: name(value),
            chosen_by: layouts.clone(),
            because,
        });
    }
}
