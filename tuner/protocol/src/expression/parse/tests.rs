use kilter_algorithms::Collective;
use proptest::prelude::*;

use super::*;

fn plain(collective: Collective) -> Term {
    Term {
        repeat: Number::Literal(1),
        call: Call::Library(collective),
        divisor: Number::Literal(1),
    }
}

#[test]
fn reads_the_forms_of_the_grammar() {
    let guideline: Guideline = "allreduce(n) <= reduce_scatter_block(n)+allgather ( n )"
        .parse()
        .unwrap();
    assert_eq!(guideline.left, Side::of(Collective::Allreduce));
    assert_eq!(
        guideline.right.plain_calls(),
        Some(vec![Collective::ReduceScatterBlock, Collective::Allgather])
    );

    let split: Side = "k * bcast(n/k)".parse().unwrap();
    assert_eq!(
        split.terms,
        [Term {
            repeat: Number::K,
            call: Call::Library(Collective::Bcast),
            divisor: Number::K
        }]
    );
    assert_eq!(split.with_k(3).to_string(), "3 * bcast(n/3)");

    let own: Guideline = "scan(n) <= p2p.recursive_doubling(n)".parse().unwrap();
    assert_eq!(
        own.right.terms[0].call,
        Call::PointToPoint("recursive_doubling".to_owned())
    );

    let spread: Side = "\n 2*bcast( n / 4 )\t+ scan(n) ".parse().unwrap();
    assert_eq!(
        spread.terms,
        [
            Term {
                repeat: Number::Literal(2),
                call: Call::Library(Collective::Bcast),
                divisor: Number::Literal(4)
            },
            plain(Collective::Scan)
        ]
    );
}

/// The whole message, so that a change of any part of it is seen.
#[test]
fn shows_where_it_is_wrong_and_what_is_allowed() {
    let error = "gather(n) <= isend(n) + wait".parse::<Guideline>().unwrap_err();
    let all: Vec<&str> = Collective::ALL.iter().map(|collective| collective.name()).collect();
    assert_eq!(
        error.to_string(),
        format!(
            "guideline expression, column 14: `isend` is not supported yet\n  gather(n) <= isend(n) + wait\n               ^\n  \
             allowed here: {}, p2p.NAME",
            all.join(", ")
        )
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
        ("bcast(n) <= MPI_Scan(n)", 13, "`MPI_Scan` is not a collective"),
        (
            "bcast(n) <= win_fence + p * get(n/p)",
            13,
            "`win_fence` is not supported yet",
        ),
        ("bcast(n) <= p * scan(n)", 13, "`p` as a number is not supported yet"),
        ("bcast(n) <= scan(n/p)", 20, "`p` as a divisor is not supported yet"),
        ("bcast(n) <= scan(p)", 18, "`p` as a size is not supported yet"),
        (
            "reduce(n) <= reduce(n){node} + bcast(n)",
            23,
            "a sub-communicator such as `{node}` is not supported yet",
        ),
        ("bcast(n) <= scan(k)", 18, "`k` as a size is not supported yet"),
        (
            "bcast(n) <= scan(n*k)",
            19,
            "arithmetic with `*` in a size is not supported yet",
        ),
        (
            "bcast(n) <= scan(n+k)",
            19,
            "arithmetic with `+` in a size is not supported yet",
        ),
        (
            "bcast(n) <= k scan(n)",
            15,
            "`k` may only repeat a call or divide `n`; `scan` follows it",
        ),
        ("bcast(n) <= k(n)", 14, "`k` may only repeat"),
        ("bcast(n) <= 3 scan(n)", 15, "`scan` instead of `*`"),
        ("bcast(n) <= 0 * scan(n)", 13, "0 is too small"),
        ("bcast(n) <= scan(n/0)", 20, "0 is too small"),
        ("bcast(n) <= 18446744073709551616 * scan(n)", 13, "is too large"),
        ("bcast(n) <= scan", 17, "the end instead of the size"),
        ("bcast(n) <= scan(n", 19, "the end in a size"),
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

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        Just(Number::K),
        (1..=u64::MAX).prop_map(Number::Literal),
        Just(Number::Literal(1))
    ]
}

fn term(call: impl Strategy<Value = Call>) -> impl Strategy<Value = Term> {
    (number(), call, number()).prop_map(|(repeat, call, divisor)| Term { repeat, call, divisor })
}

fn library() -> impl Strategy<Value = Call> {
    proptest::sample::select(Collective::ALL).prop_map(Call::Library)
}

fn any_call() -> impl Strategy<Value = Call> {
    prop_oneof![library(), "[a-z][a-z0-9_]{0,12}".prop_map(Call::PointToPoint)]
}

fn side_of(call: impl Strategy<Value = Call>) -> impl Strategy<Value = Side> {
    prop::collection::vec(term(call), 1..5).prop_map(|terms| Side { terms })
}

proptest! {
    #[test]
    fn reads_back_a_side(side in side_of(any_call())) {
        prop_assert_eq!(side.to_string().parse::<Side>(), Ok(side));
    }

    #[test]
    fn reads_back_a_guideline_of_library_calls(left in side_of(library()), right in side_of(library())) {
        let guideline = Guideline { left, right };
        prop_assert_eq!(guideline.to_string().parse::<Guideline>(), Ok(guideline));
    }

    #[test]
    fn reads_back_a_guideline_with_schedules(left in proptest::sample::select(Collective::ALL), right in side_of(any_call())) {
        let guideline = Guideline { left: Side::of(left), right };
        prop_assert_eq!(guideline.to_string().parse::<Guideline>(), Ok(guideline));
    }

    /// White space between tokens says nothing.
    #[test]
    fn white_space_is_free(side in side_of(any_call())) {
        let text = side.to_string();
        let mut spread = String::new();
        for c in text.chars().filter(|c| *c != ' ') {
            if !(c.is_ascii_alphanumeric() || c == '_') {
                spread.push_str(" \n");
                spread.push(c);
                spread.push('\t');
            } else {
                spread.push(c);
            }
        }
        prop_assert_eq!(spread.parse::<Side>(), Ok(side));
    }

    /// Nothing typed crashes the parser or its message.
    #[test]
    fn any_text_is_read_or_explained(text in "[a-z0-9_ .()*/+<=k{}\u{e9}\n]{0,40}") {
        if let Err(error) = text.parse::<Guideline>() {
            prop_assert!(error.at <= text.len());
            prop_assert!(error.to_string().contains("allowed here"));
        }
    }
}
