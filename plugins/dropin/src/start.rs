//! The start, at the first intercepted call after `MPI_Init`.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use kilter_host::{code, trust};
use kilter_mpi::environment::{self, Variables};
use kilter_mpi::{constants, info};

use crate::communicator;
use crate::init;
use crate::node::node;
use crate::rules::Rules;
use crate::started::{self, Mode, Started};
use crate::unfollowed::{MAX_PROFILE, Unfollowed, Unnamed};
use crate::warning::warn;
use crate::world::{self, World};

/// Calls with a rule that are the library's on a new communicator, where nobody says otherwise: most that are made for one call are freed
/// after it.
const PRIVATE_AFTER: u32 = 1;

/// The start's result, if calls are to be looked at; starts at the first call.
#[inline]
pub(crate) fn started() -> Option<&'static Started> {
    started::active().or_else(start)
}

#[cold]
fn start() -> Option<&'static Started> {
    started::once(find_out)
}

/// Reads the environment and the profile; `None` where the drop-in is off.
fn find_out() -> Option<Started> {
    if !init::is_everywhere() {
        return None;
    }
    let rank = info::rank(constants::comm_world()).unwrap_or(0);
    let settings = Settings::from(environment::variable);
    let online = world::found().filter(|_| settings.mode == Mode::Replace);
    let followed = follow(&settings, rank, online);
    if let Err(reason) = &followed {
        warn(
            rank == 0 && !settings.is_off,
            &format!("{reason}; the library's own collectives are used"),
        );
    }
    let digest = followed.as_ref().map_or(0, |(digest, _)| *digest);
    let started = Started {
        mode: settings.mode,
        log: settings.log,
        rank,
        rules: followed.map(|(_, rules)| rules),
        digest,
        node: node(),
        private_after: settings.private_after,
        thread_multiple: info::is_thread_multiple().unwrap_or(true),
        online,
    };
    communicator::prepare().then_some(started)
}

/// The environment.
#[derive(Debug)]
struct Settings {
    mode: Mode,
    log: bool,
    /// True if the profile is followed whatever library it was tuned for.
    any_library: bool,
    private_after: u32,
    /// True if nobody need be told that no profile is followed.
    is_off: bool,
    /// The profile to follow, or why none is.
    profile: Result<PathBuf, Unnamed>,
}

impl Settings {
    /// Reads the variables. One that makes no sense is a reason not to follow the profile, and not to ignore it: all ranks take part in
    /// agreeing on what is followed.
    fn from(variable: impl Fn(&str) -> Option<OsString>) -> Settings {
        let variables = Variables(variable);
        let is_set = |name: &str| variables.text(name).is_some_and(|value| value != "0");
        let modes = [
            ("replace", Some(Mode::Replace)),
            ("log", Some(Mode::Log)),
            ("off", None),
        ];
        let mode = variables.word("KILTER_MODE", &modes);
        let is_off = mode == Ok(Some(None));
        let private_after = variables.number("KILTER_PRIVATE_AFTER", &(0..=u64::from(u32::MAX)), "");
        let wrong = match (&mode, &private_after) {
            (Ok(Some(None)), _) => Some(Unnamed::Off),
            (Err(wrong), _) | (_, Err(wrong)) => Some(Unnamed::Variable(wrong.clone())),
            _ => None,
        };
        let profile = match (wrong, variables.raw("KILTER_PROFILE")) {
            (Some(wrong), _) => Err(wrong),
            (None, Some(profile)) => Ok(profile.into()),
            (None, None) => Err(Unnamed::Missing),
        };
        let mode = mode.ok().flatten().flatten().unwrap_or(Mode::Replace);
        let private_after = private_after
            .ok()
            .flatten()
            .and_then(|number| u32::try_from(number).ok());
        Settings {
            mode,
            log: mode == Mode::Log || is_set("KILTER_LOG"),
            any_library: is_set("KILTER_ANY_LIBRARY"),
            private_after: private_after.unwrap_or(PRIVATE_AFTER),
            is_off,
            profile,
        }
    }
}

