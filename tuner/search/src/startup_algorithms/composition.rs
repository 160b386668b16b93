//! Values of the variables that choose at the start, put together of choices for ranges of sizes.

use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::Collective;
use kilter_model::config::library::Library;
use kilter_model::deployment::Assignment;
use kilter_model::plan::Plan;
use kilter_model::ranged;

use super::{Picks, assignments};
use crate::context::LaunchSearch;
use crate::shared_launches::each_once;

/// Choices that stand, beside which further ones are deployed.
pub(super) struct Composition<'s> {
    library: &'s Library,
    plan: &'s Plan,
    ranks: usize,
    /// Choices of the variables in force, for the measured volumes.
    standing: Picks,
    /// Values that are not proposed.
    banned: &'s BTreeSet<Assignment>,
}

impl<'s> Composition<'s> {
    /// The error is of a value in force that cannot be read.
    pub(super) fn new(
        parts: LaunchSearch<'s, '_>,
        in_force: &[Assignment],
        banned: &'s BTreeSet<Assignment>,
    ) -> anyhow::Result<Composition<'s>> {
        let (library, plan, ranks) = (&parts.jobs.site.library, parts.plan, parts.jobs.site.options.ranks);
        let mut standing = Picks::new();
        for assignment in in_force {
            let collective = library.chosen_by(&assignment.name);
            let Some((row, _)) = collective.and_then(|one| library.chosen_at_start(one)) else {
                continue;
            };
            let volumes = plan.volumes_of(row.collective);
            let held = ranged::standing(row, ranks as u64, &volumes, &assignment.value)?;
            standing.extend(
                held.into_iter()
                    .map(|(volume, choice)| ((row.collective, volume), choice)),
            );
        }
        Ok(Composition {
            library,
            plan,
            ranks,
            standing,
            banned,
        })
    }

    /// For each collective, the value that makes `picks` hold and keeps the standing choices for its other volumes, with the settings that it needs.
    /// The first assignment of each is the variable that chooses.
    pub(super) fn of(&self, picks: &Picks) -> Vec<Vec<Assignment>> {
        let collectives: BTreeSet<Collective> = picks.keys().map(|(collective, _)| *collective).collect();
        let mut all = Vec::new();
        for (row, _) in collectives
            .into_iter()
            .filter_map(|one| self.library.chosen_at_start(one))
        {
            let of_row = |picks: &Picks| -> BTreeMap<u64, u64> {
                let own = picks
                    .iter()
                    .filter(|((collective, _), _)| *collective == row.collective);
                own.map(|((_, volume), choice)| (*volume, *choice)).collect()
            };
            let mut together = of_row(&self.standing);
            together.extend(of_row(picks));
            if row.at_start.is_some_and(|at_start| at_start.unit.is_none()) {
                // One for all sizes: what is chosen now replaces what stood.
                together = of_row(picks);
            }
            let chosen: Vec<(u64, u64)> = together.into_iter().collect();
            let volumes = self.plan.volumes_of(row.collective);
            let value = ranged::compose(row, self.ranks as u64, &volumes, &chosen);
            all.extend(value.map(|value| assignments(row, value)));
        }
        all.retain(|own: &Vec<Assignment>| own.first().is_some_and(|first| !self.banned.contains(first)));
        all
    }

    /// The same for a launch, whose settings are each set once.
    pub(super) fn in_launch(&self, picks: &Picks) -> Vec<Assignment> {
        each_once(self.of(picks).into_iter().flatten())
    }
}
