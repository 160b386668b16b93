//! `report.md`: the answer, the changes and the violated cells, to paste into a ticket or a merge request.

use std::fmt::Write as _;

use kilter_model::report::Report;
use kilter_render::format;
use kilter_stats::verdict::Comparison;

use super::summary::{Standing, Summary, current, not_verified, outcome_word};
use super::{cost_model, looked_better, savings, targets};

/// The report as Markdown with pipe tables.
pub fn to_string(report: &Report) -> String {
    let summary = Summary::of(report);
    let mut out = String::new();
    let _ = writeln!(out, "# {}\n", summary.headline());
    let _ = writeln!(
        out,
        "{} {}, {} on {}; R = {}, α = {}, effect floor {}; {}.",
        text(&report.library.name),
        text(&report.library.version),
        format::count(report.ranks, "rank"),
        text(&report.provenance.hosts.join(", ")),
        report.provenance.launches,
        report.provenance.alpha,
        format::percent(report.provenance.effect_floor),
        text(&report.provenance.started),
    );
    changes(&mut out, report);
    saved(&mut out, report);
    if let Some(sheet) = targets::sheet(report) {
        let _ = write!(out, "\n{}", sheet.to_markdown().replacen("###", "##", 1));
    }
    if let Some(sheet) = looked_better::sheet(report) {
        let _ = write!(out, "\n{}", sheet.to_markdown().replacen("###", "##", 1));
    }
    violations(&mut out, &summary);
    explained(&mut out, report);
    unfixed(&mut out, report, &summary);
    list(
        &mut out,
        "Quarantined",
        report.quarantined.iter().map(|candidate| {
            format!(
                "{}: {}, {}",
                code(&candidate.id),
                candidate.what,
                text(&candidate.detail)
            )
        }),
    );
    list(
        &mut out,
        "Not verified",
        not_verified(report).iter().map(|line| text(line)),
    );
    list(
        &mut out,
        "Warnings",
        report.warnings.iter().map(|warning| text(warning)),
    );
    let _ = writeln!(
        out,
        "\nMade by {} (Kilter {}).",
        code(&report.provenance.command_line),
        text(&report.provenance.kilter_version)
    );
    out
}

fn changes(out: &mut String, report: &Report) {
    if report.changes.is_empty() {
        return;
    }
    out.push_str("\n## Deployed changes\n\n| change | file | gain | why |\n| --- | --- | ---: | --- |\n");
    for change in &report.changes {
        let _ = writeln!(
            out,
            "| {} = {} | {} | {} | {} |",
            code(&change.name),
            code(&change.value),
            code(&change.file),
            format::ratio(change.gain),
            text(&change.why),
        );
    }
}

fn saved(out: &mut String, report: &Report) {
    let Some(table) = savings::table(report) else { return };
    let _ = writeln!(out, "\n## {}\n\n| {} |", table.title, table.head.join(" | "));
    out.push_str("| --- | ---: | ---: | ---: | ---: | ---: |\n");
    for row in table.rows {
        let _ = writeln!(out, "| {} |", row.map(|field| text(&field)).join(" | "));
    }
    let _ = writeln!(out, "\n{}", text(&table.total));
}

fn explained(out: &mut String, report: &Report) {
    for (cell, lines) in cost_model::explained(&report.contests) {
        list(
            out,
            &format!("The cost model of {}", text(&cell)),
            lines.iter().map(|line| text(line)),
        );
    }
}

fn violations(out: &mut String, summary: &Summary<'_>) {
    let tuned = summary.after.is_some();
    let cells = summary.groups.iter().flat_map(|group| &group.cells);
    let mut rows = cells
        .map(|cell| (cell, Standing::of(cell)))
        .filter(|(_, standing)| standing.remains() || matches!(standing, Standing::Fixed | Standing::Unproven))
        .peekable();
    if rows.peek().is_none() {
        return;
    }
    out.push_str("\n## Violated cells\n\n| guideline | size | left | right | ratio | p adj. |");
    out.push_str(if tuned { " after | fix |\n" } else { "\n" });
    out.push_str("| --- | ---: | ---: | ---: | ---: | ---: |");
    out.push_str(if tuned { " --- | --- |\n" } else { "\n" });
    for (cell, _) in rows {
        let before = &cell.before;
        let _ = write!(
            out,
            "| {} {} | {} | {} | {} | {} | {} |",
            text(&cell.guideline),
            code(&cell.expression),
            format::bytes(cell.bytes),
            format::seconds(before.seconds),
            format::seconds(before.right_seconds),
            effect(before),
            format::p_value(before.p_adjusted),
        );
        if tuned {
            let after = cell.after.as_ref().map_or_else(
                || "not measured".to_owned(),
                |after| format!("{}, {}", outcome_word(after.verdict), effect(after)),
            );
            let fix = cell.fix.as_ref().map_or_else(String::new, |fix| code(&fix.id));
            let _ = write!(out, " {after} | {fix} |");
        }
        out.push('\n');
    }
}

