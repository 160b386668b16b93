//! One staging directory for all layouts, and the proof of it on each.

use std::path::Path;

use kilter_bench::budget::Budget;
use kilter_bench::launch::JobFailure;
use kilter_emit::decisions::{Decisions, Part, communicators};
use kilter_emit::{self as emit, Emitted};
use kilter_model::deployment::{Deployment, Selection};
use kilter_model::plan::Subject;
use kilter_model::setup::Setup;
use kilter_predict::Map;
use kilter_search::verification::{InTurn, Medians};

use super::measured::{Measured, measure};
pub use super::member::Member;
use super::merge::{Chosen, Extent, LeftOut, Merged, merge};
use super::turns::Turns;
use super::{digest, predicted, remaining};

/// Contents of the merged files.
#[derive(Debug)]
pub struct Proven {
    /// The decisions.
    pub merged: Merged,
    /// The files; `None` where nothing is deployed.
    pub emitted: Option<Emitted>,
}

/// Merges the decisions into `directory`, with confirmed predictions of `map` for layouts beside them, and verifies each layout from its files.
///
/// # Errors
/// A setting that no file can carry, a file that cannot be written, a launch that fails under the files.
pub fn prove(
    members: &mut [Member<'_, '_>],
    directory: &Path,
    turns: &Turns,
    map: Option<&Map>,
) -> anyhow::Result<Proven> {
    let Some(library) = members.first().map(|member| member.context.site.library.clone()) else {
        anyhow::bail!("no layout is given; give one, such as 8x16");
    };
    let own = members.iter().map(|member| &member.tuned);
    let own: Vec<Deployment> = own.map(|tuned| tuned.deployment.clone()).collect();
    let chosen: Vec<Chosen<'_>> = members
        .iter()
        .zip(&own)
        .map(|(member, deployment)| Chosen {
            layout: member.layout,
            deployment,
        })
        .collect();
    let [any, every] = [Extent::Any, Extent::Every].map(|extent| {
        let merged = merge(&chosen, extent, &library);
        let predicted = map.map(|map| predicted::of(map, &merged, &library)).unwrap_or_default();
        Merged { predicted, ..merged }
    });
    let (mut merged, mut measured) = (any, Vec::new());
    let mut emitted = None;
    let mut label = String::new();
    for _ in 0..2 {
        emitted = None;
        if merged.is_empty() {
            break;
        }
        let written = write(members, &merged, directory)?;
        label = format!("merged/{}", digest::of(&merged));
        // Another attempt needs its seconds.
        let further = if merged == every { 0 } else { members.len() };
        let begin = |budget: &Budget, waiting: usize| turns.to_verify(budget, waiting + further);
        measured = match measure(members, &label, (&merged, &written), begin) {
            Ok(measured) => measured,
            Err(error) => {
                measured = Vec::new();
                merged = if merged == every {
                    Merged::default()
                } else {
                    every.clone()
                };
                say_broken(members, error, &merged)?;
                continue;
            }
        };
        emitted = Some(written);
        // A layout that is spoilt although only its own decisions are in force there blames no other.
        let by_others = |(member, measured): (&Member<'_, '_>, &Measured)| {
            !measured.spoilt.is_empty() && merged.deployment(member.layout) != member.tuned.deployment
        };
        if merged == every || !members.iter().zip(&measured).any(by_others) {
            break;
        }
        let slowed = members.iter().zip(&measured);
        for (member, measured) in slowed.filter(|(_, measured)| !measured.spoilt.is_empty()) {
            member.context.progress.note(&format!(
                "layout {}: {}; only the settings that every layout chose are kept",
                member.layout,
                in_words(&measured.spoilt)
            ));
        }
        merged = every.clone();
    }
    if measured.iter().any(|measured| measured.is_different) {
        // It was asked that this is never deployed.
        for (member, measured) in members
            .iter()
            .zip(&measured)
            .filter(|(_, measured)| measured.is_different)
        {
            member.context.progress.warn(&format!(
                "layout {}: {}; nothing is deployed",
                member.layout,
                in_words(&measured.spoilt)
            ));
        }
        (merged, emitted) = (Merged::default(), None);
    }
    if emitted.is_some() && take_out(members, &chosen, &mut merged, &mut measured) {
        // Predictions rest on the choices that are left.
        merged.predicted = map.map(|map| predicted::of(map, &merged, &library)).unwrap_or_default();
        emitted = if merged.is_empty() {
            None
        } else {
            let written = write(members, &merged, directory)?;
            let is_launched = remaining::launch(members, &label, (&merged, &written), &mut measured, turns)?;
            say_what_is_left(members, is_launched);
            Some(written)
        };
    }
    match &emitted {
        None => emit::staging::clear(directory)?,
        Some(written) => warn(members, &merged, &measured, written),
    }
    let mut measured = measured.into_iter();
    for member in members.iter_mut() {
        let found = measured.next().filter(|_| emitted.is_some());
        take_over(
            member,
            &merged,
            emitted.as_ref(),
            found.map(|found| (found, label.as_str())),
        )?;
    }
    if emitted.is_none() && !tried(members).is_empty() {
        emitted = Some(write(members, &merged, directory)?);
    }
    Ok(Proven { merged, emitted })
}

