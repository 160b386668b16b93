//! From an item of the plan to the calls that carry it out.

use std::ffi::c_int;

use kilter_algorithms::{Algorithm, Collective, registry};
use kilter_mpi::Pipeline;
use kilter_protocol::expression::{Call, Number, Side, Term};
use kilter_protocol::plan::{Implementation, Item};

use crate::problem::Problem;

/// More calls than this in one repetition are a mistake in the plan.
const MAX_REPEAT: u64 = 1 << 20;

/// An item as this rank carries it out.
#[derive(Debug)]
pub(crate) struct Recipe {
    /// The calls' data, slice by slice.
    pub(crate) problems: Vec<Problem>,
    /// What is done with them, one after the other.
    pub(crate) parts: Vec<Part>,
}

/// Calls of one kind.
#[derive(Debug)]
pub(crate) struct Part {
    /// How a call is carried out.
    pub(crate) how: How,
    /// Number of calls.
    pub(crate) repeat: usize,
    /// The first call's data in [`Recipe::problems`].
    pub(crate) first: usize,
    /// Successive calls take successive slices, this many, and then begin again.
    pub(crate) slices: usize,
}

/// How one call is carried out.
#[derive(Debug)]
pub(crate) enum How {
    /// The library's own collective.
    Library,
    /// Library calls with the semantics of the collective.
    Mockup(Pipeline),
    /// A row of the registry.
    Algorithm {
        /// The row.
        row: &'static Algorithm,
        /// One value per parameter.
        parameters: Vec<u64>,
    },
}

/// Where a rank stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// This rank.
    pub(crate) rank: usize,
    /// The number of ranks.
    pub(crate) p_ranks: usize,
    /// The root of rooted collectives.
    pub(crate) root: usize,
}

/// Finds out how an item is carried out; decided by the plan alone, so alike on every rank.
///
/// # Errors
/// Why it cannot be.
pub(crate) fn recipe(item: &Item, place: Place) -> Result<Recipe, String> {
    let target = item.collective;
    if target == Collective::ReduceLocal {
        return Err("reduce_local is no collective operation: give one that is, such as scan".to_owned());
    }
    match &item.implementation {
        Implementation::Algorithm { id, parameters } => {
            let how = algorithm(target, id, Some(parameters), place.p_ranks)?;
            let problems = vec![problem(item, 1, 0, target.has_blocks(), place)?];
            Ok(Recipe {
                problems,
                parts: vec![Part {
                    how,
                    repeat: 1,
                    first: 0,
                    slices: 1,
                }],
            })
        }
        Implementation::Expression { text } => {
            let side: Side = text
                .parse()
                .map_err(|error| format!("expression `{text}` cannot be read: {error}"))?;
            side_recipe(item, &side, place)
        }
    }
}

fn side_recipe(item: &Item, side: &Side, place: Place) -> Result<Recipe, String> {
    let target = item.collective;
    let has_blocks = target.has_blocks() || side.has_blocks();
    if let Some(calls) = side.plain_calls() {
        let how = library(target, &calls)?;
        let problems = vec![problem(item, 1, 0, has_blocks, place)?];
        return Ok(Recipe {
            problems,
            parts: vec![Part {
                how,
                repeat: 1,
                first: 0,
                slices: 1,
            }],
        });
    }
    let mut recipe = Recipe {
        problems: Vec::new(),
        parts: Vec::new(),
    };
    for term in &side.terms {
        let (repeat, divisor) = (number(term.repeat)?, number(term.divisor)?);
        let how = match &term.call {
            Call::PointToPoint(name) => algorithm(target, &format!("{target}.{name}"), None, place.p_ranks)?,
            Call::Library(call) if *call == target || side.terms.len() == 1 => library(target, &[*call])?,
            Call::Library(_) => return Err(mixed(side, term, target)),
        };
        if repeat > MAX_REPEAT {
            return Err(format!(
                "`{term}` makes {repeat} calls; at most {MAX_REPEAT} are allowed"
            ));
        }
        let (first, slices) = (recipe.problems.len(), repeat.min(divisor).max(1) as usize);
        for slice in first..first + slices {
            recipe.problems.push(problem(item, divisor, slice, has_blocks, place)?);
        }
        recipe.parts.push(Part {
            how,
            repeat: repeat as usize,
            first,
            slices,
        });
    }
    Ok(recipe)
}

