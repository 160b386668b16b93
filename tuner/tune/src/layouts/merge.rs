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
    /// The deployment in force in a layout.
    #[must_use]
    pub fn deployment(&self, layout: Layout) -> Deployment {
        Deployment {
            assignments: self.assignments.clone(),
            selections: self.selections.get(&layout.ranks()).cloned().unwrap_or_default(),
        }
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
        let by = chosen
            .iter()
            .filter(|one| one.deployment.assignments.contains(&setting));
        merged.left_out.push(LeftOut {
            what: format!("{}={}", setting.name, setting.value),
            chosen_by: by.map(|one| one.layout).collect(),
            because: "no deployed algorithm needs it any more".to_owned(),
        });
    }
}

/// A selection with the cell that it is for.
fn name_at((collective, bytes): Cell, selection: &Selection) -> String {
    format!("{} for {collective} at {bytes} bytes", selection.id())
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;
    use kilter_model::change::Change;
    use kilter_model::config::library::find_for;
    use kilter_model::ledger::Proposal;

    use super::*;

    fn open_mpi() -> Library {
        find_for("mpirun (Open MPI) 4.1.4").unwrap()
    }

    fn layout(text: &str) -> Layout {
        text.parse().unwrap()
    }

    fn set(name: &str, value: &str) -> Assignment {
        Assignment {
            name: name.to_owned(),
            value: value.to_owned(),
            environment: name.starts_with("I_MPI") || name.starts_with("MV2"),
        }
    }

    fn of(assignments: &[Assignment], selections: &[(u64, &str)]) -> Deployment {
        Deployment {
            assignments: assignments.to_vec(),
            selections: selections
                .iter()
                .map(|(bytes, id)| ((Collective::Reduce, *bytes), Selection::Mockup((*id).to_owned())))
                .collect(),
        }
    }

    fn merged(chosen: &[(&str, Deployment)], extent: Extent, library: &Library) -> Merged {
        let ledger = Ledger::default();
        let chosen: Vec<Chosen<'_>> = chosen
            .iter()
            .map(|(text, deployment)| Chosen {
                layout: layout(text),
                deployment,
                ledger: &ledger,
            })
            .collect();
        merge(&chosen, extent, library)
    }

    fn lines(merged: &Merged) -> Vec<String> {
        merged.left_out.iter().map(LeftOut::line).collect()
    }

    #[test]
    fn layouts_of_different_sizes_keep_their_own_selections() {
        let chosen = [
            ("1x2", of(&[], &[(4096, "a")])),
            ("1x3", of(&[], &[(4096, "b"), (8192, "c")])),
        ];
        let merged = merged(&chosen, Extent::Any, &open_mpi());
        assert_eq!(merged.left_out, []);
        assert_eq!(merged.deployment(layout("1x2")), chosen[0].1);
        assert_eq!(merged.deployment(layout("1x3")), chosen[1].1);
    }

    #[test]
    fn layouts_of_one_size_share_what_all_of_them_chose() {
        let chosen = [
            ("16x1", of(&[], &[(1, "same"), (2, "mine"), (3, "alone")])),
            ("8x2", of(&[], &[(1, "same"), (2, "yours")])),
            ("2x1", of(&[], &[(3, "alone")])),
        ];
        let merged = merged(&chosen, Extent::Any, &open_mpi());
        assert_eq!(merged.deployment(layout("16x1")), of(&[], &[(1, "same")]));
        assert_eq!(merged.deployment(layout("8x2")), of(&[], &[(1, "same")]));
        assert_eq!(merged.deployment(layout("2x1")), of(&[], &[(3, "alone")]));
        insta::assert_snapshot!(lines(&merged).join("\n"), @r"
        `mine for reduce at 2 bytes`, chosen for 16x1: the choice acts on all layouts of 16 ranks, and they chose differently
        `yours for reduce at 2 bytes`, chosen for 8x2: the choice acts on all layouts of 16 ranks, and they chose differently
        `alone for reduce at 3 bytes`, chosen for 16x1: the choice acts on all layouts of 16 ranks, and 8x2 did not make it
        ");
    }

    #[test]
    fn a_setting_of_the_launch_is_taken_for_all_until_one_gets_slower() {
        let (shared, network) = (
            set("btl_vader_eager_limit", "32768"),
            set("btl_tcp_eager_limit", "131072"),
        );
        let chosen = [
            ("1x2", of(std::slice::from_ref(&shared), &[])),
            ("2x2", of(&[network.clone(), shared.clone()], &[])),
        ];
        let any = merged(&chosen, Extent::Any, &open_mpi());
        assert_eq!(
            (any.assignments, any.left_out),
            (vec![shared.clone(), network], Vec::new())
        );
        let every = merged(&chosen, Extent::Every, &open_mpi());
        assert_eq!(every.assignments, [shared]);
        insta::assert_snapshot!(lines(&every).join("\n"), @r"`btl_tcp_eager_limit=131072`, chosen for 2x2: the setting acts on all layouts, 1x2 did not choose it, and other layouts' settings slowed a layout");
    }

    #[test]
    fn different_values_of_one_setting_are_left_out() {
        let chosen = [
            ("1x2", of(&[set("btl_vader_eager_limit", "32768")], &[])),
            ("1x3", of(&[set("btl_vader_eager_limit", "65536")], &[])),
        ];
        for extent in [Extent::Any, Extent::Every] {
            let merged = merged(&chosen, extent, &open_mpi());
            assert!(merged.is_empty());
            assert_eq!(merged.left_out.len(), 2);
            assert!(
                lines(&merged)[0]
                    .contains("chosen for 1x2: the setting acts on all layouts, and they chose different values")
            );
        }
    }

    /// Intel MPI's values act on communicators of all sizes: several layouts have one in common, or none.
    #[test]
    fn values_that_choose_algorithms_at_the_start_have_to_be_the_same() {
        let intel = find_for("Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 1").unwrap();
        let set_to = |name: &str, value: &str| set(&format!("I_MPI_ADJUST_{name}"), value);
        let (same, own) = (set_to("SCAN", "2"), |value| set_to("BCAST", value));
        let chosen = [
            ("1x2", of(&[own("7"), same.clone()], &[])),
            ("1x4", of(&[own("0:0-90;7:91-2147483647"), same.clone()], &[])),
        ];
        let merged = merged(&chosen, Extent::Every, &intel);
        assert_eq!(merged.assignments, [same]);
        assert!(lines(&merged)[0].contains("they chose different values"));
    }

    /// HAN is an example: it has to be taken out of the way of an algorithm.
    #[test]
    fn a_selection_and_the_setting_that_it_needs_are_taken_together_or_not_at_all() {
        let gate = |value: &str| set("coll_han_priority", value);
        let with = |value: &str, id: &str| {
            let mut ledger = Ledger::default();
            let cell = (Collective::Reduce, 4096);
            ledger.deploy(Proposal {
                change: Change {
                    settings: vec![gate(value)],
                    ..Change::of_cell(cell, Selection::Mockup(id.to_owned()))
                },
                ..Proposal::default()
            });
            (of(&[gate(value)], &[(4096, id), (8192, "by itself")]), ledger)
        };
        let merge_two = |a: &(Deployment, Ledger), b: &(Deployment, Ledger), second: &str| {
            let chosen = [("1x2", a), (second, b)].map(|(text, (deployment, ledger))| Chosen {
                layout: layout(text),
                deployment,
                ledger,
            });
            merge(&chosen, Extent::Any, &open_mpi())
        };
        // The settings differ: the selections that need them go, and no others.
        let apart = merge_two(&with("0", "a"), &with("1", "a"), "1x3");
        assert_eq!(apart.deployment(layout("1x2")), of(&[], &[(8192, "by itself")]));
        assert_eq!(apart.deployment(layout("1x3")), of(&[], &[(8192, "by itself")]));
        let line = lines(&apart)[2].clone();
        let why = "it was found to fix the cell only together with `coll_han_priority=0`, which is left out";
        assert_eq!(line, format!("`a for reduce at 4096 bytes`, chosen for 1x2: {why}"));
        // The selections differ: the setting goes with them.
        let apart = merge_two(&with("0", "a"), &with("0", "b"), "2x1");
        assert_eq!(apart.deployment(layout("1x2")), of(&[], &[(8192, "by itself")]));
        assert!(
            lines(&apart)
                .iter()
                .any(|line| line.contains("no deployed algorithm needs it any more"))
        );
        // Who chose it for itself keeps it.
        let for_itself = (of(&[gate("0")], &[]), Ledger::default());
        let kept = merge_two(&with("0", "a"), &for_itself, "2x1");
        assert_eq!(kept.deployment(layout("1x2")), of(&[gate("0")], &[]));
        let both = merge_two(&with("0", "a"), &with("0", "a"), "1x3");
        assert_eq!(both.deployment(layout("1x3")), with("0", "a").0);
    }

    /// Settings that a variable needs do not stay without it.
    #[test]
    fn what_stands_beside_a_variable_goes_with_it() {
        let mvapich2 = find_for("Version: mvapich2-2.3.7").unwrap();
        let beside = ["", "_BCAST"].map(|name| set(&format!("MV2_USE_INDEXED{name}_TUNING"), "0"));
        let with = |value: &str| {
            let mut all = vec![set("MV2_INTER_BCAST_TUNING", value)];
            all.extend(beside.clone());
            of(&all, &[])
        };
        let chosen = [("1x2", with("5")), ("1x4", with("1"))];
        assert!(merged(&chosen, Extent::Any, &mvapich2).is_empty());
        let chosen = [("1x2", with("5")), ("1x4", with("5"))];
        assert_eq!(merged(&chosen, Extent::Every, &mvapich2).assignments.len(), 3);
    }
}
