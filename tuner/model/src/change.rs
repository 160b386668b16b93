//! A change: what is proposed, deployed and taken back as a whole. Pure data.
//!
//! It has settings of whole launches, a selection for one cell, or both. Where it has both, neither is deployed without the other: messages
//! have shown that an algorithm of the library has no effect without the setting that admits it, and a mock-up or an algorithm of Kilter's was
//! found to fix its cell with the setting only.

use kilter_algorithms::Collective;

use crate::deployment::{Assignment, Selection};
use crate::fix::{Fix, FixKind, Setting};

/// A collective at a volume in bytes.
pub type Cell = (Collective, u64);

/// Settings of whole launches, and at most one selection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Change {
    /// Settings of whole launches, in the order in which they are set.
    pub settings: Vec<Assignment>,
    /// The selection, with the cell that it is for.
    pub selection: Option<(Cell, Selection)>,
}

impl Change {
    /// Settings of whole launches.
    #[must_use]
    pub fn of_launch(settings: Vec<Assignment>) -> Change {
        Change {
            settings,
            selection: None,
        }
    }

    /// A selection for a cell that acts by itself.
    #[must_use]
    pub fn of_cell(cell: Cell, selection: Selection) -> Change {
        Change {
            settings: Vec::new(),
            selection: Some((cell, selection)),
        }
    }

    /// The cell that something is selected for.
    #[must_use]
    pub fn cell(&self) -> Option<Cell> {
        self.selection.as_ref().map(|(cell, _)| *cell)
    }

    /// True if the setting is one of its own.
    #[must_use]
    pub fn sets(&self, setting: &Assignment) -> bool {
        self.settings.contains(setting)
    }

    /// `name=value name=value`, with the selection at the end; `default` where there is nothing.
    #[must_use]
    pub fn id(&self) -> String {
        let Some((_, selection)) = &self.selection else {
            return id(&self.settings);
        };
        let words = self.settings.iter().map(word).chain([selection.id()]);
        words.collect::<Vec<_>>().join(" ")
    }

    /// As the report shows what fixed a cell.
    #[must_use]
    pub fn fix(&self) -> Fix {
        let own = self.selection.as_ref().map(|(_, selection)| selection.fix());
        let settings = self.settings.iter().map(Setting::from);
        Fix {
            kind: own.as_ref().map_or(FixKind::Parameter, |own| own.kind),
            id: self.id(),
            settings: settings.chain(own.into_iter().flat_map(|own| own.settings)).collect(),
        }
    }
}

impl From<&Assignment> for Setting {
    fn from(assignment: &Assignment) -> Setting {
        Setting {
            name: assignment.name.clone(),
            value: assignment.value.clone(),
        }
    }
}

/// Settings as one word for people, `default` where there is none.
#[must_use]
pub fn id(settings: &[Assignment]) -> String {
    if settings.is_empty() {
        return "default".to_owned();
    }
    settings.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn word(setting: &Assignment) -> String {
    format!("{}={}", setting.name, setting.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Assignment {
        Assignment {
            name: "coll_han_priority".to_owned(),
            value: "0".to_owned(),
            environment: false,
        }
    }

    fn algorithm() -> Selection {
        Selection::Settings(vec![("coll_tuned_bcast_algorithm".to_owned(), "7".to_owned())])
    }

    #[test]
    fn the_report_names_both_halves() {
        let cell = (Collective::Bcast, 262_144);
        let both = Change {
            settings: vec![gate()],
            ..Change::of_cell(cell, algorithm())
        };
        let fix = both.fix();
        assert_eq!(fix.id, "coll_han_priority=0 coll_tuned_bcast_algorithm=7");
        let names: Vec<&str> = fix.settings.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["coll_han_priority", "coll_tuned_bcast_algorithm"]);
        assert_eq!(Change::of_cell(cell, algorithm()).fix(), algorithm().fix());
        let alone = Change::of_launch(vec![gate()]).fix();
        assert_eq!(
            (alone.kind, alone.id.as_str()),
            (FixKind::Parameter, "coll_han_priority=0")
        );
    }

    #[test]
    fn nothing_at_all_is_the_default() {
        assert_eq!(Change::default().id(), "default");
        assert_eq!(id(&[gate(), gate()]), "coll_han_priority=0 coll_han_priority=0");
    }
}
