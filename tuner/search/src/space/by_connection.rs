//! Candidates for one kind of connection, within hosts or between them: the other kind keeps its value.

use std::collections::BTreeSet;

use kilter_model::config::library::{ByConnection, KINDS, Kind, Library, Parameter, Value};

use super::launch::{LaunchCandidate, launch_candidate};
use super::situation::Situation;

/// The words by which values of a row can be divided here: its transport carries all messages, hosts have several ranks each, and the version in use
/// reads them.
fn words<'r>(row: &'r Parameter, situation: &Situation) -> Option<&'r ByConnection> {
    let (words, transport) = (row.by_connection.as_ref()?, row.transport.as_ref()?);
    let heard = &situation.heard;
    let mut carrying = heard.transports.iter().filter(|name| !name.contains('/'));
    let carries_all = carrying.all(|name| name == transport);
    let hosts: BTreeSet<&String> = situation.hosts.iter().collect();
    let has_both = hosts.len() > 1 && hosts.len() < situation.hosts.len();
    let is_read = heard
        .versions
        .get(transport)
        .is_some_and(|version| words.is_read_by(version));
    (carries_all && has_both && is_read).then_some(words)
}

/// The candidate with this value for one kind; `None` where values cannot be divided, or where the kind has it already.
pub(super) fn of_kind(row: &Parameter, value: &str, kind: Kind, situation: &Situation) -> Option<LaunchCandidate> {
    let words = words(row, situation)?;
    let stands = situation.value_of(&row.name).filter(|value| !value.is_empty());
    let stands = words.read(stands.unwrap_or(&row.default)).ok()?;
    if stands.of(kind) == value {
        return None;
    }
    let text = words.write(&stands.with(kind, value));
    Some(LaunchCandidate {
        kind: Some(kind),
        ..launch_candidate(row, &Value::Word(text))
    })
}

/// The candidate for each kind by itself.
pub(super) fn of_each_kind(row: &Parameter, value: &str, situation: &Situation) -> Vec<LaunchCandidate> {
    let of_kind = |kind: &Kind| of_kind(row, value, *kind, situation);
    KINDS.iter().filter_map(of_kind).collect()
}

/// The number that a candidate tries; `None` if it is none.
#[must_use]
pub fn number(library: &Library, candidate: &LaunchCandidate) -> Option<u64> {
    let value = &candidate.assignments.first()?.value;
    let Some(kind) = candidate.kind else {
        return value.parse().ok();
    };
    let row = library.parameters.iter().find(|row| row.name == candidate.parameter)?;
    let values = row.by_connection.as_ref()?.read(value).ok()?;
    values.of(kind).parse().ok()
}

#[cfg(test)]
mod tests {
    use kilter_model::change::id;
    use kilter_model::config::library::find_for;

    use std::collections::BTreeMap;

    use super::super::{in_situation, launch_candidates, of_site, with_value};
    use super::*;
    use crate::heard::Heard;

    const NAME: &str = "UCX_RNDV_THRESH";

    fn library() -> Library {
        find_for("mpirun (Open MPI) 5.0.11").unwrap()
    }

    fn situation(hosts: &[&str], transports: &[&str], version: &str, in_force: &[&str]) -> Situation {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Situation {
            hosts: owned(hosts),
            in_force: in_force
                .iter()
                .map(|value| (NAME.to_owned(), (*value).to_owned()))
                .collect(),
            heard: Heard {
                transports: owned(transports),
                versions: [("ucx".to_owned(), version.to_owned())].into(),
                ..Heard::default()
            },
        }
    }

    fn tried(situation: &Situation) -> Vec<String> {
        let all = launch_candidates(&library(), &situation.heard.transports, &[]);
        let fitting = in_situation(&library(), all, situation).into_iter();
        let its = fitting.filter(|one| one.parameter == NAME);
        its.map(|one| id(&one.assignments)).collect()
    }

    fn has(all: &[String], value: &str) -> bool {
        all.contains(&format!("{NAME}={value}"))
    }

    const BOTH: [&str; 4] = ["a", "a", "b", "b"];
    const UCX: [&str; 3] = ["ucx", "ucx/posix", "ucx/tcp"];

    #[test]
    fn each_kind_is_tried_by_itself_where_both_exist() {
        let all = tried(&situation(&BOTH, &UCX, "1.17.0", &[]));
        for value in ["8192", "intra:8192,inter:auto", "intra:auto,inter:8192"] {
            assert!(has(&all, value), "{value}: {all:?}");
        }
    }

    #[test]
    fn one_value_is_tried_where_kinds_cannot_be_told_apart() {
        for other in [
            situation(&["a", "a"], &UCX, "1.17.0", &[]),
            situation(&["a", "b"], &UCX, "1.17.0", &[]),
            situation(&BOTH, &UCX, "1.13.1", &[]),
            // Within hosts another transport carries messages.
            situation(&BOTH, &["shm", "ucx", "ucx/tcp"], "1.17.0", &[]),
        ] {
            let all = tried(&other);
            assert!(
                has(&all, "8192") && !all.iter().any(|one| one.contains("intra")),
                "{all:?}"
            );
        }
    }

    /// The choice of a round before for one kind stays while the other is searched.
    #[test]
    fn the_other_kind_keeps_its_value() {
        let situation = situation(&BOTH, &UCX, "1.17.0", &["intra:8192,inter:auto"]);
        let all = tried(&situation);
        assert!(has(&all, "intra:8192,inter:65536"), "{all:?}");
        let of_site = of_site(&library(), &BTreeMap::new(), &situation.in_force, &situation);
        let own: Vec<String> = of_site.iter().map(|one| id(&one.assignments)).collect();
        assert!(has(&own, "auto"), "{own:?}");
        // Both kinds at one value are one word.
        assert!(has(&all, "8192") && !has(&all, "intra:8192,inter:auto"), "{all:?}");
    }

    #[test]
    fn the_number_of_one_kind_is_refined() {
        let situation = situation(&BOTH, &UCX, "1.17.0", &["inter:inf,auto"]);
        let all = launch_candidates(&library(), &situation.heard.transports, &[]);
        let fitting = in_situation(&library(), all, &situation);
        let within = |one: &&LaunchCandidate| one.kind == Some(Kind::Within) && one.parameter == NAME;
        let first = fitting.iter().find(within).unwrap();
        assert_eq!(number(&library(), first), Some(1024));
        let refined = with_value(&library(), first, 2048, &situation).unwrap();
        assert_eq!(id(&refined.assignments), format!("{NAME}=intra:2048,inter:inf"));
        assert_eq!(number(&library(), &refined), Some(2048));
    }
}
