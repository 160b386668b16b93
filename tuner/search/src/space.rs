//! Candidates for a target: settings of the library, mock-ups, algorithms of the registry. Pure. It proposes nothing that the target cannot
//! depend on.
//!
//! [`mod@selections`] are switched in a running job, with [`mod@knobs`] that are ordered; [`launch`] has settings of whole launches, [`situation`] those that
//! fit where the job runs, [`by_connection`] those for connections within hosts or between them.

mod by_connection;
mod knobs;
mod launch;
mod selections;
mod situation;

use kilter_model::config::library::Scale as ConfigScale;

pub use self::by_connection::number;
pub use self::knobs::{Knob, at_point, family, knob_value, knobs, knobs_on, point};
pub use self::launch::{LaunchCandidate, launch_candidates, overlap_candidates, own_launch_candidates};
pub use self::selections::{every, handed_on, of_plugins, selections};
pub use self::situation::{Situation, in_situation, of_site, with_value};
use crate::ordered::Scale;

fn scale(scale: ConfigScale) -> Scale {
    match scale {
        ConfigScale::Log2 => Scale::Log2,
        ConfigScale::Linear => Scale::Linear,
    }
}

#[cfg(test)]
mod tests;
