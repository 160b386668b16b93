//! State in which the library is measured: the description's (`[measuring]`), unless the site or the user has decided it.

use std::collections::BTreeMap;

use super::Site;

/// State in which the library is measured.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Measured {
    /// Environment of every launch.
    pub environment: BTreeMap<String, String>,
    /// Names that the site or the user sets otherwise than the description would.
    pub otherwise: Vec<String>,
}

impl Site<'_> {
    /// State in which the library is measured. A variable in the environment of this process counts as the site's, as its jobs run with it;
    /// a launcher that does not hand it on is told.
    #[must_use]
    pub fn measured(&self) -> Measured {
        let own = self.library.measuring.as_ref().map(|one| &one.environment);
        measured(own, &self.options.site_environment, &|name| std::env::var(name).ok())
    }

    /// Part of that state which files carry that deploy anything.
    #[must_use]
    pub fn measured_in_files(&self) -> Vec<(String, String)> {
        if !self.library.measuring.as_ref().is_some_and(|one| one.in_files) {
            return Vec::new();
        }
        let Measured { environment, otherwise } = self.measured();
        let all = environment.into_iter();
        all.filter(|(name, _)| !otherwise.contains(name)).collect()
    }
}

fn measured(
    own: Option<&BTreeMap<String, String>>,
    site: &[(String, String)],
    in_environment: &dyn Fn(&str) -> Option<String>,
) -> Measured {
    let mut state = Measured::default();
    for (name, value) in own.into_iter().flatten() {
        let by_option = site.iter().rev().find(|(other, _)| other == name);
        let theirs = by_option
            .map(|(_, value)| value.clone())
            .or_else(|| in_environment(name));
        let theirs = theirs.filter(|theirs| !theirs.is_empty() && theirs != value);
        if theirs.is_some() {
            state.otherwise.push(name.clone());
        }
        state
            .environment
            .insert(name.clone(), theirs.unwrap_or_else(|| value.clone()));
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_site_has_decided_holds_and_is_known() {
        let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            let owned = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            owned.collect()
        };
        let own = map(&[("A", "0"), ("B", "0"), ("C", "0"), ("D", "0")]);
        let site =
            [("A", "1"), ("A", "2"), ("B", "0"), ("E", "1")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let in_environment = |name: &str| ["A", "C", "E"].contains(&name).then(|| "3".to_owned());
        let state = measured(Some(&own), &site, &in_environment);
        assert_eq!(
            state.environment,
            map(&[("A", "2"), ("B", "0"), ("C", "3"), ("D", "0")])
        );
        assert_eq!(state.otherwise, ["A", "C"]);
        assert_eq!(measured(None, &site, &in_environment), Measured::default());
    }
}
