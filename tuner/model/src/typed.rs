//! Values as people type them: sizes, names of functions, pairs, paths; and the errors for those that make no sense.

use std::path::{Path, PathBuf};

use kilter_protocol::expression::Side;

/// Error: an option that makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("{option}: {message}")]
pub struct OptionError {
    /// Option as typed.
    pub option: &'static str,
    /// The mistake, and what is allowed.
    pub message: String,
}

/// Error for an option that makes no sense, with what is allowed.
#[must_use]
pub fn wrong(option: &'static str, message: impl Into<String>) -> OptionError {
    OptionError {
        option,
        message: message.into(),
    }
}

/// Checks names of functions as guidelines call them: every function of the language. The error says what is allowed.
pub fn functions(option: &'static str, names: Vec<String>) -> Result<Vec<String>, OptionError> {
    for name in &names {
        if format!("{name}(n)").parse::<Side>().is_err() {
            name.parse::<Side>()
                .map_err(|error| wrong(option, format!("`{name}` is no function; allowed: {}", error.allowed)))?;
        }
    }
    Ok(names)
}

/// Absolute paths of the plugins of a list, each once.
pub fn plugins(typed: &[PathBuf]) -> Result<Vec<PathBuf>, OptionError> {
    let mut files: Vec<PathBuf> = Vec::with_capacity(typed.len());
    for file in typed {
        let file = absolute("--plugin", file)?;
        if !files.contains(&file) {
            files.push(file);
        }
    }
    Ok(files)
}

/// Absolute path of `path`.
pub fn absolute(option: &'static str, path: &Path) -> Result<PathBuf, OptionError> {
    std::path::absolute(path).map_err(|error| wrong(option, format!("`{}`: {error}", path.display())))
}

/// Reads `NAME=VALUE` of each text, leaving out empty ones.
pub fn pairs(option: &'static str, typed: &[String]) -> Result<Vec<(String, String)>, OptionError> {
    typed
        .iter()
        .filter(|text| !text.is_empty())
        .map(|text| match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
            _ => Err(wrong(option, format!("`{text}` is not NAME=VALUE"))),
        })
        .collect()
}

/// Reads a size such as `4096`, `4K`, `4KiB` or `1M`. K, M and G are powers of 1024, in either case.
pub fn parse_bytes(option: &'static str, text: &str) -> Result<u64, OptionError> {
    const KIB: u64 = 1 << 10;
    const UNITS: [(&str, u64); 7] = [
        ("kib", KIB),
        ("mib", KIB * KIB),
        ("gib", KIB * KIB * KIB),
        ("k", KIB),
        ("m", KIB * KIB),
        ("g", KIB * KIB * KIB),
        ("b", 1),
    ];
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    let (digits, factor) = UNITS
        .into_iter()
        .find_map(|(unit, factor)| lower.strip_suffix(unit).map(|digits| (digits.trim_end(), factor)))
        .unwrap_or((&lower, 1));
    digits
        .parse::<u64>()
        .ok()
        .and_then(|value| value.checked_mul(factor))
        .filter(|bytes| (1..=1 << 30).contains(bytes))
        .ok_or_else(|| {
            wrong(
                option,
                format!("`{text}` is not a size from 1 B to 1GiB, such as 4096, 4K, 64KiB or 1M (K is 1024)"),
            )
        })
}

/// Reads a list `1,4096,1MiB`, or a range `1..1MiB` of powers of two, or `1..1MiB:x4`; ascending, each once. Errors are
/// a part that is no size, an empty range, and a factor below 2.
pub fn parse_sizes(text: &str) -> Result<Vec<u64>, OptionError> {
    const OPTION: &str = "--sizes";
    let mut sizes = Vec::new();
    for part in text.split(',') {
        let Some((low, high)) = part.split_once("..") else {
            sizes.push(parse_bytes(OPTION, part)?);
            continue;
        };
        let (high, factor) = match high.split_once(":x") {
            None => (high, 2),
            Some((high, factor)) => match factor.parse::<u64>() {
                Ok(value) if value >= 2 => (high, value),
                _ => return Err(wrong(OPTION, format!("`:x{factor}` is not a factor of 2 or more"))),
            },
        };
        let (low, high) = (parse_bytes(OPTION, low)?, parse_bytes(OPTION, high)?);
        if low > high {
            return Err(wrong(OPTION, format!("`{part}` is an empty range")));
        }
        sizes
            .extend(std::iter::successors(Some(low), |size| size.checked_mul(factor)).take_while(|size| *size <= high));
    }
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_lists_and_ranges() {
        assert_eq!(parse_sizes("4096,1,1MiB,1").unwrap(), [1, 4096, 1 << 20]);
        assert_eq!(parse_sizes("1..8").unwrap(), [1, 2, 4, 8]);
        assert_eq!(parse_sizes("1..1KiB:x4,3").unwrap(), [1, 3, 4, 16, 64, 256, 1024]);
    }

    #[test]
    fn sizes_are_read_as_people_type_them() {
        for (text, bytes) in [
            ("4096", 4096),
            ("8B", 8),
            ("8 b", 8),
            ("1k", 1 << 10),
            ("4K", 4 << 10),
            ("4kib", 4 << 10),
            ("64 KiB", 64 << 10),
            ("1m", 1 << 20),
            ("1M", 1 << 20),
            ("1MiB", 1 << 20),
            ("1g", 1 << 30),
            ("1GiB", 1 << 30),
        ] {
            assert_eq!(parse_bytes("--sizes", text).unwrap(), bytes, "{text}");
        }
        assert_eq!(parse_sizes("1k..4K,1M").unwrap(), [1 << 10, 2 << 10, 4 << 10, 1 << 20]);
        // Kilter does not guess if 1 KB is 1000 or 1024 bytes.
        for text in ["1KB", "1MB", "k", "1kk", "1.5M", "-1", "2G", "1 k b"] {
            assert!(parse_bytes("--sizes", text).is_err(), "{text}");
        }
    }

    #[test]
    fn bad_sizes_say_what_is_allowed() {
        for (text, part) in [
            ("0", "from 1 B to 1GiB"),
            ("8..1", "empty range"),
            ("1..8:x1", "factor"),
            ("4kb", "64KiB"),
        ] {
            let message = parse_sizes(text).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn pairs_keep_further_equals_signs() {
        assert_eq!(
            pairs("--env", &["A=b=c".to_owned()]).unwrap(),
            [("A".to_owned(), "b=c".to_owned())]
        );
        assert!(pairs("--env", &["=x".to_owned()]).is_err());
    }
}
