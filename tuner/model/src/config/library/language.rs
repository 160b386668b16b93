//! Languages of values: what more a value must be than a word or a number.

use kilter_algorithms::Collective;
use serde::Deserialize;

use super::by_connection::NoValues;
use crate::ucc_tune;

/// A language that values of a parameter are written in; a file each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grammar {
    /// Scores and algorithms of UCC.
    UccTune,
}

/// The mistake in a value that has a language.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// In scores and algorithms of UCC.
    #[error(transparent)]
    UccTune(#[from] ucc_tune::Mistake),
    /// In values by kind of connection.
    #[error(transparent)]
    ByConnection(#[from] NoValues),
}

impl Grammar {
    /// The mistake in a value; `None` if there is none.
    pub(super) fn mistake(self, value: &str) -> Option<Unreadable> {
        match self {
            Grammar::UccTune => ucc_tune::read(value).err().map(Unreadable::from),
        }
    }

    /// True if a value may act on a collective.
    pub(super) fn concerns(self, value: &str, collective: Collective) -> bool {
        match self {
            Grammar::UccTune => ucc_tune::read(value).is_ok_and(|tokens| ucc_tune::concern(&tokens, collective.name())),
        }
    }

    /// A value beside what is in force, of which what it says of others stays.
    pub(super) fn beside(self, in_force: &str, value: &str) -> String {
        match self {
            Grammar::UccTune => ucc_tune::beside(in_force, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;

    use crate::config::library::find_for;

    #[test]
    fn a_variable_of_several_collectives_is_tried_and_extended_by_collective() {
        let library = find_for("mpirun (Open MPI) 5.0.11").unwrap();
        let row = |name: &str| library.parameters.iter().find(|row| row.name == name).unwrap();
        let tune = row("UCC_TL_UCP_TUNE");
        for (value, collective, concerns) in [
            ("bcast:@dbt", Some(Collective::Bcast), true),
            ("bcast:@dbt", Some(Collective::Reduce), false),
            ("bcast:@dbt", None, true),
            ("reduce_scatter:@knomial", Some(Collective::ReduceScatterBlock), true),
            ("reduce_scatter:@knomial", Some(Collective::ReduceScatter), false),
            ("inf", Some(Collective::Scan), true),
        ] {
            assert_eq!(tune.concerns(value, collective), concerns, "{value} {collective:?}");
        }
        let in_force = "bcast:@dbt#reduce:host:10";
        assert_eq!(
            tune.beside(in_force, "bcast:@sag_knomial"),
            "reduce:host:10#bcast:@sag_knomial"
        );
        assert_eq!(
            tune.beside(in_force, "alltoall:@bruck"),
            "bcast:@dbt#reduce:host:10#alltoall:@bruck"
        );
        assert_eq!(tune.beside("", "alltoall:@bruck"), "alltoall:@bruck");
        let other = row("UCX_RNDV_THRESH");
        assert_eq!(other.beside("8k", "64k"), "64k");
        assert!(other.concerns("64k", Some(Collective::Scan)));
    }

    #[test]
    fn a_value_that_no_release_reads_breaks_the_description() {
        let library = find_for("mpirun (Open MPI) 5.0.11").unwrap();
        let broken = |name: &str, value: &str| {
            let broken = library.broken(&[(name.to_owned(), value.to_owned())])?;
            Some(broken.to_string())
        };
        for (name, value, part) in [
            ("UCX_RNDV_THRESH", "intra:8k", "`inter` has no value"),
            ("UCC_TL_UCP_TUNE", "allreduce:0-4k", "neither a score nor an algorithm"),
        ] {
            let text = broken(name, value).unwrap();
            assert!(text.contains(part) && text.contains(name), "{text}");
        }
        for (name, value) in [
            ("UCX_RNDV_THRESH", "intra:8k,inter:auto"),
            ("UCX_RNDV_THRESH", "8192"),
            ("UCX_RNDV_THRESH", ""),
            ("UCC_TL_UCP_TUNE", "allreduce:0-4k:@knomial"),
        ] {
            assert_eq!(broken(name, value), None, "{name}={value}");
        }
        // A later word of the same name holds.
        let twice = ["intra:8k", "auto"].map(|value| ("UCX_RNDV_THRESH".to_owned(), value.to_owned()));
        assert_eq!(library.broken(&twice), None);
    }
}
