use kilter_algorithms::Collective;
use proptest::prelude::*;

use super::*;
use crate::expression::{Attributes, Call, Communicator, Counts, Factor, Form, Layout, Single};

fn plain(collective: Collective) -> Term {
    Term {
        repeat: Quantity::one(),
        call: Call::plain(collective),
    }
}

fn quantity(times: &[Factor], over: &[Factor]) -> Quantity {
    Quantity {
        times: times.to_vec(),
        over: over.to_vec(),
    }
}

#[test]
fn reads_plain_calls() {
    let guideline: Guideline = "allreduce(n) <= reduce_scatter_block(n)+allgather ( n )"
        .parse()
        .unwrap();
    assert_eq!(guideline.left, Side::of(Collective::Allreduce));
    assert_eq!(guideline.relation, Relation::AtMost);
    assert_eq!(
        guideline.right.plain_calls(),
        Some(vec![Collective::ReduceScatterBlock, Collective::Allgather])
    );
    let own: Guideline = "scan(n) <= p2p.recursive_doubling(n)".parse().unwrap();
    assert_eq!(
        own.right.terms[0].call.operation,
        Operation::PointToPoint("recursive_doubling".to_owned())
    );
    let spread: Side = "\n 2*bcast( n / 4 )\t+ scan(n) ".parse().unwrap();
    let quarter = Call {
        size: Some(quantity(&[Factor::N], &[Factor::Literal(4)])),
        ..Call::plain(Collective::Bcast)
    };
    assert_eq!(
        spread.terms,
        [
            Term {
                repeat: Quantity::literal(2),
                call: quarter
            },
            plain(Collective::Scan)
        ]
    );
}

#[test]
fn reads_repeats_and_sizes_in_n_p_q_and_k() {
    let split: Side = "k * bcast(n/k)".parse().unwrap();
    assert!(split.mentions_k());
    assert_eq!(split.with_k(3).to_string(), "3 * bcast(n/3)");
    let blocks: Side = "n/k * A(k)".parse().unwrap();
    assert_eq!(blocks.terms[0].repeat, quantity(&[Factor::N], &[Factor::K]));
    let filled = blocks.with_k(1024).with_function(Collective::Reduce);
    assert_eq!(filled.to_string(), "n/1024 * reduce(1024)");
    let epoch: Side = "win_fence + p * get(n/p) + win_fence".parse().unwrap();
    assert_eq!(epoch.terms[1].repeat, quantity(&[Factor::P], &[]));
    let share: Side = "gather(n*q/p){node}".parse().unwrap();
    assert_eq!(
        share.terms[0].call.size,
        Some(quantity(&[Factor::N, Factor::Q], &[Factor::P]))
    );
    assert_eq!(share.terms[0].call.on, Communicator::Node);
}

#[test]
fn reads_forms_attributes_and_communicators() {
    let both: Guideline = "iA(n) + wait ~ A(n)".parse().unwrap();
    assert_eq!(both.relation, Relation::Similar);
    assert_eq!(both.orderings().len(), 2);
    assert_eq!(
        both.left.terms[0].call.operation,
        Operation::Collective(None, Form::Nonblocking)
    );
    let started: Side = "start_allreduce(n) + wait".parse().unwrap();
    assert_eq!(
        started.terms[0].call.operation,
        Operation::Collective(Some(Collective::Allreduce), Form::Persistent)
    );
    let typed: Side = "gatherv(n, counts=triangle, type=vector) + unpack(n, recvtype=struct)"
        .parse()
        .unwrap();
    let [first, second] = &typed.terms[..] else { panic!() };
    assert_eq!(first.call.attributes.counts, Counts::Triangle);
    assert_eq!(
        (first.call.attributes.sendtype, first.call.attributes.recvtype),
        (Layout::Vector, Layout::Vector)
    );
    assert_eq!(
        (second.call.attributes.sendtype, second.call.attributes.recvtype),
        (Layout::Contiguous, Layout::Struct)
    );
    let parts: Side = "barrier{part:2} + barrier{leaders}".parse().unwrap();
    assert_eq!(parts.terms[0].call.on, Communicator::Part(2));
    assert_eq!(parts.to_string(), "barrier{part:2} + barrier{leaders}");
    let lanes: Side = "allgather(n*q/p){ lane } + allgather(n){node}".parse().unwrap();
    assert_eq!(lanes.terms[0].call.on, Communicator::Lane);
    assert_eq!(lanes.to_string(), "allgather(n*q/p){lane} + allgather(n){node}");
    let pair: Side = "4 * isend(n/4){pair:0:3} + wait + pingpong(1){ pair : 0 : 3 }"
        .parse()
        .unwrap();
    assert_eq!(pair.terms[0].call.on, Communicator::Pair(0, 3));
    assert_eq!(
        pair.to_string(),
        "4 * isend(n/4){pair:0:3} + wait + pingpong(1){pair:0:3}"
    );
    let user: Side = "reduce(n, op=user)".parse().unwrap();
    assert!(user.terms[0].call.attributes.user_operator);
}

