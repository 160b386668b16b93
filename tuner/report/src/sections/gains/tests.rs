//! The picture has every call at every size, and says in words what it draws.

use kilter_fixtures::markup::check_tags;
use kilter_fixtures::report as fixture;
use kilter_model::report::GainVerdict;

use super::*;

fn page(report: &kilter_model::report::Report) -> String {
    html(&View::of(report, None)).unwrap()
}

#[test]
fn every_call_has_a_plot_and_every_size_a_mark_of_its_verdict() {
    let mut report = fixture::tuned();
    let slower = report
        .gains
        .iter_mut()
        .find(|gain| gain.verdict == GainVerdict::Same)
        .unwrap();
    slower.verdict = GainVerdict::Slower;
    let page = page(&report);
    check_tags(&page);
    assert_eq!(page.matches("<figure>").count(), by_call(&report.gains).len());
    let count = |verdict| report.gains.iter().filter(|gain| gain.verdict == verdict).count();
    for (verdict, mark) in [
        (GainVerdict::Faster, "<circle class=\"dot faster\""),
        (GainVerdict::Same, "<circle class=\"dot same\""),
        (GainVerdict::Slower, "<rect class=\"dot slower\""),
    ] {
        assert_eq!(page.matches(mark).count(), count(verdict) + 1, "{mark} and its key");
    }
    assert!(
        page.contains("4 KiB: 2.16 [2.10, 2.23], faster, 3.67 us by default and 1.70 us deployed"),
        "{page}"
    );
}

#[test]
fn the_line_at_one_is_in_the_picture_and_numbers_that_do_not_exist_are_not() {
    let mut report = fixture::tuned();
    report.gains.truncate(2);
    for gain in &mut report.gains {
        (gain.factor, gain.factor_ci) = (9.0, (8.5, 9.5));
    }
    let drawn = page(&report);
    assert_eq!(drawn.matches("class=\"one\"").count(), 1);
    assert!(drawn.contains(">1</text>"), "{drawn}");
    report.gains[0].factor_ci = (f64::NAN, f64::INFINITY);
    let drawn = page(&report);
    assert!(
        !drawn.contains("NaN\"") && !drawn.contains("NaNV") && !drawn.contains("inf"),
        "{drawn}"
    );
    report.gains.clear();
    assert_eq!(page(&report), "");
}

#[test]
fn a_line_for_each_call_on_a_terminal() {
    let report = fixture::tuned();
    insta::assert_snapshot!(text(&View::of(&report, None)), @r"
    Gains: default against deployed
     call         sizes   faster   slower   mean   least   most
    ------------------------------------------------------------
     MPI_Bcast    12      0        0        1.00   0.99    1.01
     MPI_Gather   12      0        0        1.00   0.99    1.01
     MPI_Reduce   12      3        0        1.27   0.99    3.30
     MPI_Scan     12      2        0        1.13   0.99    2.44
     Time of a call in the untouched library over its time with what is deployed, in launches in turn; mean is geometric.
    ");
}