/// The rules to follow, with a number that tells them apart; or why none are.
fn follow(settings: &Settings, rank: usize, online: Option<&World>) -> Result<(u64, Rules), Unfollowed> {
    let rows = online.map(|world| &world.wanted.rows);
    let here = info::library_version().unwrap_or_default();
    let path = match (&settings.profile, rows) {
        (Err(Unnamed::Missing), Some(rows)) => {
            let rules = Rules::without_profile(&here, rows)?;
            if rules.implementations.is_empty() {
                return Err(Unfollowed::NothingToTry);
            }
            return Ok((digest(settings, &[], rules.code), rules));
        }
        (profile, _) => profile.as_ref().map_err(Clone::clone)?,
    };
    let text = read(path)?;
    let rules = Rules::load(&text, path, rows)?;
    let tuned = rules.library();
    if tuned != here {
        if !settings.any_library {
            let tuned = tuned.to_owned();
            return Err(Unfollowed::OtherLibrary { tuned, here });
        }
        let text = format!("the profile was tuned for `{tuned}`, this is `{here}`; it is followed all the same");
        warn(rank == 0, &text);
    }
    Ok((digest(settings, text.as_bytes(), rules.code), rules))
}

/// The profile's text.
fn read(path: &Path) -> Result<String, Unfollowed> {
    let file = trust::open(path)?;
    trust::above(path)?;
    let mut text = String::new();
    let path = || path.to_owned();
    let failed = |error| Unfollowed::Unread { path: path(), error };
    let length = file.take(MAX_PROFILE + 1).read_to_string(&mut text).map_err(failed)?;
    if length as u64 > MAX_PROFILE {
        return Err(Unfollowed::TooLong(path()));
    }
    Ok(text)
}

/// Tells apart what ranks follow: the profile, how, and the code of the drop-in and the plugins. Never 0. Not for adversaries.
fn digest(settings: &Settings, text: &[u8], plugins: u64) -> u64 {
    static IN_THE_DROPIN: u8 = 0;
    let how = [
        u64::from(settings.mode == Mode::Log),
        u64::from(settings.private_after),
        plugins,
    ];
    let start = code::digest((&raw const IN_THE_DROPIN).cast(), 0xcbf2_9ce4_8422_2325);
    let hash = how.iter().fold(code::hash(start, text), |hash, number| {
        code::hash(hash, &number.to_le_bytes())
    });
    hash.max(1)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        Settings::from(|name| {
            let mut all = variables.iter();
            all.find(|(known, _)| *known == name)
                .map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_environment_decides() {
        let profile = ("KILTER_PROFILE", "p.json");
        let plain = settings(&[profile]);
        assert_eq!(plain.profile, Ok(PathBuf::from("p.json")));
        assert_eq!(
            (plain.mode, plain.log, plain.any_library),
            (Mode::Replace, false, false)
        );
        assert_eq!(plain.private_after, PRIVATE_AFTER);
        assert!(settings(&[profile, ("KILTER_LOG", "1")]).log);
        assert!(!settings(&[profile, ("KILTER_LOG", "0")]).log);
        let log = settings(&[profile, ("KILTER_MODE", "log")]);
        assert!(log.mode == Mode::Log && log.log && log.profile.is_ok());
        assert_eq!(settings(&[profile, ("KILTER_PRIVATE_AFTER", "0")]).private_after, 0);
        assert!(settings(&[profile, ("KILTER_ANY_LIBRARY", "1")]).any_library);
    }

    #[test]
    fn what_makes_no_sense_is_a_reason_to_follow_nothing() {
        let profile = ("KILTER_PROFILE", "p.json");
        let reason = |more: (&str, &str)| settings(&[profile, more]).profile.unwrap_err().to_string();
        assert!(reason(("KILTER_MODE", "on")).contains("replace, log, off"));
        assert!(reason(("KILTER_PRIVATE_AFTER", "-1")).contains("0 to 4294967295"));
        assert_eq!(settings(&[]).profile, Err(Unnamed::Missing));
        let off = settings(&[profile, ("KILTER_MODE", "off")]);
        assert_eq!((off.is_off, off.profile), (true, Err(Unnamed::Off)));
        assert!(!settings(&[profile, ("KILTER_MODE", "on")]).is_off);
    }

    #[test]
    fn ranks_that_follow_something_else_are_told_apart() {
        let plain = settings(&[]);
        let own = digest(&plain, b"{}", 7);
        assert_eq!(own, digest(&plain, b"{}", 7));
        assert_ne!(own, digest(&plain, b"{ }", 7));
        assert_ne!(own, digest(&plain, b"{}", 8), "a plugin's code");
        assert_ne!(own, digest(&settings(&[("KILTER_MODE", "log")]), b"{}", 7));
        assert_ne!(own, digest(&settings(&[("KILTER_PRIVATE_AFTER", "0")]), b"{}", 7));
    }
}
