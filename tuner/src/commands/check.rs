//! `kilter check`: verify and report.

use kilter_model::setup::Setup;
use kilter_search::verification::{Allowance, verify};

use super::{Status, measuring};
use crate::reporting;
use crate::{cli, options};

pub(super) fn run(typed: cli::Measure) -> anyhow::Result<Status> {
    let options = options::measuring(typed)?;
    measuring::with_report(&options, "check", &[], |context| {
        let verification = verify(
            &context.jobs,
            &context.plan,
            &context.facts,
            "check",
            &Setup::default(),
            Allowance::ALL,
        )?;
        Ok(reporting::of_check(
            &context.jobs,
            &context.plan,
            &context.quarantine,
            &verification,
        ))
    })
}
