//! Finds the file of this process's MPI library by the file that is mapped where its functions lie in memory.

use std::path::PathBuf;

/// The file; `None` where the library is part of this program, or the kernel does not tell.
#[must_use]
pub fn path() -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let library = mapped_at(&maps, mpi_sys::PMPI_Get_library_version as *const () as usize)?;
    let own = std::env::current_exe().ok()?;
    (library != own).then_some(library)
}

/// The file that is mapped at an address: lines `BEGIN-END MODE OFFSET DEVICE INODE   PATH`.
fn mapped_at(maps: &str, address: usize) -> Option<PathBuf> {
    maps.lines().find_map(|line| {
        let (begin, rest) = line.split_once('-')?;
        let (end, _) = rest.split_once(' ')?;
        let number = |text: &str| usize::from_str_radix(text, 16).ok();
        (number(begin)?..number(end)?)
            .contains(&address)
            .then(|| line.find('/').map(|start| PathBuf::from(&line[start..])))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mapping_around_an_address_is_found() {
        let maps = "1000-2000 r--p 00000000 08:01 12   /lib/a b.so.12\n2000-3000 r-xp 00001000 08:01 12   /lib/c.so\n\
                    3000-4000 rw-p 00000000 00:00 0\n";
        assert_eq!(mapped_at(maps, 0x1fff), Some(PathBuf::from("/lib/a b.so.12")));
        assert_eq!(mapped_at(maps, 0x2000), Some(PathBuf::from("/lib/c.so")));
        assert_eq!((mapped_at(maps, 0x3000), mapped_at(maps, 0x9000)), (None, None));
    }

    #[test]
    fn the_library_of_this_program_is_a_file() {
        // Tests are linked with the library as programs are.
        assert!(path().is_none_or(|path| path.is_file()), "{:?}", path());
    }
}
