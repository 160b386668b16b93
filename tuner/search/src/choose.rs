//! Choice for one call behind a gate or another component: the simplest among the candidates that fix the cell and are as fast as the fastest of
//! them. Where none fixes it, a [partial fix](partial) may take their place. All calls together are decided by [`mod@crate::joint`]. Pure.

use kilter_model::change::Change;
use kilter_model::deployment::{Assignment, Selection};
use kilter_model::not_deployed::NotDeployed;
use kilter_model::report::{Contest, Contestant};
use kilter_stats::sample::Sample;
use kilter_stats::verdict::{self, Rule};

use crate::reasons::{Final, Finalist};
use crate::target::Target;

pub mod partial;

/// A candidate with its launch medians in seconds.
#[derive(Debug, Clone)]
pub struct Measured {
    /// `None` is the default: the library as it is launched.
    pub selection: Option<Selection>,
    /// One median per launch.
    pub medians: Sample,
}

/// The outcome of a contest.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The selection to deploy, a fix or a [partial fix](partial); `None` leaves the cell alone.
    pub chosen: Option<Selection>,
    /// Settings of whole launches that it was found under, and is not deployed without.
    pub needs: Vec<Assignment>,
    /// Why nothing fixes the cell, where it has bounds and none is met; a partial fix may be deployed all the same.
    pub unfixed_because: Option<String>,
    /// Something else decides which algorithm runs, so that none of the library's was credited.
    pub hidden: bool,
    /// The contest, for the report.
    pub contest: Contest,
}

/// The choice where no candidate fixes the cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Otherwise {
    /// None: the cell is left alone.
    Nothing,
    /// A [partial fix](partial), where there is one.
    PartialFix,
}

impl Choice {
    /// True if the chosen candidate meets the bounds.
    #[must_use]
    pub fn fixes(&self) -> bool {
        self.chosen.is_some() && self.unfixed_because.is_none()
    }

    /// True if the chosen candidate is a [partial fix](partial): the cell gets faster and stays unfixed.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.chosen.is_some() && self.unfixed_because.is_some()
    }

    /// Drops a partial fix, since something fixes the cell. A fix stays.
    pub fn drop_partial(&mut self) {
        if self.is_partial() {
            self.clear(&|one| NotDeployed::MissesBound {
                ratio: one.ratio_to_bound,
            });
        }
    }

    /// Chooses nothing, and says so of the contestant that was chosen.
    fn clear(&mut self, why: &dyn Fn(&Contestant) -> NotDeployed) {
        self.chosen = None;
        self.needs.clear();
        for one in self.contest.candidates.iter_mut().filter(|one| one.chosen) {
            one.chosen = false;
            one.not_deployed = Some(why(one));
        }
    }

    /// False for a default that holds after all, which needs no fix; without bounds, a contest was asked for.
    #[must_use]
    pub fn is_wanted(&self, target: &Target) -> bool {
        self.chosen.is_some() || self.unfixed_because.is_some() || target.bounds.is_empty()
    }
}

/// Chooses a fix. `bounds` are the launch medians of the right sides of the target, in the same launches.
///
/// A candidate fixes the target when its median is within the rule's floor of every bound. Among the fixing candidates those
/// statistically as good as the fastest compete by simplicity: default, then parameters (fewer first), then mock-ups, then
/// Kilter's algorithms, then a plugin's; ties go to the faster one.
#[must_use]
pub fn choose(target: &Target, candidates: &[Measured], bounds: &[Sample], rule: &Rule) -> Choice {
    choose_among(target, candidates, bounds, rule, &|_| None, Otherwise::Nothing)
}

