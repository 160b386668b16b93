//! Cold caches: before a repetition every rank reads and writes so much other memory that nothing of the user's is left.
//!
//! Twice the last-level cache, because replacement is not in order of use. Done before the start is agreed, so that the time of
//! it is in no repetition and a rank that sweeps longer delays the start and not the others.

use std::path::Path;

use kilter_protocol::plan::Cache;

/// Directory in which Linux describes the caches of the first core.
const CACHES: &str = "/sys/devices/system/cpu/cpu0/cache";

/// Bytes swept if the caches are unknown.
const UNKNOWN_BYTES: u64 = 64 << 20;

/// Bytes between two accesses: no line of a current machine is shorter.
const LINE_BYTES: usize = 64;

/// The memory that is swept.
#[derive(Debug)]
pub(crate) struct Sweep {
    memory: Vec<u64>,
    /// Number of sweeps.
    pub(crate) count: u64,
}

impl Sweep {
    /// The sweep that the plan requests; `None` if caches stay warm.
    pub(crate) fn new(cache: Cache) -> Option<Sweep> {
        let Cache::Cold { bytes } = cache else { return None };
        let bytes =
            bytes.unwrap_or_else(|| last_level_bytes(Path::new(CACHES)).map_or(UNKNOWN_BYTES, |bytes| 2 * bytes));
        let words = usize::try_from(bytes).unwrap_or(usize::MAX).div_ceil(size_of::<u64>());
        Some(Sweep {
            // Ones, written here: pages of zeros would all be one page until something else is written.
            memory: vec![1; words],
            count: 0,
        })
    }

    /// Bytes swept.
    pub(crate) fn bytes(&self) -> u64 {
        size_of_val(self.memory.as_slice()) as u64
    }

    /// Sweeps once.
    pub(crate) fn run(&mut self) {
        for word in self.memory.iter_mut().step_by(LINE_BYTES / size_of::<u64>()) {
            *word = word.wrapping_add(1);
        }
        std::hint::black_box(self.memory.as_mut_slice());
        self.count += 1;
    }
}

/// Size of the cache of the highest level that holds data, as the folders `index*` tell.
fn last_level_bytes(caches: &Path) -> Option<u64> {
    let read = |folder: &Path, name: &str| Some(std::fs::read_to_string(folder.join(name)).ok()?.trim().to_owned());
    std::fs::read_dir(caches)
        .ok()?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|folder| read(folder, "type").is_some_and(|kind| kind != "Instruction"))
        .filter_map(|folder| {
            let level: u32 = read(&folder, "level")?.parse().ok()?;
            Some((level, size_bytes(&read(&folder, "size")?)?))
        })
        .max()
        .map(|(_, bytes)| bytes)
}

/// `32768K` in bytes.
fn size_bytes(text: &str) -> Option<u64> {
    let (digits, factor) = match text.strip_suffix('K') {
        Some(digits) => (digits, 1 << 10),
        None => match text.strip_suffix('M') {
            Some(digits) => (digits, 1 << 20),
            None => (text, 1),
        },
    };
    digits
        .parse::<u64>()
        .ok()?
        .checked_mul(factor)
        .filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_written_and_the_sweeps_are_counted() {
        let mut sweep = Sweep::new(Cache::Cold { bytes: Some(1 << 16) }).unwrap();
        assert_eq!(sweep.bytes(), 1 << 16);
        sweep.run();
        sweep.run();
        assert_eq!(sweep.count, 2);
        let lines = sweep.memory.chunks(8);
        assert!(lines.into_iter().all(|line| line.iter().sum::<u64>() == 8 + 2));
        assert!(Sweep::new(Cache::Warm).is_none());
    }

    #[test]
    fn the_last_level_is_found_among_folders() {
        let folder = std::env::temp_dir().join(format!("kilter-caches-{}", std::process::id()));
        for (index, level, kind, size) in [
            ("index0", "1", "Data", "48K"),
            ("index1", "1", "Instruction", "32K"),
            ("index3", "3", "Unified", "33792K"),
            ("index2", "2", "Unified", "2048K"),
        ] {
            let index = folder.join(index);
            std::fs::create_dir_all(&index).unwrap();
            for (name, text) in [("level", level), ("type", kind), ("size", size)] {
                std::fs::write(index.join(name), format!("{text}\n")).unwrap();
            }
        }
        let found = last_level_bytes(&folder);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, Some(33792 << 10));
        assert_eq!(last_level_bytes(&folder), None);
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size_bytes("512K"), Some(512 << 10));
        assert_eq!(size_bytes("30M"), Some(30 << 20));
        assert_eq!(size_bytes("4096"), Some(4096));
        assert_eq!(size_bytes("0K"), None);
        assert_eq!(size_bytes("lots"), None);
    }
}
