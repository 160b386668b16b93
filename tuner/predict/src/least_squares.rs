//! Prices of terms from times: least squares of relative errors without negative prices.
//!
//! Coordinate descent (C. L. Lawson and R. J. Hanson, Solving Least Squares Problems, SIAM 1995, doi:10.1137/1.9781611971217, chapter 23, has
//! the problem): each price in turn takes its best value, or zero. Terms that say the same share their price by a small ridge, so that the
//! answer is one, whatever their order.

const RIDGE: f64 = 1e-4;
const MOST_SWEEPS: usize = 400;
/// A sweep that changes no scaled price by more is the last one.
const SETTLED: f64 = 1e-9;

/// The prices with the least sum of `(terms * prices / seconds - 1)^2`. Each row has as many terms as the first one.
pub(crate) fn prices(rows: &[(Vec<f64>, f64)]) -> Vec<f64> {
    weighted(rows, &vec![1.0; rows.len()])
}

/// Rounds in which errors give the weights of the next one.
const ROUNDS: usize = 4;
/// An error of this share weighs as much as any smaller one.
const SMALL: f64 = 0.03;

/// As [`prices`], but with about the least sum of absolute errors: the few rows that these terms do not explain have little say.
pub(crate) fn robust_prices(rows: &[(Vec<f64>, f64)]) -> Vec<f64> {
    let mut found = prices(rows);
    for _ in 0..ROUNDS {
        let weight = |(terms, seconds): &(Vec<f64>, f64)| {
            let made: f64 = terms.iter().zip(&found).map(|(term, price)| term * price).sum();
            1.0 / (made / seconds - 1.0).abs().max(SMALL)
        };
        let weights: Vec<f64> = rows.iter().map(weight).collect();
        found = weighted(rows, &weights);
    }
    found
}

/// As [`prices`], each square with its weight.
fn weighted(rows: &[(Vec<f64>, f64)], weights: &[f64]) -> Vec<f64> {
    let Some(width) = rows.first().map(|(terms, _)| terms.len()) else {
        return Vec::new();
    };
    // Sums of products of columns, and of columns alone: the right side of every row is 1.
    let mut products = vec![vec![0.0; width]; width];
    let mut sums = vec![0.0; width];
    for ((terms, seconds), weight) in rows.iter().zip(weights) {
        for column in 0..width {
            sums[column] += weight * terms[column] / seconds;
            for other in 0..width {
                products[column][other] += weight * terms[column] * terms[other] / seconds.powi(2);
            }
        }
    }
    // Columns of length 1, so that the ridge treats all alike.
    let scales: Vec<f64> = (0..width).map(|column| products[column][column].sqrt()).collect();
    let used: Vec<usize> = (0..width).filter(|column| scales[*column] > 0.0).collect();
    let mut scaled = vec![0.0; width];
    for _ in 0..MOST_SWEEPS {
        let mut moved: f64 = 0.0;
        for &column in &used {
            let others = used.iter().filter(|other| **other != column);
            let taken: f64 = others
                .map(|other| products[column][*other] * scaled[*other] / (scales[column] * scales[*other]))
                .sum();
            let better = ((sums[column] / scales[column] - taken) / (1.0 + RIDGE)).max(0.0);
            moved = moved.max((better - scaled[column]).abs());
            scaled[column] = better;
        }
        if moved < SETTLED {
            break;
        }
    }
    let price = |(scaled, scale): (&f64, &f64)| if *scale > 0.0 { scaled / scale } else { 0.0 };
    scaled.iter().zip(&scales).map(price).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_of_which_times_are_made_are_found() {
        let rows: Vec<(Vec<f64>, f64)> = [(1.0, 2.0), (3.0, 1.0), (2.0, 5.0), (6.0, 0.5)]
            .iter()
            .map(|(rounds, bytes)| (vec![1.0, *rounds, *bytes], 3e-6 * rounds + 2e-9 * bytes))
            .collect();
        let found = prices(&rows);
        for (terms, seconds) in &rows {
            let made: f64 = terms.iter().zip(&found).map(|(term, price)| term * price).sum();
            assert!((made / seconds - 1.0).abs() < 0.01, "{made} {seconds}");
        }
    }

    #[test]
    fn rows_that_follow_another_law_have_little_say() {
        let rows = (1..=12).map(|rounds| {
            let factor = if rounds % 4 == 0 { 3.0 } else { 1.0 };
            (vec![f64::from(rounds)], factor * 2e-6 * f64::from(rounds))
        });
        let rows: Vec<(Vec<f64>, f64)> = rows.collect();
        let (plain, robust) = (prices(&rows)[0] / 2e-6, robust_prices(&rows)[0] / 2e-6);
        assert!(
            (robust - 1.0).abs() < 0.03 && (plain - 1.0).abs() > 0.05,
            "{robust} {plain}"
        );
    }

    #[test]
    fn no_price_is_negative() {
        // Less where there are more rounds.
        let rows = [(vec![1.0, 1.0], 4e-6), (vec![1.0, 2.0], 3e-6), (vec![1.0, 3.0], 2e-6)];
        let found = prices(&rows);
        assert!(found.iter().all(|price| *price >= 0.0), "{found:?}");
        assert!(found[0] > 1e-6, "{found:?}");
    }

    #[test]
    fn nothing_has_no_prices() {
        assert!(prices(&[]).is_empty());
        assert_eq!(prices(&[(vec![0.0, 1.0], 2.0)])[0], 0.0);
    }
}
