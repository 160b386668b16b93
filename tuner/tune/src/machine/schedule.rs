//! The part of a machine's layouts that an allocation does, and the rest for further ones.

use std::fmt::Write as _;

use kilter_model::layout::Layout;
use kilter_predict::{Observation, Rules, next_layout};
use kilter_render::format;
use serde_json::json;

use super::Machine;
use super::costs::{Costs, Estimate};
use super::grid::{Role, layouts};
use super::state::State;
use crate::layouts::turns::PROOF_SHARE;

/// Decisions on which less than this share of the time is expected to be lost need no further layout.
pub const LEAST_REGRET: f64 = 0.01;

/// A layout of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// The layout.
    pub layout: Layout,
    /// Its part.
    pub role: Role,
    /// Sides of guidelines that are timed there.
    pub sides: usize,
    /// Estimate of its loop.
    pub estimate: Estimate,
    /// True if its loop ended in an earlier allocation: its samples cost nothing.
    pub is_done: bool,
}

/// The plan of an allocation.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// The machine.
    pub machine: Machine,
    /// Seconds of the allocation.
    pub budget_seconds: f64,
    /// Layouts for which there is room, in their order.
    pub now: Vec<Planned>,
    /// Layouts for which there is none, unless those before them need less than was estimated.
    pub later: Vec<Planned>,
    /// Layouts that were begun in larger allocations, and have no room here.
    pub elsewhere: Vec<Layout>,
}

impl Schedule {
    /// The plan for a budget; `sides` counts what is timed on a layout.
    #[must_use]
    pub fn new(machine: Machine, state: &State, budget_seconds: f64, sides: impl Fn(Layout) -> usize) -> Schedule {
        let costs = Costs { factor: state.factor };
        let mut left = (1.0 - PROOF_SHARE) * budget_seconds;
        let (mut now, mut later) = (Vec::new(), Vec::new());
        let mut all = layouts(machine);
        // A layout that was begun goes on before anything else begins, and one that is done is at hand.
        all.sort_by_key(|(layout, _)| !state.has_begun(*layout));
        for (layout, role) in all {
            let sides = sides(layout);
            let is_done = state.is_done(layout);
            let estimate = costs.of_layout(layout.ranks(), sides);
            let seconds = if is_done { 0.0 } else { estimate.seconds };
            let planned = Planned {
                layout,
                role,
                sides,
                estimate,
                is_done,
            };
            if seconds <= left || now.is_empty() {
                left -= seconds;
                now.push(planned);
            } else {
                later.push(planned);
            }
        }
        let elsewhere = state.begun().filter(|layout| !machine.holds(*layout)).collect();
        Schedule {
            machine,
            budget_seconds,
            now,
            later,
            elsewhere,
        }
    }

    /// True if the ends of the machine and the layout between them have room.
    #[must_use]
    pub fn has_its_ends(&self) -> bool {
        let mut ends = layouts(self.machine)
            .into_iter()
            .filter(|(_, role)| *role != Role::Further);
        ends.all(|(end, _)| self.now.iter().any(|planned| planned.layout == end))
            && self.needed_seconds() <= (1.0 - PROOF_SHARE) * self.budget_seconds
    }

    /// The next layout of those that are left: the ends and the one between first, then where decisions are least certain. `None` where no decision is
    /// uncertain, or nothing is left.
    #[must_use]
    pub fn next(&self, measured: &[Layout], observations: &[Observation]) -> Option<Layout> {
        let left = || self.all().filter(|planned| !measured.contains(&planned.layout));
        if let Some(first) = left().find(|planned| planned.role != Role::Further || planned.is_done) {
            return Some(first.layout);
        }
        // A layout for which the plan had no room may be the one that says most.
        let allowed: Vec<Layout> = left().map(|planned| planned.layout).collect();
        let next = next_layout(observations, &allowed, &Rules::default()).ok().flatten();
        next.filter(|next| next.regret >= LEAST_REGRET).map(|next| next.layout)
    }

    /// All layouts of the machine.
    #[must_use]
    pub fn layouts(&self) -> Vec<Layout> {
        self.all().map(|planned| planned.layout).collect()
    }

    /// A layout of the plan.
    #[must_use]
    pub fn planned(&self, layout: Layout) -> Option<&Planned> {
        self.all().find(|planned| planned.layout == layout)
    }

    fn all(&self) -> impl Iterator<Item = &Planned> {
        self.now.iter().chain(&self.later)
    }

