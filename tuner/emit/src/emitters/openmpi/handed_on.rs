//! The file by which HAN hands collectives of some sizes to the component whose algorithms are chosen.

use anyhow::{Context as _, ensure};
use kilter_algorithms::Collective;
use kilter_model::config::library::{Components, ComponentsForm, Library};
use kilter_model::deployment::Selection;
use kilter_model::range;

use crate::components::ComponentRules;
use crate::decisions::{Decisions, Part};
use crate::{Emitted, File};

/// The file's name in a staging directory.
const fn name_of(form: ComponentsForm) -> &'static str {
    match form {
        ComponentsForm::Han => "openmpi-han-rules.conf",
    }
}

/// Writes the file where a selection needs it; the parameters by which the library reads it.
pub(super) fn write(
    library: &Library,
    decisions: &Decisions<'_>,
    emitted: &mut Emitted,
) -> anyhow::Result<Vec<(String, String)>> {
    let Some(components) = &library.components else {
        return Ok(Vec::new());
    };
    let rules = rules(components, &decisions.parts);
    if rules.is_empty() {
        return Ok(Vec::new());
    }
    let text = rules.to_text(components);
    ensure!(
        ComponentRules::parse(&text, components)? == rules,
        "the file of components does not read back as it was written; please report this"
    );
    let name = name_of(components.form);
    crate::write(&emitted.directory, name, &text)?;
    emitted.files.insert(File::Components, name.to_owned());
    let path = emitted.directory.join(name).display().to_string();
    let mut parameters: Vec<(String, String)> = components.parameters.clone().into_iter().collect();
    parameters.push((components.filename.clone(), path));
    Ok(parameters)
}

/// Reads the staged file as the library does.
pub(super) fn read_back(library: &Library, emitted: &Emitted) -> anyhow::Result<()> {
    if let Some(name) = emitted.files.get(&File::Components) {
        let components = library.components.as_ref();
        let components = components.with_context(|| format!("{} reads no `{name}`; please report this", library.id))?;
        ComponentRules::parse(&crate::read(&emitted.directory, name)?, components)?;
    }
    Ok(())
}

/// The settings of a selection that stand in other files.
pub(super) fn others(
    library: &Library,
    collective: Collective,
    settings: &[(String, String)],
) -> Vec<(String, String)> {
    let stands_here =
        |setting: &(String, String)| handed_to(library.components.as_ref(), collective, setting).is_some();
    settings
        .iter()
        .filter(|setting| !stands_here(setting))
        .cloned()
        .collect()
}

/// The component that a setting hands the collective to, if it is such a setting.
fn handed_to<'c>(
    components: Option<&'c Components>,
    collective: Collective,
    (name, value): &(String, String),
) -> Option<&'c str> {
    components?.handed_to(collective, (name.as_str(), value.as_str()))
}

fn rules(components: &Components, parts: &[Part<'_>]) -> ComponentRules {
    let mut rules = ComponentRules::default();
    // The first of the parts that meet holds.
    for part in parts.iter().rev() {
        for ((collective, bytes), selection) in part.selections {
            let (Selection::Settings(settings), Some(row)) = (selection, components.of(*collective)) else {
                continue;
            };
            let mut to = settings
                .iter()
                .filter_map(|one| handed_to(Some(components), *collective, one));
            let Some(component) = to.next() else { continue };
            let volumes = range::around(&part.volumes_of(*collective), *bytes);
            // The file may compare one rank's block, of the communicator that was measured.
            let counted = row.counts.range(volumes, part.ranks as u64);
            for ranks in part.sizes() {
                rules.add(row.id, ranks, counted, component, &components.own);
            }
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use kilter_model::config::library::find_for;

    use super::*;
    use crate::decisions::{Selections, Volumes};

    fn library() -> Library {
        find_for("mpirun (Open MPI) 5.0.11").unwrap()
    }

    fn selection(library: &Library, collective: Collective) -> Selection {
        let row = library.algorithms_of(collective).unwrap();
        let switch = library.components.as_ref().unwrap().switching(collective).unwrap();
        Selection::Settings(vec![(row.parameter.clone(), "2".to_owned()), switch])
    }

    /// HAN counts one rank's block of scatter and all of a broadcast.
    #[test]
    fn a_range_of_volumes_is_that_of_what_the_component_counts() {
        let library = library();
        let components = library.components.as_ref().unwrap();
        let volumes = Volumes::from([
            (Collective::Bcast, [4096, 65536, 1_048_576].into()),
            (Collective::Scatter, [4096, 65536, 1_048_576].into()),
        ]);
        let selections: Selections = [Collective::Bcast, Collective::Scatter]
            .map(|one| ((one, 65536), selection(&library, one)))
            .into();
        let part = Part {
            communicators: kilter_profile::Communicators::of_ranks(8),
            ranks: 8,
            selections: &selections,
            volumes: &volumes,
        };
        let rules = rules(components, &[part]);
        let is_handed_on = |collective: Collective, size: u64| {
            let row = components.of(collective).unwrap();
            rules.lookup(row.id, 8, size).unwrap().component == "tuned"
        };
        for (collective, size, expected) in [
            (Collective::Bcast, 16384, false),
            (Collective::Bcast, 16385, true),
            (Collective::Bcast, 262_144, true),
            (Collective::Bcast, 262_145, false),
            (Collective::Scatter, 2048, false),
            (Collective::Scatter, 2049, true),
            (Collective::Scatter, 32768, true),
            (Collective::Scatter, 32769, false),
        ] {
            assert_eq!(is_handed_on(collective, size), expected, "{collective} {size}");
        }
        assert_eq!(rules.lookup(0, 8, 65536), None);
    }

    /// The rules of `tuned` do not have the setting, nor does what says nothing else become a rule.
    #[test]
    fn what_stands_here_stands_nowhere_else() {
        let library = library();
        let Selection::Settings(settings) = selection(&library, Collective::Bcast) else {
            panic!("no settings");
        };
        assert_eq!(others(&library, Collective::Bcast, &settings), settings[..1]);
        assert_eq!(others(&library, Collective::Bcast, &settings[1..]), []);
    }
}
