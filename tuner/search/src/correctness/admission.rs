//! Which implementations may be deployed: those that passed on this library, this machine and this number of ranks.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
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

/// Decides whether `selection` may be deployed, as [`admit_all`] does.
///
/// # Errors
/// The verification could not be carried out.
pub fn admit(jobs: &Jobs<'_>, store: &Store, selection: &Selection) -> anyhow::Result<Admission> {
    let mut admissions = admit_all(jobs, store, std::slice::from_ref(selection))?;
    admissions.pop().context("a selection without an answer")
}

/// Decides for each of `selections` whether it may be deployed. Unverified ones are verified now with the values to deploy, in a second's worth of
/// the matrix each, and those of one plugin in one job; a stored verification is not run again.
///
/// # Errors
/// The verification could not be carried out.
pub fn admit_all(jobs: &Jobs<'_>, store: &Store, selections: &[Selection]) -> anyhow::Result<Vec<Admission>> {
    let asked: Vec<Option<Question>> = selections
        .iter()
        .map(|selection| Question::of(jobs, selection))
        .collect::<anyhow::Result<_>>()?;
    let mut digests: BTreeMap<PathBuf, String> = BTreeMap::new();
    for question in asked.iter().flatten() {
        if !digests.contains_key(&question.plugin) {
            digests.insert(question.plugin.clone(), digest(&question.plugin)?);
        }
    }
    let known = Known {
        store,
        library: library_name(&jobs.site.library, &jobs.site.version),
        machine: machine(jobs.site.options),
        ranks: jobs.site.options.ranks,
        digests,
    };
    let mut missing = Vec::new();
    for question in asked.iter().flatten() {
        if known.result(question)?.is_none() {
            missing.push(question);
        }
    }
    for inquiry in inquiries(&missing) {
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
        let found = verify(&launching, known.ranks, &inquiry, &jobs.progress)?;
        for failure in &found.library_failures {
            jobs.progress.warn(&format!(
                "the library's own collective is wrong ({}: {}); report it to its developers",
                failure.case, failure.reason
            ));
        }
        record(store, (&known.library, &known.machine), &inquiry, &found.outcomes)?;
    }
    let answer = |question: &Option<Question>| match question {
        None => Ok(Admission::Admitted),
        Some(question) => Ok(match known.result(question)? {
            Some(result) => judge(known.ranks, &question.wanted, &result),
            None => Admission::Refused(Refusal::NoSuchRow),
        }),
    };
    asked.iter().map(answer).collect()
}

/// A row with the values to deploy, in its plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Question {
    plugin: PathBuf,
    wanted: Wanted,
}

impl Question {
    /// `None` for the library's own settings, in which nothing of Kilter's or a plugin's runs.
    fn of(jobs: &Jobs<'_>, selection: &Selection) -> anyhow::Result<Option<Question>> {
        let (id, values) = match selection {
            Selection::Settings(_) => return Ok(None),
            Selection::Mockup(id, values) | Selection::Algorithm(id, values) => (id, values.clone()),
            Selection::Plugin(plugin) => (&plugin.row.id, plugin.values.clone()),
        };
        let plugin = match selection {
            Selection::Plugin(row) => row.file.clone(),
            _ => jobs.programs.plugin()?,
        };
        let wanted = Wanted {
            name: id.clone(),
            values,
        };
        Ok(Some(Question { plugin, wanted }))
    }
}

/// The inquiries for these questions: each once, those of one plugin together. A report names the row and not its values, so that a further set of
/// values of one row has a job of its own: wrong results of the one say nothing of the other.
fn inquiries(questions: &[&Question]) -> Vec<Inquiry> {
    let mut list: Vec<Inquiry> = Vec::new();
    for Question { plugin, wanted } in questions {
        let of_plugin = |inquiry: &&mut Inquiry| inquiry.plugin == *plugin;
        if list
            .iter_mut()
            .filter(of_plugin)
            .any(|inquiry| inquiry.rows.contains(wanted))
        {
            continue;
        }
        let is_free = |inquiry: &&mut Inquiry| inquiry.rows.iter().all(|row| row.name != wanted.name);
        match list.iter_mut().filter(of_plugin).find(is_free) {
            Some(inquiry) => inquiry.rows.push(wanted.clone()),
            None => list.push(Inquiry {
                plugin: plugin.clone(),
                rows: vec![wanted.clone()],
                case: None,
                depth: Depth::Reduced,
            }),
        }
    }
    list
}

/// Stored results of the library, machine and number of ranks at hand.
struct Known<'a> {
    store: &'a Store,
    library: String,
    machine: String,
    ranks: usize,
    /// Digests of the plugins asked about.
    digests: BTreeMap<PathBuf, String>,
}

impl Known<'_> {
    /// The stored result, if there is one.
    fn result(&self, question: &Question) -> anyhow::Result<Option<VerifiedResult>> {
        let parameters = serde_json::to_string(&question.wanted.values)?;
        let of = Verified {
            library: &self.library,
            machine: &self.machine,
            ranks: self.ranks,
            plugin: &question.plugin.display().to_string(),
            digest: self.digests.get(&question.plugin).map_or("", String::as_str),
            row: &question.wanted.name,
            parameters: &parameters,
        };
        Ok(self.store.verified(&of)?)
    }
}

/// Decides whether the result of a run with its values admits a row.
fn judge(ranks: usize, wanted: &Wanted, result: &VerifiedResult) -> Admission {
    let Wanted { name: row, values } = wanted;
    let values: Vec<String> = values.iter().map(u64::to_string).collect();
    let values = match values.as_slice() {
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
    use kilter_bench::store::VerifiedResult;
    use kilter_protocol::verifying::Wanted;

    use super::{Admission, Question, Refusal, inquiries, judge};

    fn wanted(name: &str, values: &[u64]) -> Wanted {
        Wanted {
            name: name.to_owned(),
            values: values.to_vec(),
        }
    }

    #[test]
    fn each_row_is_asked_once_with_others_of_its_plugin_and_other_values_in_a_job_of_their_own() {
        let asked = [
            ("a.so", "x", &[8][..]),
            ("b.so", "x", &[8]),
            ("a.so", "y", &[]),
            ("a.so", "x", &[9]),
            ("a.so", "x", &[8]),
            ("a.so", "z", &[]),
            ("a.so", "x", &[7]),
            ("a.so", "x", &[9]),
        ];
        let questions = asked.map(|(plugin, name, values)| Question {
            plugin: plugin.into(),
            wanted: wanted(name, values),
        });
        let jobs: Vec<(String, Vec<Wanted>)> = inquiries(&questions.iter().collect::<Vec<_>>())
            .into_iter()
            .map(|inquiry| (inquiry.plugin.display().to_string(), inquiry.rows))
            .collect();
        let job = |plugin: &str, rows: &[Wanted]| (plugin.to_owned(), rows.to_vec());
        assert_eq!(
            jobs,
            [
                job("a.so", &[wanted("x", &[8]), wanted("y", &[]), wanted("z", &[])]),
                job("b.so", &[wanted("x", &[8])]),
                job("a.so", &[wanted("x", &[9])]),
                job("a.so", &[wanted("x", &[7])]),
            ]
        );
    }

    #[test]
    fn only_a_row_that_was_compared_and_never_wrong_is_admitted() {
        let judged = |compared, failed, skipped: &str, failures: &str| {
            let (skipped, failures) = (skipped.to_owned(), failures.to_owned());
            let result = VerifiedResult {
                compared,
                failed,
                skipped,
                failures,
            };
            judge(4, &wanted("bcast.x", &[8]), &result)
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
