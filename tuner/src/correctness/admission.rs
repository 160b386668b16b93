//! Which implementations may be deployed: those that passed on this library, this machine and this number of ranks.

use kilter_protocol::verifying::{Depth, Wanted};

use super::{Inquiry, Launching, digest, library_name, machine, record, verify};
use crate::context::Context;
use crate::deployment::Selection;
use crate::store::Verified;

/// Whether `selection` may be deployed; why not, where it may not. What was not verified yet is verified now, in a second's worth of
/// the matrix with the values that are to be deployed; what the database has is not run again.
///
/// # Errors
/// The verification could not be carried out.
pub fn admit(context: &Context<'_>, selection: &Selection) -> anyhow::Result<Result<(), String>> {
    let (id, values) = match selection {
        Selection::Settings(_) => return Ok(Ok(())),
        Selection::Mockup(id) => (id, Vec::new()),
        Selection::Algorithm(id, values) => (id, values.clone()),
    };
    let parameters = serde_json::to_string(&values)?;
    let wanted = Wanted {
        name: id.clone(),
        values,
    };
    let inquiry = Inquiry {
        plugin: context.programs.plugin()?,
        rows: vec![wanted],
        case: None,
        depth: Depth::Reduced,
    };
    let (library, machine) = (
        library_name(&context.library, &context.version),
        machine(context.options),
    );
    let (plugin, digest) = (inquiry.plugin.display().to_string(), digest(&inquiry.plugin)?);
    let of = Verified {
        library: &library,
        machine: &machine,
        ranks: context.options.ranks,
        plugin: &plugin,
        digest: &digest,
        row: id,
        parameters: &parameters,
    };
    if context.store.verified(&of)?.is_none() {
        let launching = Launching {
            options: context.options,
            program: context.programs.verifier()?,
            template: &context.template,
            directory: context.directory.clone(),
        };
        let found = verify(&launching, context.options.ranks, &inquiry, &context.progress)?;
        for failure in &found.library_failures {
            context.progress.warn(&format!(
                "the library's own collective is wrong ({}: {}); report it to its developers",
                failure.case, failure.reason
            ));
        }
        record(context.store, (&library, &machine), &inquiry, &found.outcomes)?;
    }
    Ok(match context.store.verified(&of)? {
        Some((0, _)) => Ok(()),
        Some((failed, failures)) => {
            let first: serde_json::Value = serde_json::from_str(&failures).unwrap_or_default();
            let text = |name: &str| first[0][name].as_str().unwrap_or_default().to_owned();
            let values = match &wanted_values(selection)[..] {
                [] => String::new(),
                values => format!("@{}", values.join("/")),
            };
            Err(format!(
                "{failed} wrong case(s) on {} ranks; the first: {}; reproduce it with `kilter verify-algorithms -n {} --only \
                 {id}{values} --case {}`",
                of.ranks,
                text("reason"),
                of.ranks,
                text("case"),
            ))
        }
        None => Err("it was not verified: the plugin has no such row".to_owned()),
    })
}

fn wanted_values(selection: &Selection) -> Vec<String> {
    match selection {
        Selection::Algorithm(_, values) => values.iter().map(u64::to_string).collect(),
        _ => Vec::new(),
    }
}
