//! Benchmarks as text and CSV.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, Table, presets};
use kilter_render::format;
use kilter_render::table::trimmed;

use super::Benchmark;
use super::search::{Effort, SearchBenchmark, WITHIN};

/// The results as text.
#[must_use]
pub fn text(benchmark: &Benchmark) -> String {
    let Benchmark {
        library, ranks, same, ..
    } = benchmark;
    let what = if *same {
        "Kilter's algorithms against the library forced to the same"
    } else {
        "The best of Kilter against the best of the library"
    };
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let bounded = benchmark.network.is_some();
    let mut header = vec![
        "collective",
        "size",
        "default",
        "library",
        "",
        "Kilter",
        "",
        "ratio",
        "95 %",
    ];
    if !same {
        header.push("mock-up");
    }
    if bounded {
        header.extend(["bound", "Kilter/bound"]);
    }
    table.set_header(header);
    for row in &benchmark.rows {
        let mut fields = vec![
            row.collective.clone(),
            format::bytes(row.bytes),
            format::seconds(row.default_seconds),
            format::seconds(row.library.seconds),
            short(&row.collective, &row.library.id),
            format::seconds(row.kilter.seconds),
            short(&row.collective, &row.kilter.id),
            format::ratio(row.ratio),
            format::interval(row.ratio_interval),
        ];
        if !same {
            let mockup = row.mockup.as_ref();
            fields.push(mockup.map_or(String::new(), |mockup| format::seconds(mockup.seconds)));
        }
        if bounded {
            let bound = row.bound_seconds;
            fields.push(bound.map_or(String::new(), format::seconds));
            fields.push(bound.map_or(String::new(), |bound| format::ratio(row.kilter.seconds / bound)));
        }
        table.add_row(fields);
    }
    for column in [1, 2, 3, 5, 7] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = format!("{what}: {library}, {ranks} ranks\n{}\n", trimmed(&table));
    text.push_str("Times are medians over launches; ratio: Kilter's time over the library's, within launches.\n");
    if bounded {
        text.push_str("bound: one latency, and the bytes that must enter or leave one host.\n");
    }
    text.push_str(&not_measured(&benchmark.failed, &[]));
    if !benchmark.unmeasured.is_empty() {
        let names = benchmark.unmeasured.join(", ");
        text.push_str(&format!(
            "No valid repetition of the library's default or of any of Kilter's rows, since ranks missed the common start: {names}\n"
        ));
    }
    text.push_str(&not_measured(&BTreeMap::new(), &benchmark.not_reached));
    text
}

/// The benchmark of the search as text.
#[must_use]
pub fn search_text(benchmark: &SearchBenchmark) -> String {
    let SearchBenchmark { library, ranks, .. } = benchmark;
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "collective",
        "size",
        "candidates",
        "default",
        "found",
        "",
        "best",
        "",
        "ratio",
        "95 %",
    ]);
    for row in &benchmark.rows {
        table.add_row([
            row.collective.clone(),
            format::bytes(row.bytes),
            row.candidates.to_string(),
            format::seconds(row.default_seconds),
            format::seconds(row.found.seconds),
            short(&row.collective, &row.found.id),
            format::seconds(row.best.seconds),
            short(&row.collective, &row.best.id),
            format::ratio(row.ratio),
            format::interval(row.ratio_interval),
        ]);
    }
    for column in [1, 2, 3, 4, 6, 8] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let effort = |one: &Effort| format!("{} launches, {:.0} s", one.launches, one.seconds);
    let mut text = format!(
        "The search against every candidate in a launch of its own: {library}, {ranks} ranks\n{}\n",
        trimmed(&table)
    );
    text.push_str(&format!(
        "Search: {}. Every candidate: {}. That is 1/{:.0} of the launches.\n",
        effort(&benchmark.search),
        effort(&benchmark.exhaustive),
        1.0 / benchmark.share_of_launches()
    ));
    let [few, many] = [&benchmark.search, &benchmark.exhaustive].map(|one| one.of_settings);
    if many > 0 {
        text.push_str(&format!(
            "Of these, {few} and {many} try algorithms that are settings of whole launches: the search in launches for all cells together, the \
             other side in one for each cell.\n"
        ));
    }
    text.push_str(&format!(
        "Within {} of the best: {} of {}. Times are medians of jobs in which both, and the three fastest of all, were measured again.\n",
        format::percent(WITHIN - 1.0),
        benchmark.found(),
        format::count(benchmark.rows.len(), "cell"),
    ));
    text.push_str(&not_measured(&benchmark.failed, &benchmark.not_reached));
    text
}

fn not_measured(failed: &BTreeMap<String, String>, not_reached: &[String]) -> String {
    let mut text = String::new();
    for (id, reason) in failed {
        // A library's message about a crash may be pages long. The job is named, and its log has the rest.
        let first = reason.lines().next().unwrap_or_default();
        text.push_str(&format!("Not measured: {id}: {first}\n"));
    }
    if !not_reached.is_empty() {
        let names = not_reached.join(", ");
        text.push_str(&format!("Not reached within the budget (raise --budget): {names}\n"));
    }
    text
}

/// Shortens an id by the words of its line: `coll_tuned_reduce_algorithm=5` becomes `algorithm=5`, and
/// `MPIR_CVAR_REDUCE_INTRA_ALGORITHM=5` becomes `ALGORITHM=5`.
fn short(collective: &str, id: &str) -> String {
    id.replace(&format!("coll_tuned_{collective}_"), "")
        .replace(&format!("MPIR_CVAR_{}_INTRA_", collective.to_uppercase()), "")
        .replace("MPIR_CVAR_", "")
        .replace(&format!("{collective}."), "")
}

/// A line per comparison.
#[must_use]
pub fn csv(benchmark: &Benchmark) -> String {
    let mut text = String::from(
        "library,ranks,collective,bytes,default_seconds,library_id,library_seconds,kilter_id,kilter_seconds,ratio,ratio_low,\
         ratio_high,mockup_id,mockup_seconds,bound_seconds\r\n",
    );
    for row in &benchmark.rows {
        let mockup = row.mockup.as_ref();
        let fields = [
            benchmark.library.clone(),
            benchmark.ranks.to_string(),
            row.collective.clone(),
            row.bytes.to_string(),
            row.default_seconds.to_string(),
            row.library.id.clone(),
            row.library.seconds.to_string(),
            row.kilter.id.clone(),
            row.kilter.seconds.to_string(),
            row.ratio.to_string(),
            row.ratio_interval.0.to_string(),
            row.ratio_interval.1.to_string(),
            mockup.map_or(String::new(), |mockup| mockup.id.clone()),
            mockup.map_or(String::new(), |mockup| mockup.seconds.to_string()),
            row.bound_seconds.map_or(String::new(), |bound| bound.to_string()),
        ];
        text.push_str(&fields.map(|field| kilter_render::quoting::field(&field)).join(","));
        text.push_str("\r\n");
    }
    text
}
