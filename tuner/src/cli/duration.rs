//! Durations as they are typed: seconds, or a number with its unit.

/// A text that is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no duration; give seconds such as 600, or 600s, 90m, 4h")]
pub(super) struct NoDuration(String);

/// Reads `600`, `600s`, `90m` or `4h`, as seconds.
pub(super) fn seconds(text: &str) -> Result<f64, NoDuration> {
    let units = [("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let with_unit = units
        .iter()
        .find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)));
    let (number, unit) = with_unit.unwrap_or((text, 1.0));
    let is_number = number.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
    let read = number.parse::<f64>().ok().filter(|_| is_number);
    read.map(|number| number * unit)
        .ok_or_else(|| NoDuration(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_minutes_and_hours() {
        for (text, expected) in [
            ("600", 600.0),
            ("600s", 600.0),
            ("1.5m", 90.0),
            ("4h", 14_400.0),
            ("-1", -1.0),
        ] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in ["", "h", "4d", "inf", "nan", "4 h", "0x4"] {
            let error = seconds(text).unwrap_err();
            assert_eq!(error, NoDuration(text.to_owned()));
            assert!(error.to_string().contains("90m, 4h"), "{error}");
        }
    }
}
