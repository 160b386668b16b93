//! Seconds and launches of a layout's loop, before it runs.
//!
//! A launch of I items on p ranks takes `S + s p + I c sqrt(p)` seconds. S, s and c are those of `docs/results/scale.md`: 2.4 s and 1 ms a rank for a start,
//! and 1.2 ms for an item with all its repetitions, which is within 15 % of that page's table from 10 to 10,000 ranks. Networks and libraries
//! differ by factors, so that whatever was measured on a layout corrects the estimates of the others.

/// Seconds of a launch, by ranks and items.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// Measured seconds over those estimated; 1 as long as nothing was measured.
    pub factor: f64,
}

impl Default for Costs {
    fn default() -> Costs {
        Costs { factor: 1.0 }
    }
}

/// Start and end of a job, in seconds.
const START: f64 = 2.4;
/// The same for each rank.
const START_OF_RANK: f64 = 1e-3;
/// An item with all its repetitions, over the square root of the ranks.
const ITEM: f64 = 1.2e-3;

/// Launches of everything in a verification: its screening.
const SCREENING: f64 = 2.0;
/// Launches of what is confirmed, and its share of the items.
const CONFIRMING: f64 = 10.0;
const CONFIRMED: f64 = 0.15;
/// Items of a launch of the search, which times few cells.
const SEARCHED: f64 = 10.0;

/// A layout's loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Launches.
    pub launches: f64,
    /// Seconds.
    pub seconds: f64,
}

/// Part of a layout's seconds that its first verification takes, where search and proof come to their ends.
const VERIFICATION_PART: f64 = 0.35;

impl Costs {
    /// Those after a first verification on `ranks` ranks took so many seconds.
    #[must_use]
    pub fn measured(ranks: usize, items: usize, seconds: f64) -> Costs {
        let estimated = Costs::default().verification(ranks, items);
        Costs {
            factor: (seconds / estimated).clamp(0.05, 50.0),
        }
    }

    fn launch(self, ranks: usize, items: f64) -> f64 {
        let ranks = ranks as f64;
        self.factor * (START + START_OF_RANK * ranks + items * ITEM * ranks.sqrt())
    }

    /// Seconds of a first verification.
    fn verification(self, ranks: usize, items: usize) -> f64 {
        let items = items as f64;
        SCREENING * self.launch(ranks, items) + CONFIRMING * self.launch(ranks, CONFIRMED * items)
    }

    /// The least with which a layout's loop comes to its end.
    #[must_use]
    pub fn of_layout(self, ranks: usize, items: usize) -> Estimate {
        let verification = self.verification(ranks, items);
        let seconds = verification / VERIFICATION_PART;
        // The proof makes as many launches as the first verification, and the search has the rest.
        let searching = (seconds - 2.0 * verification).max(0.0);
        Estimate {
            launches: (2.0 * (SCREENING + CONFIRMING) + searching / self.launch(ranks, SEARCHED)).round(),
            seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Launches of a check of 221 items, as the page has them.
    #[test]
    fn launches_cost_what_the_page_about_scale_says() {
        for (ranks, of_page) in [(10, 3.22), (100, 5.11), (1000, 13.21), (10_000, 40.78)] {
            let off = Costs::default().launch(ranks, 221.0) / of_page;
            assert!((0.85..1.15).contains(&off), "{ranks} ranks: {off}");
        }
    }

    #[test]
    fn what_was_measured_corrects_what_is_estimated() {
        let usual = Costs::default().of_layout(64, 200);
        let twice = Costs::measured(8, 100, 2.0 * Costs::default().verification(8, 100));
        assert!((twice.of_layout(64, 200).seconds / usual.seconds - 2.0).abs() < 1e-9);
        assert_eq!(twice.of_layout(64, 200).launches, usual.launches, "slower, and as many");
        assert_eq!(
            Costs::measured(8, 100, 1e9).factor,
            50.0,
            "one stray launch says not everything"
        );
    }
}
