//! The algorithm that a scripted call comes to, and the functions in which ranks wait in it.

use kilter_protocol::call_paths::{CallPaths, Function};

use super::call::Call;
use super::library::ScriptedLibrary;

impl ScriptedLibrary {
    /// The library's own decision comes to the algorithm of this number, in messages and functions.
    #[must_use]
    pub fn own_choice(mut self, number: u64) -> ScriptedLibrary {
        self.own_choice = Some(number);
        self
    }

    /// The algorithm of a call, which the library chooses where none is asked for.
    pub(super) fn algorithm_of(&self, call: &Call<'_>) -> u64 {
        match (call.algorithm, self.own_choice) {
            (0, Some(own)) => own,
            (algorithm, _) => algorithm,
        }
    }
}

/// The functions of a call: those of Open MPI have such names. `component` carries it out, or the one that has the algorithms.
pub(super) fn of(collective: &str, component: Option<&str>, decides_itself: bool, algorithm: u64) -> CallPaths {
    let decides = if decides_itself { "dec_fixed" } else { "dec_dynamic" };
    let carries = match component {
        None | Some("tuned") => vec![
            format!("ompi_coll_tuned_{collective}_intra_{decides}"),
            format!("ompi_coll_base_{collective}_{algorithm}"),
        ],
        Some(other) => vec![format!("mca_coll_{other}_{collective}_intra")],
    };
    let names = std::iter::once(format!("MPI_{collective}"))
        .chain(carries)
        .chain(["wait".to_owned()]);
    let mut paths = CallPaths::default();
    let function = |(index, name): (usize, String)| Function {
        file: "libscripted.so".to_owned(),
        offset: index as u64,
        name: Some(name),
    };
    paths.add(names.enumerate().map(function).collect());
    paths
}
