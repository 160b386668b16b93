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
