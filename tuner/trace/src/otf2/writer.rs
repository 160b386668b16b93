//! Writes definitions and records through libotf2.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr::{null, null_mut};

use super::library::{Code, CollectiveComplete, CollectiveRequest, FlushCallbacks, Library, Object, flush};
use super::model::{Definitions, Kind};
use super::records::{Record, What, records};
use super::{NAME, Otf2Error};
use crate::trace::Trace;

/// OTF2's number of a definition that is missing.
const NONE: u32 = u32::MAX;

/// Numbers of OTF2.
const MODE_WRITE: u8 = 0;
const POSIX: u8 = 1;
const UNCOMPRESSED: u8 = 1;
const EVENT_CHUNK_BYTES: u64 = 1 << 20;
const DEFINITION_CHUNK_BYTES: u64 = 4 << 20;
const TICKS_PER_SECOND: u64 = 1_000_000_000;
const PROCESS: u8 = 1;
const CPU_THREAD: u8 = 1;
const USER: u8 = 1;
const MPI: u8 = 4;
const COMM_LOCATIONS: u8 = 4;
const COMM_GROUP: u8 = 5;

/// Full buffers are written; no record says so.
static CALLBACKS: FlushCallbacks = FlushCallbacks {
    before: flush,
    after: None,
};

/// An archive that is open.
struct Archive<'l> {
    library: &'l Library,
    nonblocking: Option<(CollectiveRequest, CollectiveComplete)>,
    object: Object,
    directory: &'l Path,
}

pub(super) fn write(
    trace: &Trace,
    definitions: &Definitions,
    library: &Library,
    directory: &Path,
) -> Result<(), Otf2Error> {
    let path = CString::new(directory.as_os_str().as_bytes()).map_err(|_| Otf2Error::Path(directory.to_path_buf()))?;
    let name = CString::new(NAME).unwrap_or_default();
    // SAFETY: both strings live during the call, which copies them.
    let object = unsafe {
        (library.open)(
            path.as_ptr(),
            name.as_ptr(),
            MODE_WRITE,
            EVENT_CHUNK_BYTES,
            DEFINITION_CHUNK_BYTES,
            POSIX,
            UNCOMPRESSED,
        )
    };
    let archive = Archive {
        library,
        nonblocking: library.nonblocking(),
        object,
        directory,
    };
    archive.made(object, "OTF2_Archive_Open")?;
    let written = archive.write(trace, definitions);
    // SAFETY: the archive is open, and its writers are closed or left to it.
    let closed = unsafe { (library.close)(object) };
    written?;
    archive.check(closed, "OTF2_Archive_Close")
}

