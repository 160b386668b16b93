//! The proof of a prediction. It is deployed only if layouts that were measured, and held out, confirm it.
//!
//! A choice for a layout is *confirmed* if
//!
//! 1. the layout lies between two measured ones, in nodes and in ranks on each;
//! 2. every *witness* was predicted rightly without its own times: what was chosen for it is, measured there, no slower than the default by more
//!    than the floor. Witnesses are those of the two neighbours that lie between other measured layouts themselves, so that the gap over which
//!    they are predicted is at least as wide as the layout's own; if neither does, the nearest layout that does. A layout whose number of ranks
//!    is no power of two needs a witness of that kind as well, the nearest one;
//! 3. the choice is, measured, no slower than the default by more than the floor on any neighbour or witness, and faster by more than the floor on
//!    one of them. Where it was measured on any with a single rank a node, or with several, as the layout has, those of the other kind do not count.
//!    Nor does a layout where it is slower, if the prediction that did not know it foretold that: a crossing lies in between, which the model sees;
//!    and the gain has to be seen on a number of ranks of the layout's kind, a power of two or not, if any was measured nearby.

use kilter_model::layout::Layout;

use crate::between::{inner, is_odd, is_single, neighbours, octaves};
use crate::held_out::Trial;
use crate::table::Table;
use crate::{Status, Why};

/// The status of a choice other than the default for a call on a layout where it was not measured.
pub(crate) fn status(table: &Table, trials: &[Trial], layout: Layout, bytes: u64, choice: usize, floor: f64) -> Status {
    match confirmed(table, trials, layout, bytes, choice, floor) {
        Ok((from, confirmed_by)) => Status::Confirmed { from, confirmed_by },
        Err(why) => Status::Default(why),
    }
}

type Layouts = Vec<Layout>;

fn confirmed(
    table: &Table,
    trials: &[Trial],
    layout: Layout,
    bytes: u64,
    choice: usize,
    floor: f64,
) -> Result<(Layouts, Layouts), Why> {
    let known = table.compared(bytes);
    let (below, above) = neighbours(layout, &known).ok_or(Why::NotBetween)?;
    let witnesses = witnesses(layout, (below, above), &inner(&known))?;
    for at in &witnesses {
        let trial = trials.iter().find(|trial| trial.layout == *at && trial.bytes == bytes);
        let Some(trial) = trial else {
            return Err(Why::NoWitness {
                below,
                above,
                odd: false,
            });
        };
        let slower = table.over_default(*at, bytes, trial.choice);
        if slower.is_none_or(|slower| slower > floor) {
            return Err(Why::Refuted {
                at: *at,
                chosen: Box::new(table.implementations[trial.choice].clone()),
                percent: slower.map(percent),
            });
        }
    }
    let mut nearby = vec![below, above];
    nearby.extend(&witnesses);
    nearby.sort_unstable();
    nearby.dedup();
    let chosen = || Box::new(table.implementations[choice].clone());
    let compared: Vec<(Layout, f64)> = nearby
        .iter()
        .filter_map(|at| Some((*at, table.over_default(*at, bytes, choice)?)))
        .collect();
    let is_alike = |at: Layout| is_single(at) == is_single(layout);
    let has_alike = compared.iter().any(|(at, _)| is_alike(*at));
    let compared: Vec<(Layout, f64)> = compared
        .into_iter()
        .filter(|(at, _)| !has_alike || is_alike(*at))
        .collect();
    let foretold = |at: Layout| {
        let mut own = trials.iter().filter(|trial| trial.layout == at && trial.bytes == bytes);
        own.any(|trial| trial.foretold(choice, floor))
    };
    let mut slower = compared.iter().filter(|(_, slower)| *slower > floor);
    if let Some((at, _)) = slower.find(|(at, _)| !foretold(*at)) {
        return Err(Why::SlowerNearby {
            at: *at,
            chosen: chosen(),
        });
    }
    // Libraries switch algorithms by the number of ranks.
    let is_same = |at: Layout| is_odd(at) == is_odd(layout);
    let has_same = compared.iter().any(|(at, _)| is_same(*at));
    let mut own_kind = compared.iter().filter(|(at, _)| !has_same || is_same(*at));
    if !own_kind.any(|(_, slower)| *slower < -floor) {
        return Err(Why::NoGainNearby { chosen: chosen() });
    }
    let mut from = vec![below, above];
    from.sort_unstable();
    Ok((from, witnesses))
}

fn percent(share: f64) -> u64 {
    (share * 100.0).round() as u64
}

