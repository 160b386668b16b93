//! Definitions that all locations share: strings, places, regions and communicators.

use std::ffi::CString;
use std::ptr::null;

use super::{Archive, NONE};
use crate::otf2::Otf2Error;
use crate::otf2::library::Object;
use crate::otf2::model::{Definitions, Kind};

/// Numbers of OTF2.
const TICKS_PER_SECOND: u64 = 1_000_000_000;
const PROCESS: u8 = 1;
const CPU_THREAD: u8 = 1;
const USER: u8 = 1;
const MPI: u8 = 4;
const COMM_LOCATIONS: u8 = 4;
const COMM_GROUP: u8 = 5;

/// Texts that stand in no trace; their numbers follow those of the trace's.
const FURTHER: [&str; 3] = ["machine", "node", "MPI"];

/// The writer of an archive, which closes it itself. No function of the library keeps what it is given.
struct Global<'a> {
    archive: &'a Archive<'a>,
    writer: Object,
    all: &'a Definitions,
}

/// Writes the definitions; `counts` are the records of each thread of each process.
pub(super) fn write(archive: &Archive<'_>, all: &Definitions, counts: &[(usize, usize, u64)]) -> Result<(), Otf2Error> {
    // SAFETY: the archive is open.
    let writer = unsafe { (archive.library.global_writer)(archive.object) };
    let writer = archive.made(writer, "OTF2_Archive_GetGlobalDefWriter")?;
    let global = Global { archive, writer, all };
    global.clock()?;
    global.strings()?;
    global.places(counts)?;
    global.regions()?;
    global.communicators()
}

impl Global<'_> {
    fn clock(&self) -> Result<(), Otf2Error> {
        // SAFETY: the writer is open.
        let code =
            unsafe { (self.archive.library.clock)(self.writer, TICKS_PER_SECOND, 0, self.all.end_ns + 1, u64::MAX) };
        self.archive.check(code, "OTF2_GlobalDefWriter_WriteClockProperties")
    }

    fn strings(&self) -> Result<(), Otf2Error> {
        let own = self.all.strings.iter().map(String::as_str);
        for (number, text) in own.chain(FURTHER).enumerate() {
            let text = CString::new(text).unwrap_or_default();
            // SAFETY: the writer is open, and the text ends with a zero.
            let code = unsafe { (self.archive.library.string)(self.writer, number as u32, text.as_ptr()) };
            self.archive.check(code, "OTF2_GlobalDefWriter_WriteString")?;
        }
        Ok(())
    }

    /// Numbers of [`FURTHER`].
    fn further(&self) -> [u32; 3] {
        let own = self.all.strings.len() as u32;
        [own, own + 1, own + 2]
    }

    /// Nodes in the machine, processes on nodes, and threads of processes.
    fn places(&self, counts: &[(usize, usize, u64)]) -> Result<(), Otf2Error> {
        let (library, writer, all) = (self.archive.library, self.writer, self.all);
        let [machine, node, _] = self.further();
        let nodes = all.nodes.iter().map(|name| (*name, node, 0));
        for (number, (name, kind, parent)) in std::iter::once((machine, machine, NONE)).chain(nodes).enumerate() {
            // SAFETY: the writer is open, here and below.
            let code = unsafe { (library.node)(writer, number as u32, name, kind, parent) };
            self.archive.check(code, "OTF2_GlobalDefWriter_WriteSystemTreeNode")?;
        }
        for (number, process) in all.processes.iter().enumerate() {
            let parent = process.node.map_or(0, |node| node as u32 + 1);
            // SAFETY: as above.
            let code = unsafe { (library.process)(writer, number as u32, process.name, PROCESS, parent, NONE) };
            self.archive.check(code, "OTF2_GlobalDefWriter_WriteLocationGroup")?;
        }
        for (process, thread, count) in counts {
            let (location, name) = all.processes[*process].threads[*thread];
            // SAFETY: as above.
            let code = unsafe { (library.location)(writer, location, name, CPU_THREAD, *count, *process as u32) };
            self.archive.check(code, "OTF2_GlobalDefWriter_WriteLocation")?;
        }
        Ok(())
    }

    fn regions(&self) -> Result<(), Otf2Error> {
        for (number, region) in self.all.regions.iter().enumerate() {
            let (role, paradigm) = numbers(region.role);
            let (file, line) = region.source.unwrap_or((NONE, 0));
            let (name, about) = (region.name, region.description);
            // SAFETY: the writer is open.
            let code = unsafe {
                (self.archive.library.region)(
                    self.writer,
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
                )
            };
            self.archive.check(code, "OTF2_GlobalDefWriter_WriteRegion")?;
        }
        Ok(())
    }

    /// Communicators with their groups, behind the group of all locations.
    fn communicators(&self) -> Result<(), Otf2Error> {
        let [.., mpi] = self.further();
        let locations: Vec<u64> = self.all.processes.iter().map(|process| process.threads[0].0).collect();
        self.group(0, mpi, COMM_LOCATIONS, &locations)?;
        for (number, communicator) in self.all.communicators.iter().enumerate() {
            let group = number as u32 + 1;
            self.group(group, communicator.name, COMM_GROUP, &communicator.members)?;
            // SAFETY: the writer is open.
            let code = unsafe {
                (self.archive.library.communicator)(self.writer, number as u32, communicator.name, group, NONE, 0)
            };
            self.archive.check(code, "OTF2_GlobalDefWriter_WriteComm")?;
        }
        Ok(())
    }

    fn group(&self, number: u32, name: u32, kind: u8, members: &[u64]) -> Result<(), Otf2Error> {
        let count = members.len() as u32;
        // SAFETY: the writer is open, and the list is as long as is said.
        let code =
            unsafe { (self.archive.library.group)(self.writer, number, name, kind, MPI, 0, count, pointer(members)) };
        self.archive.check(code, "OTF2_GlobalDefWriter_WriteGroup")
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
