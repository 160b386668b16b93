//! Makes the rule that ends an item's repetitions from `--repetitions` and its companions.
//!
//! `rse=T` is the relative standard error of the mean; `cov-mean=T/W` and `cov-median=T/W` are the coefficients of variation of
//! the last `W` running means and medians. All that are named must hold. Sources in [`kilter_protocol::repetitions`].

use kilter_protocol::plan::{Repetitions, StopRules, Window};

/// Widest window: a running statistic is kept for each item of a block.
const WIDEST: u32 = 10_000;

/// Methods as they are typed.
const ALLOWED: &str = "rse=T, cov-mean=T/W and cov-median=T/W, such as rse=0.02,cov-mean=0.01/10; or none; or variance";

/// Options that make no rule, with what is allowed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoRule {
    /// A method has no threshold.
    #[error("`{0}` is no method with its threshold; allowed are {ALLOWED}")]
    NoThreshold(String),
    /// A method is none.
    #[error("`{0}` is no method; allowed are {ALLOWED}")]
    NoMethod(String),
    /// A method is named again.
    #[error("`{0}` is named twice; name each method once")]
    Twice(String),
    /// A threshold is none.
    #[error("`{part}`: `{text}` is no threshold between 0 and 1, such as 0.02")]
    Threshold {
        /// The method with its threshold.
        part: String,
        /// The threshold.
        text: String,
    },
    /// A method has no window.
    #[error("`{0}` has no window; write the threshold, a slash and the window, such as 0.01/10")]
    NoWindow(String),
    /// A window is none.
    #[error("`{part}`: `{size}` is no window of 2 to {WIDEST} values")]
    Window {
        /// The method with its threshold and window.
        part: String,
        /// The window.
        size: String,
    },
    /// A window is wider than there are repetitions.
    #[error("a window of {size} is never full within --max-repetitions {max}; make one of them fit the other")]
    NeverFull {
        /// The window.
        size: u32,
        /// Most repetitions.
        max: u32,
    },
    /// The fewest repetitions are 0.
    #[error("`0` measures nothing; give at least 1")]
    NoRepetition,
    /// The most repetitions are fewer than the fewest.
    #[error("`{max}` is below --min-repetitions {min}; give at least that")]
    MostBelowFewest {
        /// Most repetitions.
        max: u32,
        /// Fewest repetitions.
        min: u32,
    },
    /// The step is 0.
    #[error("`0` is no step; give at least 1")]
    NoStep,
    /// The time is none.
    #[error("`{0}` is no time; give seconds above 0, such as 0.25")]
    NoTime(f64),
}

impl NoRule {
    /// The option that makes no sense.
    #[must_use]
    pub fn option(&self) -> &'static str {
        match self {
            Self::NoRepetition => "--min-repetitions",
            Self::MostBelowFewest { .. } => "--max-repetitions",
            Self::NoStep => "--repetition-step",
            Self::NoTime(_) => "--repetition-seconds",
            _ => "--repetitions",
        }
    }
}

/// The rule in words that [`parse`] reads, such as `rse=0.02,cov-mean=0.01/10`.
#[must_use]
pub fn to_text(rules: &StopRules) -> String {
    let window = |name: &str, rule: Window| format!("{name}={}/{}", rule.threshold, rule.size);
    let methods: Vec<String> = [
        rules
            .relative_standard_error
            .map(|threshold| format!("rse={threshold}")),
        rules.mean.map(|rule| window("cov-mean", rule)),
        rules.median.map(|rule| window("cov-median", rule)),
    ]
    .into_iter()
    .flatten()
    .collect();
    if methods.is_empty() {
        "none".to_owned()
    } else {
        methods.join(",")
    }
}

/// The word for repetitions that follow from variance components.
const BY_VARIANCE: &str = "variance";

/// Fewest repetitions if predictors decide.
const MIN_PREDICTED: u32 = 8;

/// Fewest repetitions where the screening says how many: it has its own least number for each block.
const MIN_BY_VARIANCE: u32 = 1;

/// True if repetitions follow from variance components, and not from predictors.
#[must_use]
pub fn is_by_variance(methods: &str) -> bool {
    methods.trim() == BY_VARIANCE
}

/// Reads `rse=0.02,cov-mean=0.01/10,cov-median=0.005/20`, or `none`. The error names the first wrong part, with what is
/// allowed.
pub fn parse(text: &str) -> Result<StopRules, NoRule> {
    let mut rules = StopRules::default();
    if text.trim() == "none" || is_by_variance(text) {
        return Ok(rules);
    }
    for part in text.split(',') {
        let part = part.trim();
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| NoRule::NoThreshold(part.to_owned()))?;
        let taken = match name {
            "rse" => rules.relative_standard_error.replace(threshold(part, value)?).is_some(),
            "cov-mean" => rules.mean.replace(window(part, value)?).is_some(),
            "cov-median" => rules.median.replace(window(part, value)?).is_some(),
            _ => return Err(NoRule::NoMethod(name.to_owned())),
        };
        if taken {
            return Err(NoRule::Twice(name.to_owned()));
        }
    }
    Ok(rules)
}

