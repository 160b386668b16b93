//! Parameters of MPICH's algorithms in a selection file, and what the library makes of mistakes in them: nothing is said of any.
//!
//! The entry of an algorithm is memory that is not cleared, into which the parameters of the file are put. So one that is missing is whatever lies there,
//! one that the algorithm does not listen to is passed over, a word in place of a number is 0, and an unknown tree is `kary`.
//!
//! Source: `parse_container_params` in `src/mpi/coll/src/csel_container.c` and `extra_params` in `src/mpi/coll/coll_algorithms.txt`, of 4.0.2, 4.3.2 and
//! 5.0.1, which differ in what they have and agree on what they share.

/// Parameters of every algorithm that has any: its C name, those that it needs, those that it heeds as well.
const HEARD: [(&str, &[&str], &[&str]); 22] = [
    ("MPIR_Allgather_intra_k_brucks", &["k"], &[]),
    (
        "MPIR_Allgather_intra_recexch_doubling",
        &["k", "single_phase_recv"],
        &[],
    ),
    ("MPIR_Allgather_intra_recexch_halving", &["k", "single_phase_recv"], &[]),
    ("MPIR_Allreduce_intra_ccl", &["ccl"], &[]),
    (
        "MPIR_Allreduce_intra_k_reduce_scatter_allgather",
        &["k", "single_phase_recv"],
        &[],
    ),
    ("MPIR_Allreduce_intra_recexch", &["k", "single_phase_recv"], &[]),
    ("MPIR_Allreduce_intra_recursive_multiplying", &["k"], &[]),
    (
        "MPIR_Allreduce_intra_tree",
        &["tree_type", "k", "chunk_size", "buffer_per_child"],
        &TOPOLOGY,
    ),
    ("MPIR_Alltoall_intra_k_brucks", &["k"], &[]),
    ("MPIR_Barrier_intra_k_dissemination", &["k"], &[]),
    ("MPIR_Barrier_intra_recexch", &["k", "single_phase_recv"], &[]),
    (
        "MPIR_Bcast_intra_pipelined_tree",
        &["tree_type", "k", "is_non_blocking", "chunk_size", "recv_pre_posted"],
        &[],
    ),
    (
        "MPIR_Bcast_intra_tree",
        &["tree_type", "k", "is_non_blocking"],
        &TOPOLOGY,
    ),
    ("MPIR_Iallreduce_intra_tsp_recexch_multiple_buffer", &["k"], &[]),
    (
        "MPIR_Iallreduce_intra_tsp_recexch_reduce_scatter_recexch_allgatherv",
        &["k"],
        &[],
    ),
    ("MPIR_Iallreduce_intra_tsp_recexch_single_buffer", &["k"], &[]),
    (
        "MPIR_Iallreduce_intra_tsp_tree",
        &["tree_type", "k", "chunk_size", "buffer_per_child"],
        &[],
    ),
    ("MPIR_Ibcast_intra_tsp_ring", &["chunk_size"], &[]),
    (
        "MPIR_Ibcast_intra_tsp_scatterv_recexch_allgatherv",
        &["scatterv_k", "allgatherv_k"],
        &[],
    ),
    ("MPIR_Ibcast_intra_tsp_tree", &["tree_type", "k", "chunk_size"], &[]),
    ("MPIR_Ireduce_intra_tsp_ring", &["chunk_size", "buffer_per_child"], &[]),
    (
        "MPIR_Ireduce_intra_tsp_tree",
        &["tree_type", "k", "chunk_size", "buffer_per_child"],
        &TOPOLOGY,
    ),
];

/// Parameters of trees that follow the network, which no file can choose.
const TOPOLOGY: [&str; 4] = [
    "topo_overhead",
    "topo_diff_groups",
    "topo_diff_switches",
    "topo_same_switches",
];

/// Parameters that an algorithm needs and the reader of files does not know.
const UNSETTABLE: [(&str, &str); 1] = [("MPIR_Barrier_intra_recexch", "single_phase_recv")];

/// Words of parameters that are no numbers.
const WORDS: [(&str, &[&str]); 2] = [
    ("tree_type", &["kary", "knomial_1", "knomial_2"]),
    ("ccl", &["auto", "nccl", "rccl"]),
];

/// A mistake that the library does not mention.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Silent {
    /// The algorithm does not listen to the parameter.
    #[error("`{parameter}` is passed over without a word: {algorithm} listens to {heard}")]
    Unheard {
        /// Name of the parameter.
        parameter: String,
        /// C name of the algorithm.
        algorithm: String,
        /// Its parameters.
        heard: String,
    },
    /// A parameter is missing.
    #[error("`{parameter}` of {algorithm} is not set, and the library takes for it whatever lies in memory; give it")]
    Unset {
        /// Name of the parameter.
        parameter: String,
        /// C name of the algorithm.
        algorithm: String,
    },
    /// No file can set a parameter.
    #[error(
        "no file can set `{parameter}` of {algorithm}, for which the library takes whatever lies in memory; name another algorithm"
    )]
    Unsettable {
        /// Name of the parameter.
        parameter: String,
        /// C name of the algorithm.
        algorithm: String,
    },
    /// A value is none.
    #[error("`{parameter}={value}` is taken for another value without a word; allowed: {allowed}")]
    Value {
        /// Name of the parameter.
        parameter: String,
        /// Its value.
        value: String,
        /// Values that it may have.
        allowed: String,
    },
}

