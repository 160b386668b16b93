//! How many launches a run needs for anything to be decidable.

/// The smallest R such that R launches on each side can be significant among `tests` tests at level `alpha` after
/// Holm's correction: C(2R, R) >= tests / alpha.
///
/// No test counts as one. `alpha` of 1 or more needs one launch; for 0, less or NaN no number suffices, and the answer
/// is `usize::MAX`.
#[must_use]
pub fn launches_needed(tests: usize, alpha: f64) -> usize {
    if alpha.is_nan() || alpha <= 0.0 {
        return usize::MAX;
    }
    let tests = tests.max(1) as f64;
    let mut splits = 1.0;
    let mut launches = 0;
    // C(2R, R) = C(2R - 2, R - 1) * 2 (2R - 1) / R, which soon exceeds every f64.
    loop {
        launches += 1;
        splits = splits * (2 * (2 * launches - 1)) as f64 / launches as f64;
        if tests * (1.0 / splits) <= alpha {
            return launches;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers() {
        let expected = [
            (0, 3),
            (1, 3),
            (2, 4),
            (3, 4),
            (4, 5),
            (12, 5),
            (13, 6),
            (46, 6),
            (47, 7),
            (171, 7),
            (172, 8),
            (643, 8),
            (644, 9),
            (2431, 9),
            (2432, 10),
            (9237, 10),
            (9238, 11),
        ];
        for (tests, launches) in expected {
            assert_eq!(launches_needed(tests, 0.05), launches, "{tests} tests");
        }
    }

    #[test]
    fn levels_at_and_beyond_the_ends() {
        assert_eq!(launches_needed(1, 1.0), 1);
        assert_eq!(launches_needed(1, 0.5), 1);
        for alpha in [0.0, -1.0, f64::NAN] {
            assert_eq!(launches_needed(1, alpha), usize::MAX);
        }
        assert!(launches_needed(usize::MAX, f64::MIN_POSITIVE) < 1000);
    }
}
