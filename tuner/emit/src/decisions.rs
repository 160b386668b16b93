//! Decisions as they are written: settings of every launch, and selections by the communicators for which they hold. One deployment has
//! selections for one number of ranks or one layout; layouts that were tuned together have a part each.
//!
//! The drop-in's profile says all of a part's [`Communicators`]. The library's own files tell fewer apart ([`crate::fence`]): who puts parts together
//! sees to it that those within one fence do not contradict each other. Of parts that do meet, the first one holds, in every file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kilter_algorithms::Collective;
use kilter_model::deployment::{Assignment, Deployment, PROGRESS_VARIABLE, Selection};
use kilter_model::layout::Layout;
use kilter_model::plan::Plan;
use kilter_model::report::FixKind;
use kilter_profile::Communicators;
use kilter_render::format;
use kilter_search::context::{Facts, Site};

/// Selections by collective and measured volume in bytes.
pub type Selections = BTreeMap<(Collective, u64), Selection>;

/// The volumes at which collectives were measured.
pub type Volumes = BTreeMap<Collective, BTreeSet<u64>>;

/// The decisions to write.
#[derive(Debug, Clone)]
pub struct Decisions<'a> {
    /// Settings of every launch.
    pub assignments: &'a [Assignment],
    /// Selections, a part for each kind of communicators.
    pub parts: Vec<Part<'a>>,
    /// The layouts that were tuned; none where a number of ranks was.
    pub layouts: Vec<Layout>,
    /// Transports in use in any of them.
    pub transports: Vec<String>,
    /// Decisions for some of the layouts that are not among all this, a line each.
    pub left_out: Vec<String>,
    /// Rows that nobody decided on: jobs try them with `KILTER_ONLINE`.
    pub tried: Vec<&'a Selection>,
}

/// Decisions for some communicators.
#[derive(Debug, Clone)]
pub struct Part<'a> {
    /// The communicators.
    pub communicators: Communicators,
    /// Ranks of the one that was measured; of a range of sizes, those of the largest one.
    pub ranks: usize,
    /// The decisions.
    pub selections: &'a Selections,
    /// The measured volumes: a decision holds around its own volume.
    pub volumes: &'a Volumes,
}

impl<'a> Decisions<'a> {
    /// Decisions of one run.
    #[must_use]
    pub fn of(site: &'a Site<'_>, plan: &'a Plan, facts: &'a Facts, deployment: &'a Deployment) -> Decisions<'a> {
        Decisions {
            assignments: &deployment.assignments,
            parts: vec![Part {
                communicators: communicators(site.options.layout, site.options.ranks),
                ranks: site.options.ranks,
                selections: &deployment.selections,
                volumes: &plan.volumes,
            }],
            layouts: site.options.layout.into_iter().collect(),
            transports: facts.transports(),
            left_out: Vec::new(),
            tried: Vec::new(),
        }
    }

    /// The same with rows that jobs try.
    #[must_use]
    pub fn trying(self, tried: impl IntoIterator<Item = &'a Selection>) -> Decisions<'a> {
        Decisions {
            tried: tried.into_iter().collect(),
            ..self
        }
    }

    /// Names and values of the settings of every launch.
    #[must_use]
    pub fn pairs(&self) -> Vec<(String, String)> {
        let all = self.assignments.iter();
        all.map(|one| (one.name.clone(), one.value.clone())).collect()
    }

    /// Every selection, with its part.
    pub fn selections(&self) -> impl Iterator<Item = (&Part<'a>, Collective, u64, &'a Selection)> {
        self.parts.iter().flat_map(|part| {
            let selections = part.selections.iter();
            selections.map(move |((collective, bytes), selection)| (part, *collective, *bytes, selection))
        })
    }

    /// True if anything needs the drop-in.
    #[must_use]
    pub fn needs_dropin(&self) -> bool {
        self.all().any(|selection| selection.kind() != FixKind::Parameter)
    }

    /// Every selection, and every row that jobs try.
    fn all(&self) -> impl Iterator<Item = &'a Selection> {
        let chosen = self.selections().map(|(_, _, _, selection)| selection);
        chosen.chain(self.tried.iter().copied())
    }

    /// The files of plugins of the user of which rows are deployed or tried, each once.
    #[must_use]
    pub fn plugins(&self) -> BTreeSet<&'a Path> {
        self.all()
            .filter_map(|selection| match selection {
                Selection::Plugin(row) => Some(row.file.as_path()),
                _ => None,
            })
            .collect()
    }

    /// True if anything needs the progress thread.
    #[must_use]
    pub fn needs_progress(&self) -> bool {
        self.assignments.iter().any(|one| one.name == PROGRESS_VARIABLE)
    }

    /// The numbers of ranks in words: `2 ranks`, `2 or 16 ranks`.
    #[must_use]
    pub fn ranks(&self) -> String {
        let ranks: BTreeSet<usize> = self.parts.iter().map(|part| part.ranks).collect();
        in_words(&Vec::from_iter(ranks))
    }
}

/// The communicators for which holds what was tuned in a layout, or else with a number of ranks, whose nodes nobody stated.
#[must_use]
pub fn communicators(layout: Option<Layout>, ranks: usize) -> Communicators {
    match layout {
        Some(layout) => Communicators::of_layout(layout.nodes, layout.per_node),
        None => Communicators::of_ranks(ranks),
    }
}

/// `2 ranks`, `2 or 16 ranks`, `2, 4 or 16 ranks`.
#[must_use]
pub fn in_words(ranks: &[usize]) -> String {
    match ranks {
        [] => "any ranks".to_owned(),
        [one] => format::count(*one, "rank"),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(ToString::to_string).collect();
            format!("{} or {last} ranks", first.join(", "))
        }
    }
}

impl Part<'_> {
    /// The sizes of its communicators, from the first to the last of each range: what a table by the number of ranks can say.
    #[must_use]
    pub fn sizes(&self) -> Vec<(u64, u64)> {
        // No library has more ranks.
        let number = |ranks: usize| (ranks as u64).min(i32::MAX as u64);
        let sizes = self.communicators.sizes().into_iter();
        sizes.map(|(first, last)| (number(first), number(last))).collect()
    }

    /// Smallest and largest average of ranks on a node of its communicators, rounded up; `u64::MAX` for no end.
    #[must_use]
    pub fn per_node(&self) -> (u64, u64) {
        let bounds = &self.communicators.ranks_per_node;
        (bounds.low() as u64, bounds.high() as u64)
    }

    /// The largest volume at which something takes a collective's place.
    #[must_use]
    pub fn largest_replaced(&self, collective: Collective) -> Option<u64> {
        let mut from_largest = self.selections.iter().rev();
        let largest =
            from_largest.find(|((other, _), selection)| *other == collective && selection.implementation().is_some());
        largest.map(|((_, bytes), _)| *bytes)
    }

    /// The volumes at which a collective was measured.
    #[must_use]
    pub fn volumes_of(&self, collective: Collective) -> Vec<u64> {
        self.volumes.get(&collective).into_iter().flatten().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_ranks_in_words() {
        for (ranks, words) in [
            (&[2][..], "2 ranks"),
            (&[2, 16], "2 or 16 ranks"),
            (&[2, 4, 8], "2, 4 or 8 ranks"),
        ] {
            assert_eq!(in_words(ranks), words);
        }
    }
}