/// Warns that the files of all layouts ended a job, and says what is left.
///
/// # Errors
/// The error, where it is another one.
fn say_broken(members: &[Member<'_, '_>], error: anyhow::Error, left: &Merged) -> anyhow::Result<()> {
    let Some(failure @ (JobFailure::Crashed { .. } | JobFailure::Hung { .. })) = JobFailure::behind(&error) else {
        return Err(error);
    };
    let consequence = if left.is_empty() {
        "nothing is deployed for all layouts; the `emit` of each has what was proven on it alone"
    } else {
        "only the settings that every layout chose are kept"
    };
    for member in members {
        let text = format!("a job under the files of all layouts failed: {failure}; {consequence}");
        member.context.progress.warn(&text);
    }
    Ok(())
}

/// Runners-up of all layouts, each once.
fn tried<'m>(members: &'m [Member<'_, '_>]) -> Vec<&'m Selection> {
    let mut all: Vec<&Selection> = Vec::new();
    for selection in members.iter().flat_map(|member| &member.tuned.tried) {
        if !all.contains(&selection) {
            all.push(selection);
        }
    }
    all
}

/// Warns that something was taken out, and says what is known of the rest.
fn say_what_is_left(members: &[Member<'_, '_>], is_launched: bool) {
    let shown = if is_launched {
        "a further launch of each layout read the remaining files back"
    } else {
        "the budget had no seconds to launch the remaining files"
    };
    for member in members {
        member.context.progress.warn(&format!(
            "what slowed a layout was taken out of the files of all layouts, as told with each part; what is left was proven together with it, and {shown}"
        ));
    }
}

