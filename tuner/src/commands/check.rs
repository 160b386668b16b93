//! `kilter check`: verify and report.

use super::{Status, measuring};
use crate::cli;
use crate::context::Setup;
use crate::options::Options;
use crate::reporting;
use crate::verification::{Allowance, verify};

pub(super) fn run(typed: cli::Measure) -> anyhow::Result<Status> {
    let options = Options::new(typed)?;
    measuring::with_report(&options, "check", &[], |context| {
        let verification = verify(context, "check", &Setup::default(), Allowance::ALL)?;
        Ok(reporting::of_check(context, &verification))
    })
}
