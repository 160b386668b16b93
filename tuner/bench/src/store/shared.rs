//! Files that a group writes together: a directory with the setgid bit and write permission for its group says that it does.

use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::Path;

use nix::unistd::{AccessFlags, access};

use super::StoreError;

/// Bits of a directory whose files belong to its group: setgid, and write permission.
const OF_A_GROUP: u32 = 0o2020;

/// Opens a file to read and write, and makes it if there is none: for the group, whatever the umask is, where the directory is a group's.
pub(super) fn open(path: &Path) -> Result<File, StoreError> {
    let is_new = !path.exists();
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path);
    let file = opened.map_err(|source| refused(path, source))?;
    if is_new {
        give_to_group(path, &file).map_err(|source| refused(path, source))?;
    }
    Ok(file)
}

/// Makes the database if there is none, as above; an error if it is there and this user may not write it.
pub(super) fn prepare(path: &Path) -> Result<(), StoreError> {
    if path.exists() {
        // Not opened: closing a descriptor would drop the locks that SQLite has on it in this process.
        return access(path, AccessFlags::R_OK | AccessFlags::W_OK).map_err(|errno| refused(path, errno.into()));
    }
    open(path).map(drop)
}

fn give_to_group(path: &Path, file: &File) -> std::io::Result<()> {
    let Some(directory) = path.parent().filter(|one| !one.as_os_str().is_empty()) else {
        return Ok(());
    };
    if std::fs::metadata(directory)?.mode() & OF_A_GROUP != OF_A_GROUP {
        return Ok(());
    }
    let own = file.metadata()?;
    // Another one may have made it meanwhile, who does the same.
    if own.uid() != nix::unistd::geteuid().as_raw() {
        return Ok(());
    }
    file.set_permissions(PermissionsExt::from_mode(own.mode() & 0o7777 | 0o660))
}

fn refused(path: &Path, source: std::io::Error) -> StoreError {
    match std::fs::metadata(path) {
        Ok(own) if source.kind() == std::io::ErrorKind::PermissionDenied => StoreError::NotWritable {
            path: path.to_path_buf(),
            owner: owner(&own),
        },
        _ => StoreError::Io {
            path: path.to_path_buf(),
            source,
        },
    }
}

/// Owner, group and mode, as `ls -n` says them.
fn owner(file: &Metadata) -> String {
    format!(
        "user {}, group {}, mode {:03o}",
        file.uid(),
        file.gid(),
        file.mode() & 0o777
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_the_groups_where_the_directory_is() {
        let directory = kilter_fixtures::directory();
        let mode = |name: &str, of_directory: u32| {
            std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(of_directory)).unwrap();
            let path = directory.path().join(name);
            prepare(&path).unwrap();
            std::fs::metadata(&path).unwrap().mode() & 0o060
        };
        assert_eq!(mode("a", 0o2775), 0o060);
        assert_ne!(
            mode("b", 0o755),
            0o060,
            "as the umask says, which keeps the group from writing nearly everywhere"
        );
        assert_ne!(mode("c", 0o2755), 0o060);
    }

    #[test]
    fn a_file_that_may_not_be_written_says_whose_it_is() {
        let directory = kilter_fixtures::directory();
        let path = directory.path().join("kilter.db");
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
        let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let message = refused(&path, denied).to_string();
        let own = format!("user {}, group", nix::unistd::geteuid());
        assert!(
            message.contains(&own) && message.contains("mode 444") && message.contains("chmod g+w"),
            "{message}"
        );
    }
}
