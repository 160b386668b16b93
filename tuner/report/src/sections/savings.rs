//! Time that the changes save an application.

use std::fmt::Write as _;

use askama::Template;
use kilter_model::config::mix::Application;
use kilter_model::report::{Report, Saving};
use kilter_render::format::{self, signed_seconds};
use kilter_render::quoting;
use kilter_render::table::{plain, printable, trimmed};

use super::{Section, View};

pub(super) static SECTION: Section = Section {
    id: "savings",
    navigation: Some("Savings"),
    fields: &["savings", "at_stake", "application"],
    html,
    text,
    markdown,
};

#[derive(Template)]
#[template(
    source = r##"<section id="savings">
<h2>{{ table.title }}</h2>
<div class="scroll" role="region" tabindex="0" aria-label="{{ table.title }}">
<table>
<thead><tr>{% for word in table.head %}<th scope="col"{% if !loop.first %} class="n"{% endif %}>{{ word }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in table.rows %}<tr>{% for field in row %}{% if loop.first %}<th scope="row">{{ field }}</th>{% else %}<td class="n">{{ field }}</td>{% endif %}{% endfor %}</tr>
{% endfor %}</tbody></table></div>
<p class="note">{{ table.total }}</p>
</section>
"##,
    ext = "html"
)]
struct Page {
    table: Table,
}

fn html(view: &View<'_>) -> askama::Result<String> {
    table(view.report).map_or(Ok(String::new()), |table| Page { table }.render())
}

fn text(view: &View<'_>) -> String {
    let Some(savings) = table(view.report) else {
        return String::new();
    };
    let mut table = plain(&savings.head, &[1, 2, 3, 4, 5]);
    for row in savings.rows {
        table.add_row(row.map(|field| printable(&field)));
    }
    format!("\n{}\n{}\n {}\n", savings.title, trimmed(&table), savings.total)
}

fn markdown(view: &View<'_>) -> String {
    let Some(table) = table(view.report) else {
        return String::new();
    };
    let mut out = format!("\n## {}\n\n| {} |\n", table.title, table.head.join(" | "));
    out.push_str("| --- | ---: | ---: | ---: | ---: | ---: |\n");
    for row in table.rows {
        let _ = writeln!(out, "| {} |", row.map(|field| quoting::markdown(&field)).join(" | "));
    }
    let _ = writeln!(out, "\n{}", quoting::markdown(&table.total));
    out
}

/// The table.
#[derive(Debug, PartialEq)]
struct Table {
    /// Over it.
    title: &'static str,
    /// Its columns; all but the first are numbers.
    head: [&'static str; 6],
    /// A row per function and size.
    rows: Vec<[String; 6]>,
    /// Below it.
    total: String,
}

/// The table of a report; `None` where it was made without a call mix.
fn table(report: &Report) -> Option<Table> {
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
            signed_seconds(saved)
        )
    } else {
        let noise = if report.savings.iter().all(|one| one.certain) {
            ""
        } else {
            " ~: within the variation between launches; such differences are counted, losses as well as gains."
        };
        format!(
            "In all {} of {of} in these calls ({share}).{noise}",
            signed_seconds(saved)
        )
    };
    let total = match &report.at_stake {
        Some(stake) => format!("{total} {}", stake.in_words()),
        None => total,
    };
    let total = match &report.application {
        Some(run) => format!("{total} {}", of_run(saved, run, is_check)),
        None => total,
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

/// The part of the application's run time, which the seconds of one rank are compared with.
fn of_run(saved: f64, run: &Application, is_check: bool) -> String {
    let what = if is_check { "cost" } else { "should save" };
    let command = match run.command.as_str() {
        "" => "The application's run".to_owned(),
        command => format!("The run of `{}`", beginning(command)),
    };
    format!(
        "{command} took {}, of which they {what} {}.",
        format::seconds(run.seconds),
        format::percent(saved / run.seconds)
    )
}

/// The beginning of a long command, whose launcher may have many options.
fn beginning(command: &str) -> String {
    const LONGEST: usize = 60;
    if command.chars().count() <= LONGEST {
        return command.to_owned();
    }
    command.chars().take(LONGEST).chain([' ', '…']).collect()
}

fn row(saving: &Saving) -> [String; 6] {
    let mark = if saving.certain { "" } else { "~ " };
    [
        saving.function.clone(),
        format::bytes(saving.bytes),
        format!("{}", saving.calls),
        format::seconds(saving.seconds_before),
        format::seconds(saving.seconds_after),
        format!("{mark}{}", signed_seconds(saving.saved_seconds)),
    ]
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::report as fixture;
    use kilter_model::report::AtStake;

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
        report.at_stake = Some(AtStake {
            seconds: 8.0,
            looked_at_seconds: 5.6,
            not_looked_at: ["alltoall of 17.2 KiB", "scan of 8 B", "scan of 64 B", "scan of 1 KiB"]
                .map(str::to_owned)
                .to_vec(),
        });
        let total = table(&report).unwrap().total;
        let words = "70 % of the application's time in the calls that guidelines speak of were looked at; not reached: alltoall of 17.2 KiB, \
                     scan of 8 B, scan of 64 B and 1 more.";
        assert!(total.ends_with(words), "{total}");
        report.application = Some(Application {
            command: "mpirun -n 2 solver".to_owned(),
            seconds: 19.8,
        });
        let total = table(&report).unwrap().total;
        assert!(
            total.ends_with("The run of `mpirun -n 2 solver` took 19.8 s, of which they should save 10 %."),
            "{total}"
        );
        report.command = "check".to_owned();
        assert_eq!(table(&report).unwrap().head[4..], ["bound", "costs"]);
    }
}
