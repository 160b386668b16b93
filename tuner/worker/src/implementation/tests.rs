use kilter_algorithms::registry;
use kilter_protocol::plan::Element;

use super::*;

fn item(collective: Collective, bytes: u64, text: &str) -> Item {
    let implementation = Implementation::Expression { text: text.to_owned() };
    Item {
        id: "a".to_owned(),
        task: collective.into(),
        bytes,
        implementation,
        settings: Vec::new(),
        arrival: None,
        deployed: Vec::new(),
    }
}

fn of(collective: Collective, bytes: u64, text: &str) -> Result<Recipe, Reason> {
    recipe(
        &item(collective, bytes, text),
        Place {
            rank: 1,
            p_ranks: 3,
            one_node: true,
            root: 0,
            operand: Element::Byte.into(),
        },
    )
}

#[test]
fn plain_calls_are_the_library_or_a_mockup() {
    let recipe = of(Collective::Reduce, 30, "reduce(n)").unwrap();
    assert!(matches!(
        recipe.parts[..],
        [Part {
            how: How::Library(_),
            repeat: 1,
            ..
        }]
    ));
    let recipe = of(Collective::Reduce, 30, "reduce_scatter_block(n) + gather(n)").unwrap();
    assert!(matches!(
        recipe.parts[..],
        [Part {
            how: How::Row(_),
            repeat: 1,
            ..
        }]
    ));
    assert_eq!(recipe.problems.len(), 1);
    // No row of the drop-in's has these calls.
    let recipe = of(Collective::Reduce, 30, "allreduce(n) + bcast(n)").unwrap();
    assert!(matches!(
        recipe.parts[..],
        [Part {
            how: How::Composition(_),
            ..
        }]
    ));
}

#[test]
fn repeated_calls_take_successive_slices() {
    let recipe = of(Collective::Allreduce, 64, "8 * allreduce(n/4)").unwrap();
    assert!(matches!(
        recipe.parts[..],
        [Part {
            how: How::Library(_),
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
fn calls_on_the_items_own_volume_are_the_parts_of_a_larger_whole() {
    let recipe = of(Collective::Scan, 64, "4 * scan(n)").unwrap();
    let parts: Vec<_> = recipe.parts.iter().map(|part| (part.repeat, part.slices)).collect();
    assert_eq!(parts, [(4, 4)]);
    let slices: Vec<_> = recipe
        .problems
        .iter()
        .map(|problem| (problem.n_bytes, problem.slice))
        .collect();
    assert_eq!(slices, [(64, 0), (64, 1), (64, 2), (64, 3)]);
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
            "reduce_scatter_block(n) + allgather(n)",
            "31 bytes cannot be divided into 3 blocks",
        ),
        (
            Collective::Bcast,
            30,
            "4 * bcast(n/4)",
            "`n/4` is no whole number for n = 30",
        ),
        (Collective::Bcast, 30, "k * bcast(n/k)", "has a `k`"),
        (Collective::Bcast, 1 << 32, "bcast(n)", "more than an MPI count holds"),
        (Collective::Bcast, 30, "reduce(n)", "no local copy converts that"),
        (Collective::Bcast, 30, "k * A(n/k)", "has a `k`"),
        (Collective::Bcast, 30, "A(n)", "has an `A`"),
        (
            Collective::Bcast,
            31,
            "gather(n, inplace)",
            "31 bytes cannot be divided into 3 blocks",
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
        let error = of(collective, bytes, text).unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

#[test]
fn a_pair_stands_for_two_ranks_and_the_others_do_nothing() {
    let of = |rank: usize, text: &str| {
        let task = Task::plain(Functionality::Transfer);
        let item = Item {
            task,
            ..item(Collective::Bcast, 64, text)
        };
        let place = Place {
            rank,
            p_ranks: 4,
            one_node: true,
            root: 3,
            operand: Element::Byte.into(),
        };
        recipe(&item, place).map(|recipe| {
            let problem = &recipe.problems[0];
            (problem.rank, problem.send_bytes(), problem.recv_bytes())
        })
    };
    let text = "4 * isend(n/4){pair:2:1} + wait + pingpong(1){pair:2:1}";
    assert_eq!(
        [0, 1, 2, 3].map(|rank| of(rank, text).unwrap()),
        [(2, 0, 0), (1, 0, 64), (0, 64, 0), (2, 0, 0)]
    );
    let error = of(0, "pingpong(n){pair:0:4}").unwrap_err().to_string();
    assert!(error.contains("there is no rank 4 among 4"), "{error}");
}

#[test]
fn algorithms_are_checked_before_they_run() {
    let place = Place {
        rank: 0,
        p_ranks: 2,
        one_node: true,
        root: 0,
        operand: Element::Byte.into(),
    };
    let another = |collective| match collective {
        Collective::Alltoall => Collective::Scan,
        _ => Collective::Alltoall,
    };
    for row in registry::algorithms() {
        let mut wanted = item(row.collective, 64, "");
        let mut run = |id: &str, parameters: Vec<u64>, collective| {
            wanted.task = Task::from(collective);
            wanted.implementation = Implementation::Algorithm {
                id: id.to_owned(),
                parameters,
            };
            recipe(&wanted, place).map(|_| ()).map_err(|reason| reason.to_string())
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
            run(row.id, row.default_parameters(), another(row.collective))
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
