//! Rows as implementations of an item: Kilter's own and those of a user's plugin, called as the drop-in calls them.
//!
//! Kilter's own come from the library that the drop-in loads, linked into the worker: nothing has to be loaded, which a simulated rank could not.

mod inside;
mod sides;

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use kilter_abi::{Arguments, Plugin, UNAVAILABLE};
use kilter_algorithms::Collective;
use kilter_host::plugins::{self, Callable, LoadError, Loaded, Run};
use kilter_mpi::{MpiError, constants};
use kilter_protocol::row::{Parameter, Row, Rows};

use crate::place::Place;
use crate::problem::Problem;
use crate::reason::NoRow;
use crate::unit::Unit;
pub(crate) use inside::{Host, Inside};
use sides::{Side, sides};

/// Kilter's own rows.
static OWN: OnceLock<Result<Loaded, Arc<LoadError>>> = OnceLock::new();

fn own() -> Result<&'static Loaded, NoRow> {
    // SAFETY: the object is of this version of the ABI, as one source has both.
    let linked = || unsafe { Loaded::linked(&kilter_collectives::PLUGIN) }.map_err(Arc::new);
    let own = OWN.get_or_init(linked).as_ref();
    own.map_err(|error| NoRow::Plugin(Arc::clone(error)))
}

/// A plugin stays until the process ends, and is loaded once.
static LOADED: OnceLock<Mutex<BTreeMap<PathBuf, &'static Loaded>>> = OnceLock::new();

/// The plugin in this file.
fn load(file: &Path) -> Result<&'static Loaded, NoRow> {
    if cfg!(feature = "simulated") {
        return Err(NoRow::Simulated);
    }
    let mut loaded = LOADED
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = loaded.get(file) {
        return Ok(known);
    }
    let fresh: &'static Loaded = Box::leak(Box::new(plugins::load(file).map_err(Arc::new)?));
    loaded.insert(file.to_owned(), fresh);
    Ok(fresh)
}

/// The rows of a plugin.
///
/// # Errors
/// The reason why the plugin is not used.
pub(crate) fn rows(file: &Path) -> Result<Rows, NoRow> {
    Ok(Rows {
        v: kilter_protocol::VERSION,
        rows: load(file)?.rows.iter().map(|callable| callable.row.clone()).collect(),
    })
}

/// A call of a row, again and again with other buffers.
pub(crate) struct RowCall {
    plugin: &'static Plugin,
    id: &'static str,
    is_own: bool,
    run: Run,
    /// Its lists and parameters are the vectors below, whose contents stay where they are.
    arguments: Arguments,
    has_send: bool,
    has_recv: bool,
    _parameters: Vec<u64>,
    /// Blocks of the data given and of those got, to which the arguments point.
    _lists: [Lists; 2],
}

impl fmt::Debug for RowCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RowCall").field(&self.id).finish()
    }
}

impl RowCall {
    /// Looks up a row of a plugin and checks its parameters.
    ///
    /// # Errors
    /// Why the problem cannot be solved by it.
    pub(crate) fn of_plugin(
        (file, id): (&Path, &str),
        parameters: &[u64],
        collective: Collective,
        problem: &Problem,
        place: Place,
    ) -> Result<RowCall, NoRow> {
        let loaded = load(file)?;
        let found = loaded.rows.iter().find(|callable| callable.row.id == id);
        let callable = found.ok_or_else(|| {
            let known = loaded.rows.iter().map(|known| known.row.id.clone());
            NoRow::UnknownOfPlugin {
                file: file.to_owned(),
                id: id.to_owned(),
                known: known.collect(),
            }
        })?;
        RowCall::new(loaded.plugin, callable, Some(parameters), collective, problem, place)
    }

    /// Looks up a row of Kilter's own, an algorithm or a mock-up, and checks its parameters; `None` for the default ones.
    ///
    /// # Errors
    /// Why the problem cannot be solved by it.
    pub(crate) fn of_kilter(
        id: &str,
        parameters: Option<&[u64]>,
        collective: Collective,
        problem: &Problem,
        place: Place,
    ) -> Result<RowCall, NoRow> {
        let loaded = own()?;
        let found = loaded.rows.iter().find(|callable| callable.row.id == id);
        let callable = found.ok_or_else(|| NoRow::of_kilter(id, collective))?;
        let call = RowCall::new(loaded.plugin, callable, parameters, collective, problem, place)?;
        Ok(RowCall { is_own: true, ..call })
    }

