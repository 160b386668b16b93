//! Candidates that looked better and are not deployed.

use kilter_model::report::Report;
use kilter_render::format;
use kilter_render::sheet::{Entry, Sheet};

use super::{Section, one_table};

pub(super) static SECTION: Section = Section {
    id: "looked-better",
    navigation: None,
    fields: &["contests", "targets"],
    html: |view| one_table::html(SECTION.id, sheet(view.report)),
    text: |view| one_table::details(view, sheet(view.report)),
    markdown: |view| one_table::markdown(sheet(view.report)),
};

/// Rows of a contest that are printed; the report's JSON has them all.
const SHOWN: usize = 8;

/// The table; `None` where nothing looked better, or everything that did is deployed.
fn sheet(report: &Report) -> Option<Sheet> {
    let mut rows = Vec::new();
    let mut folded = 0;
    for contest in &report.contests {
        let cell = format!(
            "{} at {}",
            format::function(&contest.function),
            format::bytes(contest.bytes)
        );
        let finalists = contest.candidates.iter().filter_map(|one| {
            let why = one.not_deployed.as_ref()?;
            Some((one.id.as_str(), one.ratio_to_default, why))
        });
        let screened = contest.screened.iter();
        let screened = screened.map(|one| (one.id.as_str(), one.ratio_to_default, &one.not_deployed));
        for (place, (id, ratio, why)) in finalists.chain(screened).enumerate() {
            if place >= SHOWN {
                folded += 1;
                continue;
            }
            let looked = if ratio.is_finite() {
                format!("{} of the default", format::ratio(ratio))
            } else {
                // A setting of whole launches was judged by all cells together.
                "in a launch".to_owned()
            };
            rows.push([cell.clone(), id.to_owned(), looked, why.to_string()]);
        }
    }
    let missed = report.targets.iter().find(|target| !target.candidates.is_empty());
    for one in missed.into_iter().flat_map(|target| &target.candidates) {
        if let Some(why) = &one.not_deployed {
            let shown = format!("shortfall {:.2} -> {:.2}", one.shortfall_before, one.shortfall);
            rows.push(["overlap".to_owned(), one.id.clone(), shown, why.to_string()]);
        }
    }
    if rows.is_empty() {
        return None;
    }
    Some(Sheet {
        title: "Better in the screening, but not deployed".to_owned(),
        heads: ["where", "candidate", "looked", "because it"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.into_iter().map(|row| row.map(Entry::text).to_vec()).collect(),
        note: match folded {
            0 => String::new(),
            _ => format!("{} in `report.json`.", format::count(folded, "more row")),
        },
        names: 2,
        narrow: false,
    })
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::report as fixture;
    use kilter_model::not_deployed::NotDeployed;
    use kilter_model::report::{Screened, TargetCandidate, TargetReport};

    use super::*;
    use crate::{csv, html, markdown, terminal};

    fn report() -> Report {
        let mut report = fixture::tuned();
        for contest in &mut report.contests {
            contest.screened.clear();
            for one in &mut contest.candidates {
                one.not_deployed = None;
            }
        }
        report
    }

    #[test]
    fn nothing_to_say_is_no_table() {
        assert_eq!(sheet(&report()), None);
    }

    #[test]
    fn every_rendering_says_why_each_is_not_deployed() {
        let mut report = report();
        report.contests[0].screened.push(Screened {
            id: "reduce.pipelined_chain".to_owned(),
            ratio_to_default: 0.71,
            not_deployed: NotDeployed::NotAmongFinalists { finalists: 5 },
        });
        report.targets = vec![TargetReport {
            target: "HALF".to_owned(),
            benchmark: "receiver".to_owned(),
            statement: String::new(),
            stated_for: String::new(),
            before: "missed".to_owned(),
            after: None,
            fix: None,
            unmet_because: None,
            attainable: true,
            cells: Vec::new(),
            candidates: vec![TargetCandidate {
                id: "KILTER_PROGRESS=on".to_owned(),
                shortfall_before: 0.5,
                shortfall: 0.0,
                not_deployed: Some(NotDeployed::Banned),
            }],
        }];
        for text in [
            terminal::table(&report),
            markdown::to_string(&report),
            html::render(&report).unwrap(),
            csv::not_deployed(&report),
        ] {
            assert!(text.contains("reduce.pipelined_chain"), "{text}");
            assert!(text.contains("was not confirmed: others looked better, and 5 are confirmed at most"));
            assert!(text.contains("KILTER_PROGRESS=on") && text.contains("was taken back in an earlier round"));
        }
    }

    #[test]
    fn a_long_list_is_cut_and_says_so() {
        let mut report = report();
        let one = |number: usize| Screened {
            id: format!("row.{number}"),
            ratio_to_default: 0.5,
            not_deployed: NotDeployed::NotAmongFinalists { finalists: 5 },
        };
        report.contests[0].screened = (0..SHOWN + 3).map(one).collect();
        let sheet = sheet(&report).unwrap();
        assert_eq!(
            (sheet.rows.len(), sheet.note.as_str()),
            (SHOWN, "3 more rows in `report.json`.")
        );
    }
}
