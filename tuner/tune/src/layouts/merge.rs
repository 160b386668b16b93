//! Merges the decisions of several layouts into one set. Pure.
//!
//! A selection is fenced by the size of the communicator, so layouts with different numbers of ranks do not meet. A setting of the whole launch
//! acts on all layouts, and a selection on all layouts with its number of ranks (16x1 and 8x2). The rule:
//!
//! * Layouts that chose different values do not get either.
//! * A selection for a number of ranks that several layouts have is taken where all of them chose it.
//! * A setting of the launch that only some layouts chose is taken as long as no other layout gets slower by it ([`Extent::Any`]); once one
//!   does, only what every layout chose is taken ([`Extent::Every`]).
//! * Of a selection and the setting that it needs neither is taken without the other.

use std::collections::{BTreeMap, BTreeSet};

use kilter_emit::decisions::Selections;
use kilter_model::change::Cell;
use kilter_model::config::library::Library;
use kilter_model::deployment::{Assignment, Deployment, Selection};
use kilter_model::layout::Layout;
use kilter_model::ledger::Ledger;
use kilter_model::plan::Subject;

/// A layout's choice.
#[derive(Debug, Clone, Copy)]
pub struct Chosen<'a> {
    /// The layout.
    pub layout: Layout,
    /// The deployment of the layout.
    pub deployment: &'a Deployment,
    /// Its decisions.
    pub ledger: &'a Ledger,
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
    /// Selections by number of ranks; every layout has an entry.
    pub selections: BTreeMap<usize, Selections>,
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
    /// A name of these decisions: proofs of others are no answer for them, also where further layouts came in between.
    #[must_use]
    pub fn digest(&self) -> String {
        let settings = self.assignments.iter().map(|one| format!("{}={}", one.name, one.value));
        let selections = self.selections.iter().flat_map(|(on, selections)| {
            selections.iter().map(move |(cell, selection)| {
                format!("{on} {} {:?}", name_at(*cell, selection), selection.parameters())
            })
        });
        // Fowler, Noll and Vo's hash, which stays the same from release to release.
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let bytes = settings.chain(selections).flat_map(|text| (text + "\n").into_bytes());
        format!("{:08x}", bytes.fold(0xcbf2_9ce4_8422_2325, hash) >> 32)
    }

    /// The deployment in force in a layout.
    #[must_use]
    pub fn deployment(&self, layout: Layout) -> Deployment {
        Deployment {
            assignments: self.assignments.clone(),
            selections: self.selections.get(&layout.ranks()).cloned().unwrap_or_default(),
        }
    }

    /// Takes out what slows subjects of layouts, each with a note of how much, and what acts only together with that. Returns what was taken out; it
    /// is empty where nothing that is deployed explains a slowdown.
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
                    let own = self.selections.get_mut(&layout.ranks());
                    let Some(selection) = own.and_then(|own| own.remove(&cell)) else {
                        continue;
                    };
                    let as_many = chosen.iter().filter(|one| one.layout.ranks() == layout.ranks());
                    self.left_out.push(LeftOut {
                        what: name_at(cell, &selection),
                        chosen_by: as_many.map(|one| one.layout).collect(),
                        because,
                    });
                    gone.selections
                        .entry(layout.ranks())
                        .or_default()
                        .insert(cell, selection);
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
        if !gone.is_empty() {
            halves(self, chosen);
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
    selections(&mut merged, chosen);
    halves(&mut merged, chosen);
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

/// Notes the values on which layouts of the same number of ranks do not agree; nothing if none of them chose any.
fn leave_out<T>(merged: &mut Merged, values: Values<Option<T>>, name: impl Fn(&T) -> String, ranks: usize) {
    let silent = values.iter().find(|(value, _)| value.is_none());
    let silent = silent.map(|(_, layouts)| list(layouts));
    for (value, layouts) in values {
        let Some(value) = value else { continue };
        let because = match &silent {
            Some(silent) => format!("the choice acts on all layouts of {ranks} ranks, and {silent} did not make it"),
            None => format!("the choice acts on all layouts of {ranks} ranks, and they chose differently"),
        };
        merged.left_out.push(LeftOut {
            what: name(&value),
            chosen_by: layouts,
            because,
        });
    }
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

fn selections(merged: &mut Merged, chosen: &[Chosen<'_>]) {
    let numbers: BTreeSet<usize> = chosen.iter().map(|one| one.layout.ranks()).collect();
    for ranks in numbers {
        let with: Vec<&Chosen<'_>> = chosen.iter().filter(|one| one.layout.ranks() == ranks).collect();
        let keys: BTreeSet<_> = with
            .iter()
            .flat_map(|one| one.deployment.selections.keys().copied())
            .collect();
        let mut taken = Selections::new();
        for key in keys {
            let of = |one: &&Chosen<'_>| (one.layout, one.deployment.selections.get(&key).cloned());
            let values = values(with.iter().map(of));
            if let [(Some(only), _)] = values.as_slice() {
                taken.insert(key, only.clone());
                continue;
            }
            leave_out(merged, values, |selection| name_at(key, selection), ranks);
        }
        merged.selections.insert(ranks, taken);
    }
}

/// Takes out selections of which a setting that they need is left out, and settings that were deployed for selections alone of which
/// none is left.
fn halves(merged: &mut Merged, chosen: &[Chosen<'_>]) {
    for one in chosen {
        for (cell, needs) in one.ledger.needs() {
            let Some(missing) = needs.iter().find(|need| !merged.assignments.contains(need)) else {
                continue;
            };
            let own = merged.selections.get_mut(&one.layout.ranks());
            if let Some(selection) = own.and_then(|own| own.remove(&cell)) {
                let acts = match selection {
                    Selection::Settings(_) => "acts only",
                    _ => "was found to fix the cell only together",
                };
                // Layouts of as many ranks share it.
                let has = |other: &&Chosen<'_>| {
                    other.layout.ranks() == one.layout.ranks() && other.deployment.selections.contains_key(&cell)
                };
                merged.left_out.push(LeftOut {
                    what: name_at(cell, &selection),
                    chosen_by: chosen.iter().filter(has).map(|other| other.layout).collect(),
                    because: format!("it {acts} with `{}={}`, which is left out", missing.name, missing.value),
                });
            }
        }
    }
    let needed = |setting: &Assignment| {
        chosen.iter().any(|one| {
            let left = merged.selections.get(&one.layout.ranks());
            let stands = |cell: Cell| left.is_some_and(|left| left.contains_key(&cell));
            let mut needs = one.ledger.needs();
            needs.any(|(cell, needs)| stands(cell) && needs.contains(setting))
        })
    };
    let for_itself = |setting: &Assignment| {
        let mut by = chosen.iter().filter(|one| one.deployment.assignments.contains(setting));
        by.any(|one| !one.ledger.needs().any(|(_, needs)| needs.contains(setting)))
    };
    let is_left = |setting: &Assignment| needed(setting) || for_itself(setting);
    let gone: Vec<Assignment> = merged.assignments.iter().filter(|one| !is_left(one)).cloned().collect();
    for setting in gone {
        merged.assignments.retain(|one| *one != setting);
        let because = "no deployed algorithm needs it any more".to_owned();
        merged.left_out.push(left_out(&setting, chosen, because));
    }
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