    fn new(
        plugin: &'static Plugin,
        callable: &'static Callable,
        parameters: Option<&[u64]>,
        collective: Collective,
        problem: &Problem,
        place: Place,
    ) -> Result<RowCall, NoRow> {
        let parameters = checked(&callable.row, parameters, collective, problem, place)?;
        let unit = Unit::of(problem);
        let lists = [true, false].map(|is_send| Lists::of(problem, collective, unit, is_send));
        // The block of this rank, of a collective that has one.
        let block = lists[1].counts.get(problem.rank).copied().unwrap_or(0);
        let mut arguments = Arguments {
            struct_size: size_of::<Arguments>() as u32,
            collective: callable.algorithm.collective,
            algorithm: callable.algorithm,
            send: ptr::null(),
            recv: ptr::null_mut(),
            send_count: 0,
            recv_count: 0,
            send_type: constants::datatype_null(),
            recv_type: constants::datatype_null(),
            send_counts: ptr::null(),
            send_displacements: ptr::null(),
            recv_counts: ptr::null(),
            recv_displacements: ptr::null(),
            op: if collective.has_operator() {
                unit.op
            } else {
                constants::op_null()
            },
            root: if collective.has_root() {
                c_int::try_from(problem.root).unwrap_or(0)
            } else {
                0
            },
            bytes: if collective.has_data() && collective.volume_is_known() {
                problem.n_bytes as u64
            } else {
                0
            },
            parameters: parameters.as_ptr(),
        };
        let [given, got] = lists
            .each_ref()
            .map(|one| (one.counts.as_ptr(), one.displacements.as_ptr()));
        let is_root = problem.rank == problem.root;
        let send = sides(collective, is_root, true);
        let recv = sides(collective, is_root, false);
        if send != Side::Nothing {
            arguments.send_type = unit.datatype;
        }
        if recv != Side::Nothing {
            arguments.recv_type = unit.datatype;
        }
        match send {
            Side::Nothing | Side::Whole => {}
            Side::Block => arguments.send_count = block,
            Side::Lists => (arguments.send_counts, arguments.send_displacements) = given,
        }
        match recv {
            Side::Nothing => {}
            Side::Whole => arguments.recv_count = unit.count as i64,
            Side::Block => arguments.recv_count = block,
            // Blocks of a reduction lie one behind the other.
            Side::Lists if collective.has_operator() => arguments.recv_counts = got.0,
            Side::Lists => (arguments.recv_counts, arguments.recv_displacements) = got,
        }
        Ok(RowCall {
            plugin,
            id: &callable.row.id,
            is_own: false,
            run: callable.run,
            arguments,
            has_send: problem.send_bytes() > 0,
            has_recv: problem.recv_bytes() > 0,
            _parameters: parameters,
            _lists: lists,
        })
    }

    /// Makes the call.
    ///
    /// # Errors
    /// The row's return code; [`Unavailable`] if it says that it is unavailable.
    ///
    /// # Safety
    /// `send` and `recv` are valid for the bytes of the problem; `host` is this plugin's on a communicator all of whose ranks make the
    /// same call.
    #[inline]
    pub(crate) unsafe fn run(&mut self, host: &mut Host, send: *const u8, recv: *mut u8) -> anyhow::Result<()> {
        if self.has_send {
            self.arguments.send = send.cast();
        }
        if self.has_recv {
            self.arguments.recv = recv.cast();
        }
        // SAFETY: context and arguments are as the ABI says, by this function's contract.
        let code = unsafe { (self.run)(host.lend(), &raw const self.arguments) };
        if code == 0 { Ok(()) } else { self.failed(code) }
    }

    #[cold]
    fn failed(&self, code: c_int) -> anyhow::Result<()> {
        let &RowCall { id, is_own, .. } = self;
        if code == UNAVAILABLE {
            return Err(anyhow::Error::new(Unavailable { id, is_own }));
        }
        Ok(MpiError::check(id, code)?)
    }
}

/// Blocks of a side of a call, in elements.
struct Lists {
    counts: Vec<i64>,
    displacements: Vec<i64>,
}

impl Lists {
    fn of(problem: &Problem, collective: Collective, unit: Unit, is_send: bool) -> Lists {
        let counts: Vec<i64> = match &problem.lengths {
            // Elements are bytes.
            Some(_) => problem
                .listed(collective, is_send)
                .into_iter()
                .map(|length| length as i64)
                .collect(),
            None => vec![(unit.count / problem.p_ranks) as i64; problem.p_ranks],
        };
        let mut end = 0;
        let begins = counts.iter().map(|count| {
            end += count;
            end - count
        });
        let displacements = begins.collect();
        Lists { counts, displacements }
    }
}

