use super::super::selection::{Guard, SizeRule};
use super::*;

const BASE: &str = r#"{
    "collective=bcast": {
        "comm_type=intra": {
            "comm_size<8": {"algorithm=MPIR_Bcast_intra_binomial": {}},
            "comm_size=any": {"avg_msg_size<=12288": {"algorithm=MPIR_Bcast_intra_binomial": {}},
                              "avg_msg_size=any": {"algorithm=MPIR_Bcast_intra_ring": {}}}
        },
        "comm_type=inter": {"algorithm=MPIR_Bcast_inter": {}}
    },
    "collective=allreduce": {
        "comm_type=intra": {
            "is_commutative=yes": {"algorithm=MPIR_Allreduce_intra_ring": {}},
            "is_commutative=no": {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}}
        }
    },
    "collective=scan": {"is_node_consecutive=yes": {"algorithm=MPIR_Scan_smp": {}}, "is_node_consecutive=no": {"algorithm=MPIR_Scan": {}}}
}"#;

fn base() -> Tree {
    Tree::parse(BASE).unwrap()
}

fn algorithms() -> BTreeSet<String> {
    let names = BASE.split('"').filter_map(|word| word.strip_prefix(ALGORITHM));
    names.chain(["MPIR_Bcast_intra_tree"]).map(str::to_owned).collect()
}

fn lint(tree: &Tree) -> Result<(), LintError> {
    check(tree, &base(), &algorithms())
}

/// The base with rules for every collective, so that all of it is looked at.
fn with_rules() -> Tree {
    let rule = |algorithm: &str, parameters: &[&str], guards: &[Guard]| SizeRule {
        range: (1000, 2000),
        algorithm: algorithm.to_owned(),
        parameters: parameters.iter().map(|text| (*text).to_owned()).collect(),
        guards: guards.to_vec(),
    };
    let commutative = Guard {
        holds: "is_commutative=yes",
        fails: "is_commutative=no",
    };
    let enough = Guard {
        holds: "count=any",
        fails: "count<pow2",
    };
    let size = Some("avg_msg_size");
    base()
        .with_rules(
            "bcast",
            8,
            size,
            &[rule(
                "MPIR_Bcast_intra_tree",
                &["tree_type=kary", "k=2", "is_non_blocking=1"],
                &[],
            )],
        )
        .and_then(|tree| {
            let rule = rule("MPIR_Allreduce_intra_ring", &[], &[commutative, enough]);
            tree.with_rules("allreduce", 8, size, &[rule])
        })
        .and_then(|tree| tree.with_rules("scan", 8, None, &[rule("MPIR_Scan", &[], &[])]))
        .unwrap()
}

#[test]
fn what_kilter_writes_passes() {
    lint(&base()).unwrap();
    lint(&with_rules()).unwrap();
}

#[test]
fn what_the_library_answers_with_an_abort_is_found_with_its_place() {
    let good = with_rules().to_text();
    for (from, to, part) in [
        ("collective=scan", "collective=exscan", "`collective=scan` is missing"),
        (
            "avg_msg_size<=2000",
            "avg_msg_size<=2147483648",
            "not between 0 and 2147483647",
        ),
        ("avg_msg_size<=2000", "avg_msg_size<=2e3", "`2e3` is not between"),
        (
            "avg_msg_size<=2000",
            "avg_msg_sise<=2000",
            "is no test that the library knows",
        ),
        (
            "avg_msg_size<=2000",
            "avg_msg_size=2000",
            "is no test that the library knows",
        ),
        (
            "avg_msg_size<=2000",
            "is_sendbuf_inplace=no",
            "is not defined for bcast",
        ),
        ("avg_msg_size<=2000", "avg_msg_size<=999", "stands there twice"),
        ("avg_msg_size<=999", "comm_size=any", "must be the last"),
        (
            "avg_msg_size=any",
            "avg_msg_size<=4000",
            "a call that does not pass `avg_msg_size<=4000` finds no algorithm",
        ),
        ("\"is_commutative=no\"", "\"is_op_built_in=no\"", "finds no algorithm"),
        ("comm_type=inter", "comm_type=intre", "`comm_type=intre` is no test"),
        (
            "MPIR_Bcast_intra_tree\": {\n",
            "MPIR_Bcast_intra_teer\": {\n",
            "no algorithm `MPIR_Bcast_intra_teer`",
        ),
        // Names that the library does not mention.
        (
            "\"k=2\"",
            "\"chunk_size=2\"",
            "MPIR_Bcast_intra_tree listens to tree_type, k",
        ),
        ("\"k=2\"", "\"k=two\"", "`k=two` is taken for another value"),
        ("tree_type=kary", "tree_type=topology_wave", "allowed: kary"),
        (
            "\"is_non_blocking=1\"",
            "\"topo_overhead=1\"",
            "`is_non_blocking` of MPIR_Bcast_intra_tree is not set",
        ),
        ("\"k=2\"", "\"q=2\"", "`q=2` is no parameter of an algorithm"),
    ] {
        assert!(good.contains(from), "{from} in {good}");
        let error = lint(&Tree::parse(&good.replacen(from, to, 1)).unwrap())
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "`{to}`: {error}");
        assert!(error.starts_with("selection file, at "), "{error}");
    }
}

#[test]
fn an_end_must_be_alone_and_an_object_must_have_one() {
    let scan = |text: &str| {
        let mut tree = base();
        tree.0[2].1 = Tree::parse(text).unwrap();
        lint(&tree).unwrap_err().to_string()
    };
    assert!(scan("{}").contains("the object is empty"));
    assert!(scan(r#"{"comm_size=any": {}}"#).contains("at collective=scan / comm_size=any: the object is empty"));
    let two = r#"{"algorithm=MPIR_Scan": {}, "comm_size=any": {"algorithm=MPIR_Scan": {}}}"#;
    assert!(scan(two).contains("must be alone"));
    // The library ends the program at the first scan.
    let size = r#"{"avg_msg_size<=8": {"algorithm=MPIR_Scan": {}}, "avg_msg_size=any": {"algorithm=MPIR_Scan": {}}}"#;
    assert!(scan(size).contains("`avg_msg_size<=8` is not defined for scan"));
}

#[test]
fn ranks_per_node_are_tested_by_at_most_alone() {
    let scan = |first: &str, last: &str| {
        let mut tree = base();
        let text =
            format!(r#"{{"{first}": {{"algorithm=MPIR_Scan": {{}}}}, "{last}": {{"algorithm=MPIR_Scan": {{}}}}}}"#);
        tree.0[2].1 = Tree::parse(&text).unwrap();
        lint(&tree).map_err(|error| error.to_string())
    };
    scan("comm_avg_ppn<=2", "comm_size=any").unwrap();
    for (first, last) in [
        ("comm_avg_ppn<2", "comm_size=any"),
        ("comm_avg_ppn<=2", "comm_avg_ppn=any"),
    ] {
        let error = scan(first, last).unwrap_err();
        assert!(
            error.contains("`comm_avg_ppn` is tested by `comm_avg_ppn<=N` alone"),
            "{error}"
        );
    }
}
