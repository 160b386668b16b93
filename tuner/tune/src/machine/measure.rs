//! Goes through the layouts of a machine, one after the other, as long as the seconds last.

use kilter_model::layout::Layout;
use kilter_predict::Observation;
use kilter_search::context::Context;

use super::costs::Costs;
use super::grid::Role;
use super::observations;
use super::schedule::Schedule;
use super::state::State;
use crate::Tuned;
use crate::layouts::prove::Member;
use crate::layouts::turns::Turns;

/// The part of a command for each layout: it knows options, store and reports.
pub trait Steps<'a, 'c> {
    /// Begins or resumes the run of a layout.
    ///
    /// # Errors
    /// Reason for which it does not begin.
    fn begin(&self, layout: Layout) -> anyhow::Result<&'a Context<'c>>;

    /// Runs the loop of a layout.
    ///
    /// # Errors
    /// A failure that ends the command.
    fn tune(&self, layout: Layout, context: &'a Context<'c>) -> anyhow::Result<Tuned>;

    /// Keeps what was begun, so that another allocation goes on.
    ///
    /// # Errors
    /// A file that cannot be written.
    fn keep(&self, state: &State) -> anyhow::Result<()>;
}

/// The layouts that were tuned.
pub struct Measured<'a, 'c> {
    /// In their order.
    pub members: Vec<Member<'a, 'c>>,
    /// Times that were measured there.
    pub observations: Vec<Observation>,
    /// True if no further layout is worth its seconds; false if the seconds ended first.
    pub is_complete: bool,
}

/// Share of what a layout needs with which it is begun if the plan had room for the whole.
const LEAST_SHARE: f64 = 0.3;

/// Tunes layouts until none is left whose decisions are uncertain, or the seconds are spent but for the proof of all.
///
/// # Errors
/// An error that ends the command; what was measured is stored, and the same command goes on.
pub fn measure<'a, 'c>(
    schedule: &Schedule,
    state: &mut State,
    turns: &Turns,
    steps: &impl Steps<'a, 'c>,
) -> anyhow::Result<Measured<'a, 'c>> {
    let mut members: Vec<Member<'a, 'c>> = Vec::new();
    let mut seen: Vec<Observation> = Vec::new();
    loop {
        let done: Vec<Layout> = members.iter().map(|member| member.layout).collect();
        let Some(layout) = schedule.next(&done, &seen) else {
            return Ok(Measured {
                members,
                observations: seen,
                is_complete: schedule.elsewhere.is_empty(),
            });
        };
        let planned = schedule.planned(layout);
        let items = planned.map_or(0, |planned| planned.sides);
        let costs = Costs { factor: state.factor };
        let needed = costs.of_layout(layout.ranks(), items).seconds;
        // Layouts that were done may go on in their parts, and leave less to one that the plan has room for.
        let is_planned = schedule.now.iter().any(|planned| planned.layout == layout);
        let least = if is_planned { LEAST_SHARE * needed } else { needed };
        if !members.is_empty() && !state.is_done(layout) && !turns.has_room_to_tune(least) {
            return Ok(Measured {
                members,
                observations: seen,
                is_complete: false,
            });
        }
        let context = steps.begin(layout)?;
        state.begin(layout);
        steps.keep(state)?;
        let waiting = schedule
            .now
            .iter()
            .filter(|planned| !done.contains(&planned.layout))
            .count();
        context.progress.note(&format!(
            "layout {layout} ({} of {}): {} ranks, {}",
            done.len() + 1,
            done.len() + waiting.max(1),
            layout.ranks(),
            planned.map_or(Role::Further, |planned| planned.role)
        ));
        turns.to_tune(&context.jobs.budget, waiting);
        let tuned = steps.tune(layout, context)?;
        let budget = &context.jobs.budget;
        // Its loop came to its end, or had the seconds that it needs.
        if budget.left_seconds() >= context.jobs.launch_seconds() || budget.total_seconds() >= needed {
            state.end(layout);
        }
        if tuned.before.seconds > 0.0 {
            state.factor = Costs::measured(layout.ranks(), items, tuned.before.seconds).factor;
        }
        steps.keep(state)?;
        seen.extend(observations::of(layout, &tuned.before.medians, &tuned.contests));
        members.push(Member { layout, context, tuned });
    }
}
