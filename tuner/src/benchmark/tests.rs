use super::*;

fn measured(selection: Option<Selection>, medians: &[f64]) -> Measured {
    Measured {
        selection,
        medians: Sample::new(medians.to_vec()).unwrap(),
    }
}

fn settings(value: &str) -> Selection {
    Selection::Settings(vec![("coll_tuned_scan_algorithm".to_owned(), value.to_owned())])
}

fn algorithm(id: &str) -> Selection {
    Selection::Algorithm(id.to_owned(), Vec::new())
}

fn held(candidates: Vec<Measured>) -> Held {
    Held {
        target: Target::unbounded(Collective::Scan, 1024),
        candidates,
        apart: Vec::new(),
    }
}

#[test]
fn the_library_competes_with_its_default_too() {
    let held = held(vec![
        measured(None, &[2.0, 4.0, 6.0]),
        measured(Some(settings("1")), &[3.0, 6.0, 9.0]),
        measured(Some(algorithm("scan.linear")), &[9.0, 9.0, 9.0]),
        measured(Some(algorithm("scan.recursive_doubling")), &[1.0, 2.0, 3.0]),
        measured(
            Some(Selection::Mockup("scan.as_exscan_reduce_local".to_owned(), Vec::new())),
            &[5.0; 3],
        ),
    ]);
    let row = best(&held, Some(0.5)).unwrap();
    assert_eq!((row.library.id.as_str(), row.library.seconds), ("default", 4.0));
    assert_eq!(
        (row.kilter.id.as_str(), row.kilter.seconds),
        ("scan.recursive_doubling", 2.0)
    );
    assert_eq!(row.mockup.map(|side| side.seconds), Some(5.0));
    // Launches differ by three, the ratio within them does not.
    assert!((row.ratio - 0.5).abs() < 1e-12, "{}", row.ratio);
    assert!(row.ratio_interval.0 > 0.49 && row.ratio_interval.1 < 0.51);
}

#[test]
fn a_launch_that_one_side_lacks_leaves_the_ratio_unpaired() {
    let held = held(vec![
        measured(None, &[4.0, 4.0, 4.0]),
        measured(Some(algorithm("scan.linear")), &[8.0, 8.0]),
    ]);
    let row = best(&held, None).unwrap();
    assert!((row.ratio - 2.0).abs() < 1e-12);
}

#[test]
fn the_same_algorithms_are_compared_with_each_other() {
    let candidates = vec![
        measured(None, &[1.0]),
        measured(Some(settings("2")), &[2.0]),
        measured(Some(algorithm("scan.recursive_doubling")), &[3.0]),
    ];
    let row = same(
        &held(candidates.clone()),
        &[settings("2"), algorithm("scan.recursive_doubling")],
        None,
    )
    .unwrap();
    assert!((row.ratio - 1.5).abs() < 1e-12 && (row.default_seconds - 1.0).abs() < 1e-12);
    assert_eq!(
        same(&held(candidates), &[settings("1"), algorithm("scan.linear")], None),
        None
    );
}

#[test]
fn tables_show_every_row_once() {
    let row = Row {
        collective: "scan".to_owned(),
        bytes: 1024,
        default_seconds: 4e-6,
        library: Side {
            id: "coll_tuned_scan_algorithm=2".to_owned(),
            seconds: 3e-6,
        },
        kilter: Side {
            id: "scan.linear".to_owned(),
            seconds: 6e-6,
        },
        mockup: None,
        ratio: 2.0,
        ratio_interval: (1.9, 2.1),
        bound_seconds: Some(2e-6),
    };
    let benchmark = Benchmark {
        library: "Open MPI 4.1.4".to_owned(),
        ranks: 8,
        command: "kilter benchmark".to_owned(),
        network: Some(Network {
            latency_seconds: 1e-6,
            seconds_per_byte: 1e-9,
            hosts: 8,
        }),
        same: false,
        rows: vec![row],
        failed: BTreeMap::from([("scan.odd".to_owned(), "delivered wrong data".to_owned())]),
        not_reached: vec!["scan 8".to_owned()],
        unmeasured: vec!["gather 262144".to_owned()],
    };
    insta::assert_snapshot!(present::text(&benchmark));
    insta::assert_snapshot!(present::csv(&benchmark));
}
