//! A section is a file and a row: `notes` is the file, and its row stands in the table for tests alone.

use std::collections::BTreeSet;

use kilter_fixtures::markup::check_page;
use kilter_fixtures::report as fixture;
use serde_json::Value;

use super::*;
use crate::{html, markdown, terminal};

pub(super) mod notes;

fn with_a_note() -> Report {
    let mut report = fixture::tuned();
    report.warnings = vec!["note: the <machine> is_new".to_owned()];
    report
}

#[test]
fn an_added_section_is_in_every_rendering_at_its_place() {
    let report = with_a_note();
    let page = html::render(&report).unwrap();
    check_page(&page);
    assert!(page.contains("<a href=\"#notes\">Notes</a>"));
    assert!(page.contains("<li>the &#60;machine&#62; is_new</li>"), "{page}");
    assert!(page.find("<section id=\"method\"").unwrap() < page.find("<section id=\"notes\"").unwrap());
    let text = terminal::table(&report);
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("no `{part}` in {text}"));
    assert!(place("\nGains: ") < place("note: the <machine> is_new"));
    assert!(place("note: the <machine> is_new") < place("\n violated "));
    let markdown = markdown::to_string(&report);
    let (before, after) = markdown.split_once("\n## Notes\n\n- the \\<machine> is_new\n").unwrap();
    assert!(
        before.starts_with("# ") && before.matches("\n## ").count() == 1 && after.starts_with("\n## Deployed changes")
    );
    assert_eq!(
        json(&report, "notes").unwrap()["warnings"][0],
        "note: the <machine> is_new"
    );
}

#[test]
fn a_section_with_nothing_to_say_is_nowhere() {
    let mut report = fixture::tuned();
    report.warnings.clear();
    for text in [
        html::render(&report).unwrap(),
        terminal::table(&report),
        markdown::to_string(&report),
    ] {
        assert!(!text.to_lowercase().contains("notes"), "{text}");
    }
}

#[test]
fn every_field_of_the_report_belongs_to_a_section() {
    let schema = schemars::schema_for!(Report);
    let known = schema.get("properties").and_then(Value::as_object).unwrap();
    let known: BTreeSet<&str> = known.keys().map(String::as_str).collect();
    let shown: BTreeSet<&str> = SECTIONS.iter().flat_map(|row| row.section.fields).copied().collect();
    assert_eq!(shown, known);
}

#[test]
fn ids_are_each_once_and_places_in_an_order() {
    let ids: BTreeSet<&str> = SECTIONS.iter().map(|row| row.section.id).collect();
    assert_eq!(ids.len(), SECTIONS.len());
    for place in [|row: &Row| row.text, |row: &Row| row.markdown] {
        let places: Vec<u8> = SECTIONS.iter().map(place).filter(|place| *place > 0).collect();
        assert_eq!(places.iter().collect::<BTreeSet<_>>().len(), places.len(), "{places:?}");
    }
}
