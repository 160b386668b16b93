//! Reasons why no profile is followed; warnings end with what happens instead.

use std::io;
use std::path::PathBuf;

use kilter_host::trust::TrustError;
use kilter_mpi::environment::WrongValue;

use crate::rules::RulesError;

/// Largest profile that is read, in bytes.
pub(crate) const MAX_PROFILE: u64 = 16 << 20;

/// Reason why no profile is followed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfollowed {
    /// The environment names none.
    #[error(transparent)]
    Unnamed(#[from] Unnamed),
    /// Its file is not to be trusted, or not there.
    #[error("profile: {0}")]
    Trust(#[from] TrustError),
    /// Its file is no text, or the system fails to read it.
    #[error("profile: cannot read `{}`: {error}", path.display())]
    Unread { path: PathBuf, error: io::Error },
    /// Its file is none that Kilter writes.
    #[error("profile: `{}` is longer than {MAX_PROFILE} bytes", .0.display())]
    TooLong(PathBuf),
    /// Its rules cannot be followed.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// There is no profile, and no row is named to be tried.
    #[error(
        "KILTER_ONLINE is set, and there is nothing to try: name rows in KILTER_ONLINE_ROWS, such as those that `kilter verify-algorithms` found correct here, or a \
         profile in KILTER_PROFILE"
    )]
    NothingToTry,
    /// It is about another library.
    #[error(
        "the profile was tuned for `{tuned}`, this is `{here}`: tune for this library, or set KILTER_ANY_LIBRARY=1 to follow it all the same"
    )]
    OtherLibrary { tuned: String, here: String },
}

/// Reason why the environment names no profile to follow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unnamed {
    /// The user wants none.
    #[error("KILTER_MODE is `off`")]
    Off,
    /// A variable makes no sense, so that nobody knows how to follow one.
    #[error(transparent)]
    Variable(#[from] WrongValue),
    /// Nobody has named one.
    #[error("libkilter.so is loaded, but KILTER_PROFILE does not name a profile")]
    Missing,
}
