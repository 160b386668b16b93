//! `kilter benchmark`: the library's own algorithms and Kilter's, side by side.

use kilter_search::context::Context;
use serde_json::json;

use super::{Status, measuring, print};
use crate::benchmark::options::BenchmarkOptions;
use crate::benchmark::{self, present, search};
use crate::cli;
use crate::reporting;

pub(super) fn run(typed: cli::Benchmark) -> anyhow::Result<Status> {
    let options = BenchmarkOptions::new(typed)?;
    let common = &options.common;
    let collectives: Vec<&str> = options.collectives.iter().map(|one| one.name()).collect();
    let further = [json!({
        "same": options.same,
        "search": options.search,
        "collectives": collectives,
        "network": options.network,
    })
    .to_string()];
    if options.search {
        let work = |context: &Context<'_>| search::run(context, &options);
        return measuring::with_context(common, "benchmark", &further, work, |context, table| {
            let json = kilter_render::json::text(&table)?;
            reporting::write(common, "benchmark-search.json", &json)?;
            context.jobs.run.finish()?;
            print(&if common.json {
                json
            } else {
                present::search_text(&table)
            })?;
            Ok(Status::Holds)
        });
    }
    let work = |context: &Context<'_>| benchmark::run(context.in_job_search(), &options);
    measuring::with_context(common, "benchmark", &further, work, |context, table| {
        let json = kilter_render::json::text(&table)?;
        reporting::write(common, "benchmark.json", &json)?;
        reporting::write(common, "benchmark.csv", &present::csv(&table))?;
        context.jobs.run.finish()?;
        print(&if common.json { json } else { present::text(&table) })?;
        Ok(Status::Holds)
    })
}
