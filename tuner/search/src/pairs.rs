//! Selections that act only together with a setting of whole launches ([`crate::gates`]): either half is taken back with the
//! other. Pure.
//!
//! That an algorithm of the library's has no effect without its setting is known: messages have shown it; a mock-up or an algorithm of Kilter's
//! was found to fix its cell with the setting only. So it falls with the setting, and is not deployed to be found idle. A setting that was deployed for selections alone fixes nothing without them, and touches every call.

use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::Collective;
use kilter_model::config::library::Library;
use kilter_model::deployment::{Assignment, Deployment, Selection};
use kilter_model::report::{Fix, Setting};

/// A collective at a volume in bytes.
pub type Cell = (Collective, u64);

/// By cell, the settings of whole launches that its selection needs, and that are deployed for such selections alone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pairs {
    needs: BTreeMap<Cell, Vec<Assignment>>,
    /// All that were deployed so and have not fallen yet, also those that no selection needs any more.
    deployed: BTreeSet<Assignment>,
}

/// What has lost its other half.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fallen {
    /// Selections, with the settings that they needed.
    pub selections: Vec<(Cell, Selection, Vec<Assignment>)>,
    /// Settings that nothing needs any more.
    pub assignments: Vec<Assignment>,
}

impl Pairs {
    /// Takes over what a cell's selection needs; nothing where it acts by itself.
    pub fn set(&mut self, cell: Cell, needs: Vec<Assignment>) {
        if needs.is_empty() {
            self.needs.remove(&cell);
        } else {
            self.deployed.extend(needs.iter().cloned());
            self.needs.insert(cell, needs);
        }
    }

    /// By cell, what its selection needs.
    pub fn needs(&self) -> impl Iterator<Item = (&Cell, &Vec<Assignment>)> {
        self.needs.iter()
    }

    /// What a selection needs that was found while the settings of all pairs were in force: those that belong to its collective, if it is
    /// an algorithm of the library's.
    #[must_use]
    pub fn in_force(&self, collective: Collective, selection: &Selection, library: &Library) -> Vec<Assignment> {
        if !matches!(selection, Selection::Settings(_)) {
            return Vec::new();
        }
        let acts = |needs: &&Vec<Assignment>| {
            let rows = library.parameters.iter();
            let mut rows = rows.filter(|row| needs.iter().any(|one| one.name == row.name));
            rows.any(|row| row.collectives.is_empty() || row.collectives.contains(&collective))
        };
        let all: BTreeSet<&Assignment> = self.needs.values().filter(acts).flatten().collect();
        all.into_iter().cloned().collect()
    }

    /// Takes out of a deployment each selection of which a setting that it needs is gone, and then each setting of which no selection is
    /// left that needs it; one that had another value in what was `verified` gets it back.
    pub fn fall(&mut self, deployment: &mut Deployment, verified: &Deployment) -> Fallen {
        let mut fallen = Fallen::default();
        self.needs.retain(|cell, needs| {
            let stands = needs.iter().all(|one| deployment.assignments.contains(one));
            if !stands && let Some(selection) = deployment.selections.remove(cell) {
                fallen.selections.push((*cell, selection, needs.clone()));
            }
            stands && deployment.selections.contains_key(cell)
        });
        let needed: BTreeSet<Assignment> = self.needs.values().flatten().cloned().collect();
        let before = std::mem::replace(&mut self.deployed, needed);
        for one in before.difference(&self.deployed) {
            let Some(place) = deployment.assignments.iter().position(|other| other == one) else {
                continue;
            };
            deployment.assignments.remove(place);
            let back = |old: &&Assignment| old.name == one.name && *old != one;
            deployment
                .assignments
                .extend(verified.assignments.iter().find(back).cloned());
            fallen.assignments.push(one.clone());
        }
        fallen
    }

