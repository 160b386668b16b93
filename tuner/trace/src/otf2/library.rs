//! libotf2, loaded when it is needed: its functions as this crate calls them.
//!
//! Functions that got a further argument in OTF2 3.0 are called with it. The calling conventions of the 64-bit machines on which MPI runs let a function
//! of an earlier version leave it unread.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;

use super::Otf2Error;

/// An object of the library.
pub(super) type Object = *mut c_void;

/// Result of a call: 0, or a number for which the library has words.
pub(super) type Code = c_int;

/// Names under which libotf2 is installed, the newest first.
const FILES: [&str; 14] = [
    "libotf2.so",
    "libotf2.so.12",
    "libotf2.so.11",
    "libotf2.so.10",
    "libopen-trace-format2.so.12",
    "libopen-trace-format2.so.11",
    "libopen-trace-format2.so.10",
    "libopen-trace-format2.so",
    "libotf2.so.9",
    "libotf2.so.8",
    "libotf2.so.7",
    "libotf2.so.6",
    "libotf2.so.5",
    "libopen-trace-format2.so.9",
];

/// The callbacks of `OTF2_Archive_SetFlushCallbacks`.
#[repr(C)]
pub(super) struct FlushCallbacks {
    pub(super) before: extern "C" fn(*mut c_void, u8, u64, *mut c_void, bool) -> u8,
    pub(super) after: Option<extern "C" fn(*mut c_void, u8, u64) -> u64>,
}

/// Says that a full buffer is to be written.
pub(super) extern "C" fn flush(_: *mut c_void, _: u8, _: u64, _: *mut c_void, _: bool) -> u8 {
    1
}

