use std::path::PathBuf;
use std::time::Duration;

use kilter_bench::store::{LaunchPaths, Learnt, Position, Reader, Store};
use kilter_fixtures::report as fixture;
use kilter_protocol::report::{Event, Start};

use super::*;

/// Two finished runs: the first of Open MPI on two hosts with `rows` rows of three samples, the second of MPICH with a row.
fn database(rows: usize) -> (tempfile::TempDir, PathBuf) {
    let directory = kilter_fixtures::directory();
    let path = directory.path().join("kilter.db");
    let store = Store::open(&path).unwrap();
    for (library, hosts, ranks, rows, report) in [
        ("Open MPI v4.1.4", ["node01", "node02"], 2, rows, fixture::tuned()),
        ("MPICH Version: 4.0.2", ["login", "login"], 4, 1, fixture::holding()),
    ] {
        let run = store
            .begin_or_resume(library, 7, "kilter check", library, ranks)
            .unwrap();
        let file = || PathBuf::from("f");
        let paths = LaunchPaths {
            plan: file(),
            report: file(),
            log: file(),
        };
        let mut launch = run.begin_launch("before/0", 1, "mpirun", &paths).unwrap();
        let mut store_line = |event: &Event| {
            let position = Position { offset: 1, line: 1 };
            launch
                .record(event, &[], true, position, Duration::from_secs(1))
                .unwrap();
        };
        store_line(&Event::Start(Start {
            library: library.to_owned(),
            ranks,
            hosts: hosts.map(str::to_owned).to_vec(),
            ..Start::default()
        }));
        for row in 0..rows {
            let name = ["reduce(n)", "scan(n)"][row % 2];
            store_line(&Event::Samples {
                block: format!("block {}", row / 2),
                item: name.to_owned(),
                seconds: vec![1e-6, 2e-6, row as f64 / 1e9],
                void: 0,
            });
        }
        launch.close("ended", Duration::from_secs(1)).unwrap();
        run.record_report(&report).unwrap();
        run.finish().unwrap();
    }
    drop(store);
    // As the plan describes them.
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch(
            r#"UPDATE items SET description = '{"function":"reduce","bytes":8}' WHERE name = 'reduce(n)';
            UPDATE items SET description = '{"collective":"scan","bytes":4096}' WHERE name = 'scan(n)';"#,
        )
        .unwrap();
    (directory, path)
}

