//! Which algorithm of the library carries a call out, how that is known, and what decided it.
//!
//! A job makes the calls as everybody does, others force each of the library's algorithms: `kilter-search` has the fingerprints of all of them,
//! `kilter-which` compares them. [`places`] finds the place where a parameter is set, [`deciders`] what could have decided. [`command`] takes
//! the settings of a program's launcher over.

pub mod command;
mod deciders;
mod naming;
mod places;

use std::collections::BTreeSet;

use kilter_algorithms::Collective;
use kilter_model::config::library::{Algorithms, Library};
use kilter_profile::Placement;
use kilter_search::context::Context;
use kilter_search::proof::{self, AsFound, Forced, Ran};
use kilter_search::target::Target;
use kilter_which::answer::{Algorithm, Called, Cell, Decision, Evidence, Kind};
use kilter_which::decide::{self, decide};
use kilter_which::identify::Identified;
use kilter_which::{Fingerprint, component as components, identify};

use self::deciders::{Deciders, Known};
use self::naming::Naming;
use self::places::Places;

/// A call that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The collective.
    pub collective: Collective,
    /// Total volume in bytes.
    pub bytes: u64,
    /// A program's calls of this kind.
    pub called: Option<Called>,
}

/// Functions of a path that are named as evidence.
const SHOWN: usize = 12;

/// Answers for all calls, which are on one number of ranks.
///
/// # Errors
/// A job as everybody starts it that fails.
pub fn cells(context: &Context<'_>, asked: &[Asked]) -> anyhow::Result<Vec<Cell>> {
    let (jobs, library) = (&context.jobs, &context.site.library);
    let place = context.site.options.place();
    let all = asked.iter().map(|one| {
        let bytes = if one.collective == Collective::Barrier {
            0
        } else {
            place.volume(one.collective, one.bytes)
        };
        Target::unbounded(one.collective, bytes)
    });
    let all: Vec<Target> = all.collect();
    // Several sizes may round to one volume, which is carried out once.
    let mut targets: Vec<Target> = Vec::new();
    for target in &all {
        if !targets.contains(target) {
            targets.push(target.clone());
        }
    }
    let collectives: BTreeSet<Collective> = asked.iter().map(|one| one.collective).collect();
    let label = format!("which/{}", targets.first().map(Target::name).unwrap_or_default());
    let reads = deciders::reads(library, &collectives);
    let calls = proof::Calls {
        jobs,
        proofs: &context.proofs,
        quarantine: &context.quarantine,
        label: &label,
        targets: &targets,
    };
    let found = proof::as_found(calls, reads)?;
    let places = Places::of(context.site.options, library);
    let unruled = deciders::unruled(&found.start.variables, &places);
    let forced = proof::each_forced(calls, &unruled)?;
    jobs.heed_jobs();
    let mut naming = Naming::default();
    let hosts: BTreeSet<&String> = found.start.hosts.iter().collect();
    let known = Known {
        library,
        ranks: context.site.options.ranks,
        hosts: hosts.len(),
        placement: Placement::of(&found.start.hosts),
        variables: &found.start.variables,
        places: &places,
        dropin_calls: &found.dropin_calls,
    };
    let mut cells = Vec::new();
    for (one, target) in asked.iter().zip(&all) {
        let Some(index) = targets.iter().position(|other| other == target) else {
            continue;
        };
        let mut cell = answer(&known, &mut naming, target, (&found, &found.ran[index]), &forced[index]);
        cell.called = one.called;
        cells.push(cell);
    }
    Ok(cells)
}