impl Archive<'_> {
    fn check(&self, code: Code, function: &'static str) -> Result<(), Otf2Error> {
        if code == 0 {
            return Ok(());
        }
        Err(Otf2Error::Call {
            function,
            said: self.library.words(code),
            directory: self.directory.to_path_buf(),
        })
    }

    fn made(&self, object: Object, function: &'static str) -> Result<Object, Otf2Error> {
        if !object.is_null() {
            return Ok(object);
        }
        Err(Otf2Error::Call {
            function,
            said: "nothing was made; is the directory writable?".to_owned(),
            directory: self.directory.to_path_buf(),
        })
    }

    fn write(&self, trace: &Trace, definitions: &Definitions) -> Result<(), Otf2Error> {
        let (library, archive) = (self.library, self.object);
        // SAFETY: the archive is open, and keeps the address of the callbacks, which live as long as the program.
        unsafe {
            self.check(
                (library.set_flush)(archive, &raw const CALLBACKS, null_mut()),
                "OTF2_Archive_SetFlushCallbacks",
            )?;
            self.check(
                (library.set_serial)(archive),
                "OTF2_Archive_SetSerialCollectiveCallbacks",
            )?;
            self.check((library.open_events)(archive), "OTF2_Archive_OpenEvtFiles")?;
        }
        let mut counts = Vec::new();
        for (number, process) in definitions.processes.iter().enumerate() {
            for (thread, (location, _)) in process.threads.iter().enumerate() {
                let rank = trace.rank(number as u32);
                // The location says which thread it is.
                let of_thread = (*location & 0xffff) as u32;
                let list = rank.map_or_else(Vec::new, |rank| records(trace, definitions, rank, of_thread));
                counts.push((number, thread, list.len() as u64));
                self.events(*location, &list)?;
            }
        }
        // SAFETY: the archive is open, and its writers of events are closed.
        unsafe {
            self.check((library.close_events)(archive), "OTF2_Archive_CloseEvtFiles")?;
            self.check((library.open_definitions)(archive), "OTF2_Archive_OpenDefFiles")?;
        }
        // Readers ask for local definitions of each location, though there are none.
        for (location, _) in definitions.processes.iter().flat_map(|process| &process.threads) {
            // SAFETY: the archive is open for definitions.
            let writer = unsafe { (library.definition_writer)(archive, *location) };
            let writer = self.made(writer, "OTF2_Archive_GetDefWriter")?;
            // SAFETY: the writer was made above.
            let closed = unsafe { (library.close_definition_writer)(archive, writer) };
            self.check(closed, "OTF2_Archive_CloseDefWriter")?;
        }
        // SAFETY: the archive is open, and its writers of local definitions are closed.
        let closed = unsafe { (library.close_definitions)(archive) };
        self.check(closed, "OTF2_Archive_CloseDefFiles")?;
        self.definitions(definitions, &counts)
    }

    fn events(&self, location: u64, list: &[Record]) -> Result<(), Otf2Error> {
        // SAFETY: the archive is open for events.
        let writer = unsafe { (self.library.event_writer)(self.object, location) };
        let writer = self.made(writer, "OTF2_Archive_GetEvtWriter")?;
        for record in list {
            self.event(writer, record)?;
        }
        // SAFETY: the writer was made above.
        let closed = unsafe { (self.library.close_event_writer)(self.object, writer) };
        self.check(closed, "OTF2_Archive_CloseEvtWriter")
    }

    fn event(&self, writer: Object, record: &Record) -> Result<(), Otf2Error> {
        let (library, ns, bare) = (self.library, record.ns, null_mut());
        // SAFETY: the writer is open; no function keeps what it is given, and none of them needs attributes.
        let (code, function) = unsafe {
            match &record.what {
                What::Enter(region) => ((library.enter)(writer, bare, ns, *region), "OTF2_EvtWriter_Enter"),
                What::Leave(region) => ((library.leave)(writer, bare, ns, *region), "OTF2_EvtWriter_Leave"),
                What::Send(head) => (
                    (library.send)(writer, bare, ns, head.peer, head.communicator, head.tag, head.bytes),
                    "OTF2_EvtWriter_MpiSend",
                ),
                What::Receive(head) => (
                    (library.receive)(writer, bare, ns, head.peer, head.communicator, head.tag, head.bytes),
                    "OTF2_EvtWriter_MpiRecv",
                ),
                What::Isend(head, request) => (
                    (library.isend)(
                        writer,
                        bare,
                        ns,
                        head.peer,
                        head.communicator,
                        head.tag,
                        head.bytes,
                        *request,
                    ),
                    "OTF2_EvtWriter_MpiIsend",
                ),
                What::Ireceive(head, request) => (
                    (library.ireceive)(
                        writer,
                        bare,
                        ns,
                        head.peer,
                        head.communicator,
                        head.tag,
                        head.bytes,
                        *request,
                    ),
                    "OTF2_EvtWriter_MpiIrecv",
                ),
                What::IsendComplete(request) => (
                    (library.isend_complete)(writer, bare, ns, *request),
                    "OTF2_EvtWriter_MpiIsendComplete",
                ),
                What::IreceiveRequest(request) => (
                    (library.ireceive_request)(writer, bare, ns, *request),
                    "OTF2_EvtWriter_MpiIrecvRequest",
                ),
                What::Cancelled(request) => (
                    (library.cancelled)(writer, bare, ns, *request),
                    "OTF2_EvtWriter_MpiRequestCancelled",
                ),
                What::CollectiveBegin => (
                    (library.collective_begin)(writer, bare, ns),
                    "OTF2_EvtWriter_MpiCollectiveBegin",
                ),
                What::CollectiveEnd(collective) => (
                    (library.collective_end)(
                        writer,
                        bare,
                        ns,
                        collective.operation,
                        collective.communicator,
                        collective.root.unwrap_or(NONE),
                        collective.sent_bytes,
                        collective.received_bytes,
                    ),
                    "OTF2_EvtWriter_MpiCollectiveEnd",
                ),
                What::CollectiveRequest(request) => match self.nonblocking {
                    Some((begun, _)) => (
                        begun(writer, bare, ns, *request),
                        "OTF2_EvtWriter_NonBlockingCollectiveRequest",
                    ),
                    // Earlier versions have no record for it.
                    None => return Ok(()),
                },
                What::CollectiveComplete(collective, request) => match self.nonblocking {
                    Some((_, complete)) => (
                        complete(
                            writer,
                            bare,
                            ns,
                            collective.operation,
                            collective.communicator,
                            collective.root.unwrap_or(NONE),
                            collective.sent_bytes,
                            collective.received_bytes,
                            *request,
                        ),
                        "OTF2_EvtWriter_NonBlockingCollectiveComplete",
                    ),
                    None => return Ok(()),
                },
            }
        };
        self.check(code, function)
    }

    /// Writes the definitions of all; `counts` are the records of each thread of each process.
    fn definitions(&self, all: &Definitions, counts: &[(usize, usize, u64)]) -> Result<(), Otf2Error> {
        let library = self.library;
        // SAFETY: the archive is open; it closes this writer itself.
        let writer = self.made(
            unsafe { (library.global_writer)(self.object) },
            "OTF2_Archive_GetGlobalDefWriter",
        )?;
        let mut failed = Ok(());
        let mut said = |code: Code, function: &'static str| {
            if failed.is_ok() {
                failed = self.check(code, function);
            }
        };
        let own = all.strings.len() as u32;
        let further = ["machine", "node", "MPI"].map(|text| CString::new(text).unwrap_or_default());
        let strings = all
            .strings
            .iter()
            .map(|text| CString::new(text.as_str()).unwrap_or_default());
        let (machine, node, mpi) = (own, own + 1, own + 2);
        // SAFETY: the writer is open; no function keeps what it is given, and each list is as long as is said.
        unsafe {
            said(
                (library.clock)(writer, TICKS_PER_SECOND, 0, all.end_ns + 1, u64::MAX),
                "OTF2_GlobalDefWriter_WriteClockProperties",
            );
            for (number, text) in strings.chain(further).enumerate() {
                said(
                    (library.string)(writer, number as u32, text.as_ptr()),
                    "OTF2_GlobalDefWriter_WriteString",
                );
            }
            said(
                (library.node)(writer, 0, machine, machine, NONE),
                "OTF2_GlobalDefWriter_WriteSystemTreeNode",
            );
            for (number, name) in all.nodes.iter().enumerate() {
                said(
                    (library.node)(writer, number as u32 + 1, *name, node, 0),
                    "OTF2_GlobalDefWriter_WriteSystemTreeNode",
                );
            }
            for (number, process) in all.processes.iter().enumerate() {
                let parent = process.node.map_or(0, |node| node as u32 + 1);
                said(
                    (library.process)(writer, number as u32, process.name, PROCESS, parent, NONE),
                    "OTF2_GlobalDefWriter_WriteLocationGroup",
                );
            }
            for (process, thread, count) in counts {
                let (location, name) = all.processes[*process].threads[*thread];
                said(
                    (library.location)(writer, location, name, CPU_THREAD, *count, *process as u32),
                    "OTF2_GlobalDefWriter_WriteLocation",
                );
            }
            for (number, region) in all.regions.iter().enumerate() {
                let (role, paradigm) = numbers(region.role);
                let (file, line) = region.source.unwrap_or((NONE, 0));
                let (name, about) = (region.name, region.description);
                said(
                    (library.region)(
                        writer,
                        number as u32,
                        name,
                        name,
                        about,
                        role,
                        paradigm,
                        0,
                        file,
                        line,
                        line,
                    ),
                    "OTF2_GlobalDefWriter_WriteRegion",
                );
            }
            let locations: Vec<u64> = all.processes.iter().map(|process| process.threads[0].0).collect();
            let count = locations.len() as u32;
            said(
                (library.group)(writer, 0, mpi, COMM_LOCATIONS, MPI, 0, count, pointer(&locations)),
                "OTF2_GlobalDefWriter_WriteGroup",
            );
            for (number, communicator) in all.communicators.iter().enumerate() {
                let (group, members) = (number as u32 + 1, &communicator.members);
                said(
                    (library.group)(
                        writer,
                        group,
                        communicator.name,
                        COMM_GROUP,
                        MPI,
                        0,
                        members.len() as u32,
                        pointer(members),
                    ),
                    "OTF2_GlobalDefWriter_WriteGroup",
                );
                said(
                    (library.communicator)(writer, number as u32, communicator.name, group, NONE, 0),
                    "OTF2_GlobalDefWriter_WriteComm",
                );
            }
        }
        failed
    }
}

fn pointer(list: &[u64]) -> *const u64 {
    if list.is_empty() { null() } else { list.as_ptr() }
}

/// Role and paradigm of a region.
fn numbers(kind: Kind) -> (u8, u8) {
    match kind {
        Kind::Program => (1, USER),
        Kind::PointToPoint => (28, MPI),
        Kind::Barrier => (15, MPI),
        Kind::OneToAll => (23, MPI),
        Kind::AllToOne => (24, MPI),
        Kind::AllToAll => (25, MPI),
        Kind::Other => (1, MPI),
    }
}
