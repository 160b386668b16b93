//! Scores of log ratios: their ranks, so that no launch counts more than any other.

/// Mid-ranks, centred, with a mean square of 1; `None` for fewer than three values or equal ones.
pub(super) fn ranks(values: &[f64]) -> Option<Vec<f64>> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    while first < order.len() {
        let value = values[order[first]];
        // Logarithms of equal ratios differ in the last digit.
        let tied = |at: &&usize| (values[**at] - value).abs() <= 1e-12 * value.abs().max(1.0);
        let group = order[first..].iter().take_while(tied).count().max(1);
        for at in &order[first..first + group] {
            ranks[*at] = first as f64 + (group as f64 - 1.0) / 2.0;
        }
        first += group;
    }
    let mean = (values.len() as f64 - 1.0) / 2.0;
    let square = ranks.iter().map(|rank| (rank - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (values.len() > 2 && square > 0.0).then(|| ranks.iter().map(|rank| (rank - mean) / square.sqrt()).collect())
}

/// Writes what is left of the scores beside their mean, if all are there; else they stay 0.
pub(super) fn centre(scores: &[Option<f64>], centred: &mut [f64]) {
    let present: Vec<f64> = scores.iter().flatten().copied().collect();
    if present.len() < scores.len() {
        return;
    }
    let mean = present.iter().sum::<f64>() / present.len() as f64;
    for (to, score) in centred.iter_mut().zip(present) {
        *to = score - mean;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_centred_and_tied_values_share_theirs() {
        let ranks = ranks(&[3.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(ranks[0], ranks[2]);
        approx::assert_relative_eq!(ranks.iter().sum::<f64>(), 0.0, epsilon = 1e-12);
        approx::assert_relative_eq!(ranks.iter().map(|rank| rank * rank).sum::<f64>(), 4.0, epsilon = 1e-12);
        assert!(super::ranks(&[1.0, 2.0]).is_none() && super::ranks(&[1.0; 5]).is_none());
    }
}