fn threshold(part: &str, text: &str) -> Result<f64, NoRule> {
    text.parse()
        .ok()
        .filter(|value| *value > 0.0 && *value < 1.0)
        .ok_or_else(|| NoRule::Threshold {
            part: part.to_owned(),
            text: text.to_owned(),
        })
}

fn window(part: &str, text: &str) -> Result<Window, NoRule> {
    let (value, size) = text.split_once('/').ok_or_else(|| NoRule::NoWindow(part.to_owned()))?;
    Ok(Window {
        threshold: threshold(part, value)?,
        size: size
            .parse()
            .ok()
            .filter(|size| (2..=WIDEST).contains(size))
            .ok_or_else(|| NoRule::Window {
                part: part.to_owned(),
                size: size.to_owned(),
            })?,
    })
}

/// Combines the options; `seconds` limits each item of a launch. The error names the wrong option.
pub fn repetitions(methods: &str, min: Option<u32>, max: u32, step: u32, seconds: f64) -> Result<Repetitions, NoRule> {
    let fewest = if is_by_variance(methods) {
        MIN_BY_VARIANCE
    } else {
        MIN_PREDICTED
    };
    let min = min.unwrap_or_else(|| fewest.min(max));
    let stop = parse(methods)?;
    if min == 0 {
        return Err(NoRule::NoRepetition);
    }
    if max < min {
        return Err(NoRule::MostBelowFewest { max, min });
    }
    if step == 0 {
        return Err(NoRule::NoStep);
    }
    if !(seconds > 0.0 && seconds.is_finite()) {
        return Err(NoRule::NoTime(seconds));
    }
    let widest = [stop.mean, stop.median]
        .into_iter()
        .flatten()
        .map(|rule| rule.size)
        .max();
    if let Some(size) = widest.filter(|size| *size > max) {
        return Err(NoRule::NeverFull { size, max });
    }
    Ok(Repetitions {
        min,
        max,
        step,
        stop,
        seconds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_read_alone_and_combined() {
        assert_eq!(parse("rse=0.02").unwrap().relative_standard_error, Some(0.02));
        let all = parse("rse=0.02, cov-mean=0.01/10 ,cov-median=0.005/20").unwrap();
        assert_eq!(
            all,
            StopRules {
                relative_standard_error: Some(0.02),
                mean: Some(Window {
                    threshold: 0.01,
                    size: 10
                }),
                median: Some(Window {
                    threshold: 0.005,
                    size: 20
                }),
            }
        );
        assert!(parse("none").unwrap().is_empty());
        for text in ["none", "rse=0.02,cov-mean=0.01/10,cov-median=0.005/20"] {
            assert_eq!(to_text(&parse(text).unwrap()), text);
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_allowed() {
        for (text, part) in [
            ("", "`` is no method"),
            ("rse", "`rse` is no method with its threshold; allowed are rse=T"),
            ("var=0.1", "`var` is no method; allowed are rse=T, cov-mean=T/W"),
            ("rse=2", "`rse=2`: `2` is no threshold between 0 and 1"),
            ("rse=nan", "`nan` is no threshold"),
            ("cov-mean=0.1", "`cov-mean=0.1` has no window"),
            ("cov-median=0.1/1", "`1` is no window of 2 to 10000 values"),
            ("cov-median=x/5", "`x` is no threshold"),
            ("rse=0.1,rse=0.2", "`rse` is named twice"),
            ("rse=0.1,none", "`none` is no method"),
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn by_variance_has_no_methods_and_leaves_the_fewest_to_the_screening() {
        let rule = repetitions("variance", None, 60, 1, 0.25).unwrap();
        assert!(rule.stop.is_empty() && is_by_variance(" variance "));
        assert_eq!((rule.min, rule.max), (1, 60));
        assert_eq!(repetitions("variance", Some(2), 60, 1, 0.25).unwrap().min, 2);
        assert_eq!(repetitions("rse=0.02", None, 60, 1, 0.25).unwrap().min, 8);
    }

    #[test]
    fn the_options_must_fit_each_other() {
        assert_eq!(
            repetitions("rse=0.02", None, 60, 1, 0.25).unwrap(),
            Repetitions::until(8, 60, 0.02, 0.25)
        );
        for (methods, min, max, step, option) in [
            ("rse", 8, 60, 1, "--repetitions"),
            ("rse=0.1", 0, 60, 1, "--min-repetitions"),
            ("rse=0.1", 8, 7, 1, "--max-repetitions"),
            ("rse=0.1", 8, 60, 0, "--repetition-step"),
            ("cov-mean=0.1/61", 8, 60, 1, "--repetitions"),
        ] {
            let error = repetitions(methods, Some(min), max, step, 1.0).unwrap_err();
            assert_eq!(error.option(), option);
        }
        for seconds in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = repetitions("rse=0.1", Some(8), 60, 1, seconds).unwrap_err();
            assert_eq!(error.option(), "--repetition-seconds");
            assert!(error.to_string().contains("give seconds above 0"), "{error}");
        }
    }
}
