use super::*;
use crate::sample::Sample;
use crate::verdict::{Pair, judge_families};

/// Times around `center`, 1 % apart in all, in an order that hides nothing.
fn around(center: f64, launches: usize) -> Sample {
    in_order(center, launches, 7)
}

/// Values in an order given by `step`, so that the launches of two sides have nothing in common.
fn in_order(center: f64, launches: usize, step: usize) -> Sample {
    let values = (0..launches).map(|i| center * (0.995 + 0.01 * ((i * step % 20) as f64) / 20.0));
    Sample::new(values.collect()).unwrap()
}

fn pairs(ratios: &[f64], launches: usize) -> Vec<Family> {
    let pair = |ratio: &f64| Pair {
        left: around(*ratio, launches),
        right: in_order(1.0, launches, 13),
    };
    vec![Family::Independent(ratios.iter().map(pair).collect())]
}

fn verdicts(judged: &[Vec<Judged>]) -> Vec<Outcome> {
    judged
        .iter()
        .flatten()
        .map(|judged| judged.comparison.verdict)
        .collect()
}

#[test]
fn one_last_look_is_the_fixed_design() {
    let families = pairs(&[1.0, 1.2, 2.0, 0.5], 10);
    let fixed = judge_families(&families, &Rule::default());
    let mut design = Sequential::new(Rule::default(), 20);
    let looked = design.look(&families, true);
    for (a, b) in fixed.iter().flatten().zip(looked.iter().flatten()) {
        assert_eq!(a.comparison, b.comparison);
    }
}

#[test]
fn p_values_pay_for_the_looks() {
    let mut design = Sequential::new(Rule::default(), 20);
    let first = design.look(&pairs(&[1.2], 5), false);
    // A quarter of the launches, a quarter of alpha: 2/252 becomes 8/252.
    approx::assert_relative_eq!(first[0][0].comparison.p_adjusted, 8.0 / 252.0, max_relative = 1e-12);
    assert_eq!(first[0][0].comparison.verdict, Outcome::Violated);
}

#[test]
fn a_look_that_cannot_decide_spends_nothing() {
    // Thirteen hypotheses need more than five launches: the second look gets the shares of both.
    let ratios = [1.2; 13];
    let mut design = Sequential::new(Rule::default(), 20);
    let first = design.look(&pairs(&ratios, 5), false);
    assert!(verdicts(&first).iter().all(|verdict| *verdict == Outcome::Undecided));
    assert_eq!(first[0][0].comparison.p_adjusted, 1.0);
    let second = design.look(&pairs(&ratios, 10), false);
    approx::assert_relative_eq!(
        second[0][0].comparison.p_adjusted,
        13.0 * 2.0 * 2.0 / 184_756.0,
        max_relative = 1e-9
    );
}

#[test]
fn error_that_the_ranks_of_a_look_do_not_reach_is_left_to_the_next_ones() {
    let mut design = Sequential::new(Rule::default(), 20);
    let spent = |design: &Sequential| design.cells[0][0].bound_error;
    design.look(&pairs(&[1.049], 5), false);
    // 1.25 % are allowed. Five launches on each side have 2/252, and then 4/252.
    approx::assert_relative_eq!(spent(&design), 2.0 / 252.0, max_relative = 1e-9);
    design.look(&pairs(&[1.049], 10), false);
    // 2.5 % less that, of which the signs of ten launches get nine tenths: they have 14/1024, and then 19/1024. Rank sums have many levels.
    let left = 0.025 - 2.0 / 252.0;
    let of_rank_sums = spent(&design) - 2.0 / 252.0 - 14.0 / 1024.0;
    assert!(
        0.08 * left < of_rank_sums && of_rank_sums <= 0.1 * left,
        "{of_rank_sums}"
    );
    design.look(&pairs(&[1.049], 15), false);
    let before = spent(&design);
    assert!(0.033 < before && before <= 0.0375, "{before}");
    design.look(&pairs(&[1.049], 20), true);
    assert!(
        before < spent(&design) && spent(&design) <= 0.05 + 1e-12,
        "{}",
        spent(&design)
    );
    assert_eq!(design.wanted().len(), 1, "it was open all the time");
}

#[test]
fn decided_cells_stay_decided_and_in_the_family() {
    let mut design = Sequential::new(Rule::default(), 20);
    let ratios = [1.5, 1.049, 0.8];
    design.look(&pairs(&ratios, 5), false);
    let second = design.look(&pairs(&ratios, 10), false);
    assert_eq!(
        verdicts(&second),
        [Outcome::Violated, Outcome::Undecided, Outcome::Holds]
    );
    assert_eq!(design.wanted(), [CellIndex { family: 0, cell: 1 }]);
    // Later launches show the opposite: the verdicts and their evidence stay.
    let third = design.look(&pairs(&[0.5, 1.049, 2.0], 15), false);
    assert_eq!((&third[0][0], &third[0][2]), (&second[0][0], &second[0][2]));
    // Holm still counts all three.
    assert!(third[0][1].comparison.p_adjusted >= 2.0 * third[0][1].comparison.p.min(0.5));
}

#[test]
fn nothing_is_spent_twice_on_the_same_launches() {
    let mut design = Sequential::new(Rule::default(), 20);
    let families = pairs(&[1.049], 10);
    let first = design.look(&families, false);
    assert_eq!(design.look(&families, false), first);
    assert_eq!(
        design.look(&families, true)[0][0].comparison.p_adjusted,
        first[0][0].comparison.p_adjusted
    );
}