/// The whole message, so that a change of any part of it is seen.
#[test]
fn shows_where_it_is_wrong_and_what_is_allowed() {
    let error = "gather(n) <= gather(n){socket}".parse::<Guideline>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "guideline expression, column 24: `socket` instead of a communicator\n  gather(n) <= gather(n){socket}\n                         ^\n  \
         allowed here: node, part:N, pair:A:B, leaders, lane, permuted, reversed, grid, grid_reordered"
    );
}

#[test]
fn a_caret_stands_under_its_character() {
    let error = "bcast(n) <=\u{e9}\nscan(n)".parse::<Guideline>().unwrap_err();
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[1].chars().nth(lines[2].chars().count() - 1),
        Some('\u{e9}'),
        "{text}"
    );
}

#[test]
fn refuses_with_position_and_reason() {
    for (text, column, message) in [
        ("", 1, "the end instead of a call"),
        ("bcast(n)", 9, "the end instead of `<=`"),
        ("bcast(n) <=", 12, "the end instead of a call"),
        ("bcast(n) <= scan(n) <= scan(n)", 21, "`<` after the last call"),
        ("bcast(n) < scan(n)", 10, "`<` instead of `<=`"),
        ("bcast(n) <= MPI_Scan(n)", 13, "`MPI_Scan` is no call"),
        ("bcast(n) <= ibcst(n)", 13, "`ibcst` is no call"),
        ("bcast(n) <= k scan(n)", 15, "`scan` instead of `*`"),
        ("bcast(n) <= k(n)", 14, "`(` instead of `*`"),
        ("bcast(n) <= 3 scan(n)", 15, "`scan` instead of `*`"),
        ("bcast(n) <= 3/ scan(n)", 16, "`scan` instead of a divisor"),
        ("bcast(n) <= 0 * scan(n)", 13, "0 is too small"),
        ("bcast(n) <= scan(n/0)", 20, "0 is too small"),
        ("bcast(n) <= 18446744073709551616 * scan(n)", 13, "is too large"),
        ("bcast(n) <= scan", 17, "the end instead of the size of scan"),
        ("bcast(n) <= scan(n", 19, "the end in the parentheses"),
        ("bcast(n) <= scan(n+k)", 19, "`+` in the parentheses"),
        ("bcast(n) <= scan(n/", 20, "the end instead of a divisor"),
        ("bcast(n) <= scan(n) +", 22, "the end instead of a call"),
        ("bcast(n) <= scan(n) scan(n)", 21, "`scan` after the last call"),
        ("bcast(n) <= p2p(n)", 16, "`(` after `p2p`"),
        ("bcast(n) <= p2p.(n)", 17, "`(` instead of the name of a schedule"),
        ("bcast(n) <= p2p.9(n)", 17, "`9` instead of the name of a schedule"),
        ("p2p.ring(n) <= bcast(n)", 1, "`p2p` on the left side"),
        (
            "bcast(n) + scan(n) <= p2p.ring(n)",
            23,
            "`p2p` needs one plain collective",
        ),
        ("bcast(m) <= scan(n)", 7, "`m` instead of a size"),
        ("bcast(n, fast) <= scan(n)", 10, "`fast` instead of an attribute"),
        ("bcast(n, type=tensor) <= scan(n)", 15, "`tensor` instead of a layout"),
        ("bcast(n, counts) <= scan(n)", 16, "`)` instead of `=`"),
        ("bcast(n, counts=all) <= scan(n)", 17, "`all` instead of counts"),
        ("reduce(n, op=sum) <= scan(n)", 14, "`sum` instead of an operator"),
        ("isend(n) + wait(n) <= send(n)", 16, "`wait` has no size"),
        ("barrier(8) <= scan(n)", 8, "`barrier` has no size"),
        ("send(n){node} <= ssend(n)", 8, "`send` is made on all ranks"),
        ("bcast(n){part} <= scan(n)", 14, "`}` instead of `:`"),
        (
            "bcast(n){part:two} <= scan(n)",
            15,
            "`two` instead of a number of ranks",
        ),
        ("bcast(n){node <= scan(n)", 15, "`<` instead of `}`"),
    ] {
        let error = text.parse::<Guideline>().unwrap_err();
        assert!(error.message.contains(message), "{text}: {error}");
        assert_eq!(error.column(), column, "{text}: {error}");
        assert!(!error.allowed.is_empty(), "{text}: {error}");
    }
    let error = "bcast(n) <= scan(n)".parse::<Side>().unwrap_err();
    assert_eq!(
        (error.column(), error.message.as_str()),
        (10, "one side was expected, this is a whole guideline")
    );
}

