//! Digests of payloads.
//!
//! The CRC is that of zlib (CRC-32/ISO-HDLC), so that those of parts can be combined to that of the whole. Chunks have their ends where the
//! content says so: a payload that is split, or joined with another one, has the same chunks, but for those at its edges. An end is where a rolling hash
//! of the 64 bytes before it begins with [`CUT_BITS`] zeros (gear hashing: Xia and others, *Ddelta*, Performance Evaluation 79, 2014,
//! doi:10.1016/j.peva.2014.07.016). There is no least or largest length, since either would let ends depend on where a payload begins.

/// Bytes of the payload that are kept as they are.
pub const PREFIX_BYTES: usize = 16;

/// Zeros with which the hash of an end begins: chunks have 1024 bytes on average.
pub const CUT_BITS: u32 = 10;

/// Bytes on which the rolling hash depends.
const WINDOW: usize = 64;

/// Shorter payloads have no chunks.
pub const LEAST_CHUNKED: usize = 256;

/// Chunks of a payload that are expected to be kept; of longer payloads a part is.
const KEPT: usize = 64;

/// Chunks of a payload that are kept at most.
pub const MOST_CHUNKS: usize = 512;

/// A piece of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chunk {
    /// Place of its first byte.
    pub offset: u64,
    /// Its length.
    pub bytes: u32,
    /// Its CRC-32.
    pub crc: u32,
}

/// Digest of a payload, beside its chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Digest {
    /// CRC-32 of what is hashed.
    pub crc: u32,
    /// First bytes; zeros behind a short payload.
    pub prefix: [u8; PREFIX_BYTES],
    /// True if each 8 bytes are the same as the 8 before them.
    pub is_constant: bool,
    /// True if there are more chunks than are kept.
    pub more_chunks: bool,
}

/// Digest of a payload. Its chunks are put into `chunks`, whose memory is used again.
pub fn digest(payload: &[u8], chunks: &mut Vec<Chunk>) -> Digest {
    chunks.clear();
    let prefix = payload.first_chunk().copied().unwrap_or_else(|| {
        let mut short = [0; PREFIX_BYTES];
        short.iter_mut().zip(payload).for_each(|(to, from)| *to = *from);
        short
    });
    let is_constant = payload.len() > 8 && payload.get(8..) == payload.get(..payload.len() - 8);
    let more_chunks = payload.len() >= LEAST_CHUNKED && !is_constant && !cut(payload, chunks);
    Digest {
        crc: crc32fast::hash(payload),
        prefix,
        is_constant,
        more_chunks,
    }
}

/// Sampling keeps one of `2^k` chunks of a payload of this length: that whose CRC ends with `k` zeros, so that those of a longer payload are among
/// those of a shorter one.
#[must_use]
pub fn sampling(bytes: usize) -> u32 {
    (bytes >> CUT_BITS).div_ceil(KEPT).max(1).next_power_of_two().ilog2()
}

/// Puts the chunks that are kept into `chunks`; false if there are more than can be.
fn cut(payload: &[u8], chunks: &mut Vec<Chunk>) -> bool {
    let mask = (1_u32 << sampling(payload.len())) - 1;
    // Each place of a chunk first holds an end. More ends than these come of data that repeat.
    let most = MOST_CHUNKS + 4 * (payload.len() >> CUT_BITS);
    if !ends(payload, most, chunks) {
        chunks.clear();
        return false;
    }
    chunks.sort_unstable_by_key(|end| end.offset);
    let last = Chunk {
        offset: payload.len() as u64,
        bytes: 0,
        crc: 0,
    };
    chunks.push(last);
    let mut begin = 0;
    chunks.retain_mut(|chunk| {
        let end = usize::try_from(chunk.offset).unwrap_or(usize::MAX);
        let piece = payload.get(begin..end).unwrap_or_default();
        *chunk = Chunk {
            offset: begin as u64,
            bytes: u32::try_from(piece.len()).unwrap_or(u32::MAX),
            crc: crc32fast::hash(piece),
        };
        begin = end;
        chunk.crc & mask == 0 && !piece.is_empty()
    });
    let fits = chunks.len() <= MOST_CHUNKS;
    chunks.truncate(MOST_CHUNKS);
    fits
}

