//! Which implementations may be deployed: those that passed on this library, this machine and this number of ranks.

use kilter_bench::programs::digest;
use kilter_bench::store::{Store, Verified, VerifiedResult};
use kilter_model::deployment::Selection;
use kilter_protocol::fault::FaultKind;
use kilter_protocol::verifying::{Depth, Wanted};

use super::{Inquiry, Judgement, Launching, library_name, machine, record, skipped_text, verify};
use crate::context::Jobs;

/// The answer to whether a selection may be deployed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Admission {
    /// It may be.
    Admitted,
    /// It may not be.
    Refused(Refusal),
}

/// The reason why a selection must not be deployed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Its plugin lacks the row.
    #[error("the plugin has no such row")]
    NoSuchRow,
    /// Every case was skipped.
    #[error(
        "no case was compared on {ranks} ranks, so its results are unchecked; skipped: {skipped}; `{again}` runs the whole matrix"
    )]
    NothingCompared {
        /// Ranks of the job.
        ranks: usize,
        /// Why cases were skipped, with their numbers.
        skipped: String,
        /// The command that verifies the row.
        again: String,
    },
    /// It delivered wrong data.
    #[error("{failed} wrong case(s) on {ranks} ranks; the first: {reason}; reproduce it with `{again}`")]
    Wrong {
        /// Wrong cases.
        failed: u64,
        /// Ranks of the job.
        ranks: usize,
        /// The defect of the first.
        reason: String,
        /// The command that runs the first again.
        again: String,
    },
}

impl Refusal {
    /// The fault for which the selection is put into quarantine.
    #[must_use]
    pub const fn fault(&self) -> FaultKind {
        match self {
            Refusal::NoSuchRow | Refusal::NothingCompared { .. } => FaultKind::Unverified,
            Refusal::Wrong { .. } => FaultKind::Incorrect,
        }
    }
}

/// Decides whether `selection` may be deployed. An unverified selection is verified now with the values to deploy, in a second's worth
/// of the matrix; a stored verification is not run again.
///
/// # Errors
/// The verification could not be carried out.
pub fn admit(jobs: &Jobs<'_>, store: &Store, selection: &Selection) -> anyhow::Result<Admission> {
    let (id, values) = match selection {
        Selection::Settings(_) => return Ok(Admission::Admitted),
        Selection::Mockup(id, values) | Selection::Algorithm(id, values) => (id, values.clone()),
        Selection::Plugin(plugin) => (&plugin.row.id, plugin.values.clone()),
    };
    let parameters = serde_json::to_string(&values)?;
    let wanted = Wanted {
        name: id.clone(),
        values,
    };
    let inquiry = Inquiry {
        plugin: match selection {
            Selection::Plugin(row) => row.file.clone(),
            _ => jobs.programs.plugin()?,
        },
        rows: vec![wanted],
        case: None,
        depth: Depth::Reduced,
    };
    let (library, machine) = (
        library_name(&jobs.site.library, &jobs.site.version),
        machine(jobs.site.options),
    );
    let (plugin, digest) = (inquiry.plugin.display().to_string(), digest(&inquiry.plugin)?);
    let of = Verified {
        library: &library,
        machine: &machine,
        ranks: jobs.site.options.ranks,
        plugin: &plugin,
        digest: &digest,
        row: id,
        parameters: &parameters,
    };
    if store.verified(&of)?.is_none() {
        let launching = Launching {
            bench: &*jobs.bench,
            options: jobs.site.options,
            program: jobs.programs.verifier()?,
            template: &jobs.template,
            directory: jobs.directory.clone(),
            usual_start_seconds: jobs.usual_start_seconds(),
        };
        // What is counted there is time, too: that of a call that hangs.
        jobs.leaving.see_off()?;
        let found = verify(&launching, jobs.site.options.ranks, &inquiry, &jobs.progress)?;
        for failure in &found.library_failures {
            jobs.progress.warn(&format!(
                "the library's own collective is wrong ({}: {}); report it to its developers",
                failure.case, failure.reason
            ));
        }
        record(store, (&library, &machine), &inquiry, &found.outcomes)?;
    }
    let values: Vec<String> = inquiry.rows[0].values.iter().map(u64::to_string).collect();
    Ok(match store.verified(&of)? {
        Some(result) => judge(&of, &values, &result),
        None => Admission::Refused(Refusal::NoSuchRow),
    })
}

/// Decides whether the result of a run with `values` admits its row.
fn judge(of: &Verified<'_>, values: &[String], result: &VerifiedResult) -> Admission {
    let Verified { ranks, row, .. } = *of;
    let values = match values {
        [] => String::new(),
        values => format!("@{}", values.join("/")),
    };
    let again = format!("kilter verify-algorithms -n {ranks} --only {row}{values}");
    match Judgement::of(result.compared, result.failed) {
        Judgement::Passed => Admission::Admitted,
        Judgement::NothingCompared => Admission::Refused(Refusal::NothingCompared {
            ranks,
            skipped: skipped_text(&serde_json::from_str(&result.skipped).unwrap_or_default()),
            again,
        }),
        Judgement::Failed => {
            let failures: serde_json::Value = serde_json::from_str(&result.failures).unwrap_or_default();
            let text = |name: &str| failures[0][name].as_str().unwrap_or_default().to_owned();
            Admission::Refused(Refusal::Wrong {
                failed: result.failed,
                ranks,
                reason: text("reason"),
                again: format!("{again} --case {}", text("case")),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use kilter_bench::store::{Verified, VerifiedResult};

    use super::{Admission, Refusal, judge};

    #[test]
    fn only_a_row_that_was_compared_and_never_wrong_is_admitted() {
        let of = Verified {
            library: "MPI 1",
            machine: "here",
            ranks: 4,
            plugin: "a.so",
            digest: "12",
            row: "bcast.x",
            parameters: "[8]",
        };
        let judged = |compared, failed, skipped: &str, failures: &str| {
            let (skipped, failures) = (skipped.to_owned(), failures.to_owned());
            let result = VerifiedResult {
                compared,
                failed,
                skipped,
                failures,
            };
            judge(&of, &["8".to_owned()], &result)
        };
        let refused = |admission| match admission {
            Admission::Admitted => panic!("it is admitted"),
            Admission::Refused(refusal) => refusal,
        };
        assert_eq!(judged(3, 0, r#"{"no data is moved":2}"#, "[]"), Admission::Admitted);
        let nothing = refused(judged(0, 0, r#"{"its operator must commute":9}"#, "[]"));
        assert!(matches!(nothing, Refusal::NothingCompared { .. }), "{nothing:?}");
        let nothing = nothing.to_string();
        assert!(
            nothing.contains("no case was compared on 4 ranks") && nothing.contains("9 (its operator must commute)"),
            "{nothing}"
        );
        let wrong = refused(judged(3, 1, "{}", r#"[{"case":"count=1","reason":"rank 2: 7"}]"#));
        assert!(matches!(wrong, Refusal::Wrong { failed: 1, .. }), "{wrong:?}");
        let wrong = wrong.to_string();
        assert!(
            wrong.contains("1 wrong case(s) on 4 ranks; the first: rank 2: 7"),
            "{wrong}"
        );
        assert!(wrong.contains("--only bcast.x@8 --case count=1"), "{wrong}");
    }
}