    /// Seconds of all layouts that are not done.
    fn needed_seconds(&self) -> f64 {
        let new = self.now.iter().filter(|planned| !planned.is_done);
        new.map(|planned| planned.estimate.seconds).sum()
    }

    /// The plan in words.
    #[must_use]
    pub fn text(&self, sizes: &str, functions: &[String]) -> String {
        let Machine { nodes, cores } = self.machine;
        let functions = if functions.is_empty() {
            "all functions".to_owned()
        } else {
            functions.join(",")
        };
        let mut out = format!(
            "{} with {}: {} of {} layouts have room in {}; sizes {sizes}, {functions}.\n\n",
            format::count(nodes, "node"),
            format::count(cores, "core"),
            self.now.len(),
            self.now.len() + self.later.len(),
            duration(self.budget_seconds),
        );
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "{:>10} {:>8} {:>7} {:>9} {:>9} {:>11}  part",
            "layout", "ranks", "sides", "launches", "minutes", "node-hours"
        );
        let spread = self.spread();
        let (mut launches, mut minutes, mut hours) = (0.0, 0.0, 0.0);
        for planned in &self.now {
            let Planned {
                layout, role, sides, ..
            } = planned;
            let own = if planned.is_done { 0.0 } else { spread };
            let seconds = own * planned.estimate.seconds;
            let of_launches = own * planned.estimate.launches;
            launches += of_launches;
            minutes += seconds / 60.0;
            hours += seconds / 3600.0 * nodes as f64;
            let part = if planned.is_done {
                "done in an earlier allocation".to_owned()
            } else {
                role.to_string()
            };
            let _ = writeln!(
                out,
                "{:>10} {:>8} {sides:>7} {of_launches:>9.0} {:>9.1} {:>11.1}  {part}",
                layout.to_string(),
                layout.ranks(),
                seconds / 60.0,
                seconds / 3600.0 * nodes as f64,
            );
        }
        let proof = PROOF_SHARE * self.budget_seconds;
        let _ = writeln!(
            out,
            "{:>10} {:>8} {:>7} {launches:>9.0} {:>9.1} {:>11.1}  with the proof of the files of all layouts, {:.1} minutes",
            "all",
            "",
            "",
            minutes + proof / 60.0,
            hours + proof / 3600.0 * nodes as f64,
            proof / 60.0
        );
        let list = |layouts: &[Layout]| layouts.iter().map(Layout::to_string).collect::<Vec<_>>().join(", ");
        if !self.later.is_empty() {
            let _ = writeln!(
                out,
                "\nNot in this time: {}. The same command goes on in a further allocation, with those whose decisions are least certain.",
                list(&self.later.iter().map(|planned| planned.layout).collect::<Vec<_>>())
            );
        }
        if !self.elsewhere.is_empty() {
            let _ = writeln!(
                out,
                "\nBegun in larger allocations: {}. Files of all layouts are written and proven in one that has room for these.",
                list(&self.elsewhere)
            );
        }
        if self.needed_seconds() > (1.0 - PROOF_SHARE) * self.budget_seconds {
            let _ = writeln!(
                out,
                "\nThe budget is short for {}: give about {}.",
                self.now
                    .first()
                    .map(|planned| planned.layout.to_string())
                    .unwrap_or_default(),
                duration((self.needed_seconds() / (1.0 - PROOF_SHARE)).max(60.0)),
            );
        }
        out
    }

    /// The plan for programs: all layouts, each with what it needs at least.
    #[must_use]
    pub fn to_json(&self, sizes: &str, functions: &[String]) -> serde_json::Value {
        let layout = |planned: &Planned| {
            json!({
                "layout": planned.layout.to_string(),
                "ranks": planned.layout.ranks(),
                "part": planned.role.to_string(),
                "sides": planned.sides,
                "launches": planned.estimate.launches,
                "seconds": planned.estimate.seconds,
                "done": planned.is_done,
                "in_this_budget": self.now.contains(planned),
            })
        };
        json!({
            "nodes": self.machine.nodes,
            "cores": self.machine.cores,
            "sizes": sizes,
            "functions": functions,
            "budget_seconds": self.budget_seconds,
            "proof_seconds": PROOF_SHARE * self.budget_seconds,
            "layouts": self.all().map(layout).collect::<Vec<_>>(),
        })
    }

    /// Seconds of a layout over those that it needs at least: what the budget leaves is divided among them.
    fn spread(&self) -> f64 {
        let needed = self.needed_seconds();
        let all = (1.0 - PROOF_SHARE) * self.budget_seconds;
        if needed > 0.0 { all / needed } else { 1.0 }
    }
}

