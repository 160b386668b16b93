//! A second look, with more launches, at targets that the first one leaves open.
//!
//! The first look has few launches and decides the cells that are far from their bounds. A cell within its bound, but by less than the
//! launches vary, is worth as many launches as the rule's test needs to decide among so many cells. Two looks have their price, as in the
//! sequential design of guidelines ([`kilter_stats::verdict::sequential`]): alpha, and with enough launches the error of the interval's
//! bound, are spent over the looks in proportion to the launches. Decided cells stay decided.

use kilter_model::config::target::Target;
use kilter_model::survey::Survey;
use kilter_stats::verdict::Rule;

use super::{Judgement, Standing, Verdict, judge_all, judge_look};

/// Launches of the first look.
pub const FIRST_LAUNCHES: usize = 3;

/// Most launches of the second look.
pub const MOST_LAUNCHES: usize = 12;

/// Judged launches.
#[derive(Debug, Clone, Default)]
pub struct Launches {
    /// Launches of the untouched library.
    pub base: Vec<Survey>,
    /// Launches of the judged state; `None` if they are the same.
    pub now: Option<Vec<Survey>>,
}

impl Launches {
    fn now(&self) -> &[Survey] {
        self.now.as_ref().unwrap_or(&self.base)
    }
}

/// Judges the first launches. Measures and judges more of them if `affords` admits their number and `is_worth_more`
/// says so of the judgements. `affords` is asked first, because a look that is certainly the last spends all of alpha.
/// `measure` adds the launch of a number; its errors are returned.
pub fn judge_in_looks<E>(
    (targets, rule): (&[Target], &Rule),
    launches: &mut Launches,
    affords: impl FnOnce(usize) -> bool,
    is_worth_more: impl FnOnce(&[Judgement]) -> bool,
    mut measure: impl FnMut(&mut Launches, usize) -> Result<(), E>,
) -> Result<Vec<Judgement>, E> {
    let first = launches.base.len();
    let tests = tests(&judge_all(targets, &launches.base, launches.now(), rule));
    let total = launches_to_decide(rule, first, tests).filter(|total| affords(total - first));
    let share = total.map_or(1.0, |total| first as f64 / total as f64);
    let judged = judge_look(targets, (&launches.base, launches.now()), rule, share);
    let Some(total) = total.filter(|_| is_worth_more(&judged)) else {
        return Ok(judged);
    };
    for launch in first..total {
        measure(launches, launch)?;
    }
    let last = judge_look(targets, (&launches.base, launches.now()), rule, 1.0 - share);
    Ok(settled(judged, last))
}

/// True if some target is kept from holding only by cells within its bound that the launches do not decide.
#[must_use]
pub fn is_nearly_met(judgements: &[Judgement]) -> bool {
    judgements.iter().any(|judgement| {
        let mut open = judgement.cells.iter().filter(|cell| cell.verdict == Verdict::Undecided);
        judgement.standing() == Standing::Undecided
            && judgement.unmeasured == 0
            && judgement.not_attainable_because().is_none()
            && open.all(|cell| cell.seconds <= cell.allowed_seconds)
    })
}

/// Cells that count as tests.
fn tests(judgements: &[Judgement]) -> usize {
    let cells = judgements.iter().flat_map(|judgement| &judgement.cells);
    cells.filter(|cell| cell.verdict != Verdict::Masked).count()
}

/// Number of launches, at least twice that of the first look, with which the rule's test can decide among so many cells
/// by the share of alpha that the first look leaves. `None` if it is too large.
fn launches_to_decide(rule: &Rule, first: usize, tests: usize) -> Option<usize> {
    let can = |total: &usize| {
        let share = 1.0 - first as f64 / *total as f64;
        rule.test.unpaired().smallest_p(*total) * tests as f64 <= rule.alpha * share
    };
    (2 * first.max(1)..=MOST_LAUNCHES).find(can)
}

