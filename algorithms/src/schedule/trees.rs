//! Tests that all k-nomial trees pass.

use std::ops::Range;

/// A rank's parent, its subtree, and those of its children.
pub(super) type Seen = (Option<usize>, Range<usize>, Vec<Range<usize>>);

/// The places of all ranks, with number of ranks, root and radix.
pub(super) fn places<T>(
    new: impl Fn(usize, usize, usize, usize) -> T + Copy,
) -> impl Iterator<Item = (usize, usize, usize, Vec<T>)> {
    [2, 3, 4, 5, 8, 64].into_iter().flat_map(move |radix| {
        (1..40).flat_map(move |p| {
            (0..p).map(move |root| {
                let places = (0..p).map(|rank| new(rank, root, p, radix)).collect();
                (p, root, radix, places)
            })
        })
    })
}

/// Asserts that the root has all ranks, and that each other rank is the lowest of a subtree that its parent has as a child.
pub(super) fn assert_parents(trees: impl Iterator<Item = (usize, usize, usize, Vec<Seen>)>) {
    for (p, root, radix, places) in trees {
        let at = format!("p = {p}, root {root}, radix {radix}");
        for (rank, (parent, subtree, children)) in places.iter().enumerate() {
            match parent {
                None => assert_eq!((rank, subtree), (root, &(0..p)), "{at}"),
                Some(parent) => {
                    assert_eq!(rank, subtree.start, "{at}");
                    assert!(places[*parent].2.contains(subtree), "{at}");
                }
            }
            let mut children = children.iter();
            assert!(children.all(|child| places[child.start].0 == Some(rank)), "{at}");
        }
    }
}