fn mixed(side: &Side, term: &Term, target: Collective) -> String {
    format!(
        "`{side}` cannot stand for {target}: where volumes are divided or calls repeated, every call must be {target} itself \
         or a `p2p` algorithm of it, and `{term}` is neither"
    )
}

fn number(number: Number) -> Result<u64, String> {
    match number {
        Number::Literal(0) => Err("0 is no number of calls and no divisor".to_owned()),
        Number::Literal(value) => Ok(value),
        Number::K => Err("the expression has a `k`: fill in a number before it is measured".to_owned()),
    }
}

fn library(target: Collective, calls: &[Collective]) -> Result<How, String> {
    if calls == [target] {
        return Ok(How::Library);
    }
    Pipeline::new(target, calls)
        .map(How::Mockup)
        .map_err(|error| error.to_string())
}

/// Looks up a row and checks what it is given; `None` for its default parameters.
fn algorithm(target: Collective, id: &str, parameters: Option<&[u64]>, p_ranks: usize) -> Result<How, String> {
    let row = registry::find(id).ok_or_else(|| {
        let known: Vec<_> = registry::algorithms()
            .filter(|row| row.collective == target)
            .map(|row| row.id)
            .collect();
        format!(
            "`{id}` is not a registered algorithm; those of {target}: {}",
            known.join(", ")
        )
    })?;
    if row.collective != target {
        return Err(format!("algorithm `{id}` implements {}, not {target}", row.collective));
    }
    // The operator is a bitwise OR, which commutes.
    if let Some(need) = row.unmet(p_ranks, true) {
        return Err(format!(
            "algorithm `{id}` does not run on {p_ranks} ranks: it needs {need:?}"
        ));
    }
    let parameters = parameters.map_or_else(|| row.default_parameters(), <[u64]>::to_vec);
    if parameters.len() != row.parameters.len() {
        let names: Vec<_> = row.parameters.iter().map(|parameter| parameter.name).collect();
        return Err(format!(
            "algorithm `{id}` takes {} parameters ({}), and {} are given",
            names.len(),
            names.join(", "),
            parameters.len()
        ));
    }
    for (value, parameter) in parameters.iter().zip(row.parameters) {
        if !(parameter.min..=parameter.max).contains(value) {
            let (name, min, max) = (parameter.name, parameter.min, parameter.max);
            return Err(format!("algorithm `{id}`: {name} = {value} is outside {min} to {max}"));
        }
    }
    Ok(How::Algorithm { row, parameters })
}

