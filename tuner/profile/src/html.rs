//! A summary as a page of its own: one file, nothing is fetched, with the styles and the script of the report.

use askama::Template;
use kilter_render::format::{bytes, count, percent, seconds};
use kilter_render::sheet::{Entry, Sheet};

use crate::pairs::OfPair;
use crate::summary::{OfRank, Summary};
use crate::text::{amount, comes_last, size, types};

/// Most ranks whose matrix of messages is a table of its own.
const MATRIX_RANKS: u32 = 64;

/// The reason why the page could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the page could not be rendered; `--format json` has the same content: {0}")]
pub struct HtmlError(#[from] askama::Error);

#[derive(Template)]
#[template(path = "profile.html")]
struct Page {
    version: &'static str,
    headline: String,
    subject: String,
    lines: Vec<String>,
    efficiencies: Vec<Bar>,
    ranks: Vec<RankBar>,
    tables: Vec<Sheet>,
}

struct Bar {
    name: &'static str,
    value: String,
    width: String,
    definition: &'static str,
}

struct RankBar {
    rank: u32,
    node: String,
    widths: (String, String, String),
    waits_from: String,
    computes: String,
    transfers: String,
    waits: String,
}

/// Renders the page.
///
/// # Errors
/// If the template fails to write, which no content causes.
pub fn render(summary: &Summary) -> Result<String, HtmlError> {
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        headline: match summary.efficiencies {
            Some(found) => format!("Parallel efficiency {}", percent(found.parallel)),
            None => "Calls of an application".to_owned(),
        },
        subject: summary.command.clone(),
        lines: lines(summary),
        efficiencies: efficiencies(summary),
        ranks: summary
            .per_rank
            .iter()
            .map(|rank| rank_bar(rank, summary.seconds))
            .collect(),
        tables: tables(summary),
    };
    Ok(page.render()?)
}

fn lines(summary: &Summary) -> Vec<String> {
    let mut lines = vec![format!(
        "{}, {} on {}, {}",
        summary.library,
        count(summary.ranks as usize, "rank"),
        count(summary.nodes, "node"),
        seconds(summary.seconds)
    )];
    lines.extend(
        crate::text::foot(summary)
            .lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned),
    );
    lines
}

/// A share as a width of a drawing that is 100 wide.
fn width(share: f64) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    format!("{:.2}", share * 100.0)
}

fn efficiencies(summary: &Summary) -> Vec<Bar> {
    let Some(found) = summary.efficiencies else {
        return Vec::new();
    };
    [
        ("parallel", found.parallel, "mean C / T = load balance x communication"),
        ("load balance", found.load_balance, "mean C / max C"),
        (
            "communication",
            found.communication,
            "max C / T = serialisation x transfer",
        ),
        ("serialisation", found.serialisation, "max C / T'"),
        ("transfer", found.transfer, "T' / T"),
    ]
    .into_iter()
    .map(|(name, value, definition)| Bar {
        name,
        value: percent(value),
        width: width(value),
        definition,
    })
    .collect()
}

fn rank_bar(rank: &OfRank, run: f64) -> RankBar {
    let computes = (rank.seconds - rank.mpi).max(0.0);
    let transfers = (rank.mpi - rank.waiting).max(0.0);
    RankBar {
        rank: rank.rank,
        node: rank.host.clone(),
        widths: (width(computes / run), width(transfers / run), width(rank.waiting / run)),
        waits_from: width((computes + transfers) / run),
        computes: seconds(computes),
        transfers: seconds(transfers),
        waits: seconds(rank.waiting),
    }
}

fn sheet(title: &str, heads: &[&str], names: usize, rows: Vec<Vec<String>>) -> Sheet {
    Sheet {
        title: title.to_owned(),
        note: String::new(),
        heads: heads.iter().map(|head| (*head).to_owned()).collect(),
        rows: rows
            .into_iter()
            .map(|row| row.into_iter().map(Entry::text).collect())
            .collect(),
        names,
        narrow: false,
    }
}

fn tables(summary: &Summary) -> Vec<Sheet> {
    let functions = summary.functions.iter().map(|one| {
        vec![
            one.function.clone(),
            one.calls.to_string(),
            seconds(one.seconds),
            seconds(one.waiting),
            seconds(one.least),
            seconds(one.most),
            amount(one),
        ]
    });
    let communicators = summary.communicators.iter().map(|one| {
        vec![
            one.name.clone(),
            one.label.clone(),
            one.ranks.to_string(),
            format!("{} x {}", one.nodes, one.ranks_per_node),
            one.calls.to_string(),
            seconds(one.seconds),
            seconds(one.waiting),
        ]
    });
    let calls = summary.calls.iter().map(|one| {
        vec![
            one.communicator.clone(),
            one.total.function.clone(),
            size(one),
            types(one),
            one.total.calls.to_string(),
            seconds(one.total.seconds),
            seconds(one.total.waiting),
            one.place.clone(),
        ]
    });
    let mut tables = vec![
        sheet(
            "Functions",
            &[
                "function",
                "calls",
                "time",
                "waiting",
                "least rank",
                "most rank",
                "bytes",
            ],
            1,
            functions.collect(),
        ),
        sheet(
            "Communicators",
            &["name", "label", "ranks", "nodes x ranks", "calls", "time", "waiting"],
            1,
            communicators.collect(),
        ),
        sheet(
            "Calls by communicator, function, size and place",
            &[
                "communicator",
                "function",
                "size",
                "type",
                "calls",
                "time",
                "waiting",
                "place",
            ],
            2,
            calls.collect(),
        ),
    ];
    tables.extend(sampled(summary));
    tables.extend(received(summary));
    tables.extend(messages(summary));
    tables
}

