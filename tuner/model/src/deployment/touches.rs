//! Subjects whose times a deployment can change. Pure.
//!
//! Side effects and the proof are looked for there and nowhere else: a launch that times subjects on which nothing acts pays for noise.
//!
//! * A selection touches its collective at every size, since ranges of rules reach beyond the measured volume, and every side of a guideline
//!   that calls the collective. Settings of the library touch as well the collectives that a library builds from it, as Open MPI's
//!   allreduce is a reduce and a broadcast; those are the mock-ups of several calls. Where a setting has others set along with it, it touches
//!   everything.
//! * A setting of a whole launch touches the collectives that its description names (`collectives`), in the same way. It touches everything if
//!   the description names none, as for eager limits and the progress thread, or if there is no description. One that is for calls that do not
//!   block (`nonblocking`) touches no blocking call.

use std::collections::BTreeSet;

use kilter_algorithms::Collective;
use kilter_algorithms::mockup::MOCKUPS;

use super::{Assignment, Deployment, Selection};
use crate::config::library::{Library, Parameter};
use crate::plan::Subject;

/// Reach of a setting or selection.
enum Scope<'l> {
    Everything,
    Of(BTreeSet<Collective>),
    /// Calls that a description's row names by more than their collectives.
    Calls(&'l Parameter),
}

impl Deployment {
    /// True if the deployment can change a subject's time from the untouched library's.
    #[must_use]
    pub fn touches(&self, subject: &Subject, library: &Library) -> bool {
        let assigned = |one: &Assignment| acts(&of_assignment(one, library), subject);
        self.assignments.iter().any(assigned)
            || self
                .selections
                .iter()
                .any(|((collective, _), selection)| selection_touches(*collective, selection, subject, library))
    }

    /// True if something was chosen for a collective that the subject calls, at the subject's own volume.
    #[must_use]
    pub fn chooses_for(&self, subject: &Subject) -> bool {
        let called = called(subject).unwrap_or_default();
        let mut called = called.into_iter();
        called.any(|collective| self.selections.contains_key(&(collective, subject.bytes)))
    }
}

/// True if a selection for a collective can change a subject's time.
pub(super) fn selection_touches(
    collective: Collective,
    selection: &Selection,
    subject: &Subject,
    library: &Library,
) -> bool {
    acts(&of_selection(collective, selection, library), subject)
}

fn acts(scope: &Scope<'_>, subject: &Subject) -> bool {
    match scope {
        Scope::Everything => true,
        // A side that is no expression does not tell its calls.
        Scope::Of(collectives) => called(subject).is_none_or(|called| !called.is_disjoint(collectives)),
        Scope::Calls(row) => subject.side().is_none_or(|side| row.acts_within(&side)),
    }
}

fn of_assignment<'l>(assignment: &Assignment, library: &'l Library) -> Scope<'l> {
    if let Some(collective) = library.chosen_by(&assignment.name) {
        return Scope::Of(with_built_of(BTreeSet::from([collective])));
    }
    let row = library.parameters.iter().find(|row| row.name == assignment.name);
    match row {
        // No collective is built of calls that do not block.
        Some(row) if row.nonblocking => Scope::Calls(row),
        Some(row) if !row.collectives.is_empty() => Scope::Of(with_built_of(row.collectives.iter().copied().collect())),
        _ => Scope::Everything,
    }
}

fn of_selection(collective: Collective, selection: &Selection, library: &Library) -> Scope<'static> {
    let own = BTreeSet::from([collective]);
    match selection {
        Selection::Settings(_) => {
            let row = library.algorithms_of(collective);
            if row.is_some_and(|row| row.together.is_empty()) {
                Scope::Of(with_built_of(own))
            } else {
                Scope::Everything
            }
        }
        // The drop-in stands before the library, which does not call it from within.
        Selection::Mockup(..) | Selection::Algorithm(..) | Selection::Plugin(_) => Scope::Of(own),
    }
}

/// The collectives, and those that a library may build from one of them.
fn with_built_of(mut collectives: BTreeSet<Collective>) -> BTreeSet<Collective> {
    let built = MOCKUPS.iter().filter(|mockup| {
        let mut calls = mockup.calls.iter();
        mockup.calls.len() > 1 && calls.any(|call| collectives.contains(call))
    });
    let built: Vec<Collective> = built.map(|mockup| mockup.collective).collect();
    collectives.extend(built);
    collectives
}