/// The data of one call on a `divisor`-th of the item's volume.
fn problem(item: &Item, divisor: u64, slice: usize, has_blocks: bool, place: Place) -> Result<Problem, String> {
    let Place { rank, p_ranks, root } = place;
    if !item.bytes.is_multiple_of(divisor) {
        return Err(format!("{} bytes cannot be divided by {divisor}", item.bytes));
    }
    let n = item.bytes / divisor;
    if c_int::try_from(n).is_err() {
        return Err(format!("{n} bytes are more than an MPI count holds ({})", c_int::MAX));
    }
    if has_blocks && !n.is_multiple_of(p_ranks as u64) {
        return Err(format!(
            "{n} bytes cannot be divided into {p_ranks} blocks, one per rank"
        ));
    }
    Ok(Problem {
        collective: item.collective,
        n_bytes: n as usize,
        p_ranks,
        rank,
        root,
        slice,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(collective: Collective, bytes: u64, text: &str) -> Item {
        let implementation = Implementation::Expression { text: text.to_owned() };
        Item {
            id: "a".to_owned(),
            collective,
            bytes,
            implementation,
            settings: Vec::new(),
        }
    }

    fn of(collective: Collective, bytes: u64, text: &str) -> Result<Recipe, String> {
        recipe(
            &item(collective, bytes, text),
            Place {
                rank: 1,
                p_ranks: 3,
                root: 0,
            },
        )
    }

    #[test]
    fn plain_calls_are_the_library_or_a_mockup() {
        let recipe = of(Collective::Reduce, 30, "reduce(n)").unwrap();
        assert!(matches!(
            recipe.parts[..],
            [Part {
                how: How::Library,
                repeat: 1,
                ..
            }]
        ));
        let recipe = of(Collective::Reduce, 30, "reduce_scatter_block(n) + gather(n)").unwrap();
        assert!(matches!(
            recipe.parts[..],
            [Part {
                how: How::Mockup(_),
                repeat: 1,
                ..
            }]
        ));
        assert_eq!(recipe.problems.len(), 1);
    }

    #[test]
    fn repeated_calls_take_successive_slices() {
        let recipe = of(Collective::Allreduce, 64, "8 * allreduce(n/4)").unwrap();
        assert!(matches!(
            recipe.parts[..],
            [Part {
                how: How::Library,
                repeat: 8,
                first: 0,
                slices: 4
            }]
        ));
        let slices: Vec<_> = recipe
            .problems
            .iter()
            .map(|problem| (problem.n_bytes, problem.slice))
            .collect();
        assert_eq!(slices, [(16, 0), (16, 1), (16, 2), (16, 3)]);
        let recipe = of(Collective::Bcast, 64, "bcast(n/2) + 3 * bcast(n/4)").unwrap();
        let parts: Vec<_> = recipe
            .parts
            .iter()
            .map(|part| (part.repeat, part.first, part.slices))
            .collect();
        assert_eq!(parts, [(1, 0, 1), (3, 1, 3)]);
    }

    #[test]
    fn what_cannot_be_carried_out_says_why() {
        for (collective, bytes, text, reason) in [
            (
                Collective::Reduce,
                30,
                "redoose(n)",
                "expression `redoose(n)` cannot be read",
            ),
            (
                Collective::Gather,
                31,
                "gather(n)",
                "31 bytes cannot be divided into 3 blocks",
            ),
            (
                Collective::Reduce,
                31,
                "reduce_scatter_block(n) + gather(n)",
                "31 bytes cannot be divided into 3 blocks",
            ),
            (
                Collective::Bcast,
                30,
                "4 * bcast(n/4)",
                "30 bytes cannot be divided by 4",
            ),
            (Collective::Bcast, 30, "k * bcast(n/k)", "has a `k`"),
            (Collective::Bcast, 1 << 32, "bcast(n)", "more than an MPI count holds"),
            (Collective::Bcast, 30, "reduce(n)", "no local copy converts that"),
            (
                Collective::Bcast,
                30,
                "scatter(n/2) + allgather(n/2)",
                "every call must be bcast itself",
            ),
            (
                Collective::Bcast,
                30,
                "p2p.magic(n)",
                "`bcast.magic` is not a registered algorithm",
            ),
            (
                Collective::ReduceLocal,
                30,
                "reduce_local(n)",
                "no collective operation",
            ),
        ] {
            let error = of(collective, bytes, text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn algorithms_are_checked_before_they_run() {
        let place = Place {
            rank: 0,
            p_ranks: 2,
            root: 0,
        };
        for row in registry::algorithms() {
            let mut wanted = item(row.collective, 64, "");
            let mut run = |id: &str, parameters: Vec<u64>, collective| {
                wanted.collective = collective;
                wanted.implementation = Implementation::Algorithm {
                    id: id.to_owned(),
                    parameters,
                };
                recipe(&wanted, place).map(|_| ())
            };
            assert_eq!(run(row.id, row.default_parameters(), row.collective), Ok(()));
            let mut one_more = row.default_parameters();
            one_more.push(1);
            assert!(
                run(row.id, one_more, row.collective)
                    .unwrap_err()
                    .contains("parameters")
            );
            assert!(
                run(row.id, row.default_parameters(), Collective::Alltoall)
                    .unwrap_err()
                    .contains("implements")
            );
            if let Some(parameter) = row.parameters.first().filter(|parameter| parameter.max < u64::MAX) {
                let mut too_large = row.default_parameters();
                too_large[0] = parameter.max + 1;
                assert!(
                    run(row.id, too_large, row.collective)
                        .unwrap_err()
                        .contains(parameter.name)
                );
            }
        }
    }
}
