//! The environment, as far as it may steer this process.

use std::ffi::OsString;
use std::ops::RangeInclusive;

/// A variable. None in a process that has more rights than who started it (set-user-ID, file capabilities): whoever starts it must not choose the
/// code that it loads. The dynamic linker ignores `LD_PRELOAD` there; a program may be linked with Kilter's libraries, too.
#[must_use]
pub fn variable(name: &str) -> Option<OsString> {
    of(has_more_rights(), || std::env::var_os(name))
}

fn of(has_more_rights: bool, read: impl FnOnce() -> Option<OsString>) -> Option<OsString> {
    if has_more_rights { None } else { read() }
}

/// True if the kernel has started this process with more rights than who started it has.
fn has_more_rights() -> bool {
    // SAFETY: reads a number that the kernel gave to the process.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// A variable whose value is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} is `{value}`; allowed: {allowed}")]
pub struct WrongValue {
    /// The variable.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// The values that are allowed, in words.
    pub allowed: String,
}

/// Variables, by the function that reads one. An empty one, or one of blanks, counts as unset.
#[derive(Debug)]
pub struct Variables<F>(pub F);

impl<F: Fn(&str) -> Option<OsString>> Variables<F> {
    /// The value as it is, such as a path.
    pub fn raw(&self, name: &str) -> Option<OsString> {
        let is_blank = |value: &OsString| value.to_string_lossy().trim().is_empty();
        (self.0)(name).filter(|value| !is_blank(value))
    }

    /// The value as text, without blanks around it.
    pub fn text(&self, name: &str) -> Option<String> {
        Some(self.raw(name)?.to_string_lossy().trim().to_owned())
    }

    /// One of these words.
    pub fn word<T: Copy>(&self, name: &'static str, words: &[(&str, T)]) -> Result<Option<T>, WrongValue> {
        self.parsed(
            name,
            |text| {
                words
                    .iter()
                    .find(|(word, _)| *word == text)
                    .map(|(_, meaning)| *meaning)
            },
            || words.iter().map(|(word, _)| *word).collect::<Vec<&str>>().join(", "),
        )
    }

    /// A whole number in a range; `unit` is a unit for people, or empty.
    pub fn number(
        &self,
        name: &'static str,
        range: &RangeInclusive<u64>,
        unit: &str,
    ) -> Result<Option<u64>, WrongValue> {
        self.parsed(
            name,
            |text| text.parse().ok().filter(|number| range.contains(number)),
            || {
                let allowed = format!("{} to {}", range.start(), range.end());
                if unit.is_empty() {
                    allowed
                } else {
                    format!("{allowed} ({unit})")
                }
            },
        )
    }

    /// The value that `parse` makes of the text; `allowed` says in words what it takes.
    pub fn parsed<T>(
        &self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
        allowed: impl FnOnce() -> String,
    ) -> Result<Option<T>, WrongValue> {
        let Some(value) = self.text(name) else { return Ok(None) };
        match parse(&value) {
            Some(parsed) => Ok(Some(parsed)),
            None => Err(WrongValue {
                name,
                value,
                allowed: allowed(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_steers_a_process_with_more_rights_than_his() {
        let read = || Some("/profile".into());
        assert_eq!(of(false, read), read());
        assert_eq!(of(true, read), None);
        assert!(!has_more_rights());
        assert_eq!(variable("PATH"), std::env::var_os("PATH"));
    }

    #[test]
    fn values_are_understood_or_named_with_what_is_allowed() {
        let variables = Variables(|name: &str| match name {
            "MODE" => Some(" on ".into()),
            "NUMBER" => Some("12".into()),
            "PATH" => Some("/a b/".into()),
            "BLANK" => Some("  ".into()),
            _ => None,
        });
        let words = [("on", 1), ("off", 2)];
        assert_eq!(variables.word("MODE", &words), Ok(Some(1)));
        assert_eq!(variables.word("BLANK", &words), Ok(None));
        assert_eq!(variables.number("NUMBER", &(0..=12), ""), Ok(Some(12)));
        assert_eq!(variables.raw("PATH"), Some("/a b/".into()));
        assert_eq!((variables.raw("BLANK"), variables.text("NONE")), (None, None));
        let wrong = variables.word("NUMBER", &words).unwrap_err();
        assert_eq!(wrong.to_string(), "NUMBER is `12`; allowed: on, off");
        let wrong = variables.number("NUMBER", &(1..=11), "MiB").unwrap_err();
        assert_eq!(wrong.to_string(), "NUMBER is `12`; allowed: 1 to 11 (MiB)");
        assert!(variables.number("MODE", &(0..=9), "").is_err());
    }
}