/// Puts the ends of chunks into `found`, in any order; false if there are more than `most`.
///
/// The hash of a place depends on the bytes before it alone, so that quarters of the payload are gone through at the same time: steps in one quarter wait
/// for each other, those in different ones do not.
fn ends(payload: &[u8], most: usize, found: &mut Vec<Chunk>) -> bool {
    const CUT: u64 = 1 << (u64::BITS - CUT_BITS);
    let quarter = payload.len().saturating_sub(WINDOW) / 4;
    let begins = [0, 1, 2, 3].map(|number| WINDOW + number * quarter);
    let step = |hash: u64, byte: u8| (hash << 1).wrapping_add(GEAR[usize::from(byte)]);
    let before = |begin: usize| {
        let window = payload.get(begin - WINDOW..begin).unwrap_or_default();
        window.iter().fold(0, |hash, byte| step(hash, *byte))
    };
    let [mut h1, mut h2, mut h3, mut h4] = begins.map(before);
    let mut push = |at: usize| {
        found.push(Chunk {
            offset: at as u64,
            bytes: 0,
            crc: 0,
        });
        found.len() <= most
    };
    let mut at = 0;
    while at < quarter {
        // Blocks without an end leave everything in registers.
        let block = |number: usize| -> &[u8] {
            let begin = begins[number];
            payload.get(begin + at..begin + quarter).unwrap_or_default()
        };
        let (one, two, three, four) = (block(0), block(1), block(2), block(3));
        let mut passed = 0;
        for (((one, two), three), four) in one.iter().zip(two).zip(three).zip(four) {
            // The hashes of the bytes before this place of each quarter.
            if h1 < CUT || h2 < CUT || h3 < CUT || h4 < CUT {
                break;
            }
            h1 = step(h1, *one);
            h2 = step(h2, *two);
            h3 = step(h3, *three);
            h4 = step(h4, *four);
            passed += 1;
        }
        at += passed;
        if at >= quarter {
            break;
        }
        for (hash, begin) in [h1, h2, h3, h4].into_iter().zip(begins) {
            if hash < CUT && !push(begin + at) {
                return false;
            }
        }
        let byte = |number: usize| payload.get(begins[number] + at).copied().unwrap_or_default();
        h1 = step(h1, byte(0));
        h2 = step(h2, byte(1));
        h3 = step(h3, byte(2));
        h4 = step(h4, byte(3));
        at += 1;
    }
    let mut hash = h4;
    let rest = WINDOW + 4 * quarter;
    for (at, byte) in (rest..).zip(payload.get(rest..).unwrap_or_default()) {
        if hash < CUT && !push(at) {
            return false;
        }
        hash = step(hash, *byte);
    }
    true
}

/// A random word for each byte.
static GEAR: [u64; 256] = gear();

