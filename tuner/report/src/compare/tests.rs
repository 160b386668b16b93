use kilter_bench::store::Store;
use kilter_fixtures::report as fixture;
use kilter_model::report::{Report, Setting};
use kilter_stats::verdict::Outcome;

use super::operand::Operand;
use super::pair::{Pair, ShiftKind};
use super::*;

fn compared(reports: Vec<Report>) -> Compared {
    let sides = reports
        .into_iter()
        .enumerate()
        .map(|(index, report)| Operand::new(format!("{index}.json"), report, index))
        .collect();
    Compared::new(sides, None)
}

fn pair(base: Report, other: Report) -> Pair {
    compared(vec![base, other]).pairs.remove(0)
}

/// The fixture's check with few sizes.
fn few() -> Report {
    let mut report = fixture::checked();
    report
        .cells
        .retain(|cell| [1, 4096, 524_288, 1 << 20].contains(&cell.bytes));
    report
}

#[test]
fn a_run_agrees_with_itself() {
    let compared = compared(vec![fixture::checked(), fixture::checked()]);
    let pair = &compared.pairs[0];
    assert_eq!((pair.common, pair.decided, pair.agreeing), (177, 162, 162));
    assert_eq!(
        pair.agreement_line(),
        "agreement of decided verdicts: 100.0 % (162 of 162)"
    );
    assert!(pair.regressions.is_empty() && pair.improvements.is_empty() && !compared.has_regressions());
    assert!(pair.only_base.is_empty() && pair.only_other.is_empty());
}

#[test]
fn what_is_better_one_way_is_worse_the_other_way() {
    let forth = pair(fixture::checked(), fixture::tuned());
    let back = pair(fixture::tuned(), fixture::checked());
    assert!(forth.regressions.is_empty());
    assert_eq!(forth.improvements.len(), back.regressions.len());
    let kinds = |kind| forth.improvements.iter().filter(|shift| shift.kind == kind).count();
    assert_eq!(
        (
            kinds(ShiftKind::Verdict),
            kinds(ShiftKind::Ratio),
            kinds(ShiftKind::Time)
        ),
        (8, 1, 5)
    );
    assert_eq!(
        forth.agreement_line(),
        "agreement of decided verdicts: 95.0 % (153 of 161)"
    );
    assert_eq!(forth.agreeing, back.agreeing);
}

#[test]
fn verdicts_decide_before_ratios_and_what_holds_may_move() {
    let base = few();
    let find = |report: &Report, verdict| {
        report
            .cells
            .iter()
            .position(|cell| cell.before.verdict == verdict)
            .unwrap()
    };
    let (holds, violated) = (find(&base, Outcome::Holds), find(&base, Outcome::Violated));
    let shifted = |index: usize, factor: f64, verdict| {
        let mut other = few();
        let before = &mut other.cells[index].before;
        before.verdict = verdict;
        before.ratio *= factor;
        before.ratio_ci = (before.ratio_ci.0 * factor, before.ratio_ci.1 * factor);
        pair(few(), other)
    };
    let kinds = |pair: &Pair| {
        let list = |shifts: &[pair::Shift]| shifts.iter().map(|shift| shift.kind).collect::<Vec<_>>();
        (
            list(&pair.regressions),
            list(&pair.improvements),
            pair.moved_but_holding,
        )
    };
    use Outcome::{Holds, Undecided, Violated};
    use ShiftKind::{Ratio, Verdict};
    assert_eq!(kinds(&shifted(holds, 1.2, Holds)), (vec![], vec![], 1));
    assert_eq!(kinds(&shifted(holds, 1.2, Undecided)), (vec![Ratio], vec![], 0));
    assert_eq!(kinds(&shifted(holds, 1.001, Violated)), (vec![Verdict], vec![], 0));
    assert_eq!(kinds(&shifted(violated, 1.2, Violated)), (vec![Ratio], vec![], 0));
    assert_eq!(kinds(&shifted(violated, 0.8, Violated)), (vec![], vec![Ratio], 0));
    assert_eq!(kinds(&shifted(violated, 0.999, Holds)), (vec![], vec![Verdict], 0));
    // Within the intervals nothing has happened.
    assert_eq!(kinds(&shifted(violated, 1.02, Violated)), (vec![], vec![], 0));
    // Undecided is no agreement and no disagreement.
    let open = shifted(holds, 1.0, Undecided);
    assert_eq!((open.decided, open.no_longer_decided), (open.agreeing, 1));
}

