//! A whole machine by one command: layouts by the budget, over several allocations.

use super::*;

/// Reduce is slow wherever there are several nodes, unless algorithm 2 is taken.
fn slow_on_nodes() -> ScriptedLibrary {
    ScriptedLibrary::new().cost("reduce", |call, usual| {
        let is_slow = call.ranks >= 4 && call.bytes == 4096 && call.algorithm != 2;
        if is_slow { 4.0 * usual } else { usual }
    })
}

/// A host file of so many hosts with two cores.
fn hosts(directory: &std::path::Path, number: usize) -> String {
    let path = directory.join(format!("hosts{number}"));
    let lines = (0..number).map(|host| format!("host{host} slots=2\n"));
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    format!("--hostfile={}", path.display())
}

/// Calls take tenths of seconds, so that a layout needs the seconds of a part of an allocation.
const SLOWER: f64 = 3_000.0;

const COMMON: [&str; 4] = [
    "--layouts=auto",
    "--guidelines=GL8",
    "--sizes=4096",
    "--only=parameters",
];

fn tuned(site: &Site, hostfile: &str, budget: &str) -> kilter::scripted::Allocation {
    let arguments = [&COMMON[..], &[hostfile, budget]].concat();
    site.tune_machine(&arguments).unwrap()
}

fn layouts(allocation: &kilter::scripted::Allocation) -> Vec<String> {
    allocation
        .reports
        .iter()
        .map(|(layout, _)| layout.to_string())
        .collect()
}

#[test]
fn the_ends_come_first_and_what_was_found_is_in_the_files_of_all() {
    let (directory, site) = site(slow_on_nodes());
    let all = tuned(&site, &hosts(directory.path(), 4), "--budget=4h");
    assert!(all.is_complete, "{}", all.plan);
    assert!(
        layouts(&all).starts_with(&["4x2", "4x1", "1x2", "2x1"].map(str::to_owned)),
        "{:?}",
        layouts(&all)
    );
    for (layout, report) in &all.reports {
        let cell = &report.cells[0];
        let was_violated = cell.before.verdict == Outcome::Violated;
        assert_eq!(was_violated, layout.ranks() >= 4, "{layout}");
        let after = cell.after.as_ref().map(|after| after.verdict);
        assert_eq!(after, Some(Outcome::Holds), "{layout}: {:#?}", report.warnings);
    }
    let rules = std::fs::read_to_string(site.emitted().join("openmpi-coll-rules.conf")).unwrap();
    assert!(
        rules.lines().any(|line| line.split_whitespace().next() == Some("8")),
        "{rules}"
    );
}

/// An allocation has room for some layouts, the next one goes on, and one with fewer nodes does what fits and leaves the files alone.
#[test]
fn further_allocations_go_on_where_the_last_one_was() {
    let (directory, site) = site(slow_on_nodes().slower(SLOWER));
    let four = hosts(directory.path(), 4);
    let first = tuned(&site, &four, "--budget=100");
    assert!(!first.is_complete && first.jobs > 0, "{}", first.plan);
    let begun = layouts(&first);
    assert!((1..4).contains(&begun.len()), "{begun:?}\n{}", first.plan);
    let files = || std::fs::read_to_string(site.emitted().join("openmpi-coll-rules.conf")).unwrap();
    let before = files();

    let smaller = tuned(&site, &hosts(directory.path(), 2), "--budget=100");
    assert!(!smaller.is_complete, "{}", smaller.plan);
    assert!(
        smaller.plan.contains("Begun in larger allocations: 4x2"),
        "{}",
        smaller.plan
    );
    assert!(
        layouts(&smaller).iter().all(|layout| !layout.starts_with('4')),
        "{:?}",
        layouts(&smaller)
    );
    assert_eq!(files(), before);

    let last = tuned(&site, &four, "--budget=4h");
    assert!(
        last.is_complete && last.plan.contains("done in an earlier allocation"),
        "{}",
        last.plan
    );
    let all = layouts(&last);
    assert!(all.starts_with(&begun), "{all:?} after {begun:?}");
    for one in ["4x2", "4x1", "1x2", "2x1", "2x2"] {
        assert!(all.iter().any(|layout| layout == one), "{one} in {all:?}");
    }
}

/// With nothing said but the budget, sizes and functions are as many as it has room for.
#[test]
fn a_short_budget_has_fewer_sizes_and_functions() {
    let (directory, site) = site(ScriptedLibrary::new());
    let hostfile = hosts(directory.path(), 4);
    let plan = |budget: &str| site.plan_machine(&["--whole-machine", &hostfile, budget]).unwrap();
    assert!(
        plan("--budget=12h").contains("sizes 1..1MiB:x4, all functions"),
        "{}",
        plan("--budget=12h")
    );
    let short = plan("--budget=5m");
    assert!(short.contains("sizes 8,8KiB,256KiB, allreduce,bcast,reduce"), "{short}");
}
