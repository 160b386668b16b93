//! Confirmation of choices: as the values that would be deployed, in launches in turn with the library's own choice.

use kilter_algorithms::Collective;
use kilter_model::config::library::Algorithms;
use kilter_model::deployment::{Assignment, Selection};
use kilter_stats::sample::Sample;

use super::composition::Composition;
use super::{Picks, chosen_targets};
use crate::choose::{Held, Measured};
use crate::findings::{Evidence, Findings};
use crate::joint::{self, Table};
use crate::shared_launches::each_once;
use crate::target::Target;
use crate::trials::{Samples, Trials, damaged};

/// Times of the finalists and of the library's own choice.
pub(super) struct Confirmed {
    /// The choices of each configuration but the first.
    places: Vec<Picks>,
    /// Settings of the launches; the first are none.
    configurations: Vec<Vec<Assignment>>,
    /// Times under each configuration.
    samples: Vec<Samples>,
}

impl Confirmed {
    pub(super) fn measure(
        launches: &mut Trials<'_, '_>,
        composition: &Composition<'_>,
        places: Vec<Picks>,
    ) -> anyhow::Result<Confirmed> {
        let mut configurations = vec![Vec::new()];
        configurations.extend(places.iter().map(|picks| composition.in_launch(picks)));
        let samples = launches.in_turn("confirm algorithms that are chosen at the start", &configurations)?;
        Ok(Confirmed {
            places,
            configurations,
            samples,
        })
    }

    /// Chooses for each target, and enters what competed.
    pub(super) fn choose(&self, launches: &Trials<'_, '_>, findings: &mut Findings) -> Picks {
        let parts = launches.parts;
        let rule = parts.jobs.site.rule(parts.facts.noise_seconds());
        let library = &parts.jobs.site.library;
        let mut chosen = Picks::new();
        for target in launches.targets {
            let Some((row, _)) = target.collective().and_then(|one| library.chosen_at_start(one)) else {
                continue;
            };
            let column = Held {
                target: target.clone(),
                candidates: self.candidates(target, row),
                apart: Vec::new(),
            };
            let Some(call) = Table::call(column, &rule) else {
                continue;
            };
            let bounds = target.bounds.iter().filter_map(|bound| self.samples[0].get(bound));
            let bound = bounds.map(Sample::median).min_by(f64::total_cmp);
            let way = call.meeting(bound.unwrap_or(f64::INFINITY), rule.effect_floor);
            let number = way.and_then(|way| number(call.ways[way].selection.as_ref()?));
            if let Some(number) = number {
                chosen.insert((row.collective, target.bytes()), number);
            }
            let told = joint::contest(&call, way.unwrap_or(0), bound, rule.effect_floor, true);
            let competitors = told.contest.candidates.into_iter().filter(|one| one.kind.is_some());
            let evidence = Evidence {
                launch_wide: competitors.collect(),
                ..Evidence::default()
            };
            findings.evidence.insert(target.name(), evidence);
        }
        chosen
    }

    /// The library's own choice for a target, and those of configurations that make another one and slow nothing of the collective.
    fn candidates(&self, target: &Target, row: &Algorithms) -> Vec<Measured> {
        let sample = |times: &Samples| times.get(&target.left).cloned();
        let mut candidates: Vec<Measured> = sample(&self.samples[0])
            .map(|medians| Measured {
                selection: None,
                medians,
            })
            .into_iter()
            .collect();
        let configurations = self.configurations[1..].iter().zip(&self.samples[1..]);
        for (picks, (configuration, times)) in self.places.iter().zip(configurations) {
            let collective = row.collective;
            let (Some(choice), Some(medians)) = (picks.get(&(collective, target.bytes())), sample(times)) else {
                continue;
            };
            let in_force = configuration.iter().any(|assignment| assignment.name == row.parameter);
            let slows = damaged(&self.samples[0], times).any(|subject| subject.collective() == Some(collective));
            if in_force && !slows {
                candidates.push(Measured {
                    selection: Some(selection(row, *choice)),
                    medians,
                });
            }
        }
        candidates
    }

    /// The values that make the choices hold, one for each collective. Values of which no configuration had all are confirmed once more, and those
    /// that keep their promise are accepted.
    pub(super) fn accept(
        &self,
        launches: &mut Trials<'_, '_>,
        composition: &Composition<'_>,
        chosen: &Picks,
    ) -> anyhow::Result<Vec<Vec<Assignment>>> {
        let mut accepted = composition.of(chosen);
        let all = each_once(accepted.iter().flatten().cloned());
        let is_measured = self.configurations.iter().skip(1).any(|one| *one == all);
        if !is_measured && !all.is_empty() {
            // The values combine choices of several configurations, and were not measured together at any size.
            let samples = launches.in_turn(
                "confirm combinations of algorithms that are chosen at the start",
                &[Vec::new(), all],
            )?;
            let library = &launches.parts.jobs.site.library;
            accepted.retain(|own| {
                let collective = own.first().and_then(|first| library.chosen_by(&first.name));
                keeps_its_promise(collective, launches.targets, chosen, &samples)
            });
        }
        Ok(accepted)
    }
}

/// True if a collective's value makes its targets faster and slows nothing of the collective. The second samples come from launches with it, in
/// turn with the launches without it of the first.
pub(super) fn keeps_its_promise(
    collective: Option<Collective>,
    targets: &[Target],
    chosen: &Picks,
    samples: &[Samples],
) -> bool {
    let [without, with] = samples else { return false };
    let is_faster = |target: &Target| {
        let pair = without.get(&target.left).zip(with.get(&target.left));
        pair.is_some_and(|(before, after)| after.median() < before.median())
    };
    let slows = damaged(without, with).any(|subject| subject.collective() == collective);
    chosen_targets(targets, chosen, collective).all(is_faster) && !slows
}

fn selection(row: &Algorithms, choice: u64) -> Selection {
    Selection::Settings(vec![(row.parameter.clone(), choice.to_string())])
}

fn number(selection: &Selection) -> Option<u64> {
    match selection {
        Selection::Settings(settings) => settings.first()?.1.parse().ok(),
        Selection::Mockup(..) | Selection::Algorithm(..) | Selection::Plugin(_) => None,
    }
}
