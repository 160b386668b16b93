//! The candidates of a contest: who may compete, and why others may not.

use kilter_model::deployment::Selection;
use kilter_model::limits::Call;
use kilter_model::report::{FixKind, Refused};

use super::Contests;
use crate::choose::Choice;
use crate::correctness::{Admission, admit};
use crate::space;
use crate::target::Target;

/// True for a composition of plain calls.
fn is_composed(selection: &Selection) -> bool {
    let row = match selection {
        Selection::Mockup(id, _) => kilter_algorithms::mockup::find(id),
        _ => None,
    };
    row.is_some_and(|row| !row.is_over_lanes())
}

impl Contests<'_, '_> {
    /// Candidates of the kinds asked for that the options allow; a plugin's rows must also have passed the correctness matrix.
    pub(super) fn candidates(
        &self,
        target: &Target,
        kinds: &dyn Fn(&Target, FixKind) -> bool,
    ) -> anyhow::Result<Vec<Selection>> {
        let parts = self.parts;
        let one_node = !parts.jobs.site.options.place().several_nodes;
        let (library, ranks) = (&parts.jobs.site.library, parts.jobs.site.options.ranks);
        let mut all = if self.hands_on {
            space::handed_on(library, target, ranks, one_node)
        } else {
            let own = space::selections(library, target, ranks, one_node);
            let plugins = space::of_plugins(library, parts.plugins, target, ranks, one_node);
            [own, plugins].concat()
        };
        all.retain(|one| kinds(target, one.kind()) && parts.jobs.site.options.limits.asks_for(one));
        if !self.compositions {
            all.retain(|one| !is_composed(one));
        }
        self.proven(self.allowed(target, all))
    }

    /// Drops plugin rows whose defaults fail the correctness matrix, so that no wrong code runs beside others. The winner of any kind is checked
    /// again with its tuned values.
    fn proven(&self, candidates: Vec<Selection>) -> anyhow::Result<Vec<Selection>> {
        let mut wrong: Vec<String> = Vec::new();
        let mut seen: Vec<String> = Vec::new();
        for selection in candidates.iter().filter(|one| matches!(one, Selection::Plugin(_))) {
            // The one with the defaults comes first.
            let family = space::family(selection);
            if seen.contains(&family) {
                continue;
            }
            seen.push(family.clone());
            if self.parts.quarantine.contains(&family) {
                wrong.push(family);
            } else if let Admission::Refused(why) = admit(self.parts.jobs, self.parts.store, selection)? {
                let fault = why.fault();
                let text = format!("`{family}` is no candidate: it {fault}: {why}");
                self.parts.jobs.progress.warn(&text);
                self.parts.quarantine.add(&family, fault, &why.to_string());
                wrong.push(family);
            }
        }
        let is_right = |one: &Selection| !wrong.contains(&space::family(one));
        Ok(candidates.into_iter().filter(is_right).collect())
    }

    /// The candidates that the options do not forbid, in the order given; says and keeps why the others are none.
    fn allowed(&self, target: &Target, candidates: Vec<Selection>) -> Vec<Selection> {
        let mut refused = Vec::new();
        let mut allowed = Vec::with_capacity(candidates.len());
        for selection in candidates {
            match self.refusal(target, &selection) {
                None => allowed.push(selection),
                Some(because) => refused.push(Refused {
                    id: selection.id(),
                    because,
                }),
            }
        }
        if !refused.is_empty() {
            let lines: Vec<String> = refused
                .iter()
                .map(|one| format!("{} {}", one.id, one.because))
                .collect();
            let note = format!("{}: not measured: {}", target.name(), lines.join("; "));
            self.parts.jobs.progress.note(&note);
            self.refused
                .borrow_mut()
                .entry(target.name())
                .or_default()
                .extend(refused);
        }
        allowed
    }

    /// True if the options ask for a candidate and do not forbid it; says and keeps why they do, once.
    #[must_use]
    pub fn is_allowed(&self, target: &Target, selection: &Selection) -> bool {
        let id = selection.id();
        let is_known = |all: &Vec<Refused>| all.iter().any(|one| one.id == id);
        let is_refused = self.refused.borrow().get(&target.name()).is_some_and(is_known);
        !is_refused
            && self.parts.jobs.site.options.limits.asks_for(selection)
            && !self.allowed(target, vec![selection.clone()]).is_empty()
    }

    /// The reason why the options forbid a candidate; `None` if they do not.
    pub(super) fn refusal(&self, target: &Target, selection: &Selection) -> Option<String> {
        let nodes = self.parts.jobs.site.nodes();
        let call = Call {
            ranks: self.parts.jobs.site.options.ranks,
            bytes: target.bytes(),
            nodes: nodes.as_ref(),
        };
        self.parts.jobs.site.options.limits.refusal(selection, call)
    }

    /// Adds to a choice the candidates that the options forbid.
    pub(super) fn add_refused(&self, target: &Target, choice: &mut Choice) {
        let Some(refused) = self.refused.borrow().get(&target.name()).cloned() else {
            return;
        };
        if let Some(reason) = &mut choice.unfixed_because {
            let ids: Vec<&str> = refused.iter().map(|one| one.id.as_str()).collect();
            reason.push_str(&format!(
                "; not measured, since the options forbid them: {}",
                ids.join(", ")
            ));
        }
        choice.contest.refused = refused;
    }
}
