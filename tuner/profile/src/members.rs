//! Members of a communicator, as the tracer writes them: `0-7`, `0-6:2`, `0,5,3`, `?` for a process outside of the world.

/// Characters of a name.
const LONGEST: usize = 40;

/// Most members that a communicator may have.
pub const MOST_RANKS: u32 = 1 << 24;

/// World ranks of the members; `None` for each outside of the world. An error if the text is none of the tracer's, or if it has more than
/// `most` members.
#[must_use]
pub fn parse(text: &str, most: usize) -> Option<Vec<Option<u32>>> {
    let mut all = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let room = most.checked_sub(all.len())?;
        if let Some(count) = part.strip_prefix("?*") {
            let count = count.parse().ok().filter(|count| *count <= room)?;
            all.extend(std::iter::repeat_n(None, count));
        } else if part == "?" {
            all.push(None);
        } else {
            let (range, step) = part.split_once(':').unwrap_or((part, "1"));
            let step: usize = step.parse().ok().filter(|step| *step > 0)?;
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            let length = (last.checked_sub(first)? as usize) / step + 1;
            if length > room {
                return None;
            }
            all.extend((first..=last).step_by(step).map(Some));
        }
    }
    (all.len() <= most).then_some(all)
}

/// Name of a communicator of a world of `world` ranks.
#[must_use]
pub fn name(members: &str, remote: Option<&str>, sequence: u32, (size, world): (u32, u32)) -> String {
    let whole = format!("0-{}", world.saturating_sub(1));
    let mut name = match remote {
        // Both sides give it one name.
        Some(remote) => {
            let (one, other) = if members <= remote {
                (members, remote)
            } else {
                (remote, members)
            };
            format!("{}|{}", short(one), short(other))
        }
        None if size == 1 => return "self".to_owned(),
        None if members == whole => "world".to_owned(),
        None => short(members),
    };
    if sequence > 0 {
        name.push_str(&format!("#{}", sequence + 1));
    }
    name
}

/// The text, or its begin and a digest (FNV-1a).
fn short(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let begin: String = text.chars().take(LONGEST - 9).collect();
    format!("{begin}~{:08x}", hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read() {
        let ranks = |text: &str| parse(text, 100);
        assert_eq!(ranks("0-3"), Some(vec![Some(0), Some(1), Some(2), Some(3)]));
        assert_eq!(ranks("1-5:2,0"), Some(vec![Some(1), Some(3), Some(5), Some(0)]));
        assert_eq!(ranks("?*2,4,?"), Some(vec![None, None, Some(4), None]));
        assert_eq!(ranks(""), Some(vec![]));
        for wrong in ["x", "3-1", "0-4:0", "0-", "-1", "?*x", "0-100", "?*101"] {
            assert_eq!(ranks(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn names_are_stable_and_short() {
        assert_eq!(name("0-7", None, 0, (8, 8)), "world");
        assert_eq!(name("0-7", None, 2, (8, 8)), "world#3");
        assert_eq!(name("5", None, 1, (1, 8)), "self");
        assert_eq!(name("0-6:2", None, 0, (4, 8)), "0-6:2");
        assert_eq!(name("4-7", Some("0-3"), 0, (4, 8)), name("0-3", Some("4-7"), 0, (4, 8)));
        let long: Vec<String> = (0..40).map(|rank| (rank * rank).to_string()).collect();
        let long = name(&long.join(","), None, 0, (40, 2000));
        assert!(long.len() <= LONGEST && long.starts_with("0,1,4,9,"), "{long}");
    }
}
