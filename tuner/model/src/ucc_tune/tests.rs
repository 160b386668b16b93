use proptest::prelude::*;

use super::*;

fn read_one(text: &str) -> Token {
    let [token] = &read(text).unwrap()[..] else {
        panic!("{text}")
    };
    token.clone()
}

/// Every qualifier of the user guide, alone and together, in any order and in letters of any case.
#[test]
fn every_documented_form_is_read() {
    let scored = |score| Token {
        score: Some(score),
        ..Token::default()
    };
    assert_eq!(read_one("10"), scored(10));
    assert_eq!(read_one("INF"), scored(INF));
    let cuda = Token {
        collectives: vec!["alltoall".to_owned()],
        memory: vec!["cuda".to_owned()],
        ..scored(0)
    };
    for text in ["alltoall:cuda:0", "Cuda:0:AllToAll", "0:alltoall:CUDA"] {
        assert_eq!(read_one(text), cuda, "{text}");
    }
    let all = read_one("allreduce,reduce:64-1K,4kb-inf:host,rocm:[2-4,8,16-inf]:20:@dbt");
    assert_eq!(all.collectives, ["allreduce", "reduce"]);
    assert_eq!(all.sizes, [(64, 1024), (4096, INF)]);
    assert_eq!(all.memory, ["host", "rocm"]);
    assert_eq!(all.teams, [(2, 4), (8, 8), (16, INF)]);
    assert_eq!((all.score, all.algorithm.as_deref()), (Some(20), Some("dbt")));
    let several = read("allreduce:0-4k:@0#allreduce:4k-inf:@sra_knomial#bcast,scatter:inf#12M-1g:alltoall:20").unwrap();
    assert_eq!(several.len(), 4);
    assert_eq!(several[3].sizes, [(12 << 20, 1 << 30)]);
    assert_eq!(name_of("reduce_scatter_block"), "reduce_scatter");
    assert_eq!(
        read_one("reduce_scatterv:@ring").collectives,
        [name_of("reduce_scatter")]
    );
}

#[test]
fn what_the_library_would_drop_or_misread_is_refused() {
    for (text, part) in [
        (
            "alltoallll:10",
            "`alltoallll` is no qualifier; allowed: collectives (allgather",
        ),
        ("alltoall:cpu:10", "memory (host, cuda"),
        ("allreduce:0-4k", "neither a score nor an algorithm"),
        ("allreduce:4k:@knomial", "`4k` is no qualifier"),
        ("allreduce:4k-4k:10", "`4k-4k` is no qualifier"),
        ("allreduce:8k-4k:10", "is no qualifier"),
        ("allreduce:[8-4]:10", "allowed: [FROM-TO,...]"),
        ("allreduce:[2-x]:10", "allowed: [FROM-TO,...]"),
        ("allreduce::10", "`` is no qualifier"),
        ("allreduce:10#", "`` is no qualifier"),
        ("", "`` is no qualifier"),
        ("allreduce:10:20", "`20` is the second of its kind"),
        ("allreduce:bcast:20", "`bcast` is the second of its kind"),
        ("allreduce:@", "`@` is no qualifier"),
        (
            "allreduce:@knomal",
            "`@knomal` is no algorithm for allreduce; allowed: knomial, sra_knomial",
        ),
        ("allreduce:@5", "`@5` is no algorithm for allreduce"),
        ("scatter:@0", "is no algorithm for scatter; allowed: none"),
        ("allreduce,bcast:@ring", "is no algorithm for bcast"),
        ("@knomial", "stands without a collective"),
        (
            "allreduce:0-8k:@0#allreduce:4k-inf:@1",
            "name an algorithm for the same call; divide their sizes",
        ),
        ("allreduce:[2-8]:@0#allreduce:[8-16]:@1", "for the same call"),
    ] {
        let message = read(text).unwrap_err().to_string();
        assert!(message.contains(part), "{text}: {message}");
    }
    for text in [
        "allreduce:0-4k:@0#allreduce:4k-inf:@1",
        "allreduce:[2-8]:@0#allreduce:[9-16]:@1",
        "allreduce:host:@0#allreduce:cuda:@1",
        "allreduce:@0#allreduce:4k-inf:20",
    ] {
        assert!(read(text).is_ok(), "{text}");
    }
}

fn range() -> impl Strategy<Value = (u64, u64)> {
    (0..1u64 << 40, 1..1u64 << 40, any::<bool>())
        .prop_map(|(from, more, ends)| (from, if ends { from + more } else { INF }))
}

fn token() -> impl Strategy<Value = Token> {
    let names = |all: Vec<&'static str>| {
        let count = all.len();
        prop::sample::subsequence(all, 0..count)
            .prop_map(|some| some.into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    let collectives = names(COLLECTIVES.map(|(name, _)| name).to_vec());
    let ranges = || prop::collection::vec(range(), 0..3);
    (
        collectives,
        ranges(),
        names(MEMORY.to_vec()),
        ranges(),
        prop::option::of(any::<u64>()),
    )
        .prop_map(|(collectives, sizes, memory, teams, score)| Token {
            collectives,
            sizes,
            memory,
            teams,
            score: score.or(Some(1)),
            algorithm: None,
        })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(tokens in prop::collection::vec(token(), 1..4)) {
        prop_assert_eq!(read(&to_text(&tokens)).unwrap(), tokens);
    }

    #[test]
    fn nothing_makes_the_reader_panic(text in "[a-z0-9:#@,\\[\\]\\-]{0,40}") {
        let _ = read(&text);
    }
}
