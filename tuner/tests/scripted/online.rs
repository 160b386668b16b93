//! Runners-up in the drop-in's profile, for jobs to try.

use kilter_profile::Profile;

use super::*;

/// Reduce of 4 KiB is slow; these rows take so many of its usual times there.
fn rows(times: &[(&str, f64)]) -> ScriptedLibrary {
    let slow = slow_reduce(|_| false);
    times.iter().fold(slow, |library, (id, factor)| {
        let factor = *factor;
        library.row(id, move |call, usual| {
            if call.bytes == 4096 {
                factor * usual
            } else {
                4.0 * usual
            }
        })
    })
}

fn profile(site: &Site) -> Profile {
    let text = std::fs::read_to_string(site.emitted().join("kilter-profile.json")).unwrap();
    Profile::parse(&text, "p.json").unwrap()
}

fn named(library: ScriptedLibrary, arguments: &str) -> (Run, Profile) {
    let (_directory, site) = site(library);
    let run = tune_at(&site, format!("{REDUCE} --only algorithms {arguments}").trim_end());
    let profile = profile(&site);
    (run, profile)
}

const TWO: [(&str, f64); 2] = [("reduce.binomial", 0.5), ("reduce.ring", 0.5)];

#[test]
fn a_row_that_is_as_good_as_the_chosen_one_is_named_where_it_is_asked_for() {
    let (run, profile) = named(rows(&TWO), "--online");
    let chosen = &profile.rules[0].implementation;
    let other = if chosen == "reduce.ring" {
        "reduce.binomial"
    } else {
        "reduce.ring"
    };
    assert_eq!(profile.online, [other], "beside {chosen}");
    assert_eq!(changes(&run), [format!("MPI_Reduce at 4 KiB={chosen}")]);
    let (_, without) = named(rows(&TWO), "");
    assert_eq!((&without.rules, without.online), (&profile.rules, Vec::new()));
}

#[test]
fn a_row_that_is_slower_than_the_chosen_one_is_not_named() {
    let (_, profile) = named(rows(&[("reduce.binomial", 0.5), ("reduce.ring", 0.8)]), "--online");
    assert_eq!((profile.rules.len(), profile.online.len()), (1, 0));
}

#[test]
fn a_row_that_fails_the_correctness_matrix_is_not_named() {
    let (run, profile) = named(rows(&TWO), "--online");
    let id = profile.online[0].clone();
    assert_eq!(quarantined(&run), []);
    let (run, profile) = named(rows(&TWO).wrong_row(&id), "--online");
    assert_eq!((profile.rules.len(), profile.online.len()), (1, 0));
    assert_eq!(quarantined(&run), [(&*id, "failed the correctness matrix")]);
    // As a runner-up, or where it was to be deployed.
    assert!(warning(&run, &format!("`{id}`")).contains("failed the correctness matrix"));
}

/// A contest was asked for, and no guideline is violated, so that nothing is deployed: the profile has no rule.
#[test]
fn where_nothing_is_chosen_what_was_faster_is_named() {
    let library = || ScriptedLibrary::new().row("reduce.binomial", |_, usual| 0.5 * usual);
    let arguments = "--guidelines GL8 --sizes 4096 --contest reduce@4KiB --goal smallest";
    let (_directory, named) = site(library());
    let run = tune_at(&named, &format!("{arguments} --online"));
    assert_eq!(changes(&run), [""; 0]);
    let profile = profile(&named);
    assert_eq!(
        (profile.rules, profile.online),
        (Vec::new(), vec!["reduce.binomial".to_owned()])
    );
    let (_directory, without) = site(library());
    tune_at(&without, arguments);
    assert!(!without.emitted().exists());
}

#[test]
fn the_page_beside_the_files_says_how_jobs_try_them() {
    let (_directory, site) = site(rows(&TWO));
    tune_at(&site, &format!("{REDUCE} --only algorithms --online"));
    let page = std::fs::read_to_string(site.emitted().join("README.txt")).unwrap();
    let row = &profile(&site).online[0];
    assert!(page.contains(&format!("try them in their own calls: {row}.")), "{page}");
    assert!(page.contains("Jobs with KILTER_ONLINE=1, and no"), "{page}");
}

/// One profile for all layouts names the runners-up of each.
#[test]
fn layouts_name_their_runners_up_together() {
    let on = |nodes: usize, factor: f64| {
        move |call: &Call<'_>, usual: f64| {
            if call.nodes == nodes {
                factor * usual
            } else {
                8.0 * usual
            }
        }
    };
    let library = slow_reduce(|_| false)
        .row("reduce.binomial", |_, usual| 0.5 * usual)
        .row("reduce.ring", on(4, 0.5))
        .row("reduce.linear", on(2, 0.5));
    let (_directory, site) = site(library);
    let arguments = "--guidelines=GL8 --sizes=4096 --layouts=4x1,2x2 --only=algorithms --online";
    site.tune_layouts(&arguments.split(' ').collect::<Vec<_>>()).unwrap();
    let profile = profile(&site);
    assert_eq!(profile.rules.len(), 2);
    let mut all: Vec<&str> = profile.rules.iter().map(|rule| &*rule.implementation).collect();
    all.extend(profile.online.iter().map(String::as_str));
    for row in ["reduce.binomial", "reduce.ring", "reduce.linear"] {
        assert!(all.contains(&row), "{row} in {all:?}");
    }
    assert!(!profile.online.is_empty());
}
