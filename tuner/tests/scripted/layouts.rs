//! Several layouts in one go, and one directory of files for all.

use super::*;

/// Reduce is slow on four ranks alone, where algorithm 2 is not.
fn slow_on_four() -> ScriptedLibrary {
    ScriptedLibrary::new().cost("reduce", |call, usual| {
        let is_slow = call.ranks == 4 && call.bytes == 4096 && call.algorithm != 2;
        if is_slow { 4.0 * usual } else { usual }
    })
}

#[test]
fn what_mends_one_layout_is_written_for_its_ranks_alone() {
    let (_directory, site) = site(slow_on_four());
    let reports = site
        .tune_layouts(&["--guidelines=GL8", "--sizes=4096", "--layouts=2,2x2"])
        .unwrap();
    let violated = |report: &kilter_model::report::Report| report.cells[0].before.verdict == Outcome::Violated;
    assert_eq!(reports.iter().map(violated).collect::<Vec<_>>(), [false, true]);
    assert_eq!(reports[1].provenance.hosts, ["host0", "host1"]);
    let after = |report: &kilter_model::report::Report| report.cells[0].after.as_ref().map(|after| after.verdict);
    assert!(reports.iter().all(|report| after(report) == Some(Outcome::Holds)));
    let rules = std::fs::read_to_string(site.emitted().join("openmpi-coll-rules.conf")).unwrap();
    assert!(
        rules.lines().any(|line| line.split_whitespace().next() == Some("4")),
        "{rules}"
    );
}
