//! Lines of the plan for the worker: one for the default and each candidate.

use kilter_model::deployment::Selection;
use kilter_model::plan::DEFAULT;
use kilter_protocol::plan::{Implementation, Item};

use crate::target::Target;

/// The line for the worker that carries out `collective` as selected; `None` is the default.
#[must_use]
pub fn item(target: &Target, selection: Option<&Selection>) -> Item {
    let library = target.left.item();
    match selection {
        None => Item {
            id: DEFAULT.to_owned(),
            ..library
        },
        Some(selection) => {
            let id = selection.id();
            match selection {
                Selection::Settings(settings) => Item {
                    id,
                    settings: settings.clone(),
                    ..library
                },
                Selection::Plugin(plugin) => Item {
                    id,
                    implementation: Implementation::Plugin {
                        file: plugin.file.display().to_string(),
                        id: plugin.row.id.clone(),
                        parameters: plugin.values.clone(),
                    },
                    ..library
                },
                // As the drop-in carries it out, with its scratch memory.
                Selection::Mockup(algorithm, parameters) | Selection::Algorithm(algorithm, parameters) => Item {
                    id,
                    implementation: Implementation::Algorithm {
                        id: algorithm.clone(),
                        parameters: parameters.clone(),
                    },
                    ..library
                },
            }
        }
    }
}