    /// As the report shows what fixed a cell: both halves.
    #[must_use]
    pub fn fix(&self, cell: Cell, selection: &Selection, deployment: &Deployment) -> Fix {
        let needs = self.needs.get(&cell).into_iter().flatten();
        let needs: Vec<&Assignment> = needs.filter(|one| deployment.assignments.contains(one)).collect();
        let fix = selection.fix();
        let names = needs.iter().map(|one| format!("{}={}", one.name, one.value));
        let settings = needs.iter().map(|one| Setting {
            name: one.name.clone(),
            value: one.value.clone(),
        });
        Fix {
            kind: fix.kind,
            id: names.chain([fix.id]).collect::<Vec<_>>().join(" "),
            settings: settings.chain(fix.settings).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use kilter_model::config::library::find_for;

    use super::*;

    const LONG: Cell = (Collective::Bcast, 262_144);
    const SHORT: Cell = (Collective::Bcast, 8);
    const SCAN: Cell = (Collective::Scan, 8);

    fn set(name: &str, value: u64) -> Assignment {
        Assignment {
            name: name.to_owned(),
            value: value.to_string(),
            environment: false,
        }
    }

    fn gate() -> Assignment {
        set("coll_han_priority", 0)
    }

    fn algorithm(cell: Cell) -> (Cell, Selection) {
        let name = format!("coll_tuned_{}_algorithm", cell.0);
        (cell, Selection::Settings(vec![(name, "7".to_owned())]))
    }

    fn deployed(assignments: &[Assignment], cells: &[Cell]) -> Deployment {
        Deployment {
            assignments: assignments.to_vec(),
            selections: cells.iter().copied().map(algorithm).collect(),
        }
    }

    fn pairs(cells: &[Cell]) -> Pairs {
        let mut pairs = Pairs::default();
        for cell in cells {
            pairs.set(*cell, vec![gate()]);
        }
        pairs
    }

    #[test]
    fn a_selection_falls_with_its_setting() {
        let (mut pairs, mut now) = (pairs(&[LONG, SHORT]), deployed(&[], &[LONG, SHORT, SCAN]));
        let fallen = pairs.fall(&mut now, &Deployment::default());
        assert_eq!(now, deployed(&[], &[SCAN]));
        let cells: Vec<Cell> = fallen.selections.iter().map(|(cell, ..)| *cell).collect();
        assert_eq!(
            (cells, fallen.selections[0].2.clone()),
            (vec![SHORT, LONG], vec![gate()])
        );
        assert_eq!((fallen.assignments, pairs), (Vec::new(), Pairs::default()));
    }

    #[test]
    fn a_setting_falls_with_the_last_selection_that_needs_it() {
        let eager = set("btl_tcp_eager_limit", 16384);
        let (mut pairs, mut now) = (
            pairs(&[LONG, SHORT]),
            deployed(&[eager.clone(), gate()], &[SHORT, SCAN]),
        );
        // The long one was taken back.
        assert_eq!(pairs.fall(&mut now, &Deployment::default()), Fallen::default());
        now.selections.remove(&SHORT);
        let verified = deployed(&[set("coll_han_priority", 10)], &[]);
        let fallen = pairs.fall(&mut now, &verified);
        assert_eq!(fallen.assignments, [gate()]);
        assert_eq!(now, deployed(&[eager, set("coll_han_priority", 10)], &[SCAN]));
        // What is deployed for other reasons is nobody's half.
        assert_eq!(pairs.fall(&mut now, &verified), Fallen::default());
    }

    #[test]
    fn what_stands_stays() {
        let (mut pairs, mut now) = (pairs(&[LONG]), deployed(&[gate()], &[LONG, SCAN]));
        assert_eq!(pairs.fall(&mut now, &Deployment::default()), Fallen::default());
        assert_eq!(now, deployed(&[gate()], &[LONG, SCAN]));
        // Chosen anew, and for itself: the setting has lost its other half.
        pairs.set(LONG, Vec::new());
        let fallen = pairs.fall(&mut now, &Deployment::default());
        assert_eq!((fallen.assignments, fallen.selections), (vec![gate()], Vec::new()));
        assert_eq!(now, deployed(&[], &[LONG, SCAN]));
        assert_eq!(pairs, Pairs::default());
    }

    #[test]
    fn what_is_found_under_a_setting_needs_it_where_it_belongs_to_the_collective() {
        let library = find_for("mpirun (Open MPI) 5.0.11").unwrap();
        let needs = |cell: Cell| pairs(&[LONG]).in_force(cell.0, &algorithm(cell).1, &library);
        assert_eq!((needs(SHORT), needs(SCAN)), (vec![gate()], Vec::new()));
        let own = Selection::Algorithm("bcast.binomial".to_owned(), Vec::new());
        assert_eq!(pairs(&[LONG]).in_force(Collective::Bcast, &own, &library), []);
        assert_eq!(
            Pairs::default().in_force(Collective::Bcast, &algorithm(SHORT).1, &library),
            []
        );
    }

    #[test]
    fn the_report_names_both_halves() {
        let (cell, selection) = algorithm(LONG);
        let fix = |now: &Deployment| pairs(&[LONG]).fix(cell, &selection, now);
        let both = fix(&deployed(&[gate()], &[LONG]));
        assert_eq!(both.id, "coll_han_priority=0 coll_tuned_bcast_algorithm=7");
        let names: Vec<&str> = both.settings.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["coll_han_priority", "coll_tuned_bcast_algorithm"]);
        assert_eq!(fix(&deployed(&[], &[LONG])), selection.fix());
        assert_eq!(
            pairs(&[]).fix(cell, &selection, &deployed(&[gate()], &[LONG])),
            selection.fix()
        );
    }
}
