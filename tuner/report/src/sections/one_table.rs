//! A section that is one table: its markup, text and Markdown, all of them empty where there is no table.

use askama::Template;
use kilter_render::sheet::Sheet;

use super::View;
use crate::terminal;

#[derive(Template)]
#[template(
    source = r##"<section id="{{ id }}">
<h2>{{ sheet.title }}</h2>
<div class="scroll" role="region" tabindex="0" aria-label="{{ sheet.title }}">
<table>
<thead><tr>{% for word in sheet.heads %}<th scope="col">{{ word }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in sheet.rows %}<tr>{% for entry in row %}{% if loop.first %}<th scope="row">{{ entry.text }}</th>{% else %}<td{% if !entry.class.is_empty() %} class="{{ entry.class }}"{% endif %}>{{ entry.text }}</td>{% endif %}{% endfor %}</tr>
{% endfor %}</tbody></table></div>
{% if !sheet.note.is_empty() %}<p class="note">{{ sheet.note }}</p>{% endif %}
</section>
"##,
    ext = "html"
)]
struct Page<'a> {
    /// The section's id in the page.
    id: &'a str,
    sheet: Sheet,
}

/// The section's markup.
pub(super) fn html(id: &str, sheet: Option<Sheet>) -> askama::Result<String> {
    sheet.map_or(Ok(String::new()), |sheet| Page { id, sheet }.render())
}

/// The section's lines on a terminal.
pub(super) fn text(sheet: Option<Sheet>) -> String {
    sheet.map_or_else(String::new, |sheet| format!("\n{}", sheet.to_text()))
}

/// The lines of a table of details: in brief, the bad rows of a long one, and how many there are.
pub(super) fn details(view: &View<'_>, sheet: Option<Sheet>) -> String {
    let Some(mut sheet) = sheet else {
        return String::new();
    };
    if !view.is_brief || sheet.rows.len() <= terminal::SHORT {
        return text(Some(sheet));
    }
    let counted = terminal::counted(&sheet.title, sheet.rows.len());
    sheet.rows.retain(|row| row.iter().any(|entry| entry.class == "bad"));
    if sheet.rows.is_empty() {
        return counted;
    }
    text(Some(sheet)) + &counted
}

/// The section's Markdown; its heading is one of the document's, not of a table within a section.
pub(super) fn markdown(sheet: Option<Sheet>) -> String {
    sheet.map_or_else(String::new, |sheet| {
        format!("\n{}", sheet.to_markdown().replacen("###", "##", 1))
    })
}
