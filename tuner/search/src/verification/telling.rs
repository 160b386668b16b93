//! Warnings of a verification: too few launches, too little time, launches that depend on each other or differ too much.

use kilter_stats::verdict::Outcome;
use kilter_stats::verdict::dependence::{Dependence, Looks};

use super::{JudgedCell, Work};

impl Work<'_, '_> {
    pub(super) fn warn_of_few_launches(&self, cells: usize) {
        let options = self.jobs.site.options;
        if options.is_exact() || cells == 0 {
            return;
        }
        let needed = self.needed_launches;
        if options.launches < needed {
            self.jobs.progress.warn(&format!(
                "{} launches cannot show a violation among {cells} hypotheses, however clear it is; use --launches {needed} or \
                 more, or fewer cells",
                options.launches
            ));
        }
    }

    pub(super) fn report_what_is_left(&self) {
        let count = |verdict: Outcome| {
            let is = |judged: &&JudgedCell| judged.comparison.verdict == verdict;
            self.verification.cells.iter().filter(is).count()
        };
        let (screened, open) = (count(Outcome::Screened), count(Outcome::Undecided));
        if screened + open > 0 && (self.is_out_of_time || self.left_seconds() <= 0.0) {
            let when = match self.verification.launches {
                0 => "before any launch that confirms".to_owned(),
                1 => "after one launch".to_owned(),
                launches => format!("after {launches} launches"),
            };
            let counts = [(open, "undecided"), (screened, "only screened")];
            let counts = counts.into_iter().filter(|(cells, _)| *cells > 0);
            let counts: Vec<String> = counts
                .map(|(cells, what)| format!("{} {what}", kilter_render::format::count(cells, "cell")))
                .collect();
            self.jobs.progress.warn(&format!(
                "{:.0} s of the budget were spent {when}; {}; raise --budget for surer verdicts",
                self.jobs.budget.spent_seconds(),
                counts.join(" and ")
            ));
        }
    }

    pub(super) fn report_dependence(&self, design: &Looks) {
        if let Some(warning) = design.dependence().and_then(Dependence::warning) {
            self.jobs.progress.warn(&warning);
        }
    }

    pub(super) fn report_stability(&self) {
        if let Some(stability) = self.stability() {
            for warning in stability.warnings() {
                self.jobs.progress.warn(&warning);
            }
        }
    }
}