/// [`choose`] among the candidates without an objection; the others are measured for comparison. Where none of them is a fix, `otherwise` says
/// what is chosen.
#[must_use]
pub fn choose_among(
    target: &Target,
    candidates: &[Measured],
    bounds: &[Sample],
    rule: &Rule,
    objection: &dyn Fn(&Selection) -> Option<NotDeployed>,
    otherwise: Otherwise,
) -> Choice {
    let against = |candidate: &Measured| candidate.selection.as_ref().and_then(objection);
    let tightest = tightest(bounds);
    let fixes = |candidate: &Measured| meets(&candidate.medians, tightest, rule);
    let admitted: Vec<&Measured> = candidates.iter().filter(|c| against(c).is_none()).collect();
    let fix = simplest_of_best(admitted.iter().copied().filter(|c| fixes(c)), rule);
    let fastest = candidates
        .iter()
        .min_by(|a, b| a.medians.median().total_cmp(&b.medians.median()));
    let unfixed_because = match (fix, tightest, fastest) {
        (None, Some(_), Some(fastest)) if fixes(fastest) => Some(format!(
            "`{}` would fix it, but {}",
            id(fastest),
            against(fastest).unwrap_or(NotDeployed::CannotBeDeployed)
        )),
        (None, Some(bound), Some(fastest)) => Some(format!(
            "the best of {} candidates, {}, still takes {:.2} times the bound",
            candidates.len(),
            id(fastest),
            fastest.medians.median() / bound
        )),
        (None, _, None) => Some("no candidate could be measured".to_owned()),
        // Without a bound a contest is for information: nothing is broken, nothing is changed.
        _ => None,
    };
    let default = candidates
        .iter()
        .find(|candidate| candidate.selection.is_none())
        .map(|c| c.medians.median());
    let all: Vec<Sample> = candidates.iter().map(|candidate| candidate.medians.clone()).collect();
    let among_best = verdict::equivalent_to_best(&all, rule);
    let partial = || match otherwise {
        Otherwise::PartialFix => partial::best(&admitted, rule),
        Otherwise::Nothing => None,
    };
    let deployed = fix.or_else(partial).filter(|_| tightest.is_some());
    let of_chosen = deployed.map(|chosen| (id(chosen), chosen.medians.median()));
    let held = Final {
        default,
        bound: tightest,
        chosen: of_chosen.as_ref().map(|(id, seconds)| (id.as_str(), *seconds)),
        rule,
    };
    let why_not = |candidate: &Measured, among_best: bool| {
        let is_chosen = deployed.is_some_and(|chosen| std::ptr::eq(chosen, candidate));
        let finalist = Finalist {
            seconds: candidate.medians.median(),
            as_good: among_best,
            fixes: fixes(candidate),
            objection: against(candidate),
        };
        held.why_not(finalist).filter(|_| !is_chosen)
    };
    let mut contestants: Vec<Contestant> = candidates
        .iter()
        .zip(among_best)
        .map(|(candidate, among_best)| {
            let seconds = candidate.medians.median();
            Contestant {
                id: id(candidate),
                kind: candidate.selection.as_ref().map(Selection::kind),
                seconds,
                ratio_to_default: default.map_or(1.0, |default| seconds / default),
                ratio_to_bound: tightest.map_or(0.0, |bound| seconds / bound),
                among_best,
                chosen: deployed.is_some_and(|chosen| std::ptr::eq(chosen, candidate)),
                predicted: None,
                change: change(target, candidate),
                not_deployed: why_not(candidate, among_best),
            }
        })
        .collect();
    contestants.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Choice {
        chosen: deployed.and_then(|candidate| candidate.selection.clone()),
        needs: Vec::new(),
        unfixed_because,
        hidden: false,
        contest: Contest {
            function: target.function.clone(),
            bytes: target.bytes(),
            candidates: contestants,
            proof: None,
            models: Vec::new(),
            left_out: Vec::new(),
            refused: Vec::new(),
            screened: Vec::new(),
        },
    }
}

/// Least median of the bounds, in seconds; `None` without any.
pub(crate) fn tightest(bounds: &[Sample]) -> Option<f64> {
    bounds.iter().map(Sample::median).min_by(f64::total_cmp)
}

