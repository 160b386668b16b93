//! Decisions of two layouts, merged.

use kilter_algorithms::Collective;
use kilter_model::config::library::find_for;

use super::*;

fn open_mpi() -> Library {
    find_for("mpirun (Open MPI) 4.1.4").unwrap()
}

fn layout(text: &str) -> Layout {
    text.parse().unwrap()
}

fn set(name: &str, value: &str) -> Assignment {
    Assignment {
        name: name.to_owned(),
        value: value.to_owned(),
        environment: name.starts_with("I_MPI") || name.starts_with("MV2"),
    }
}

fn of(assignments: &[Assignment], selections: &[(u64, &str)]) -> Deployment {
    Deployment {
        assignments: assignments.to_vec(),
        selections: selections
            .iter()
            .map(|(bytes, id)| {
                (
                    (Collective::Reduce, *bytes),
                    Selection::Mockup((*id).to_owned(), Vec::new()),
                )
            })
            .collect(),
    }
}

/// The same of the library's own algorithms.
fn of_library(selections: &[(u64, &str)]) -> Deployment {
    let settings =
        |value: &str| Selection::Settings(vec![("coll_tuned_reduce_algorithm".to_owned(), value.to_owned())]);
    Deployment {
        assignments: Vec::new(),
        selections: selections
            .iter()
            .map(|(bytes, value)| ((Collective::Reduce, *bytes), settings(value)))
            .collect(),
    }
}

fn merged(chosen: &[(&str, Deployment)], extent: Extent, library: &Library) -> Merged {
    let chosen: Vec<Chosen<'_>> = chosen
        .iter()
        .map(|(text, deployment)| Chosen {
            layout: layout(text),
            deployment,
        })
        .collect();
    merge(&chosen, extent, library)
}

fn lines(merged: &Merged) -> Vec<String> {
    merged.left_out.iter().map(LeftOut::line).collect()
}

#[test]
fn layouts_of_different_sizes_keep_their_own_selections() {
    let chosen = [
        ("1x2", of(&[], &[(4096, "a")])),
        ("1x3", of(&[], &[(4096, "b"), (8192, "c")])),
    ];
    let merged = merged(&chosen, Extent::Any, &open_mpi());
    assert_eq!(merged.left_out, []);
    assert_eq!(merged.deployment(layout("1x2")), chosen[0].1);
    assert_eq!(merged.deployment(layout("1x3")), chosen[1].1);
}

/// The profile tells 16x1 from 8x2.
#[test]
fn what_the_drop_in_runs_is_each_layouts_own() {
    let chosen = [
        ("16x1", of(&[], &[(1, "same"), (2, "mine"), (3, "alone")])),
        ("8x2", of(&[], &[(1, "same"), (2, "yours")])),
    ];
    let merged = merged(&chosen, Extent::Any, &open_mpi());
    for (text, own) in &chosen {
        assert_eq!(merged.deployment(layout(text)), *own);
    }
    assert_eq!(merged.left_out, []);
}

