//! Calls of an application: functions, their volumes, the sizes of their communicators, and their numbers.
//!
//! `configs/mixes/example.toml` is the documentation of the format.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::{At, ConfigError, read};
use crate::options::{functions, parse_bytes};

/// A call mix.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mix {
    /// File from which it was read.
    pub file: String,
    /// Its entries, in the order of the file.
    pub calls: Vec<Calls>,
    /// The run in which the calls were counted, if it is known.
    pub application: Option<Application>,
}

/// A run of an application.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// Its command line; empty if it is not known.
    #[serde(default)]
    pub command: String,
    /// Its run time in seconds.
    pub seconds: f64,
}

/// Calls of one function on communicators of one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calls {
    /// Function as guidelines call it, such as `reduce` or `isend`.
    pub function: String,
    /// Smallest and largest volume in bytes; both 0 for a function without a volume.
    pub bytes: (u64, u64),
    /// Number of calls on each rank; above 0.
    pub count: f64,
    /// Seconds that a rank spends in all of them, if they were measured.
    pub seconds: Option<f64>,
    /// Size of the communicator; `None` for any.
    pub ranks: Option<usize>,
    /// Nodes of the communicator; `None` for any.
    pub nodes: Option<usize>,
}

/// Calls of one volume.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Made {
    /// Their number on each rank.
    pub count: f64,
    /// Seconds of a rank in them: those of the mix, or what such calls take about.
    pub seconds: f64,
}

/// Seconds of a call of so many bytes of which nothing is known: those of a usual network. They only order what is measured.
fn usual_seconds(bytes: u64) -> f64 {
    2e-6 + bytes as f64 * 1e-10
}

impl Calls {
    /// Seconds of a rank in one of `parts` equal parts of them, of so many bytes each.
    fn seconds_of(&self, bytes: u64, parts: usize) -> f64 {
        let seconds = self.seconds.unwrap_or(self.count * usual_seconds(bytes));
        seconds / parts as f64
    }

