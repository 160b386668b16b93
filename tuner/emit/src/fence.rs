//! Communicators that the library's own files take for the same: a choice for one layout acts on all layouts within its fence.
//!
//! The drop-in's profile tells all layouts apart. No file of a library does so by nodes and ranks per node alike, and some know the number of
//! ranks alone; what they cannot say is left out of the files of several layouts, with the reason.

use kilter_algorithms::Collective;
use kilter_model::config::library::Library;
use kilter_model::layout::Layout;

use crate::emitters;

/// Facts by which a file tells communicators apart, the fewest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fence {
    /// The number of ranks.
    Ranks,
    /// The number of ranks, and one node or several.
    OneNode,
    /// The number of ranks, and their average on a node, rounded up.
    PerNode,
}

impl Fence {
    /// The fence of a choice by these settings, for the release that is described.
    #[must_use]
    pub fn of(library: &Library, collective: Collective, settings: &[(String, String)]) -> Fence {
        // A description that names no emitter of the table was refused when it was read.
        let emitter = emitters::of(library).ok().flatten();
        emitter.map_or(Fence::Ranks, |emitter| emitter.fence(library, collective, settings))
    }

    /// True if a choice for one layout acts on the other.
    #[must_use]
    pub fn joins(self, one: Layout, other: Layout) -> bool {
        let is_alike = match self {
            Fence::Ranks => true,
            Fence::OneNode => (one.nodes == 1) == (other.nodes == 1),
            Fence::PerNode => one.per_node == other.per_node,
        };
        is_alike && one.ranks() == other.ranks()
    }

    /// The layouts on which a choice for this one acts, such as `all layouts of 16 ranks`.
    #[must_use]
    pub fn words(self, layout: Layout) -> String {
        let ranks = layout.ranks();
        match self {
            Fence::Ranks => format!("all layouts of {ranks} ranks"),
            Fence::OneNode if layout.nodes == 1 => format!("all layouts of {ranks} ranks on one node"),
            Fence::OneNode => format!("all layouts of {ranks} ranks on several nodes"),
            Fence::PerNode => format!("all layouts of {ranks} ranks with {} on each node", layout.per_node),
        }
    }
}

#[cfg(test)]
mod tests {
    use kilter_model::config::library::find_for;

    use super::*;

    fn fence(launcher: &str, parameter: &str) -> Fence {
        let library = find_for(launcher).unwrap();
        Fence::of(&library, Collective::Bcast, &[(parameter.to_owned(), "3".to_owned())])
    }

    #[test]
    fn releases_tell_communicators_apart_by_what_their_files_know() {
        let tuned = "coll_tuned_bcast_algorithm";
        for version in ["4.1.4", "5.0.11"] {
            assert_eq!(fence(&format!("mpirun (Open MPI) {version}"), tuned), Fence::Ranks);
        }
        assert_eq!(fence("mpirun (Open MPI) 6.0.0", tuned), Fence::OneNode);
        for version in ["4.0.2", "4.3.2", "5.0.2"] {
            let launcher = format!("HYDRA build details: Version: {version}");
            assert_eq!(fence(&launcher, "MPIR_CVAR_BCAST_INTRA_ALGORITHM"), Fence::PerNode);
        }
        let intel = "Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 1";
        assert_eq!(fence(intel, "I_MPI_ADJUST_BCAST"), Fence::Ranks);
    }

    /// HAN's file, which says who is asked, knows the number of ranks alone.
    #[test]
    fn the_file_that_knows_least_decides() {
        let library = find_for("mpirun (Open MPI) 6.0.0").unwrap();
        let components = library.components.as_ref().unwrap();
        let switch = components.switching(Collective::Bcast).unwrap();
        let settings = [("coll_tuned_bcast_algorithm".to_owned(), "3".to_owned()), switch];
        assert_eq!(Fence::of(&library, Collective::Bcast, &settings), Fence::Ranks);
        assert_eq!(Fence::of(&library, Collective::Bcast, &settings[..1]), Fence::OneNode);
    }

    #[test]
    fn layouts_within_a_fence_have_as_many_ranks() {
        let layout = |text: &str| text.parse::<Layout>().unwrap();
        let joined = |fence: Fence| {
            let others = ["1x8", "2x4", "4x2", "8x1", "4x1"].into_iter();
            let joined = others.filter(|other| fence.joins(layout("2x4"), layout(other)));
            joined.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(joined(Fence::Ranks), "1x8 2x4 4x2 8x1");
        assert_eq!(joined(Fence::OneNode), "2x4 4x2 8x1");
        assert_eq!(joined(Fence::PerNode), "2x4");
    }
}
