//! Reads the allocation of a batch system, and how ranks are started in it.

use std::path::PathBuf;

use kilter_model::config::launcher::{self, Starts};
use kilter_model::layout::Layout;
use kilter_model::options::{OptionError, wrong};

/// Start of ranks, and their hosts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Found {
    /// Program that starts them, if it is not the library's own launcher.
    pub starts: Option<Starts>,
    /// True if the allocation has several hosts.
    pub several_hosts: bool,
    /// The file with its hosts.
    pub hostfile: Option<PathBuf>,
    /// Program that starts daemons on its hosts.
    pub agent: Option<PathBuf>,
}

/// Finds the launcher `--launcher` in the environment that `variable` reads. An error if there is no such launcher or
/// interface, or if the command does not run in an allocation.
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

/// Layouts of the allocation in which the command runs: a rank on each of its nodes, and one on each of their CPUs.
/// Slurm counts as CPUs cores, or hardware threads if the site says so. An error if no batch system tells both numbers,
/// or if one rank would be all.
pub(super) fn layouts(variable: &dyn Fn(&str) -> Option<String>) -> Result<Vec<Layout>, OptionError> {
    let refused = |message: String| wrong("--layouts", message);
    let value = |name: &str| variable(name).filter(|value| !value.is_empty());
    let described = launcher::load_embedded().map_err(|error| refused(error.to_string()))?;
    let mut known = Vec::new();
    for allocation in described.into_iter().map(|launcher| launcher.allocation) {
        let (Some(hosts), Some(cpus)) = (&allocation.hosts, &allocation.cpus) else {
            continue;
        };
        known.push(allocation.inside.clone());
        if value(&allocation.inside).is_none() {
            continue;
        }
        let unreadable = |name: &str| {
            refused(format!(
                "`auto`: {name} is `{}`, which is no number of them; give layouts such as 8x1,8x16",
                value(name).unwrap_or_default()
            ))
        };
        let nodes = value(hosts)
            .and_then(|text| text.parse::<usize>().ok())
            .filter(|nodes| *nodes > 0);
        let nodes = nodes.ok_or_else(|| unreadable(hosts))?;
        let cores = value(cpus)
            .and_then(|text| fewest(&text))
            .ok_or_else(|| unreadable(cpus))?;
        let mut layouts = [1, cores].map(|per_node| Layout { nodes, per_node }).to_vec();
        layouts.dedup();
        layouts.retain(|layout| layout.ranks() > 1);
        if layouts.is_empty() {
            return Err(refused(
                "`auto`: the allocation has one core, on which collectives do nothing; ask for more".to_owned(),
            ));
        }
        return Ok(layouts);
    }
    Err(refused(format!(
        "`auto` asks an allocation, and {} is not set here; give layouts such as 8x1,8x16",
        known.join(" or ")
    )))
}

/// Smallest number of a list such as `16(x8),4`, which every node has.
fn fewest(text: &str) -> Option<usize> {
    let number = |part: &str| part.split('(').next().unwrap_or(part).trim().parse().ok();
    let all: Option<Vec<usize>> = text.split(',').map(number).collect();
    all?.into_iter().min().filter(|cores| *cores > 0)
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
    fn an_allocation_says_which_layouts_it_has() {
        let layouts = |nodes: &str, cores: &str| {
            let all = [
                ("SLURM_JOB_ID", "7"),
                ("SLURM_JOB_NUM_NODES", nodes),
                ("SLURM_JOB_CPUS_PER_NODE", cores),
            ];
            let found = super::layouts(&|name| {
                let mut all = all.iter();
                all.find(|(known, _)| *known == name)
                    .map(|(_, value)| (*value).to_owned())
            });
            found
                .map(|layouts| layouts.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
                .map_err(|error| error.to_string())
        };
        assert_eq!(layouts("8", "16(x8)").unwrap(), "8x1,8x16");
        assert_eq!(layouts("3", "16(x2),4").unwrap(), "3x1,3x4");
        assert_eq!(layouts("1", "4").unwrap(), "1x4");
        assert_eq!(layouts("2", "1(x2)").unwrap(), "2x1");
        assert!(layouts("1", "1").unwrap_err().contains("one core"));
        assert!(
            layouts("2", "many")
                .unwrap_err()
                .contains("SLURM_JOB_CPUS_PER_NODE is `many`")
        );
        let outside = super::layouts(&|_| None).unwrap_err().to_string();
        assert!(outside.contains("SLURM_JOB_ID is not set here"), "{outside}");
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
