//! A night as a page of its own: one file, nothing is fetched, with the styles and the script of the report.
//!
//! [`intervals`] draws the times of tonight beside the accepted ones, [`map`] the hosts against each other.

mod intervals;
mod map;

use askama::Template;
use kilter_render::format::{self, count};
use kilter_render::sheet::{Entry, Sheet};

use crate::deployed::{self, Acts, Guideline, State};
use crate::night::{Night, Standing};
use crate::nodes::{Map, Slow};
use crate::text;
use crate::times::Pace;

use intervals::Intervals;
use map::Figure;

/// The reason why the page could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the page could not be rendered; `--json` has the same content: {0}")]
pub struct HtmlError(#[from] askama::Error);

#[derive(Template)]
#[template(path = "guard.html")]
struct Page {
    version: &'static str,
    mood: &'static str,
    headline: String,
    subject: String,
    conclusion: String,
    warnings: Vec<String>,
    unchecked: Vec<String>,
    changed: Option<Sheet>,
    deployed: Option<Sheet>,
    guidelines: Option<Sheet>,
    times: Option<Intervals>,
    hosts: Option<Hosts>,
    facts: Vec<(&'static str, String)>,
}

/// Hosts against each other.
struct Hosts {
    /// Slow hosts or pairs, a line each.
    slow: Vec<String>,
    maps: Vec<Figure>,
    /// True if two maps find room beside each other.
    is_narrow: bool,
    steps: [map::Step; 6],
    table: Sheet,
}

/// Renders the page.
///
/// # Errors
/// If the template fails to write, which no content causes.
pub fn render(night: &Night) -> Result<String, HtmlError> {
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        mood: match night.standing() {
            Standing::Silent => "good",
            Standing::Differs => "bad",
            Standing::Unchecked => "open",
        },
        headline: headline(night),
        subject: text::heading(night),
        // Code has no mark of its own on a page.
        conclusion: text::conclusion(night).replace('`', ""),
        warnings: night.warnings.clone(),
        unchecked: night.unchecked.clone(),
        changed: changed(night),
        deployed: deployed(&night.deployed),
        guidelines: guidelines(&night.guidelines),
        times: Intervals::of(&night.times),
        hosts: night.nodes.as_ref().map(hosts),
        facts: facts(night),
    };
    Ok(page.render()?)
}

/// The findings in a few words.
fn headline(night: &Night) -> String {
    let standing = |state: State| night.deployed.iter().filter(|change| change.state() == state).count();
    let slow = night.nodes.iter().flat_map(|map| &map.slow);
    let mut slow_places: Vec<&[String]> = slow.map(|slow| slow.hosts.as_slice()).collect();
    slow_places.sort_unstable();
    slow_places.dedup();
    let found = [
        (night.changes.len(), "fact changed", "facts changed"),
        (
            standing(State::NoLonger),
            "setting acts no longer",
            "settings act no longer",
        ),
        (
            night.guidelines.iter().filter(|one| one.is_broken()).count(),
            "guideline is violated again",
            "guidelines are violated again",
        ),
        (
            night.times.iter().filter(|one| one.pace == Pace::Slower).count(),
            "call is slower",
            "calls are slower",
        ),
        (
            slow_places.iter().filter(|hosts| hosts.len() == 1).count(),
            "host is slow",
            "hosts are slow",
        ),
        (
            slow_places.iter().filter(|hosts| hosts.len() > 1).count(),
            "pair of hosts is slow",
            "pairs of hosts are slow",
        ),
    ];
    let found = found.into_iter().filter(|(number, _, _)| *number > 0);
    let found: Vec<String> = found
        .map(|(number, one, many)| format!("{number} {}", if number == 1 { one } else { many }))
        .collect();
    match night.standing() {
        Standing::Differs => found.join(", "),
        Standing::Unchecked => "Not everything could be checked".to_owned(),
        Standing::Silent if night.accepted.is_none() => "The first night".to_owned(),
        Standing::Silent => "Nothing changed".to_owned(),
    }
}

fn sheet(title: &str, note: &str, heads: &[&str], rows: Vec<Vec<Entry>>) -> Option<Sheet> {
    (!rows.is_empty()).then(|| Sheet {
        title: title.to_owned(),
        note: note.to_owned(),
        heads: heads.iter().map(|head| (*head).to_owned()).collect(),
        rows,
        names: 1,
        narrow: false,
    })
}

fn changed(night: &Night) -> Option<Sheet> {
    let row = |change: &crate::changes::Change| {
        let hosts = if change.hosts.is_empty() {
            "the whole job".to_owned()
        } else {
            change.hosts.join(", ")
        };
        let texts = [&change.subject, &change.from, &change.to, &hosts];
        texts.map(Entry::text).to_vec()
    };
    let heads = ["fact", "accepted", "tonight", "where"];
    sheet("Changed", "", &heads, night.changes.iter().map(row).collect())
}

fn deployed(all: &[deployed::Change]) -> Option<Sheet> {
    let row = |change: &deployed::Change| {
        let (Acts::Yes(because) | Acts::No(because) | Acts::Unknown(because)) = &change.acts;
        let class = match change.state() {
            State::Acts => "good",
            State::NoLonger => "bad",
            State::NotInForce => "calm",
            State::Unknown => "open",
        };
        vec![
            Entry::text(&change.id),
            Entry::with_class(text::state(change.state()), class),
            Entry::text(because),
        ]
    };
    sheet(
        "Deployed",
        "The choices of kilter tune, as the library reports them tonight.",
        &["change", "state", "evidence"],
        all.iter().map(row).collect(),
    )
}

fn guidelines(all: &[Guideline]) -> Option<Sheet> {
    let row = |guideline: &Guideline| {
        let class = match (guideline.is_broken(), guideline.is_unmeasured()) {
            (true, _) => "bad",
            (_, true) => "open",
            _ => "",
        };
        let (ratio, p) = guideline
            .comparison
            .as_ref()
            .map_or_else(Default::default, |comparison| {
                let interval = format::interval(comparison.ratio_ci);
                (
                    format!("{} {interval}", format::ratio(comparison.ratio)),
                    format::p_value(comparison.p_adjusted),
                )
            });
        vec![
            Entry::text(&guideline.cell),
            Entry::text(&guideline.expression),
            Entry::with_class(text::verdict(guideline), class),
            Entry::text(ratio),
            Entry::text(p),
            Entry::text(&guideline.fix),
        ]
    };
    sheet(
        "Guidelines that were fixed",
        "The ratio is that of the left side's time to the right side's, with its 95 % interval. It is expected to hold where the fix acts.",
        &["cell", "guideline", "tonight", "ratio", "p", "fix"],
        all.iter().map(row).collect(),
    )
}

fn hosts(map: &Map) -> Hosts {
    let names = map::labels(&map.hosts);
    Hosts {
        slow: map.slow.iter().map(text::slow).collect(),
        maps: map.kinds.iter().map(|kind| map::draw(map, kind, &names)).collect(),
        is_narrow: map::is_narrow(map.hosts.len()),
        steps: map::STEPS,
        table: of_hosts(map),
    }
}

/// Factor of each host for each kind of messages.
fn of_hosts(map: &Map) -> Sheet {
    let is_of = |slow: &Slow, host: &String| slow.hosts.as_slice() == std::slice::from_ref(host);
    let row = |(place, host): (usize, &String)| {
        let mut row = vec![Entry::text(host)];
        for kind in &map.kinds {
            let is_slow = map.slow.iter().any(|slow| slow.kind == kind.kind && is_of(slow, host));
            let factor = kind.factors.get(place).copied().flatten();
            let text = factor.map_or_else(|| format::NONE.to_owned(), format::ratio);
            row.push(if is_slow {
                Entry::with_class(format!("{text} slow"), "bad")
            } else {
                Entry::text(text)
            });
        }
        row
    };
    let kinds = map.kinds.iter().map(|kind| kind.kind.word().to_owned());
    Sheet {
        title: "Factor of each host".to_owned(),
        note: "The median over a host's pairs, over that of the middle host.".to_owned(),
        heads: std::iter::once("host".to_owned()).chain(kinds).collect(),
        rows: map.hosts.iter().enumerate().map(row).collect(),
        names: 1,
        narrow: false,
    }
}

fn facts(night: &Night) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("Library", night.library.clone()),
        ("Ranks", night.ranks.to_string()),
        ("Hosts", night.hosts.join(", ")),
        ("Begun", night.started.clone()),
        ("Run in the database", night.run.to_string()),
    ];
    if let Some(accepted) = &night.accepted {
        facts.push((
            "Compared with",
            format!(
                "run {} of {}, and {} since",
                accepted.run,
                accepted.started,
                count(accepted.silent_nights, "silent night")
            ),
        ));
    }
    facts.push((
        "Compared",
        format!(
            "{}, times of {}",
            count(night.facts, "fact"),
            count(night.watched, "cell")
        ),
    ));
    facts.push((
        "Error rate",
        format!(
            "at most {} for one false alarm or more of a time in ten nights of nothing",
            format::percent(night.alpha)
        ),
    ));
    facts
}

#[cfg(test)]
mod tests;
