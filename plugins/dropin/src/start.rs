//! The start, at the first intercepted call after `MPI_Init`.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use kilter_host::trust;
use kilter_mpi::{constants, info};

use crate::communicator;
use crate::rules::Rules;

/// Largest profile that is read, in bytes.
const MAX_PROFILE: u64 = 16 << 20;

/// What is done with a call that the profile has a rule for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It is counted, and the library's own collective runs.
    Log,
    /// The profile's implementation runs.
    Replace,
}

/// What the start found.
pub(crate) struct Started {
    pub(crate) mode: Mode,
    /// Whether counts are printed at the end.
    pub(crate) log: bool,
    /// This process's rank in `MPI_COMM_WORLD`.
    pub(crate) rank: usize,
    /// The profile, or why it is not followed.
    pub(crate) rules: Result<Rules, String>,
    /// Equal on ranks that follow the same profile in the same mode; 0 where none is followed.
    pub(crate) digest: u64,
    /// Whether several threads may call MPI at the same time.
    pub(crate) thread_multiple: bool,
}

const NOT_STARTED: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

static PHASE: AtomicU8 = AtomicU8::new(NOT_STARTED);
static STARTED: OnceLock<Option<Started>> = OnceLock::new();

/// What [`started`] returns while the phase is [`ON`], else null: one load in each call.
static ACTIVE: AtomicPtr<Started> = AtomicPtr::new(ptr::null_mut());

/// What the start found, if calls are to be looked at; starts at the first call.
#[inline]
pub(crate) fn started() -> Option<&'static Started> {
    // SAFETY: null or what `STARTED` holds, which is never written again.
    unsafe { ACTIVE.load(Ordering::Acquire).as_ref() }.or_else(start)
}

/// What the start found, even after the end; `None` before it or where the drop-in is off.
pub(crate) fn found() -> Option<&'static Started> {
    STARTED.get().and_then(Option::as_ref)
}

/// From now on, calls go to the library.
pub(crate) fn stop() {
    PHASE.store(OFF, Ordering::SeqCst);
    ACTIVE.store(ptr::null_mut(), Ordering::SeqCst);
}

#[cold]
fn start() -> Option<&'static Started> {
    match PHASE.load(Ordering::SeqCst) {
        OFF => return None,
        // Another thread has just started.
        ON => return found(),
        _ if !info::is_running() => return None,
        _ => {}
    }
    let started = STARTED.get_or_init(|| {
        let rank = info::rank(constants::comm_world()).unwrap_or(0);
        let settings = match Settings::from(|name| std::env::var_os(name)) {
            Ok(Some(settings)) => settings,
            Ok(None) => return None,
            Err(reason) => {
                warn(rank == 0, &format!("{reason}; the library's own collectives are used"));
                return None;
            }
        };
        let rules = read(&settings.profile).and_then(|text| {
            let rules = Rules::load(&text, &settings.profile).map_err(|error| error.to_string())?;
            Ok((digest(settings.mode, text.as_bytes()), rules))
        });
        if let Err(reason) = &rules {
            warn(rank == 0, &format!("{reason}; the library's own collectives are used"));
        }
        if let Ok((_, rules)) = &rules {
            let (tuned, here) = (rules.library(), info::library_version().unwrap_or_default());
            let text = format!("the profile was tuned for `{tuned}`, this is `{here}`; it is followed all the same");
            warn(rank == 0 && tuned != here, &text);
        }
        let digest = rules.as_ref().map_or(0, |(digest, _)| *digest);
        let rules = rules.map(|(_, rules)| rules);
        let started = Started {
            mode: settings.mode,
            log: settings.log,
            rank,
            rules,
            digest,
            thread_multiple: info::is_thread_multiple().unwrap_or(true),
        };
        communicator::prepare().then_some(started)
    });
    let phase = if started.is_some() { ON } else { OFF };
    let is_first = PHASE
        .compare_exchange(NOT_STARTED, phase, Ordering::SeqCst, Ordering::SeqCst)
        .is_ok();
    if let Some(started) = started.as_ref().filter(|_| is_first) {
        ACTIVE.store(ptr::from_ref(started).cast_mut(), Ordering::SeqCst);
        // An end that came meanwhile is not undone.
        if PHASE.load(Ordering::SeqCst) == OFF {
            ACTIVE.store(ptr::null_mut(), Ordering::SeqCst);
        }
    }
    started.as_ref()
}