#[test]
fn the_volume_is_rounded_to_what_every_call_needs() {
    for (text, ranks, element, unit) in [
        ("bcast(n)", 3, 1, 1),
        ("bcast(n)", 3, 8, 8),
        ("gather(n)", 3, 4, 12),
        ("2 * gather(n/2)", 3, 1, 6),
        ("gather(n*q/p){node} + gatherv(n){leaders}", 6, 1, 6),
        ("scatter(4*p) + bcast(n)", 5, 1, 1),
        ("pack(n, sendtype=vector) + bcast(n)", 5, 4, 64),
        ("gather(n, sendtype=vector)", 3, 8, 192),
        ("n/1024 * bcast(1024)", 3, 1, 1024),
    ] {
        assert_eq!(text.parse::<Side>().unwrap().unit_bytes(ranks, element), unit, "{text}");
    }
}

fn factors() -> impl Strategy<Value = Vec<Factor>> {
    let factor = prop_oneof![
        Just(Factor::N),
        Just(Factor::P),
        Just(Factor::Q),
        Just(Factor::K),
        (1..=u64::MAX).prop_map(Factor::Literal),
    ];
    proptest::collection::vec(factor, 0..3)
}

fn any_quantity() -> impl Strategy<Value = Quantity> {
    (factors(), factors()).prop_map(|(mut times, over)| {
        if times.is_empty() {
            times.push(Factor::Literal(1));
        }
        Quantity { times, over }
    })
}

fn any_attributes() -> impl Strategy<Value = Attributes> {
    (
        any::<(bool, bool, bool)>(),
        proptest::sample::select(Counts::ALL),
        proptest::sample::select(Layout::ALL),
        proptest::sample::select(Layout::ALL),
    )
        .prop_map(
            |((in_place, posted, user_operator), counts, sendtype, recvtype)| Attributes {
                in_place,
                posted,
                user_operator,
                counts,
                sendtype,
                recvtype,
            },
        )
}

fn any_call() -> impl Strategy<Value = Call> {
    let functions: Vec<Option<Collective>> = Collective::ALL.iter().copied().map(Some).chain([None]).collect();
    let forms = vec![Form::Blocking, Form::Nonblocking, Form::Persistent];
    let collective = (proptest::sample::select(functions), proptest::sample::select(forms))
        .prop_map(|(function, form)| Operation::Collective(function, form));
    let single = proptest::sample::select(Single::ALL).prop_map(Operation::Single);
    let own = "[a-z][a-z0-9_]{0,8}".prop_map(Operation::PointToPoint);
    let on = prop_oneof![
        Just(Communicator::World),
        Just(Communicator::Leaders),
        Just(Communicator::GridReordered),
        (1..=u64::MAX).prop_map(Communicator::Part),
    ];
    (
        prop_oneof![collective, single, own],
        any_quantity(),
        any_attributes(),
        on,
    )
        .prop_map(|(operation, size, attributes, on)| {
            let sized = match &operation {
                Operation::Single(single) => single.has_size(),
                Operation::Collective(function, _) => *function != Some(Collective::Barrier),
                Operation::PointToPoint(_) => true,
            };
            let grouped = matches!(operation, Operation::Collective(..));
            Call {
                operation,
                size: sized.then_some(size),
                attributes: if sized { attributes } else { Attributes::default() },
                on: if grouped { on } else { Communicator::World },
            }
        })
}

fn any_side() -> impl Strategy<Value = Side> {
    let term = (any_quantity(), any_call()).prop_map(|(repeat, call)| Term { repeat, call });
    proptest::collection::vec(term, 1..4).prop_map(|terms| Side { terms })
}

proptest! {
    #[test]
    fn reads_back_what_it_writes(side in any_side()) {
        let text = side.to_string();
        prop_assert_eq!(text.parse::<Side>().map_err(|error| error.to_string()), Ok(side));
    }

    #[test]
    fn never_panics(text in "\\PC{0,40}") {
        let _ = text.parse::<Guideline>();
        let _ = text.parse::<Side>();
    }

    #[test]
    fn never_panics_on_its_own_tokens(tokens in proptest::collection::vec(proptest::sample::select(vec![
        "n", "p", "k", "q", "*", "/", "+", "<=", "~", "(", ")", "{", "}", ",", "=", ":", "3", "bcast", "iA", "type", "vector", "part", " ",
    ]), 0..14)) {
        let text: String = tokens.concat();
        if let Err(error) = text.parse::<Guideline>() {
            prop_assert!(error.at <= text.len());
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
