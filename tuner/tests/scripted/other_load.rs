//! Other programs on the machine.

use super::resume::killed;
use super::*;

#[test]
fn other_programs_are_named_and_what_was_measured_beside_them_is_measured_again() {
    let library = || slow_reduce(|call| call.algorithm == 2);
    let quiet = tune(library().beside_others(0.0), REDUCE);
    assert!(
        !quiet
            .report
            .warnings
            .iter()
            .any(|text| text.contains("other programs used"))
    );
    for (cores, again) in [(0.0, false), (1000.0, true)] {
        let (_, home, measured) = killed(40, library().beside_others(cores), REDUCE);
        let site = Site::new(&home.path().join("site"), library().beside_others(0.0)).unwrap();
        let resumed = tune_at(&site, REDUCE);
        assert_eq!(changes(&resumed), changes(&quiet));
        // Only what was measured alone is kept.
        let kept = measured + resumed.jobs <= quiet.jobs + 2;
        assert_eq!(kept, !again, "{measured} + {} of {}", resumed.jobs, quiet.jobs);
    }
    let run = tune(slow_reduce(|_| false).beside_others(1000.0), REDUCE);
    warning(&run, "other programs used more than");
}
