use super::*;
use crate::config::guideline::load_embedded;

fn plan(ids: &[&str], functions: &[&str], sizes: &[u64], place: Place) -> Plan {
    let all = load_embedded().unwrap();
    let chosen: Vec<Guideline> = all.into_iter().filter(|g| ids.contains(&g.id.as_str())).collect();
    assert_eq!(chosen.len(), ids.len());
    let functions: Vec<String> = functions.iter().map(|name| (*name).to_owned()).collect();
    Plan::new(&chosen, &functions, sizes, place)
}

fn cells(plan: &Plan) -> Vec<(String, u64, u64)> {
    let cell = |cell: &PlannedCell| (cell.expression.clone(), cell.bytes, cell.left.bytes);
    plan.cells.iter().map(cell).collect()
}

/// PGMPI's script skips monotony and split-robustness of functions without a pattern.
#[test]
fn a_function_without_a_pattern_has_its_monotony_and_splits_judged() {
    let plan = plan(&["GL1", "GL2", "GL8"], &["scan"], &[8, 64], Place::on_one_node(2));
    assert!(plan.cells.is_empty());
    assert_eq!(plan.monotony_functions, [("GL1".to_owned(), Collective::Scan)]);
    assert_eq!(plan.split_functions, [("GL2".to_owned(), Collective::Scan)]);
    assert_eq!(plan.subjects().len(), 2);
}

#[test]
fn both_sides_move_the_same_rounded_volume_and_the_cell_keeps_the_exact_size() {
    let place = Place {
        element_bytes: 8,
        ..Place::on_one_node(3)
    };
    let volumes = |guideline: &str| -> Vec<(u64, u64)> {
        let plan = plan(&[guideline], &[], &[1, 8, 24, 25], place);
        assert!(plan.cells.iter().all(|cell| cell.left.bytes == cell.right.bytes));
        plan.cells.iter().map(|cell| (cell.bytes, cell.left.bytes)).collect()
    };
    // Whole blocks, and whole elements where these are combined.
    assert_eq!(volumes("GL3"), [(1, 3), (8, 9), (24, 24), (25, 27)]);
    assert_eq!(volumes("GL8"), [(8, 8), (24, 24), (25, 32)]);
}

#[test]
fn similar_sides_are_two_cells_named_after_their_own_left_side() {
    let plan = plan(&["NB1"], &["ibcast", "bcast"], &[64], Place::on_one_node(2));
    let found: Vec<(String, String)> = plan
        .cells
        .iter()
        .map(|cell| (cell.function.clone(), cell.expression.clone()))
        .collect();
    let both = [
        ("ibcast", "ibcast(n) + wait <= bcast(n)"),
        ("bcast", "bcast(n) <= ibcast(n) + wait"),
    ];
    assert_eq!(found, both.map(|(a, b)| (a.to_owned(), b.to_owned())));
}

#[test]
fn blocks_by_hand_need_more_than_one_block() {
    let plan = plan(&["TGT02"], &["bcast"], &[8, 1024, 4096], Place::on_one_node(2));
    let expression = "bcast(n) <= n/512/p * bcast(512*p)".to_owned();
    // 8 bytes round up to one block, which divides nothing.
    assert_eq!(cells(&plan), [(expression, 4096, 4096)]);
}

#[test]
fn what_needs_more_ranks_or_nodes_is_left_out_with_the_reason() {
    let ids = ["TGT37", "TGT38_BCAST_NODE", "TGT38_BCAST_PART"];
    let alone = plan(&ids, &[], &[64], Place::on_one_node(2));
    assert!(alone.cells.is_empty());
    assert_eq!(alone.left_out["TGT37"], "it needs 4 ranks or more");
    assert_eq!(alone.left_out["TGT38_BCAST_NODE"], "it needs ranks on several nodes");
    let cluster = Place {
        several_nodes: true,
        ..Place::on_one_node(8)
    };
    let cluster = plan(&ids, &[], &[64], cluster);
    assert!(cluster.left_out.is_empty());
    assert_eq!(cluster.cells.len(), 3);
}

#[test]
fn lanes_of_nodes_with_one_rank_each_are_left_out() {
    let left_out = |each_alone| {
        let place = Place {
            several_nodes: true,
            each_alone,
            ..Place::on_one_node(8)
        };
        plan(&["TGT39_BCAST", "TGT38_BCAST_NODE"], &[], &[64], place).left_out
    };
    assert!(left_out(false).is_empty());
    let alone = left_out(true);
    assert_eq!(alone["TGT39_BCAST"], "it needs several ranks on each node");
    assert_eq!(alone.len(), 1);
}

#[test]
fn a_mix_keeps_its_functions_at_its_sizes_and_counts_its_calls() {
    let text = r#"
        [[call]]
        function = "reduce"
        bytes = 1001
        calls = 10
        [[call]]
        function = "reduce"
        bytes = 1002
        calls = 5
        [[call]]
        function = "bcast"
        bytes = "4KiB"
        ranks = 16
    "#;
    let mix = crate::config::mix::Mix::parse(text, "mix.toml").unwrap();
    let all = load_embedded().unwrap();
    let scope = Scope {
        functions: &[],
        sizes: &[8, 64],
        mix: Some(&mix),
        ranks: 2,
        nodes: None,
    };
    let plan = Plan::within(&all, &scope, Place::on_one_node(2));
    assert!(!plan.cells.is_empty());
    assert!(
        plan.cells
            .iter()
            .all(|cell| cell.function == "reduce" && (1001..=1002).contains(&cell.left.bytes))
    );
    assert_eq!(
        plan.volumes,
        BTreeMap::from([(Collective::Reduce, BTreeSet::from([1001, 1002]))])
    );
    // A guideline with two blocks on one side measures both sizes at 1002.
    let calls = |bytes| {
        let calls = &plan.calls[&Subject::library(Collective::Reduce, bytes)].calls;
        let counts = calls.iter().map(|(bytes, made)| (*bytes, made.count));
        counts.collect::<BTreeMap<u64, f64>>()
    };
    assert_eq!(calls(1001), BTreeMap::from([(1001, 10.0)]));
    assert_eq!(calls(1002), BTreeMap::from([(1001, 10.0), (1002, 5.0)]));
    assert_eq!(plan.calls_of(&Subject::library(Collective::Reduce, 1001)), 10.0);
    assert_eq!(plan.calls_of(&Subject::library(Collective::Bcast, 4096)), 0.0);
    assert_eq!(
        Plan::default().calls_of(&Subject::library(Collective::Bcast, 4096)),
        1.0
    );
}

#[test]
fn without_a_volume_there_is_one_cell() {
    let plan = plan(&["BA1"], &[], &[8, 64], Place::on_one_node(2));
    assert_eq!(cells(&plan), [("barrier <= allreduce(8)".to_owned(), 0, 0)]);
}
