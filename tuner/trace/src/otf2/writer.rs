//! Writes definitions and records through libotf2.

mod global;

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr::null_mut;

use super::library::{Code, CollectiveComplete, CollectiveRequest, FlushCallbacks, Library, Object, flush};
use super::model::Definitions;
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
        global::write(self, definitions, &counts)
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
}
