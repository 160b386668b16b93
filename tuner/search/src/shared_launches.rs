//! Several settings share a launch if each acts on collectives of its own. There are then as many launches as the collective with most settings
//! has, rather than as many as there are settings.
//!
//! A setting is credited with the times of its own collectives. All others keep their times without it, and so do expressions of several
//! collectives, such as bounds, since another's setting would show in them. If the launch fails, or exact times show a change in a collective
//! that belongs to none of the settings, each setting is launched alone before any is credited or blamed.

use std::collections::VecDeque;

use kilter_algorithms::Collective;
use kilter_model::config::library::Library;
use kilter_model::deployment::Assignment;
use kilter_model::plan::Subject;
use kilter_protocol::expression::Form;

use crate::DAMAGE_FLOOR;
use crate::space::LaunchCandidate;
use crate::trials::{Refusal, Times, Trials, is_library};

/// A setting that may share a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member<T> {
    /// The candidate whose times are wanted.
    pub what: T,
    /// The collectives that it acts on; empty if on all, and then it has a launch of its own.
    pub collectives: Vec<Collective>,
    /// True if it acts on those of their calls alone that do not block.
    pub nonblocking: bool,
    /// Its settings.
    pub assignments: Vec<Assignment>,
}

impl<T> Member<T> {
    /// True if a subject is a call of one of its collectives, and of no other.
    fn owns(&self, subject: &Subject) -> bool {
        if !self.nonblocking {
            return subject.collective().is_some_and(|one| self.collectives.contains(&one));
        }
        let Some(side) = subject.side() else { return false };
        let mut called = side
            .terms
            .iter()
            .filter(|term| term.call.function().is_some())
            .peekable();
        called.peek().is_some()
            && called.all(|term| {
                let is_its = term.call.function().is_some_and(|one| self.collectives.contains(&one));
                is_its && term.call.form() != Some(Form::Blocking)
            })
    }
}

