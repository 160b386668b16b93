//! Messages between pairs of hosts, by one rank of each.

use std::collections::BTreeMap;

use anyhow::Context as _;
use kilter_guard::nodes::{self, FEWEST, Kind, Map, Measured};
use kilter_guard::pairs::pairs;
use kilter_guard::times;
use kilter_model::plan;
use kilter_model::setup::Setup;
use kilter_protocol::plan::{Block, Implementation, Item, Repetitions};
use kilter_protocol::task::{Functionality, Task};
use kilter_search::context::Jobs;

/// Repetitions of each pair in a launch.
const REPETITIONS: Repetitions = Repetitions::until(6, 20, 0.03, 0.25);

/// Measures the pairs and judges the hosts. Adds the reason to `unchecked` where there are too few hosts or a pair gave no times.
///
/// # Errors
/// The database's, and jobs that fail.
pub(super) fn map(
    jobs: &Jobs<'_>,
    of_ranks: &[String],
    rule: &times::Rule,
    unchecked: &mut Vec<String>,
) -> anyhow::Result<Option<Map>> {
    let (hosts, ranks) = first_ranks(of_ranks);
    if hosts.len() < FEWEST {
        unchecked.push(format!(
            "--per-node: the ranks lie on {} of them, and a slow host stands out among {FEWEST} or more; give --ranks and --hostfile, or a larger \
             allocation",
            kilter_render::format::count(hosts.len(), "host")
        ));
        return Ok(None);
    }
    let pairs = pairs(hosts.len());
    let rule = nodes::Rule {
        alpha: rule.alpha,
        tolerance: rule.tolerance,
    };
    let mut measured: BTreeMap<Kind, Measured> = BTreeMap::new();
    let mut done = 0;
    let map = nodes::judge_in_looks(&hosts, &rule, |launches| {
        let phase = match done {
            0 => format!("{} pairs of {} hosts", pairs.len(), hosts.len()),
            _ => String::from("further launches: a host or a pair seems slow"),
        };
        jobs.progress.phase(&phase, (launches - done) as u64);
        while done < launches && !jobs.budget.exhausted() {
            launch(jobs, done, &pairs, &ranks, &mut measured)?;
            done += 1;
            jobs.progress.step(1);
        }
        anyhow::Ok(measured.clone())
    })?;
    for kind in Kind::ALL {
        let known = measured.get(&kind);
        let missing = pairs
            .iter()
            .filter(|pair| known.is_none_or(|known| !known.contains_key(*pair)));
        let missing = missing.count();
        if missing > 0 {
            unchecked.push(format!(
                "--per-node: {missing} of {} pairs gave no {}; raise --budget, or end what else runs",
                pairs.len(),
                kind.word()
            ));
        }
    }
    Ok(Some(map))
}

/// Measures all pairs in one launch, in which ranks, pages and routes are drawn anew.
fn launch(
    jobs: &Jobs<'_>,
    number: usize,
    pairs: &[(usize, usize)],
    ranks: &[usize],
    measured: &mut BTreeMap<Kind, Measured>,
) -> anyhow::Result<()> {
    let name = format!("pairs/{number}");
    let blocks = blocks(jobs, &name, pairs, ranks);
    let mut session = jobs.session(&name, &Setup::default(), false)?;
    let outcomes = session
        .measure_all(&blocks, &mut |_| ())
        .with_context(|| format!("launch `{name}` failed; its log is in {}", jobs.directory.display()))?;
    session.finish()?;
    for (kind, outcome) in Kind::ALL.into_iter().zip(&outcomes) {
        let measured = measured.entry(kind).or_default();
        for pair in pairs {
            if let Some(seconds) = outcome.median(&item_id(*pair)) {
                measured.entry(*pair).or_default().push(seconds);
            }
        }
    }
    Ok(())
}

/// The hosts, each once, with the first rank on each.
fn first_ranks(of_ranks: &[String]) -> (Vec<String>, Vec<usize>) {
    let (mut hosts, mut ranks): (Vec<String>, Vec<usize>) = (Vec::new(), Vec::new());
    for (rank, host) in of_ranks.iter().enumerate() {
        if !hosts.contains(host) {
            hosts.push(host.clone());
            ranks.push(rank);
        }
    }
    (hosts, ranks)
}

/// A block of each kind with an item for each pair.
fn blocks(jobs: &Jobs<'_>, name: &str, pairs: &[(usize, usize)], ranks: &[usize]) -> Vec<Block> {
    let item = |kind: Kind, pair: (usize, usize)| Item {
        id: item_id(pair),
        task: Task::plain(Functionality::Transfer),
        bytes: kind.bytes(),
        implementation: Implementation::Expression {
            text: format!("pingpong(n){{pair:{}:{}}}", ranks[pair.0], ranks[pair.1]),
        },
        settings: Vec::new(),
        arrival: None,
        deployed: Vec::new(),
    };
    let block = |kind: Kind| Block {
        id: kind.word().to_owned(),
        seed: plan::derived_seed(jobs.run.seed, &format!("{name}/{}", kind.word())),
        items: pairs.iter().map(|pair| item(kind, *pair)).collect(),
        repetitions: Repetitions {
            seconds: REPETITIONS.seconds * pairs.len() as f64,
            ..REPETITIONS
        },
    };
    Kind::ALL.map(block).to_vec()
}

/// Id of a pair's item.
fn item_id((a, b): (usize, usize)) -> String {
    format!("{a}-{b}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_speaks_by_its_first_rank() {
        let of_ranks = ["a", "a", "b", "a", "c"].map(str::to_owned);
        let (hosts, ranks) = first_ranks(&of_ranks);
        assert_eq!(
            (hosts.as_slice(), ranks),
            (&["a", "b", "c"].map(str::to_owned)[..], vec![0, 2, 4])
        );
    }
}
