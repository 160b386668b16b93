//! What the changes save an application, as one table for every rendering.

use kilter_model::report::{Report, Saving};
use kilter_render::format;

/// The table.
#[derive(Debug, PartialEq)]
pub struct Table {
    /// Over it.
    pub title: &'static str,
    /// Its columns; all but the first are numbers.
    pub head: [&'static str; 6],
    /// A row per function and size.
    pub rows: Vec<[String; 6]>,
    /// Below it.
    pub total: String,
}

/// Such as `0.90 s`, with the sign in front.
fn signed(seconds: f64) -> String {
    let sign = if seconds < 0.0 { "-" } else { "" };
    format!("{sign}{}", format::seconds(seconds.abs()))
}

/// The table of a report; `None` where it was made without a call mix.
#[must_use]
pub fn table(report: &Report) -> Option<Table> {
    if report.savings.is_empty() {
        return None;
    }
    let is_check = report.command == "check";
    let saved: f64 = report.savings.iter().map(|one| one.saved_seconds).sum();
    let before: f64 = report.savings.iter().map(|one| one.calls * one.seconds_before).sum();
    let (of, share) = (format::seconds(before), format::percent(saved / before));
    let total = if is_check {
        format!(
            "The violations cost {} of {of} in these calls ({share}).",
            signed(saved)
        )
    } else {
        let noise = if report.savings.iter().all(|one| one.certain) {
            ""
        } else {
            " ~ differs by no more than launches do; it counts, so that losses do."
        };
        format!("In all {} of {of} in these calls ({share}).{noise}", signed(saved))
    };
    Some(Table {
        title: if is_check {
            "What the violations cost"
        } else {
            "What this saves"
        },
        head: if is_check {
            ["function", "size", "calls", "now", "bound", "costs"]
        } else {
            ["function", "size", "calls", "before", "after", "saves"]
        },
        rows: report.savings.iter().map(row).collect(),
        total,
    })
}

fn row(saving: &Saving) -> [String; 6] {
    let mark = if saving.certain { "" } else { "~ " };
    [
        saving.function.clone(),
        format::bytes(saving.bytes),
        format!("{}", saving.calls),
        format::seconds(saving.seconds_before),
        format::seconds(saving.seconds_after),
        format!("{mark}{}", signed(saving.saved_seconds)),
    ]
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::report as fixture;

    use super::*;

    fn saving(function: &str, calls: f64, before: f64, after: f64, certain: bool) -> Saving {
        Saving {
            function: function.to_owned(),
            bytes: 4096,
            calls,
            seconds_before: before,
            seconds_after: after,
            saved_seconds: calls * (before - after),
            certain,
        }
    }

    #[test]
    fn gains_losses_and_their_sum() {
        let mut report = fixture::tuned();
        assert_eq!(table(&report), None);
        report.savings = vec![
            saving("reduce", 1e6, 3.7e-6, 1.7e-6, true),
            saving("scan", 2e5, 10e-6, 10.1e-6, false),
        ];
        let found = table(&report).unwrap();
        assert_eq!(found.title, "What this saves");
        assert_eq!(
            found.rows[0],
            ["reduce", "4 KiB", "1000000", "3.70 us", "1.70 us", "2.00 s"]
        );
        assert_eq!(found.rows[1][5], "~ -20.0 ms");
        assert!(
            found
                .total
                .starts_with("In all 1.98 s of 5.70 s in these calls (34.7 %)."),
            "{}",
            found.total
        );
        report.command = "check".to_owned();
        assert_eq!(table(&report).unwrap().head[4..], ["bound", "costs"]);
    }
}
