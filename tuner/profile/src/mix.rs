//! The call mix of a profile, for `kilter tune --mix`: `configs/mixes/example.toml` is the documentation of the format.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kilter_model::config::mix::Mix;

use crate::profile::Profile;

/// Functions that guidelines know and that have no volume.
const WITHOUT_BYTES: [&str; 2] = ["barrier", "ibarrier"];

/// Calls of one function on communicators of one size and of one bucket.
#[derive(Default)]
struct Sum {
    calls: u64,
    bytes: u64,
    seconds: f64,
}

/// The mix as text; `None` if the program makes no call that guidelines speak of. Calls are those of a rank of such a communicator, on the
/// average of the ranks that make any; bytes are the mean of the bucket.
#[must_use]
pub fn text(profile: &Profile) -> Option<String> {
    let mut sums: BTreeMap<(String, u32, u8), Sum> = BTreeMap::new();
    let mut callers: BTreeMap<(String, u32), std::collections::BTreeSet<u32>> = BTreeMap::new();
    for calls in &profile.calls {
        let Some(communicator) = calls.communicator.and_then(|number| profile.communicators.get(number)) else {
            continue;
        };
        // Nothing is to be tuned between a rank and itself.
        if communicator.ranks < 2 {
            continue;
        }
        let name = calls.function.trim_start_matches("MPI_").to_ascii_lowercase();
        if !is_known(&name) {
            continue;
        }
        let sum = sums
            .entry((name.clone(), communicator.ranks, calls.bucket))
            .or_default();
        sum.calls = sum.calls.saturating_add(calls.calls);
        sum.bytes = sum.bytes.saturating_add(calls.bytes);
        sum.seconds += calls.seconds;
        callers
            .entry((name, communicator.ranks))
            .or_default()
            .insert(calls.rank);
    }
    let mut text = format!(
        "# The calls of `{}` on {} ranks, for `kilter tune --mix FILE`.\n",
        kilter_render::table::printable(&profile.command),
        profile.world
    );
    let mut any = false;
    for ((name, ranks, _), sum) in &sums {
        let has_bytes = !WITHOUT_BYTES.contains(&name.as_str());
        let bytes = (sum.bytes as f64 / sum.calls.max(1) as f64).round() as u64;
        // A call that moves nothing has nothing to tune.
        if has_bytes && bytes == 0 {
            continue;
        }
        let ranks_that_call = callers
            .get(&(name.clone(), *ranks))
            .map_or(1, |ranks| ranks.len().max(1));
        let per_rank = sum.calls as f64 / ranks_that_call as f64;
        any = true;
        let _ = write!(
            text,
            "\n# {:.3e} s of all ranks\n[[call]]\nfunction = \"{name}\"\n",
            sum.seconds
        );
        if has_bytes {
            let _ = writeln!(text, "bytes = {bytes}");
        }
        let _ = writeln!(text, "calls = {per_rank:?}\nranks = {ranks}");
    }
    any.then_some(text)
}

/// True if guidelines know a function of this name: the mix's own reader says it.
fn is_known(name: &str) -> bool {
    let bytes = if WITHOUT_BYTES.contains(&name) { "" } else { "bytes = 1" };
    Mix::parse(&format!("[[call]]\nfunction = \"{name}\"\n{bytes}\n"), "mix").is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_mix_is_read_by_its_reader() {
        let text = text(&fixture::profile()).unwrap();
        let mix = Mix::parse(&text, "mix.toml").unwrap();
        let of = |function: &str| mix.of(function, 2, &[]).into_iter().collect::<Vec<_>>();
        assert_eq!(of("allreduce"), [(8, 100.0)]);
        assert_eq!(of("barrier"), [(0, 1.0)]);
        assert_eq!(of("isend"), [(4096, 5.0)]);
        assert!(mix.calls.iter().all(|calls| calls.ranks == Some(2)), "{text}");
        assert!(mix.calls.iter().all(|calls| calls.function != "wait"), "{text}");
    }

    #[test]
    fn without_calls_there_is_no_mix() {
        let mut profile = fixture::profile();
        profile.calls.retain(|calls| calls.function == "MPI_Wait");
        assert_eq!(text(&profile), None);
    }
}