fn unfixed(out: &mut String, report: &Report, summary: &Summary<'_>) {
    if report.command == "check" {
        return;
    }
    let cells = summary.groups.iter().flat_map(|group| &group.cells);
    let open = cells.filter(|cell| Standing::of(cell).remains() || Standing::of(cell) == Standing::Unproven);
    list(
        out,
        "Not fixed",
        open.map(|cell| {
            format!(
                "{} {} at {} (ratio {} now): {}",
                text(&cell.guideline),
                code(&cell.expression),
                format::bytes(cell.bytes),
                format::ratio(current(cell).ratio),
                text(cell.unfixed_because.as_deref().unwrap_or("no reason was recorded")),
            )
        }),
    );
}

fn list(out: &mut String, title: &str, items: impl Iterator<Item = String>) {
    for (place, item) in items.enumerate() {
        if place == 0 {
            let _ = writeln!(out, "\n## {title}\n");
        }
        let _ = writeln!(out, "- {item}");
    }
}

fn effect(comparison: &Comparison) -> String {
    format!(
        "{} {}",
        format::ratio(comparison.ratio),
        format::interval(comparison.ratio_ci)
    )
}

/// Text on one line in which nothing is markup.
fn text(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '|' | '[' | ']' | '#' | '~' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A code span in a table; a span cannot hold a backtick, and a pipe would end the table's field.
fn code(raw: &str) -> String {
    let one_line: String = raw
        .chars()
        .map(|c| if c.is_control() || c == '`' { ' ' } else { c })
        .collect();
    if one_line.trim().is_empty() {
        String::new()
    } else {
        format!("`{}`", one_line.replace('|', "\\|"))
    }
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::report as fixture;

    use super::*;

    #[test]
    fn a_tuned_report() {
        let mut report = fixture::tuned();
        report
            .cells
            .retain(|cell| cell.bytes == 4096 || (cell.bytes == 1 && cell.guideline == "GL1"));
        insta::assert_snapshot!(to_string(&report), @r"
        # 4 violations before, 1 after

        Open MPI 4.1.4, 2 ranks on node01; R = 10, α = 0.05, effect floor 5 %; 2026-11-21T05:04:11Z.

        ## Deployed changes

        | change | file | gain | why |
        | --- | --- | ---: | --- |
        | `btl_vader_eager_limit` = `32768` | `openmpi-mca-params.conf` | 2.16 | messages of 4 KiB no longer wait for the receiver: the limit of 4096 includes the header |
        | `MALLOC_MMAP_THRESHOLD_` = `1073741824` | `kilter.env` | 3.30 | the library's temporary of each call stays in the heap instead of being mapped and faulted in anew |
        | `MALLOC_TRIM_THRESHOLD_` = `4294967296` | `kilter.env` | 3.30 | with the threshold above: freed memory is kept for the next call |
        | `scan` = `scan.pipelined_chain` | `profile.json` | 2.40 | no setting of the library reaches the bound; segments travel down a chain of ranks while the next are reduced |

        ## Violated cells

        | guideline | size | left | right | ratio | p adj. | after | fix |
        | --- | ---: | ---: | ---: | ---: | ---: | --- | --- |
        | GL1 `gather(1) <= gather(2)` | 1 B | 1.60 us | 614 ns | 2.61 [2.54, 2.69] | <0.001 | violated, 2.61 [2.54, 2.69] |  |
        | GL1 `reduce(4096) <= reduce(8192)` | 4 KiB | 3.67 us | 2.54 us | 1.44 [1.40, 1.49] | <0.001 | holds, 0.67 [0.65, 0.69] |  |
        | GL8 `reduce(n) <= allreduce(n)` | 4 KiB | 3.67 us | 2.08 us | 1.76 [1.71, 1.82] | <0.001 | holds, 0.81 [0.79, 0.84] | `btl_vader_eager_limit=32768` |
        | GL14 `reduce(n) <= reduce_scatter_block(n) + gather(n)` | 4 KiB | 3.67 us | 2.39 us | 1.54 [1.49, 1.58] | <0.001 | holds, 0.71 [0.69, 0.73] | `btl_vader_eager_limit=32768` |

        ## Not fixed

        - GL1 `gather(1) <= gather(2)` at 1 B (ratio 2.61 now): no candidate reached the bound: 14 settings and gather.binomial were measured, the best (coll\_tuned\_gather\_algorithm=1) is still 2.31 times slower than 2 B; 1 B messages take the library's unaligned copy, which nothing selects

        ## Quarantined

        - `coll_tuned_bcast_algorithm=8`: crashed, rank 1 ended by signal 11 after 0.4 s at 1 MiB; the job's log is jobs/0017/stderr
        - `coll_tuned_scan_algorithm=2`: had no effect, read back as 0 on the fresh communicator

        ## Warnings

        - The processor's frequency is not fixed (governor: schedutil); set it to performance before tuning for production.

        Made by `kilter tune -n 2 --sizes 1..1MiB --launches 10 --seed 42` (Kilter 0.1.0).
        ");
    }

    #[test]
    fn nothing_from_outside_becomes_markup() {
        let mut report = fixture::holding();
        report.library.name = "<b>|*x*".to_owned();
        report.provenance.command_line = "a `b` | c\nd".to_owned();
        let page = to_string(&report);
        assert!(page.contains("&lt;b&gt;\\|\\*x\\*"), "{page}");
        assert!(page.contains("`a  b  \\| c d`"), "{page}");
    }
}
