//! Provenance of the numbers.

use askama::Template;
use kilter_model::report::{BudgetPart, Provenance, Report};
use kilter_render::{format, quoting};

use super::{Section, View, nothing};
use crate::marks;
use crate::words::time;

pub(super) static SECTION: Section = Section {
    id: "provenance",
    navigation: Some("Provenance"),
    fields: &["schema", "library", "ranks", "provenance"],
    html,
    text: nothing,
    markdown,
};

#[derive(Template)]
#[template(
    source = r##"<section id="provenance">
<h2>Provenance</h2>
<dl class="facts">
{% for fact in facts %}<div><dt>{{ fact.name }}</dt><dd>{% if fact.code %}<code>{{ fact.text }}</code>{% else %}{{ fact.text }}{% endif %}</dd></div>
{% endfor %}</dl>
</section>
"##,
    ext = "html"
)]
struct Page {
    facts: Vec<Fact>,
}

fn html(view: &View<'_>) -> askama::Result<String> {
    Page {
        facts: facts(view.report),
    }
    .render()
}

fn markdown(view: &View<'_>) -> String {
    let provenance = &view.report.provenance;
    format!(
        "\nMade by {} (Kilter {}).\n",
        marks::code(&provenance.command_line),
        quoting::markdown(&provenance.kilter_version)
    )
}

/// A line of the provenance.
struct Fact {
    name: &'static str,
    text: String,
    /// True for text to type, or to compare letter by letter.
    code: bool,
}

/// The measurement: its library, machine, time and method; empty entries are left out.
fn facts(report: &Report) -> Vec<Fact> {
    let p = &report.provenance;
    let text = |name, text: String| Fact {
        name,
        text,
        code: false,
    };
    let code = |name, text: &str| Fact {
        name,
        text: text.to_owned(),
        code: true,
    };
    let mut facts = vec![
        text("Library", format!("{} {}", report.library.name, report.library.version)),
        code("Library’s own words", &p.library_string),
        text(
            "Ranks",
            format!("{} on {}", report.ranks, format::count(p.hosts.len(), "host")),
        ),
        text("Hosts", p.hosts.join(", ")),
        text("Simulated machine", p.simulated_machine.clone().unwrap_or_default()),
        text("Started", p.started.clone()),
        text("Time of the command", format::span(p.measuring_seconds)),
        text("Of its budget", parts(p)),
        text("Launches per cell (R)", p.launches.to_string()),
        text(
            "Significance level α",
            format!("{}, after correction for all tests", p.alpha),
        ),
        text("Effect floor", format::percent(p.effect_floor)),
        text("Noise of the empty operation", time(p.noise_seconds)),
        text("Clock tick", time(p.clock_tick_seconds)),
        text("Reading the clock", measured(p.clock_read_seconds)),
        text("Empty repetition on one rank", measured(p.loop_overhead_seconds)),
        text("Common start", p.sync_method.clone()),
        text("Clocks apart by", apart(p)),
        text("Seed", p.seed.to_string()),
        code("Command", &p.command_line),
        code(
            if p.launch_after.is_empty() {
                "Launch"
            } else {
                "Launch before tuning"
            },
            &p.launch_before,
        ),
        code("Launch after tuning", &p.launch_after),
        text("Kilter", p.kilter_version.clone()),
        text("Report schema", report.schema.to_string()),
    ];
    facts.retain(|fact| !fact.text.is_empty());
    facts
}

/// Seconds that each part of the budget was allowed and took.
fn parts(p: &Provenance) -> String {
    let part = |part: &BudgetPart| {
        format!(
            "{}: {:.0} of {:.0} s",
            part.part, part.used_seconds, part.allotted_seconds
        )
    };
    p.budget.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// A time that older reports do not have: then nothing.
fn measured(seconds: f64) -> String {
    if seconds > 0.0 { time(seconds) } else { String::new() }
}

/// The difference between the ranks' clocks; nothing where no common time is needed or nothing is known.
fn apart(p: &Provenance) -> String {
    if p.sync_bound_seconds > 0.0 {
        format!(
            "{}, to within {}",
            time(p.sync_residual_seconds),
            time(p.sync_bound_seconds)
        )
    } else {
        String::new()
    }
}
