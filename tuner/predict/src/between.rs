//! Order of layouts: one lies between two others if it has neither fewer nor more nodes, nor ranks on each, than these.

use kilter_model::layout::Layout;

/// True if `layout` is no larger than `other` in nodes and in ranks on each.
fn is_within(layout: Layout, other: Layout) -> bool {
    layout.nodes <= other.nodes && layout.per_node <= other.per_node
}

/// Octaves between two layouts: of nodes and of ranks on each, added.
pub(crate) fn octaves(one: Layout, other: Layout) -> f64 {
    let apart = |a: usize, b: usize| ((a as f64).log2() - (b as f64).log2()).abs();
    apart(one.nodes, other.nodes) + apart(one.per_node, other.per_node)
}

/// True if the number of ranks is no power of two: many algorithms have a path of their own for these.
pub(crate) fn is_odd(layout: Layout) -> bool {
    !layout.ranks().is_power_of_two()
}

/// True if nodes have a single rank each: all messages cross the network, and no rank shares a link.
pub(crate) fn is_single(layout: Layout) -> bool {
    layout.per_node == 1
}

/// The two of `layouts` between which a layout lies most closely; it is neither of them.
pub(crate) fn neighbours(layout: Layout, layouts: &[Layout]) -> Option<(Layout, Layout)> {
    let others = || layouts.iter().copied().filter(move |other| *other != layout);
    let below = others().filter(|other| is_within(*other, layout));
    let pairs = below.flat_map(|below| {
        let above = others().filter(move |other| is_within(layout, *other));
        above.map(move |above| (below, above))
    });
    pairs.min_by(|a, b| octaves(a.0, a.1).total_cmp(&octaves(b.0, b.1)).then(a.cmp(b)))
}

/// Those of `layouts` that lie between two others of them.
pub(crate) fn inner(layouts: &[Layout]) -> Vec<Layout> {
    let is_inner = |layout: &&Layout| neighbours(**layout, layouts).is_some();
    layouts.iter().filter(is_inner).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layouts(text: &str) -> Vec<Layout> {
        kilter_model::layout::parse_list(text).unwrap()
    }

    #[test]
    fn the_closest_neighbours_are_taken() {
        let known = layouts("4x1,16x1,32x4,16x2,64x8");
        let find = |text: &str| neighbours(layouts(text)[0], &known).map(|(below, above)| format!("{below} {above}"));
        assert_eq!(find("8x1").unwrap(), "4x1 16x1");
        assert_eq!(find("12x2").unwrap(), "4x1 16x2");
        assert_eq!(find("24x3").unwrap(), "16x2 32x4");
        // More ranks on a node than any has that lies above, and fewer nodes than any below.
        assert_eq!(find("8x16"), None);
        assert_eq!(find("2x2"), None);
        // A measured layout is no neighbour of itself.
        assert_eq!(find("16x2").unwrap(), "16x1 32x4");
    }

    #[test]
    fn corners_are_not_between() {
        assert_eq!(inner(&layouts("4x1,8x1,16x1")), layouts("8x1"));
        assert_eq!(inner(&layouts("4x1,16x1")), []);
        // Neither has as many nodes, nor as many ranks on each, as the other.
        assert_eq!(inner(&layouts("8x1,1x8,4x4")), []);
    }

    #[test]
    fn numbers_of_ranks_are_odd_if_they_are_no_power_of_two() {
        let odd: Vec<bool> = layouts("8x1,8x4,12x1,8x3,6x4").into_iter().map(is_odd).collect();
        assert_eq!(odd, [false, false, true, true, true]);
    }
}