/// Receives and probes by their senders.
fn received(summary: &Summary) -> Option<Sheet> {
    let row = |one: &OfPair| {
        let numbers = [one.calls.to_string(), seconds(one.seconds), bytes(one.bytes)];
        let pair = [one.from.to_string(), one.to.to_string(), one.function.clone()];
        pair.into_iter().chain(numbers).chain([one.place.clone()]).collect()
    };
    let rows: Vec<Vec<String>> = summary.received.iter().map(row).collect();
    let heads = ["from", "to", "function", "calls", "time", "bytes", "place"];
    (!rows.is_empty()).then(|| sheet("Receives and probes by sender", &heads, 3, rows))
}

/// Collectives whose waiting was measured, with who comes last.
fn sampled(summary: &Summary) -> Option<Sheet> {
    let rows: Vec<Vec<String>> = summary
        .calls
        .iter()
        .filter(|one| one.total.sampled > 0)
        .map(|one| {
            vec![
                one.communicator.clone(),
                one.total.function.clone(),
                size(one),
                one.total.sampled.to_string(),
                seconds(one.total.waiting),
                seconds(one.total.transfer),
                comes_last(one),
                one.place.clone(),
            ]
        })
        .collect();
    let heads = [
        "communicator",
        "function",
        "size",
        "sampled",
        "waiting",
        "transfer",
        "comes last",
        "place",
    ];
    (!rows.is_empty()).then(|| sheet("Waiting and transfer of sampled collectives", &heads, 2, rows))
}

/// The matrix of messages; a list of the pairs where there are many ranks.
fn messages(summary: &Summary) -> Option<Sheet> {
    if summary.messages.is_empty() {
        return None;
    }
    if summary.ranks > MATRIX_RANKS {
        let rows = summary.messages.iter().map(|line| {
            let numbers = [line.from.to_string(), line.to.to_string(), line.messages.to_string()];
            numbers.into_iter().chain([bytes(line.bytes)]).collect()
        });
        return Some(sheet(
            "Messages",
            &["from", "to", "messages", "bytes"],
            2,
            rows.collect(),
        ));
    }
    let heads: Vec<String> = std::iter::once("from \\ to".to_owned())
        .chain((0..summary.ranks).map(|to| to.to_string()))
        .collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let row = |from: u32| {
        let cell = |to: u32| {
            let mut all = summary.messages.iter();
            all.find(|line| line.from == from && line.to == to)
                .map_or_else(String::new, |line| bytes(line.bytes))
        };
        std::iter::once(from.to_string())
            .chain((0..summary.ranks).map(cell))
            .collect()
    };
    Some(sheet(
        "Bytes sent between ranks",
        &heads,
        1,
        (0..summary.ranks).map(row).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::render;
    use crate::{fixture, summary};

    #[test]
    fn the_page_has_everything_and_fetches_nothing() {
        let mut profile = fixture::profile();
        profile.command = "mpirun <solver>".to_owned();
        let page = render(&summary::of(&profile)).unwrap();
        for part in [
            "Parallel efficiency 65 %",
            "MPI_Allreduce",
            "solver+0x1234",
            "20 KiB",
            "aria-label=\"rank 1: computes 5.00 s, transfers 1.75 s, waits 3.25 s\"",
            "prefers-color-scheme: dark",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("<solver>"), "text from outside is quoted");
        assert!(!page.contains("http://") && !page.contains("https://"));
    }

    #[test]
    fn the_page_says_who_comes_last() {
        let mut profile = fixture::profile();
        profile.calls[0].measured = crate::split::Measured {
            calls: 4,
            transfer: 0.1,
            last: 4,
            caused: 0.3,
            ..Default::default()
        };
        let page = render(&summary::of(&profile)).unwrap();
        assert!(page.contains("Waiting and transfer of sampled collectives") && page.contains("0 (100 %)"));
    }

    #[test]
    fn many_ranks_have_a_list_of_pairs() {
        let mut profile = fixture::profile();
        profile.world = 100;
        let page = render(&summary::of(&profile)).unwrap();
        assert!(page.contains("<h2>Messages</h2>"));
    }
}
