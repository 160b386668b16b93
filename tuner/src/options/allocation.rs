//! What the allocation of a batch system says, and how ranks are started in it.

use std::path::PathBuf;

use super::{OptionError, wrong};
use crate::config::launcher::{self, Starts};

/// How ranks are started, and where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Found {
    /// What starts them, if not the library's own launcher.
    pub starts: Option<Starts>,
    /// Whether the allocation has several hosts.
    pub several_hosts: bool,
    /// The file with its hosts.
    pub hostfile: Option<PathBuf>,
    /// What starts daemons on its hosts.
    pub agent: Option<PathBuf>,
}

/// Of the launcher `--launcher` in the environment that `variable` reads.
///
/// # Errors
/// There is no such launcher or interface, or the command does not run in an allocation.
pub(super) fn find(
    name: &str,
    pmi: Option<&str>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Found, OptionError> {
    let described = launcher::find("--launcher", name).map_err(|error| wrong("--launcher", error.message))?;
    let allocation = described.allocation;
    let value = |name: &Option<String>| name.as_deref().and_then(variable).filter(|value| !value.is_empty());
    if value(&Some(allocation.inside.clone())).is_none() {
        return Err(wrong(
            "--launcher",
            format!(
                "`{name}` starts ranks inside an allocation, and {} is not set here; write a batch script with `kilter batch {name}` \
                 and hand it in with `{}`",
                allocation.inside, described.script.submit
            ),
        ));
    }
    let mut starts = described.starts;
    let allowed = starts.as_ref().map(|starts| starts.pmi.clone()).unwrap_or_default();
    match (pmi, allowed.first()) {
        (Some(wanted), _) if !allowed.iter().any(|one| one == wanted) => {
            let allowed = if allowed.is_empty() {
                "none".to_owned()
            } else {
                allowed.join(", ")
            };
            return Err(wrong(
                "--pmi",
                format!("`{wanted}` is no interface of `{name}`; allowed: {allowed}"),
            ));
        }
        (_, None) => {}
        (wanted, Some(usual)) => {
            let interface = wanted.unwrap_or(usual);
            for argument in starts.iter_mut().flat_map(|starts| &mut starts.arguments) {
                *argument = argument.replace("{pmi}", interface);
            }
        }
    }
    Ok(Found {
        starts,
        several_hosts: value(&allocation.hosts).is_some_and(|hosts| hosts != "1"),
        hostfile: value(&allocation.hostfile).map(PathBuf::from),
        agent: allocation.agent.map(PathBuf::from),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, pmi: Option<&str>, variables: &[(&str, &str)]) -> Result<Found, OptionError> {
        find(name, pmi, &|name| {
            let mut all = variables.iter();
            all.find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn an_allocation_says_where_ranks_run() {
        let slurm = [("SLURM_JOB_ID", "7"), ("SLURM_JOB_NUM_NODES", "2")];
        let of_slurm = found("slurm", None, &slurm).unwrap();
        assert!(of_slurm.several_hosts && of_slurm.hostfile.is_none() && of_slurm.agent.is_none());
        assert_eq!(of_slurm.starts.unwrap().arguments[0], "--mpi=pmix");
        assert_eq!(
            found("slurm", Some("pmi2"), &slurm).unwrap().starts.unwrap().arguments[0],
            "--mpi=pmi2"
        );
        let one = [("SLURM_JOB_ID", "7"), ("SLURM_JOB_NUM_NODES", "1")];
        assert!(!found("slurm", None, &one).unwrap().several_hosts);
        let of_pbs = found("pbs", None, &[("PBS_JOBID", "7"), ("PBS_NODEFILE", "/var/spool/7")]).unwrap();
        assert_eq!(of_pbs.hostfile, Some("/var/spool/7".into()));
        assert_eq!((of_pbs.starts, of_pbs.agent), (None, Some("pbs_tmrsh".into())));
        let of_lsf = found("lsf", None, &[("LSB_JOBID", "7"), ("LSB_DJOB_HOSTFILE", "/h")]).unwrap();
        assert_eq!(
            (of_lsf.hostfile, of_lsf.agent),
            (Some("/h".into()), Some("blaunch".into()))
        );
    }

    #[test]
    fn outside_of_an_allocation_the_way_into_one_is_named() {
        let error = found("slurm", None, &[]).unwrap_err().to_string();
        assert!(
            error.contains("SLURM_JOB_ID") && error.contains("`kilter batch slurm`"),
            "{error}"
        );
        let error = found("slurm", Some("pmi9"), &[("SLURM_JOB_ID", "7")])
            .unwrap_err()
            .to_string();
        assert!(error.contains("--pmi") && error.contains("pmix, pmi2, none"), "{error}");
        let error = found("jsm", Some("pmix"), &[("LSB_JOBID", "7")])
            .unwrap_err()
            .to_string();
        assert!(error.contains("allowed: none"), "{error}");
    }
}
