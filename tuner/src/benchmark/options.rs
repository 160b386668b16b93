//! Validated options of a benchmark.

use kilter_algorithms::Collective;
use kilter_model::options::{OptionError, Options, plugins, wrong};

use super::bound::Network;
use crate::cli;
use crate::options::measuring;

/// Options of `benchmark`.
#[derive(Debug, Clone)]
pub struct BenchmarkOptions {
    /// Options of the measurement.
    pub common: Options,
    /// Compared collectives.
    pub collectives: Vec<Collective>,
    /// True to compare the same algorithms with each other, rather than the best.
    pub same: bool,
    /// True to compare the search with measuring every candidate in a launch of its own.
    pub search: bool,
    /// Network of the lower bound.
    pub network: Option<Network>,
}

impl BenchmarkOptions {
    /// Validates the options.
    pub fn new(typed: cli::Benchmark) -> Result<BenchmarkOptions, OptionError> {
        let common = Options {
            plugins: plugins(&typed.plugins)?,
            ..measuring(typed.measure)?
        };
        let mut collectives = Vec::new();
        for name in &common.functions {
            let collective: Collective = name.parse().map_err(|error| wrong("--functions", format!("{error}")))?;
            if !Collective::of_several_ranks().any(|known| known == collective) {
                return Err(wrong("--functions", format!("`{name}` is no collective operation")));
            }
            collectives.push(collective);
        }
        if collectives.is_empty() {
            collectives.extend(Collective::of_several_ranks());
        }
        let network = match (typed.latency, typed.bandwidth) {
            (Some(latency_seconds), Some(bandwidth)) => {
                if !(latency_seconds.is_finite() && latency_seconds >= 0.0) {
                    return Err(wrong("--latency", "seconds from 0, such as 200e-6"));
                }
                if !(bandwidth.is_finite() && bandwidth > 0.0) {
                    return Err(wrong("--bandwidth", "bytes per second above 0, such as 125e6"));
                }
                let hosts = typed.hosts.unwrap_or(common.ranks);
                if hosts == 0 || !common.ranks.is_multiple_of(hosts) {
                    let message = format!("{} ranks are not spread evenly over {hosts} hosts", common.ranks);
                    return Err(wrong("--hosts", message));
                }
                Some(Network {
                    latency_seconds,
                    seconds_per_byte: 1.0 / bandwidth,
                    hosts,
                })
            }
            _ => None,
        };
        Ok(BenchmarkOptions {
            common,
            collectives,
            same: typed.same,
            search: typed.search,
            network,
        })
    }
}
