//! `report.csv`: one line per cell and stage, for spreadsheets and plotting scripts. RFC 4180, header line first, times in
//! seconds, sizes in bytes, empty fields where there is no number.

use std::fmt::Write as _;

use kilter_model::not_deployed::NotDeployed;
use kilter_model::report::{Cell, Report};
use kilter_render::quoting::field;
use kilter_stats::verdict::Comparison;

use super::summary::outcome_word;

const HEAD: &str = "guideline,kind,function,expression,ranks,bytes,measured_bytes,right_bytes,stage,verdict,ratio,ratio_low,\
                    ratio_high,p,p_adjusted,left_seconds,right_seconds,fix,unfixed_because,note\r\n";

/// The cells as CSV: `before` for every cell, `after` for those measured again.
pub fn to_string(report: &Report) -> String {
    let mut out = HEAD.to_owned();
    for cell in &report.cells {
        line(&mut out, cell, "before", &cell.before);
        if let Some(after) = &cell.after {
            line(&mut out, cell, "after", after);
        }
    }
    out
}

/// `not-deployed.csv`: one line for each candidate that looked better and is not deployed; the same quoting.
pub fn not_deployed(report: &Report) -> String {
    let mut out = "function,bytes,candidate,looked,compared,because\r\n".to_owned();
    let mut line = |(function, bytes): (&str, String), id: &str, (looked, compared): (f64, &str), why: &NotDeployed| {
        let looked = if looked.is_finite() {
            format!("{looked:e}")
        } else {
            String::new()
        };
        let words = [function, &bytes, id, &looked, compared, &why.to_string()].map(field);
        let _ = write!(out, "{}\r\n", words.join(","));
    };
    for contest in &report.contests {
        let cell = || (contest.function.as_str(), contest.bytes.to_string());
        for one in &contest.candidates {
            if let Some(why) = &one.not_deployed {
                line(cell(), &one.id, (one.ratio_to_default, "ratio to default"), why);
            }
        }
        for one in &contest.screened {
            line(
                cell(),
                &one.id,
                (one.ratio_to_default, "ratio to default"),
                &one.not_deployed,
            );
        }
    }
    let missed = report.targets.iter().find(|target| !target.candidates.is_empty());
    for one in missed.into_iter().flat_map(|target| &target.candidates) {
        if let Some(why) = &one.not_deployed {
            line(("overlap", String::new()), &one.id, (one.shortfall, "shortfall"), why);
        }
    }
    out
}

fn line(out: &mut String, cell: &Cell, stage: &str, comparison: &Comparison) {
    let words = [&cell.guideline, &cell.kind, &cell.function, &cell.expression].map(|text| field(text));
    let _ = write!(
        out,
        "{},{},{},{}",
        words.join(","),
        cell.ranks,
        cell.bytes,
        cell.measured_bytes
    );
    let _ = write!(
        out,
        ",{}",
        cell.right_bytes.map_or_else(String::new, |bytes| bytes.to_string())
    );
    let _ = write!(out, ",{stage},{}", outcome_word(comparison.verdict));
    let c = comparison;
    for value in [
        c.ratio,
        c.ratio_ci.0,
        c.ratio_ci.1,
        c.p,
        c.p_adjusted,
        c.seconds,
        c.right_seconds,
    ] {
        out.push(',');
        if value.is_finite() {
            let _ = write!(out, "{value:e}");
        }
    }
    let fix = cell.fix.as_ref().map_or("", |fix| fix.id.as_str());
    let _ = write!(
        out,
        ",{},{},{}\r\n",
        field(fix),
        field(cell.unfixed_because.as_deref().unwrap_or_default()),
        field(cell.note.as_deref().unwrap_or_default())
    );
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::report as fixture;

    use super::*;

    #[test]
    fn every_line_has_every_field() {
        let text = to_string(&fixture::tuned());
        let columns = HEAD.trim_end().split(',').count();
        assert_eq!(text.lines().count(), 1 + 2 * fixture::tuned().cells.len());
        for line in text.lines() {
            let mut quoted = false;
            let commas = line.chars().filter(|c| {
                quoted ^= *c == '"';
                *c == ',' && !quoted
            });
            assert_eq!(commas.count() + 1, columns, "{line}");
        }
        let reduce = text
            .lines()
            .find(|line| line.starts_with("GL8,pattern,reduce") && line.contains(",4096,"))
            .unwrap();
        assert!(
            reduce.contains(",before,violated,") && reduce.ends_with(",btl_vader_eager_limit=32768,,"),
            "{reduce}"
        );
    }

    #[test]
    fn text_is_quoted_and_numbers_that_do_not_exist_are_empty() {
        assert_eq!(field("a \"b\", c"), "\"a \"\"b\"\", c\"");
        assert_eq!(field("=HYPERLINK()"), "'=HYPERLINK()");
        let mut report = fixture::checked();
        report.cells.truncate(1);
        report.cells[0].before.ratio = f64::NAN;
        assert!(to_string(&report).contains(",before,holds,,"));
    }
}
