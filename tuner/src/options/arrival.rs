//! Arrival patterns: the words of `--arrival`, and files of offsets.

use std::path::Path;

use kilter_model::arrival::Arrival;
use kilter_model::options::{OptionError, wrong};
use kilter_profiling::{arrivals, store};
use kilter_protocol::plan::Shape;

const OPTION: &str = "--arrival";

const ALLOWED: &str = "none, late-one, late-one@RANK, linear, random, or a file of seconds by rank, each with :xFACTOR behind it if wanted";

/// The patterns that were asked for in a job of so many ranks, without `none`, which is always measured.
pub(super) fn patterns(typed: &[String], ranks: usize) -> Result<Vec<Arrival>, OptionError> {
    let mut patterns: Vec<Arrival> = Vec::new();
    for text in typed.iter().map(|text| text.trim()).filter(|text| *text != "none") {
        let one = pattern(text, ranks)?;
        if !patterns.contains(&one) {
            patterns.push(one);
        }
    }
    Ok(patterns)
}

fn pattern(text: &str, ranks: usize) -> Result<Arrival, OptionError> {
    let (name, factor) = match text.rsplit_once(":x") {
        Some((name, factor)) => {
            let value = factor
                .parse::<f64>()
                .ok()
                .filter(|value| value.is_finite() && *value > 0.0);
            let value = value.ok_or_else(|| {
                wrong(
                    OPTION,
                    format!("`{factor}` in `{text}` is no factor; give a number above 0, such as {name}:x2"),
                )
            })?;
            (name, Some(value))
        }
        None => (text, None),
    };
    let shape = match name.split_once('@') {
        Some(("late-one", rank)) => {
            let number = rank.parse::<usize>().ok().filter(|rank| *rank < ranks).ok_or_else(|| {
                wrong(
                    OPTION,
                    format!("`{rank}` in `{text}` is no rank; give one from 0 to {}", ranks - 1),
                )
            })?;
            Shape::LateOne { rank: Some(number) }
        }
        _ => match name {
            "late-one" => Shape::LateOne { rank: None },
            "linear" => Shape::Linear,
            "random" => Shape::Random,
            file => {
                return Ok(Arrival {
                    shape: Shape::Listed {
                        seconds: offsets_of(Path::new(file), ranks)?,
                    },
                    name: file.to_owned(),
                    factor,
                });
            }
        },
    };
    Ok(Arrival {
        name: name.to_owned(),
        shape,
        factor: Some(factor.unwrap_or(1.0)),
    })
}

/// Offsets of a file: a profile of an application, a JSON list, or text with one number a line; the first rank comes at 0.
fn offsets_of(path: &Path, ranks: usize) -> Result<Vec<f64>, OptionError> {
    let shown = path.display();
    if !path.is_file() {
        return Err(wrong(
            OPTION,
            format!("`{shown}` is no arrival pattern and no file; allowed: {ALLOWED}"),
        ));
    }
    if store::is_profile(path) {
        let profile = store::read(path).map_err(|error| wrong(OPTION, error.to_string()))?;
        return arrivals::offsets(&profile, ranks).ok_or_else(|| {
            let message = format!(
                "the profile `{shown}` has no communicator of {ranks} ranks that all make collective calls on it; give --ranks, or a file of \
                 seconds by rank"
            );
            wrong(OPTION, message)
        });
    }
    let text =
        std::fs::read_to_string(path).map_err(|error| wrong(OPTION, format!("`{shown}` cannot be read: {error}")))?;
    let seconds = if text.trim_start().starts_with('[') {
        of_json(&text)
    } else {
        of_lines(&text)
    };
    let seconds = seconds.map_err(|mistake| wrong(OPTION, format!("`{shown}`, {mistake}")))?;
    if seconds.len() != ranks {
        let message = format!(
            "`{shown}` has the seconds of {} ranks, and the job has {ranks}; give one number for each rank",
            seconds.len()
        );
        return Err(wrong(OPTION, message));
    }
    let first = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(seconds.iter().map(|one| one - first).collect())
}

