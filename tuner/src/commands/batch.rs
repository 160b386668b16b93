//! `kilter batch`: a batch script for a command of kilter, made from the description of the batch system.

use std::fmt::Write as _;

use kilter_bench::launch::command::quote;
use kilter_model::config::launcher::{self, BatchLauncher};
use kilter_model::options::{OptionError, wrong};

use super::{Status, print};
use crate::cli::Batch;

/// Commands that launch jobs: name, true for those with a budget of measuring, true for those that find layouts in an allocation.
const COMMANDS: [(&str, bool, bool); 7] = [
    ("check", true, true),
    ("tune", true, true),
    ("benchmark", true, false),
    ("overlap", true, false),
    ("guard", true, false),
    ("doctor", false, false),
    ("verify-algorithms", false, false),
];

/// Ranks on each host where nobody says how many, and where the hosts' CPUs are not known.
const FEW: usize = 2;

/// Share of the allocation that is the command's budget; the rest is for starting, reporting and the last launch.
const MEASURING: f64 = 0.9;

pub(super) fn run(typed: &Batch) -> anyhow::Result<Status> {
    let described = launcher::find("LAUNCHER", &typed.launcher)?;
    let own = std::env::current_exe().map_or_else(|_| "kilter".to_owned(), |path| path.display().to_string());
    print(&script(typed, &described, &own)?)?;
    Ok(Status::Holds)
}

fn script(typed: &Batch, described: &BatchLauncher, own: &str) -> anyhow::Result<String> {
    check(typed)?;
    let job = Job::of(typed, described)?;
    let mut text = String::from("#!/bin/bash\n");
    job.header(&mut text);
    job.environment(&mut text);
    text.push_str(&(job.line(own) + "\n"));
    Ok(text)
}

/// Refuses what no script can hold.
fn check(typed: &Batch) -> Result<(), OptionError> {
    for (option, value) in [
        ("--nodes", typed.nodes as u64),
        ("--ranks-per-node", typed.ranks_per_node.unwrap_or(FEW) as u64),
        ("--minutes", u64::from(typed.minutes)),
    ] {
        if value == 0 {
            return Err(wrong(option, "`0` is not allowed; give at least 1"));
        }
    }
    let plain =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-/@+".contains(c));
    let words = [
        ("--job", Some(&typed.job)),
        ("--account", typed.account.as_ref()),
        ("--queue", typed.queue.as_ref()),
    ];
    for (option, value) in words.into_iter().filter_map(|(option, value)| Some((option, value?))) {
        // The batch system reads these lines, not a shell: there is nothing to quote with.
        if !plain(value) {
            return Err(wrong(
                option,
                format!("`{value}` cannot stand in a batch script; allowed: letters, digits and ._-/@+"),
            ));
        }
    }
    Ok(())
}

/// A job of a batch system, in which a command of kilter runs.
struct Job<'t> {
    typed: &'t Batch,
    described: &'t BatchLauncher,
    /// The command with its options.
    command: Vec<String>,
    has_budget: bool,
    finds_layouts: bool,
}

impl<'t> Job<'t> {
    /// The error is of a command that launches no job.
    fn of(typed: &'t Batch, described: &'t BatchLauncher) -> Result<Job<'t>, OptionError> {
        let command = if typed.command.is_empty() {
            vec!["check".to_owned()]
        } else {
            typed.command.clone()
        };
        let known = COMMANDS.iter().find(|(name, ..)| *name == command[0]);
        let &(_, has_budget, finds_layouts) = known.ok_or_else(|| no_job(&command[0]))?;
        Ok(Job {
            typed,
            described,
            command,
            has_budget,
            finds_layouts,
        })
    }

    /// Lines of the header for hosts that are taken whole; none where the ranks of each are counted.
    fn whole_hosts(&self) -> Option<&'t Vec<String>> {
        let lines = self.described.script.whole_hosts.as_ref();
        lines.filter(|_| self.typed.ranks_per_node.is_none())
    }

    fn ranks_per_node(&self) -> usize {
        self.typed.ranks_per_node.unwrap_or(FEW)
    }

    fn ranks(&self) -> usize {
        self.typed.nodes * self.ranks_per_node()
    }

    /// The lines that the batch system reads, and how the script is handed in.
    fn header(&self, text: &mut String) {
        let (typed, script) = (self.typed, &self.described.script);
        let fill = |line: &str| {
            line.replace("{job}", &typed.job)
                .replace("{nodes}", &typed.nodes.to_string())
                .replace("{per_node}", &self.ranks_per_node().to_string())
                .replace("{ranks}", &self.ranks().to_string())
                .replace("{hours}", &format!("{:02}", typed.minutes / 60))
                .replace("{minutes}", &format!("{:02}", typed.minutes % 60))
                .replace("{all_minutes}", &typed.minutes.to_string())
        };
        for line in self.whole_hosts().unwrap_or(&script.header) {
            text.push_str(&(fill(line) + "\n"));
        }
        for (line, value) in [(&script.account, &typed.account), (&script.queue, &typed.queue)] {
            if let Some(value) = value {
                text.push_str(&(line.replace("{value}", value) + "\n"));
            }
        }
        let _ = writeln!(
            text,
            "# Hand it in with `{} {}`. A job that ends before it is done is resumed by handing it in again.",
            script.submit, script.name
        );
    }

    /// Directory and modules.
    fn environment(&self, text: &mut String) {
        text.push_str("set -euo pipefail\n");
        if let Some(directory) = &self.described.script.directory {
            let _ = writeln!(text, "cd \"${directory}\"");
        }
        for module in &self.typed.modules {
            let _ = writeln!(text, "module load {}", quote(module));
        }
    }

    /// The command, with the options that follow from the allocation and are not given.
    fn line(&self, own: &str) -> String {
        let has = |options: &[&str]| {
            let is = |word: &String, option: &&str| word == option || word.starts_with(&format!("{option}="));
            let mut words = self.command.iter();
            words.any(|word| options.iter().any(|option| is(word, option)))
        };
        let mut line = format!("exec {} {}", quote(own), quote(&self.command[0]));
        let mut add = |words: &[&str]| {
            words
                .iter()
                .for_each(|word| line.push_str(&format!(" {}", quote(word))))
        };
        add(&["--launcher", &self.described.id]);
        if let Some(pmi) = &self.typed.pmi {
            add(&["--pmi", pmi]);
        }
        let finds_ranks = self.finds_layouts && self.whole_hosts().is_some();
        if !finds_ranks && !has(&["-n", "--ranks", "--layouts"]) {
            add(&["-n", &self.ranks().to_string()]);
        }
        if self.has_budget && !has(&["--budget"]) {
            let seconds = f64::from(self.typed.minutes) * 60.0 * MEASURING;
            add(&["--budget", &format!("{seconds:.0}")]);
        }
        self.command[1..].iter().for_each(|word| add(&[word]));
        line
    }
}