/// Checks the parameters of an algorithm, as names and values. Of an algorithm that is not described here only the values are looked at: a
/// later release may have it.
///
/// # Errors
/// The first thing that the library would take otherwise than it is written.
pub fn check(algorithm: &str, parameters: &[(&str, &str)]) -> Result<(), Silent> {
    for (name, value) in parameters {
        let words = WORDS.iter().find(|(other, _)| other == name).map(|(_, words)| *words);
        let is_value = match words {
            Some(words) => words.contains(value),
            None => !value.is_empty() && value.len() < 10 && value.bytes().all(|byte| byte.is_ascii_digit()),
        };
        if !is_value {
            return Err(Silent::Value {
                parameter: (*name).to_owned(),
                value: (*value).to_owned(),
                allowed: words.map_or_else(|| "a number of up to nine digits".to_owned(), |words| words.join(", ")),
            });
        }
    }
    if let Some((_, parameter)) = UNSETTABLE.iter().find(|(name, _)| *name == algorithm) {
        return Err(Silent::Unsettable {
            parameter: (*parameter).to_owned(),
            algorithm: algorithm.to_owned(),
        });
    }
    let Some((_, needs, heeds)) = HEARD.iter().find(|(name, _, _)| *name == algorithm) else {
        return match parameters.first() {
            Some((parameter, _)) => Err(Silent::Unheard {
                parameter: (*parameter).to_owned(),
                algorithm: algorithm.to_owned(),
                heard: "none".to_owned(),
            }),
            None => Ok(()),
        };
    };
    if let Some((name, _)) = parameters
        .iter()
        .find(|(name, _)| !needs.contains(name) && !heeds.contains(name))
    {
        return Err(Silent::Unheard {
            parameter: (*name).to_owned(),
            algorithm: algorithm.to_owned(),
            heard: [*needs, *heeds].concat().join(", "),
        });
    }
    let is_set = |needed: &&&str| parameters.iter().any(|(name, _)| name == *needed);
    match needs.iter().find(|needed| !is_set(needed)) {
        Some(parameter) => Err(Silent::Unset {
            parameter: (*parameter).to_owned(),
            algorithm: algorithm.to_owned(),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use kilter_model::config::library;

    use super::*;

    #[test]
    fn what_the_library_takes_otherwise_is_named() {
        let said = |algorithm: &str, parameters: &[(&str, &str)]| {
            check(algorithm, parameters)
                .err()
                .map_or_else(String::new, |error| error.to_string())
        };
        let tree = [("tree_type", "knomial_1"), ("k", "2"), ("is_non_blocking", "1")];
        assert_eq!(said("MPIR_Bcast_intra_tree", &tree), "");
        assert_eq!(said("MPIR_Bcast_intra_binomial", &[]), "");
        for (algorithm, parameters, part) in [
            (
                "MPIR_Bcast_intra_binomial",
                &[("k", "2")][..],
                "`k` is passed over without a word: MPIR_Bcast_intra_binomial listens to none",
            ),
            (
                "MPIR_Bcast_intra_tree",
                &tree[1..],
                "`tree_type` of MPIR_Bcast_intra_tree is not set",
            ),
            (
                "MPIR_Allgather_intra_k_brucks",
                &[("k", "2"), ("single_phase_recv", "0")],
                "listens to k",
            ),
            (
                "MPIR_Allgather_intra_k_brucks",
                &[("k", "two")],
                "`k=two` is taken for another value without a word; allowed: a number",
            ),
            (
                "MPIR_Bcast_intra_tree",
                &[("tree_type", "topology_wave")],
                "allowed: kary, knomial_1, knomial_2",
            ),
            (
                "MPIR_Barrier_intra_recexch",
                &[("k", "2")],
                "no file can set `single_phase_recv`",
            ),
        ] {
            let said = said(algorithm, parameters);
            assert!(said.contains(part), "{algorithm}: {said}");
        }
    }

    /// The descriptions give every algorithm what it needs, and nothing that it would pass over.
    #[test]
    fn descriptions_give_what_their_algorithms_listen_to() {
        let mut seen = 0;
        for library in library::load_embedded().unwrap() {
            if library.emitter.as_deref() != Some("mpich") {
                continue;
            }
            for row in &library.algorithms {
                let mut operation = row.collective.name().to_owned();
                operation[..1].make_ascii_uppercase();
                for choice in &row.choices {
                    let parameters: Vec<(&str, &str)> = choice
                        .selection
                        .iter()
                        .map(|text| text.split_once('=').unwrap())
                        .collect();
                    let name = format!("MPIR_{operation}_intra_{}", choice.name);
                    check(&name, &parameters).unwrap_or_else(|error| panic!("{}: {error}", library.id));
                    seen += usize::from(!parameters.is_empty());
                }
            }
        }
        assert!(seen > 10, "{seen}");
    }
}
