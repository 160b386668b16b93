//! Damaged listings and rules: every reader gives an answer or an error, and never panics. The generator is seeded, so that each run does
//! the same.

use kilter_advise::{formats, judge, render, rules};

const SAMPLES: &[&str] = &[
    include_str!("../samples/mpt-chapter.txt"),
    include_str!("../samples/call-profile-chapter.txt"),
    include_str!("../samples/openmpi-spc.txt"),
    include_str!("../samples/mpich-algorithms.txt"),
    include_str!("../samples/ucx-full.txt"),
    include_str!("../samples/ucx-agg.txt"),
    include_str!("../samples/intel-aps.txt"),
    include_str!("../samples/intel-aps-rank.txt"),
];

const RULES: &[&str] = &[
    include_str!("../../../configs/advice/mpt.toml"),
    include_str!("../../../configs/advice/calls.toml"),
    include_str!("../../../configs/advice/mpich.toml"),
    include_str!("../../../configs/advice/openmpi.toml"),
    include_str!("../../../configs/advice/ucx.toml"),
    include_str!("../../../configs/advice/intel.toml"),
];

/// Texts that are put in: numbers at limits, signs, and pieces of listings.
const PIECES: [&str; 16] = [
    "18446744073709551616",
    "-1",
    "1e308",
    "inf",
    "nan",
    "\n",
    "\r\n",
    "\u{0}",
    "ß",
    ":",
    "|",
    "activity on process rank ",
    "MPI_COMM_WORLD Rank ",
    " -> ",
    "*",
    "{",
];

/// Marsaglia's xorshift of 64 bits.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit.max(1)).unwrap_or(1)).unwrap_or(0)
    }
}

/// The text with up to eight damages.
fn damaged(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(8) {
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes.truncate(at),
            1 => {
                let bit = 1 << random.below(8);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= bit;
                }
            }
            2 => {
                let end = (at + random.below(40)).min(bytes.len());
                bytes.drain(at..end);
            }
            3 => {
                let piece = PIECES[random.below(PIECES.len())];
                bytes.splice(at..at, piece.bytes());
            }
            _ => {
                let end = (at + random.below(200)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn damaged_listings_are_read_or_refused() {
    let rules = rules::load_embedded().unwrap();
    let mut random = Random(0x5eed);
    let (mut read, mut refused) = (0, 0);
    for sample in SAMPLES {
        for case in 0..1500 {
            let text = damaged(sample, &mut random);
            match formats::read(&text, "damaged.log") {
                Ok(listings) => {
                    read += 1;
                    let counters = listings
                        .iter()
                        .flat_map(|listing| &listing.processes)
                        .flat_map(|process| &process.counters);
                    assert!(counters.clone().count() <= text.len(), "more counters than text");
                    assert!(
                        counters
                            .clone()
                            .all(|counter| counter.value.is_finite() && counter.line >= 1)
                    );
                    if case % 10 == 0 {
                        let judged = judge(&rules, &formats::joined(listings));
                        assert!(!render::text(&judged).is_empty());
                        assert!(!render::markdown(&judged).is_empty());
                        assert!(kilter_render::json::text(&judged).is_ok());
                    }
                }
                Err(error) => {
                    refused += 1;
                    assert!(error.to_string().starts_with("damaged.log: "));
                }
            }
        }
    }
    assert!(read > 2000 && refused > 100, "{read} read, {refused} refused");
}

/// Every prefix of every sample.
#[test]
fn truncated_listings_are_read_or_refused() {
    for sample in SAMPLES {
        for (end, _) in sample.char_indices() {
            let _ = formats::read(&sample[..end], "cut.log");
        }
    }
}

#[test]
fn damaged_rules_are_read_or_refused() {
    let mut random = Random(0x5eed);
    let listings = formats::read(SAMPLES[2], "a.log").unwrap();
    for text in RULES {
        for _ in 0..400 {
            match rules::parse(&damaged(text, &mut random), "damaged.toml") {
                Ok(rules) => {
                    let _ = judge(&rules, &listings);
                }
                Err(error) => assert!(error.to_string().starts_with("damaged.toml: ")),
            }
        }
    }
}