/// Launches of whole libraries' settings: those of parameters which the description screens together share launches, one value of each
/// parameter in a launch; all others have one of their own. The order is kept, as far as sharing allows.
#[must_use]
pub fn groups(library: &Library, candidates: Vec<LaunchCandidate>) -> Vec<Vec<Member<LaunchCandidate>>> {
    let mut groups: Vec<(Option<&str>, Vec<Member<LaunchCandidate>>)> = Vec::new();
    for candidate in candidates {
        let row = library.parameters.iter().find(|row| row.name == candidate.parameter);
        let word = row.and_then(|row| row.screened_with.as_deref());
        let member = Member {
            collectives: row.map(|row| row.collectives.clone()).unwrap_or_default(),
            nonblocking: row.is_some_and(|row| row.nonblocking),
            assignments: candidate.assignments.clone(),
            what: candidate,
        };
        let is_apart = |other: &Member<LaunchCandidate>| {
            let sets = |one: &Assignment| member.assignments.iter().any(|own| own.name == one.name);
            let acts_on = |one: &Collective| member.collectives.contains(one);
            !other.assignments.iter().any(sets) && !other.collectives.iter().any(acts_on)
        };
        let has_room = |group: &&mut (Option<&str>, Vec<Member<LaunchCandidate>>)| {
            word.is_some() && group.0 == word && group.1.iter().all(is_apart)
        };
        match groups.iter_mut().find(has_room) {
            Some((_, group)) => group.push(member),
            None => groups.push((word, vec![member])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Measures the groups, as long as `affords` says so of the launches so far; the times of each member, beside those of the launch as it
/// is (`present`). Who fails is missing, and in quarantine.
///
/// # Errors
/// A failure that no member explains.
pub fn screen<T>(
    trials: &mut Trials<'_, '_>,
    groups: Vec<Vec<Member<T>>>,
    present: &Times,
    mut affords: impl FnMut(&Trials<'_, '_>) -> bool,
) -> anyhow::Result<Vec<(T, Times)>> {
    let jobs = trials.parts.jobs;
    let is_exact = jobs.site.options.is_exact();
    let mut screened = Vec::new();
    let mut waiting: VecDeque<(bool, Vec<Member<T>>)> = groups.into_iter().map(|group| (true, group)).collect();
    while let Some((is_whole, mut group)) = waiting.pop_front() {
        if !affords(trials) {
            break;
        }
        if is_whole {
            jobs.progress.step(1);
        }
        group.retain(|member| !trials.is_put_away(&member.assignments));
        if group.len() <= 1 {
            for member in group {
                let times = trials.launch(&member.assignments)?;
                screened.extend(times.map(|times| (member.what, times)));
            }
            continue;
        }
        let all: Vec<Assignment> = each_once(group.iter().flat_map(|member| member.assignments.iter().cloned()));
        let parts = match trials.measure(&all)? {
            Ok(times) if is_exact && touches_others(&group, &times, present) => {
                group.into_iter().map(|member| vec![member]).collect()
            }
            Ok(times) => {
                let own = |member: Member<T>| {
                    let times = own(&member, &times, present);
                    (member.what, times)
                };
                screened.extend(group.into_iter().map(own));
                continue;
            }
            Err(refusal) => apart(group, &refusal),
        };
        for part in parts.into_iter().rev().filter(|part| !part.is_empty()) {
            waiting.push_front((false, part));
        }
    }
    Ok(screened)
}

/// Drops repeated assignments: a setting that several candidates need is set once.
pub fn each_once(all: impl Iterator<Item = Assignment>) -> Vec<Assignment> {
    let mut once: Vec<Assignment> = Vec::new();
    for assignment in all {
        if !once.contains(&assignment) {
            once.push(assignment);
        }
    }
    once
}

/// The times as they would be with one of the members alone.
fn own<T>(member: &Member<T>, times: &Times, present: &Times) -> Times {
    let is_own = |subject: &Subject| member.owns(subject);
    let mut own = present.clone();
    own.retain(|subject, _| !is_own(subject));
    own.extend(
        times
            .iter()
            .filter(|(subject, _)| is_own(subject))
            .map(|(subject, seconds)| (subject.clone(), *seconds)),
    );
    own
}

/// True if a collective changed that belongs to none of the members: it may be carried out by another one's.
fn touches_others<T>(group: &[Member<T>], times: &Times, present: &Times) -> bool {
    let belongs = |one: Collective| group.iter().any(|member| member.collectives.contains(&one));
    times
        .iter()
        .filter(|(subject, _)| is_library(subject))
        .any(|(subject, now)| {
            let ratio = present.get(subject).map_or(1.0, |before| now / before);
            let changed = ratio.max(1.0 / ratio) > 1.0 + DAMAGE_FLOOR;
            changed && subject.collective().is_some_and(|one| !belongs(one))
        })
}

/// Whoever the failure speaks of by itself, and the others without it; halves where it speaks of none or of several.
fn apart<T>(mut group: Vec<Member<T>>, refusal: &Refusal) -> Vec<Vec<Member<T>>> {
    let is_suspect = |member: &Member<T>| {
        let failed = refusal.collective;
        failed.is_some_and(|failed| member.collectives.contains(&failed))
    };
    let mut suspects = (0..group.len()).filter(|&place| is_suspect(&group[place]));
    if let (Some(place), None) = (suspects.next(), suspects.next()) {
        let suspect = group.remove(place);
        return vec![vec![suspect], group];
    }
    let others = group.split_off(group.len().div_ceil(2));
    vec![group, others]
}

#[cfg(test)]
mod tests {
    use kilter_model::config::library::find_for;
    use kilter_protocol::fault::FaultKind;

    use super::*;
    use crate::space::launch_candidates;
    use crate::target::Target;

    fn member(name: &str, collectives: &[Collective]) -> Member<String> {
        Member {
            what: name.to_owned(),
            collectives: collectives.to_vec(),
            nonblocking: false,
            assignments: Vec::new(),
        }
    }

    fn names(parts: &[Vec<Member<String>>]) -> Vec<Vec<&str>> {
        parts
            .iter()
            .map(|part| part.iter().map(|one| one.what.as_str()).collect())
            .collect()
    }

    fn times(of: &[(Collective, f64)]) -> Times {
        of.iter()
            .map(|(collective, seconds)| (Subject::library(*collective, 1024), *seconds))
            .collect()
    }

    #[test]
    fn a_launch_tries_a_value_of_every_parameter_that_the_description_screens_together() {
        let smpi = find_for("SimGrid version 3.32").unwrap();
        let targets = [Collective::Bcast, Collective::Reduce, Collective::Allreduce]
            .map(|collective| Target::unbounded(collective, 1024));
        let candidates = launch_candidates(&smpi, &[], &targets);
        let (all, values) = (candidates.len(), |name: &str| {
            let row = smpi.parameters.iter().find(|row| row.name == name).unwrap();
            row.r#try.len()
        });
        let groups = groups(&smpi, candidates);
        assert_eq!(groups.iter().map(Vec::len).sum::<usize>(), all);
        // Those of allreduce, which may be carried out by reduce and bcast, stand apart from these.
        let shared = values("smpi/bcast").max(values("smpi/reduce"));
        assert_eq!(groups.len(), values("smpi/allreduce") + shared);
        for group in &groups {
            let mut collectives: Vec<Collective> = group.iter().flat_map(|member| member.collectives.clone()).collect();
            collectives.sort_unstable();
            let count = collectives.len();
            collectives.dedup();
            assert_eq!(collectives.len(), count);
        }
        // Eager limits act on everything.
        let openmpi = find_for("mpirun (Open MPI) 4.1.4").unwrap();
        let of_all = launch_candidates(&openmpi, &["vader".to_owned()], &targets);
        assert!(super::groups(&openmpi, of_all).iter().all(|group| group.len() == 1));
    }

    #[test]
    fn a_setting_is_credited_with_its_own_collectives_alone() {
        let present = times(&[
            (Collective::Bcast, 4.0),
            (Collective::Reduce, 4.0),
            (Collective::Scan, 1.0),
        ]);
        let now = times(&[
            (Collective::Bcast, 2.0),
            (Collective::Reduce, 8.0),
            (Collective::Scan, 1.05),
        ]);
        let of_bcast = own(&member("bcast", &[Collective::Bcast]), &now, &present);
        let expected = times(&[
            (Collective::Bcast, 2.0),
            (Collective::Reduce, 4.0),
            (Collective::Scan, 1.0),
        ]);
        assert_eq!(of_bcast, expected);
        let group = [member("a", &[Collective::Bcast]), member("b", &[Collective::Reduce])];
        assert!(!touches_others(&group, &now, &present));
        for scan in [0.5, 2.0] {
            let now = times(&[(Collective::Bcast, 2.0), (Collective::Scan, scan)]);
            assert!(touches_others(&group, &now, &present), "{scan}");
        }
    }

    #[test]
    fn a_setting_for_calls_that_do_not_block_owns_none_that_does() {
        let subject = |text: &str| Subject {
            text: text.to_owned(),
            ..Subject::library(Collective::Bcast, 1024)
        };
        let blocking = member("a", &[Collective::Bcast]);
        let nonblocking = Member {
            nonblocking: true,
            ..blocking.clone()
        };
        for (text, of_blocking, of_nonblocking) in [
            ("bcast(n)", true, false),
            ("ibcast(n) + wait", false, true),
            ("ibcast(n) + wait + reduce(n)", false, false),
            ("ireduce(n) + wait", false, false),
            ("isend(n) + irecv(n) + wait", false, false),
        ] {
            let owns = (blocking.owns(&subject(text)), nonblocking.owns(&subject(text)));
            assert_eq!(owns, (of_blocking, of_nonblocking), "{text}");
        }
    }

    #[test]
    fn whoever_a_failure_speaks_of_is_launched_apart() {
        let group = || {
            vec![
                member("a", &[Collective::Bcast]),
                member("b", &[Collective::Reduce]),
                member("c", &[Collective::Scan]),
            ]
        };
        let failed = |collective| Refusal {
            what: FaultKind::Crashed,
            detail: String::new(),
            ended_the_job: true,
            collective,
        };
        let parts = apart(group(), &failed(Some(Collective::Reduce)));
        assert_eq!(names(&parts), [vec!["b"], vec!["a", "c"]]);
        for unknown in [None, Some(Collective::Gather)] {
            let parts = apart(group(), &failed(unknown));
            assert_eq!(names(&parts), [vec!["a", "b"], vec!["c"]]);
        }
    }
}