/// The library's own files do not.
#[test]
fn layouts_of_one_size_share_the_algorithm_of_the_library_that_all_of_them_chose() {
    let chosen = [
        ("16x1", of_library(&[(1, "1"), (2, "2"), (3, "3")])),
        ("8x2", of_library(&[(1, "1"), (2, "4")])),
        ("2x1", of_library(&[(3, "3")])),
    ];
    let merged = merged(&chosen, Extent::Any, &open_mpi());
    assert_eq!(merged.deployment(layout("16x1")), of_library(&[(1, "1")]));
    assert_eq!(merged.deployment(layout("8x2")), of_library(&[(1, "1")]));
    assert_eq!(merged.deployment(layout("2x1")), of_library(&[(3, "3")]));
    insta::assert_snapshot!(lines(&merged).join("\n"), @r"
    `coll_tuned_reduce_algorithm=2 for reduce at 2 bytes`, chosen for 16x1: the choice acts on all layouts of 16 ranks, and they chose differently
    `coll_tuned_reduce_algorithm=4 for reduce at 2 bytes`, chosen for 8x2: the choice acts on all layouts of 16 ranks, and they chose differently
    `coll_tuned_reduce_algorithm=3 for reduce at 3 bytes`, chosen for 16x1: the choice acts on all layouts of 16 ranks, and 8x2 did not make it
    ");
}

/// Files of releases that know more than the number of ranks keep apart what they can say, and the rest is left out aloud.
#[test]
fn releases_that_know_nodes_keep_the_choices_of_layouts_apart() {
    let library = |launcher: &str| find_for(launcher).unwrap();
    let chosen = |parameter: &str| {
        [("1x16", "1"), ("8x2", "2"), ("16x1", "3")].map(|(text, value)| {
            let settings = Selection::Settings(vec![(parameter.to_owned(), value.to_owned())]);
            let selections = [((Collective::Reduce, 64), settings)].into();
            (
                text,
                Deployment {
                    selections,
                    ..Deployment::default()
                },
            )
        })
    };
    let mpich = chosen("MPIR_CVAR_REDUCE_INTRA_ALGORITHM");
    let all = merged(&mpich, Extent::Any, &library("HYDRA build details: Version: 4.3.2"));
    assert_eq!(all.left_out, []);
    for (text, own) in &mpich {
        assert_eq!(all.deployment(layout(text)), *own);
    }
    let tuned = chosen("coll_tuned_reduce_algorithm");
    let some = merged(&tuned, Extent::Any, &library("mpirun (Open MPI) 6.0.0"));
    assert_eq!(some.deployment(layout("1x16")), tuned[0].1);
    for (text, _) in &tuned[1..] {
        assert_eq!(some.deployment(layout(text)), Deployment::default());
    }
    insta::assert_snapshot!(lines(&some).join("\n"), @r"
    `coll_tuned_reduce_algorithm=2 for reduce at 64 bytes`, chosen for 8x2: the choice acts on all layouts of 16 ranks on several nodes, and they chose differently
    `coll_tuned_reduce_algorithm=3 for reduce at 64 bytes`, chosen for 16x1: the choice acts on all layouts of 16 ranks on several nodes, and they chose differently
    ");
    let none = merged(&tuned, Extent::Any, &open_mpi());
    assert!(none.is_empty() && none.left_out.len() == 3);
}

/// The library's choice for as many ranks does not matter while the drop-in takes the call over, and matters again when it no longer does.
#[test]
fn an_algorithm_of_the_library_stands_where_the_other_layout_has_one_of_the_drop_in() {
    let chosen = [("16x1", of_library(&[(1, "1")])), ("8x2", of(&[], &[(1, "mine")]))];
    let members: Vec<Chosen<'_>> = chosen
        .iter()
        .map(|(text, deployment)| Chosen {
            layout: layout(text),
            deployment,
        })
        .collect();
    let mut merged = merge(&members, Extent::Any, &open_mpi());
    for (text, own) in &chosen {
        assert_eq!(merged.deployment(layout(text)), *own);
    }
    let subject = Subject::library(Collective::Reduce, 1);
    let gone = merged.take_out(&members, &[(layout("8x2"), &subject, "1.2 times slower")], &open_mpi());
    for (text, own) in &chosen {
        assert_eq!(gone.deployment(layout(text)), *own);
    }
    assert!(merged.is_empty());
    insta::assert_snapshot!(lines(&merged).join("\n"), @r"
    `mine for reduce at 1 bytes`, chosen for 8x2: it slows layout 8x2: 1.2 times slower
    `coll_tuned_reduce_algorithm=1 for reduce at 1 bytes`, chosen for 16x1: the choice acts on all layouts of 16 ranks, and what 8x2 chose instead is left out
    ");
}

#[test]
fn a_setting_of_the_launch_is_taken_for_all_until_one_gets_slower() {
    let (shared, network) = (
        set("btl_vader_eager_limit", "32768"),
        set("btl_tcp_eager_limit", "131072"),
    );
    let chosen = [
        ("1x2", of(std::slice::from_ref(&shared), &[])),
        ("2x2", of(&[network.clone(), shared.clone()], &[])),
    ];
    let any = merged(&chosen, Extent::Any, &open_mpi());
    assert_eq!(
        (any.assignments, any.left_out),
        (vec![shared.clone(), network], Vec::new())
    );
    let every = merged(&chosen, Extent::Every, &open_mpi());
    assert_eq!(every.assignments, [shared]);
    insta::assert_snapshot!(lines(&every).join("\n"), @r"`btl_tcp_eager_limit=131072`, chosen for 2x2: the setting acts on all layouts, 1x2 did not choose it, and other layouts' settings slowed a layout");
}

#[test]
fn different_values_of_one_setting_are_left_out() {
    let chosen = [
        ("1x2", of(&[set("btl_vader_eager_limit", "32768")], &[])),
        ("1x3", of(&[set("btl_vader_eager_limit", "65536")], &[])),
    ];
    for extent in [Extent::Any, Extent::Every] {
        let merged = merged(&chosen, extent, &open_mpi());
        assert!(merged.is_empty());
        assert_eq!(merged.left_out.len(), 2);
        assert!(
            lines(&merged)[0]
                .contains("chosen for 1x2: the setting acts on all layouts, and they chose different values")
        );
    }
}

/// Intel MPI's values act on communicators of all sizes: several layouts have one in common, or none.
#[test]
fn values_that_choose_algorithms_at_the_start_have_to_be_the_same() {
    let intel = find_for("Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 1").unwrap();
    let set_to = |name: &str, value: &str| set(&format!("I_MPI_ADJUST_{name}"), value);
    let (same, own) = (set_to("SCAN", "2"), |value| set_to("BCAST", value));
    let chosen = [
        ("1x2", of(&[own("7"), same.clone()], &[])),
        ("1x4", of(&[own("0:0-90;7:91-2147483647"), same.clone()], &[])),
    ];
    let merged = merged(&chosen, Extent::Every, &intel);
    assert_eq!(merged.assignments, [same]);
    assert!(lines(&merged)[0].contains("they chose different values"));
}

/// Settings that a variable needs do not stay without it.
#[test]
fn what_stands_beside_a_variable_goes_with_it() {
    let mvapich2 = find_for("Version: mvapich2-2.3.7").unwrap();
    let beside = ["", "_BCAST"].map(|name| set(&format!("MV2_USE_INDEXED{name}_TUNING"), "0"));
    let with = |value: &str| {
        let mut all = vec![set("MV2_INTER_BCAST_TUNING", value)];
        all.extend(beside.clone());
        of(&all, &[])
    };
    let chosen = [("1x2", with("5")), ("1x4", with("1"))];
    assert!(merged(&chosen, Extent::Any, &mvapich2).is_empty());
    let chosen = [("1x2", with("5")), ("1x4", with("5"))];
    assert_eq!(merged(&chosen, Extent::Every, &mvapich2).assignments.len(), 3);
}
