//! The comparison as a page of its own: one file, nothing is fetched, with the styles and the script of the report.

use askama::Template;
use kilter_render::format;
use kilter_render::sheet::Sheet;

use super::Compared;
use super::text::{changes, conclusions};

/// The reason why the page could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the page could not be rendered; `--format json` has the same content: {0}")]
pub struct HtmlError(#[from] askama::Error);

#[derive(Template)]
#[template(path = "compare.html")]
struct Page {
    version: &'static str,
    headline: String,
    /// `good`, `bad` or `open`.
    mood: &'static str,
    subject: String,
    facts: Option<Sheet>,
    pairs: Vec<PairView>,
    tables: Vec<Sheet>,
    matrices: Vec<Sheet>,
}

struct PairView {
    title: String,
    lines: Vec<String>,
    changes: Vec<Sheet>,
}

/// Renders the page.
///
/// # Errors
/// If the template fails to write, which no content causes.
pub fn render(compared: &Compared) -> Result<String, HtmlError> {
    let mut sheets = compared
        .sheets()
        .into_iter()
        .filter(|sheet| !sheet.rows.is_empty())
        .map(typeset);
    // Always there and first.
    let facts = sheets.next();
    let (matrices, tables) = sheets.partition(|sheet| sheet.narrow);
    let pairs: Vec<PairView> = compared
        .pairs
        .iter()
        .map(|pair| PairView {
            title: format!("{} against {}", pair.other, pair.base),
            lines: conclusions(pair)
                .into_iter()
                .skip(usize::from(compared.pairs.len() == 1))
                .map(capital)
                .collect(),
            changes: changes(pair)
                .into_iter()
                .filter(|sheet| !sheet.rows.is_empty())
                .map(typeset)
                .collect(),
        })
        .collect();
    let count = |of: fn(&super::pair::Pair) -> usize| compared.pairs.iter().map(of).sum::<usize>();
    let worse = count(|pair| pair.regressions.len());
    let better = count(|pair| pair.improvements.len());
    let common = count(|pair| pair.common);
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        headline: if common == 0 {
            "Nothing to compare cell by cell".to_owned()
        } else {
            format!(
                "{}, {}",
                format::count(worse, "regression"),
                format::count(better, "improvement")
            )
        },
        mood: match (common, worse) {
            (0, _) => "open",
            (_, 0) => "good",
            _ => "bad",
        },
        subject: compared
            .sides
            .iter()
            .map(super::operand::Operand::column)
            .collect::<Vec<_>>()
            .join(" · "),
        facts,
        pairs,
        tables,
        matrices,
    };
    Ok(page.render()?)
}

/// Signs that a page can show and a plain console may not.
fn typeset(mut sheet: Sheet) -> Sheet {
    for entry in sheet.rows.iter_mut().flatten() {
        entry.text = entry.text.replace("<=", "⪯");
        if let Some(number) = entry.text.strip_suffix(" us") {
            entry.text = format!("{number} µs");
        }
    }
    sheet
}

fn capital(line: String) -> String {
    let mut letters = line.chars();
    match letters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        None => line,
    }
}
