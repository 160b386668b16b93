//! Settings in force in a launch: the site's and a setup's.

use std::collections::BTreeMap;

use kilter_model::setup::Setup;

/// Names and values.
pub(super) type Pairs = Vec<(String, String)>;

/// Parameters and environment of a launch: the site's, and then those of a setup, which win, since to change one of the site's may be just
/// what is tried. Of files that are to be proven the site's own words for the same are left out: on the command line they would win, so they
/// must go where the files are deployed.
pub(super) fn combined(
    (site_parameters, site_environment): (&Pairs, &Pairs),
    setup: &Setup,
    switching: &BTreeMap<String, String>,
    measured: &BTreeMap<String, String>,
) -> (Pairs, Pairs) {
    let is_in = |list: &Pairs, name: &str| list.iter().any(|(other, _)| other == name);
    let owned = |(name, value): (&String, &String)| (name.clone(), value.clone());
    let mut parameters = site_parameters.clone();
    parameters.retain(|(name, _)| !is_in(&setup.expected, name));
    if setup.switching {
        parameters.extend(switching.iter().map(owned));
    }
    parameters.extend(setup.parameters.iter().cloned());
    // The drop-in comes before what the site preloads: both lists are joined by the template.
    let is_replaced = |name: &str| {
        name != "LD_PRELOAD" && (is_in(&setup.environment, name) || is_in(&setup.expected_environment, name))
    };
    let mut kept = site_environment.clone();
    kept.retain(|(name, _)| !is_replaced(name));
    let mut environment = setup.environment.clone();
    let is_said = |name: &str| is_in(&kept, name) || is_replaced(name);
    environment.extend(measured.iter().filter(|(name, _)| !is_said(name)).map(owned));
    environment.extend(kept);
    (parameters, environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(words: &[(&str, &str)]) -> Pairs {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        words.iter().map(owned).collect()
    }

    /// A setting tried against the site's is in force, and does not hide the file's.
    #[test]
    fn a_setup_wins_over_the_site() {
        let site = (
            pairs(&[("p", "site"), ("q", "site"), ("r", "site")]),
            pairs(&[("A", "site"), ("B", "site"), ("C", "site"), ("LD_PRELOAD", "site.so")]),
        );
        let setup = Setup {
            parameters: pairs(&[("p", "tried")]),
            expected: pairs(&[("q", "file")]),
            environment: pairs(&[("A", "tried"), ("LD_PRELOAD", "own.so")]),
            expected_environment: pairs(&[("B", "file")]),
            ..Setup::default()
        };
        let measuring: BTreeMap<String, String> = pairs(&[("C", "1"), ("D", "1"), ("A", "1")]).into_iter().collect();
        let (parameters, environment) = combined((&site.0, &site.1), &setup, &BTreeMap::new(), &measuring);
        assert_eq!(parameters, pairs(&[("p", "site"), ("r", "site"), ("p", "tried")]));
        assert_eq!(
            environment,
            pairs(&[
                ("A", "tried"),
                ("LD_PRELOAD", "own.so"),
                ("D", "1"),
                ("C", "site"),
                ("LD_PRELOAD", "site.so")
            ])
        );
    }
}
