//! Heat maps for people: a page of its own, and a part of another one. It is one file that fetches nothing; style rules
//! alone switch the colours.

use askama::Template;
use kilter_model::config::target;
use kilter_model::reading::{Quantity, read, row};
use kilter_model::survey::{BeforeAndAfter, Map, Survey};
use kilter_render::format;
use kilter_render::sheet::Sheet;
use kilter_stats::verdict::Rule;

use super::classify::{Classification, Finding, classify};
use super::targets::{self, Judgement, Standing};
use super::{heatmap, palette};

mod pairs;
mod words;

use pairs::PairView;
use words::{caption, facts, subject, typeset};

/// A page.
#[derive(Template)]
#[template(path = "overlap.html")]
struct Page {
    version: &'static str,
    headline: String,
    subject: String,
    section: String,
    targets: String,
    facts: Vec<(&'static str, String)>,
}

/// Maps with their controls and their style.
#[derive(Template)]
#[template(path = "overlap_section.html")]
struct Section {
    title: &'static str,
    /// Caption of the pairs and source of the maps, if they need one.
    about_pairs: String,
    about_maps: String,
    palettes: String,
    pairs: Vec<PairView>,
    maps: Vec<MapView>,
    has_inferred: bool,
}

/// Section on targets.
#[derive(Template)]
#[template(path = "overlap_targets.html")]
struct Targets {
    sheet: Sheet,
    remarks: Vec<String>,
    cells: Vec<Sheet>,
}

/// One benchmark.
struct MapView {
    name: &'static str,
    title: &'static str,
    what: &'static str,
    svg: Option<String>,
    findings: Vec<Finding>,
    /// `ratio` or `slowdown`.
    quantity: &'static str,
    /// `computation` or `threads`.
    across: &'static str,
    heads: Vec<String>,
    rows: Vec<Row>,
    failed: Vec<String>,
}

/// The cells of one size.
struct Row {
    size: String,
    communication: String,
    values: Vec<String>,
}

/// Renders a survey as a page: the library's behaviour, its maps, and the targets that come with Kilter, judged on this
/// survey alone.
pub fn render(survey: &Survey) -> anyhow::Result<String> {
    let targets = target::load_embedded()?;
    let launch = std::slice::from_ref(survey);
    let judged = targets::judge_all(&targets, launch, launch, &Rule::default());
    render_judged(survey, &judged, None)
}

/// Same as [`render`], with given judgements of its targets: those of the untouched library and, if there are any,
/// those of the deployed state. Targets without a measured cell are left out.
pub fn render_judged(survey: &Survey, before: &[Judgement], after: Option<&[Judgement]>) -> anyhow::Result<String> {
    let classes = classify(survey);
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        headline: typeset(&classes.library.sentence),
        subject: subject(survey),
        section: section_of(survey, &classes)?,
        targets: targets_section(before, after)?,
        facts: facts(survey, &classes.library),
    };
    Ok(page.render()?)
}

/// The maps alone, for the body of another page with the report's style: figures, classes and tables, with their own
/// style rules.
pub fn section(survey: &Survey) -> anyhow::Result<String> {
    Ok(section_of(survey, &classify(survey))?)
}

/// The targets alone, for the body of another page; empty if none was measured.
pub fn targets_section(before: &[Judgement], after: Option<&[Judgement]>) -> anyhow::Result<String> {
    let known = |judgement: &&Judgement| judgement.standing() != Standing::Unknown || !judgement.cells.is_empty();
    let before: Vec<Judgement> = before.iter().filter(known).cloned().collect();
    if before.is_empty() {
        return Ok(String::new());
    }
    let shown = after.unwrap_or(&before);
    let mut sheet = typeset_sheet(targets::sheet(&before, after));
    // The statement heads the table of each target's cells, where it has room.
    sheet.heads.remove(STATEMENT);
    for row in &mut sheet.rows {
        row.remove(STATEMENT);
    }
    let remark = |judgement: &Judgement| Some(typeset(&format!("{}: {}.", judgement.target, judgement.remark()?)));
    Ok(Targets {
        sheet,
        remarks: shown.iter().filter_map(remark).collect(),
        cells: shown
            .iter()
            .filter(known)
            .map(|judgement| typeset_sheet(targets::cells(judgement)))
            .collect(),
    }
    .render()?)
}

/// Index of the column of statements.
const STATEMENT: usize = 2;

/// A table with the signs of a page.
fn typeset_sheet(mut sheet: Sheet) -> Sheet {
    sheet.title = typeset(&sheet.title);
    sheet.note = typeset(&sheet.note);
    for entry in sheet.rows.iter_mut().flatten() {
        entry.text = typeset(&entry.text);
    }
    sheet
}

fn section_of(survey: &Survey, classes: &Classification) -> askama::Result<String> {
    Section {
        title: "Overlap of communication and computation",
        ..Section::of(survey, classes)
    }
    .render()
}

/// Overlap section of a run's report, below the table of its targets: the measurements for these before and after, side
/// by side, and the maps of a survey beside the report. Empty without both.
pub fn in_report(targets: Option<&BeforeAndAfter>, survey: Option<&Survey>) -> askama::Result<String> {
    let pairs = targets.map(pairs::of).unwrap_or_default();
    if pairs.is_empty() && survey.is_none() {
        return Ok(String::new());
    }
    let maps = survey.map(|survey| Section::of(survey, &classify(survey)));
    Section {
        title: "Maps of overlap",
        about_pairs: targets
            .filter(|_| !pairs.is_empty())
            .map(pairs::about)
            .unwrap_or_default(),
        about_maps: survey.map(pairs::about_survey).unwrap_or_default(),
        pairs,
        ..maps.unwrap_or_default()
    }
    .render()
}