fn no_job(command: &str) -> OptionError {
    let names: Vec<&str> = COMMANDS.iter().map(|(name, ..)| *name).collect();
    wrong(
        "COMMAND",
        format!("`{command}` launches no job; allowed: {}", names.join(", ")),
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn written(arguments: &[&str]) -> anyhow::Result<String> {
        let words = ["kilter", "batch"].iter().chain(arguments);
        match Cli::try_parse_from(words)?.command {
            Command::Batch(typed) => script(
                &typed,
                &launcher::find("LAUNCHER", &typed.launcher)?,
                "/opt/kilter/bin/kilter",
            ),
            _ => anyhow::bail!("not the command"),
        }
    }

    #[test]
    fn a_script_for_each_batch_system() {
        for launcher in launcher::load_embedded().unwrap() {
            let text = written(&[
                &launcher.id,
                "--nodes",
                "8",
                "--ranks-per-node",
                "16",
                "--minutes",
                "90",
                "--account",
                "a123",
                "--queue",
                "short",
                "--module",
                "mpi/4.1 x",
                "--",
                "tune",
                "--sizes",
                "1..1MiB:x4",
                "--out",
                "a b",
            ]);
            let text = text.unwrap();
            insta::assert_snapshot!(format!("batch_{}", launcher.id), text);
            // The shell reads what follows the lines of the batch system.
            let shell = std::process::Command::new("bash")
                .args(["-n", "-c", &text])
                .output()
                .unwrap();
            assert!(shell.status.success(), "{}", String::from_utf8_lossy(&shell.stderr));
        }
    }

    #[test]
    fn what_is_said_is_not_said_again() {
        let text = written(&["slurm", "--pmi", "pmi2", "--", "check", "-n", "4", "--budget=30"]).unwrap();
        let last = text.lines().last().unwrap();
        assert_eq!(
            last,
            "exec /opt/kilter/bin/kilter check --launcher slurm --pmi pmi2 -n 4 --budget=30"
        );
        let text = written(&["slurm", "--nodes", "8", "--", "tune"]).unwrap();
        assert!(
            text.ends_with("exec /opt/kilter/bin/kilter tune --launcher slurm --budget 3240\n"),
            "{text}"
        );
        assert!(text.contains("--nodes=8\n") && !text.contains("--ntasks"), "{text}");
        let text = written(&["slurm", "--", "overlap"]).unwrap();
        assert!(text.contains("--launcher slurm -n 2 --budget"), "{text}");
        let text = written(&["pbs", "--", "doctor"]).unwrap();
        assert!(
            text.ends_with("exec /opt/kilter/bin/kilter doctor --launcher pbs -n 2\n"),
            "{text}"
        );
    }

    #[test]
    fn what_no_script_can_hold_is_refused() {
        for (arguments, part) in [
            (&["oar"][..], "`oar` is no launcher"),
            (&["slurm", "--nodes", "0"], "--nodes"),
            (&["slurm", "--minutes", "0"], "--minutes"),
            (&["slurm", "--job", "a b"], "--job: `a b`"),
            (&["slurm", "--account", "a\nb"], "--account"),
            (&["slurm", "--", "list"], "`list` launches no job"),
        ] {
            let error = written(arguments).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
