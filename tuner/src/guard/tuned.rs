//! The deployment by the newest report of `kilter tune` in the database.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_bench::store::Reader;
use kilter_guard::deployed::{Acts, Change};
use kilter_model::config::guideline::Kind;
use kilter_model::config::library::Library;
use kilter_model::deployment::Selection;
use kilter_model::plan::{Subject, target_name};
use kilter_model::report::{Cell, Fix, FixKind, Report};
use kilter_protocol::expression::Side;
use kilter_protocol::task::Task;
use kilter_render::format;
use kilter_stats::verdict::Outcome;

/// Most guidelines that are judged every night.
const MOST_FIXED: usize = 8;

/// Most choices of the library's algorithms whose messages are counted.
const MOST_SELECTED: usize = 16;

/// The deployment.
#[derive(Debug, Default)]
pub(super) struct Tuned {
    /// Settings of whole launches: name, value.
    pub(super) settings: Vec<(String, String)>,
    /// Choices of the library's algorithms.
    pub(super) selected: Vec<Selected>,
    /// The implementations that the drop-in runs.
    of_dropin: Vec<OfDropin>,
    /// Guidelines that were fixed.
    pub(super) fixed: Vec<Fixed>,
}

/// A choice of one of the library's algorithms for a cell.
#[derive(Debug)]
pub(super) struct Selected {
    collective: Collective,
    bytes: u64,
    settings: Vec<(String, String)>,
}

/// An implementation that the drop-in runs for a cell.
#[derive(Debug)]
struct OfDropin {
    collective: Collective,
    bytes: u64,
    implementation: String,
}

/// A guideline that was fixed.
#[derive(Debug)]
pub(super) struct Fixed {
    /// Such as `GL8 reduce 4096`.
    pub(super) cell: String,
    /// Such as `reduce(n) <= allreduce(n)`.
    pub(super) expression: String,
    /// Ids of the changes that fixed it.
    pub(super) changes: Vec<String>,
    pub(super) left: Subject,
    pub(super) right: Subject,
}

impl Selected {
    /// Such as `bcast 65536`.
    pub(super) fn cell(&self) -> String {
        target_name(self.collective.name(), self.bytes)
    }

    /// Id of the change.
    pub(super) fn id(&self) -> String {
        let selection = Selection::Settings(self.settings.clone());
        format!("{}: {}", self.cell(), selection.id())
    }
}

impl OfDropin {
    fn id(&self) -> String {
        let cell = target_name(self.collective.name(), self.bytes);
        format!("{cell}: {}", self.implementation)
    }
}

impl Tuned {
    /// That of the newest run of `tune` on this library and so many ranks; empty if there is none.
    pub(super) fn newest(reader: &Reader, library: &Library, ranks: usize) -> anyhow::Result<Tuned> {
        for head in reader.runs()?.into_iter().rev().filter(|head| head.has_report) {
            let Some(report) = reader.report(head.id)? else {
                continue;
            };
            if report.command == "tune" && report.library.name == library.name && report.ranks == ranks {
                return Ok(Tuned::of(&report, library));
            }
        }
        Ok(Tuned::default())
    }

