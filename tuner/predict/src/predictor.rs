//! Predictions of one collective: the model, what was held out for it, and cells made of both.

use kilter_model::layout::Layout;

use crate::decide::{Decision, decide};
use crate::held_out::{self, Tried};
use crate::models::{Fitted, Guess, Kind};
use crate::table::Table;
use crate::{Call, Cell, Chosen, Estimate, Implementation, Rules, Status, Why, candidates, proof};

/// 95 % of a normal distribution lie within so many deviations.
const DEVIATIONS: f64 = 1.96;

pub(crate) struct Predictor {
    table: Table,
    rules: Rules,
    fitted: Box<dyn Fitted>,
    tried: Tried,
}

impl Predictor {
    /// A predictor of each collective whose default was measured, with the model that loses least for it.
    pub(crate) fn all(tables: &[Table], rules: &Rules) -> Vec<Predictor> {
        let models = rules.model.as_ref().map_or(Kind::ALL, std::slice::from_ref);
        let of = |table: &Table| {
            let tried = held_out::best(table, models, rules.floor)?;
            Some(Predictor {
                rules: *rules,
                fitted: tried.model.fit(table),
                tried,
                table: table.clone(),
            })
        };
        let compared = tables.iter().filter(|table| table.default().is_some());
        compared.filter_map(of).collect()
    }

    pub(crate) fn chosen(&self) -> Chosen {
        Chosen {
            collective: self.table.collective,
            model: self.tried.model,
            regrets: self.tried.regrets.clone(),
        }
    }

    /// The cells of a layout, by volume.
    pub(crate) fn cells(&self, layout: Layout) -> Vec<Cell> {
        let calls = self.table.calls().into_iter();
        calls.filter_map(|call| self.cell(layout, call)).collect()
    }

    fn cell(&self, layout: Layout, call: Call) -> Option<Cell> {
        let bytes = call.bytes;
        let measured = self.table.compared(bytes).contains(&layout);
        let guesses = if measured {
            let points = self.table.measured(layout, bytes).into_iter();
            points
                .map(|(implementation, point)| Guess {
                    implementation,
                    log: point.log,
                    deviation: point.noise / DEVIATIONS,
                })
                .collect()
        } else {
            candidates::guesses(&self.table, &*self.fitted, layout, bytes)
        };
        let default = self.table.default()?;
        let decision = decide(&guesses, default, self.rules.floor);
        let (status, choice) = if measured {
            (Status::Measured, decision.choice(default))
        } else {
            self.proven(&decision, default, layout, bytes)
        };
        Some(Cell {
            layout,
            call,
            choice: self.table.implementations[choice].clone(),
            status,
            regret: decision.regret(choice).unwrap_or(0.0),
            candidates: decision.ranked.iter().map(|(guess, _)| self.estimate(*guess)).collect(),
        })
    }

    /// The best implementation that is confirmed, or the default and why the best one is not.
    fn proven(&self, decision: &Decision, default: usize, layout: Layout, bytes: u64) -> (Status, usize) {
        if self.rules.unproven {
            let none = Status::Confirmed {
                from: Vec::new(),
                confirmed_by: Vec::new(),
            };
            return (none, decision.choice(default));
        }
        let mut first = None;
        for choice in &decision.worthwhile {
            let status = proof::status(
                &self.table,
                &self.tried.trials,
                layout,
                bytes,
                *choice,
                self.rules.floor,
            );
            if matches!(status, Status::Confirmed { .. }) {
                return (status, *choice);
            }
            first.get_or_insert(status);
        }
        (first.unwrap_or(Status::Default(Why::NothingFaster)), default)
    }

    fn estimate(&self, guess: Guess) -> Estimate {
        let at = |deviations: f64| (guess.log + deviations * guess.deviation).exp();
        Estimate {
            implementation: self.implementation(guess.implementation),
            seconds: at(0.0),
            low: at(-DEVIATIONS),
            high: at(DEVIATIONS),
        }
    }

    fn implementation(&self, index: usize) -> Implementation {
        self.table.implementations[index].clone()
    }
}
