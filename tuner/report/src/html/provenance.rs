//! Where the numbers come from: the provenance and the method in words.

use kilter_model::report::{BudgetPart, Provenance, Report};
use kilter_render::format;

use crate::html::words::time;

/// A line of the provenance.
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) text: String,
    /// Whether it is something to type or to compare letter by letter.
    pub(super) code: bool,
}

/// What was measured, where, when and how; empty entries are left out.
pub(super) fn facts(report: &Report) -> Vec<Fact> {
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

/// What the ranks' clocks were found to differ by; nothing where no common time is needed or nothing is known.
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

/// How, in five sentences.
pub(super) fn method(report: &Report) -> [String; 5] {
    let p = &report.provenance;
    let launches = match p.launches {
        1 => "one launch".to_owned(),
        launches => format!("each of {launches} separate launches"),
    };
    [
        format!(
            "A guideline A ⪯ B says that A must not be slower than B, which delivers the same result; both sides are \
             measured in {launches}."
        ),
        "Every repetition starts on all ranks together and ends when the last rank has finished, a launch contributes one \
         number, the median of its repetitions, and the seed shuffles the order of all measurements."
            .to_owned(),
        format!(
            "A cell is violated if the one-sided rank-sum test on the launch medians is significant at α = {} after Holm’s \
             correction for all tests of the run, and if the effect is also larger than {} and than twice the measured \
             noise.",
            p.alpha,
            format::percent(p.effect_floor)
        ),
        "The ratio is left over right, medians of launch medians, with a 95 % Hodges-Lehmann interval on logarithms; \
         asterisks mark adjusted p-values of at most 0.05 (*), 0.01 (**) and 0.001 (***)."
            .to_owned(),
        if report.command == "check" {
            "A cell is undecided if the samples neither show a violation nor exclude one, and unstable if the machine \
             changed while it was measured."
        } else {
            "Candidates for a violated cell compete with the untouched library and with the guideline’s bound, the simplest \
             of those that are statistically as good as the fastest is deployed, and the verification after tuning uses \
             exactly the files that were emitted, in fresh launches."
        }
        .to_owned(),
    ]
}