/// Seconds as people say them.
fn duration(seconds: f64) -> String {
    if seconds >= 5400.0 {
        format!("{:.1} hours", seconds / 3600.0)
    } else if seconds >= 90.0 {
        format!("{:.0} minutes", seconds / 60.0)
    } else {
        format!("{seconds:.0} seconds")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine = Machine { nodes: 8, cores: 48 };

    fn schedule(state: &State, budget_seconds: f64) -> Schedule {
        Schedule::new(MACHINE, state, budget_seconds, |_| 200)
    }

    fn names(layouts: impl IntoIterator<Item = Layout>) -> String {
        layouts
            .into_iter()
            .map(|layout| layout.to_string())
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn now(schedule: &Schedule) -> String {
        names(schedule.now.iter().map(|planned| planned.layout))
    }

    #[test]
    fn a_budget_has_room_for_so_many_layouts_and_the_rest_comes_later() {
        let all = schedule(&State::default(), 4.0 * 3600.0);
        assert!(all.later.is_empty() && all.has_its_ends(), "{}", all.text("8", &[]));
        let short = schedule(&State::default(), 600.0);
        assert_eq!(now(&short), "8x48 8x1 1x48 2x1");
        assert!(!short.has_its_ends() && short.later.len() == 7);
        let least = schedule(&State::default(), 10.0);
        assert_eq!(now(&least), "8x48", "one at least");
        assert!(least.text("8", &[]).contains("The budget is short for 8x48"));
    }

    #[test]
    fn a_further_allocation_goes_on_where_the_last_one_was() {
        let mut state = State::default();
        for layout in ["8x48", "8x1"] {
            state.begin(layout.parse().unwrap());
            state.end(layout.parse().unwrap());
        }
        state.begin("1x48".parse().unwrap());
        let next = schedule(&state, 600.0);
        assert_eq!(now(&next), "8x48 8x1 1x48 2x1 4x8 4x1 1x8", "{}", next.text("8", &[]));
        let is_done: Vec<bool> = next.now.iter().map(|planned| planned.is_done).collect();
        assert_eq!(is_done, [true, true, false, false, false, false, false]);
        let smaller = Schedule::new(Machine { nodes: 4, cores: 48 }, &state, 600.0, |_| 200);
        assert_eq!(names(smaller.elsewhere.iter().copied()), "8x48 8x1");
        assert!(now(&smaller).starts_with("1x48 4x48"), "{}", now(&smaller));
    }

    #[test]
    fn what_was_measured_moves_the_plan() {
        let mut slow = State::new(String::new(), Vec::new());
        slow.factor = 4.0;
        assert!(schedule(&slow, 3600.0).now.len() < schedule(&State::default(), 3600.0).now.len());
    }

    #[test]
    fn ends_and_the_held_out_layout_come_before_those_that_are_uncertain() {
        let all = schedule(&State::default(), 4.0 * 3600.0);
        let mut measured: Vec<Layout> = Vec::new();
        for expected in ["8x48", "8x1", "1x48", "2x1", "4x8"] {
            let next = all.next(&measured, &[]).unwrap();
            assert_eq!(next.to_string(), expected);
            measured.push(next);
        }
        // Without any observation nothing is least certain.
        assert_eq!(
            all.next(&measured, &[]).map(|next| measured.contains(&next)),
            Some(false)
        );
    }

    #[test]
    fn the_plan_is_shown_with_launches_minutes_and_node_hours() {
        let mut state = State::default();
        state.begin("8x48".parse().unwrap());
        state.end("8x48".parse().unwrap());
        let plan = Schedule::new(Machine { nodes: 8, cores: 48 }, &state, 600.0, |layout| {
            40 * layout.per_node
        });
        insta::assert_snapshot!(plan.text("8,8KiB", &["bcast".to_owned()]), @r"
        8 nodes with 48 cores: 4 of 11 layouts have room in 10 minutes; sizes 8,8KiB, bcast.

            layout    ranks   sides  launches   minutes  node-hours  part
              8x48      384    1920         0       0.0         0.0  done in an earlier allocation
               8x1        8      40        40       1.6         0.2  end of the machine
              1x48       48    1920        62       4.7         0.6  end of the machine
               2x1        2      40        40       1.6         0.2  end of the machine
               all                        141      10.0         1.3  with the proof of the files of all layouts, 2.0 minutes

        Not in this time: 4x8, 4x1, 1x8, 2x8, 8x8, 2x48, 4x48. The same command goes on in a further allocation, with those whose decisions are least certain.
        ");
    }
}