macro_rules! functions {
    ($($name:ident = $symbol:literal: fn($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions.
        pub(super) struct Library {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> $result,)*
            /// Holds what the functions point into.
            _file: libloading::Library,
        }

        impl Library {
            fn of(file: libloading::Library, name: &str) -> Result<Library, Otf2Error> {
                $(
                    // SAFETY: the type is that of the function in the headers of OTF2; the library is kept beside it.
                    let $name = unsafe { file.get::<unsafe extern "C" fn($($argument),*) -> $result>($symbol.as_bytes()) };
                    let $name = *$name.map_err(|_| Otf2Error::Lacks {
                        library: name.to_owned(),
                        function: $symbol,
                    })?;
                )*
                Ok(Library { $($name,)* _file: file })
            }
        }
    };
}

functions! {
    description = "OTF2_Error_GetDescription": fn(Code) -> *const c_char;
    open = "OTF2_Archive_Open": fn(*const c_char, *const c_char, u8, u64, u64, u8, u8) -> Object;
    close = "OTF2_Archive_Close": fn(Object) -> Code;
    set_flush = "OTF2_Archive_SetFlushCallbacks": fn(Object, *const FlushCallbacks, *mut c_void) -> Code;
    set_serial = "OTF2_Archive_SetSerialCollectiveCallbacks": fn(Object) -> Code;
    open_events = "OTF2_Archive_OpenEvtFiles": fn(Object) -> Code;
    close_events = "OTF2_Archive_CloseEvtFiles": fn(Object) -> Code;
    open_definitions = "OTF2_Archive_OpenDefFiles": fn(Object) -> Code;
    close_definitions = "OTF2_Archive_CloseDefFiles": fn(Object) -> Code;
    event_writer = "OTF2_Archive_GetEvtWriter": fn(Object, u64) -> Object;
    close_event_writer = "OTF2_Archive_CloseEvtWriter": fn(Object, Object) -> Code;
    definition_writer = "OTF2_Archive_GetDefWriter": fn(Object, u64) -> Object;
    close_definition_writer = "OTF2_Archive_CloseDefWriter": fn(Object, Object) -> Code;
    global_writer = "OTF2_Archive_GetGlobalDefWriter": fn(Object) -> Object;
    clock = "OTF2_GlobalDefWriter_WriteClockProperties": fn(Object, u64, u64, u64, u64) -> Code;
    string = "OTF2_GlobalDefWriter_WriteString": fn(Object, u32, *const c_char) -> Code;
    node = "OTF2_GlobalDefWriter_WriteSystemTreeNode": fn(Object, u32, u32, u32, u32) -> Code;
    process = "OTF2_GlobalDefWriter_WriteLocationGroup": fn(Object, u32, u32, u8, u32, u32) -> Code;
    location = "OTF2_GlobalDefWriter_WriteLocation": fn(Object, u64, u32, u8, u64, u32) -> Code;
    region = "OTF2_GlobalDefWriter_WriteRegion": fn(Object, u32, u32, u32, u32, u8, u8, u32, u32, u32, u32) -> Code;
    group = "OTF2_GlobalDefWriter_WriteGroup": fn(Object, u32, u32, u8, u8, u32, u32, *const u64) -> Code;
    communicator = "OTF2_GlobalDefWriter_WriteComm": fn(Object, u32, u32, u32, u32, u32) -> Code;
    enter = "OTF2_EvtWriter_Enter": fn(Object, Object, u64, u32) -> Code;
    leave = "OTF2_EvtWriter_Leave": fn(Object, Object, u64, u32) -> Code;
    send = "OTF2_EvtWriter_MpiSend": fn(Object, Object, u64, u32, u32, u32, u64) -> Code;
    receive = "OTF2_EvtWriter_MpiRecv": fn(Object, Object, u64, u32, u32, u32, u64) -> Code;
    isend = "OTF2_EvtWriter_MpiIsend": fn(Object, Object, u64, u32, u32, u32, u64, u64) -> Code;
    isend_complete = "OTF2_EvtWriter_MpiIsendComplete": fn(Object, Object, u64, u64) -> Code;
    ireceive_request = "OTF2_EvtWriter_MpiIrecvRequest": fn(Object, Object, u64, u64) -> Code;
    ireceive = "OTF2_EvtWriter_MpiIrecv": fn(Object, Object, u64, u32, u32, u32, u64, u64) -> Code;
    cancelled = "OTF2_EvtWriter_MpiRequestCancelled": fn(Object, Object, u64, u64) -> Code;
    collective_begin = "OTF2_EvtWriter_MpiCollectiveBegin": fn(Object, Object, u64) -> Code;
    collective_end = "OTF2_EvtWriter_MpiCollectiveEnd": fn(Object, Object, u64, u8, u32, u32, u64, u64) -> Code;
}

/// Begin of a collective that does not block; since OTF2 3.0.
pub(super) type CollectiveRequest = unsafe extern "C" fn(Object, Object, u64, u64) -> Code;

/// Its completion.
pub(super) type CollectiveComplete = unsafe extern "C" fn(Object, Object, u64, u8, u32, u32, u64, u64, u64) -> Code;

impl Library {
    /// Loads this file, or the library of the system.
    pub(super) fn load(file: Option<&Path>) -> Result<Library, Otf2Error> {
        let names = match file {
            Some(file) => vec![file.display().to_string()],
            None => FILES.map(str::to_owned).to_vec(),
        };
        let mut said = String::new();
        for name in names {
            // SAFETY: initialising libotf2 runs nothing but the constructors of the C library's kind that it links.
            match unsafe { libloading::Library::new(&name) } {
                Ok(library) => return Library::of(library, &name),
                Err(error) => said = error.to_string(),
            }
        }
        Err(Otf2Error::NotFound { said })
    }

    /// The functions for collectives that do not block, where the library has them.
    pub(super) fn nonblocking(&self) -> Option<(CollectiveRequest, CollectiveComplete)> {
        let (request, complete) = (
            "OTF2_EvtWriter_NonBlockingCollectiveRequest",
            "OTF2_EvtWriter_NonBlockingCollectiveComplete",
        );
        // SAFETY: the types are those of the functions in the headers of OTF2 3.0; the caller keeps the library.
        let both = unsafe {
            (
                self._file.get::<CollectiveRequest>(request.as_bytes()).ok()?,
                self._file.get::<CollectiveComplete>(complete.as_bytes()).ok()?,
            )
        };
        Some((*both.0, *both.1))
    }

    /// The library's words for a result.
    pub(super) fn words(&self, code: Code) -> String {
        // SAFETY: takes a number and returns a static string.
        let text = unsafe { (self.description)(code) };
        if text.is_null() {
            return format!("error {code}");
        }
        // SAFETY: not null, and a static string of C.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}
