//! Files that steer a program must belong to whom it runs as, or to root, and nobody else may write them.

use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Reason why a file is not used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// It cannot be opened.
    #[error("cannot open `{path}`: {error}")]
    Open {
        /// The file.
        path: PathBuf,
        /// Cause.
        error: std::io::Error,
    },
    /// It is a directory, a pipe, ...
    #[error("`{0}` is no regular file")]
    NoFile(PathBuf),
    /// Its owner is another.
    #[error("`{path}` belongs to user {owner}, who is neither root nor the user this program runs as ({user})")]
    Owner {
        /// The file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// User who runs the program.
        user: u32,
    },
    /// Others may write it.
    #[error("`{path}` may be written by others than its owner (mode {mode:o}); `chmod go-w` it")]
    Writable {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
}

/// Users whose files are followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted {
    /// Users that files may belong to.
    pub users: Vec<u32>,
    /// True if their groups may write, too.
    pub groups: bool,
}

impl Trusted {
    /// Root and who runs the program.
    #[must_use]
    pub fn program() -> Trusted {
        // SAFETY: has no preconditions.
        let user = unsafe { libc::geteuid() };
        Trusted {
            users: vec![0, user],
            groups: false,
        }
    }

    /// The same for what a command installs. Who installs for himself may have a group of his own, as many systems give; what root installs
    /// acts on everybody. Where root became so by `sudo`, it is `sudo_user` as well.
    #[must_use]
    pub fn installer(sudo_user: Option<u32>) -> Trusted {
        let Trusted { mut users, .. } = Trusted::program();
        let is_root = users.iter().all(|user| *user == 0);
        users.extend(sudo_user.filter(|_| is_root));
        Trusted {
            users,
            groups: !is_root,
        }
    }
}

/// Opens a file, if it may be trusted. What is checked is the open file, not the name.
pub fn open(path: &Path) -> Result<File, TrustError> {
    open_of(path, &Trusted::program())
}

/// The same by other rules.
pub fn open_of(path: &Path, trusted: &Trusted) -> Result<File, TrustError> {
    let failed = |error| TrustError::Open {
        path: path.to_owned(),
        error,
    };
    // Or opening a pipe would wait until somebody writes to it.
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(libc::O_NONBLOCK);
    let file = options.open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(TrustError::NoFile(path.to_owned()));
    }
    check(path, &metadata, trusted)?;
    Ok(file)
}

/// Checks that nobody else can put another file into a directory, or another directory into its place. Above it, a directory like `/tmp`,
/// where everybody may write and nobody may take away what is another's, will do.
pub fn directory(path: &Path, trusted: &Trusted) -> Result<(), TrustError> {
    let failed = |error| TrustError::Open {
        path: path.to_owned(),
        error,
    };
    let real = path.canonicalize().map_err(failed)?;
    for (above, directory) in real.ancestors().enumerate() {
        let metadata = directory.metadata().map_err(failed)?;
        let is_sticky = metadata.mode() & 0o1000 != 0;
        let trusted = &Trusted {
            groups: trusted.groups || is_of_own_group(&metadata),
            ..trusted.clone()
        };
        if above == 0 {
            check(directory, &metadata, trusted)?;
        } else if !is_sticky {
            check_owner(directory, &metadata, trusted, is_unmapped(metadata.uid()))?;
            check_mode(directory, &metadata, trusted)?;
        }
    }
    Ok(())
}

/// The same for the directory of a file that steers the program that runs. In directories of who runs it his own group may write, as many systems
/// make them where each user has a group of his own.
pub fn above(file: &Path) -> Result<(), TrustError> {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    directory(parent.unwrap_or(Path::new(".")), &Trusted::program())
}

/// True if a container shows unknown users by this number. An example is the host's root, to whom `/` belongs.
fn is_unmapped(user: u32) -> bool {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let shown_as = read("/proc/sys/kernel/overflowuid").trim().parse();
    let map = read("/proc/self/uid_map");
    let mut numbers = map.split_whitespace().filter_map(|number| number.parse::<u64>().ok());
    let knows_all = numbers.nth(2).is_some_and(|users| users >= u64::from(u32::MAX));
    shown_as == Ok(user) && !knows_all
}

