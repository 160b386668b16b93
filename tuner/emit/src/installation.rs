//! The MPI installation that files are written for: all that an emitter knows beside the decisions.

use std::collections::BTreeMap;
use std::path::Path;

use kilter_bench::programs::Programs;
use kilter_bench::progress::Progress;
use kilter_model::config::library::Library;
use kilter_model::limits::Limits;
use kilter_search::context::Jobs;

/// The MPI installation that files are written for.
pub struct Installation<'a> {
    /// The library's description.
    pub library: &'a Library,
    /// The library's version.
    pub version: &'a str,
    /// The library's launcher.
    pub mpirun: &'a Path,
    /// Worker, drop-in and plugin for the library.
    pub programs: &'a Programs,
    /// Ranks of a job.
    pub ranks: usize,
    /// Id of the simulated machine, where one is.
    pub platform: Option<&'a str>,
    /// Limits on fixes.
    pub limits: &'a Limits,
    /// Parameters that the site gives to every launch.
    pub site_parameters: &'a [(String, String)],
    /// Environment that the site gives to the ranks.
    pub site_environment: &'a [(String, String)],
    /// Settings that are in force without Kilter, by the site or in the environment; they win over files.
    pub set_by_site: Vec<(String, String)>,
    /// State in which the library was measured, as far as files must carry it for jobs to be in that state.
    pub measured: Vec<(String, String)>,
    /// The library's words on its device and transports.
    pub device: BTreeMap<String, String>,
    /// The library's words on itself when ranks last started; empty before.
    pub library_string: String,
    /// Warnings for people.
    pub progress: &'a Progress,
}

impl<'a> Installation<'a> {
    /// The installation of a run.
    #[must_use]
    pub fn of(jobs: &'a Jobs<'_>) -> Installation<'a> {
        let options = jobs.site.options;
        Installation {
            library: &jobs.site.library,
            version: &jobs.site.version,
            mpirun: &options.mpirun,
            programs: &jobs.programs,
            ranks: options.ranks,
            platform: options.platform.as_ref().map(|platform| platform.id.as_str()),
            limits: &options.limits,
            site_parameters: &options.site_parameters,
            site_environment: &options.site_environment,
            set_by_site: jobs.site.set_by_site(),
            measured: jobs.site.measured_in_files(),
            device: jobs.site.device(),
            library_string: jobs.site.library_string(),
            progress: &jobs.progress,
        }
    }

    /// Name and version, such as `Open MPI 4.1.4`.
    #[must_use]
    pub fn named(&self) -> String {
        format!("{} {}", self.library.name, self.version)
    }

    /// True if a setting is in force without Kilter.
    #[must_use]
    pub fn is_set_by_site(&self, name: &str) -> bool {
        self.set_by_site.iter().any(|(other, _)| other == name)
    }
}
