//! Call sites as lines of the source: `addr2line` of binutils reads the debug information, where both are there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::time::Duration;

use kilter_bench::launch::capture::capture;
use kilter_bench::launch::command::CommandSpec;

use crate::profile::Site;

/// Call sites that are asked for at once: a command line has a limit.
const AT_ONCE: usize = 500;

/// Debug information of large programs takes a while to read.
const LIMIT: Duration = Duration::from_secs(60);

/// Fills in the source of each site whose module says it.
pub fn resolve(sites: &mut [Site]) {
    let mut by_module: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, site) in sites.iter().enumerate().filter(|(_, site)| !site.module.is_empty()) {
        by_module.entry(site.module.clone()).or_default().push(at);
    }
    for (module, numbers) in by_module {
        let Some(base) = base(&module) else { continue };
        for numbers in numbers.chunks(AT_ONCE) {
            let addresses = numbers.iter().filter_map(|at| sites.get(*at)).map(|site| {
                // The call lies before the address to which it returns.
                format!("{:#x}", base.wrapping_add(site.offset).saturating_sub(1))
            });
            let spec = CommandSpec {
                argv: ["addr2line", "-C", "-f", "-e", &module].map(str::to_owned).to_vec(),
                environment: Vec::new(),
            };
            let Ok(captured) = capture(&spec.with_arguments(addresses), LIMIT) else {
                return;
            };
            if !captured.status.success() {
                continue;
            }
            let lines: Vec<&str> = captured.output.lines().collect();
            for (at, answer) in numbers.iter().zip(lines.chunks(2)) {
                if let (Some(site), [function, line]) = (sites.get_mut(*at), answer) {
                    site.source = source(function, line);
                }
            }
        }
    }
}

/// Function and line of an answer; empty if neither is known.
fn source(function: &str, line: &str) -> String {
    let line = line.split(" (discriminator").next().unwrap_or(line);
    let file = line.rsplit('/').next().unwrap_or(line);
    match (function, file) {
        ("??", _) if file.starts_with("??") => String::new(),
        ("??", _) => file.to_owned(),
        _ if file.starts_with("??") => function.to_owned(),
        _ => format!("{function} ({file})"),
    }
}

/// Function, file and line of a source that [`resolve`] has found; empty, or 0, where one is not known.
#[must_use]
pub fn parts(source: &str) -> (&str, &str, u32) {
    let (function, place) = match source.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
        Some(parts) => parts,
        None => ("", source),
    };
    match place.rsplit_once(':').map(|(file, line)| (file, line.parse())) {
        Some((file, Ok(line))) => (function, file, line),
        // A function alone.
        _ => (source, "", 0),
    }
}

/// Address at which a module's first segment is linked: 0 but in programs of a fixed place. `None` if it is no 64-bit ELF file of this byte
/// order.
fn base(module: &str) -> Option<u64> {
    const PROGRAM_OF_FIXED_PLACE: u16 = 2;
    const LOADED: u32 = 1;
    let mut bytes = Vec::new();
    File::open(module).ok()?.take(1 << 16).read_to_end(&mut bytes).ok()?;
    let number = |at: usize, length: usize| -> Option<u64> {
        let bytes = bytes.get(at..at.checked_add(length)?)?;
        let mut all = [0; 8];
        all.get_mut(..length)?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(all))
    };
    if bytes.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    if number(16, 2)? != u64::from(PROGRAM_OF_FIXED_PLACE) {
        return Some(0);
    }
    let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    (0..count).find_map(|index| {
        let at = usize::try_from(table.checked_add(index.checked_mul(size)?)?).ok()?;
        (number(at, 4)? == u64::from(LOADED)).then(|| number(at.checked_add(16)?, 8))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_put_in_words() {
        assert_eq!(
            source("main", "/home/a/solve.c:12 (discriminator 3)"),
            "main (solve.c:12)"
        );
        assert_eq!(source("main", "??:?"), "main");
        assert_eq!(source("??", "??:0"), "");
        assert_eq!(source("??", "/a/solve.f90:7"), "solve.f90:7");
        assert_eq!(parts("main (solve.c:12)"), ("main", "solve.c", 12));
        assert_eq!(parts("a::b(int, int) (solve.c:12)"), ("a::b(int, int)", "solve.c", 12));
        assert_eq!(parts("solve.f90:7"), ("", "solve.f90", 7));
        assert_eq!(parts("a::b(int)"), ("a::b(int)", "", 0));
        assert_eq!(parts(""), ("", "", 0));
    }

    #[test]
    fn the_base_of_a_module_is_read() {
        let own = std::env::current_exe().unwrap();
        assert!(base(own.to_str().unwrap()).is_some());
        assert_eq!(base("/etc/passwd"), None);
        assert_eq!(base("/nowhere"), None);
    }
}
