//! Verdicts: how Kilter decides whether a performance guideline holds. This is the method page.
//!
//! # What is compared
//!
//! A guideline says that its left side takes no longer than its right side. Both sides are measured in the same R
//! launches of the MPI job, their order shuffled, and each launch contributes **one number per side: the median of its
//! repetitions**. The repetitions of one launch are not independent evidence: where the processes land, which pages
//! they get and how the network is loaded are drawn once per launch, and times differ more between launches than within
//! one. Thousands of repetitions of a single launch can prove nothing but that this launch was as it was. A [`Pair`]
//! holds the two samples of launch medians, in seconds; the i-th values come from one launch.
//!
//! # What is tested
//!
//! "The left side is slower", one-sided, on launch medians as in Hunold, Carpen-Amarie, Lübbe and Träff, Automatic Verification of
//! Self-Consistent MPI Performance Guidelines, Euro-Par 2016, doi:10.1007/978-3-319-43659-3_32, by a test of pairs ([`pairs`]): signed ranks
//! of the ratios within the launches, or, each at half of the level, the test of unpaired sides ([`unpaired`]). It looks at ranks and trimmed
//! means only: one launch that took a hundred times as long is one launch, not a hundred.
//!
//! Sides that do not share their launches are judged by [`Rule::unpaired`]. [`Rule::test`] chooses among all of [`Test`].
//!
//! A run tests hundreds of cells; at a level of 5 % each, a library that keeps every guideline would still earn an
//! alarm in one cell of twenty. **Holm's correction** ([`holm`]) over all cells of the run holds the probability of
//! *even one* false alarm among all of them at [`Rule::alpha`]. It needs no assumption about how the cells depend on
//! each other, and they do: one function is the left side of one guideline and the right side of another.
//! [`Rule::correction`] chooses Benjamini and Hochberg's ([`benjamini_hochberg`]), which finds more and promises less.
//!
//! # What counts
//!
//! Enough launches make any difference significant, one of 0.1 % too, and nobody deploys a change for that. A
//! difference is **relevant** if the left side exceeds the right one (by the ratio within the launches, where they are paired, else by the
//! medians) by more than the larger of
//! [`Rule::effect_floor`] times the right median and twice [`Rule::noise_seconds`], what an empty operation varies by
//! on this machine. The second term takes over for operations of a microsecond, where 5 % is less than the clock and
//! the synchronisation can tell.
//!
//! # The outcomes
//!
//! * **violated**: the adjusted p-value is at most alpha, and the difference is relevant. Both are needed.
//! * **holds**: not violated, and either the data exclude a relevant difference (the upper confidence bound of the
//!   ratio is at most 1 + floor, where the floor is the relevant difference as a fraction of the right median) or
//!   nothing points to a violation in the first place: neither the ratio of the medians nor the estimated ratio is
//!   above 1, and the interval ends within the floor, whatever confidence it reaches. For a ratio above 1 the bound
//!   counts only if the samples can support it: two launches cannot exclude anything.
//! * **undecided**: everything else. The left side looks slower, but it may be chance; or it is slower, but perhaps by
//!   less than matters; or launches differ so much that the interval spans both. It is no euphemism for "holds": more
//!   launches will decide it.
//!
//! Launches that resemble each other are not independent evidence: [`dependence`] tests for it at every look, and puts them
//! together into units.
//!
//! *Unstable* is what becomes of a verdict that is not the same in both modes, or in both halves, of a machine whose
//! reference cell falls into modes or drifts: [`stability`].
//!
//! A verdict never comes as a bare p-value: every [`Comparison`] carries both medians, their ratio, the confidence
//! interval of the ratio ([`pairs`], [`hodges_lehmann`]), and the samples themselves.
//!
//! # How many launches
//!
//! The smallest p-value of R launches per side is 2 / C(2R, R), and Holm multiplies the smallest of m by m. If C(2R, R)
//! is less than 2 m / alpha, **nothing** can be violated, however slow it is. [`launches_needed`] gives the smallest
//! sufficient R. That is the bare minimum, at which the slowest right side must be faster than the fastest left side; one or two launches
//! more let a violation survive a spike. Where only the ratios within launches tell, it takes 2^R >= 2 m / alpha.
//!
//! Judging again after more launches is a second chance for a false alarm. [`Sequential`] is the design that pays for it:
//! undecided cells get more launches, the error of all looks together stays at alpha. ([`Rule::for_looks`] shares alpha
//! evenly between a known number of looks.)
//!
//! # Guidelines of one function
//!
//! [`Family::Monotony`] takes all sizes of a function and judges each against all larger ones ([`monotony`]);
//! [`split`](split::split) names the splits worth measuring. [`equivalent_to_best`] is the question of the search: which
//! candidates are as good as the fastest.
//!
//! # Does it keep its promises?
//!
//! `kilter validate-statistics` (`kilter-validation`) shows error rates, power and cost on scripted times;
//! `docs/method/statistics.md` has its tables.
//!
//! [`pairs`]: crate::pairs
//! [`unpaired`]: crate::unpaired
//! [`holm`]: crate::holm
//! [`benjamini_hochberg`]: crate::benjamini_hochberg
//! [`hodges_lehmann`]: crate::hodges_lehmann

mod comparison;
pub mod dependence;
mod equivalence;
mod family;
mod judge;
pub mod launches;
pub mod monotony;
mod rule;
pub mod screening;
pub mod sequential;
pub mod split;
pub mod stability;
mod test;

pub use comparison::{Comparison, Outcome};
pub use dependence::{Allocations, CellRatios, Dependence, Looks};
pub use equivalence::equivalent_to_best;
pub use family::{Family, Judged, Sizes, judge_families};
pub use judge::{Pair, judge};
pub use launches::{MOST_PLANNED, Reach, launches_needed, launches_planned};
pub use rule::{Correction, Rule, RuleError, improves, is_beyond};
pub use sequential::{Sequential, next_look};
pub use stability::Stability;
pub use test::Test;
