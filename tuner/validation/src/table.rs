//! The tables of `kilter validate-statistics`, readable without colour.

use std::fmt::Write as _;

use kilter_render::table::{plain, trimmed};

use super::machine::Noise;
use super::power::SLOWDOWNS;
use super::rate::Rate;
use super::targets::RATIOS;
use super::{Validation, hard, monotony, power, runs, single, targets};

/// Everything as text with a final newline.
#[must_use]
pub fn text(found: &Validation) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "Scripted times, {} comparisons per condition, seed {}. An exclamation mark: outside of what is promised.",
        found.trials, found.seed
    );
    let _ = writeln!(
        out,
        "\nFalse violations of one test at 5 %: both sides are the same (launches left/right)\n{}",
        singles(&found.single)
    );
    let _ = writeln!(
        out,
        "\nFalse decisions in whole runs, at most 5 % [95 % interval of the largest]\n{}",
        whole_runs(&found.runs)
    );
    let _ = writeln!(
        out,
        "\nSlowdowns found in runs of 300 cells unless said, Holm over all\n{}",
        powers(&found.power)
    );
    let _ = writeln!(
        out,
        "\nMonotony with 20 launches that vary by 7 %, 12 functions and 300 other cells:\n\
         runs in which the defect was found / violated sizes found\n{}",
        monotonies(&found.monotony)
    );
    let cost = &found.cost;
    let _ = writeln!(
        out,
        "\nBenchmark seconds for {} cells\n fixed, 10 launches of 1000 repetitions: {:.0} s, {} cells decided\n \
         sequential, {:.1} launches of 25 repetitions in the mean: {:.1} s, {} cells decided\n {:.3} of the seconds; \
         {} of {} cells that both decided agree{}",
        cost.cells,
        cost.fixed_seconds,
        cost.fixed_decided,
        cost.mean_launches,
        cost.sequential_seconds,
        cost.sequential_decided,
        cost.fraction(),
        cost.agreed,
        cost.both_decided,
        mark(!cost.passed()),
    );
    let _ = writeln!(
        out,
        "\nRuns of 100 cells under hard conditions, by the default test: runs with a false violation, cells 10 % slower said to hold,\n\
         cells 30 % slower found (and unstable), runs whose launches were found to depend on each other\n{}",
        hards(&found.hard)
    );
    let _ = writeln!(
        out,
        "\nTargets for overlap, ratio at most 0.2, 15 cells of the same true ratio in a run:\n\
         cells that hold / are undecided / are missed (runs with a missed one, launches)\n{}",
        for_targets(&found.targets)
    );
    let verdict = if found.passed() {
        "Every rate is within what is promised."
    } else {
        "Some rates are outside of what is promised: see the exclamation marks."
    };
    let _ = writeln!(out, "\n{verdict}");
    out
}

fn mark(outside: bool) -> &'static str {
    if outside { " !" } else { "" }
}

fn percent(rate: &Rate) -> String {
    format!("{:.1} %", 100.0 * rate.share())
}

