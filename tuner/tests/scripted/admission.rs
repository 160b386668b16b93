//! Rows that are verified together before they may be deployed.

use kilter_bench::launch::scripted::RowEnds;
use kilter_model::deployment::Selection;
use kilter_search::correctness::{Admission, Refusal};

use super::*;

fn rows(ids: &[&str]) -> Vec<Selection> {
    ids.iter()
        .map(|id| Selection::Algorithm((*id).to_owned(), Vec::new()))
        .collect()
}

/// The words on each.
fn said(admissions: &[Admission]) -> Vec<&str> {
    admissions
        .iter()
        .map(|admission| match admission {
            Admission::Admitted => "admitted",
            Admission::Refused(Refusal::NoSuchRow) => "no such row",
            Admission::Refused(Refusal::NothingCompared { .. }) => "nothing compared",
            Admission::Refused(Refusal::Wrong { reason, .. }) => {
                let kinds = ["hung", "crashed"];
                kinds.into_iter().find(|kind| reason.contains(kind)).unwrap_or("wrong")
            }
        })
        .collect()
}

#[test]
fn rows_of_one_plugin_have_one_job_and_stored_ones_none() {
    let library = ScriptedLibrary::new()
        .wrong_row("bcast.b")
        .verified_row("reduce.c", RowEnds::Missing);
    let (_directory, site) = site(library);
    let mut selections = rows(&["bcast.a", "bcast.b", "reduce.c", "bcast.a"]);
    selections.insert(
        1,
        Selection::Settings(vec![("bcast_algorithm".to_owned(), "2".to_owned())]),
    );
    selections.push(Selection::Mockup("reduce.as_allreduce".to_owned(), Vec::new()));
    let (admissions, jobs) = site.admit(&selections).unwrap();
    let expected = ["admitted", "admitted", "wrong", "no such row", "admitted", "admitted"];
    assert_eq!((said(&admissions), jobs), (expected.to_vec(), 1));
    let known = rows(&["bcast.b", "bcast.a"]);
    let (admissions, jobs) = site.admit(&known).unwrap();
    assert_eq!((said(&admissions), jobs), (vec!["wrong", "admitted"], 0));
    let (admissions, jobs) = site.admit(&rows(&["bcast.a", "bcast.d"])).unwrap();
    assert_eq!((said(&admissions), jobs), (vec!["admitted", "admitted"], 1));
}

#[test]
fn a_row_that_ends_the_job_costs_the_others_nothing_but_another_one() {
    // One that crashed is run again alone.
    for (ends, what, jobs) in [(RowEnds::Hangs, "hung", 2), (RowEnds::Crashes, "crashed", 3)] {
        let library = ScriptedLibrary::new()
            .verified_row("bcast.b", ends)
            .wrong_row("bcast.c");
        let (_directory, site) = site(library);
        let selections = rows(&["bcast.a", "bcast.b", "bcast.c", "bcast.d"]);
        let (admissions, counted) = site.admit(&selections).unwrap();
        assert_eq!(
            (said(&admissions), counted),
            (vec!["admitted", what, "wrong", "admitted"], jobs)
        );
    }
}

#[test]
fn two_sets_of_values_of_a_row_have_a_result_each() {
    let (_directory, site) = site(ScriptedLibrary::new());
    let with = |values: &[u64]| Selection::Algorithm("bcast.a".to_owned(), values.to_vec());
    let selections = [with(&[8]), with(&[16]), with(&[8])];
    let (admissions, jobs) = site.admit(&selections).unwrap();
    assert_eq!((said(&admissions), jobs), (vec!["admitted"; 3], 2));
    let (_, jobs) = site.admit(&selections).unwrap();
    assert_eq!(jobs, 0);
}
