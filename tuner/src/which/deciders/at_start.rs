//! A variable that the library reads when a job starts, with algorithms by ranges of sizes.

use kilter_model::config::library::Algorithms;
use kilter_model::ranged;
use kilter_search::target::Target;
use kilter_which::answer::Decision;
use kilter_which::decide::Decider;

use super::Known;

/// The variable of a collective, if it is set and does not leave this size to the library.
pub(super) fn decider(
    known: &Known<'_>,
    row: &Algorithms,
    target: &Target,
    index: &dyn Fn(u64) -> Option<usize>,
) -> Option<Decider> {
    let at_start = row.at_start?;
    let set = known.places.set(&row.parameter)?;
    let decision = Decision::Parameter {
        setting: format!("{}={}", row.parameter, set.value),
        place: set.place,
    };
    let ranges = match ranged::parse(at_start.form, &row.parameter, &set.value) {
        Ok(ranges) => ranges,
        Err(error) => {
            return Some(Decider {
                decision,
                asks: None,
                inactive: Some(format!(
                    "Kilter cannot read the value as {} would: {error}",
                    known.library.name
                )),
            });
        }
    };
    let bytes = target.bytes();
    let size = at_start
        .unit
        .map_or(bytes, |unit| unit.range((bytes, bytes), known.ranks as u64).0);
    let number = ranged::lookup(at_start.form, &ranges, size)?;
    Some(Decider {
        decision,
        asks: index(number),
        inactive: None,
    })
}
