//! Partial fixes that gain nothing in the proof. They fix no guideline, and so nothing speaks for them. Pure.

use kilter_model::change::Cell;
use kilter_model::plan::Subject;
use kilter_search::verification::Medians;
use kilter_stats::sample::Sample;
use kilter_stats::verdict::Rule;

/// The cells whose call is no faster under the deployment than in the untouched library by more than the rule's floor, each with a note of its
/// time. `deployed` and `untouched` are medians of launches in turn; what was not measured there is not among them.
pub(super) fn gainless(
    partial_fixes: impl Iterator<Item = Cell>,
    (deployed, untouched): (&Medians, &Medians),
    rule: &Rule,
) -> Vec<(Cell, String)> {
    let note = |cell: Cell| {
        let subject = Subject::library(cell.0, cell.1);
        let median = |medians: &Medians| Some(Sample::new(medians.get(&subject)?.clone()).ok()?.median());
        let (with, without) = (median(deployed)?, median(untouched)?);
        let text = || {
            let (item, ratio) = (subject.item_id(), with / without);
            format!("{item} takes {ratio:.2} times as long as in the untouched library, and it fixes no guideline")
        };
        (!rule.is_relevant(without, with)).then(|| (cell, text()))
    };
    partial_fixes.filter_map(note).collect()
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;

    use super::*;

    #[test]
    fn what_is_no_faster_by_more_than_the_floor_gains_nothing() {
        let cells = [1024, 4096, 16384, 65536].map(|bytes| (Collective::Scan, bytes));
        let medians = |times: &[(u64, f64)]| -> Medians {
            let one = |(bytes, us): &(u64, f64)| (Subject::library(Collective::Scan, *bytes), vec![us * 1e-6; 2]);
            times.iter().map(one).collect()
        };
        let untouched = medians(&[(1024, 10.0), (4096, 10.0), (16384, 10.0)]);
        let deployed = medians(&[(1024, 3.0), (4096, 9.8), (16384, 10.2), (65536, 1.0)]);
        let found = gainless(cells.into_iter(), (&deployed, &untouched), &Rule::default());
        let notes: Vec<(u64, &str)> = found.iter().map(|(cell, note)| (cell.1, note.as_str())).collect();
        let text = "times as long as in the untouched library, and it fixes no guideline";
        assert_eq!(
            notes,
            [
                (4096, format!("scan(n) @4096 takes 0.98 {text}").as_str()),
                (16384, format!("scan(n) @16384 takes 1.02 {text}").as_str())
            ]
        );
    }
}