/// One value for each parameter of a row.
///
/// # Errors
/// Why the problem cannot be solved by the row.
fn checked(
    row: &Row,
    given: Option<&[u64]>,
    collective: Collective,
    problem: &Problem,
    place: Place,
) -> Result<Vec<u64>, NoRow> {
    let values = values(row, given, collective)?;
    if let Some(need) = row.needs.unmet(place.p_ranks, problem.n_bytes as u64, place.one_node) {
        let id = row.id.clone();
        return Err(NoRow::Need { id, need });
    }
    Ok(values)
}

/// One value for each parameter of a row of this collective; `None` for the default ones.
///
/// # Errors
/// Another collective's row, or values that it does not have.
fn values(row: &Row, given: Option<&[u64]>, collective: Collective) -> Result<Vec<u64>, NoRow> {
    let id = || row.id.clone();
    if row.collective != collective {
        return Err(NoRow::OtherCollective {
            id: id(),
            implements: row.collective,
            wanted: collective,
        });
    }
    let Some(given) = given else {
        return Ok(row.default_parameters());
    };
    if given.len() != row.parameters.len() {
        let names = row.parameters.iter().map(|parameter| parameter.name.clone());
        return Err(NoRow::Parameters {
            id: id(),
            names: names.collect(),
            given: given.len(),
        });
    }
    for (&value, &Parameter { ref name, min, max, .. }) in given.iter().zip(&row.parameters) {
        if !(min..=max).contains(&value) {
            return Err(NoRow::Outside {
                id: id(),
                name: name.clone(),
                value,
                min,
                max,
            });
        }
    }
    Ok(given.to_vec())
}

/// Error of a row that lacks a need on its communicator: a drop-in would leave the call to the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unavailable {
    id: &'static str,
    is_own: bool,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unavailable { id, is_own } = *self;
        write!(f, "row `{id}` says that it cannot run on this communicator")?;
        if is_own {
            write!(f, ": {}", kilter_collectives::UNAVAILABLE_REASON)?;
        }
        Ok(())
    }
}

impl std::error::Error for Unavailable {}

#[cfg(test)]
mod tests {
    use kilter_algorithms::{closing, mockup, registry};

    use super::*;

    /// Descriptions survive the structures of the ABI.
    #[test]
    fn own_rows_are_described_as_their_tables_do() {
        let described: Vec<&Row> = own().unwrap().rows.iter().map(|callable| &callable.row).collect();
        let tables = registry::algorithms()
            .map(Row::from)
            .chain(mockup::MOCKUPS.iter().map(Row::from))
            .chain(closing::CLOSING.iter().map(Row::from));
        let tables: Vec<Row> = tables.collect();
        assert_eq!(described, tables.iter().collect::<Vec<_>>());
    }

    /// Arguments are those of the table in `kilter_plugin.h`.
    #[test]
    fn arguments_are_those_that_the_abi_names() {
        use Side::{Block, Lists, Nothing, Whole};
        for (collective, at_root, elsewhere) in [
            (Collective::Allgather, [Block, Block], [Block, Block]),
            (Collective::Allgatherv, [Block, Lists], [Block, Lists]),
            (Collective::Allreduce, [Nothing, Whole], [Nothing, Whole]),
            (Collective::Alltoall, [Block, Block], [Block, Block]),
            (Collective::Alltoallv, [Lists, Lists], [Lists, Lists]),
            (Collective::Barrier, [Nothing, Nothing], [Nothing, Nothing]),
            (Collective::Bcast, [Nothing, Whole], [Nothing, Whole]),
            (Collective::Exscan, [Nothing, Whole], [Nothing, Whole]),
            (Collective::Gather, [Block, Block], [Block, Block]),
            (Collective::Gatherv, [Block, Lists], [Block, Nothing]),
            (Collective::Reduce, [Nothing, Whole], [Nothing, Whole]),
            (Collective::ReduceScatter, [Nothing, Lists], [Nothing, Lists]),
            (Collective::ReduceScatterBlock, [Nothing, Block], [Nothing, Block]),
            (Collective::Scan, [Nothing, Whole], [Nothing, Whole]),
            (Collective::Scatter, [Block, Block], [Block, Block]),
            (Collective::Scatterv, [Lists, Block], [Nothing, Block]),
        ] {
            for (is_root, expected) in [(true, at_root), (false, elsewhere)] {
                let told = [true, false].map(|is_send| sides(collective, is_root, is_send));
                assert_eq!(told, expected, "{collective}, root: {is_root}");
            }
        }
    }

    #[test]
    fn what_is_no_plugin_is_refused_by_name() {
        let error = rows(Path::new("/nonexistent/plugin.so")).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/plugin.so"), "{error}");
    }
}
