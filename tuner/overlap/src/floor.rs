//! Lower bound of a machine's ratios, which no deployment can undercut, and its reason.

use kilter_model::survey::Survey;
use kilter_protocol::overlap::Benchmark;
use serde::Serialize;

/// The smallest ratio that can be expected, with the reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Floor {
    /// The ratio.
    pub value: f64,
    /// The reason, as the end of a sentence.
    pub because: String,
}

/// The floor of a benchmark on the machine of a survey, if there is one.
///
/// Within one host no network card moves data: some processing unit copies every byte. Without a spare unit that is the unit of a rank, and
/// if that rank computes, copying is added to computation. The sender's benchmarks have no floor, because their receiver waits within the
/// library and can copy. The receiver's benchmark has one for large messages, because the receiver's own thread copies them out of the shared
/// segment, or across by single copy.
#[must_use]
pub fn of(benchmark: Benchmark, survey: &Survey) -> Option<Floor> {
    let first = survey.hosts.first()?;
    let one_host = survey.hosts.iter().all(|host| host == first);
    if !one_host || survey.has_spare_core() {
        return None;
    }
    let who = match benchmark {
        Benchmark::Receiver => "the receiver",
        Benchmark::BothSides => "sender or receiver",
        Benchmark::Ibcast | Benchmark::Iallreduce | Benchmark::Iallgather | Benchmark::Ialltoall => "some rank",
        Benchmark::Sender
        | Benchmark::NonContiguous
        | Benchmark::CpuOverhead
        | Benchmark::ThreadLoad
        | Benchmark::ManyRequests
        | Benchmark::ManyPeers => return None,
    };
    Some(Floor {
        value: 1.0,
        because: format!(
            "all {} ranks share a host of {} processing units, so that no core is spare: {who} has to copy with the core that it computes on",
            survey.ranks, survey.processing_units
        ),
    })
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::survey as fixture;

    use super::*;

    #[test]
    fn there_is_a_floor_only_where_those_who_compute_must_copy() {
        let mut survey = fixture::survey(Vec::new());
        let floor = of(Benchmark::Receiver, &survey).unwrap();
        assert_eq!(floor.value, 1.0);
        assert!(
            floor.because.contains("2 ranks share a host of 2 processing units"),
            "{}",
            floor.because
        );
        assert_eq!(
            of(Benchmark::Sender, &survey),
            None,
            "its receiver waits in the library"
        );
        assert!(of(Benchmark::BothSides, &survey).is_some() && of(Benchmark::Iallreduce, &survey).is_some());
        survey.processing_units = 4;
        assert_eq!(of(Benchmark::BothSides, &survey), None, "a core is spare");
        survey.processing_units = 1;
        survey.hosts[1] = "node-2".to_owned();
        assert_eq!(of(Benchmark::BothSides, &survey), None, "a network is between");
        survey.hosts.clear();
        assert_eq!(of(Benchmark::BothSides, &survey), None);
    }
}
