//! Jobs that do not start.

use std::cell::Cell;

use kilter_bench::launch::scripted::NotStarted;

use super::{ScriptedLibrary, SettingsTest};
use crate::scripted::call::Settings;

/// Faults of starts.
#[derive(Default)]
pub(super) struct Faults {
    /// Settings under which jobs do not start.
    under: Option<(SettingsTest, NotStarted)>,
    /// Number of the first jobs of `kilter-verify` that do not start, and how.
    verifiers: Cell<Option<(usize, NotStarted)>>,
    /// Number of jobs of `kilter-verify` so far.
    verifiers_so_far: Cell<usize>,
}

impl ScriptedLibrary {
    /// Jobs do not start under these settings.
    #[must_use]
    pub fn fails_to_start(mut self, when: impl Fn(&Settings<'_>) -> bool + 'static) -> ScriptedLibrary {
        self.not_started.under = Some((Box::new(when), NotStarted::Ends));
        self
    }

    /// Jobs hang before they start under these settings.
    #[must_use]
    pub fn hangs_before_start(mut self, when: impl Fn(&Settings<'_>) -> bool + 'static) -> ScriptedLibrary {
        self.not_started.under = Some((Box::new(when), NotStarted::Hangs));
        self
    }

    /// The first `times` jobs of `kilter-verify` do not start.
    #[must_use]
    pub fn verifiers_do_not_start(self, times: usize, fault: NotStarted) -> ScriptedLibrary {
        self.not_started.verifiers.set(Some((times, fault)));
        self
    }

    /// The fault of a job's start under these settings.
    pub(in crate::scripted) fn fault_of_start(&self, settings: &Settings<'_>) -> Option<NotStarted> {
        let (when, fault) = self.not_started.under.as_ref()?;
        when(settings).then_some(*fault)
    }

    /// Number of jobs of `kilter-verify` so far.
    pub(in crate::scripted) fn verifiers(&self) -> usize {
        self.not_started.verifiers_so_far.get()
    }

    /// The fault of the next start of a job of `kilter-verify`.
    pub(in crate::scripted) fn fault_of_verifier(&self) -> Option<NotStarted> {
        self.not_started.verifiers_so_far.set(self.verifiers() + 1);
        let (left, fault) = self.not_started.verifiers.get().filter(|(left, _)| *left > 0)?;
        self.not_started.verifiers.set(Some((left - 1, fault)));
        Some(fault)
    }
}