fn answer(
    known: &Known<'_>,
    naming: &mut Naming,
    target: &Target,
    (found, ran): (&AsFound, &Ran),
    forced: &[Forced],
) -> Cell {
    let collective = target.collective();
    let own = naming.fingerprint(ran);
    let others: Vec<Fingerprint> = forced.iter().map(|one| naming.fingerprint(&one.ran)).collect();
    let identified = identify(&own, &others);
    let telling = identified.telling.first().map_or("", String::as_str);
    let path = own.path_with(telling).unwrap_or_default();
    let row = collective.and_then(|one| known.library.algorithms_of(one));
    let Deciders {
        dropin,
        component,
        others: deciders,
    } = Deciders::of(known, target, forced);
    let mut cell = Cell {
        collective: target.function.clone(),
        ranks: known.ranks,
        hosts: known.hosts,
        bytes: target.bytes(),
        called: None,
        component: components::of(path),
        handed_on: None,
        algorithms: identified
            .fits
            .iter()
            .map(|index| Algorithm {
                name: forced[*index].name.clone(),
                setting: row.map(|row| setting(row, forced[*index].value)),
            })
            .collect(),
        known: evidence(&identified, path, &own, forced),
        unknown: None,
        decided: Decision::Default { function: None },
        not_followed: Vec::new(),
    };
    if let Some((decision, implementation)) = dropin {
        cell.algorithms = vec![Algorithm {
            name: implementation.clone(),
            setting: None,
        }];
        cell.component = Some("kilter (drop-in)".to_owned());
        let calls = known.dropin_calls.get(&implementation).copied().unwrap_or_default();
        // Forced algorithms of the library are replaced as well, so that they say nothing.
        cell.known = vec![Evidence {
            kind: Kind::DropIn,
            text: format!("it counts {calls} calls of `{implementation}` on rank 0 of the job"),
        }];
        cell.decided = decision;
        return cell;
    }
    let by_itself = own.paths.iter().find_map(|path| components::own_decision(path));
    // Functions that no forced algorithm has, where forcing acts.
    let elsewhere = known.library.components.as_ref().is_some_and(|components| {
        let own = cell.component.as_deref();
        own.is_some_and(|own| own != components.of_algorithms)
    });
    let is_another = elsewhere
        || identified.fits.is_empty() && !identified.telling.is_empty()
        || identified.fits.is_empty() && !path.is_empty() && acts(&others);
    (cell.decided, cell.not_followed) = decide(
        deciders,
        decide::Ran {
            fits: &identified.fits,
            own_decision: by_itself,
            is_another,
        },
    );
    if let Some(component) = component {
        let handed = component.judge(cell.component.as_deref(), path);
        cell.handed_on = handed.component;
        cell.decided = handed.algorithm.unwrap_or(cell.decided);
        cell.not_followed.extend(handed.not_followed);
    }
    if cell.algorithms.is_empty() {
        cell.unknown = Some(why_unknown((ran, found, &own), (forced, &others), row, known));
        // The functions are a name all the same, if they have names.
        if let Some(name) = own_name(path, target) {
            cell.algorithms.push(Algorithm { name, setting: None });
            cell.unknown = None;
        }
    }
    cell
}

/// True if forcing changes the functions that run.
fn acts(forced: &[Fingerprint]) -> bool {
    let sets: BTreeSet<BTreeSet<&str>> = forced.iter().map(Fingerprint::functions).collect();
    sets.len() > 1
}

/// The setting that forces a number, as it is typed.
fn setting(row: &Algorithms, value: u64) -> String {
    format!("{}={value}", row.parameter)
}

fn evidence(identified: &Identified, path: &[String], own: &Fingerprint, forced: &[Forced]) -> Vec<Evidence> {
    let mut known = Vec::new();
    let same = format!(
        "the same in {} of {} forced algorithms",
        identified.fits.len(),
        forced.len()
    );
    if !path.is_empty() {
        let shown: Vec<&str> = path.iter().take(SHOWN).map(String::as_str).collect();
        let more = if path.len() > SHOWN { " > ..." } else { "" };
        let functions = format!("{}{more}", shown.join(" > "));
        known.push(Evidence {
            kind: Kind::CallPath,
            text: if identified.by_paths {
                format!("{same}: {functions}")
            } else {
                functions
            },
        });
    }
    if let Some(messages) = &own.messages {
        let messages = format!("`{messages}`");
        known.push(Evidence {
            kind: Kind::Messages,
            text: if identified.messages_differ {
                format!("forced, it sends others, as with another fan-out or segment size: {messages}")
            } else if identified.by_messages {
                format!("{same}: {messages}")
            } else {
                messages
            },
        });
    }
    known
}

/// The innermost named function of the collective, where the library gives its functions names.
fn own_name(path: &[String], target: &Target) -> Option<String> {
    let collective = target.function.as_str();
    let is_of_it = |function: &&String| {
        let name = function.to_ascii_lowercase();
        !components::is_standard(function) && !name.contains('+') && name.contains(collective)
    };
    path.iter().rev().find(is_of_it).cloned()
}

fn why_unknown(
    (ran, found, own): (&Ran, &AsFound, &Fingerprint),
    (forced, others): (&[Forced], &[Fingerprint]),
    row: Option<&Algorithms>,
    known: &Known<'_>,
) -> String {
    if let Some(failed) = &ran.failed {
        return format!("the call failed: {failed}");
    }
    let library: &Library = known.library;
    let has_some = row.is_some_and(|row| row.choices_on(known.ranks).next().is_some());
    if forced.is_empty() && has_some {
        return "none of the library's algorithms could be forced, so that there is nothing to compare with".to_owned();
    }
    if forced.is_empty() {
        return format!(
            "Kilter's description of {} has no algorithms of this collective that run on {} ranks",
            library.name, known.ranks
        );
    }
    if own.paths.is_empty() && own.messages.is_none() {
        let uncounted = found.uncounted.as_deref().unwrap_or("the library counts no messages");
        return format!("no rank waited long enough to be seen, and {uncounted}");
    }
    if acts(others) {
        let with: Vec<String> = row
            .iter()
            .flat_map(|row| &row.together)
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let device = if with.is_empty() {
            String::new()
        } else {
            format!(
                "; they are forced with `{}`, without which another part of the library may choose first",
                with.join("`, `")
            )
        };
        return format!(
            "it runs functions that none of the {} algorithms has that Kilter can force{device}",
            forced.len()
        );
    }
    format!(
        "all {} algorithms that Kilter can force run the same functions and send the same here",
        forced.len()
    )
}
