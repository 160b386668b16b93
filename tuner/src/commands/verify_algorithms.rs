//! `kilter verify-algorithms`: the correctness matrix on this library.

use anyhow::Context as _;
use kilter_bench::launch::command::quote;
use kilter_bench::launch::{self, SessionError};
use kilter_bench::progress::Progress;
use kilter_bench::store::Store;
use kilter_model::options::Options;
use kilter_search::correctness::{self, Inquiry, Launching, table};

use super::{Status, print};
use crate::cli;
use crate::launcher::{self, InUse};
use crate::options::VerifyOptions;

pub(super) fn run(typed: cli::VerifyAlgorithms) -> anyhow::Result<Status> {
    let options = VerifyOptions::new(typed)?;
    let common = &options.common;
    launch::process::become_subreaper()?;
    launch::interrupt::install()?;
    std::fs::create_dir_all(&common.out).with_context(|| format!("`{}` cannot be made", common.out.display()))?;
    let InUse {
        library,
        version,
        programs,
        remark,
        ..
    } = launcher::find(common)?;
    let inquiry = Inquiry {
        plugin: options.plugin.clone().map_or_else(|| programs.plugin(), Ok)?,
        rows: options.rows.clone(),
        case: options.case.clone(),
        depth: options.depth,
    };
    let template = launcher::template(common, &library)?;
    let launching = Launching {
        bench: &launch::Machine,
        options: common,
        program: programs.verifier()?,
        template: &template,
        directory: common.out.join("launches"),
        usual_start_seconds: None,
    };
    let store = Store::open(&common.db)?;
    let (library, machine) = (
        correctness::library_name(&library, &version),
        correctness::machine(common),
    );
    let progress = Progress::new(common.quiet);
    if let Some(remark) = remark {
        progress.warn(&remark.text);
    }
    let mut outcomes = Vec::new();
    for &ranks in &options.ranks {
        let found = match correctness::verify(&launching, ranks, &inquiry, &progress) {
            Ok(found) => found,
            Err(error) => {
                progress.finish();
                if let Some(SessionError::Interrupted { signal }) = error.downcast_ref() {
                    eprintln!("kilter: interrupted; what was verified on fewer ranks is stored");
                    return Ok(Status::Interrupted(launch::interrupt::exit_status(*signal)));
                }
                return Err(error);
            }
        };
        for failure in &found.library_failures {
            progress.warn(&format!(
                "the library's own collective is wrong on {ranks} ranks ({}: {}); report it to its developers",
                failure.case, failure.reason
            ));
        }
        for failure in &found.varying {
            progress.warn(&format!(
                "on {ranks} ranks the library's own results differ from call to call ({}: {}): no row can equal them",
                failure.case, failure.reason
            ));
        }
        correctness::record(&store, (&library, &machine), &inquiry, &found.outcomes)?;
        outcomes.extend(found.outcomes);
    }
    progress.finish();
    anyhow::ensure!(
        !outcomes.is_empty(),
        "`{}` has no row that was asked for",
        inquiry.plugin.display()
    );
    let further = further(common, &options);
    print(&if common.json {
        table::json((&library, &machine), &inquiry, &outcomes, &further)?
    } else {
        table::text(&outcomes, &further)
    })?;
    let wrong = outcomes.iter().any(|outcome| outcome.failed > 0);
    // A row that a number of ranks does not suit is no fault; a job that compared nothing at all has shown nothing.
    let nothing = outcomes.iter().all(|outcome| outcome.cases == 0);
    Ok(if wrong || nothing {
        Status::Violations
    } else {
        Status::Holds
    })
}

/// Options of a launch that reproduces a failure.
fn further(common: &Options, options: &VerifyOptions) -> String {
    let mut words = String::new();
    let mut add = |option: &str, value: String| words.push_str(&format!(" {option} {}", quote(&value)));
    if let Some(plugin) = &options.plugin {
        add("--plugin", plugin.display().to_string());
    }
    if common.mpirun != std::path::Path::new("mpirun") {
        add("--mpirun", common.mpirun.display().to_string());
    }
    for (name, value) in &common.site_parameters {
        add("--mca", format!("{name}={value}"));
    }
    for (name, value) in &common.site_environment {
        add("--env", format!("{name}={value}"));
    }
    if let Some(hostfile) = &common.hostfile {
        add("--hostfile", hostfile.display().to_string());
    }
    words
}
