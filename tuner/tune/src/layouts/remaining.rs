//! Files from which something was taken out: one more launch for each layout, where there is time, shows that what is left loads and acts.
//!
//! Its times were proven together with what was taken out, and are not measured again.

use std::collections::BTreeSet;

use kilter_emit::{self as emit, Emitted};
use kilter_model::plan::Subject;
use kilter_search::proof;
use kilter_search::verification::show;

use super::measured::{Measured, PHASE};
use super::member::Member;
use super::merge::Merged;
use super::turns::Turns;

/// Launches of a layout: one that times a little, and one that counts messages.
const LAUNCHES: f64 = 2.0;

/// Launches the remaining files once for each layout, unless the time has no room for all of them; true if it did. What the drop-in ran there takes the
/// place of what it ran before.
///
/// # Errors
/// A launch that fails under the files, or a setting that does not take effect.
pub(super) fn launch(
    members: &[Member<'_, '_>],
    label: &str,
    (merged, emitted): (&Merged, &Emitted),
    measured: &mut [Measured],
    turns: &Turns,
) -> anyhow::Result<bool> {
    let label = format!("{label}/remaining");
    let seconds: f64 = members
        .iter()
        .map(|one| LAUNCHES * one.context.jobs.launch_seconds())
        .sum();
    if !turns.has_room(seconds) {
        return Ok(false);
    }
    for (index, (member, measured)) in members.iter().zip(measured).enumerate() {
        let (jobs, proofs) = (&member.context.jobs, &member.context.proofs);
        turns.to_verify(&jobs.budget, members.len() - index);
        let setup = emit::staged(jobs, emitted)?;
        let deployed = merged.deployment(member.layout);
        let chosen = deployed.selections.keys();
        let subjects: BTreeSet<Subject> = chosen.map(|(one, bytes)| Subject::library(*one, *bytes)).collect();
        let allotted = jobs.budget.total_seconds();
        let idle = jobs.budget.last_phase(PHASE, allotted, || -> anyhow::Result<_> {
            measured.after.dropin_calls = show(jobs, (label.as_str(), &setup), &subjects)?.dropin_calls;
            proof::not_carried_out(jobs, proofs, &label, &setup, &deployed)
        })?;
        for ((collective, bytes), reason) in idle {
            member.context.progress.warn(&format!(
                "layout {}: the rule for {collective} at {bytes} bytes does not act without what was taken out: {reason}; do not deploy it",
                member.layout
            ));
        }
        member.context.progress.finish();
    }
    Ok(true)
}
