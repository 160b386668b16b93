//! Processing units of rank 0's host, as its worker reported them.

use kilter_protocol::cpus::{self, ProcessingUnits};
use kilter_protocol::report::Start;

/// Processing units that the job may use there. A start that was stored before the worker reported them does not say.
/// This process's host is then taken to be like rank 0's.
#[must_use]
pub fn of(start: &Start) -> ProcessingUnits {
    start.processing_units.clone().unwrap_or_else(|| {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        ProcessingUnits {
            granted: cpus::list(0..count),
            // The ranks' processing units are not known, so that no unit counts as spare.
            of_ranks: Vec::new(),
            by: "the host of `kilter`".to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worker_is_believed_and_this_host_stands_in_for_it() {
        let told = ProcessingUnits {
            granted: "0-5".to_owned(),
            of_ranks: vec!["0".to_owned(), "1".to_owned()],
            by: "hwloc 2.8".to_owned(),
        };
        let mut start = Start {
            processing_units: Some(told.clone()),
            ..Start::default()
        };
        assert_eq!(of(&start), told);
        start.processing_units = None;
        let here = of(&start);
        assert!(here.count() >= 1 && here.spare().is_none(), "{here:?}");
    }
}
