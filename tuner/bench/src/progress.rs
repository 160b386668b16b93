//! Progress and warnings for people, on standard error.

use std::cell::RefCell;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar with the time left, and the warnings of a run.
///
/// The bar is drawn on a terminal only. Elsewhere each phase is one line, so that a log stays readable.
pub struct Progress {
    bar: ProgressBar,
    quiet: bool,
    terminal: bool,
    warnings: RefCell<Vec<String>>,
}

impl Progress {
    /// Starts; `quiet` hides the bar and the phases, never the warnings.
    #[must_use]
    pub fn new(quiet: bool) -> Progress {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let style = ProgressStyle::with_template("{msg:32!} {bar:30} {pos}/{len}  {elapsed_precise}, {eta} left");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        let terminal = !bar.is_hidden();
        Progress {
            bar,
            quiet,
            terminal,
            warnings: RefCell::new(Vec::new()),
        }
    }

    /// Begins a phase of so many steps.
    pub fn phase(&self, name: &str, steps: u64) {
        if self.terminal {
            self.bar.reset();
            self.bar.set_length(steps);
            self.bar.set_message(name.to_owned());
        } else if !self.quiet {
            eprintln!("kilter: {name}");
        }
    }

    /// Corrects the number of the phase's steps.
    pub fn lengthen(&self, steps: u64) {
        self.bar.set_length(steps);
    }

    /// Adds finished steps.
    pub fn step(&self, steps: u64) {
        self.bar.inc(steps);
    }

    /// Prints a line for people.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            self.bar.suspend(|| eprintln!("kilter: {text}"));
        }
    }

    /// Warns of something that the user should act upon. The warning also goes into the report.
    pub fn warn(&self, text: &str) {
        let mut warnings = self.warnings.borrow_mut();
        if !warnings.iter().any(|known| known == text) {
            self.bar.suspend(|| eprintln!("kilter: warning: {text}"));
            warnings.push(text.to_owned());
        }
    }

    /// The warnings so far.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.borrow().clone()
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