/// True if the median is within the rule's floor of the bound, or there is none.
pub(crate) fn meets(medians: &Sample, bound: Option<f64>, rule: &Rule) -> bool {
    bound.is_none_or(|bound| !rule.is_relevant(medians.median(), bound))
}

/// The simplest of those that are statistically as good as the fastest, the faster of two that are as simple.
#[must_use]
pub fn simplest_of_best<'m>(candidates: impl IntoIterator<Item = &'m Measured>, rule: &Rule) -> Option<&'m Measured> {
    let candidates: Vec<&Measured> = candidates.into_iter().collect();
    let samples: Vec<Sample> = candidates.iter().map(|candidate| candidate.medians.clone()).collect();
    let equal = verdict::equivalent_to_best(&samples, rule);
    let of_best = candidates.into_iter().zip(equal).filter(|(_, equal)| *equal);
    of_best.map(|(candidate, _)| candidate).min_by(|a, b| {
        simplicity(a)
            .cmp(&simplicity(b))
            .then(a.medians.median().total_cmp(&b.medians.median()))
    })
}

fn id(candidate: &Measured) -> String {
    candidate
        .selection
        .as_ref()
        .map_or_else(|| "default".to_owned(), Selection::id)
}

/// The change that would deploy a candidate.
fn change(target: &Target, candidate: &Measured) -> Change {
    let cell = target.collective().map(|collective| (collective, target.bytes()));
    let selected = cell.zip(candidate.selection.clone());
    selected
        .map(|(cell, selection)| Change::of_cell(cell, selection))
        .unwrap_or_default()
}

