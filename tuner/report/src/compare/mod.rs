//! `kilter compare`: runs side by side, what became worse or better, how far their verdicts agree.
//!
//! [`operand`] loads what is compared, [`pair`] and [`times`] judge one run against another, and [`Compared`] is what they found
//! out. The renderings are functions of it: [`text`], [`html`], [`export`].

pub mod export;
pub mod html;
pub mod operand;
pub mod pair;
pub mod text;
mod times;

use kilter_render::format;
use kilter_render::sheet::{Entry, Sheet};
use serde::Serialize;

use self::operand::Operand;
use self::pair::Pair;
use crate::summary::Counts;
use crate::tables::{self, Column};

/// Result of a comparison.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// The compared sides; the first is the base.
    pub sides: Vec<Operand>,
    /// The base against each other side.
    pub pairs: Vec<Pair>,
}

impl Compared {
    /// Compares the first operand with each of the others. `tolerance`: smallest change that counts, as a fraction; by default
    /// the larger effect floor of the two runs.
    #[must_use]
    pub fn new(sides: Vec<Operand>, tolerance: Option<f64>) -> Self {
        let pairs = match sides.split_first() {
            Some((base, others)) => others.iter().map(|other| Pair::of(base, other, tolerance)).collect(),
            None => Vec::new(),
        };
        Self { sides, pairs }
    }

    /// True if anything became worse.
    #[must_use]
    pub fn has_regressions(&self) -> bool {
        self.pairs.iter().any(|pair| !pair.regressions.is_empty())
    }

    /// The compared sides, then the tables of PGMPI 2, 3 and 4.
    #[must_use]
    pub fn sheets(&self) -> Vec<Sheet> {
        let names: Vec<String> = self.sides.iter().map(Operand::column).collect();
        let columns: Vec<Column<'_>> = names
            .iter()
            .zip(&self.sides)
            .map(|(name, side)| Column {
                name,
                report: &side.report,
            })
            .collect();
        let mut sheets = vec![
            self.facts(),
            tables::by_type(&columns),
            tables::by_function(&columns),
            tables::side_by_side(&columns),
        ];
        sheets.extend(columns.iter().map(|column| tables::by_size(*column)));
        sheets
    }

    fn facts(&self) -> Sheet {
        let row = |name: &str, of: &dyn Fn(&Operand) -> String| -> Vec<Entry> {
            std::iter::once(Entry::text(name))
                .chain(self.sides.iter().map(|side| Entry::text(of(side))))
                .collect()
        };
        let counts = |side: &Operand| Counts::now(&side.report.cells);
        let mut rows = vec![
            row("library", &|side| {
                format!("{} {}", side.report.library.name, side.report.library.version)
            }),
            row("says of itself", &|side| {
                shortened(&side.report.provenance.library_string, 60)
            }),
            row("ranks", &|side| side.report.ranks.to_string()),
            row("hosts", &|side| match side.report.provenance.hosts.as_slice() {
                hosts if hosts.len() <= 3 => hosts.join(", "),
                hosts => format::count(hosts.len(), "host"),
            }),
            row("times", &Operand::times),
            row("settings", &Operand::settings),
            row("date", &|side| side.report.provenance.started.clone()),
            row("command", &|side| side.report.command.clone()),
            row("launches", &|side| side.report.provenance.launches.to_string()),
            row("seed", &|side| side.report.provenance.seed.to_string()),
            row("kilter", &|side| side.report.provenance.kilter_version.clone()),
            row("from", &|side| side.source.clone()),
            row("cells", &|side| counts(side).total().to_string()),
            row("hold", &|side| counts(side).holds.to_string()),
        ];
        for (name, number) in [
            ("violated", (|counts| counts.violated) as fn(Counts) -> usize),
            ("undecided", |counts| counts.undecided),
            ("unstable", |counts| counts.unstable),
            ("screened", |counts| counts.screened),
        ] {
            rows.push(row(name, &|side| number(counts(side)).to_string()));
        }
        // Two facts go without saying: that times were measured, and that nothing was asked for.
        if self.sides.iter().all(|side| side.machine().is_none()) {
            rows.retain(|row| row[0].text != "times");
        }
        rows.retain(|row| row[0].text != "screened" || row[1..].iter().any(|entry| entry.text != "0"));
        rows.retain(|row| row[0].text != "settings" || row[1..].iter().any(|entry| !entry.text.is_empty()));
        Sheet {
            title: "What is compared".to_owned(),
            note: String::new(),
            heads: std::iter::once("")
                .chain(self.sides.iter().map(|side| side.label.as_str()))
                .map(str::to_owned)
                .collect(),
            rows,
            names: 1,
            narrow: false,
        }
    }
}

fn shortened(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    let kept: String = text.chars().take(characters - 1).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests;
