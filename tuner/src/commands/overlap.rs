//! `kilter overlap`: maps of the overlap of communication with computation.

use kilter_model::setup::Setup;
use kilter_overlap::{agreement, classify, html, json, measure, write};
use kilter_search::context::Context;
use serde_json::json;

use super::{Status, measuring, print};
use crate::reporting;
use crate::{cli, options};

/// The name of a survey's jobs in the database.
const KEY: &str = "overlap";

pub(super) fn run(typed: cli::Overlap) -> anyhow::Result<Status> {
    let options = options::overlap(typed)?;
    let (common, suite) = (&options.common, &options.suite);
    let further = [json!({"suite": suite, "adaptive": options.benchmark_adaptive}).to_string()];
    if options.benchmark_adaptive {
        let work = |context: &Context<'_>| agreement::run(&context.jobs, suite);
        return measuring::with_context(common, "overlap", &further, work, |context, found| {
            let json = kilter_render::json::text(&found)?;
            reporting::write(common, "overlap-agreement.json", &json)?;
            context.jobs.run.finish()?;
            print(&if common.json { json } else { agreement::text(&found) })?;
            Ok(Status::Holds)
        });
    }
    let work = |context: &Context<'_>| measure::survey(&context.jobs, suite, &Setup::default(), KEY);
    measuring::with_context(common, "overlap", &further, work, |context, survey| {
        let json = kilter_render::json::text(&survey)?;
        reporting::write(common, json::FILE, &json)?;
        reporting::write(common, "overlap.csv", &write::csv(&survey))?;
        reporting::write(common, "overlap.html", &html::render(&survey)?)?;
        context.jobs.run.finish()?;
        let classes = || classify::text(&classify::classify(&survey));
        print(&if common.json {
            json
        } else {
            format!("{}\n{}", write::text(&survey), classes())
        })?;
        Ok(Status::Holds)
    })
}
