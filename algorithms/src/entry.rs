//! From a row of the registry to its function.

use std::fmt;

use crate::registry::{self, Algorithm};
use crate::{Arguments, Collective, Transport, TransportError};

/// A type of transports without the lifetime for which they borrow. Each call has a transport of its own, and the function of a row is kept from
/// call to call.
pub trait Family {
    /// The transport that borrows for `'a`.
    type Of<'a>: Transport;
}

/// A row's function.
pub(crate) type Function<F> =
    for<'t, 'a, 'b> fn(&'t mut <F as Family>::Of<'a>, Arguments<'b>) -> Result<(), TransportError>;

/// A row with its function over one kind of transport: found once, since a call of eight bytes would feel the search.
///
/// ```
/// # use kilter_algorithms::{Arguments, Entry, Family, registry, threads};
/// struct Threads;
///
/// impl Family for Threads {
///     type Of<'a> = threads::ThreadTransport<'a>;
/// }
///
/// let tree = Entry::<Threads>::new(registry::find("barrier.tree").unwrap());
/// let nothing = || Arguments { input: &[], output: &mut [], input_blocks: &[], output_blocks: &[], root: 0, parameters: &[] };
/// let outcome = threads::run(5, &threads::Config::new(1, |_, _| {}), |transport| {
///     tree.run(transport, nothing())?;
///     tree.run(transport, nothing())
/// });
/// assert_eq!(outcome.results().unwrap(), [(); 5]);
/// ```
pub struct Entry<F: Family> {
    row: &'static Algorithm,
    function: Function<F>,
}

impl<F: Family> Entry<F> {
    /// The entry of a row of the registry.
    #[must_use]
    pub fn new(row: &'static Algorithm) -> Entry<F> {
        let function = registry::function::<F>(row);
        Entry { row, function }
    }

    /// The row.
    #[must_use]
    pub fn row(&self) -> &'static Algorithm {
        self.row
    }

    /// Runs it on this rank.
    ///
    /// # Errors
    /// Whatever the transport reports.
    ///
    /// # Panics
    /// As [`run`].
    #[inline]
    pub fn run(&self, transport: &mut F::Of<'_>, arguments: Arguments<'_>) -> Result<(), TransportError> {
        debug_assert_fits(self.row, transport, &arguments);
        (self.function)(transport, arguments)
    }
}

impl<F: Family> Clone for Entry<F> {
    fn clone(&self) -> Entry<F> {
        *self
    }
}

impl<F: Family> Copy for Entry<F> {}

impl<F: Family> fmt::Debug for Entry<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entry").field(&self.row.id).finish()
    }
}

/// A transport that is its own family.
struct Itself<T>(std::marker::PhantomData<T>);

impl<T: Transport> Family for Itself<T> {
    type Of<'a> = T;
}

/// Runs one algorithm on this rank; [`Entry::run`] does so again and again.
///
/// # Errors
/// Whatever the transport reports.
///
/// # Panics
/// If the arguments are not those of the collective ([`Arguments`]); debug builds say which, release builds may find
/// out late.
pub fn run<T: Transport>(
    algorithm: &Algorithm,
    transport: &mut T,
    arguments: Arguments<'_>,
) -> Result<(), TransportError> {
    debug_assert_fits(algorithm, transport, &arguments);
    registry::function::<Itself<T>>(algorithm)(transport, arguments)
}

/// The contract of [`Arguments`], as far as one rank can see it.
#[inline]
fn debug_assert_fits<T: Transport>(algorithm: &Algorithm, transport: &T, arguments: &Arguments<'_>) {
    // Release builds return here, since the operands of the assertions would be computed in them too.
    if !cfg!(debug_assertions) {
        return;
    }
    let (id, rank, p) = (algorithm.id, transport.rank(), transport.size());
    let (input, output, root) = (arguments.input.len(), arguments.output.len(), arguments.root);
    debug_assert!(root < p, "{id}: root {root} of {p} ranks");
    debug_assert_eq!(
        input % transport.element_bytes(),
        0,
        "{id}: rank {rank}: input is no whole number of elements"
    );
    let is_root = rank == root || !algorithm.collective.has_root();
    let blocks = |blocks: &[usize], rank: usize| (blocks.iter().sum(), blocks.get(rank).copied().unwrap_or(0));
    let (all_given, own_given): (usize, usize) = blocks(arguments.input_blocks, rank);
    let (all_taken, own_taken): (usize, usize) = blocks(arguments.output_blocks, rank);
    // Lengths that this rank cannot know are taken from its buffers.
    let expected = match algorithm.collective {
        Collective::Barrier => (0, 0),
        Collective::Bcast => (0, output),
        Collective::Gather | Collective::Allgather if is_root => (output / p, input * p),
        Collective::Gatherv | Collective::Allgatherv if is_root => (own_taken, all_taken),
        Collective::Scatter if is_root => (p * output, output),
        Collective::Scatterv if is_root => (all_given, own_given),
        Collective::Scatter | Collective::Scatterv => (0, output),
        Collective::ReduceScatterBlock => (p * output, input / p),
        Collective::ReduceScatter => (all_given, own_given),
        Collective::Alltoallv => (all_given, all_taken),
        _ if is_root => (output, input),
        _ => (input, 0),
    };
    debug_assert_eq!(
        (input, output),
        expected,
        "{id}: rank {rank}: bytes of input and of output"
    );
    let listed = |wanted: bool| if wanted { p } else { 0 };
    debug_assert_eq!(
        (arguments.input_blocks.len(), arguments.output_blocks.len()),
        (
            listed(algorithm.collective.lists_input_blocks(is_root)),
            listed(algorithm.collective.lists_output_blocks(is_root))
        ),
        "{id}: rank {rank}: number of lengths of blocks"
    );
    debug_assert_eq!(
        arguments.parameters.len(),
        algorithm.parameters.len(),
        "{id}: one value per parameter"
    );
    for (parameter, &value) in algorithm.parameters.iter().zip(arguments.parameters) {
        debug_assert!(
            (parameter.min..=parameter.max).contains(&value),
            "{id}: {} = {value} is not within {}..={}",
            parameter.name,
            parameter.min,
            parameter.max
        );
    }
}
