//! An item's communicator as rows see it, with what is deployed for the calls inside the item.

use kilter_abi::{Arguments, Context, Plugin};
use kilter_algorithms::Collective;
use kilter_host::plugins::Callable;
use kilter_host::{Chosen, Contexts, Deployed, Group};
use kilter_mpi::{Arena, CallArguments, Caller as _, Division, MPI_Comm, MpiError};
use kilter_protocol::plan;

use super::{RowCall, own, values};
use crate::place::Place;
use crate::reason::NoRow;

/// Rows of Kilter's own for the calls inside an item, as its line lists them.
#[derive(Clone, Default)]
pub(crate) struct Inside {
    rules: Vec<(plan::Deployed, &'static Callable)>,
    one_node: bool,
}

impl std::fmt::Debug for Inside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.rules.iter().map(|(rule, _)| rule)).finish()
    }
}

impl Inside {
    /// Looks the rows up and checks their parameters.
    ///
    /// # Errors
    /// A row that does not exist, or not with these parameters, or that is another collective's.
    pub(crate) fn of(deployed: &[plan::Deployed], place: Place) -> Result<Inside, NoRow> {
        let rule = |rule: &plan::Deployed| {
            let loaded = own()?;
            let found = loaded.rows.iter().find(|callable| callable.row.id == rule.id);
            let callable = found.ok_or_else(|| NoRow::of_kilter(&rule.id, rule.collective))?;
            values(&callable.row, Some(&rule.parameters), rule.collective)?;
            Ok((rule.clone(), callable))
        };
        Ok(Inside {
            rules: deployed.iter().map(rule).collect::<Result<_, NoRow>>()?,
            one_node: place.one_node,
        })
    }

    /// True if the library carries all of them out.
    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

/// [`Inside`], where Kilter's own plugin has this place among those of the host.
struct AtPlace {
    inside: Inside,
    plugin: usize,
}

impl Deployed for AtPlace {
    fn row(&self, collective: Collective, bytes: u64) -> Option<Chosen<'_>> {
        let mut rules = self.inside.rules.iter();
        let (rule, callable) = rules.find(|(rule, _)| rule.answers(collective, bytes))?;
        Some(Chosen {
            callable,
            plugin: self.plugin,
            parameters: &rule.parameters,
            calls: None,
        })
    }
}

/// State of plugins on an item's communicator: of the one whose rows the item runs, and of Kilter's own, whose rows may run inside.
pub(crate) struct Host {
    /// Plugins may keep addresses in it.
    contexts: Box<Contexts>,
    /// True if the item runs rows of no other plugin than Kilter's own.
    pub(crate) is_own: bool,
    /// True if rows are deployed for calls inside the item.
    pub(crate) has_rules: bool,
    /// Room for the lists of plain calls.
    lists: kilter_collectives::inner::Lists,
}

impl Host {
    /// The host for calls of this row, or, without one, for plain calls that are carried out as `inside` lists them. The private communicator
    /// is an item's.
    pub(crate) fn new(call: Option<&RowCall>, inside: &Inside, comm: MPI_Comm, place: (usize, usize)) -> Host {
        let (rank, size) = place;
        let is_own = call.is_none_or(|call| call.is_own);
        let mut plugins: Vec<&'static Plugin> = call
            .filter(|call| !call.is_own)
            .map(|call| call.plugin)
            .into_iter()
            .collect();
        let plugin = plugins.len();
        plugins.push(&kilter_collectives::PLUGIN);
        let group = Group {
            comm,
            rank,
            size,
            one_node: inside.one_node,
        };
        let deployed = AtPlace {
            inside: inside.clone(),
            plugin,
        };
        Host {
            contexts: Box::new(Contexts::new(group, plugins, Box::new(deployed))),
            is_own,
            has_rules: !inside.is_empty(),
            lists: kilter_collectives::inner::Lists::default(),
        }
    }

    /// The context of the item's row.
    #[inline]
    pub(super) fn lend(&self) -> *mut Context {
        // There is a plugin at least.
        self.contexts.lend(0).unwrap_or(std::ptr::null_mut())
    }

    /// Makes a plain call by what is deployed for it.
    ///
    /// # Errors
    /// The library's, or the row's.
    ///
    /// # Safety
    /// As for [`kilter_mpi::Caller::call`]; the communicator is the host's.
    pub(crate) unsafe fn call(
        &mut self,
        collective: Collective,
        comm: MPI_Comm,
        arguments: &CallArguments,
        arena: &mut Arena,
    ) -> Result<(), MpiError> {
        // SAFETY: by this function's contract.
        unsafe { self.caller().call(collective, comm, arguments, Division::Equal, arena) }
    }

    /// Carries plain calls out as they are deployed.
    pub(crate) fn caller(&mut self) -> impl kilter_mpi::Caller {
        let Host { contexts, lists, .. } = self;
        kilter_collectives::inner::AsDeployed {
            // SAFETY: the arguments are those of a call that all ranks make, as those of a composition are.
            ask: |arguments: &Arguments| unsafe { contexts.call(arguments) },
            lists,
        }
    }

    /// Lets plugins free their state.
    ///
    /// # Safety
    /// No call is under way; all ranks of the communicator make this call before it is freed.
    pub(crate) unsafe fn release(self) {
        // SAFETY: by this function's contract.
        unsafe { self.contexts.release() };
    }
}