#[test]
fn times_are_compared_with_correction_and_tolerance() {
    let slower = |factor: f64, tolerance| {
        let mut other = few();
        for cell in other.cells.iter_mut().filter(|cell| cell.function == "scan") {
            cell.before
                .left_medians
                .iter_mut()
                .for_each(|seconds| *seconds *= factor);
        }
        let sides = [few(), other];
        let sides = sides
            .into_iter()
            .enumerate()
            .map(|(i, report)| Operand::new(String::new(), report, i));
        Compared::new(sides.collect(), tolerance).pairs.remove(0).regressions
    };
    let found = slower(1.3, None);
    assert_eq!(found.len(), 4);
    for shift in &found {
        let (low, high) = shift.interval.unwrap();
        assert!(shift.kind == ShiftKind::Time && shift.subject == "scan(n)", "{shift:?}");
        assert!(
            low <= shift.factor && shift.factor <= high && (shift.factor - 1.3).abs() < 1e-9,
            "{shift:?}"
        );
    }
    assert!(slower(1.3, Some(0.4)).is_empty(), "less than the tolerance");
    assert!(slower(1.04, None).is_empty(), "less than the floor");
    let mut few_launches = few();
    for cell in &mut few_launches.cells {
        cell.before.left_medians.truncate(2);
        cell.before.left_medians.iter_mut().for_each(|seconds| *seconds *= 3.0);
    }
    assert!(
        pair(few(), few_launches).regressions.is_empty(),
        "two launches prove nothing after correction"
    );
}

/// The fixture's check as if a simulator had been asked to be this library: one launch, exact times.
fn simulated(selector: &str) -> Report {
    let mut report = few();
    report.provenance.simulated_machine = Some("ib-32x1".to_owned());
    report.provenance.site_parameters = vec![Setting {
        name: "smpi/coll-selector".to_owned(),
        value: selector.to_owned(),
    }];
    for cell in &mut report.cells {
        cell.before.left_medians.truncate(1);
    }
    report
}