/// Prints a warning where this rank is the one to say it.
pub(crate) fn warn(speaks: bool, text: &str) {
    if speaks {
        kilter_mpi::say(format_args!("warning: {text}"));
    }
}

/// The environment.
#[derive(Debug, PartialEq, Eq)]
struct Settings {
    mode: Mode,
    log: bool,
    profile: PathBuf,
}

impl Settings {
    /// Reads the variables; `None` where the drop-in is off.
    fn from(variable: impl Fn(&str) -> Option<OsString>) -> Result<Option<Settings>, String> {
        let mode = match variable("KILTER_MODE")
            .as_deref()
            .map(|mode| mode.to_string_lossy())
            .as_deref()
        {
            Some("off") => return Ok(None),
            None | Some("replace" | "") => Mode::Replace,
            Some("log") => Mode::Log,
            Some(other) => return Err(format!("KILTER_MODE is `{other}`; allowed: replace, log, off")),
        };
        let log = mode == Mode::Log || variable("KILTER_LOG").is_some_and(|value| !value.is_empty() && value != "0");
        match variable("KILTER_PROFILE") {
            Some(profile) if !profile.is_empty() => Ok(Some(Settings {
                mode,
                log,
                profile: profile.into(),
            })),
            _ => Err("libkilter.so is loaded, but KILTER_PROFILE does not name a profile".to_owned()),
        }
    }
}

/// The profile's text.
fn read(path: &Path) -> Result<String, String> {
    let file = trust::open(path).map_err(|error| format!("profile: {error}"))?;
    let mut text = String::new();
    let failed = |error| format!("profile: cannot read `{}`: {error}", path.display());
    let length = file.take(MAX_PROFILE + 1).read_to_string(&mut text).map_err(failed)?;
    if length as u64 > MAX_PROFILE {
        return Err(format!(
            "profile: `{}` is longer than {MAX_PROFILE} bytes",
            path.display()
        ));
    }
    Ok(text)
}

/// FNV-1a, never 0: tells profiles apart, not adversaries.
fn digest(mode: Mode, text: &[u8]) -> u64 {
    let start: u64 = 0xcbf2_9ce4_8422_2325;
    let mode = [u8::from(mode == Mode::Log)];
    let hash = text.iter().chain(&mode).fold(start, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.max(1)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{Mode, Settings, digest};

    fn settings(variables: &[(&str, &str)]) -> Result<Option<(Mode, bool)>, String> {
        let variable = |name: &str| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| OsString::from(value))
        };
        Settings::from(variable).map(|settings| settings.map(|settings| (settings.mode, settings.log)))
    }

    #[test]
    fn the_environment_decides() {
        let profile = ("KILTER_PROFILE", "p.json");
        assert_eq!(settings(&[profile]), Ok(Some((Mode::Replace, false))));
        assert_eq!(
            settings(&[profile, ("KILTER_LOG", "1")]),
            Ok(Some((Mode::Replace, true)))
        );
        assert_eq!(
            settings(&[profile, ("KILTER_LOG", "0")]),
            Ok(Some((Mode::Replace, false)))
        );
        assert_eq!(
            settings(&[profile, ("KILTER_MODE", "log")]),
            Ok(Some((Mode::Log, true)))
        );
        assert_eq!(settings(&[("KILTER_MODE", "off")]), Ok(None));
        assert!(
            settings(&[profile, ("KILTER_MODE", "on")])
                .unwrap_err()
                .contains("replace, log, off")
        );
        assert!(settings(&[]).unwrap_err().contains("KILTER_PROFILE"));
    }

    #[test]
    fn ranks_with_another_profile_or_mode_are_told_apart() {
        assert_eq!(digest(Mode::Replace, b"{}"), digest(Mode::Replace, b"{}"));
        assert_ne!(digest(Mode::Replace, b"{}"), digest(Mode::Replace, b"{ }"));
        assert_ne!(digest(Mode::Replace, b"{}"), digest(Mode::Log, b"{}"));
        assert_ne!(digest(Mode::Replace, b""), 0);
    }
}
