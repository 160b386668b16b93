//! Differences between the facts of tonight and the accepted ones.
//!
//! A host that was there when the state was accepted is compared with itself. A host that is new is compared with the others where these
//! were all alike: jobs of a batch system get other hosts every night. What was not asked after then is no difference.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::facts::{Facts, NOT_TOLD, PRINTED};

/// Memory of one host differs from boot to boot by what firmware and kernel keep for themselves.
const LIKE_MEMORY: f64 = 0.03;

/// The subject whose texts are sizes, in which small differences mean nothing.
pub const MEMORY: &str = "memory";

/// Parameters printed by the library that are named one by one; more of them are told in one line.
const MOST_PRINTED: usize = 6;

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Change {
    /// Subject, such as `kernel` or `parameter btl_vader_eager_limit`.
    pub subject: String,
    /// Accepted text.
    pub from: String,
    /// Text of tonight.
    pub to: String,
    /// Hosts with this difference; empty where the whole job has it.
    pub hosts: Vec<String>,
}

/// The differences, by subject.
#[must_use]
pub fn changes(accepted: &Facts, found: &Facts) -> Vec<Change> {
    let here = found.hosts();
    let mut changes = Vec::new();
    for (subject, before) in accepted.subjects() {
        let now = found.texts(subject);
        let is_of_job = before.keys().all(String::is_empty);
        let places: Vec<&str> = if is_of_job {
            vec![""]
        } else {
            here.iter().copied().collect()
        };
        let mut alike: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for place in places {
            let Some(from) = before.get(place).or_else(|| common(before)) else {
                continue;
            };
            let to = now.and_then(|texts| texts.get(place)).map_or(NOT_TOLD, String::as_str);
            if !is_same(subject, from, to) {
                let hosts = alike.entry((from.clone(), to.to_owned())).or_default();
                hosts.extend((!place.is_empty()).then(|| place.to_owned()));
            }
        }
        changes.extend(alike.into_iter().map(|((from, to), hosts)| Change {
            subject: subject.to_owned(),
            from,
            to,
            hosts,
        }));
    }
    condensed(changes)
}

/// The text that all hosts had, if they had one.
fn common(texts: &BTreeMap<String, String>) -> Option<&String> {
    let first = texts.values().next()?;
    texts.values().all(|text| text == first).then_some(first)
}

fn is_same(subject: &str, from: &str, to: &str) -> bool {
    if subject == MEMORY {
        let number = |text: &str| text.split(' ').next()?.parse::<f64>().ok();
        if let Some((from, to)) = number(from).zip(number(to)) {
            return (from - to).abs() <= LIKE_MEMORY * from.max(to);
        }
    }
    from == to
}

/// The same with many printed parameters in one line: another release of a library has hundreds of other ones.
fn condensed(changes: Vec<Change>) -> Vec<Change> {
    let (printed, mut others): (Vec<Change>, Vec<Change>) = changes
        .into_iter()
        .partition(|change| change.subject.starts_with(PRINTED));
    if printed.len() <= MOST_PRINTED {
        others.extend(printed);
        return others;
    }
    let names = printed.iter().map(|change| change.subject.trim_start_matches(PRINTED));
    let shown: Vec<&str> = names.take(MOST_PRINTED).collect();
    others.push(Change {
        subject: format!("{}s", PRINTED.trim_end()),
        from: "as accepted".to_owned(),
        to: format!(
            "{} of them differ: {} and {} more",
            printed.len(),
            shown.join(", "),
            printed.len() - MOST_PRINTED
        ),
        hosts: Vec::new(),
    });
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(hosts: &[(&str, &str, &str)]) -> Facts {
        let mut facts = Facts::default();
        for (subject, host, text) in hosts {
            facts.of_host(subject, host, *text);
        }
        facts
    }

    #[test]
    fn the_same_is_no_change_and_another_text_names_its_hosts() {
        let accepted = facts(&[("kernel", "a", "6.1"), ("kernel", "b", "6.1"), ("library", "", "4.1.4")]);
        assert_eq!(changes(&accepted, &accepted), []);
        let found = facts(&[("kernel", "a", "6.1"), ("kernel", "b", "6.2"), ("library", "", "5.0.3")]);
        let change = |subject: &str, from: &str, to: &str, hosts: &[&str]| Change {
            subject: subject.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        };
        assert_eq!(
            changes(&accepted, &found),
            [
                change("kernel", "6.1", "6.2", &["b"]),
                change("library", "4.1.4", "5.0.3", &[])
            ]
        );
    }

    #[test]
    fn a_new_host_is_compared_with_what_all_others_had() {
        let alike = facts(&[("kernel", "a", "6.1"), ("kernel", "b", "6.1")]);
        let found = facts(&[("kernel", "c", "6.2"), ("kernel", "d", "6.1")]);
        assert_eq!(changes(&alike, &found)[0].hosts, ["c"]);
        let unlike = facts(&[("kernel", "a", "6.1"), ("kernel", "b", "6.0")]);
        assert_eq!(changes(&unlike, &found), []);
    }

    #[test]
    fn what_is_gone_is_not_told_and_what_is_asked_for_the_first_time_is_no_change() {
        let accepted = facts(&[("BIOS", "a", "1.2"), ("kernel", "a", "6.1")]);
        let found = facts(&[("kernel", "a", "6.1"), ("governor", "a", "performance")]);
        let all = changes(&accepted, &found);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].subject.as_str(), all[0].to.as_str()), ("BIOS", NOT_TOLD));
    }

    #[test]
    fn memory_that_the_firmware_keeps_is_no_change() {
        let with = |text: &str| facts(&[(MEMORY, "a", text)]);
        assert_eq!(changes(&with("251.5 GiB"), &with("250.9 GiB")), []);
        assert_eq!(changes(&with("251.5 GiB"), &with("188.6 GiB")).len(), 1);
    }

    #[test]
    fn hundreds_of_printed_parameters_are_one_line() {
        let with = |value: &str, count: usize| {
            let names: Vec<String> = (0..count).map(|number| format!("{PRINTED}p{number:03}")).collect();
            let rows: Vec<(&str, &str, &str)> = names.iter().map(|name| (name.as_str(), "", value)).collect();
            facts(&rows)
        };
        assert_eq!(changes(&with("1", 6), &with("2", 6)).len(), 6);
        let many = changes(&with("1", 300), &with("2", 300));
        assert_eq!(many.len(), 1);
        assert!(
            many[0].to.starts_with("300 of them differ: p000, p001"),
            "{}",
            many[0].to
        );
    }
}