#[test]
fn looks_are_planned_within_the_seconds() {
    let mut design = Sequential::new(Rule::default(), 20);
    let look = |launches, last| Some(NextLook { launches, last });
    assert_eq!(design.next_launches(1.0, 100.0), look(5, false));
    assert_eq!(design.next_launches(1.0, 3.5), look(3, true));
    assert_eq!(design.next_launches(1.0, 0.5), None);
    design.look(&pairs(&[1.049, 2.0], 5), false);
    assert_eq!(design.next_launches(1.0, 100.0), look(10, false));
    assert_eq!(design.next_launches(1.0, 5.0), look(10, true));
    design.look(&pairs(&[1.049, 2.0], 15), false);
    assert_eq!(design.next_launches(0.0, 0.0), look(20, true));
    design.look(&pairs(&[1.049, 2.0], 20), true);
    assert_eq!(design.next_launches(1.0, 100.0), None);
    let mut decided = Sequential::new(Rule::default(), 20);
    decided.look(&pairs(&[0.5], 5), false);
    assert!(decided.wanted().is_empty());
    assert_eq!(decided.next_launches(1.0, 100.0), None);
}

#[test]
fn monotony_takes_part() {
    let sizes = |launches| {
        let centers = [(1_u64, 1.5), (2, 1.0), (4, 1.0), (8, 2.0)];
        vec![Family::Monotony(
            centers
                .iter()
                .map(|&(bytes, center)| (bytes, around(center, launches)))
                .collect(),
        )]
    };
    let mut design = Sequential::new(Rule::default(), 20);
    design.look(&sizes(5), false);
    let judged = design.look(&sizes(10), false);
    assert_eq!(verdicts(&judged), [Outcome::Violated, Outcome::Holds, Outcome::Holds]);
    assert_eq!(judged[0][0].sizes.as_ref().unwrap().right_bytes, 2);
}

#[test]
fn a_size_that_fails_between_looks_is_no_accident() {
    let sizes = |count: u64, launches| {
        Family::Monotony(
            (0..count)
                .map(|size| (1 << size, around(1.0 + 0.049 * size as f64, launches)))
                .collect(),
        )
    };
    let pairs = |launches| pairs(&[1.2], launches).remove(0);
    for (before, after) in [(4, 3), (3, 2), (2, 4), (4, 0)] {
        let mut design = Sequential::new(Rule::default(), 20);
        design.look(&[sizes(before, 5), pairs(5)], false);
        let judged = design.look(&[sizes(after, 10), pairs(10)], false);
        assert_eq!(judged[0].len() as u64, after.saturating_sub(1));
        assert_eq!(judged[1][0].comparison.verdict, Outcome::Violated);
    }
}

#[test]
fn a_reopened_cell_is_wanted_and_keeps_what_it_spent() {
    let mut design = Sequential::new(Rule::default(), 20);
    let at = CellIndex { family: 0, cell: 0 };
    assert_eq!(
        design.look(&pairs(&[1.5], 5), false)[0][0].comparison.verdict,
        Outcome::Violated
    );
    assert!(design.wanted().is_empty());
    design.reopen(at);
    design.reopen(CellIndex { family: 3, cell: 9 });
    assert_eq!(design.wanted(), [at]);
    // No launch more: nothing is tested again, and p stays what it was.
    approx::assert_relative_eq!(
        design.look(&pairs(&[1.5], 5), false)[0][0].comparison.p_adjusted,
        8.0 / 252.0,
        max_relative = 1e-12
    );
}

#[test]
fn what_weighs_more_is_found_with_fewer_launches() {
    // A violation among 400 hypotheses, of which most weigh a quarter.
    let looked = |weights: Option<f64>| {
        let mut design = Sequential::new(Rule::default(), 8).of_hypotheses(400);
        if let Some(others) = weights {
            design = design.of_weight(1.0 + 399.0 * others);
            design.weigh(vec![vec![1.0, others]]);
        }
        verdicts(&design.look(&pairs(&[1.5, 1.5], 8), true))
    };
    assert_eq!(looked(None), [Outcome::Undecided, Outcome::Undecided]);
    assert_eq!(looked(Some(1.0)), [Outcome::Undecided, Outcome::Undecided]);
    assert_eq!(looked(Some(0.25)), [Outcome::Violated, Outcome::Undecided]);
}

#[test]
fn a_look_that_could_show_nothing_by_its_weight_spends_nothing() {
    let mut design = Sequential::new(Rule::default(), 20).of_hypotheses(20).of_weight(3.0);
    design.weigh(vec![vec![1.0, 0.1]]);
    // 5 launches reach 2 / 252: three times that is more than a quarter of alpha.
    let judged = design.look(&pairs(&[1.5, 1.5], 5), false);
    assert_eq!(verdicts(&judged), [Outcome::Undecided, Outcome::Undecided]);
    let mut design = Sequential::new(Rule::default(), 10).of_hypotheses(20).of_weight(3.0);
    design.weigh(vec![vec![1.0, 0.1]]);
    // And less than half of it; thirty times that is not, and the lighter cell keeps all of alpha for the look that can show it.
    let judged = design.look(&pairs(&[1.5, 1.5], 5), false);
    assert_eq!(verdicts(&judged), [Outcome::Violated, Outcome::Undecided]);
    let judged = design.look(&pairs(&[1.5, 1.5], 10), true);
    assert_eq!(verdicts(&judged), [Outcome::Violated, Outcome::Violated]);
}