/// The collectives that a subject calls; `None` where it is no expression.
fn called(subject: &Subject) -> Option<BTreeSet<Collective>> {
    let side = subject.side()?;
    Some(side.terms.iter().filter_map(|term| term.call.function()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::library::find_for;

    fn openmpi() -> Library {
        find_for("mpirun (Open MPI) 4.1.4").unwrap()
    }

    fn library_call(collective: Collective, bytes: u64) -> Subject {
        Subject::library(collective, bytes)
    }

    fn side(collective: Collective, text: &str) -> Subject {
        Subject {
            text: text.to_owned(),
            ..Subject::library(collective, 4096)
        }
    }

    fn selecting(collective: Collective, selection: Selection) -> Deployment {
        Deployment {
            selections: [((collective, 4096), selection)].into(),
            ..Deployment::default()
        }
    }

    fn setting(name: &str) -> Deployment {
        Deployment {
            assignments: vec![Assignment {
                name: name.to_owned(),
                value: "1".to_owned(),
                environment: false,
            }],
            ..Deployment::default()
        }
    }

    fn rule() -> Selection {
        Selection::Settings(vec![("coll_tuned_bcast_algorithm".to_owned(), "6".to_owned())])
    }

    fn own() -> Selection {
        Selection::Algorithm("bcast.binomial".to_owned(), Vec::new())
    }

    #[test]
    fn nothing_deployed_touches_nothing() {
        assert!(!Deployment::default().touches(&library_call(Collective::Bcast, 8), &openmpi()));
    }

    #[test]
    fn a_selection_touches_its_collective_at_every_size_and_what_calls_it() {
        let touches = |selection: Selection, subject: &Subject| {
            selecting(Collective::Bcast, selection).touches(subject, &openmpi())
        };
        for selection in [rule(), own()] {
            assert!(touches(selection.clone(), &library_call(Collective::Bcast, 1 << 20)));
            assert!(touches(
                selection.clone(),
                &side(Collective::Allgather, "gather(n) + bcast(n)")
            ));
            assert!(!touches(selection.clone(), &library_call(Collective::Scan, 4096)));
            assert!(!touches(
                selection,
                &side(Collective::Reduce, "reduce_scatter_block(n) + gather(n)")
            ));
        }
    }

    #[test]
    fn a_choice_is_for_its_own_size_and_for_what_calls_the_collective_there() {
        let deployed = selecting(Collective::Bcast, own());
        assert!(deployed.chooses_for(&library_call(Collective::Bcast, 4096)));
        assert!(deployed.chooses_for(&side(Collective::Allgather, "gather(n) + bcast(n)")));
        assert!(!deployed.chooses_for(&library_call(Collective::Bcast, 8)));
        assert!(!deployed.chooses_for(&side(Collective::Bcast, "MPI_Send and MPI_Recv")));
    }

    #[test]
    fn a_rule_touches_what_the_library_builds_of_its_collective_and_the_drop_in_does_not() {
        let allreduce = library_call(Collective::Allreduce, 8);
        let touches = |selection: Selection| selecting(Collective::Bcast, selection).touches(&allreduce, &openmpi());
        assert!(touches(rule()), "Open MPI's nonoverlapping allreduce broadcasts");
        assert!(!touches(own()));
    }

    #[test]
    fn a_setting_touches_what_its_description_says() {
        let mvapich2 = find_for("Version: mvapich2-2.3.7").unwrap();
        let gather = setting("MV2_USE_DIRECT_GATHER");
        assert!(gather.touches(&library_call(Collective::Gather, 8), &mvapich2));
        assert!(!gather.touches(&library_call(Collective::Bcast, 8), &mvapich2));
        let line = "Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 1";
        let intel = find_for(line).unwrap();
        let bcast = setting("I_MPI_ADJUST_BCAST");
        assert!(bcast.touches(&library_call(Collective::Bcast, 8), &intel));
        assert!(!bcast.touches(&library_call(Collective::Scan, 8), &intel));
    }

    #[test]
    fn a_setting_for_calls_that_do_not_block_touches_no_others() {
        let touches = |collective: Collective, text: &str| {
            setting("coll_libnbc_iallreduce_algorithm").touches(&side(collective, text), &openmpi())
        };
        for text in ["iallreduce(n) + wait", "start_allreduce(n) + wait"] {
            assert!(touches(Collective::Allreduce, text), "{text}");
        }
        for text in ["allreduce(n)", "ireduce(n) + wait", "reduce(n) + bcast(n)"] {
            assert!(!touches(Collective::Allreduce, text), "{text}");
        }
    }

    #[test]
    fn what_acts_on_nothing_in_particular_touches_everything() {
        let of_tasks = side(Collective::Bcast, "MPI_Send and MPI_Recv");
        for name in ["btl_tcp_eager_limit", "KILTER_PROGRESS", "not_described"] {
            assert!(setting(name).touches(&library_call(Collective::Scan, 8), &openmpi()));
            assert!(setting(name).touches(&of_tasks, &openmpi()));
        }
    }
}
