//! Samples of this thread's stack during a call, taken in a signal handler by the unwind tables of the libraries.
//!
//! The handler only stores addresses; they are resolved to functions when the call is over.

use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use anyhow::Context as _;
use kilter_protocol::call_paths::Function;

/// Time for which a rank is late: waiting ranks that share cores get some samples in it.
pub(super) const LATENESS: Duration = Duration::from_millis(20);
/// Time between samples.
const INTERVAL: Duration = Duration::from_millis(1);

/// Most samples of a call.
const SAMPLES: usize = 64;
/// Most frames of a sample. What is outside of them is lost, and such a sample is not used.
const DEPTH: usize = 128;

/// Addresses of all frames, innermost first, `DEPTH` for each sample.
static FRAMES: [AtomicUsize; SAMPLES * DEPTH] = [const { AtomicUsize::new(0) }; SAMPLES * DEPTH];
/// Number of frames of each sample.
static DEPTHS: [AtomicUsize; SAMPLES] = [const { AtomicUsize::new(0) }; SAMPLES];
/// Number of samples.
static TAKEN: AtomicUsize = AtomicUsize::new(0);
/// The thread whose stack is looked at; 0 for none.
static THREAD: AtomicI64 = AtomicI64::new(0);

/// The unwinder's state of a frame.
#[repr(C)]
struct Context {
    _opaque: [u8; 0],
}

/// Reason code of the unwinder: go on.
const NO_REASON: c_int = 0;
/// Reason code of the unwinder: stop.
const END_OF_STACK: c_int = 5;

// SAFETY: the functions of libgcc_s with these types, which Rust's own library links.
unsafe extern "C-unwind" {
    fn _Unwind_Backtrace(trace: extern "C-unwind" fn(*mut Context, *mut c_void) -> c_int, data: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut Context) -> usize;
    fn _Unwind_FindEnclosingFunction(address: *mut c_void) -> *mut c_void;
}

/// The sample under way.
struct Cursor {
    sample: usize,
    depth: usize,
}

extern "C-unwind" fn frame(context: *mut Context, cursor: *mut c_void) -> c_int {
    // SAFETY: `sample` gives the unwinder a cursor that nothing else uses meanwhile, and the unwinder a valid context.
    let (cursor, address) = unsafe { (&mut *cursor.cast::<Cursor>(), _Unwind_GetIP(context)) };
    if cursor.depth == DEPTH {
        return END_OF_STACK;
    }
    FRAMES[cursor.sample * DEPTH + cursor.depth].store(address, Relaxed);
    cursor.depth += 1;
    NO_REASON
}

/// Stores the frames of this thread's stack.
fn sample() {
    let sample = TAKEN.load(Relaxed);
    if sample >= SAMPLES {
        return;
    }
    let mut cursor = Cursor { sample, depth: 0 };
    // SAFETY: the callback fits the cursor, which outlives the call.
    unsafe { _Unwind_Backtrace(frame, (&raw mut cursor).cast()) };
    DEPTHS[sample].store(cursor.depth, Relaxed);
    TAKEN.store(sample + 1, Relaxed);
}

extern "C" fn on_tick(_: c_int) {
    // SAFETY: both are allowed in a signal handler; the thread's errno is there as long as it runs.
    unsafe {
        if i64::from(libc::gettid()) == THREAD.load(Relaxed) {
            let errno = libc::__errno_location();
            let before = *errno;
            sample();
            *errno = before;
        }
    }
}

/// Looks at this thread's stack until it is stopped or dropped.
pub(super) struct Sampler {
    timer: libc::timer_t,
}

