//! Open MPI's installed files of parameters.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kilter_bench::launch::CommandSpec;
use kilter_bench::launch::capture::capture;

use crate::forms::Daemon;
use crate::mca;
use crate::scope::{Scope, below, home};
use crate::site_file::{Places, SiteFile};

/// Name of the file of the site, and of the one in a staging directory.
const SITE: &str = "openmpi-mca-params.conf";
/// The one beside it that neither users nor command lines win over.
const OVERRIDES: &str = "openmpi-mca-params-override.conf";

/// `ompi_info --path` takes a tenth of a second.
const INFO_LIMIT: std::time::Duration = std::time::Duration::from_secs(20);

/// The files of MCA parameters.
pub(crate) static SITE_FILE: SiteFile = SiteFile {
    name: "openmpi",
    files: "`~/.openmpi/mca-params.conf` and `<sysconfdir>/openmpi-mca-params.conf`.",
    staged: SITE,
    parse: |text| Ok(mca::parse(text)?),
    to_text: |parameters| Ok(mca::to_text(parameters)?),
    as_environment: mca::as_environment,
    // By the names of 4 and of 5; each release ignores the other.
    daemons: &[
        Daemon {
            variable: "OMPI_MCA_orte_launch_agent",
            command: "orted",
            handed_on: &["OMPI_"],
        },
        Daemon {
            variable: "PRTE_MCA_prte_launch_agent",
            command: "prted",
            handed_on: &["OMPI_", "PRTE_", "PMIX_"],
        },
    ],
    places,
    json_rules: true,
};

fn places(scope: &Scope, mpirun: &Path) -> anyhow::Result<Places> {
    let parameters = match scope {
        Scope::User => Some(home()?.join(".openmpi/mca-params.conf")),
        Scope::System(root) => Some(sysconfdir(mpirun, root.as_deref())?.join(SITE)),
        // A prefix that is the library's own has the file already.
        Scope::Prefix(prefix) => Some(prefix.join("etc").join(SITE)).filter(|file| file.exists()),
    };
    let directory = match scope {
        Scope::Prefix(prefix) if parameters.is_some() => Some(prefix.join("etc")),
        // A library that does not name its prefix leaves nothing to look for.
        Scope::System(root) => sysconfdir(mpirun, root.as_deref()).ok(),
        Scope::User | Scope::Prefix(_) => sysconfdir(mpirun, None).ok(),
    };
    Ok(Places {
        parameters,
        site: directory.as_ref().map(|directory| directory.join(SITE)),
        overrides: directory.map(|directory| directory.join(OVERRIDES)),
    })
}

/// The directory of the site's files, as Open MPI says, if it is there, or will be where `root` is the root.
fn sysconfdir(mpirun: &Path, root: Option<&Path>) -> anyhow::Result<PathBuf> {
    let beside = mpirun
        .parent()
        .map(|directory| directory.join("ompi_info"))
        .filter(|path| path.is_file());
    let program = beside.unwrap_or_else(|| "ompi_info".into());
    let spec = CommandSpec {
        argv: [program.display().to_string()]
            .into_iter()
            .chain(["--path", "sysconfdir", "--parsable"].map(str::to_owned))
            .collect(),
        environment: Vec::new(),
    };
    let captured = capture(&spec, INFO_LIMIT)?;
    let directory = captured
        .output
        .lines()
        .find_map(|line| line.trim().strip_prefix("path:sysconfdir:"))
        .map(PathBuf::from)
        .with_context(|| {
            format!(
                "`{spec}` does not say where the site's files are: {}",
                captured.output.trim()
            )
        })?;
    anyhow::ensure!(
        below(root, &directory).is_dir(),
        "`{spec}` names `{}`, which is not there: the library was moved after it was built; use --prefix PATH and load the module",
        below(root, &directory).display()
    );
    Ok(directory)
}