/// Measured layouts that have to confirm what is predicted for a layout; `inner` are those that could be held out.
fn witnesses(layout: Layout, (below, above): (Layout, Layout), inner: &[Layout]) -> Result<Layouts, Why> {
    let nearest = |odd: bool| {
        let of_kind = inner.iter().copied().filter(|other| !odd || is_odd(*other));
        of_kind.min_by(|a, b| octaves(*a, layout).total_cmp(&octaves(*b, layout)).then(a.cmp(b)))
    };
    let missing = |odd: bool| Why::NoWitness { below, above, odd };
    let mut found: Layouts = [below, above].into_iter().filter(|at| inner.contains(at)).collect();
    if found.is_empty() {
        found.push(nearest(false).ok_or(missing(false))?);
    }
    if is_odd(layout) && !found.iter().any(|at| is_odd(*at)) {
        found.push(nearest(true).ok_or(missing(true))?);
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;
    use kilter_model::deployment::Selection;

    use super::*;
    use crate::models::Guess;
    use crate::{Call, Implementation, Observation};

    const BYTES: u64 = 1024;
    const FLOOR: f64 = 0.05;
    const DEFAULT: usize = 0;
    const CHOICE: usize = 1;
    const OTHER: usize = 2;

    fn layout(text: &str) -> Layout {
        kilter_model::layout::parse_list(text).unwrap()[0]
    }

    /// A table of layouts with microseconds of the default, of the choice and of another one; 0 where it was not measured.
    fn table(times: &[(&str, [f64; 3])]) -> Table {
        let setting =
            |value: &str| Implementation::Selected(Selection::Settings(vec![("a".to_owned(), value.to_owned())]));
        let all = [Implementation::Default, setting("choice"), setting("other")];
        let seen = times.iter().flat_map(|(at, times)| {
            let measured = all.iter().zip(times).filter(|(_, time)| **time > 0.0);
            measured.map(move |(implementation, time)| Observation {
                layout: layout(at),
                call: Call {
                    collective: Collective::Bcast,
                    bytes: BYTES,
                },
                implementation: implementation.clone(),
                seconds: time * 1e-6,
                noise: 0.0,
            })
        });
        let seen: Vec<Observation> = seen.collect();
        Table::all(&seen, &[]).unwrap().remove(0)
    }

    /// A layout that was held out: what was chosen for it, and microseconds that were predicted of the default and of the choice.
    fn held_out(at: &str, choice: usize, predicted: [f64; 2]) -> Trial {
        let guesses = [DEFAULT, CHOICE].into_iter().zip(predicted);
        let guesses = guesses.map(|(implementation, time)| Guess {
            implementation,
            log: (time * 1e-6).ln(),
            deviation: 0.0,
        });
        Trial {
            layout: layout(at),
            bytes: BYTES,
            choice,
            regret: None,
            guesses: guesses.collect(),
        }
    }

    fn judge(times: &[(&str, [f64; 3])], trials: &[Trial], at: &str) -> Status {
        status(&table(times), trials, layout(at), BYTES, CHOICE, FLOOR)
    }

    fn confirmed_from(from: &[&str], by: &[&str]) -> Status {
        let layouts = |texts: &[&str]| texts.iter().map(|text| layout(text)).collect();
        Status::Confirmed {
            from: layouts(from),
            confirmed_by: layouts(by),
        }
    }

    fn why(status: Status) -> Why {
        match status {
            Status::Default(why) => why,
            other => panic!("{other:?}"),
        }
    }

    /// The choice takes half of the default's time, and the other one half as much again.
    const FASTER: [f64; 3] = [10.0, 5.0, 15.0];

    #[test]
    fn a_witness_for_which_the_prediction_chose_well_confirms() {
        let times = [("2x1", FASTER), ("8x1", FASTER), ("32x1", FASTER)];
        let good = [held_out("8x1", CHOICE, [10.0, 5.0])];
        assert_eq!(judge(&times, &good, "4x1"), confirmed_from(&["2x1", "8x1"], &["8x1"]));
        assert!(matches!(
            why(judge(&times, &[], "4x1")),
            Why::NoWitness { odd: false, .. }
        ));
    }

    #[test]
    fn a_witness_for_which_the_prediction_chose_badly_refutes() {
        let times = [("2x1", FASTER), ("8x1", FASTER), ("32x1", FASTER)];
        let bad = [held_out("8x1", OTHER, [10.0, 5.0])];
        let refuted = why(judge(&times, &bad, "4x1"));
        let Why::Refuted { at, chosen, percent } = &refuted else {
            panic!("{refuted:?}");
        };
        assert_eq!((*at, chosen.to_string().contains("other")), (layout("8x1"), true));
        assert_eq!(*percent, Some(50));
        // It did not run there.
        let times = [("2x1", FASTER), ("8x1", [10.0, 5.0, 0.0]), ("32x1", FASTER)];
        assert!(matches!(
            why(judge(&times, &bad, "4x1")),
            Why::Refuted { percent: None, .. }
        ));
        // Slower than the default by no more than the floor.
        let times = [("2x1", FASTER), ("8x1", [10.0, 5.0, 10.4]), ("32x1", FASTER)];
        assert_eq!(judge(&times, &bad, "4x1"), confirmed_from(&["2x1", "8x1"], &["8x1"]));
    }

    #[test]
    fn a_neighbour_on_which_the_choice_is_slower_objects() {
        let good = [held_out("8x1", CHOICE, [10.0, 5.0])];
        let with = |slower: f64| {
            let times = [("2x1", [10.0, slower, 15.0]), ("8x1", FASTER), ("32x1", FASTER)];
            judge(&times, &good, "4x1")
        };
        assert!(matches!(why(with(10.6)), Why::SlowerNearby { at, .. } if at == layout("2x1")));
        assert_eq!(with(10.4), confirmed_from(&["2x1", "8x1"], &["8x1"]));
    }

    #[test]
    fn a_loss_that_was_foretold_is_no_objection() {
        let times = [("2x1", FASTER), ("8x1", [10.0, 15.0, 15.0]), ("32x1", FASTER)];
        let foretold = [held_out("8x1", DEFAULT, [10.0, 14.0])];
        assert_eq!(
            judge(&times, &foretold, "4x1"),
            confirmed_from(&["2x1", "8x1"], &["8x1"])
        );
        let unforeseen = [held_out("8x1", DEFAULT, [10.0, 10.2])];
        assert!(matches!(
            why(judge(&times, &unforeseen, "4x1")),
            Why::SlowerNearby { at, .. } if at == layout("8x1")
        ));
    }

    #[test]
    fn nodes_with_one_rank_do_not_object_to_those_with_several() {
        let good = [held_out("16x2", CHOICE, [10.0, 5.0])];
        let with = |alike: [f64; 3]| {
            let times = [("4x1", [10.0, 20.0, 15.0]), ("16x2", alike), ("64x4", FASTER)];
            judge(&times, &good, "8x2")
        };
        assert_eq!(with(FASTER), confirmed_from(&["4x1", "16x2"], &["16x2"]));
        // Layouts of the other kind may object if none of the layout's own kind has a time of the choice.
        let good = [held_out("16x2", DEFAULT, [10.0, 5.0])];
        let times = [
            ("4x1", [10.0, 20.0, 15.0]),
            ("16x2", [10.0, 0.0, 15.0]),
            ("64x4", FASTER),
        ];
        assert!(matches!(
            why(judge(&times, &good, "8x2")),
            Why::SlowerNearby { at, .. } if at == layout("4x1")
        ));
    }

    #[test]
    fn a_choice_that_gains_nothing_nearby_is_not_confirmed() {
        let good = [held_out("8x1", CHOICE, [10.0, 5.0])];
        let alike = [10.0, 9.8, 15.0];
        let times = [("2x1", alike), ("8x1", alike), ("32x1", FASTER)];
        assert!(matches!(why(judge(&times, &good, "4x1")), Why::NoGainNearby { .. }));
        let times = [("2x1", FASTER), ("8x1", alike), ("32x1", FASTER)];
        assert_eq!(judge(&times, &good, "4x1"), confirmed_from(&["2x1", "8x1"], &["8x1"]));
    }

    #[test]
    fn a_gain_on_powers_of_two_is_none_for_other_numbers_of_ranks() {
        let good = [held_out("12x1", CHOICE, [10.0, 5.0])];
        let alike = [10.0, 9.8, 15.0];
        let times = [("4x1", FASTER), ("12x1", alike), ("24x1", FASTER)];
        assert!(matches!(why(judge(&times, &good, "6x1")), Why::NoGainNearby { .. }));
        let times = [("4x1", alike), ("12x1", FASTER), ("24x1", alike)];
        assert_eq!(judge(&times, &good, "6x1"), confirmed_from(&["4x1", "12x1"], &["12x1"]));
    }

    #[test]
    fn another_number_of_ranks_needs_a_witness_of_its_kind() {
        let trials = [
            held_out("8x1", CHOICE, [10.0, 5.0]),
            held_out("20x1", CHOICE, [10.0, 5.0]),
        ];
        let times = [("4x1", FASTER), ("8x1", FASTER), ("32x1", FASTER)];
        assert!(matches!(
            why(judge(&times, &trials, "6x1")),
            Why::NoWitness { odd: true, .. }
        ));
        let times = [("4x1", FASTER), ("8x1", FASTER), ("20x1", FASTER), ("32x1", FASTER)];
        assert_eq!(
            judge(&times, &trials, "6x1"),
            confirmed_from(&["4x1", "8x1"], &["8x1", "20x1"])
        );
    }
}
