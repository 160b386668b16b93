//! `kilter doctor`: checks that this machine is fit for measurements.

use kilter_bench::launch;

use super::{Status, print};
use crate::doctor::render::{self, Examination};
use crate::doctor::{self, Level, gather};
use crate::{cli, options};

pub(super) fn run(typed: cli::Measure) -> anyhow::Result<Status> {
    let options = options::measuring(typed)?;
    launch::process::become_subreaper()?;
    launch::interrupt::install()?;
    let facts = gather::all(&options);
    let examination = Examination::new(&facts.library, options.ranks, doctor::examine(&facts));
    print(&if options.json {
        kilter_render::json::text(&examination)?
    } else {
        render::text(&examination)
    })?;
    Ok(match examination.level {
        Level::Fit | Level::Unknown | Level::Note => Status::Holds,
        Level::Warning => Status::Violations,
        Level::Error => Status::Unfit,
    })
}
