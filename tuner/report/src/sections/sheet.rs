//! A section that is one table: its sheet in every rendering. Such a section says what stands in the table and has no markup of its own.

use askama::Template;
use kilter_render::sheet::Sheet;

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
struct Page {
    id: &'static str,
    sheet: Sheet,
}

/// The section with this id; nothing where there is no table.
pub(super) fn html(id: &'static str, sheet: Option<Sheet>) -> askama::Result<String> {
    sheet.map_or(Ok(String::new()), |sheet| Page { id, sheet }.render())
}

/// Lines on a terminal.
pub(super) fn text(sheet: Option<Sheet>) -> String {
    sheet.map_or_else(String::new, |sheet| format!("\n{}", sheet.to_text()))
}

/// Markdown, under a heading of a section.
pub(super) fn markdown(sheet: Option<Sheet>) -> String {
    sheet.map_or_else(String::new, |sheet| {
        format!("\n{}", sheet.to_markdown().replacen("###", "##", 1))
    })
}