fn ask(path: &std::path::Path, what: What, filter: &Filter, form: Form) -> Result<String, QueryError> {
    let mut out = Vec::new();
    write(&Reader::open(path)?, what, filter, &form.into(), &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

/// The lines of a listing as laid out, and what it leaves out.
fn laid_out(path: &std::path::Path, what: What, layout: &Layout) -> (Vec<String>, Vec<String>) {
    let filter = Filter {
        runs: list("1"),
        ..Filter::default()
    };
    let mut out = Vec::new();
    let written = write(&Reader::open(path).unwrap(), what, &filter, layout, &mut out).unwrap();
    let lines = String::from_utf8(out).unwrap().lines().map(str::to_owned).collect();
    (lines, written.left_out)
}

fn wide(width: usize, columns: &str) -> Layout {
    Layout {
        columns: list(columns).into_iter().filter(|name| !name.is_empty()).collect(),
        width: Some(width),
        ..Form::Text.into()
    }
}

#[test]
fn a_listing_fits_the_terminal_and_names_what_it_leaves_out() {
    let (_directory, path) = database(600);
    for what in [What::Runs, What::Launches, What::Cells, What::Samples] {
        let (all, none) = laid_out(&path, what, &Form::Text.into());
        assert_eq!(none, Vec::<String>::new(), "without a limit nothing is cut");
        let heads: Vec<&str> = all[0].split_whitespace().collect();
        for width in [1, 20, 40, 80, 132, 200, 100_000] {
            let (lines, left_out) = laid_out(&path, what, &wide(width, ""));
            assert_eq!(lines.len(), all.len(), "{what:?} at {width}");
            let longest = lines.iter().map(|line| line.chars().count()).max().unwrap();
            assert!(longest <= width, "{what:?} at {width}: {longest}");
            let shown = lines[0].split_whitespace().count();
            assert!(
                width < 20 || shown + left_out.len() == heads.len(),
                "{what:?} at {width}: {left_out:?}"
            );
            assert_eq!(
                left_out.is_empty(),
                width == 100_000 || shown == heads.len(),
                "{what:?} at {width}"
            );
        }
    }
}

#[test]
fn what_matters_most_stays_longest() {
    let (_directory, path) = database(2);
    let heads = |what, width| {
        laid_out(&path, what, &wide(width, "")).0[0]
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(heads(What::Cells, 80), "guideline expression bytes verdict");
    assert!(heads(What::Runs, 80).starts_with("id started"));
    assert!(heads(What::Launches, 80).starts_with("id run key"));
    let samples = heads(What::Samples, 60);
    assert!(
        samples.contains("item") && samples.ends_with("repetition seconds"),
        "{samples}"
    );
}

#[test]
fn columns_are_chosen_in_every_form() {
    let (_directory, path) = database(2);
    let chosen = |form, columns: &str| {
        let layout = Layout {
            columns: list(columns),
            ..Layout::from(form)
        };
        laid_out(&path, What::Samples, &layout).0
    };
    assert_eq!(
        chosen(Form::Csv, "seconds,item,repetition")[..2],
        ["seconds,item,repetition", "1e-6,reduce(n),1"]
    );
    assert_eq!(
        chosen(Form::Json, "item,repetition")[1],
        r#"{"item":"reduce(n)","repetition":1},"#
    );
    assert_eq!(chosen(Form::Text, "Item,seconds")[1], "reduce(n)  1.00 us");
    let refused = Layout {
        columns: list("verdikt"),
        ..Form::Text.into()
    };
    let reader = Reader::open(&path).unwrap();
    let error = write(&reader, What::Cells, &Filter::default(), &refused, &mut Vec::new()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("--columns: `cells` have no `verdikt`; they have: run, started"),
        "{error}"
    );
}

#[test]
fn chosen_columns_are_cut_before_one_is_left_out() {
    let (_directory, path) = database(2);
    let (lines, left_out) = laid_out(&path, What::Cells, &wide(40, "expression,verdict,guideline"));
    assert_eq!(left_out, Vec::<String>::new());
    assert!(lines.iter().all(|line| line.chars().count() <= 40), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains('…')), "{lines:#?}");
    let (lines, left_out) = laid_out(&path, What::Cells, &wide(20, "expression,verdict,guideline"));
    assert_eq!((lines[0].split_whitespace().count(), left_out), (2, list("guideline")));
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::to_owned).collect()
}

#[test]
fn samples_stream_over_pages_with_every_value() {
    let (_directory, path) = database(600);
    let text = ask(&path, What::Samples, &Filter::default(), Form::Csv).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 3 * 601);
    assert_eq!(
        lines[0],
        "run,launch,key,attempt,time,library,ranks,seed,block,item,function,bytes,repetition,seconds"
    );
    let last_of_first_run = lines[3 * 600].split(',').collect::<Vec<_>>();
    assert_eq!(
        last_of_first_run[8..],
        ["block 299", "scan(n)", "scan", "4096", "3", "5.99e-7"]
    );
    let ids: std::collections::BTreeSet<&str> =
        lines[1..].iter().map(|line| line.rsplit(',').next().unwrap()).collect();
    assert_eq!(ids.len(), 602, "every row once: 0 to 599 ns, 1 us and 2 us");
}

