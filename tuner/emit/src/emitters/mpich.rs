//! MPICH 4: environment of control variables, selection file, profile; and the launch that uses them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail, ensure};
use kilter_algorithms::Collective;
use kilter_model::config::library::{AlgorithmChoice, Algorithms, Library};
use kilter_model::deployment::Selection;
use kilter_model::range;
use kilter_model::setup::Setup;

use super::{Emitter, Page, Settings, variables};
use crate::decisions::{Decisions, Part};
use crate::fence::Fence;
use crate::installation::Installation;
use crate::mpich_library::{self, OwnSelection};
use crate::selection::{ForRanks, Range, SizeRule, Tree};
use crate::{Emitted, File, selection_guard, selection_lint, write};

const SELECTION: &str = "mpich-coll-selection.json";

/// The control variable that names the selection file.
const SELECTION_VARIABLE: &str = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE";
/// The beginning of all control variables.
const CONTROL: &str = "MPIR_CVAR_";

/// Control variables and a selection file.
pub(super) struct Mpich;

impl Emitter for Mpich {
    fn write(
        &self,
        installation: &Installation<'_>,
        decisions: &Decisions<'_>,
        emitted: &mut Emitted,
    ) -> anyhow::Result<Settings> {
        let mut environment = decisions.pairs();
        let mut all_tuned = Vec::new();
        for part in &decisions.parts {
            let (tuned, further) = tuned(installation, part)?;
            for (name, value) in further {
                environment.retain(|(other, _)| *other != name);
                environment.push((name, value));
            }
            if !tuned.is_empty() {
                all_tuned.push((part, tuned));
            }
        }
        if !all_tuned.is_empty() {
            let own = own(installation)?;
            let tree = selection(installation, &own, &all_tuned)?;
            ensure!(
                Tree::parse(&tree.to_text())? == tree,
                "the selection file does not read back as it was written; please report this"
            );
            selection_lint::check(&tree, &own.tree, &own.algorithms)?;
            write(&emitted.directory, SELECTION, &tree.to_text())?;
            emitted.files.insert(File::Rules, SELECTION.to_owned());
            let path = emitted.directory.join(SELECTION).display().to_string();
            environment.push((SELECTION_VARIABLE.to_owned(), path));
        }
        Ok(Settings {
            environment,
            ..Settings::default()
        })
    }

    fn carries_selections(&self) -> bool {
        true
    }

    fn fence(&self, _: &Library, _: Collective, _: &[(String, String)]) -> Fence {
        Fence::PerNode
    }

    fn staged(&self, installation: &Installation<'_>, emitted: &Emitted, read: Settings) -> anyhow::Result<Setup> {
        let directory = &emitted.directory;
        if let Some(name) = emitted.files.get(&File::Rules) {
            let text = crate::read(directory, name)?;
            check_text(&text, &own(installation)?).with_context(|| format!("`{}`", directory.join(name).display()))?;
        }
        // Read back from the library itself, too: it ignores a name that it does not know. Of texts, MPICH 4.0 and 4.3 report the
        // default whatever they are, so the name of the file is read back from the environment of the ranks alone.
        let control = read.environment.iter();
        let control = control.filter(|(name, _)| name.starts_with(CONTROL) && name != SELECTION_VARIABLE);
        Ok(Setup {
            expected: control.cloned().collect(),
            environment: read.environment,
            ..Setup::default()
        })
    }

    fn page(
        &self,
        installation: &Installation<'_>,
        decisions: &Decisions<'_>,
        emitted: &Emitted,
        written: &Settings,
    ) -> Page {
        let environment = variables::environment_step(installation, decisions, emitted, written);
        let selection = emitted.files.get(&File::Rules).map(|name| {
            format!(
                "{name}: which algorithm for which message size, named by {SELECTION_VARIABLE} by its full\n   \
                 path. It holds the whole selection of this very release: another release needs one of its own, and a file that is\n   \
                 missing or changed by hand ends programs in MPI_Init. It must be readable on every node.\n\n"
            )
        });
        Page::Steps {
            before: String::new(),
            steps: environment.into_iter().chain(selection).collect(),
            undo: variables::UNDO,
        }
    }
}