impl Sampler {
    /// Starts the timer.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn start() -> anyhow::Result<Sampler> {
        TAKEN.store(0, Relaxed);
        // The unwinder's tables are found once, before it is called in a handler.
        sample();
        TAKEN.store(0, Relaxed);
        // A signal that nothing else in the process uses. The handler stays, since a last signal may come when the timer is gone.
        let signal = libc::SIGRTMAX() - 2;
        // SAFETY: zeros are valid for both structures, whose fields are then set; the handler does only what is allowed in one; the kernel
        // writes the timer.
        let timer = unsafe {
            let thread = libc::gettid();
            THREAD.store(i64::from(thread), Relaxed);
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = on_tick as extern "C" fn(c_int) as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigemptyset(&raw mut action.sa_mask);
            check(libc::sigaction(signal, &raw const action, std::ptr::null_mut()))?;
            let mut event: libc::sigevent = MaybeUninit::zeroed().assume_init();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal;
            event.sigev_notify_thread_id = thread;
            let mut timer: libc::timer_t = std::ptr::null_mut();
            check(libc::timer_create(
                libc::CLOCK_MONOTONIC,
                &raw mut event,
                &raw mut timer,
            ))?;
            timer
        };
        let sampler = Sampler { timer };
        let interval = libc::timespec {
            tv_sec: 0,
            tv_nsec: libc::c_long::from(INTERVAL.subsec_nanos() as i32),
        };
        let every = libc::itimerspec {
            it_interval: interval,
            it_value: interval,
        };
        // SAFETY: a timer that was made; the old times are not asked for.
        check(unsafe { libc::timer_settime(sampler.timer, 0, &raw const every, std::ptr::null_mut()) })?;
        Ok(sampler)
    }

    /// Stops it. Gives the functions of libraries of each sample, the outermost first: those that this program has called, and none of its own.
    pub(super) fn stop(self) -> Vec<Vec<Function>> {
        drop(self);
        let own = object_of(on_tick as extern "C" fn(c_int) as usize).map(|(base, _)| base);
        let taken = TAKEN.load(Relaxed).min(SAMPLES);
        (0..taken)
            .map(|sample| called(sample, own))
            .filter(|path| !path.is_empty())
            .collect()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        THREAD.store(0, Relaxed);
        // SAFETY: the timer is there, and is not used again.
        unsafe { libc::timer_delete(self.timer) };
    }
}

fn check(code: c_int) -> anyhow::Result<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error()).context("no timer to look at the stack by")
    }
}

/// Functions of libraries in a sample, the outermost first. Innermost are the handler, which is this program's, and the kernel's return from
/// it; outermost is this program again.
fn called(sample: usize, own: Option<usize>) -> Vec<Function> {
    let depth = DEPTHS[sample].load(Relaxed).min(DEPTH);
    let frames = FRAMES[sample * DEPTH..][..depth]
        .iter()
        .map(|frame| frame.load(Relaxed));
    let objects: Vec<(usize, Option<(usize, String)>)> = frames.map(|frame| (frame, object_of(frame))).collect();
    let is_own = |object: &Option<(usize, String)>| object.as_ref().is_some_and(|(base, _)| Some(*base) == own);
    let inner = objects.iter().take_while(|(_, object)| is_own(object)).count() + 1;
    let Some(outer) = objects.iter().skip(inner).position(|(_, object)| is_own(object)) else {
        return Vec::new();
    };
    let within = objects.into_iter().skip(inner).take(outer);
    let mut path: Vec<Function> = within
        .filter_map(|(frame, object)| Some(function(frame, object?)))
        .collect();
    path.reverse();
    path
}

/// Base and file of the object that has this address.
fn object_of(address: usize) -> Option<(usize, String)> {
    let about = about(address)?;
    // SAFETY: a C string of the loader's, which lives as long as the object, and nothing is unloaded here.
    let file = unsafe { CStr::from_ptr(about.dli_fname) };
    Some((about.dli_fbase as usize, file.to_string_lossy().into_owned()))
}

/// The loader's words on an address.
fn about(address: usize) -> Option<libc::Dl_info> {
    let mut about = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: writes the structure if it returns something else than 0.
    let about = unsafe {
        if libc::dladdr(address as *const c_void, about.as_mut_ptr()) == 0 {
            return None;
        }
        about.assume_init()
    };
    (!about.dli_fname.is_null()).then_some(about)
}

/// The function of an object to which an address belongs: by the unwind tables, else the address itself.
fn function(address: usize, (base, file): (usize, String)) -> Function {
    // A call may be its function's last instruction: the return address is then behind it.
    // SAFETY: looks an address up in tables.
    let start = unsafe { _Unwind_FindEnclosingFunction((address - 1) as *mut c_void) } as usize;
    let start = if start == 0 { address } else { start };
    let name = about(start).filter(|about| about.dli_saddr as usize == start && !about.dli_sname.is_null());
    let name = name.map(|about| {
        // SAFETY: a C string of the loader's, as above.
        let name = unsafe { CStr::from_ptr(about.dli_sname) };
        name.to_string_lossy().into_owned()
    });
    Function {
        file,
        offset: start.saturating_sub(base) as u64,
        name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls back into this program after a while in the C library.
    #[test]
    fn a_wait_in_a_library_is_found_by_its_function() {
        let sampler = Sampler::start().unwrap();
        // SAFETY: a pause; signals end it early.
        let pause = || unsafe { libc::usleep(8000) };
        for _ in 0..20 {
            pause();
        }
        let samples = sampler.stop();
        assert!(samples.len() >= 3, "{samples:?}");
        let path = kilter_protocol::call_paths::stable(&samples);
        assert!(
            path.iter().any(|function| function.file.contains("libc")),
            "{samples:?}"
        );
        assert!(
            path.iter().all(|function| !function.file.contains("kilter_worker")),
            "{path:?}"
        );
    }
}