#[test]
fn filters_let_through_what_they_say() {
    let (_directory, path) = database(4);
    let count = |what, filter: Filter| ask(&path, what, &filter, Form::Csv).unwrap().lines().count() - 1;
    let some = |change: fn(&mut Filter)| {
        let mut filter = Filter::default();
        change(&mut filter);
        filter
    };
    assert_eq!(count(What::Runs, Filter::default()), 2);
    assert_eq!(
        count(What::Runs, some(|f| f.library = Some("open mpi V4".to_owned()))),
        1
    );
    assert_eq!(count(What::Runs, some(|f| f.host = Some("NODE02".to_owned()))), 1);
    assert_eq!(count(What::Launches, some(|f| f.ranks = vec![4])), 1);
    assert_eq!(count(What::Runs, some(|f| f.runs = list("1,last"))), 2);
    assert_eq!(count(What::Runs, some(|f| f.since = Some("2020-01-01".to_owned()))), 2);
    assert_eq!(count(What::Runs, some(|f| f.until = Some("2020-01-01".to_owned()))), 0);
    assert_eq!(count(What::Samples, some(|f| f.functions = list("Reduce"))), 3 * 3);
    assert_eq!(count(What::Samples, some(|f| f.sizes = list("1..8"))), 3 * 3);
    assert_eq!(count(What::Samples, some(|f| f.sizes = list("1..7,4KiB"))), 2 * 3);
    let fixed = some(|f| {
        f.guidelines = list("gl8");
        f.verdicts = list("violated");
        f.runs = list("1");
    });
    assert_eq!(
        count(What::Cells, fixed),
        3,
        "three cells of GL8 were violated before, none after"
    );
    let today = humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string();
    let day = today.split('T').next().unwrap().to_owned();
    let filter = Filter {
        since: Some(day.clone()),
        until: Some(day),
        ..Filter::default()
    };
    assert_eq!(count(What::Samples, filter), 5 * 3, "a day counts as a whole");
}

#[test]
fn refusals_say_what_is_allowed() {
    let (_directory, path) = database(2);
    let message = |what, change: &dyn Fn(&mut Filter)| {
        let mut filter = Filter::default();
        change(&mut filter);
        ask(&path, what, &filter, Form::Csv).unwrap_err().to_string()
    };
    for (text, part) in [
        (
            message(What::Cells, &|f| f.runs = list("9")),
            "it has: 1, 2 (or `last`)",
        ),
        (
            message(What::Cells, &|f| f.guidelines = list("GL99")),
            "it has: GL1, GL10, GL14",
        ),
        (
            message(What::Samples, &|f| f.functions = list("reduse")),
            "it has: reduce, scan",
        ),
        (
            message(What::Cells, &|f| f.verdicts = list("bad")),
            "allowed: holds, violated, undecided, unstable",
        ),
        (
            message(What::Samples, &|f| f.verdicts = list("holds")),
            "filters cells, not samples",
        ),
        (
            message(What::Runs, &|f| f.sizes = list("8")),
            "filters cells, samples and what was learnt, not runs",
        ),
        (message(What::Cells, &|f| f.sizes = list("8..4")), "empty range"),
        (message(What::Cells, &|f| f.sizes = list("4kb")), "64KiB"),
        (
            message(What::Runs, &|f| f.since = Some("yesterday".to_owned())),
            "allowed: 2026-11-21",
        ),
    ] {
        assert!(text.contains(part) && text.starts_with("--"), "{text}");
    }
}