/// The selection of the library at hand without a file.
fn own(installation: &Installation<'_>) -> anyhow::Result<OwnSelection> {
    let library = installation.programs.library.as_ref().context(
        "the worker does not say which file its MPI library is, and a selection file is made from the library's own selection; \
         is the library linked statically?",
    )?;
    mpich_library::read(library)
}

/// Choices by collective and volume.
type Chosen<'a> = BTreeMap<Collective, Vec<(u64, &'a AlgorithmChoice)>>;

/// The algorithms that were chosen, and the control variables that go with them.
fn tuned<'a>(
    installation: &'a Installation<'_>,
    part: &Part<'_>,
) -> anyhow::Result<(Chosen<'a>, BTreeMap<String, String>)> {
    let mut chosen = Chosen::new();
    let mut further = BTreeMap::new();
    for ((collective, bytes), selection) in part.selections {
        let Selection::Settings(settings) = selection else {
            continue;
        };
        let algorithms = algorithms_of(installation, *collective)?;
        for (name, value) in settings {
            if *name == algorithms.parameter {
                let choice = algorithms
                    .choices
                    .iter()
                    .find(|choice| choice.value.to_string() == *value);
                let choice = choice.with_context(|| format!("`{name}={value}` is not described"))?;
                chosen.entry(*collective).or_default().push((*bytes, choice));
            } else if algorithms.together.get(name) == Some(value) {
                further.insert(name.clone(), value.clone());
            } else {
                bail!("`{name}={value}` cannot be carried by a selection file");
            }
        }
    }
    Ok((chosen, further))
}

fn algorithms_of<'a>(installation: &'a Installation<'_>, collective: Collective) -> anyhow::Result<&'a Algorithms> {
    installation
        .library
        .algorithms_of(collective)
        .with_context(|| format!("{} has no algorithms for {collective}", installation.library.name))
}

/// The library's selection with the choices of all parts put in. It knows the number of ranks, and how many are on a node on average.
fn selection(
    installation: &Installation<'_>,
    own: &OwnSelection,
    parts: &[(&Part<'_>, Chosen<'_>)],
) -> anyhow::Result<Tree> {
    let mut tree = own.tree.clone();
    let collectives: BTreeSet<Collective> = parts.iter().flat_map(|(_, tuned)| tuned.keys().copied()).collect();
    for collective in collectives {
        let algorithms = algorithms_of(installation, collective)?;
        let test = algorithms.size_test.as_deref();
        let mut of_parts = Vec::new();
        for (part, tuned) in parts {
            if let Some(choices) = tuned.get(&collective) {
                let rules = size_rules(own, part, collective, (test, choices))?;
                of_parts.push((part.sizes(), (vec![part.per_node()], rules)));
            }
        }
        tree = tree.with_sizes(collective.name(), test, &by_size(&of_parts))?;
    }
    Ok(tree)
}

/// The rules of a part for a collective. One that must not be switched on message size gets one rule for all sizes.
fn size_rules(
    own: &OwnSelection,
    part: &Part<'_>,
    collective: Collective,
    (test, choices): (Option<&str>, &[(u64, &AlgorithmChoice)]),
) -> anyhow::Result<Vec<SizeRule>> {
    let volumes = part.volumes_of(collective);
    let rule = |(bytes, choice): &(u64, &AlgorithmChoice)| -> anyhow::Result<SizeRule> {
        Ok(SizeRule {
            range: if test.is_some() {
                range::around(&volumes, *bytes)
            } else {
                (0, u64::MAX)
            },
            algorithm: c_name(own, collective, &choice.name)?,
            parameters: choice.selection.clone(),
            guards: selection_guard::of(collective, &choice.name),
        })
    };
    match test {
        Some(_) => choices.iter().map(rule).collect(),
        None => Ok(choices.last().map(rule).transpose()?.into_iter().collect()),
    }
}