/// Takes out what slows a layout, whoever chose it; true if there is anything. The seconds that would prove the rest by itself are spent: it was proven
/// together with what is taken out.
fn take_out(members: &[Member<'_, '_>], chosen: &[Chosen<'_>], merged: &mut Merged, measured: &mut [Measured]) -> bool {
    let Some(Member { context, .. }) = members.first() else {
        return false;
    };
    let library = &context.site.library;
    let each = members.iter().zip(measured.iter());
    let slowed = each.flat_map(|(member, measured)| {
        let notes = measured.spoilt.iter();
        notes.map(|(subject, note)| (member.layout, subject, note.as_str()))
    });
    let slowed: Vec<_> = slowed.collect();
    let gone = merged.take_out(chosen, &slowed, library);
    if gone.is_empty() {
        return false;
    }
    for (member, measured) in members.iter().zip(measured) {
        let (gone, left) = (gone.deployment(member.layout), merged.deployment(member.layout));
        measured.forget(&gone, &left, library);
    }
    true
}

/// Writes the merged files.
fn write(members: &[Member<'_, '_>], merged: &Merged, directory: &Path) -> anyhow::Result<Emitted> {
    let mut parts = Vec::new();
    for (layout, selections) in &merged.selections {
        if let Some(member) = members.iter().find(|member| member.layout == *layout) {
            parts.push(Part {
                communicators: communicators(Some(*layout), layout.ranks()),
                ranks: layout.ranks(),
                selections,
                volumes: &member.context.plan.volumes,
            });
        }
    }
    // Volumes of a neighbour: a decision holds around the volume at which it was measured.
    let volumes = members.iter().max_by_key(|member| member.layout.ranks());
    for (layout, selections) in &merged.predicted {
        if let Some(Member { context, .. }) = volumes {
            parts.push(Part {
                communicators: communicators(Some(*layout), layout.ranks()),
                ranks: layout.ranks(),
                selections,
                volumes: &context.plan.volumes,
            });
        }
    }
    // As tables by size have them.
    parts.sort_by_key(|part| part.ranks);
    let mut transports: Vec<String> = Vec::new();
    for transport in members.iter().flat_map(|member| member.context.facts.transports()) {
        if !transports.contains(&transport) {
            transports.push(transport);
        }
    }
    let decisions = Decisions {
        assignments: &merged.assignments,
        parts,
        layouts: members.iter().map(|member| member.layout).collect(),
        transports,
        left_out: merged.left_out.iter().map(LeftOut::line).collect(),
        tried: tried(members),
    };
    emit::write_to(&members[0].context.jobs, &decisions, directory)
}

/// Warns about everything that got slower, never ran or was left out.
fn warn(members: &[Member<'_, '_>], merged: &Merged, measured: &[Measured], emitted: &Emitted) {
    for (Member { layout, context, .. }, measured) in members.iter().zip(measured) {
        if !measured.spoilt.is_empty() {
            context.progress.warn(&format!(
                "layout {layout}: {}; compare before you deploy",
                in_words(&measured.spoilt)
            ));
        }
        let own = Emitted {
            implementations: implementations(&merged.deployment(*layout)),
            ..emitted.clone()
        };
        emit::confirm_ran(&context.progress, &context.quarantine, &own, &measured.after);
    }
}

fn in_words(spoilt: &[(Subject, String)]) -> String {
    let each = spoilt.iter().map(|(_, note)| note.as_str());
    each.collect::<Vec<_>>().join(", ")
}

/// Implementations that the drop-in must have run.
fn implementations(deployment: &Deployment) -> Vec<String> {
    let mut ids: Vec<String> = deployment
        .selections
        .values()
        .filter_map(|selection| selection.implementation().map(str::to_owned))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Takes over the settings in force in a layout, in place of those of its own files.
fn take_over(
    member: &mut Member<'_, '_>,
    merged: &Merged,
    emitted: Option<&Emitted>,
    measured: Option<(Measured, &str)>,
) -> anyhow::Result<()> {
    let Member { layout, context, tuned } = member;
    let left_out: Vec<&LeftOut> = merged
        .left_out
        .iter()
        .filter(|left_out| left_out.chosen_by.contains(layout))
        .collect();
    for left_out in &left_out {
        context
            .progress
            .warn(&format!("not in the files of all layouts: {}", left_out.line()));
    }
    let deployment = merged.deployment(*layout);
    let now = match &measured {
        Some((measured, _)) => &measured.after,
        None => &tuned.before,
    };
    if !left_out.is_empty() {
        let lines: Vec<String> = left_out.iter().map(|left_out| left_out.line()).collect();
        let reason = format!(
            "the files of all layouts leave out changes that may have fixed it; the layout's own `emit` has them: {}",
            lines.join("; ")
        );
        let known = tuned.ledger.reasons();
        for judged in now.violated() {
            let name = judged.cell.name();
            if !known.contains_key(&name) {
                tuned.ledger.give_up(name, &reason);
            }
        }
    }
    match measured {
        Some((measured, label)) => {
            match emitted.filter(|_| deployment != Deployment::default()) {
                Some(emitted) => {
                    let setup: Setup = emit::staged(&context.jobs, emitted)?;
                    // Confirmed layout by layout: nothing is proposed any more that this could speak against.
                    tuned
                        .goals
                        .judge_deployed(&context.jobs, &context.facts, label, &setup)?;
                }
                None => tuned.goals.nothing_deployed(),
            }
            tuned.arrivals = measured.arrivals;
            tuned.after = Some(measured.after);
            tuned.untouched = measured.untouched;
            tuned.again = InTurn::default();
        }
        None => {
            tuned.after = None;
            tuned.arrivals.clear();
            tuned.untouched = Medians::new();
            tuned.again = InTurn::default();
            tuned.goals.nothing_deployed();
        }
    }
    let because = left_out
        .iter()
        .map(|left_out| (left_out.what.as_str(), left_out.line()));
    tuned.goals.keep_only(&deployment.assignments, because);
    tuned.emitted = emitted.cloned();
    tuned.deployment = deployment;
    Ok(())
}
