//! `report.md`: the answer, the changes and the violated cells, to paste into a ticket or a merge request.

use kilter_model::report::Report;

use crate::sections::{self, View};

/// The report as Markdown with pipe tables.
pub fn to_string(report: &Report) -> String {
    sections::markdown(&View::of(report, None))
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::report as fixture;

    use super::*;

    #[test]
    fn a_tuned_report() {
        let mut report = fixture::tuned();
        report
            .cells
            .retain(|cell| cell.bytes == 4096 || (cell.bytes == 1 && cell.guideline == "GL1"));
        insta::assert_snapshot!(to_string(&report), @r"
        # 5 of 48 calls became faster: 1.09 times in the geometric mean of all, up to 3.3 (MPI_Reduce of 512 KiB); none became slower

        4 violations before, 1 after.

        Open MPI 4.1.4, 2 ranks on node01; R = 10, α = 0.05, effect floor 5 %; 2026-11-21T05:04:11Z.

        ## Gains: default against deployed

        | call | sizes | faster | slower | mean | least | most |
        | --- | --- | --- | --- | --- | --- | --- |
        | MPI_Bcast | 12 | 0 | 0 | 1.00 | 0.99 | 1.01 |
        | MPI_Gather | 12 | 0 | 0 | 1.00 | 0.99 | 1.01 |
        | MPI_Reduce | 12 | 3 | 0 | 1.27 | 0.99 | 3.30 |
        | MPI_Scan | 12 | 2 | 0 | 1.13 | 0.99 | 2.44 |

        Time of a call in the untouched library over its time with what is deployed, in launches in turn; mean is geometric.

        ## Deployed changes

        | change | file | what it does | why |
        | --- | --- | --- | --- |
        | `btl_vader_eager_limit` = `32768` | `openmpi-mca-params.conf` | MPI_Reduce of 4 KiB takes 1.70 us instead of 3.67 us, 2.16 [2.10, 2.23] times as fast | messages of 4 KiB no longer wait for the receiver: the limit of 4096 includes the header |
        | `MALLOC_MMAP_THRESHOLD_` = `1073741824` | `kilter.env` | 2.80 times as fast in the geometric mean of 2 sizes of MPI_Reduce, from 2.38 (1 MiB) to 3.30 (512 KiB) | the library's temporary of each call stays in the heap instead of being mapped and faulted in anew |
        | `MALLOC_TRIM_THRESHOLD_` = `4294967296` | `kilter.env` | 2.80 times as fast in the geometric mean of 2 sizes of MPI_Reduce, from 2.38 (1 MiB) to 3.30 (512 KiB) | with the threshold above: freed memory is kept for the next call |
        | `MPI_Scan, 256 KiB to 512 KiB` = `scan.pipelined_chain` | `profile.json` | 2.12 times as fast in the geometric mean of 2 sizes of MPI_Scan, from 1.84 (512 KiB) to 2.44 (256 KiB) | no setting of the library reaches the bound; segments travel down a chain of ranks while the next are reduced |

        ## Violated cells

        | guideline | size | left | right | ratio | p adj. | after | fix |
        | --- | ---: | ---: | ---: | ---: | ---: | --- | --- |
        | GL1 `gather(1) <= gather(2)` | 1 B | 1.60 us | 614 ns | 2.61 [2.54, 2.69] | <0.001 | violated, 2.61 [2.54, 2.69] |  |
        | GL1 `reduce(4096) <= reduce(8192)` | 4 KiB | 3.67 us | 2.54 us | 1.44 [1.40, 1.49] | <0.001 | holds, 0.67 [0.65, 0.69] |  |
        | GL8 `reduce(n) <= allreduce(n)` | 4 KiB | 3.67 us | 2.08 us | 1.76 [1.71, 1.82] | <0.001 | holds, 0.81 [0.79, 0.84] | `btl_vader_eager_limit=32768` |
        | GL14 `reduce(n) <= reduce_scatter_block(n) + gather(n)` | 4 KiB | 3.67 us | 2.39 us | 1.54 [1.49, 1.58] | <0.001 | holds, 0.71 [0.69, 0.73] | `btl_vader_eager_limit=32768` |

        ## Not fixed

        - GL1 `gather(1) <= gather(2)` at 1 B (ratio 2.61 now): no candidate reached the bound: 14 settings and gather.binomial were measured, the best (coll_tuned_gather_algorithm=1) is still 2.31 times slower than 2 B; 1 B messages take the library's unaligned copy, which nothing selects

        ## Quarantined

        - `coll_tuned_bcast_algorithm=8`: crashed, rank 1 ended by signal 11 after 0.4 s at 1 MiB; the job's log is jobs/0017/stderr
        - `coll_tuned_scan_algorithm=2`: had no effect, read back as 0 on the fresh communicator

        ## Warnings

        - The processor's frequency is not fixed (governor: schedutil); set it to performance before tuning for production.

        Made by `kilter tune -n 2 --sizes 1..1MiB --launches 10 --seed 42` (Kilter 0.1.0).
        ");
    }

    #[test]
    fn nothing_from_outside_becomes_markup() {
        let mut report = fixture::holding();
        report.library.name = "<b>|*x*".to_owned();
        report.provenance.command_line = "a `b` | c\nd".to_owned();
        let page = to_string(&report);
        assert!(page.contains("\\<b>\\|\\*x\\*"), "{page}");
        assert!(page.contains("`a  b  \\| c d`"), "{page}");
    }
}
