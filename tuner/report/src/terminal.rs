//! The console's summary: violations first, every line readable without colour.

use std::fmt::Write as _;

use kilter_model::report::Report;

use crate::sections::{self, View};
use crate::tables::{self, Column};

/// The report as text, a few lines and tables, with a final newline. No escape sequences, no wrapping.
pub fn table(report: &Report) -> String {
    sections::text(&View::of(report, None))
}

/// Rows of a table of details that are printed without being asked for.
pub(crate) const SHORT: usize = 16;

/// What stands in place of a longer one.
pub(crate) fn counted(title: &str, rows: usize) -> String {
    format!("\n{title}: {rows} rows; `kilter -v report FILE` prints them.\n")
}

/// [`table`], then PGMPI's tables 2 and 4. Without `all`, tables of details only where they are short.
pub fn with_tables(report: &Report, all: bool) -> String {
    let mut out = sections::text(&View::of(report, None).brief(!all));
    if !report.cells.is_empty() {
        let name = format!(
            "{} {}, {} ranks",
            report.library.name, report.library.version, report.ranks
        );
        let column = Column { name: &name, report };
        let by_size = tables::by_size(column);
        let _ = write!(out, "\n{}", tables::by_type(&[column]).to_text());
        if all || by_size.rows.len() <= SHORT {
            let text = by_size.to_text();
            if !text.is_empty() {
                let _ = write!(out, "\n{text}");
            }
        } else {
            out.push_str(&counted("Function against size", by_size.rows.len()));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::report as fixture;
    use kilter_model::not_deployed::NotDeployed;
    use kilter_model::report::Screened;

    use super::*;

    #[test]
    fn a_tuned_report() {
        insta::assert_snapshot!(table(&fixture::tuned()), @r"
        Open MPI 4.1.4, 2 ranks on node01
        5 of 48 calls became faster: 1.09 times in the geometric mean of all, up to 3.3 (MPI_Reduce of 512 KiB); none became slower.
        10 violations before, 1 after, 1 undecided.

        Gains: default against deployed
         call         sizes   faster   slower   mean   least   most
        ------------------------------------------------------------
         MPI_Bcast    12      0        0        1.00   0.99    1.01
         MPI_Gather   12      0        0        1.00   0.99    1.01
         MPI_Reduce   12      3        0        1.27   0.99    3.30
         MPI_Scan     12      2        0        1.13   0.99    2.44
         Time of a call in the untouched library over its time with what is deployed, in launches in turn; mean is geometric.

         violated               size      left     right        ratio [95 %]   p adj.       after: ratio [95 %]   verdict     fix
        --------------------------------------------------------------------------------------------------------------------------------------------------------
         GL1 gather        1 B : 2 B   1.60 us    614 ns   2.61 [2.54, 2.69]   <0.001 ***     2.61 [2.54, 2.69]   violated    -
         GL16 scan           512 KiB    340 us    183 us   1.86 [1.81, 1.92]   <0.001 ***     1.01 [0.99, 1.05]   undecided   scan.pipelined_chain
         GL1 reduce    4 KiB : 8 KiB   3.67 us   2.54 us   1.44 [1.40, 1.49]   <0.001 ***     0.67 [0.65, 0.69]   holds       -
         GL8 reduce            4 KiB   3.67 us   2.08 us   1.76 [1.71, 1.82]   <0.001 ***     0.81 [0.79, 0.84]   holds       btl_vader_eager_limit=32768
         GL8 reduce          512 KiB    519 us    237 us   2.19 [2.13, 2.26]   <0.001 ***     0.87 [0.85, 0.90]   holds       MALLOC_MMAP_THRESHOLD_=1073741824
                                                                                                                              MALLOC_TRIM_THRESHOLD_=4294967296
         GL8 reduce            1 MiB    753 us    472 us   1.60 [1.55, 1.65]   <0.001 ***     0.86 [0.84, 0.89]   holds       MALLOC_MMAP_THRESHOLD_=1073741824
                                                                                                                              MALLOC_TRIM_THRESHOLD_=4294967296
         GL14 reduce           4 KiB   3.67 us   2.39 us   1.54 [1.49, 1.58]   <0.001 ***     0.71 [0.69, 0.73]   holds       btl_vader_eager_limit=32768
         GL14 reduce         512 KiB    519 us    333 us   1.56 [1.52, 1.61]   <0.001 ***     0.62 [0.60, 0.64]   holds       MALLOC_MMAP_THRESHOLD_=1073741824
                                                                                                                              MALLOC_TRIM_THRESHOLD_=4294967296
         GL14 reduce           1 MiB    753 us    663 us   1.14 [1.10, 1.17]   0.008 **       0.61 [0.60, 0.63]   holds       MALLOC_MMAP_THRESHOLD_=1073741824
                                                                                                                              MALLOC_TRIM_THRESHOLD_=4294967296
         GL16 scan           256 KiB    173 us   92.0 us   1.88 [1.83, 1.94]   <0.001 ***     0.76 [0.74, 0.79]   holds       scan.pipelined_chain
         GL1: gather(n) <= gather(n + k)
         GL1: reduce(n) <= reduce(n + k)
         GL8: reduce(n) <= allreduce(n)
         GL14: reduce(n) <= reduce_scatter_block(n) + gather(n)
         GL16: scan(n) <= exscan(n) + reduce_local(n)

        Deployed changes
         change                         value                  file                               default            deployed   times as fast
        ------------------------------------------------------------------------------------------------------------------------------------------------------------
         btl_vader_eager_limit          32768                  openmpi-mca-params.conf            3.67 us             1.70 us   2.16 [2.10, 2.23]
         MALLOC_MMAP_THRESHOLD_         1073741824             kilter.env                528 us to 760 us    160 us to 319 us   2.80 in the mean of 2, 2.38 to 3.30
         MALLOC_TRIM_THRESHOLD_         4294967296             kilter.env                528 us to 760 us    160 us to 319 us   2.80 in the mean of 2, 2.38 to 3.30
         MPI_Scan, 256 KiB to 512 KiB   scan.pipelined_chain   profile.json              174 us to 346 us   71.2 us to 188 us   2.12 in the mean of 2, 1.84 to 2.44

        Not fixed
          GL1 gather at 1 B : 2 B (ratio 2.61 now): no candidate reached the bound: 14 settings and gather.binomial were measured, the best (coll_tuned_gather_algorithm=1) is still 2.31 times slower than 2 B; 1 B messages take the library's unaligned copy, which nothing selects
          GL16 scan at 512 KiB (ratio 1.01 now): the deployed change reaches the bound but 10 launches do not decide; use more launches

        Quarantined
          coll_tuned_bcast_algorithm=8: crashed, rank 1 ended by signal 11 after 0.4 s at 1 MiB; the job's log is jobs/0017/stderr
          coll_tuned_scan_algorithm=2: had no effect, read back as 0 on the fresh communicator

        177 cells: 164 hold, 1 violated, 11 undecided, 1 unstable.
        11 cells undecided with 10 launches: use more (--budget, --launches 20).
        1 cell unstable: repeat on a quiet machine.
        warning: The processor's frequency is not fixed (governor: schedutil); set it to performance before tuning for production.
        ");
    }

    #[test]
    fn a_check_of_a_library_that_holds() {
        let mut report = fixture::holding();
        insta::assert_snapshot!(table(&report), @r"
        Open MPI 4.1.4, 2 ranks on node01
        No violations: every guideline holds at every size.

        177 cells: 177 hold, 0 violated, 0 undecided, 0 unstable.
        ");
        report.cells.clear();
        insta::assert_snapshot!(table(&report), @r"
        Open MPI 4.1.4, 2 ranks on node01
        Nothing was measured.
        ");
    }

    #[test]
    fn the_tables_of_pgmpi_follow_where_they_are_short() {
        let report = fixture::checked();
        let text = with_tables(&report, false);
        let tables = text.strip_prefix(&table(&report)).unwrap();
        insta::assert_snapshot!(tables, @r"
        Violations by type
         ranks   type   Open MPI 4.1.4, 2 ranks
        ----------------------------------------
         2       m      2/2
         2       s      0/1
         2       p      3/6
         Violated of verified. Types: m monotony and s split-robustness (functions), p pattern (guidelines).

        Violations by function and size: Open MPI 4.1.4, 2 ranks
         type   guideline                                              1  2  4  8  16  32  64  128  256  512  1    2    4    8    16   32   64   128  256  512  1
                                                                       B  B  B  B  B   B   B   B    B    B    KiB  KiB  KiB  KiB  KiB  KiB  KiB  KiB  KiB  KiB  MiB
        ------------------------------------------------------------------------------------------------------------------------------------------------------------
         m      GL1 gather(n) <= gather(n + k)                         ●  ?  ?  ~  ?   ?   ·   ·    ·    ·    ·    ·    ·    ·    ·    ·    ·    ·    ·    ·
         m      GL1 reduce(n) <= reduce(n + k)                         ?  ?  ?  ?  ?   ?   ·   ·    ·    ·    ·    ·    ●    ·    ·    ·    ·    ·    ·    ·
         p      GL8 reduce(n) <= allreduce(n)                          ·  ·  ·  ·  ·   ·   ·   ·    ·    ·    ·    ·    ●    ·    ·    ·    ·    ·    ·    ●    ●
         p      GL14 reduce(n) <= reduce_scatter_block(n) + gather(n)  ·  ·  ·  ·  ·   ·   ·   ·    ·    ·    ·    ·    ●    ·    ·    ·    ·    ·    ·    ●    ●
         p      GL16 scan(n) <= exscan(n) + reduce_local(n)            ·  ·  ·  ·  ·   ·   ·   ·    ·    ·    ·    ·    ·    ·    ·    ·    ·    ·    ●    ●    ·
         ● violated, ~ unstable, ? undecided, · holds. 4 more guidelines violated at no size.
        ");
        assert_eq!(with_tables(&fixture::empty(), true), table(&fixture::empty()));
        let mut long = fixture::checked();
        for copy in 0..4 {
            let cells = fixture::checked().cells.into_iter().map(|mut cell| {
                cell.function.push_str(&copy.to_string());
                cell
            });
            long.cells.extend(cells);
        }
        assert!(with_tables(&long, false).ends_with("25 rows; `kilter -v report FILE` prints them.\n"));
        assert!(with_tables(&long, true).lines().count() > 25 + with_tables(&long, false).lines().count());
    }

    #[test]
    fn long_tables_of_details_are_counted_unless_they_are_asked_for() {
        let mut report = fixture::tuned();
        let one = report.contests[0].clone();
        for size in 0..=SHORT as u64 {
            let mut contest = one.clone();
            contest.bytes = 1 << size;
            contest.screened.push(Screened {
                id: "reduce.pipelined_chain".to_owned(),
                ratio_to_default: 0.71,
                not_deployed: NotDeployed::NotAmongFinalists { finalists: 5 },
            });
            report.contests.push(contest);
        }
        let (brief, all) = (with_tables(&report, false), with_tables(&report, true));
        let counted = brief.lines().find(|line| line.starts_with("Better in the screening"));
        let counted = counted.unwrap_or_else(|| panic!("{brief}"));
        assert!(
            counted.ends_with("rows; `kilter -v report FILE` prints them."),
            "{counted}"
        );
        assert!(!brief.contains("reduce.pipelined_chain") && all.contains("reduce.pipelined_chain"));
    }

    #[test]
    fn no_control_character_reaches_the_terminal() {
        let mut report = fixture::tuned();
        report.library.name = "\u{1b}[2J\u{7}".to_owned();
        report.warnings = vec!["two\nlines\u{9b}".to_owned()];
        report.changes[0].why = "\u{1b}]0;title".to_owned();
        report.changes[0].value = "\u{1b}[31m".to_owned();
        report.cells[0].expression = "\r\u{8}".to_owned();
        assert!(table(&report).chars().all(|c| c == '\n' || !c.is_control()));
    }
}