    fn of(report: &Report, library: &Library) -> Tuned {
        let mut tuned = Tuned::default();
        for change in report.changes.iter().filter(|change| change.kind == FixKind::Parameter) {
            // Reports of before say in the name alone that a choice is for one size.
            if change.function.is_none() && !change.name.contains(" at ") {
                tuned.settings.push((change.name.clone(), change.value.clone()));
            }
        }
        let mut fixed: Vec<(&Cell, &Fix)> = report
            .cells
            .iter()
            .filter_map(|cell| Some((cell, cell.fix.as_ref()?)))
            .collect();
        fixed.sort_by(|(a, _), (b, _)| b.before.ratio.total_cmp(&a.before.ratio));
        for (cell, fix) in &fixed {
            tuned.add_choice(cell, fix, library);
        }
        // A partial fix leaves its cell violated, which is no news any night; of what was not measured again nobody knows if it is fixed.
        fixed.retain(|(cell, _)| {
            let after = cell.after.as_ref();
            cell.not_measured_again.is_none() && after.is_none_or(|after| after.verdict != Outcome::Violated)
        });
        // The worst cell of each fix, and then the worst of all others.
        let mut of_fix: BTreeMap<&str, usize> = BTreeMap::new();
        let mut ranked: Vec<(usize, (&Cell, &Fix))> = Vec::new();
        for (cell, fix) in fixed {
            let rank = of_fix.entry(&fix.id).or_default();
            ranked.push((*rank, (cell, fix)));
            *rank += 1;
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        let known = ranked
            .into_iter()
            .filter_map(|(_, (cell, fix))| tuned.guideline(cell, fix));
        tuned.fixed = known.take(MOST_FIXED).collect();
        tuned
    }

    /// Adds what was chosen for the cell alone.
    fn add_choice(&mut self, cell: &Cell, fix: &Fix, library: &Library) {
        let Ok(collective) = cell.function.parse::<Collective>() else {
            return;
        };
        let bytes = cell.measured_bytes;
        if fix.kind != FixKind::Parameter {
            let one = OfDropin {
                collective,
                bytes,
                implementation: fix.id.split(' ').next().unwrap_or_default().to_owned(),
            };
            if self.of_dropin.iter().all(|other| other.id() != one.id()) {
                self.of_dropin.push(one);
            }
            return;
        }
        let is_of_launches = |name: &str| self.settings.iter().any(|(other, _)| other == name);
        let settings = fix.settings.iter().filter(|setting| !is_of_launches(&setting.name));
        let settings: Vec<(String, String)> = settings
            .map(|setting| (setting.name.clone(), setting.value.clone()))
            .collect();
        let switched = library
            .algorithms_of(collective)
            .is_some_and(|row| row.at_start.is_none());
        let is_new = self
            .selected
            .iter()
            .all(|other| (other.collective, other.bytes) != (collective, bytes));
        if !settings.is_empty() && switched && is_new && self.selected.len() < MOST_SELECTED {
            self.selected.push(Selected {
                collective,
                bytes,
                settings,
            });
        }
    }

    /// The guideline of a fixed cell; `None` where its sides are no calls of one volume, or of two.
    fn guideline(&self, cell: &Cell, fix: &Fix) -> Option<Fixed> {
        let (left, right) = if cell.kind == Kind::Pattern.name() {
            let (left, right) = format::sides(&cell.expression);
            let side: Side = left.parse().ok()?;
            let task = Task::of(&side).ok()?;
            let subject = |text: &str| Subject {
                task,
                text: text.to_owned(),
                bytes: cell.measured_bytes,
            };
            (subject(left), subject(right))
        } else if cell.kind == Kind::Monotony.name() {
            let collective = cell.function.parse::<Collective>().ok()?;
            let of = |bytes| Subject::library(collective, bytes);
            (of(cell.measured_bytes), of(cell.right_bytes?))
        } else {
            return None;
        };
        Some(Fixed {
            cell: format!("{} {} {}", cell.guideline, cell.function, cell.measured_bytes),
            expression: cell.expression.clone(),
            changes: self.changes_of(cell, fix),
            left,
            right,
        })
    }

    /// Ids of the changes that make up a fix.
    fn changes_of(&self, cell: &Cell, fix: &Fix) -> Vec<String> {
        let name = target_name(&cell.function, cell.measured_bytes);
        let own = |id: &String| id.starts_with(&format!("{name}: "));
        let settings = self.settings.iter();
        let settings = settings.filter(|(name, value)| {
            let mut of_fix = fix.settings.iter();
            of_fix.any(|setting| setting.name == *name && setting.value == *value)
        });
        let settings = settings.map(|(name, value)| format!("{name}={value}"));
        let selected = self.selected.iter().map(Selected::id).filter(|id| own(id));
        let run = self.of_dropin.iter().map(OfDropin::id).filter(|id| own(id));
        settings.chain(selected).chain(run).collect()
    }

    /// The choices of the library's algorithms with their cells.
    pub(super) fn selections(&self) -> Vec<((Collective, u64), Selection)> {
        let selection = |one: &Selected| ((one.collective, one.bytes), Selection::Settings(one.settings.clone()));
        self.selected.iter().map(selection).collect()
    }

    /// Cells that the drop-in carries out.
    pub(super) fn run_by_dropin(&self) -> impl Iterator<Item = (Collective, u64)> {
        self.of_dropin.iter().map(|one| (one.collective, one.bytes))
    }

    /// The implementations, deployed for it, that the drop-in ran.
    pub(super) fn of_dropin(&self, ran: &BTreeMap<String, u64>, acted: &dyn Fn(&str) -> bool) -> Vec<Change> {
        let change = |one: &OfDropin| {
            let id = one.id();
            let acts = match ran.get(&one.implementation) {
                Some(calls @ 1..) => Acts::Yes(format!("the drop-in ran it {calls} times")),
                _ => Acts::No("the drop-in did not run it".to_owned()),
            };
            Change {
                acted: acted(&id),
                id,
                acts,
            }
        };
        self.of_dropin.iter().map(change).collect()
    }
}
