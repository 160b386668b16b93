//! Subjects under a deployment and in the untouched library, in launches of their own and in turn.

use std::collections::BTreeSet;

use kilter_model::plan::{self, Subject};
use kilter_model::setup::Setup;
use kilter_protocol::plan::Operand;

use super::allowance::{Allowance, Limit};
use super::launches::{Timed, launch};
use super::side_by_side::UNTOUCHED;
use super::{InTurn, Verification, other_type};
use crate::context::Jobs;
use crate::{FEWEST_OF_PROOF, PROOF_LAUNCHES};

/// Measures `subjects` in launches under `setup`, each followed by one of the untouched library; `None` where the budget has no room for
/// launches from which something would follow. Calls that combine data do so with elements of this type, if there is one.
///
/// # Errors
/// A launch that failed although nothing but the untouched or verified library ran in it.
pub fn measure_in_turn(
    jobs: &Jobs<'_>,
    (label, setup): (&str, &Setup),
    (subjects, operand): (&BTreeSet<Subject>, Option<Operand>),
) -> anyhow::Result<Option<InTurn>> {
    let options = jobs.site.options;
    let launches = options.launches.min(PROOF_LAUNCHES);
    let limit = Limit::new(Allowance::ALL, jobs.budget.spent_seconds(), jobs.budget.total_seconds());
    let (mut deployed, mut untouched) = (Timed::default(), Timed::default());
    let mut unused = Verification::default();
    jobs.progress.phase(
        &format!("{label}: {launches} launches, and as many of the untouched library"),
        (2 * launches * subjects.len()) as u64,
    );
    let untouched_setup = Setup::default();
    let (mut made, mut dearest) = (0, 0.0_f64);
    while made < launches && limit.left(jobs.budget.spent_seconds()) > dearest {
        let begin = jobs.budget.spent_seconds();
        let sides = [
            (setup, "", &mut deployed),
            (&untouched_setup, UNTOUCHED, &mut untouched),
        ];
        for (setup, suffix, timed) in sides {
            let name = format!("{label}/{made}{suffix}");
            let mut blocks = plan::blocks(subjects, jobs.run.seed, &name, options.repetitions);
            if let Some(operand) = operand {
                blocks = other_type::blocks(&blocks, subjects, (options, operand));
            }
            let launched = launch(jobs, &name, setup, blocks, &mut unused, None)?;
            timed.collect(made, &launched.blocks, &launched.outcomes, &mut unused.failed);
            other_type::collect(timed, made, &launched.blocks, &launched.outcomes);
        }
        dearest = dearest.max(jobs.budget.spent_seconds() - begin);
        made += 1;
    }
    Ok((made >= FEWEST_OF_PROOF.min(launches)).then(|| InTurn {
        deployed: deployed.medians(),
        untouched: untouched.medians(),
        launches: made,
    }))
}
