//! State of a rank while the job runs.

use std::fmt::Display;

use kilter_mpi::counters::Counters;
use kilter_mpi::mpit::ControlVariables;
use kilter_protocol::fault::Fault;
use kilter_protocol::plan::{Block, Header, Item, Wait};
use kilter_protocol::report::Event;

use crate::candidate::Commons;
use crate::common_time::CommonTime;
use crate::control::{Control, Refusal};
use crate::lead::Lead;
use crate::overlap::Speed;
use crate::report_file::ReportFile;
use crate::sweep::Sweep;

/// State of a rank while the job runs.
pub(crate) struct Session {
    /// Messages between the ranks.
    pub(crate) control: Control,
    /// The library's control variables.
    pub(crate) variables: ControlVariables,
    /// Its counters of messages, where the header names some and it has them.
    pub(crate) counters: Option<Counters>,
    /// The plan's first line.
    pub(crate) header: Header,
    /// Behaviour of waiting ranks.
    pub(crate) wait: Wait,
    /// The time in which starts are agreed.
    pub(crate) time: CommonTime,
    /// Cleans caches, if they are to be cold.
    pub(crate) sweep: Option<Sweep>,
    /// The lead. It is kept over the blocks: knowledge about the machine stays true.
    pub(crate) lead: Lead,
    /// True if all ranks are on one node.
    pub(crate) one_node: bool,
    /// Speed at which this rank computes.
    pub(crate) speed: Speed,
    /// Communicators of plain calls of the library.
    pub(crate) commons: Option<Commons>,
    /// The report, on rank 0.
    pub(crate) report: Option<ReportFile>,
}

impl Session {
    /// Reports, on rank 0.
    pub(crate) fn tell(&mut self, event: Event) -> anyhow::Result<()> {
        self.report.as_mut().map_or(Ok(()), |report| report.write(event))
    }

    /// The fault of an item that this rank cannot carry out.
    pub(crate) fn refused(&self, why: impl Display) -> Fault {
        Fault::Refused {
            rank: self.control.rank(),
            why: why.to_string(),
        }
    }

    /// Says on rank 0 that the job is alive, if that is due.
    pub(crate) fn heartbeat(&mut self) -> anyhow::Result<()> {
        self.report.as_mut().map_or(Ok(()), ReportFile::heartbeat)
    }
}

/// Reports that an item is out of its block.
pub(crate) fn fail(session: &mut Session, block: &Block, item: &Item, refusal: Refusal) -> anyhow::Result<()> {
    // Rank 0 knows the fault; the others report nothing.
    let Some(fault) = refusal.fault else { return Ok(()) };
    session.tell(Event::Failed {
        block: block.id.clone(),
        item: item.id.clone(),
        fault,
    })
}
