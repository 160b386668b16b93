//! Calls that combine data, in a proof also with elements of another type than the measured one. Libraries and rows combine doubles and bytes by other
//! kernels: what is faster for the one may be slower for the other, and no rule asks for the type.

use std::collections::BTreeSet;

use kilter_bench::launch::session::BlockOutcome;
use kilter_model::options::Options;
use kilter_model::plan::{self, Subject};
use kilter_protocol::plan::{Among, Block, Element, Implementation, Item, Operand, Root};

use super::launches::Timed;

/// The other type; `None` where the one that was asked for is the only one, and where times are exact.
#[must_use]
pub fn other_type(options: &Options) -> Option<Operand> {
    (options.element == Element::Double && !options.is_exact()).then(|| Element::Byte.into())
}

/// For each of `blocks` with calls among `wanted` that combine data, a block of these on all ranks with this type.
pub(super) fn blocks(
    blocks: &[Block],
    wanted: &BTreeSet<Subject>,
    (options, operand): (&Options, Operand),
) -> Vec<Block> {
    let root = match options.root {
        Root::Fixed(rank) => u32::try_from(rank).unwrap_or(0),
        _ => 0,
    };
    let members: Vec<u32> = (0..).take(options.ranks).collect();
    let with_type = |item: &Item| Item {
        id: id(&item.id, operand),
        implementation: Implementation::Among(Box::new(Among {
            members: members.clone(),
            root,
            blocks: None,
            operand: Some(operand),
            implementation: item.implementation.clone(),
        })),
        ..item.clone()
    };
    let is_wanted = |item: &&Item| {
        let combines = item.task.functionality.has_operator();
        combines && Subject::of(item).is_some_and(|subject| subject.collective().is_some() && wanted.contains(&subject))
    };
    let of = |block: &Block| {
        let items: Vec<Item> = block.items.iter().filter(is_wanted).map(with_type).collect();
        let id = id(&block.id, operand);
        (!items.is_empty()).then(|| Block {
            seed: plan::derived_seed(block.seed, &id),
            repetitions: block.repetitions,
            items,
            id,
        })
    };
    blocks.iter().filter_map(of).collect()
}

/// Id of a call or a block with elements of another type.
#[must_use]
pub fn id(of: &str, operand: Operand) -> String {
    format!("{of} of {}", operand.element.mpi_name())
}

/// The type that an [id](id()) names; `None` for an id of a call with the usual one.
#[must_use]
pub fn type_in(of: &str) -> Option<Element> {
    let is_named = |one: &Element| of.ends_with(&id("", (*one).into()));
    Element::ALL.into_iter().find(is_named)
}

/// Adds the medians of a launch.
pub(super) fn collect(timed: &mut Timed, launch: usize, blocks: &[Block], outcomes: &[BlockOutcome]) {
    for (block, outcome) in blocks.iter().zip(outcomes) {
        for item in &block.items {
            let Implementation::Among(among) = &item.implementation else {
                continue;
            };
            let inner = Item {
                implementation: among.implementation.clone(),
                ..item.clone()
            };
            if let (Some(subject), Some(median)) = (Subject::of(&inner), outcome.median(&item.id)) {
                timed.insert(subject, launch, median);
            }
        }
    }
}