/// Things, each with the numbers for which it holds.
type Holding<T> = (Vec<Range>, T);

/// The rules for each range of numbers of ranks on which they are the same, and therein by the average on a node, ascending.
fn by_size(parts: &[Holding<Holding<Vec<SizeRule>>>]) -> Vec<ForRanks> {
    let for_ranks = |(ranks, parts): (Range, Vec<&Holding<Vec<SizeRule>>>)| {
        let by_average = pieces(parts.into_iter()).into_iter();
        ForRanks {
            ranks,
            per_node: by_average.map(|(range, rules)| (range, first_holds(rules))).collect(),
        }
    };
    pieces(parts.iter()).into_iter().map(for_ranks).collect()
}

/// Divides numbers into ranges within which the same things hold, in their order; without those in which nothing does.
fn pieces<'t, T: 't>(all: impl Iterator<Item = &'t Holding<T>> + Clone) -> Vec<(Range, Vec<&'t T>)> {
    let ranges = all.clone().flat_map(|(ranges, _)| ranges);
    let starts: BTreeSet<u64> = ranges
        .flat_map(|(first, last)| [Some(*first), last.checked_add(1)])
        .flatten()
        .collect();
    let ends = starts.iter().skip(1).map(|next| next - 1).chain([u64::MAX]);
    let holding = |first: u64| {
        let has = move |ranges: &[Range]| ranges.iter().any(|(from, to)| (*from..=*to).contains(&first));
        all.clone()
            .filter(move |(ranges, _)| has(ranges))
            .map(|(_, thing)| thing)
    };
    let pieces = starts.iter().zip(ends);
    let pieces = pieces.map(|(first, last)| ((*first, last), holding(*first).collect::<Vec<_>>()));
    pieces.filter(|(_, things)| !things.is_empty()).collect()
}

/// Rules of the first part hold where rules meet.
fn first_holds(parts: Vec<&Vec<SizeRule>>) -> Vec<SizeRule> {
    let mut rules: Vec<SizeRule> = Vec::new();
    for rule in parts.into_iter().flatten() {
        let taken: Vec<Range> = rules.iter().map(|rule| rule.range).collect();
        let free = free(rule.range, &taken).into_iter();
        rules.extend(free.map(|range| SizeRule { range, ..rule.clone() }));
    }
    rules.sort_by_key(|rule| rule.range);
    rules
}

/// The part of a range that none of the others takes.
fn free(range: Range, taken: &[Range]) -> Vec<Range> {
    taken.iter().fold(vec![range], |free, (low, high)| {
        let left = free.into_iter().flat_map(|(from, to)| {
            let before = low.checked_sub(1).map(|end| (from, to.min(end)));
            let behind = high.checked_add(1).map(|start| (from.max(start), to));
            [before, behind]
        });
        left.flatten().filter(|(from, to)| from <= to).collect()
    })
}

/// The library's name for an algorithm: those that take all kinds of communicators are called otherwise.
fn c_name(own: &OwnSelection, collective: Collective, choice: &str) -> anyhow::Result<String> {
    let mut operation = collective.name().to_owned();
    if let Some(first) = operation.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let names = ["intra", "allcomm"].map(|kind| format!("MPIR_{operation}_{kind}_{choice}"));
    let known = names.iter().find(|name| own.algorithms.contains(*name));
    known.cloned().with_context(|| {
        let of_this = |name: &&String| name.starts_with(&format!("MPIR_{operation}_")) && !name.contains("_inter_");
        let has: Vec<&str> = own.algorithms.iter().filter(of_this).map(String::as_str).collect();
        format!(
            "the library has neither `{}` nor `{}`; it has {}",
            names[0],
            names[1],
            has.join(", ")
        )
    })
}

