//! Writes a report with invented times, to look at the page without measuring: `report_fixture OUT.html [KIND]` (`OUT.json` for the
//! report itself, to compare), where KIND is `tuned` (default), `checked`, `holding` or `empty`.

use anyhow::{Context, bail};
use kilter_fixtures::report as fixture;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let out = arguments
        .next()
        .context("usage: report_fixture OUT.html [tuned|checked|holding|empty]")?;
    let report = match arguments.next().as_deref() {
        None | Some("tuned") => fixture::tuned(),
        Some("checked") => fixture::checked(),
        Some("holding") => fixture::holding(),
        Some("empty") => fixture::empty(),
        Some(other) => bail!("unknown report {other:?}; known are tuned, checked, holding, empty"),
    };
    let page = if out.ends_with(".json") {
        kilter_report::json::to_string(&report)?
    } else {
        kilter_report::html::render(&report)?
    };
    std::fs::write(&out, page).with_context(|| format!("cannot write {out}"))?;
    print!("{}", kilter_report::terminal::table(&report));
    Ok(())
}
