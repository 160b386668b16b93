//! Layouts that are predicted from the others although they were measured: they say which model loses least, and confirm what it predicts.

use kilter_model::layout::Layout;

use crate::between::inner;
use crate::candidates;
use crate::decide::decide;
use crate::models::{Guess, Kind};
use crate::table::Table;

/// A measured call that was predicted without its layout.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trial {
    pub(crate) layout: Layout,
    pub(crate) bytes: u64,
    /// Index of the implementation that was chosen.
    pub(crate) choice: usize,
    /// Its measured time over the best one's, less 1; `None` if it was not measured there.
    pub(crate) regret: Option<f64>,
    /// Predicted times of all implementations.
    pub(crate) guesses: Vec<Guess>,
}

impl Trial {
    /// True if the prediction, which did not know the layout, said that an implementation loses more than the floor there against its choice.
    pub(crate) fn foretold(&self, implementation: usize, floor: f64) -> bool {
        let of = |implementation: usize| self.guesses.iter().find(|guess| guess.implementation == implementation);
        let both = of(implementation).zip(of(self.choice));
        both.is_some_and(|(own, chosen)| own.log - chosen.log > floor.ln_1p())
    }
}

/// Regret of a choice that did not run where it was chosen, and the most that any is counted with.
const WORST: f64 = 1.0;

/// Predicts each layout that lies between others from these.
pub(crate) fn trials(table: &Table, model: Kind, floor: f64) -> Vec<Trial> {
    let Some(default) = table.default() else {
        return Vec::new();
    };
    let layouts: Vec<Layout> = table.layouts().into_iter().collect();
    let mut trials = Vec::new();
    for layout in inner(&layouts) {
        let rest = table.without(layout);
        let fitted = model.fit(&rest);
        for call in table.calls() {
            let bytes = call.bytes;
            if !table.compared(bytes).contains(&layout) {
                continue;
            }
            let guesses = candidates::guesses(&rest, &*fitted, layout, bytes);
            let choice = decide(&guesses, default, floor).choice(default);
            let regret = table.regret(layout, bytes, choice);
            trials.push(Trial {
                layout,
                bytes,
                choice,
                regret,
                guesses,
            });
        }
    }
    trials
}

/// Mean regret of trials; `None` if there are none.
pub(crate) fn mean_regret(trials: &[Trial]) -> Option<f64> {
    let counted = trials.iter().map(|trial| trial.regret.unwrap_or(WORST).min(WORST));
    (!trials.is_empty()).then(|| counted.sum::<f64>() / trials.len() as f64)
}

/// A model with what it lost where layouts were held out.
pub(crate) struct Tried {
    pub(crate) model: Kind,
    pub(crate) trials: Vec<Trial>,
    /// Mean regret of every model that was tried; `None` if no layout lies between others.
    pub(crate) regrets: Vec<(Kind, Option<f64>)>,
}

/// The one of `models` that loses least where layouts are held out. A later one takes an earlier one's place only if it loses less by more than the
/// floor: few layouts can be held out, and differences among models are noisy.
pub(crate) fn best(table: &Table, models: &[Kind], floor: f64) -> Option<Tried> {
    let tried: Vec<(Kind, Vec<Trial>)> = models
        .iter()
        .filter(|model| model.applies(table))
        .map(|model| (*model, trials(table, *model, floor)))
        .collect();
    let regrets = tried
        .iter()
        .map(|(model, trials)| (*model, mean_regret(trials)))
        .collect();
    let loss = |trials: &[Trial]| mean_regret(trials).unwrap_or(0.0);
    let (model, trials) = tried.into_iter().reduce(|best, next| {
        if loss(&next.1) + floor < loss(&best.1) {
            next
        } else {
            best
        }
    })?;
    Some(Tried { model, trials, regrets })
}
