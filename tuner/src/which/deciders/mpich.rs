//! MPICH's selection file, which replaces the library's own selection and is asked where no parameter names an algorithm.

use kilter_emit::selection::{ALGORITHM, Call, Tree};
use kilter_search::proof::Forced;
use kilter_search::target::Target;
use kilter_which::answer::Decision;
use kilter_which::decide::Decider;
use kilter_which::lines;

use super::Known;

/// Variable that names the file. The library reports the default of texts whatever they are, so that the environment counts.
const FILE: &str = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE";

/// The rule for a call, if a file has one.
pub(super) fn rule(known: &Known<'_>, target: &Target, forced: &[Forced]) -> Option<Decider> {
    let set = known
        .places
        .set(FILE)
        .filter(|_| known.library.launcher.variable.is_empty())?;
    let file = set.value;
    let text = std::fs::read_to_string(&file);
    let tree = text.as_ref().ok().and_then(|text| Tree::parse(text).ok());
    let (Ok(text), Some(tree)) = (text, tree) else {
        return Some(Decider {
            decision: Decision::Rule {
                place: format!("`{file}`"),
                rule: "any".to_owned(),
            },
            asks: None,
            inactive: Some("it cannot be read as JSON".to_owned()),
        });
    };
    let ranks = known.ranks as u64;
    let (bytes, has_blocks) = (target.bytes(), target.collective()?.has_blocks());
    let call = Call {
        collective: &target.function,
        ranks,
        nodes: known.hosts as u64,
        avg_msg_size: if has_blocks { bytes / ranks.max(1) } else { bytes },
        total_msg_size: bytes,
        count: if has_blocks { bytes / ranks.max(1) } else { bytes },
        parent: known.hosts > 1 || ranks > 1,
        // The calls are on bytes of one block, under an operator that commutes, and every rank has as much as the others.
        is: &|test| {
            matches!(
                test,
                "is_commutative" | "is_op_built_in" | "is_block_regular" | "is_node_consecutive"
            )
        },
    };
    let (end, _) = tree.lookup(&call)?;
    let algorithm = end.strip_prefix(ALGORITHM)?;
    let line = lines::nested(&text, &[format!("collective={}", target.function), end.clone()]);
    Some(Decider {
        decision: Decision::Rule {
            place: line.map_or_else(|| format!("`{file}`"), |line| format!("{file}:{line}")),
            rule: end.clone(),
        },
        asks: forced
            .iter()
            .position(|one| algorithm.ends_with(&format!("_{}", one.name))),
        inactive: None,
    })
}