/// Words of `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014, doi:10.1145/2660193.2660195).
const fn gear() -> [u64; 256] {
    let mut table = [0; 256];
    let mut state = 0x6b69_6c74_6572_u64;
    let mut at = 0;
    while at < table.len() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        table[at] = word ^ (word >> 31);
        at += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn noise(bytes: usize, seed: u64) -> Vec<u8> {
        let mut state = seed;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u8
        };
        (0..bytes).map(next).collect()
    }

    fn chunks(payload: &[u8]) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        digest(payload, &mut chunks);
        chunks
    }

    #[test]
    fn the_crc_is_that_of_zlib() {
        let found = digest(b"123456789", &mut Vec::new());
        assert_eq!(found.crc, 0xcbf4_3926);
        assert_eq!(&found.prefix, b"123456789\0\0\0\0\0\0\0");
        let mut first = crc32fast::Hasher::new();
        first.update(b"12345");
        let mut second = crc32fast::Hasher::new();
        second.update(b"6789");
        first.combine(&second);
        assert_eq!(first.finalize(), found.crc);
    }

    #[test]
    fn chunks_are_about_a_kibibyte_and_cover_the_payload() {
        let payload = noise(60_000, 1);
        let all = chunks(&payload);
        assert!((30..=90).contains(&all.len()), "{}", all.len());
        let mut end = 0;
        for chunk in &all {
            assert_eq!(chunk.offset, end);
            end += u64::from(chunk.bytes);
            let piece = &payload[chunk.offset as usize..end as usize];
            assert_eq!(chunk.crc, crc32fast::hash(piece));
        }
        assert_eq!(end, 60_000);
        assert!(chunks(&payload[..LEAST_CHUNKED - 1]).is_empty());
    }

    /// The chunks of a part are those of the whole, but for one at each edge.
    #[test]
    fn chunks_depend_on_content_alone() {
        let payload = noise(60_000, 2);
        let whole: BTreeSet<(u32, u32)> = chunks(&payload).iter().map(|chunk| (chunk.bytes, chunk.crc)).collect();
        for (begin, end) in [(0, 20_000), (1, 30_000), (12_345, 54_321), (59_000, 60_000)] {
            let part = chunks(&payload[begin..end]);
            let foreign = part
                .iter()
                .filter(|chunk| !whole.contains(&(chunk.bytes, chunk.crc)))
                .count();
            assert!(foreign <= 2, "{begin}..{end}: {foreign} of {}", part.len());
        }
    }

    #[test]
    fn of_long_payloads_a_part_of_the_chunks_is_kept_and_the_same_one() {
        assert_eq!(
            (sampling(0), sampling(64 << 10), sampling((64 << 10) + 1024)),
            (0, 0, 1)
        );
        assert_eq!(sampling(16 << 20), 8);
        let payload = noise(4 << 20, 3);
        let kept = chunks(&payload);
        assert!((20..=200).contains(&kept.len()), "{}", kept.len());
        let of_part: BTreeSet<u32> = chunks(&payload[..1 << 20]).iter().map(|chunk| chunk.crc).collect();
        let within = kept.iter().filter(|chunk| chunk.offset < 900 << 10);
        assert!(within.clone().count() > 3);
        assert!(within.clone().all(|chunk| of_part.contains(&chunk.crc)));
    }

    #[test]
    fn payloads_without_content_have_no_chunks() {
        for payload in [vec![0_u8; 5000], vec![7; 5000], [1, 2, 3, 4, 5, 6, 7, 8].repeat(700)] {
            let mut chunks = Vec::new();
            assert!(digest(&payload, &mut chunks).is_constant);
            assert!(chunks.is_empty());
        }
        assert!(!digest(&noise(5000, 4), &mut Vec::new()).is_constant);
        assert!(!digest(&[0; 8], &mut Vec::new()).is_constant);
    }

    /// Ends by the definition: the hash of the 64 bytes before a place.
    #[test]
    fn ends_are_where_the_hash_of_the_bytes_before_says_so() {
        for (bytes, seed) in [(256, 1), (257, 2), (1000, 3), (40_003, 4)] {
            let payload = noise(bytes, seed);
            let is_end = |at: &usize| {
                let hash = payload[at - WINDOW..*at]
                    .iter()
                    .fold(0_u64, |hash, byte| (hash << 1).wrapping_add(GEAR[usize::from(*byte)]));
                hash >> (u64::BITS - CUT_BITS) == 0
            };
            let expected: Vec<u64> = (WINDOW..bytes).filter(is_end).map(|at| at as u64).collect();
            let all = chunks(&payload);
            let ends: Vec<u64> = all.iter().skip(1).map(|chunk| chunk.offset).collect();
            assert_eq!(ends, expected, "{bytes}");
        }
    }

    #[test]
    fn whatever_repeats_has_a_bound() {
        let mut kept = Vec::new();
        let mut bounded = 0;
        for seed in 0..500 {
            let repeated = noise(16, seed).repeat(1250);
            let found = digest(&repeated, &mut kept);
            assert!(kept.len() <= MOST_CHUNKS);
            assert!(!found.more_chunks || kept.is_empty() || kept.len() == MOST_CHUNKS);
            bounded += usize::from(found.more_chunks);
        }
        assert!(bounded > 0);
    }
}
