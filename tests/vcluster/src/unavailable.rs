//! The one failure that is no failure: this machine, or this user, cannot have a virtual cluster.

use std::fmt;

use anyhow::Result;
use nix::errno::Errno;

/// Why no virtual cluster can be made here. Ends the program with [`EXIT_CODE`], so that a test can say "skipped".
#[derive(Debug)]
pub(crate) struct Unavailable(pub(crate) String);

/// Not available here.
pub(crate) const EXIT_CODE: u8 = 3;

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no virtual cluster can be made here: {}", self.0)
    }
}

impl std::error::Error for Unavailable {}

/// Tells what the kernel does not have or does not allow from what went wrong.
pub(crate) fn missing<T>(result: nix::Result<T>, what: &str) -> Result<T> {
    result.map_err(|errno| match errno {
        Errno::EPERM | Errno::EACCES | Errno::ENOSYS | Errno::ENODEV | Errno::ENXIO | Errno::ENOENT => {
            Unavailable(format!("{what}: {}", errno.desc())).into()
        }
        Errno::EINVAL => Unavailable(format!("{what}: not supported by this kernel")).into(),
        _ => anyhow::anyhow!("{what}: {}", errno.desc()),
    })
}