#[test]
fn simulated_times_say_so_and_are_compared_with_their_like_alone() {
    let apart = compared(vec![few(), simulated("ompi")]);
    assert_eq!((apart.pairs[0].common, apart.pairs[0].times), (33, 0));
    let text = text::to_text(&apart);
    for part in [
        "times are not compared: those of A are measured, those of B simulated on ib-32x1",
        "B: Open MPI 4.1.4, smpi/coll-selector=ompi, 2 simulated ranks",
        "A: Open MPI 4.1.4, 2 ranks",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let mut slower = simulated("mpich");
    for cell in slower.cells.iter_mut().filter(|cell| cell.function == "scan") {
        cell.before.left_medians[0] *= 1.3;
    }
    // One launch of each: no test could tell them apart, and none is needed.
    let found = pair(simulated("ompi"), slower);
    assert!(found.times > 4 && found.times_apart.is_none());
    assert_eq!(found.regressions.len(), 4);
    for shift in &found.regressions {
        assert!(shift.kind == ShiftKind::Time && shift.interval.is_none(), "{shift:?}");
        assert!((shift.factor - 1.3).abs() < 1e-9, "{shift:?}");
    }
}

#[test]
fn what_only_one_side_has_is_said_and_not_compared() {
    let mut other = few();
    other.cells.retain(|cell| cell.guideline != "GL3" && cell.bytes != 4096);
    let some = pair(few(), other.clone());
    assert_eq!(some.only_base, ["guidelines GL3 gather", "sizes 4 KiB"]);
    assert_eq!(some.common, other.cells.len());
    other.ranks = 4;
    other.cells.iter_mut().for_each(|cell| cell.ranks = 4);
    let none = pair(few(), other);
    assert_eq!((none.common, none.times), (0, 0));
    assert_eq!(none.only_base, ["2 ranks: 33 cells"]);
    assert_eq!(
        none.agreement_line(),
        "agreement of decided verdicts: none is decided in both"
    );
    let empty = pair(fixture::empty(), fixture::empty());
    assert_eq!((empty.common, empty.regressions.len()), (0, 0));
}

#[test]
fn a_side_is_a_report_a_database_or_a_run_of_one() {
    let directory = kilter_fixtures::directory();
    let json = directory.path().join("report.json");
    std::fs::write(&json, crate::json::to_string(&fixture::tuned()).unwrap()).unwrap();
    let db = directory.path().join("kilter.db");
    {
        let store = Store::open(&db).unwrap();
        for (name, report) in [("1", fixture::tuned()), ("2", fixture::checked())] {
            let run = store.begin_or_resume(name, 1, "kilter", "library", 2).unwrap();
            run.record_report(&report).unwrap();
            run.finish().unwrap();
        }
        store.begin_or_resume("3", 1, "kilter", "library", 2).unwrap();
    }
    let run = |text: &str| std::path::PathBuf::from(format!("{}:{text}", db.display()));
    let load = |path: &std::path::Path| Operand::load(path, 1, false).map(|operand| operand.report);
    assert!(load(&json).unwrap() == fixture::tuned());
    assert!(load(&run("1")).unwrap() == fixture::tuned());
    assert!(load(&db).unwrap() == fixture::checked() && load(&run("last")).unwrap() == fixture::checked());
    let before = Operand::load(&json, 0, true).unwrap();
    assert!(before.report.cells.iter().all(|cell| cell.after.is_none()) && before.label == "A");
    let message = |path: &std::path::Path| load(path).unwrap_err().to_string();
    assert!(
        message(&run("3")).contains("no verdicts of run `3`; runs with verdicts: 1, 2"),
        "{}",
        message(&run("3"))
    );
    assert!(message(&directory.path().join("none")).contains("allowed: a report.json"));
    let other = directory.path().join("other.json");
    std::fs::write(&other, "{}").unwrap();
    assert!(message(&other).contains("other.json"));
}

#[test]
fn the_console_has_the_tables_of_pgmpi_and_the_changes() {
    let mut other = few();
    other.library.name = "MPICH".to_owned();
    other.library.version = "4.0.2".to_owned();
    for cell in &mut other.cells {
        if cell.guideline == "GL8" && cell.bytes >= 524_288 {
            cell.before = fixture::holding()
                .cells
                .into_iter()
                .find(|c| key(c) == key(cell))
                .unwrap()
                .before;
        }
    }
    other.cells.retain(|cell| cell.guideline != "GL2");
    insta::assert_snapshot!(text::to_text(&compared(vec![few(), other])), @r#"
        What is compared
                          A                                                              B
        ----------------------------------------------------------------------------------------------------------------------------------------------
         library          Open MPI 4.1.4                                                 MPICH 4.0.2
         says of itself   Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, rep…   Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, rep…
         ranks            2                                                              2
         hosts            node01                                                         node01
         date             2026-11-21T05:04:11Z                                           2026-11-21T05:04:11Z
         command          check                                                          check
         launches         10                                                             10
         seed             42                                                             42
         kilter           0.1.0                                                          0.1.0
         from             0.json                                                         1.json
         cells            33                                                             30
         hold             21                                                             22
         violated         9                                                              7
         undecided        3                                                              1
         unstable         0                                                              0

        Violations by type
         ranks   type   A: Open MPI 4.1.4, 2 ranks   B: MPICH 4.0.2, 2 ranks
        ---------------------------------------------------------------------
         2       m      2/2                          2/2
         2       s      0/1
         2       p      3/6                          3/6
         Violated of verified. Types: m monotony and s split-robustness (functions), p pattern (guidelines).

        Violations by function
         ranks   function      A: Open MPI 4.1.4, 2 ranks   B: MPICH 4.0.2, 2 ranks
        ----------------------------------------------------------------------------
         2       MPI_Bcast     0/2                          0/1
         2       MPI_Gather    1/2                          1/2
         2       MPI_Reduce    3/3                          3/3
         2       MPI_Scan      1/1                          1/1
         2       MPI_Scatter   0/1                          0/1
         Violated guidelines of those verified.

        Violated guidelines side by side
         type   guideline   says                                               A: Open MPI 4.1.4, 2 ranks   B: MPICH 4.0.2, 2 ranks
        ----------------------------------------------------------------------------------------------------------------------------
         m      GL1         gather(n) <= gather(n + k)                         ● 1/3: 1 B                   ● 1/3: 1 B
         m      GL1         reduce(n) <= reduce(n + k)                         ● 1/3: 4 KiB                 ● 1/3: 4 KiB
         p      GL8         reduce(n) <= allreduce(n)                          ● 3/4: 4 KiB..1 MiB          ● 1/4: 4 KiB
         p      GL14        reduce(n) <= reduce_scatter_block(n) + gather(n)   ● 3/4: 4 KiB..1 MiB          ● 3/4: 4 KiB..1 MiB
         p      GL16        scan(n) <= exscan(n) + reduce_local(n)             ● 1/4: 512 KiB               ● 1/4: 512 KiB
         ● violated, at how many of the verified sizes, and which; · at none; blank: not verified. 4 more guidelines violated by none.

        Violations by function and size: A: Open MPI 4.1.4, 2 ranks
         type   guideline                                              1  4    512  1
                                                                       B  KiB  KiB  MiB
        --------------------------------------------------------------------------------
         m      GL1 gather(n) <= gather(n + k)                         ●  ·    ·
         m      GL1 reduce(n) <= reduce(n + k)                         ?  ●    ·
         p      GL8 reduce(n) <= allreduce(n)                          ·  ●    ●    ●
         p      GL14 reduce(n) <= reduce_scatter_block(n) + gather(n)  ·  ●    ●    ●
         p      GL16 scan(n) <= exscan(n) + reduce_local(n)            ·  ·    ●    ·
         ● violated, ? undecided, · holds. 4 more guidelines violated at no size.

        Violations by function and size: B: MPICH 4.0.2, 2 ranks
         type   guideline                                              1  4    512  1
                                                                       B  KiB  KiB  MiB
        --------------------------------------------------------------------------------
         m      GL1 gather(n) <= gather(n + k)                         ●  ·    ·
         m      GL1 reduce(n) <= reduce(n + k)                         ?  ●    ·
         p      GL8 reduce(n) <= allreduce(n)                          ·  ●    ·    ·
         p      GL14 reduce(n) <= reduce_scatter_block(n) + gather(n)  ·  ●    ●    ●
         p      GL16 scan(n) <= exscan(n) + reduce_local(n)            ·  ·    ●    ·
         ● violated, ? undecided, · holds. 3 more guidelines violated at no size.

        Better in B than in A
         what      guideline or function           size      A                            B                         factor
        ------------------------------------------------------------------------------------------------------------------------------
         verdict   GL8 reduce(n) <= allreduce(n)   512 KiB   violated 2.19 [2.13, 2.26]   holds 0.80 [0.77, 0.82]   0.36
         verdict   GL8 reduce(n) <= allreduce(n)   1 MiB     violated 1.60 [1.55, 1.65]   holds 0.80 [0.78, 0.83]   0.50
         time      reduce(n)                       512 KiB   519 us                       186 us                    0.36 [0.35, 0.36]
         time      reduce(n)                       1 MiB     753 us                       374 us                    0.50 [0.49, 0.51]

        B against A: 0 regressions, 4 improvements
        agreement of decided verdicts: 93.1 % (27 of 29)
        compared: 30 cells and 20 times of functions; changes of less than 5 % do not count
        only in A, not compared: guidelines GL2 bcast
        "#);
}

fn key(cell: &kilter_model::report::Cell) -> (String, String, u64) {
    (cell.guideline.clone(), cell.expression.clone(), cell.bytes)
}

#[test]
fn exports_have_every_cell_and_every_count() {
    let compared = compared(vec![fixture::checked(), few(), fixture::tuned()]);
    let csv = export::to_csv(&compared);
    assert_eq!(csv.lines().count(), 1 + 177);
    let columns = csv.lines().next().unwrap().split(',').count();
    assert_eq!(columns, 6 + 3 * 5);
    let reduce = csv
        .lines()
        .find(|line| line.starts_with("GL8,pattern,reduce") && line.contains(",2,4096,"))
        .unwrap();
    assert!(
        reduce.matches("violated").count() == 2 && reduce.contains(",holds,"),
        "{reduce}"
    );
    let missing = csv
        .lines()
        .find(|line| line.starts_with("GL8,pattern,reduce") && line.contains(",2,8,"))
        .unwrap();
    assert!(missing.contains(",,,,,,"), "{missing}");
    let json: serde_json::Value = serde_json::from_str(&export::to_json(&compared).unwrap()).unwrap();
    assert_eq!(
        (json["regressed"].as_bool(), json["pairs"].as_array().unwrap().len()),
        (Some(false), 2)
    );
    assert_eq!(json["pairs"][1]["agreeing"], 153);
    assert!(json["sides"][0]["report"].get("cells").is_none());
    let markdown = text::to_markdown(&compared);
    assert!(markdown.contains("### Violations by type\n\n| ranks | type | A: Open MPI 4.1.4, 2 ranks |"));
    assert!(markdown.contains("- agreement of decided verdicts: 95.0 % (153 of 161)"));
}

#[test]
fn the_page_is_whole_escaped_and_fetches_nothing() {
    let mut evil = fixture::tuned();
    evil.library.name = "<script>alert(1)</script>".to_owned();
    evil.cells[0].expression = "<b>&\"".to_owned();
    let page = html::render(&compared(vec![evil, fixture::checked(), few()])).unwrap();
    assert!(!page.contains("<script>alert") && !page.contains("<b>&\""));
    for part in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(part), "{part}");
    }
    for part in [
        "B against A",
        "C against A",
        "Violated guidelines side by side",
        "prefers-color-scheme: dark",
        "regressions",
    ] {
        assert!(page.contains(part), "{part}");
    }
    html::render(&compared(vec![fixture::empty(), fixture::empty()])).unwrap();
}