/// Smaller is simpler to deploy.
fn simplicity(candidate: &Measured) -> (u8, usize) {
    match &candidate.selection {
        None => (0, 0),
        Some(Selection::Settings(settings)) => (1, settings.len()),
        Some(Selection::Mockup(..)) => (2, 0),
        // Fewer numbers that a reader has to understand.
        Some(Selection::Algorithm(_, values)) => (3, values.len()),
        // One more file to install.
        Some(Selection::Plugin(_)) => (4, 0),
    }
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;

    use super::*;

    fn measured(selection: Option<Selection>, microseconds: f64) -> Measured {
        let times = [0.995, 1.0, 1.005, 1.01, 0.99]
            .iter()
            .map(|factor| factor * microseconds * 1e-6)
            .collect();
        Measured {
            selection,
            medians: Sample::new(times).unwrap(),
        }
    }

    fn settings(count: usize) -> Option<Selection> {
        Some(Selection::Settings(
            (0..count).map(|i| (format!("s{i}"), "1".to_owned())).collect(),
        ))
    }

    fn algorithm() -> Option<Selection> {
        Some(Selection::Algorithm("scan.pipelined_chain".to_owned(), vec![16384]))
    }

    fn decide(candidates: &[Measured], bound_microseconds: Option<f64>) -> Choice {
        let target = Target::unbounded(Collective::Scan, 262_144);
        let bounds: Vec<Sample> = bound_microseconds
            .map(|us| measured(None, us).medians)
            .into_iter()
            .collect();
        let rule = Rule {
            alpha: 0.05,
            effect_floor: 0.05,
            noise_seconds: 1e-6,
            ..Rule::default()
        };
        choose(&target, candidates, &bounds, &rule)
    }

    #[test]
    fn the_simplest_among_equals_is_chosen() {
        let candidates = [
            measured(None, 9671.0),
            measured(settings(2), 5921.0),
            measured(settings(1), 6000.0),
            measured(algorithm(), 5800.0),
        ];
        assert_eq!(decide(&candidates, Some(8098.0)).chosen, settings(1));
    }

    #[test]
    fn among_equals_kilters_own_algorithm_is_simpler_than_a_plugins() {
        let plugin = Some(Selection::Plugin(kilter_model::deployment::PluginRow {
            file: "/p.so".into(),
            row: kilter_protocol::row::Row {
                id: "scan.mine".to_owned(),
                collective: Collective::Scan,
                needs: Default::default(),
                parameters: Vec::new(),
                scratch: None,
            },
            values: Vec::new(),
        }));
        let both = [
            measured(None, 9671.0),
            measured(plugin.clone(), 5800.0),
            measured(algorithm(), 5810.0),
        ];
        assert_eq!(decide(&both, Some(8098.0)).chosen, algorithm());
        assert_eq!(decide(&both[..2], Some(8098.0)).chosen, plugin);
    }

    #[test]
    fn among_equals_the_algorithm_with_fewer_parameters_is_simpler() {
        let row = |id: &str, values: &[u64]| Some(Selection::Algorithm(id.to_owned(), values.to_vec()));
        let (lanes, binomial) = (row("bcast.lanes", &[64, 0, 32768]), row("bcast.binomial", &[]));
        let candidates = [
            measured(None, 1950.0),
            measured(lanes, 1010.0),
            measured(binomial.clone(), 1015.0),
        ];
        assert_eq!(decide(&candidates, Some(1020.0)).chosen, binomial);
    }

    #[test]
    fn a_clearly_faster_algorithm_beats_a_simpler_parameter() {
        let candidates = [
            measured(None, 21618.0),
            measured(settings(1), 9900.0),
            measured(algorithm(), 5437.0),
        ];
        assert_eq!(decide(&candidates, Some(9919.0)).chosen, algorithm());
    }

    #[test]
    fn a_candidate_that_misses_the_bound_is_no_fix_and_the_reason_names_the_best() {
        let choice = decide(&[measured(None, 21618.0), measured(settings(1), 14564.0)], Some(9919.0));
        assert_eq!(choice.chosen, None);
        assert_eq!(
            choice.unfixed_because.as_deref(),
            Some("the best of 2 candidates, s0=1, still takes 1.47 times the bound")
        );
        assert!(!choice.fixes() && !choice.is_partial());
    }

    #[test]
    fn a_contest_without_a_bound_changes_nothing() {
        let choice = decide(&[measured(None, 528.0), measured(algorithm(), 264.0)], None);
        assert_eq!((choice.chosen, choice.unfixed_because), (None, None));
        assert_eq!(
            choice.contest.candidates[0].id,
            "scan.pipelined_chain segment_bytes=16384"
        );
        assert!((choice.contest.candidates[0].ratio_to_default - 0.5).abs() < 1e-9);
    }

    #[test]
    fn one_with_an_objection_is_passed_over_and_has_it_for_its_reason() {
        let apart = NotDeployed::SlowerApart {
            when: "when ranks arrive at random".to_owned(),
            ratio: 1.214,
            ratio_ci: (1.15, 1.3),
        };
        let objection = |one: &Selection| (Some(one) == algorithm().as_ref()).then(|| apart.clone());
        let target = Target::unbounded(Collective::Scan, 262_144);
        let choose = |candidates: &[Measured]| {
            let bounds = [measured(None, 9919.0).medians];
            choose_among(
                &target,
                candidates,
                &bounds,
                &Rule::default(),
                &objection,
                Otherwise::PartialFix,
            )
        };
        let both = [
            measured(None, 21618.0),
            measured(settings(1), 9900.0),
            measured(algorithm(), 5437.0),
        ];
        let choice = choose(&both);
        assert_eq!(choice.chosen, settings(1));
        assert_eq!(choice.contest.candidates[0].not_deployed, Some(apart.clone()));
        let alone = choose(&[both[0].clone(), both[2].clone()]);
        assert_eq!(alone.chosen, None);
        assert_eq!(
            alone.unfixed_because.unwrap(),
            "`scan.pipelined_chain segment_bytes=16384` would fix it, but is slower than the library's own when ranks arrive at random: \
             1.21 [1.15, 1.30]"
        );
    }

    #[test]
    fn a_default_that_holds_after_all_is_kept() {
        let choice = decide(&[measured(None, 100.0), measured(settings(1), 99.0)], Some(98.0));
        assert_eq!((choice.chosen, choice.unfixed_because), (None, None));
    }
}
