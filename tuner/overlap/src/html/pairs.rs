//! Maps before and after tuning, side by side.

use kilter_model::survey::{BeforeAndAfter, Map, Survey};

use super::heatmap;
use super::words::{caption, typeset};

/// Caption of the pairs.
pub(super) fn about(maps: &BeforeAndAfter) -> String {
    let what = if maps.is_grid {
        "The grid around the cells of the targets, one launch for each map"
    } else {
        "The cells of the targets, medians over the launches"
    };
    if maps.after.is_none() {
        return format!("{what}.");
    }
    format!(
        "{what}. Colours and white line of both maps are relative to the times of communication and computation alone in the untouched \
         library, as for the targets. So slower communication does not look like overlap."
    )
}

/// One benchmark.
pub(super) struct PairView {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) what: &'static str,
    pub(super) before: String,
    pub(super) after: Option<String>,
    /// Cells that could not be measured, with their reasons.
    pub(super) failed: Vec<String>,
}

/// The benchmarks of which a cell was measured.
pub(super) fn of(maps: &BeforeAndAfter) -> Vec<PairView> {
    let after = |before: &Map| {
        let maps = &maps.after.as_ref()?.maps;
        maps.iter().find(|map| map.benchmark == before.benchmark)
    };
    let pair = |before: &Map| PairView::of(before, after(before));
    maps.before.maps.iter().filter_map(pair).collect()
}

impl PairView {
    fn of(before: &Map, after: Option<&Map>) -> Option<PairView> {
        let (title, what) = caption(before.benchmark);
        let draw = |map: &Map, when: &str| {
            let key = format!("overlap-{when}-{}", map.benchmark.name());
            let words = format!("The cells of the targets, {when} tuning.");
            Some(heatmap::draw_as(map, &words, &key)?.replace(" us", " µs"))
        };
        let failed = |map: &Map, when: &str| -> Vec<String> {
            let words = |one| typeset(&format!("{when}: {}", heatmap::failed_words(map.benchmark, one)));
            map.failed.iter().map(words).collect()
        };
        Some(PairView {
            name: before.benchmark.name(),
            title,
            what,
            before: draw(before, "before")?,
            after: after.and_then(|after| draw(after, "after")),
            failed: [
                failed(before, "before"),
                after.map(|after| failed(after, "after")).unwrap_or_default(),
            ]
            .concat(),
        })
    }
}

/// Source of the maps beside the report.
pub(super) fn about_survey(survey: &Survey) -> String {
    format!(
        "From the survey beside this report (overlap.json), made with the settings of that time: {}",
        survey.command
    )
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::markup::check_tags;
    use kilter_fixtures::survey as fixture;
    use kilter_model::survey::Failed;
    use kilter_protocol::overlap::Benchmark;

    use super::super::in_report;
    use super::*;

    fn tuned() -> BeforeAndAfter {
        let mut after = fixture::map(Benchmark::Receiver, fixture::threaded);
        after.cells.pop();
        after.failed.push(Failed {
            bytes: 4 << 20,
            computation_ns: 16_384_000,
            threads: 1,
            reason: "it <hung>".to_owned(),
        });
        BeforeAndAfter {
            is_grid: true,
            before: fixture::survey(vec![fixture::map(Benchmark::Receiver, fixture::serial)]),
            after: Some(fixture::survey(vec![after])),
        }
    }

    #[test]
    fn before_and_after_stand_side_by_side_and_the_survey_below() {
        let section = in_report(Some(&tuned()), Some(&fixture::without_threads())).unwrap();
        let tags = check_tags(&section);
        let ids: Vec<&str> = tags
            .iter()
            .filter_map(|tag| tag.split(" id=\"").nth(1)?.split('"').next())
            .collect();
        for (place, id) in ids.iter().enumerate() {
            assert!(!ids[..place].contains(id), "{id} occurs twice");
        }
        assert_eq!(section.matches("class=\"plot heat\"").count(), 2 + 6);
        // Red before, black after: 0.99 and 0.04 of a scale that ends at 2.
        let fills = |when: &str| {
            let figure = section
                .split(&format!("id=\"overlap-{when}-receiver-t\""))
                .nth(1)
                .unwrap();
            let cells = figure.split("bar-of-colours").next().unwrap();
            (
                cells.matches("rect class=\"q20\"").count(),
                cells.matches("rect class=\"q1\"").count(),
            )
        };
        assert_eq!((fills("before"), fills("after")), ((300, 0), (0, 299)));
        assert!(
            section.contains("after: 4 MiB, 16.4 ms: not measured: it &#60;hung&#62;"),
            "{section}"
        );
        assert!(
            section.contains("kilter overlap -n 2"),
            "the command that made the survey"
        );
        assert_eq!(section.matches("<style>").count(), 1);
    }

    #[test]
    fn what_was_not_measured_is_not_shown() {
        assert_eq!(in_report(None, None).unwrap(), "");
        let nothing = BeforeAndAfter {
            is_grid: false,
            before: fixture::survey(Vec::new()),
            after: None,
        };
        assert_eq!(in_report(Some(&nothing), None).unwrap(), "");
        let checked = BeforeAndAfter { after: None, ..tuned() };
        let section = in_report(Some(&checked), None).unwrap();
        check_tags(&section);
        assert_eq!(section.matches("class=\"plot heat\"").count(), 1);
        assert!(!section.contains("After") && section.contains("single"), "{section}");
    }
}