/// A mistake in a file of offsets.
#[derive(Debug, thiserror::Error)]
enum Mistake {
    #[error("line {}: {error}; give a list of seconds", error.line())]
    NoList { error: serde_json::Error },
    #[error("rank {rank}: `{value}` is no number of seconds")]
    Value { rank: usize, value: serde_json::Value },
    #[error("line {line} (rank {rank}): `{text}` is no number of seconds")]
    Line { line: usize, rank: usize, text: String },
}

fn of_json(text: &str) -> Result<Vec<f64>, Mistake> {
    let values: Vec<serde_json::Value> = serde_json::from_str(text).map_err(|error| Mistake::NoList { error })?;
    let number = |(rank, value): (usize, serde_json::Value)| {
        let seconds = value.as_f64().filter(|seconds| seconds.is_finite());
        seconds.ok_or(Mistake::Value { rank, value })
    };
    values.into_iter().enumerate().map(number).collect()
}

fn of_lines(text: &str) -> Result<Vec<f64>, Mistake> {
    let lines = text
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line.split('#').next().unwrap_or_default().trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty());
    let number = |(rank, (line, text)): (usize, (usize, &str))| {
        let seconds = text.parse::<f64>().ok().filter(|seconds| seconds.is_finite());
        seconds.ok_or_else(|| Mistake::Line {
            line,
            rank,
            text: text.to_owned(),
        })
    };
    lines.enumerate().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str, ranks: usize) -> Result<Vec<Arrival>, OptionError> {
        let words: Vec<String> = text.split(',').map(str::to_owned).collect();
        patterns(&words, ranks)
    }

    #[test]
    fn words_become_patterns_and_none_is_always_measured() {
        let found = typed("none,late-one,late-one@2:x0.5,linear,random,random", 4).unwrap();
        let words: Vec<String> = found.iter().map(Arrival::words).collect();
        assert_eq!(
            words,
            [
                "when the last rank is late",
                "when rank 2 is late (x0.5)",
                "when ranks arrive one after the other",
                "when ranks arrive at random"
            ]
        );
        assert_eq!(typed("none", 4).unwrap(), []);
    }

    #[test]
    fn what_is_no_pattern_says_what_is() {
        for (text, part) in [
            (
                "randm",
                "`randm` is no arrival pattern and no file; allowed: none, late-one",
            ),
            ("late-one@4", "`4` in `late-one@4` is no rank; give one from 0 to 3"),
            ("random:x-1", "`-1` in `random:x-1` is no factor"),
        ] {
            let message = typed(text, 4).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn a_file_has_a_number_for_each_rank_from_the_first_one_on() {
        let directory = tempfile::tempdir().unwrap();
        let written = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let listed = |text: &str, ranks| -> Result<Vec<f64>, OptionError> {
            let found = typed(text, ranks)?;
            match &found[0].shape {
                Shape::Listed { seconds } => Ok(seconds.clone()),
                other => panic!("{other:?}"),
            }
        };
        let text = written("a.txt", "# seconds\n1e-3\n\n3e-3 # late\n");
        let offsets = listed(&text, 2).unwrap();
        assert!(offsets[0] == 0.0 && (offsets[1] - 2e-3).abs() < 1e-12, "{offsets:?}");
        assert_eq!(listed(&written("a.json", "[0, 0.5]"), 2).unwrap(), [0.0, 0.5]);
        for (file, part) in [
            (&text, "has the seconds of 2 ranks, and the job has 3"),
            (
                &written("b.txt", "0\n# x\nlate\n"),
                "b.txt`, line 3 (rank 1): `late` is no number of seconds",
            ),
            (
                &written("b.json", "[0,\n \"x\"]"),
                "b.json`, rank 1: `\"x\"` is no number",
            ),
            (&written("c.json", "[0,\n"), "c.json`, line 2: "),
        ] {
            let message = listed(file, 3).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