/// Judgements of the last look, or of the first for what it decided.
fn settled(first: Vec<Judgement>, last: Vec<Judgement>) -> Vec<Judgement> {
    let mut settled = last;
    for (settled, first) in settled.iter_mut().zip(first) {
        for cell in &mut settled.cells {
            let place = |other: &super::Judged| (other.bytes, other.computation_ns, other.threads);
            let Some(before) = first.cells.iter().find(|before| place(before) == place(cell)) else {
                continue;
            };
            match before.verdict {
                Verdict::Holds | Verdict::Missed => *cell = before.clone(),
                // The smaller one is a p-value of both looks.
                Verdict::Undecided => cell.p_adjusted = cell.p_adjusted.min(before.p_adjusted),
                Verdict::Masked => {}
            }
        }
    }
    settled
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use kilter_fixtures::survey as fixture;
    use kilter_model::config::target;
    use kilter_protocol::overlap::Benchmark;

    use super::*;

    fn sender() -> Target {
        let all = target::load_embedded().unwrap();
        all.into_iter().find(|target| target.id == "OV_SENDER").unwrap()
    }

    /// A launch in which every cell has this ratio, known to 20 % of the shorter time.
    fn launch(ratio: f64) -> Survey {
        let mut map = fixture::map(Benchmark::Sender, |_, _| ratio);
        for cell in &mut map.cells {
            let half = 0.2 * cell.communication_seconds.min(cell.computation_seconds);
            cell.overlapped_interval_seconds = [cell.overlapped_seconds - half, cell.overlapped_seconds + half];
        }
        fixture::survey(vec![map])
    }

    /// Judges launches of these ratios. Further ones are made on request; the number of measured ones is returned.
    fn judged(ratios: &[f64], affords: bool) -> (Vec<Judgement>, usize) {
        let mut launches = Launches {
            base: ratios[..FIRST_LAUNCHES].iter().copied().map(launch).collect(),
            now: None,
        };
        let judged = judge_in_looks(
            (&[sender()], &Rule::default()),
            &mut launches,
            |_| affords,
            is_nearly_met,
            |launches, number| {
                launches.base.push(launch(ratios[number % ratios.len()]));
                Ok::<(), Infallible>(())
            },
        );
        let Ok(judged) = judged;
        (judged, launches.base.len())
    }

    #[test]
    fn what_is_nearly_met_is_looked_at_again_and_holds() {
        let ratios = [0.18, 0.19, 0.17, 0.18, 0.17, 0.19];
        let (first, measured) = judged(&ratios, false);
        assert_eq!((first[0].standing(), measured), (Standing::Undecided, FIRST_LAUNCHES));
        let (both, measured) = judged(&ratios, true);
        assert_eq!(both[0].standing(), Standing::Holds, "{measured} launches");
        // 55 cells: 1 / C(14, 7) * 55 is within the share of alpha that is left.
        assert_eq!((measured, both[0].launches), (7, [7, 7]));
    }

    #[test]
    fn what_is_decided_or_beyond_its_bound_is_not_looked_at_again() {
        for (ratio, standing) in [
            (0.0, Standing::Holds),
            (1.0, Standing::Missed),
            (0.27, Standing::Undecided),
        ] {
            let (found, measured) = judged(&[ratio; 3], true);
            assert_eq!((found[0].standing(), measured), (standing, FIRST_LAUNCHES), "{ratio}");
        }
    }

    #[test]
    fn what_the_first_look_decided_stays() {
        let judge = |launches: &[Survey], share| judge_look(&[sender()], (launches, launches), &Rule::default(), share);
        let exact: Vec<Survey> = (0..3)
            .map(|_| fixture::survey(vec![fixture::map(Benchmark::Sender, |_, _| 0.0)]))
            .collect();
        let first = judge(&exact, 0.5);
        assert_eq!(first[0].standing(), Standing::Holds);
        let worse: Vec<Survey> = (0..7).map(|_| launch(1.0)).collect();
        let last = judge(&worse, 0.5);
        assert_eq!(last[0].standing(), Standing::Missed);
        assert_eq!(settled(first, last)[0].standing(), Standing::Holds);
    }

    #[test]
    fn as_many_launches_as_the_test_needs() {
        let rule = Rule::default();
        assert_eq!(launches_to_decide(&rule, 3, 1), Some(6));
        assert_eq!(launches_to_decide(&rule, 3, 72), Some(7));
        assert_eq!(launches_to_decide(&rule, 3, 10_000_000), None);
        // The rest of alpha must suffice.
        let total = launches_to_decide(&rule, 3, 72).unwrap();
        assert!(rule.test.unpaired().smallest_p(total - 1) * 72.0 > rule.alpha * (1.0 - 3.0 / (total - 1) as f64));
    }
}
