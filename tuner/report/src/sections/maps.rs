//! Maps of overlap: the points where targets were looked at, and the survey beside the report.

use kilter_overlap::html::in_report;

use super::{Section, nothing};

pub(super) static SECTION: Section = Section {
    id: "overlap",
    navigation: Some("Maps"),
    fields: &["overlap"],
    html: |view| in_report(view.report.overlap.as_ref(), view.survey),
    text: nothing,
    markdown: nothing,
};
