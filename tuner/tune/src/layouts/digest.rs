//! A name of merged decisions: the proof of others is no answer for them, also where further layouts came in between.

use super::merge::Merged;

/// The name; equal decisions have the same one in every release.
pub(super) fn of(merged: &Merged) -> String {
    let settings = merged
        .assignments
        .iter()
        .map(|one| format!("{}={}", one.name, one.value));
    let all = merged.selections.iter().chain(&merged.predicted);
    let selections = all.flat_map(|(layout, selections)| {
        let each = selections.iter();
        each.map(move |((collective, bytes), selection)| {
            let parameters = selection.parameters();
            let parameters: Vec<String> = parameters
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            format!(
                "{layout} {collective} {bytes} {} {}",
                selection.id(),
                parameters.join(" ")
            )
        })
    });
    // Fowler, Noll and Vo's hash.
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let bytes = settings.chain(selections).flat_map(|text| (text + "\n").into_bytes());
    format!("{:08x}", bytes.fold(0xcbf2_9ce4_8422_2325, hash) >> 32)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kilter_algorithms::Collective;
    use kilter_model::deployment::Selection;

    use super::*;

    #[test]
    fn other_decisions_have_another_name() {
        let merged = |layout: &str, id: &str| {
            let own = BTreeMap::from([((Collective::Bcast, 8), Selection::Mockup(id.to_owned(), Vec::new()))]);
            Merged {
                selections: BTreeMap::from([(layout.parse().unwrap(), own)]),
                ..Merged::default()
            }
        };
        let name = of(&merged("8x1", "a"));
        assert_eq!(name, of(&merged("8x1", "a")));
        assert_eq!(name.len(), 8);
        for other in [merged("8x1", "b"), merged("4x2", "a"), Merged::default()] {
            assert_ne!(name, of(&other));
        }
        let predicted = Merged {
            predicted: merged("4x1", "a").selections,
            ..merged("8x1", "a")
        };
        assert_ne!(name, of(&predicted), "what is predicted is in the files, too");
    }
}
