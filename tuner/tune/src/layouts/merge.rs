//! Merges the decisions of several layouts into one set. Pure.
//!
//! A choice that the drop-in runs is fenced by the layout, so that layouts do not meet. An algorithm of the library's own acts on all layouts within
//! its [`Fence`], such as all with that number of ranks (16x1 and 8x2), but for those in which the drop-in takes the call over. A
//! setting of the whole launch acts on all layouts. The rule:
//!
//! * Layouts that chose different values do not get either.
//! * An algorithm of the library that acts on several layouts is taken where no other of them makes the call by another one of the library's.
//! * A setting of the launch that only some layouts chose is taken as long as no other layout gets slower by it ([`Extent::Any`]); once one
//!   does, only what every layout chose is taken ([`Extent::Every`]).

mod selections;

use std::collections::{BTreeMap, BTreeSet};

use kilter_emit::decisions::Selections;
use kilter_emit::fence::Fence;
use kilter_model::change::Cell;
use kilter_model::config::library::Library;
use kilter_model::deployment::{Assignment, Deployment, Selection};
use kilter_model::layout::Layout;
use kilter_model::plan::Subject;

use selections::{fence, selections};

/// A layout's choice.
#[derive(Debug, Clone, Copy)]
pub struct Chosen<'a> {
    /// The layout.
    pub layout: Layout,
    /// The deployment of the layout.
    pub deployment: &'a Deployment,
}

/// Extent to which settings of the launch are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Everything that some layout chose and no other chose otherwise.
    Any,
    /// Everything that every layout chose.
    Every,
}

/// The decisions of all layouts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Merged {
    /// Settings of every launch.
    pub assignments: Vec<Assignment>,
    /// Selections by layout; every layout has an entry.
    pub selections: BTreeMap<Layout, Selections>,
    /// Confirmed predictions for layouts that were not measured.
    pub predicted: BTreeMap<Layout, Selections>,
    /// Parts that were left out.
    pub left_out: Vec<LeftOut>,
}

/// A decision of some layouts that is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The part, such as `btl_vader_eager_limit=32768`.
    pub what: String,
    /// The layouts that chose it.
    pub chosen_by: Vec<Layout>,
    /// The reason.
    pub because: String,
}

impl LeftOut {
    /// The reason in one line.
    #[must_use]
    pub fn line(&self) -> String {
        format!(
            "`{}`, chosen for {}: {}",
            self.what,
            list(&self.chosen_by),
            self.because
        )
    }
}

impl Merged {
    /// The deployment in force in a layout.
    #[must_use]
    pub fn deployment(&self, layout: Layout) -> Deployment {
        Deployment {
            assignments: self.assignments.clone(),
            selections: self.selections.get(&layout).cloned().unwrap_or_default(),
        }
    }

    /// Takes a selection out of a layout, and one of the library's out of all layouts on which it acts. The selection, with the layouts that
    /// had it.
    fn take(&mut self, layout: Layout, cell: Cell, library: &Library) -> Option<(Selection, Vec<Layout>)> {
        let selection = self.selections.get(&layout)?.get(&cell)?.clone();
        let mut had = Vec::new();
        for (other, own) in &mut self.selections {
            let fence = fence(library, cell, &selection);
            let is_shared = fence.is_some_and(|fence| fence.joins(*other, layout));
            if (*other == layout || is_shared) && own.get(&cell) == Some(&selection) {
                own.remove(&cell);
                had.push(*other);
            }
        }
        Some((selection, had))
    }

    /// Takes out what slows subjects of layouts, each with a note of how much. Returns what was taken out; it is empty where nothing that is deployed
    /// explains a slowdown.
    pub fn take_out(
        &mut self,
        chosen: &[Chosen<'_>],
        slowed: &[(Layout, &Subject, &str)],
        library: &Library,
    ) -> Merged {
        let mut gone = Merged::default();
        for (layout, subject, note) in slowed {
            let because = format!("it slows layout {layout}: {note}");
            match self
                .deployment(*layout)
                .to_blame(subject, &Deployment::default(), library)
            {
                Some(cell) => {
                    let Some((selection, had)) = self.take(*layout, cell, library) else {
                        continue;
                    };
                    for layout in &had {
                        let own = gone.selections.entry(*layout).or_default();
                        own.insert(cell, selection.clone());
                    }
                    self.left_out.push(LeftOut {
                        what: name_at(cell, &selection),
                        chosen_by: had,
                        because,
                    });
                }
                None => {
                    let touches = |one: &Assignment| Deployment::of(one.clone()).touches(subject, library);
                    let (slow, kept) = std::mem::take(&mut self.assignments).into_iter().partition(touches);
                    self.assignments = kept;
                    for setting in slow {
                        self.left_out.push(left_out(&setting, chosen, because.clone()));
                        gone.assignments.push(setting);
                    }
                }
            }
        }
        for (layout, cell, selection) in self.uncovered(library) {
            gone.selections.entry(layout).or_default().insert(cell, selection);
        }
        gone
    }

    /// Takes out algorithms of the library that would act on a layout which makes the call otherwise no longer, and was not measured with them.
    fn uncovered(&mut self, library: &Library) -> Vec<(Layout, Cell, Selection)> {
        let lacks = |cell: Cell, layout: Layout, fence: Fence| {
            let mut all = self.selections.iter();
            all.find(|(other, own)| fence.joins(**other, layout) && !own.contains_key(&cell))
        };
        let mut found: Vec<(Layout, Cell, Fence, Layout)> = Vec::new();
        for (layout, own) in &self.selections {
            for (cell, selection) in own {
                let Some(fence) = fence(library, *cell, selection) else {
                    continue;
                };
                if let Some((without, _)) = lacks(*cell, *layout, fence) {
                    found.push((*layout, *cell, fence, *without));
                }
            }
        }
        let mut gone = Vec::new();
        for (layout, cell, fence, without) in found {
            // Another layout's turn may have taken it out already.
            if let Some((selection, had)) = self.take(layout, cell, library) {
                gone.extend(had.iter().map(|layout| (*layout, cell, selection.clone())));
                self.left_out.push(LeftOut {
                    what: name_at(cell, &selection),
                    chosen_by: had,
                    because: format!(
                        "the choice acts on {}, and what {without} chose instead is left out",
                        fence.words(layout)
                    ),
                });
            }
        }
        gone
    }

    /// True if nothing is to be deployed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.assignments.is_empty() && self.selections.values().all(BTreeMap::is_empty)
    }
}

