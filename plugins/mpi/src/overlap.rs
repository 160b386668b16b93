//! Memory that a call reads and memory that it writes.

/// True if memory that is read and memory that is written have bytes in common. An empty side may be reported as overlapping.
#[inline(always)]
#[must_use]
pub fn overlap((read, read_bytes): (*const u8, usize), (written, written_bytes): (*mut u8, usize)) -> bool {
    // One begins within the other; distances the other way round are larger than any length.
    let distance = read.addr().wrapping_sub(written.addr());
    distance < written_bytes || distance.wrapping_neg() < read_bytes
}

#[cfg(test)]
mod tests {
    use super::overlap;

    #[test]
    fn one_byte_in_common_is_an_overlap() {
        let mut memory = [0_u8; 12];
        let begin = memory.as_mut_ptr();
        let overlaps = |read: (usize, usize), written: (usize, usize)| {
            let at = |place| begin.wrapping_add(place);
            overlap((at(read.0).cast_const(), read.1), (at(written.0), written.1))
        };
        assert!(overlaps((0, 4), (0, 12)), "the first rank's own block of an allgather");
        assert!(overlaps((4, 4), (0, 12)), "another rank's");
        assert!(overlaps((8, 4), (0, 12)), "the last rank's");
        assert!(overlaps((0, 12), (4, 4)), "the root's own block of a scatter");
        assert!(overlaps((0, 5), (4, 4)) && overlaps((4, 4), (0, 5)), "one byte");
        assert!(
            !overlaps((0, 4), (4, 4)) && !overlaps((4, 4), (0, 4)),
            "one behind the other"
        );
        assert!(!overlaps((0, 0), (0, 0)));
        assert!(
            !overlap((std::ptr::null(), 0), (begin, 12)),
            "a broadcast sends nothing"
        );
        assert!(
            !overlap((begin, 12), (std::ptr::null_mut(), 0)),
            "no result beside the root"
        );
    }
}
