//! Plugins of the user: which rows they have, asked from the worker, since `kilter` itself links no MPI library.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use kilter_algorithms::{closing, mockup, registry};
use kilter_bench::programs::{Programs, digest};
use kilter_model::config::library::Library;
use kilter_model::deployment::{PluginRow, Selection};
use kilter_protocol::row::{Row, Rows};

/// A plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    /// The shared object.
    pub file: PathBuf,
    /// Tells builds of it apart.
    pub digest: String,
    /// Its rows.
    pub rows: Vec<Row>,
}

impl Plugin {
    /// A row of this plugin with the defaults of its parameters.
    #[must_use]
    pub fn selection(&self, row: &Row) -> Selection {
        Selection::Plugin(PluginRow {
            file: self.file.clone(),
            values: row.default_parameters(),
            row: row.clone(),
        })
    }
}

/// Asks for the rows of these plugins.
///
/// # Errors
/// A plugin that is not used, or two rows of one id, which a profile could not tell apart.
pub fn load(files: &[PathBuf], programs: &Programs, library: &Library) -> anyhow::Result<Vec<Plugin>> {
    if !files.is_empty() && library.launcher.is_simulator() {
        bail!("--plugin: simulated ranks cannot load plugins; leave it out, or give the --mpirun of a real library");
    }
    let plugins = files
        .iter()
        .map(|file| {
            let said = programs
                .rows_of(file)
                .with_context(|| format!("--plugin `{}`", file.display()))?;
            from_rows(file, said)
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    ensure_unique(&plugins)?;
    Ok(plugins)
}

/// A plugin with these rows.
///
/// # Errors
/// No rows, or a file that cannot be read.
pub fn from_rows(file: &Path, said: Rows) -> anyhow::Result<Plugin> {
    ensure!(
        !said.rows.is_empty(),
        "--plugin `{}` has no rows, so it offers no candidate",
        file.display()
    );
    Ok(Plugin {
        digest: digest(file)?,
        file: file.to_owned(),
        rows: said.rows,
    })
}

/// Refuses now the ids that the drop-in would refuse after all measurements.
fn ensure_unique(plugins: &[Plugin]) -> anyhow::Result<()> {
    let mut known: BTreeMap<&str, &Path> = BTreeMap::new();
    for plugin in plugins {
        for row in &plugin.rows {
            let (id, file) = (row.id.as_str(), plugin.file.display());
            ensure!(
                registry::find(id).is_none() && mockup::find(id).is_none() && closing::find(id).is_none(),
                "--plugin `{file}`: Kilter has a row `{id}` of its own; give the plugin's another name"
            );
            if let Some(other) = known.insert(id, &plugin.file) {
                bail!(
                    "--plugin `{file}`: `{}` has a row `{id}`, too; take one of them out",
                    other.display()
                );
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;
    use kilter_protocol::row::Needs;

    use super::*;

    fn plugin(file: &str, ids: &[&str]) -> Plugin {
        let row = |id: &&str| Row {
            id: (*id).to_owned(),
            collective: Collective::Bcast,
            needs: Needs::default(),
            parameters: Vec::new(),
            scratch: None,
        };
        Plugin {
            file: file.into(),
            digest: String::new(),
            rows: ids.iter().map(row).collect(),
        }
    }

    #[test]
    fn rows_that_a_profile_could_not_tell_apart_are_refused_at_the_start() {
        let refused = |plugins: &[Plugin]| ensure_unique(plugins).unwrap_err().to_string();
        assert!(ensure_unique(&[plugin("/a.so", &["bcast.a", "bcast.b"]), plugin("/b.so", &["bcast.c"])]).is_ok());
        let twice = refused(&[plugin("/a.so", &["bcast.a"]), plugin("/b.so", &["bcast.a"])]);
        assert_eq!(
            twice,
            "--plugin `/b.so`: `/a.so` has a row `bcast.a`, too; take one of them out"
        );
        for id in ["bcast.binomial", "bcast.as_scatter_allgather"] {
            let own = refused(&[plugin("/a.so", &[id])]);
            assert!(own.contains("Kilter has a row") && own.contains(id), "{own}");
        }
    }

    #[test]
    fn a_plugin_without_rows_is_refused() {
        let said = Rows {
            v: kilter_protocol::VERSION,
            rows: Vec::new(),
        };
        let error = from_rows(Path::new("/a.so"), said).unwrap_err().to_string();
        assert!(error.contains("has no rows"), "{error}");
    }
}