#[test]
fn the_forms_agree_and_are_well_formed() {
    let (_directory, path) = database(3);
    let filter = Filter {
        runs: list("1"),
        ..Filter::default()
    };
    let json: Vec<serde_json::Value> =
        serde_json::from_str(&ask(&path, What::Cells, &filter, Form::Json).unwrap()).unwrap();
    let csv = ask(&path, What::Cells, &filter, Form::Csv).unwrap();
    let text = ask(&path, What::Cells, &filter, Form::Text).unwrap();
    assert_eq!((json.len(), csv.lines().count(), text.lines().count()), (354, 355, 355));
    assert_eq!(json[0]["guideline"], "GL3");
    assert!(json[0]["ratio"].as_f64().unwrap() > 0.0);
    let runs: serde_json::Value = serde_json::from_str(&ask(&path, What::Runs, &filter, Form::Json).unwrap()).unwrap();
    assert_eq!(runs[0]["hosts"], serde_json::json!(["node01", "node02"]));
    let samples = |form| ask(&path, What::Samples, &filter, form).unwrap();
    let json: Vec<serde_json::Value> = serde_json::from_str(&samples(Form::Json)).unwrap();
    assert_eq!((json.len(), samples(Form::Text).lines().count()), (9, 10));
    assert_eq!((&json[8]["repetition"], &json[8]["seconds"]), (&3.into(), &2e-9.into()));
    assert!(samples(Form::Text).ends_with("3           2.00 ns\n"));
    let nothing = Filter {
        until: Some("1999-12-31".to_owned()),
        ..Filter::default()
    };
    assert_eq!(ask(&path, What::Runs, &nothing, Form::Json).unwrap(), "[\n]\n");
    assert_eq!(
        ask(&path, What::Runs, &nothing, Form::Text).unwrap(),
        "nothing passes the filters\n"
    );
    let sizes = Filter {
        runs: list("1"),
        guidelines: list("GL8"),
        sizes: list("4KiB"),
        ..Filter::default()
    };
    let lines: Vec<String> = ask(&path, What::Cells, &sizes, Form::Text)
        .unwrap()
        .lines()
        .map(|line| line.split_whitespace().skip(8).collect::<Vec<_>>().join(" "))
        .collect();
    insta::assert_snapshot!(lines[1..].join("\n"), @r#"
        reduce(n) <= allreduce(n) pattern reduce 4 KiB - violated 1.76 1.71 1.82 <0.001 <0.001 3.67 us 2.08 us 10 10 btl_vader_eager_limit=32768
        reduce(n) <= allreduce(n) pattern reduce 4 KiB - holds 0.81 0.79 0.84 0.999 1.000 1.68 us 2.06 us 10 10 btl_vader_eager_limit=32768
        "#);
}

#[test]
fn what_jobs_learnt_is_asked_for_by_function_and_size() {
    let directory = kilter_fixtures::directory();
    let path = directory.path().join("kilter.db");
    let learnt = |implementation: &str, is_settled| Learnt {
        library: "MPI 1".to_owned(),
        ranks: 8,
        nodes: 4,
        ranks_per_node: 2,
        function: "reduce".to_owned(),
        class: 12,
        implementation: implementation.to_owned(),
        calls: 10,
        counted_ns: 1_000,
        median_ns: 90,
        is_settled,
        jobs: 3,
        when: 1_800_000_000,
    };
    let store = Store::open(&path).unwrap();
    store
        .record_learnt(&[learnt("default", false), learnt("reduce.ring", true)])
        .unwrap();
    drop(store);
    let filter = |functions: &str, sizes: &str| Filter {
        functions: list(functions),
        sizes: list(sizes),
        library: Some("mpi".to_owned()),
        since: Some("2027-01-01".to_owned()),
        ..Filter::default()
    };
    let csv = ask(&path, What::Learnt, &filter("reduce", "5000"), Form::Csv).unwrap();
    assert!(
        csv.lines()
            .nth(2)
            .unwrap()
            .starts_with("MPI 1,8,4,2,reduce,4096,8191,reduce.ring,settled,"),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 3);
    let none = ask(&path, What::Learnt, &filter("reduce", "1..4095,8192"), Form::Csv).unwrap();
    assert_eq!(none.lines().count(), 1, "{none}");
    assert!(ask(&path, What::Learnt, &filter("scan", "5000"), Form::Csv).is_err());
    let of_run = Filter {
        runs: list("1"),
        ..Filter::default()
    };
    let error = ask(&path, What::Learnt, &of_run, Form::Csv).unwrap_err().to_string();
    assert!(error.contains("--run") && error.contains("what jobs learnt"), "{error}");
}