fn noises(first: &[&'static str]) -> Vec<&'static str> {
    first.iter().copied().chain(Noise::ALL.map(Noise::name)).collect()
}

fn singles(rows: &[single::Row]) -> String {
    let mut table = plain(&noises(&["test", "launches"]), &[1, 2, 3, 4, 5, 6]);
    for group in rows.chunks(Noise::ALL.len()) {
        let Some(first) = group.first() else { continue };
        let mut fields = vec![
            first.test.to_owned(),
            format!("{}/{}", first.launches.0, first.launches.1),
        ];
        fields.extend(group.iter().map(|row| {
            let rate = &row.false_violations;
            percent(rate) + mark(!rate.at_most(row.nominal))
        }));
        table.add_row(fields);
    }
    trimmed(&table)
}

fn whole_runs(rows: &[runs::Row]) -> String {
    let mut head = noises(&["judged", "counted"]);
    head.push("interval");
    let mut table = plain(&head, &[2, 3, 4, 5, 6, 7]);
    for group in rows.chunks(Noise::ALL.len()) {
        let largest = group
            .iter()
            .max_by(|a, b| a.false_decisions.share().total_cmp(&b.false_decisions.share()));
        let Some(largest) = largest else { continue };
        let (low, high) = largest.false_decisions.interval();
        let mut fields = vec![largest.what.to_owned(), largest.counted.to_owned()];
        fields.extend(group.iter().map(|row| {
            let rate = &row.false_decisions;
            percent(rate) + mark(!rate.at_most(row.nominal))
        }));
        fields.push(format!("[{:.1}, {:.1}]", 100.0 * low, 100.0 * high));
        table.add_row(fields);
    }
    trimmed(&table)
}

fn hards(rows: &[hard::Row]) -> String {
    let head = [
        "design",
        "launches",
        "false violations",
        "false holds",
        "found",
        "unstable",
        "dependent",
        "mean launches",
    ];
    let mut table = plain(&head, &[2, 3, 4, 5, 6, 7]);
    for row in rows {
        let held = |rate: &Rate| percent(rate) + mark(!rate.at_most(row.nominal));
        table.add_row([
            row.design.to_owned(),
            row.condition.name().to_owned(),
            held(&row.false_violations),
            held(&row.false_holds),
            percent(&row.found) + mark(!row.is_found()),
            percent(&row.unstable),
            percent(&row.dependent) + mark(!row.is_not_accused()),
            format!("{:.1}", row.mean_launches),
        ]);
    }
    trimmed(&table)
}

fn powers(rows: &[power::Row]) -> String {
    let slowdowns: Vec<String> = SLOWDOWNS
        .iter()
        .map(|slowdown| format!("{:.0} %", 100.0 * slowdown))
        .collect();
    let mut head = vec!["design", "launches"];
    head.extend(slowdowns.iter().map(String::as_str));
    head.push("mean launches");
    let mut table = plain(&head, &[2, 3, 4, 5, 6, 7]);
    for group in rows.chunks(SLOWDOWNS.len()) {
        let Some(first) = group.first() else { continue };
        let mut fields = vec![first.design.name().to_owned(), first.launches.to_owned()];
        fields.extend(group.iter().map(|row| {
            let broken = row.promised.is_some_and(|promised| !row.found.at_least(promised));
            percent(&row.found) + mark(broken)
        }));
        fields.push(format!("{:.1}", first.mean_launches));
        table.add_row(fields);
    }
    trimmed(&table)
}

fn for_targets(rows: &[targets::Row]) -> String {
    let mut table = plain(&["launches", "ratio", "3 launches", "3, then more"], &[1, 2, 3]);
    // One design after the other, each with the same conditions.
    let (one_look, two_looks) = rows.split_at(rows.len() / 2);
    for (index, (one, two)) in one_look.iter().zip(two_looks).enumerate() {
        let fields = |row: &targets::Row| {
            let open = 100.0 * (1.0 - row.holds.share() - row.missed.share());
            format!(
                "{} / {:.1} % / {} ({}, {:.1}){}",
                percent(&row.holds),
                open.abs(),
                percent(&row.missed),
                percent(&row.runs_with_missed),
                row.mean_launches,
                mark(!row.is_kept())
            )
        };
        let condition = if index % RATIOS.len() == 0 { one.launches } else { "" };
        table.add_row([condition.to_owned(), one.ratio.to_string(), fields(one), fields(two)]);
    }
    trimmed(&table)
}

fn found(found: &monotony::Found) -> String {
    format!("{} / {}", percent(&found.defects), percent(&found.sizes))
}

fn monotonies(rows: &[monotony::Row]) -> String {
    let head = [
        "sizes",
        "violation",
        "two per size",
        "all pairs, flat",
        "neighbours only",
    ];
    let mut table = plain(&head, &[0, 2, 3, 4]);
    for row in rows {
        table.add_row([
            row.sizes.to_string(),
            row.violation.to_owned(),
            found(&row.two_per_size),
            found(&row.all_pairs),
            found(&row.neighbours),
        ]);
    }
    trimmed(&table)
}
