//! Figures have every point, shade the violated sizes and share their scales.

use kilter_fixtures::report as fixture;

use super::draw;
use crate::summary::Summary;

#[test]
fn figures_shade_exactly_the_violated_cells() {
    let report = fixture::tuned();
    let groups = Summary::of(&report).groups;
    let reduce = groups.iter().find(|group| group.guideline == "GL8").unwrap();
    let figure = draw::draw(reduce, "k").unwrap();
    let after = figure.after.unwrap();
    assert_eq!(figure.before.matches("url(#kb-h)").count(), 3);
    assert_eq!(after.matches("url(#ka-h)").count(), 0);
    assert_eq!(figure.before.matches("<circle").count(), 21);
    assert_eq!(figure.before.matches("<rect class=\"mark\"").count(), 21);
    assert!(
        figure
            .before
            .contains("4 KiB, ratio 1.76 [1.71, 1.82], adjusted p &lt;0.001"),
        "{}",
        figure.before
    );
    // Three asterisks each; one below the other, since 4 KiB has narrow neighbours.
    assert_eq!(figure.before.matches(">*</text>").count(), 9);
    let ticks = |svg: &str| -> Vec<String> {
        svg.split("class=\"tick")
            .skip(1)
            .filter_map(|rest| rest.split('<').next())
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(ticks(&figure.before), ticks(&after), "both panels have the same scales");
}

#[test]
fn undecided_cells_are_not_shaded() {
    let report = fixture::tuned();
    let groups = Summary::of(&report).groups;
    let scan = groups.iter().find(|group| group.guideline == "GL16").unwrap();
    let figure = draw::draw(scan, "k").unwrap();
    assert_eq!(figure.before.matches("url(#kb-h)").count(), 2);
    assert_eq!(
        figure.after.unwrap().matches("url(#ka-h)").count(),
        0,
        "512 KiB is undecided after tuning"
    );
}

#[test]
fn both_panels_hold_the_slowest_point_of_either() {
    let mut report = fixture::tuned();
    for after in report.cells.iter_mut().filter_map(|cell| cell.after.as_mut()) {
        after.seconds *= 70.0;
        after.left_medians.clear();
    }
    let groups = Summary::of(&report).groups;
    let reduce = groups.iter().find(|group| group.guideline == "GL8").unwrap();
    let figure = draw::draw(reduce, "k").unwrap();
    for panel in [figure.before, figure.after.unwrap()] {
        let heights = panel
            .split("cy=\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next()?.parse::<f64>().ok());
        let heights: Vec<f64> = heights.collect();
        assert_eq!(heights.len(), 21);
        assert!(heights.iter().all(|y| (14.0..=286.0).contains(y)), "{heights:?}");
    }
}

#[test]
fn a_monotony_violation_is_shaded_from_size_to_size() {
    let report = fixture::checked();
    let groups = Summary::of(&report).groups;
    let gather = groups
        .iter()
        .find(|group| (group.guideline, group.function) == ("GL1", "gather"))
        .unwrap();
    let figure = draw::draw(gather, "k").unwrap();
    assert_eq!((figure.right, figure.after), (None, None));
    assert_eq!(
        figure.before.matches("<circle").count(),
        21,
        "twenty pairs are twenty-one points of one curve"
    );
    assert!(figure.before.contains("1 B against 2 B, ratio 2.61"));
}