/// Refuses a file that the library would misread.
fn check_text(text: &str, own: &OwnSelection) -> anyhow::Result<()> {
    ensure!(
        Tree::is_length_read(text.len()),
        "the file is a multiple of 4096 bytes long, and the library reads beyond its end; add an empty line"
    );
    let tree = Tree::parse(text).context("the library would end in MPI_Init: the file is no JSON of nested objects")?;
    selection_lint::check(&tree, &own.tree, &own.algorithms)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::ANYWHERE;

    fn own() -> OwnSelection {
        let tree = Tree::parse(r#"{"collective=gatherv":{"algorithm=MPIR_Gatherv_allcomm_linear":{}}}"#).unwrap();
        let names = [
            "MPIR_Gatherv_allcomm_linear",
            "MPIR_Gatherv_allcomm_nb",
            "MPIR_Reduce_scatter_intra_pairwise",
        ];
        OwnSelection {
            tree,
            algorithms: names.into_iter().map(str::to_owned).collect(),
        }
    }

    #[test]
    fn names_are_those_of_the_library() {
        let name = |collective, choice| c_name(&own(), collective, choice);
        assert_eq!(
            name(Collective::Gatherv, "linear").unwrap(),
            "MPIR_Gatherv_allcomm_linear"
        );
        assert_eq!(
            name(Collective::ReduceScatter, "pairwise").unwrap(),
            "MPIR_Reduce_scatter_intra_pairwise"
        );
        let error = name(Collective::Gatherv, "binomial").unwrap_err().to_string();
        assert!(
            error.contains("neither `MPIR_Gatherv_intra_binomial`") && error.contains("MPIR_Gatherv_allcomm_nb"),
            "{error}"
        );
    }

    /// A range around what was measured gives way to it, and ends where it was told to.
    #[test]
    fn of_parts_that_meet_the_first_holds() {
        let rule = |range, algorithm: &str| SizeRule {
            range,
            algorithm: algorithm.to_owned(),
            parameters: Vec::new(),
            guards: Vec::new(),
        };
        let measured = (vec![(8, 8)], (vec![(2, 2)], vec![rule((10, 19), "measured")]));
        let around = (vec![(4, 8), (16, 16)], (vec![ANYWHERE], vec![rule((0, 99), "around")]));
        let lines = by_size(&[measured, around])
            .into_iter()
            .flat_map(|ForRanks { ranks, per_node }| {
                per_node.into_iter().map(move |((first, last), rules)| {
                    let rules = rules.iter().map(|rule| format!("{:?} {}", rule.range, rule.algorithm));
                    let last = if last == u64::MAX {
                        "any".to_owned()
                    } else {
                        last.to_string()
                    };
                    format!(
                        "{ranks:?}, {first} to {last} each: {}",
                        rules.collect::<Vec<_>>().join(", ")
                    )
                })
            });
        insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r"
        (4, 7), 1 to any each: (0, 99) around
        (8, 8), 1 to 1 each: (0, 99) around
        (8, 8), 2 to 2 each: (0, 9) around, (10, 19) measured, (20, 99) around
        (8, 8), 3 to any each: (0, 99) around
        (16, 16), 1 to any each: (0, 99) around
        ");
        assert_eq!(free((0, 9), &[(0, 4), (3, u64::MAX)]), []);
    }

    #[test]
    fn a_file_that_ends_programs_is_refused_before_they_read_it() {
        let own = own();
        let good = own.tree.to_text();
        check_text(&good, &own).unwrap();
        for (text, part) in [
            (
                good.replace("linear", "lineal"),
                "no algorithm `MPIR_Gatherv_allcomm_lineal`",
            ),
            (good.replace("gatherv", "gatherw"), "`collective=gatherv` is missing"),
            (good.replacen('}', "", 1), "no JSON"),
            (format!("{good:4096}"), "multiple of 4096"),
        ] {
            let error = format!("{:#}", check_text(&text, &own).unwrap_err());
            assert!(error.contains(part), "{error}");
        }
    }
}
