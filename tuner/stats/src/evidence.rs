//! P-values in the order in which corrections step through them.

/// The p-values ascending, each with its place in `p`. NaN means that a test gave no p-value: it still counts as a test, and
/// stands as 1, which rejects nothing. Equal values keep their order.
pub(super) fn ascending(p: &[f64]) -> Vec<(usize, f64)> {
    let mut order: Vec<(usize, f64)> = p
        .iter()
        .map(|p| if p.is_nan() { 1.0 } else { *p })
        .enumerate()
        .collect();
    order.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    order
}
