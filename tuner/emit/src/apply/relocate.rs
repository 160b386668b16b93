//! Moves the paths inside the files: those in the staging directory become those of the files' destination.

/// A directory's old and new path, both absolute and without a `/` at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relocation {
    /// The staging directory as its files name it.
    pub from: String,
    /// Their new place.
    pub to: String,
}

impl Relocation {
    /// A value with the paths in it moved; entries of a list are separated by `:` or `,`.
    #[must_use]
    pub fn value(&self, value: &str) -> String {
        value
            .split_inclusive([':', ','])
            .map(|entry| match entry.strip_prefix(&self.from) {
                Some(rest) if rest.starts_with('/') => format!("{}{rest}", self.to),
                _ => entry.to_owned(),
            })
            .collect()
    }

    /// Values by name.
    #[must_use]
    pub fn pairs(&self, pairs: Vec<(String, String)>) -> Vec<(String, String)> {
        pairs
            .into_iter()
            .map(|(name, value)| (name, self.value(&value)))
            .collect()
    }

    /// The files below the new place that a value names, relative to it.
    pub fn named<'v>(&'v self, value: &'v str) -> impl Iterator<Item = &'v str> {
        value
            .split([':', ','])
            .filter_map(|entry| entry.strip_prefix(&self.to)?.strip_prefix('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_paths_are_moved_and_others_stay() {
        let relocation = Relocation {
            from: "/tmp/out/emit".to_owned(),
            to: "/usr/share/k".to_owned(),
        };
        for (value, moved) in [
            ("/tmp/out/emit/rules.conf", "/usr/share/k/rules.conf"),
            ("/a.so:/tmp/out/emit/lib/x.so", "/a.so:/usr/share/k/lib/x.so"),
            ("/tmp/out/emitted/x", "/tmp/out/emitted/x"),
            ("/x/tmp/out/emit/y", "/x/tmp/out/emit/y"),
            ("^openib,self", "^openib,self"),
        ] {
            assert_eq!(relocation.value(value), moved);
        }
        assert_eq!(
            relocation.named("/a:/usr/share/k/lib/x.so").collect::<Vec<_>>(),
            ["lib/x.so"]
        );
    }
}