/// True if a directory belongs to the user who runs the program and to that user's own group. Root's group does not
/// count.
fn is_of_own_group(metadata: &Metadata) -> bool {
    // SAFETY: they have no preconditions.
    let own = unsafe { (libc::geteuid(), libc::getegid()) };
    is_own((metadata.uid(), metadata.gid()), own)
}

fn is_own(directory: (u32, u32), own: (u32, u32)) -> bool {
    own.0 != 0 && directory == own
}

fn check(path: &Path, metadata: &Metadata, trusted: &Trusted) -> Result<(), TrustError> {
    check_owner(path, metadata, trusted, false)?;
    check_mode(path, metadata, trusted)
}

fn check_owner(path: &Path, metadata: &Metadata, trusted: &Trusted, is_unmapped: bool) -> Result<(), TrustError> {
    let owner = metadata.uid();
    if !is_unmapped && !trusted.users.contains(&owner) {
        return Err(TrustError::Owner {
            path: path.to_owned(),
            owner,
            // SAFETY: has no preconditions.
            user: unsafe { libc::geteuid() },
        });
    }
    Ok(())
}

fn check_mode(path: &Path, metadata: &Metadata, trusted: &Trusted) -> Result<(), TrustError> {
    let mode = metadata.mode() & 0o7777;
    if mode & if trusted.groups { 0o002 } else { 0o022 } != 0 {
        return Err(TrustError::Writable {
            path: path.to_owned(),
            mode,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_files_that_nobody_else_may_write_are_opened() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("profile.json");
        assert!(matches!(open(&path), Err(TrustError::Open { .. })));
        assert!(matches!(open(directory.path()), Err(TrustError::NoFile(_))));
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success() && matches!(open(&pipe), Err(TrustError::NoFile(_))));
        fs::write(&path, "{}").unwrap();
        for (mode, trusted) in [
            (0o600, true),
            (0o644, true),
            (0o755, true),
            (0o664, false),
            (0o646, false),
            (0o666, false),
        ] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let result = open(&path);
            assert_eq!(result.is_ok(), trusted, "{mode:o}");
            if let Err(error) = result {
                assert!(error.to_string().contains(&format!("{mode:o}")), "{error}");
            }
        }
    }

    #[test]
    fn directories_that_others_may_write_are_refused_and_so_is_what_lies_below_them() {
        let root = tempfile::tempdir().unwrap();
        let below = root.path().join("open/own");
        fs::create_dir_all(&below).unwrap();
        let open = below.parent().unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        set(&below, 0o755);
        for (mode, trusted) in [(0o755, true), (0o777, false), (0o775, false), (0o1777, true)] {
            set(open, mode);
            assert_eq!(
                directory(&below, &Trusted::program()).is_ok(),
                trusted,
                "{mode:o} above it"
            );
        }
        set(open, 0o755);
        for mode in [0o777, 0o1777, 0o775] {
            set(&below, mode);
            let error = directory(&below, &Trusted::program()).unwrap_err().to_string();
            assert!(error.contains(&format!("{mode:o}")) && error.contains("own"), "{error}");
            assert!(above(&below.join("profile.json")).is_err());
        }
        set(&below, 0o775);
        let with_groups = Trusted {
            groups: true,
            ..Trusted::program()
        };
        assert!(directory(&below, &with_groups).is_ok());
        // Another's: nobody is allowed.
        set(&below, 0o755);
        let nobody = Trusted {
            users: Vec::new(),
            groups: false,
        };
        assert!(matches!(directory(&below, &nobody), Err(TrustError::Owner { .. })));
        let file = below.join("file");
        fs::write(&file, "").unwrap();
        set(&file, 0o644);
        assert!(matches!(open_of(&file, &nobody), Err(TrustError::Owner { .. })));
    }

    #[test]
    fn the_own_group_of_who_runs_it_may_write_in_his_directories() {
        assert!(is_own((1000, 1000), (1000, 1000)));
        assert!(!is_own((1000, 50), (1000, 1000)), "a group that he shares");
        assert!(!is_own((1001, 1000), (1000, 1000)), "another's directory");
        assert!(!is_own((0, 0), (0, 0)), "root's acts on everybody");
    }
}