impl Section {
    fn of(survey: &Survey, classes: &Classification) -> Section {
        Section {
            maps: survey
                .maps
                .iter()
                .zip(&classes.maps)
                .map(|(map, classes)| MapView::of(map, &classes.findings))
                .collect(),
            has_inferred: survey.maps.iter().flat_map(|map| &map.cells).any(|cell| cell.inferred),
            ..Section::default()
        }
    }
}

impl Default for Section {
    fn default() -> Section {
        Section {
            title: "",
            about_pairs: String::new(),
            about_maps: String::new(),
            palettes: palette::style(),
            pairs: Vec::new(),
            maps: Vec::new(),
            has_inferred: false,
        }
    }
}

impl MapView {
    fn of(map: &Map, findings: &[Finding]) -> MapView {
        let sentences: Vec<&str> = findings.iter().map(|finding| finding.sentence.as_str()).collect();
        let (title, what) = caption(map.benchmark);
        let rows_of = |cell: &kilter_model::survey::Cell| row(map.benchmark, cell.computation_ns, cell.threads);
        let mut columns: Vec<u64> = map.cells.iter().map(rows_of).collect();
        columns.sort_unstable();
        columns.dedup();
        let mut sizes: Vec<u64> = map.cells.iter().map(|cell| cell.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let rows = sizes.iter().map(|bytes| {
            let cells: Vec<_> = map.cells.iter().filter(|cell| cell.bytes == *bytes).collect();
            let alone: Vec<f64> = cells.iter().map(|cell| cell.communication_seconds).collect();
            let value = |column: &u64| match cells.iter().find(|cell| rows_of(cell) == *column) {
                None => String::new(),
                Some(cell) => read(map.benchmark, cell).map_or_else(
                    || "masked".to_owned(),
                    |reading| format::ratio(reading.value) + if cell.inferred { "*" } else { "" },
                ),
            };
            Row {
                size: format::bytes(*bytes),
                communication: typeset(
                    &kilter_stats::sample::Sample::new(alone)
                        .map_or_else(|_| format::NONE.to_owned(), |sample| format::seconds(sample.median())),
                ),
                values: columns.iter().map(value).collect(),
            }
        });
        MapView {
            name: map.benchmark.name(),
            title,
            what,
            svg: heatmap::draw(map, &sentences.join(" ")).map(|svg| svg.replace(" us", " µs")),
            findings: findings
                .iter()
                .map(|finding| Finding {
                    sentence: typeset(&finding.sentence),
                    evidence: typeset(&finding.evidence),
                    ..finding.clone()
                })
                .collect(),
            quantity: Quantity::of(map.benchmark).name(),
            across: match Quantity::of(map.benchmark) {
                Quantity::Ratio => "computation",
                Quantity::Slowdown => "computing threads",
            },
            heads: columns
                .iter()
                .map(|column| typeset(&heatmap::row_words(map.benchmark, *column)))
                .collect(),
            rows: rows.collect(),
            failed: map
                .failed
                .iter()
                .map(|failed| typeset(&heatmap::failed_words(map.benchmark, failed)))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::markup::{check_page, check_tags};
    use kilter_fixtures::survey as fixture;

    use super::*;

    #[test]
    fn the_page_is_well_formed_fetches_nothing_and_has_every_map_once() {
        let survey = fixture::without_threads();
        let page = render(&survey).unwrap();
        check_page(&page);
        assert_eq!(page.matches("class=\"plot heat\"").count(), 6);
        // Both palettes, switched without a script.
        assert!(page.contains("#overlap-ordered:checked~.maps") && page.contains("id=\"overlap-ordered\""));
    }

    #[test]
    fn the_table_has_what_the_map_has() {
        let page = section(&fixture::without_threads()).unwrap();
        let table = page.split("<table").nth(1).unwrap().split("</table>").next().unwrap();
        assert_eq!(table.matches("<tr>").count(), 1 + 20);
        assert_eq!(table.matches("<th scope=\"col\"").count(), 2 + 15);
        assert!(table.contains("masked") && table.contains("*</td>"));
        assert!(page.contains("4 MiB, 16.4 ms: not measured: no answer within 30 s"));
    }

    #[test]
    fn what_comes_from_outside_is_escaped() {
        let mut survey = fixture::without_threads();
        survey.library = "<script>alert(1)</script>".to_owned();
        survey.command = "kilter \"<u>\"".to_owned();
        survey.maps[1].failed[0].reason = "<img>".to_owned();
        survey.hosts[0] = "<i>".to_owned();
        let page = render(&survey).unwrap();
        check_tags(&page);
        for raw in ["<script>alert", "<u>", "<img>", "<i>"] {
            assert!(!page.contains(raw), "{raw}");
        }
    }

    #[test]
    fn targets_are_judged_before_and_after() {
        let survey = fixture::without_threads();
        let page = render(&survey).unwrap();
        assert!(page.contains("not attainable here, because all 2 ranks share a host"));
        assert!(!page.contains("OV_IALLREDUCE"), "it was not measured");
        let launch = std::slice::from_ref(&survey);
        let judged = targets::judge_all(&target::load_embedded().unwrap(), launch, launch, &Rule::default());
        let both = targets_section(&judged, Some(&judged)).unwrap();
        assert!(both.contains("worst after") && both.contains("T_comm after / before"));
        assert_eq!(targets_section(&[], None).unwrap(), "");
    }

    #[test]
    fn an_empty_survey_is_a_page() {
        let page = render(&fixture::survey(Vec::new())).unwrap();
        check_tags(&page);
        assert!(!page.contains("class=\"plot heat\""));
    }
}
