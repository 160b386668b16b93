//! A tuner that was stopped after any line loses nothing, and the next one takes over what its worker still wrote.

use kilter_protocol::report::{Event, ReportLine};

use super::*;

/// Rows of the samples in the order they were stored.
fn sample_rows(site: &Site) -> Vec<(i64, String, Vec<u8>)> {
    let ids = site.sql("SELECT id FROM samples ORDER BY id");
    let items = site.sql("SELECT block || '/' || item FROM samples_view ORDER BY id");
    let values = site.sql("SELECT seconds FROM samples ORDER BY id");
    ids.into_iter()
        .zip(items)
        .zip(values)
        .map(|((id, item), value)| (id, item, value))
        .collect()
}

/// A run of three blocks is stopped dead after every number of lines. `worker_died`: the report ends where the tuner had read
/// it; otherwise it holds what the worker wrote afterwards.
fn killed_everywhere(worker_died: bool) {
    // Start, noise, three blocks of 2 x (enter, settings, samples) and an end, end.
    let all = 2 + 3 * 7 + 1;
    // A few at the same time: they mostly wait for processes.
    at_once(0..4, |first| {
        (first..=all)
            .step_by(4)
            .for_each(|lines| killed_after(lines, all, worker_died))
    });
}

/// The same after this number of lines, of which there are so many.
fn killed_after(lines: usize, all: usize, worker_died: bool) {
    let ids = ["b1", "b2", "b3"];
    let site = Site::new();
    let before = {
        let run = site.run();
        let mut session = site.session(&run, "good");
        session.dies_after_lines = Some(lines);
        let outcome = session
            .measure_all(&blocks(&ids), &mut |_| ())
            .and_then(|_| session.finish());
        assert_eq!(outcome.is_ok(), lines == all, "{lines} of {all} lines");
        if lines == all {
            return;
        }
        sample_rows(&site)
    };
    let offset = site.sql::<i64>("SELECT report_offset FROM launches")[0];
    assert_eq!(site.sql::<i64>("SELECT report_lines FROM launches"), [lines as i64]);
    let report = site.directory.path().join("run1-key-1.report.jsonl");
    if worker_died && report.exists() {
        std::fs::File::options()
            .write(true)
            .open(&report)
            .unwrap()
            .set_len(offset.cast_unsigned())
            .unwrap();
    }
    let done = site.sql::<String>("SELECT block FROM blocks_view");
    let run = site.run();
    assert!(run.resumed);
    let mut session = site.session(&run, "good");
    let outcomes = session.measure_all(&blocks(&ids), &mut |_| ()).unwrap();
    assert_eq!(outcomes, ids.map(expected), "after {lines} lines");
    let after = sample_rows(&site);
    assert_eq!(after[..before.len()], before, "samples were lost after {lines} lines");
    let asked = site.asked(2);
    assert!(
        !done.iter().any(|id| asked.contains(id)),
        "{done:?} were measured again: {asked:?}"
    );
    let end = session.finish().unwrap();
    assert!(
        end.dropin_calls["blocks"] >= 3,
        "the end does not cover every block: {end:?}"
    );
    assert_eq!(
        site.sql::<i64>("SELECT count(*) FROM launches WHERE ended IS NULL"),
        [0]
    );
    // Only the block under way may have been measured twice.
    let done_rows = "SELECT count(*) FROM samples_view AS s JOIN blocks_view AS b USING (run, key, block) WHERE s.launch = b.launch";
    assert_eq!(site.sql::<i64>(done_rows), [6]);
    site.nobody_is_left();
}

#[test]
fn killed_after_every_line_with_the_worker_loses_nothing() {
    killed_everywhere(true);
}

#[test]
fn killed_after_every_line_before_the_worker_loses_nothing() {
    killed_everywhere(false);
}

#[test]
fn what_the_worker_wrote_after_the_tuner_died_is_taken_over() {
    let site = Site::new();
    {
        let run = site.run();
        let mut session = site.session(&run, "hang b1 right");
        session.dies_after_lines = Some(3);
        assert!(session.measure_all(&blocks(&["b1", "b2"]), &mut |_| ()).is_err());
    }
    let report = site.directory.path().join("run1-key-1.report.jsonl");
    let offset = site.sql::<i64>("SELECT report_offset FROM launches")[0];
    let mut text = std::fs::read(&report).unwrap();
    text.truncate(usize::try_from(offset).unwrap());
    let (block, v) = (String::from("b1"), kilter_protocol::VERSION);
    let mut events = Vec::new();
    for item in ["left", "right"].map(String::from) {
        let read_back = vec![("segment".to_owned(), "7".to_owned())];
        events.push(Event::Settings {
            block: block.clone(),
            item: item.clone(),
            read_back,
        });
        events.push(Event::Samples {
            block: block.clone(),
            seconds: seconds("b1", &item),
            item,
            void: 1,
        });
    }
    events.push(Event::BlockEnd {
        block,
        seconds: 0.25,
        costs: None,
    });
    events.push(Event::Enter {
        block: "b2".to_owned(),
        item: "left".to_owned(),
    });
    for event in events {
        text.extend(serde_json::to_vec(&ReportLine { v, event }).unwrap());
        text.push(b'\n');
    }
    // The worker was writing when it was killed.
    text.extend(b"{\"v\":4,\"kind\":\"samp");
    std::fs::write(&report, text).unwrap();
    let run = site.run();
    let mut session = site.session(&run, "fails-to-start");
    assert_eq!(session.measure(&super::block("b1")).unwrap(), expected("b1"));
    assert_eq!(run.launch_count().unwrap(), 1, "the block was measured again");
    assert!(run.measuring_seconds().unwrap() >= 0.25);
    assert!(
        session.measure(&super::block("b2")).is_err(),
        "the second block was never done"
    );
}