/// Puts the decisions together.
#[must_use]
pub fn merge(chosen: &[Chosen<'_>], extent: Extent, library: &Library) -> Merged {
    let mut merged = Merged::default();
    assignments(&mut merged, chosen, extent, library);
    selections(&mut merged, chosen, library);
    merged
}

fn list(layouts: &[Layout]) -> String {
    let names: Vec<String> = layouts.iter().map(ToString::to_string).collect();
    names.join(", ")
}

/// Something's values, and the layouts that chose each, in the order in which they were chosen.
type Values<T> = Vec<(T, Vec<Layout>)>;

fn values<T: PartialEq>(chosen: impl Iterator<Item = (Layout, T)>) -> Values<T> {
    let mut values: Values<T> = Vec::new();
    for (layout, value) in chosen {
        match values.iter_mut().find(|(known, _)| *known == value) {
            Some((_, layouts)) => layouts.push(layout),
            None => values.push((value, vec![layout])),
        }
    }
    values
}

/// The layouts that did not choose it.
fn others(chosen: &[Chosen<'_>], by: &[Layout]) -> Vec<Layout> {
    let all = chosen.iter().map(|one| one.layout);
    all.filter(|layout| !by.contains(layout)).collect()
}

const DIFFERENT: &str = "the setting acts on all layouts, and they chose different values";

fn assignments(merged: &mut Merged, chosen: &[Chosen<'_>], extent: Extent, library: &Library) {
    let mut names: Vec<&str> = Vec::new();
    for assignment in chosen.iter().flat_map(|one| &one.deployment.assignments) {
        if !names.contains(&assignment.name.as_str()) {
            names.push(&assignment.name);
        }
    }
    let mut dropped = Vec::new();
    for name in names {
        let of = |one: &Chosen<'_>| {
            let own = one.deployment.assignments.iter().find(|own| own.name == name);
            own.map(|own| (one.layout, own.clone()))
        };
        let values = values(chosen.iter().filter_map(of));
        let several = values.len() > 1;
        for (assignment, layouts) in values {
            let missing = others(chosen, &layouts);
            let because = match (several, missing.is_empty(), extent) {
                (true, _, _) => DIFFERENT.to_owned(),
                (false, false, Extent::Every) => format!(
                    "the setting acts on all layouts, {} did not choose it, and other layouts' settings slowed a layout",
                    list(&missing)
                ),
                (false, _, _) => {
                    merged.assignments.push(assignment);
                    continue;
                }
            };
            dropped.push(name.to_owned());
            merged.left_out.push(LeftOut {
                what: format!("{}={}", assignment.name, assignment.value),
                chosen_by: layouts,
                because,
            });
        }
    }
    drop_companions(merged, &dropped, library);
}

/// Drops the companions of variables that are not taken, unless a taken variable needs them, too.
fn drop_companions(merged: &mut Merged, dropped: &[String], library: &Library) {
    let beside = |name: &str| {
        let row = library.chosen_by(name).and_then(|one| library.chosen_at_start(one));
        row.map(|(row, _)| row.together.keys().cloned().collect::<BTreeSet<String>>())
            .unwrap_or_default()
    };
    let kept: BTreeSet<String> = merged.assignments.iter().flat_map(|one| beside(&one.name)).collect();
    let gone: BTreeSet<String> = dropped.iter().flat_map(|name| beside(name)).collect();
    merged
        .assignments
        .retain(|one| kept.contains(&one.name) || !gone.contains(&one.name));
}

/// A setting of the launch that is not taken.
fn left_out(setting: &Assignment, chosen: &[Chosen<'_>], because: String) -> LeftOut {
    let by = chosen.iter().filter(|one| one.deployment.assignments.contains(setting));
    LeftOut {
        what: format!("{}={}", setting.name, setting.value),
        chosen_by: by.map(|one| one.layout).collect(),
        because,
    }
}

/// A selection with the cell that it is for.
fn name_at((collective, bytes): Cell, selection: &Selection) -> String {
    format!("{} for {collective} at {bytes} bytes", selection.id())
}

#[cfg(test)]
mod tests;