    /// True for a communicator of so many ranks, on so many nodes if that is known.
    fn are_on(&self, ranks: usize, nodes: Option<usize>) -> bool {
        let fits = |only: Option<usize>, is: Option<usize>| only.is_none() || is.is_none() || only == is;
        fits(self.ranks, Some(ranks)) && fits(self.nodes, nodes)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMix {
    call: Vec<Spanned<RawCalls>>,
    application: Option<Spanned<Application>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCalls {
    function: Spanned<String>,
    bytes: Option<Spanned<RawBytes>>,
    calls: Option<Spanned<f64>>,
    seconds: Option<Spanned<f64>>,
    ranks: Option<Spanned<usize>>,
    nodes: Option<Spanned<usize>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawBytes {
    Number(u64),
    Text(String),
}

/// Share of an application's seconds in all calls below which some are left as they are.
pub const NEGLIGIBLE: f64 = 0.01;

/// The functions without a volume.
const WITHOUT_BYTES: [&str; 2] = ["barrier", "ibarrier"];

/// Mistake in a call mix.
#[derive(Debug, PartialEq, thiserror::Error)]
enum Mistake {
    /// The function is none that guidelines name.
    #[error("function: {0}")]
    Function(String),
    /// A volume is given where there is none.
    #[error("bytes: a {0} has no volume; leave it out")]
    NoVolume(String),
    /// The volume is missing.
    #[error("bytes: say how much a {0} moves, such as \"4KiB\"")]
    Volume(String),
    /// The volume is no size.
    #[error("bytes: {0}")]
    Bytes(String),
    /// The volumes end before they begin.
    #[error("bytes: `{0}` is an empty range")]
    EmptyRange(String),
    /// The number of calls is none.
    #[error("calls: `{0}` is no number of calls; allowed: above 0")]
    Calls(f64),
    /// The time in the calls is none.
    #[error("seconds: `{0}` is no time that a rank spends in these calls; allowed: 0 and above")]
    CallSeconds(f64),
    /// A number of ranks or nodes is 0.
    #[error("{key}: `0` is no {what}; give at least 1")]
    Zero { key: &'static str, what: &'static str },
    /// The run time is none.
    #[error("seconds: `{0}` is no run time; allowed: above 0")]
    Seconds(f64),
    /// The file has no calls.
    #[error("it has no `[[call]]`; list at least one")]
    NoCall,
}

impl Mix {
    /// Reads a file. The error names file, line, key, and what is allowed.
    pub fn load(path: &Path) -> Result<Mix, ConfigError> {
        Mix::parse(&read(path)?, &path.display().to_string())
    }

    /// Reads a file's text. Errors are those of [`Mix::load`], with `file` as the name.
    pub fn parse(text: &str, file: &str) -> Result<Mix, ConfigError> {
        let unread = |error: toml::de::Error| ConfigError::of(file, error.to_string().trim_end());
        let raw: RawMix = toml::from_str(text).map_err(unread)?;
        let wrong = |mistake| ConfigError::at(file, text, mistake);
        let calls = raw
            .call
            .into_iter()
            .map(|call| {
                let at = call.span();
                calls(call.into_inner(), &at)
            })
            .collect::<Result<Vec<Calls>, At<Mistake>>>()
            .map_err(wrong)?;
        if calls.is_empty() {
            return Err(ConfigError::of(file, Mistake::NoCall));
        }
        let application = match raw.application {
            Some(one) if !(one.as_ref().seconds.is_finite() && one.as_ref().seconds > 0.0) => {
                return Err(wrong(At::value(&one, Mistake::Seconds(one.as_ref().seconds))));
            }
            one => one.map(Spanned::into_inner),
        };
        Ok(Mix {
            file: file.to_owned(),
            calls,
            application,
        })
    }

    /// Calls of a function on a communicator of `ranks`, on `nodes` if that is known, by volume in bytes; empty if there are none. A range
    /// stands for the sizes of `grid` within it, or for its ends if there are none, and its calls are spread evenly over them.
    #[must_use]
    pub fn of(&self, function: &str, ranks: usize, nodes: Option<usize>, grid: &[u64]) -> BTreeMap<u64, Made> {
        let mut by_size: BTreeMap<u64, Made> = BTreeMap::new();
        let (worth, _) = self.by_weight(ranks, nodes);
        for calls in worth.into_iter().filter(|calls| calls.function == function) {
            let (low, high) = calls.bytes;
            let mut sizes: BTreeSet<u64> = grid
                .iter()
                .copied()
                .filter(|size| (low..=high).contains(size))
                .collect();
            if low == high || sizes.is_empty() {
                sizes = BTreeSet::from([low, high]);
            }
            for size in &sizes {
                let made = by_size.entry(*size).or_default();
                made.count += calls.count / sizes.len() as f64;
                made.seconds += calls.seconds_of(*size, sizes.len());
            }
        }
        by_size
    }

    /// The entries for such a communicator: those that are worth a launch, and those that together hold [`NEGLIGIBLE`] of the measured seconds at most, the
    /// least first. None are negligible where the seconds of an entry are not known.
    #[must_use]
    pub fn by_weight(&self, ranks: usize, nodes: Option<usize>) -> (Vec<&Calls>, Vec<&Calls>) {
        let mut all: Vec<&Calls> = self.on(ranks, nodes).collect();
        let Some(total) = all.iter().map(|calls| calls.seconds).sum::<Option<f64>>() else {
            return (all, Vec::new());
        };
        let seconds = |calls: &Calls| calls.seconds.unwrap_or(0.0);
        all.sort_by(|a, b| seconds(a).total_cmp(&seconds(b)));
        let mut sum = 0.0;
        let fits = |calls: &&&Calls| {
            sum += seconds(calls);
            sum <= NEGLIGIBLE * total
        };
        let negligible = all.iter().take_while(fits).count();
        let worth = all.split_off(negligible);
        (worth, all)
    }

    /// The entries for a communicator of `ranks`, on `nodes` if that is known.
    pub fn on(&self, ranks: usize, nodes: Option<usize>) -> impl Iterator<Item = &Calls> {
        self.calls.iter().filter(move |calls| calls.are_on(ranks, nodes))
    }

    /// Sizes of communicators that the mix names.
    #[must_use]
    pub fn communicator_sizes(&self) -> BTreeSet<usize> {
        self.calls.iter().filter_map(|calls| calls.ranks).collect()
    }
}

/// Checks an entry, which begins `at`. The error has the place and the mistake.
fn calls(raw: RawCalls, at: &Range<usize>) -> Result<Calls, At<Mistake>> {
    let place = raw.function.span();
    let function = raw.function.into_inner();
    functions("--functions", vec![function.clone()]).map_err(|error| At {
        at: place,
        what: Mistake::Function(error.message),
    })?;
    let has_bytes = !WITHOUT_BYTES.contains(&function.as_str());
    let bytes = match raw.bytes {
        Some(bytes) if !has_bytes => return Err(At::value(&bytes, Mistake::NoVolume(function))),
        None if !has_bytes => (0, 0),
        None => {
            return Err(At {
                at: at.clone(),
                what: Mistake::Volume(function),
            });
        }
        Some(bytes) => {
            let at = bytes.span();
            range(bytes.into_inner()).map_err(|what| At { at, what })?
        }
    };
    let count = match raw.calls {
        Some(count) if !(count.as_ref().is_finite() && *count.as_ref() > 0.0) => {
            return Err(At::value(&count, Mistake::Calls(*count.as_ref())));
        }
        count => count.map_or(1.0, Spanned::into_inner),
    };
    let seconds = match raw.seconds {
        Some(seconds) if !(seconds.as_ref().is_finite() && *seconds.as_ref() >= 0.0) => {
            return Err(At::value(&seconds, Mistake::CallSeconds(*seconds.as_ref())));
        }
        seconds => seconds.map(Spanned::into_inner),
    };
    let positive = |key, what, value: Option<Spanned<usize>>| match value {
        Some(value) if *value.as_ref() == 0 => Err(At::value(&value, Mistake::Zero { key, what })),
        value => Ok(value.map(Spanned::into_inner)),
    };
    let ranks = positive("ranks", "size of a communicator", raw.ranks)?;
    let nodes = positive("nodes", "number of nodes", raw.nodes)?;
    Ok(Calls {
        function,
        bytes,
        count,
        seconds,
        ranks,
        nodes,
    })
}

/// Reads `4096`, `4KiB` or `1KiB..64KiB`.
fn range(raw: RawBytes) -> Result<(u64, u64), Mistake> {
    let text = match raw {
        RawBytes::Number(number) => number.to_string(),
        RawBytes::Text(text) => text,
    };
    let size = |text: &str| parse_bytes("bytes", text).map_err(|error| Mistake::Bytes(error.message));
    let (low, high) = match text.split_once("..") {
        Some((low, high)) => (size(low)?, size(high)?),
        None => (size(&text)?, size(&text)?),
    };
    if low > high {
        return Err(Mistake::EmptyRange(text));
    }
    Ok((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: [u64; 4] = [1024, 65536, 262_144, 1 << 20];

    fn counts(made: BTreeMap<u64, Made>) -> BTreeMap<u64, f64> {
        made.into_iter().map(|(bytes, made)| (bytes, made.count)).collect()
    }

    #[test]
    fn seconds_are_those_of_the_mix_or_what_such_calls_take_about() {
        let text = "[[call]]\nfunction = \"bcast\"\nbytes = \"1KiB..64KiB\"\ncalls = 2\nseconds = 6.0\n\
                    [[call]]\nfunction = \"bcast\"\nbytes = 1024\ncalls = 1e6";
        let mix = Mix::parse(text, "mix.toml").unwrap();
        let made = mix.of("bcast", 4, None, &GRID);
        assert_eq!(
            made[&65536],
            Made {
                count: 1.0,
                seconds: 3.0
            }
        );
        assert!((5.0..6.0).contains(&made[&1024].seconds), "{made:?}");
    }

    #[test]
    fn the_example_is_read() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/mixes/example.toml");
        let mix = Mix::load(Path::new(path)).unwrap();
        assert_eq!(
            counts(mix.of("allreduce", 8, None, &GRID)),
            BTreeMap::from([(8, 240_000.0)])
        );
        let transpose = BTreeMap::from([(65536, 400.0), (262_144, 400.0), (1 << 20, 400.0)]);
        assert_eq!(counts(mix.of("alltoall", 8, None, &GRID)), transpose);
        assert!(mix.of("gather", 8, None, &GRID).is_empty() && mix.of("bcast", 8, None, &GRID).is_empty());
        assert_eq!(
            counts(mix.of("gather", 2, None, &GRID)),
            BTreeMap::from([(262_144, 40.0)])
        );
        assert_eq!(mix.communicator_sizes(), BTreeSet::from([2]));
    }

    #[test]
    fn calls_that_hold_a_hundredth_together_are_left_alone_where_all_seconds_are_known() {
        let entry = |bytes: u64, rest: &str| format!("[[call]]\nfunction = \"bcast\"\nbytes = {bytes}\n{rest}\n");
        let parse = |text: String| Mix::parse(&text, "mix.toml").unwrap();
        let known = |last: &str| {
            let all = [(8, "0.004"), (16, "0.99"), (64, "0.003"), (512, "0.005")];
            let mut text: String = all
                .iter()
                .map(|(bytes, seconds)| entry(*bytes, &format!("seconds = {seconds}")))
                .collect();
            text += &entry(4096, last);
            parse(text)
        };
        let left = |mix: &Mix| {
            let all = mix.by_weight(2, None).1.into_iter();
            all.map(|calls| calls.bytes.0).collect::<Vec<_>>()
        };
        let mix = known("seconds = 0.01");
        assert_eq!(left(&mix), [64, 8], "with 512 B they are more than a hundredth");
        let sizes: Vec<u64> = mix.of("bcast", 2, None, &[]).into_keys().collect();
        assert_eq!(sizes, [16, 512, 4096]);
        assert!(left(&known("calls = 1")).is_empty(), "nobody knows what it takes");
        assert!(left(&known("seconds = 0.01\nranks = 4")).contains(&64));
    }

    #[test]
    fn a_range_without_a_size_of_the_grid_stands_for_its_ends_and_equal_sizes_add_up() {
        let text =
            "[[call]]\nfunction = \"bcast\"\nbytes = \"3..5\"\n[[call]]\nfunction = \"bcast\"\nbytes = 5\ncalls = 2.5";
        let mix = Mix::parse(text, "mix.toml").unwrap();
        assert_eq!(
            counts(mix.of("bcast", 4, None, &GRID)),
            BTreeMap::from([(3, 0.5), (5, 3.0)])
        );
    }

    #[test]
    fn a_barrier_has_no_volume() {
        let mix = Mix::parse("[[call]]\nfunction = \"barrier\"\ncalls = 7", "mix.toml").unwrap();
        assert_eq!(counts(mix.of("barrier", 4, None, &GRID)), BTreeMap::from([(0, 7.0)]));
    }

    #[test]
    fn errors_name_file_line_key_and_what_is_allowed() {
        let entry = |rest: &str| format!("[[call]]\nfunction = \"reduce\"\n{rest}");
        for (text, parts) in [
            (entry("bytes = \"4kb\""), ["line 3", "bytes", "64KiB"]),
            (entry("bytes = 0"), ["line 3", "bytes", "from 1 B"]),
            (entry("bytes = \"8..1\""), ["line 3", "bytes", "empty range"]),
            (entry("bytes = 8\ncalls = -1"), ["line 4", "calls", "above 0"]),
            (entry("bytes = 8\ncalls = nan"), ["line 4", "calls", "above 0"]),
            (entry("bytes = 8\nseconds = -1"), ["line 4", "seconds", "0 and above"]),
            (entry("bytes = 8\nranks = 0"), ["line 4", "ranks", "at least 1"]),
            (entry("bytes = 8\nrank = 2"), ["line 4", "rank", "ranks"]),
            (entry(""), ["line 1", "bytes", "4KiB"]),
            (
                "[[call]]\nfunction = \"redoce\"\nbytes = 8".to_owned(),
                ["line 2", "function", "allowed"],
            ),
            (
                "[[call]]\nfunction = \"barrier\"\nbytes = 8".to_owned(),
                ["line 3", "bytes", "no volume"],
            ),
            ("call = []".to_owned(), ["no `[[call]]`", "list", "one"]),
        ] {
            let message = Mix::parse(&text, "mix.toml").unwrap_err().to_string();
            assert!(message.starts_with("mix.toml: "), "{message}");
            assert!(parts.iter().all(|part| message.contains(part)), "{parts:?}: {message}");
        }
    }
}
