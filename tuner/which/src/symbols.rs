//! Names of functions in a shared object: those of its symbol table, which a library may keep beside the table of what it exports.
//!
//! The reader takes ELF files of 64 bits in little-endian order, and gives nothing for any other or for a damaged one.

use std::collections::{BTreeMap, BTreeSet};

/// Type of a section that is a full symbol table.
const SYMBOLS: u32 = 2;
/// Type of a section that is a table of exported symbols.
const EXPORTED: u32 = 11;
/// Type of a symbol that is a function.
const FUNCTION: u8 = 2;
/// Size of a symbol's entry.
const ENTRY: u64 = 24;

struct Section {
    kind: u32,
    offset: u64,
    size: u64,
    link: u32,
}

/// Names of the functions that begin at these offsets, as far as the object has them.
#[must_use]
pub fn names(object: &[u8], offsets: &BTreeSet<u64>) -> BTreeMap<u64, String> {
    let mut found = BTreeMap::new();
    let Some(sections) = sections(object) else { return found };
    for table in &sections {
        if table.kind != SYMBOLS && table.kind != EXPORTED {
            continue;
        }
        let Some(texts) = sections.get(table.link as usize) else {
            continue;
        };
        for index in 0..table.size / ENTRY {
            let at = table.offset.saturating_add(index * ENTRY);
            let Some((kind, value)) =
                number::<1>(object, at.saturating_add(4)).zip(number::<8>(object, at.saturating_add(8)))
            else {
                break;
            };
            if kind as u8 & 15 != FUNCTION || !offsets.contains(&value) || found.contains_key(&value) {
                continue;
            }
            let name = number::<4>(object, at).and_then(|name| text(object, texts, name));
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                found.insert(value, name);
            }
        }
    }
    found
}

fn sections(object: &[u8]) -> Option<Vec<Section>> {
    // Magic number, 64 bits, little-endian.
    if object.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let table = number::<8>(object, 40)?;
    let (size, count) = (number::<2>(object, 58)?, number::<2>(object, 60)?);
    (0..count)
        .map(|index| {
            let at = table.checked_add(index * size)?;
            Some(Section {
                kind: number::<4>(object, at + 4)? as u32,
                offset: number::<8>(object, at + 24)?,
                size: number::<8>(object, at + 32)?,
                link: number::<4>(object, at + 40)? as u32,
            })
        })
        .collect()
}

/// A number of so many bytes.
fn number<const BYTES: usize>(object: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let own = object.get(at..at.checked_add(BYTES)?)?;
    let mut bytes = [0_u8; 8];
    bytes[..BYTES].copy_from_slice(own);
    Some(u64::from_le_bytes(bytes))
}

/// A text of a section of texts.
fn text(object: &[u8], section: &Section, at: u64) -> Option<String> {
    let begin = usize::try_from(section.offset.checked_add(at)?).ok()?;
    let end = usize::try_from(section.offset.checked_add(section.size)?).ok()?;
    let bytes = object.get(begin..end.min(object.len()))?;
    let length = bytes.iter().position(|byte| *byte == 0)?;
    String::from_utf8(bytes[..length].to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An object with a table of one symbol.
    fn object() -> Vec<u8> {
        let mut object = vec![0_u8; 64];
        object[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let texts = object.len() as u64;
        object.extend(b"\0reduce_tree\0");
        let symbols = object.len() as u64;
        object.extend(1_u32.to_le_bytes());
        object.extend([FUNCTION, 0, 1, 0]);
        object.extend(0x1234_u64.to_le_bytes());
        object.extend(8_u64.to_le_bytes());
        let table = object.len() as u64;
        let mut section = |kind: u32, offset: u64, size: u64, link: u32| {
            let mut header = [0_u8; 64];
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[24..32].copy_from_slice(&offset.to_le_bytes());
            header[32..40].copy_from_slice(&size.to_le_bytes());
            header[40..44].copy_from_slice(&link.to_le_bytes());
            object.extend(header);
        };
        section(3, texts, 13, 0);
        section(SYMBOLS, symbols, ENTRY, 0);
        object[40..48].copy_from_slice(&table.to_le_bytes());
        object[58..60].copy_from_slice(&64_u16.to_le_bytes());
        object[60..62].copy_from_slice(&2_u16.to_le_bytes());
        object
    }

    #[test]
    fn a_function_has_the_name_of_its_symbol() {
        let found = names(&object(), &[0x1234, 0x4321].into());
        assert_eq!(found, [(0x1234, "reduce_tree".to_owned())].into());
    }

    #[test]
    fn a_damaged_object_has_no_names_and_stops_nobody() {
        let whole = object();
        for length in 0..whole.len() {
            let _ = names(&whole[..length], &[0x1234].into());
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] = 0xff;
            let _ = names(&damaged, &[0x1234].into());
        }
        assert!(names(b"a script", &[0].into()).is_empty());
    }
}
