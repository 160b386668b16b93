//! `--dry-run`: prints the measurements of a command, and how it divides its budget.

use std::fmt::Write as _;

use kilter_model::options::Options;
use kilter_model::plan::Plan;
use kilter_render::format;
use kilter_stats::verdict::screening::SCREENING_LAUNCHES;
use kilter_tune as tune;

/// The cost of a command in a line, before it begins: the sides, the minutes and, on several nodes, node-hours; of `tune` also its steps.
pub(super) fn estimate(options: &Options, command: &str, plan: &Plan) -> String {
    let nodes = options.layout.map_or(options.slots.len(), |layout| layout.nodes).max(1);
    let seconds = options.budget_seconds;
    let minutes = format!("up to {:.1} minutes (--budget)", seconds / 60.0);
    let of_nodes = if nodes > 1 {
        let hours = nodes as f64 * seconds / 3600.0;
        format!(" on {nodes} nodes, {hours:.1} node-hours")
    } else {
        String::new()
    };
    let part = |(part, share): (&str, f64)| format!("{part} {:.0} s", share * seconds);
    let steps = if command == "tune" {
        format!(
            "; in turn, each with what is left over: {}",
            tune::DIVISION.map(part).join(", ")
        )
    } else {
        String::new()
    };
    format!(
        "{} with {}: {minutes}{of_nodes}{steps}",
        format::count(plan.subjects().len(), "side"),
        format::count(options.ranks, "rank")
    )
}

/// The plan in words.
pub(super) fn text(options: &Options, command: &str, plan: &Plan) -> String {
    let mut out = String::new();
    let pairs = format::count(plan.cells.len(), "cell");
    let functions = plan.monotony_functions.len() + plan.split_functions.len();
    let _ = writeln!(
        out,
        "{pairs} that compare two sides, and {} judged over all sizes: {} to time with {}.",
        format::count(functions, "function"),
        format::count(plan.subjects().len(), "side"),
        format::count(options.ranks, "rank")
    );
    for (guideline, reason) in &plan.left_out {
        let _ = writeln!(out, "Left out: {guideline}: {reason}.");
    }
    let seconds = options.budget_seconds;
    let _ = writeln!(
        out,
        "Budget: {seconds:.0} s of the clock on the wall, starts of jobs and checks included."
    );
    let screening = if options.screens() {
        format!(
            "screening of everything in {SCREENING_LAUNCHES} launches, then up to {} of the cells that may be violated",
            options.launches
        )
    } else {
        format!(
            "a first launch, then up to {}",
            format::count(options.launches, "launch")
        )
    };
    if command == "tune" {
        for (part, share) in tune::DIVISION {
            let _ = writeln!(out, "  {part}: {:.0} s", share * seconds);
        }
        let _ = writeln!(
            out,
            "The first verification is a {screening}. What a part leaves goes to the next."
        );
    } else {
        let _ = writeln!(out, "The verification is a {screening}.");
    }
    out
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use kilter_model::config::guideline;

    use super::*;
    use crate::cli;

    fn text_of(words: &[&str], command: &str) -> String {
        let typed = match cli::Cli::try_parse_from(["kilter", "check"].iter().chain(words))
            .unwrap()
            .command
        {
            cli::Command::Check(typed) => typed.measure,
            other => panic!("{other:?}"),
        };
        let options = crate::options::measuring(typed).unwrap();
        let wanted = guideline::select(&guideline::load_embedded().unwrap(), &options.guidelines).unwrap();
        text(
            &options,
            command,
            &Plan::within(&wanted, &options.scope(), options.place()),
        )
    }

    #[test]
    fn the_cost_of_several_nodes_is_said_in_node_hours() {
        let typed = cli::Cli::try_parse_from([
            "kilter",
            "check",
            "--guidelines",
            "GL8",
            "--sizes",
            "8,1024",
            "-n",
            "128",
        ])
        .unwrap();
        let cli::Command::Check(typed) = typed.command else {
            panic!("no check")
        };
        let mut options = crate::options::measuring(typed.measure).unwrap();
        let wanted = guideline::select(&guideline::load_embedded().unwrap(), &options.guidelines).unwrap();
        let plan = Plan::within(&wanted, &options.scope(), options.place());
        options.slots = vec![128];
        assert_eq!(
            estimate(&options, "check", &plan),
            "4 sides with 128 ranks: up to 10.0 minutes (--budget)"
        );
        assert_eq!(
            estimate(&options, "tune", &plan),
            "4 sides with 128 ranks: up to 10.0 minutes (--budget); in turn, each with what is left over: first verification 150 s, search 240 s, \
             proof of what is deployed 210 s"
        );
        options.layout = Some("8x16".parse().unwrap());
        let on_nodes = estimate(&options, "check", &plan);
        assert!(on_nodes.ends_with("up to 10.0 minutes (--budget) on 8 nodes, 1.3 node-hours"));
    }

    #[test]
    fn it_says_what_is_timed_and_who_has_how_much_of_the_budget() {
        let words = ["--guidelines", "GL8", "--sizes", "8,1024", "--budget", "100"];
        let text = text_of(&words, "tune");
        assert!(
            text.starts_with(
                "2 cells that compare two sides, and 0 functions judged over all sizes: 4 sides to time with 2 ranks."
            ),
            "{text}"
        );
        for part in [
            "first verification: 25 s",
            "search: 40 s",
            "proof of what is deployed: 35 s",
            "in 2 launches",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let check = text_of(&words, "check");
        assert!(
            !check.contains("search:") && check.contains("up to 20 of the cells that may be violated"),
            "{check}"
        );
    }
}
