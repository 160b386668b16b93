//! Sizes of a call that share a change: their name, and the ranges for which the deployed files carry it.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_emit::{Emitted, File};
use kilter_model::config::library::Library;
use kilter_model::deployment::{Deployment, Selection};
use kilter_model::range;
use kilter_model::report::SizeRange;
use kilter_model::report::change::joined;
use kilter_profile::Profile;
use kilter_render::format;

/// The profile among the deployed files; `None` where there is none that can be read.
pub(super) fn profile(emitted: &Emitted) -> Option<Profile> {
    let file = emitted.directory.join(emitted.files.get(&File::Profile)?);
    let text = std::fs::read_to_string(&file).ok()?;
    Profile::read(&text, &file.display().to_string()).ok()
}

/// The ranges for which the profile runs what was selected, on communicators of so many ranks; `None` where it does not carry it.
pub(super) fn of_profile(
    profile: Option<&Profile>,
    collective: Collective,
    selection: &Selection,
    ranks: usize,
) -> Option<Vec<SizeRange>> {
    let implementation = selection.implementation()?;
    let values = selection.parameters().into_iter();
    let values: BTreeMap<String, u64> = values
        .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
        .collect();
    let rules = profile?.rules.iter().filter(|rule| {
        rule.collective == collective.name()
            && rule.implementation == implementation
            && rule.parameters == values
            && rule.communicators.may_have(ranks)
    });
    let ranges: Vec<SizeRange> = rules
        .map(|rule| SizeRange::new((rule.min_bytes, rule.max_bytes)))
        .collect();
    (!ranges.is_empty()).then(|| joined(ranges))
}

/// The ranges for which rules carry what was selected for these volumes: around each, or everything.
pub(super) fn of_rules(
    deployment: &Deployment,
    (collective, sizes): (Collective, &[u64]),
    volumes: &[u64],
    library: &Library,
) -> Vec<SizeRange> {
    match deployment.for_all_sizes(collective, library) {
        Some((_, bytes)) if sizes.contains(&bytes) => vec![SizeRange::new((0, u64::MAX))],
        Some(_) => Vec::new(),
        None => {
            let around = sizes.iter().map(|bytes| SizeRange::new(range::around(volumes, *bytes)));
            joined(around.collect())
        }
    }
}

/// `MPI_Reduce at 4 KiB`, `MPI_Reduce, 1 B to 4 KiB, 1 MiB`: neighbours among the measured `volumes` are one range.
pub(super) fn named(collective: Collective, sizes: &[u64], volumes: &[u64]) -> String {
    if let [only] = sizes {
        return format!("{} at {}", collective.mpi_name(), format::bytes(*only));
    }
    let place = |bytes: &u64| volumes.iter().position(|volume| volume == bytes);
    let are_neighbours = |a: &u64, b: &u64| place(a).zip(place(b)).is_some_and(|(a, b)| a + 1 == b);
    let runs = sizes.chunk_by(are_neighbours).map(|run| match run {
        [first, .., last] => format!("{} to {}", format::bytes(*first), format::bytes(*last)),
        [only] => format::bytes(*only),
        [] => String::new(),
    });
    let runs: Vec<String> = runs.collect();
    format!("{}, {}", collective.mpi_name(), runs.join(", "))
}

#[cfg(test)]
mod tests {
    use kilter_model::config::library::find_for;

    use super::*;

    const VOLUMES: [u64; 5] = [1, 1024, 4096, 16384, 1 << 20];

    #[test]
    fn neighbours_are_named_as_a_range() {
        let name = |sizes: &[u64]| named(Collective::Reduce, sizes, &VOLUMES);
        assert_eq!(name(&[4096]), "MPI_Reduce at 4 KiB");
        assert_eq!(name(&[1, 1024, 4096]), "MPI_Reduce, 1 B to 4 KiB");
        assert_eq!(name(&[1, 4096, 16384]), "MPI_Reduce, 1 B, 4 KiB to 16 KiB");
        assert_eq!(name(&[1, 1 << 20]), "MPI_Reduce, 1 B, 1 MiB");
    }

    fn deploying(collective: Collective, selection: &Selection) -> Deployment {
        Deployment {
            selections: [1024, 4096]
                .map(|bytes| ((collective, bytes), selection.clone()))
                .into(),
            ..Deployment::default()
        }
    }

    #[test]
    fn rules_hold_around_their_sizes_or_for_all() {
        let openmpi = find_for("mpirun (Open MPI) 4.1.4").unwrap();
        let ranges = |collective, selection: &Selection, sizes: &[u64]| {
            of_rules(
                &deploying(collective, selection),
                (collective, sizes),
                &VOLUMES,
                &openmpi,
            )
        };
        let ring = Selection::Algorithm("reduce.ring".to_owned(), Vec::new());
        let range = |from, to| SizeRange { from, to };
        assert_eq!(
            ranges(Collective::Reduce, &ring, &[1024, 4096]),
            [range(33, Some(8192))]
        );
        assert_eq!(ranges(Collective::Reduce, &ring, &[4096]), [range(2049, Some(8192))]);
        let linear = Selection::Algorithm("gatherv.linear".to_owned(), Vec::new());
        assert_eq!(ranges(Collective::Gatherv, &linear, &[1024, 4096]), [range(0, None)]);
        assert_eq!(
            ranges(Collective::Gatherv, &linear, &[1024]),
            [],
            "the one for the largest size holds"
        );
    }

    #[test]
    fn the_profile_says_for_which_sizes_it_runs_what() {
        let text = r#"{"version": 2, "library": "Open MPI 4.1.4", "plugins": [], "rules": [
            {"collective": "reduce", "communicators": {"ranks": [2, 2]}, "min_bytes": 0, "max_bytes": 90, "implementation": "reduce.ring"},
            {"collective": "reduce", "communicators": {"ranks": [2, 2]}, "min_bytes": 91, "max_bytes": 5792, "implementation": "reduce.ring"},
            {"collective": "reduce", "communicators": {"ranks": [4, 4]}, "min_bytes": 9000, "max_bytes": 9001, "implementation": "reduce.ring"},
            {"collective": "reduce", "communicators": {"ranks": [2, 2]}, "min_bytes": 5793, "max_bytes": 6000, "implementation": "reduce.linear"}]}"#;
        let profile = Profile::read(text, "profile.json").unwrap();
        let ring = Selection::Algorithm("reduce.ring".to_owned(), Vec::new());
        let found = of_profile(Some(&profile), Collective::Reduce, &ring, 2).unwrap();
        let whole = SizeRange {
            from: 0,
            to: Some(5792),
        };
        assert_eq!(found, [whole]);
        assert_eq!(of_profile(Some(&profile), Collective::Scan, &ring, 2), None);
        assert_eq!(of_profile(None, Collective::Reduce, &ring, 2), None);
    }
}
