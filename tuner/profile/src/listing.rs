//! The listing of SGI's chapter "MPI Optimization and Tuning": each rank, each function, calls and time. `kilter advise` reads it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::profile::Profile;
use crate::text::has_bytes;

#[derive(Default)]
struct Sum {
    calls: u64,
    seconds: f64,
    bytes: u64,
    requests: u64,
    has_bytes: bool,
}

/// The listing.
#[must_use]
pub fn text(profile: &Profile) -> String {
    let seconds = profile.ranks.iter().map(|rank| rank.seconds).fold(0.0, f64::max);
    let mut out = format!(
        "Total job time {seconds:e} sec\nTotal MPI processes {}\n",
        profile.world
    );
    let mut sums: BTreeMap<u32, BTreeMap<String, Sum>> = BTreeMap::new();
    for calls in &profile.calls {
        let name = calls.function.trim_start_matches("MPI_").to_ascii_lowercase();
        let sum = sums.entry(calls.rank).or_default().entry(name).or_default();
        sum.calls += calls.calls;
        sum.seconds += calls.seconds;
        sum.bytes = sum.bytes.saturating_add(calls.bytes);
        sum.requests = sum.requests.saturating_add(calls.requests);
        sum.has_bytes |= has_bytes(&calls.function);
    }
    for rank in &profile.ranks {
        let _ = writeln!(out, "\nactivity on process rank {}", rank.rank);
        for (name, sum) in sums.get(&rank.rank).into_iter().flatten() {
            let _ = write!(out, "{name:>20} calls {:<9} time {:e}", sum.calls, sum.seconds);
            if sum.requests > 0 {
                let _ = write!(out, "   # of Reqs {}", sum.requests);
            }
            if sum.has_bytes {
                let mean = sum.bytes / sum.calls.max(1);
                let _ = write!(out, "   datacnt {}   avg datacnt {mean}", sum.bytes);
            }
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::text;
    use crate::fixture;

    #[test]
    fn the_listing_has_the_chapters_form() {
        let text = text(&fixture::profile());
        assert!(
            text.starts_with("Total job time 1e1 sec\nTotal MPI processes 2\n"),
            "{text}"
        );
        assert_eq!(text.matches("activity on process rank ").count(), 2);
        let line = |begin: &str| text.lines().find(|line| line.trim_start().starts_with(begin)).unwrap();
        assert_eq!(
            line("allreduce").split_whitespace().collect::<Vec<_>>().join(" "),
            "allreduce calls 100 time 1e0 datacnt 800 avg datacnt 8"
        );
        assert!(line("wait").contains("# of Reqs 5"));
    }
}
