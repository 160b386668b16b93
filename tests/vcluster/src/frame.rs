//! Frames as a TAP device delivers them: a `virtio_net_hdr`, then an Ethernet frame of up to 64 KiB, which the kernel has left
//! unsegmented (segmentation offload).

/// `virtio_net_hdr`: flags, gso type, and four 16-bit fields (linux/virtio_net.h).
pub(crate) const OFFLOAD_HEADER: usize = 10;
/// The largest frame with its offload header, with room to spare.
pub(crate) const MAX_FRAME: usize = 66 * 1024;

const ETHERNET_HEADER: usize = 14;
/// Without preamble, padding and checksum (IEEE 802.3).
const MIN_ETHERNET_FRAME: usize = 60;
/// Preamble 8, frame check sequence 4, gap 12: what every frame occupies on the wire besides its bytes.
const ETHERNET_FRAMING: usize = 24;
/// Ethernet, IPv4, TCP with the timestamp option: taken where the offload header does not say.
const USUAL_HEADERS: usize = ETHERNET_HEADER + 20 + 32;

/// Destination of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    Host(usize),
    /// Broadcast and multicast.
    Everyone,
    /// An address that no host of this cluster has.
    Unknown,
}

/// The link address of a host: locally administered, the host's number plus one in the last byte.
pub(crate) fn link_address(host: usize) -> [u8; 6] {
    [2, 0, 0, 0, 0, host as u8 + 1]
}

/// Reads the destination of `packet` (offload header and frame). `None` if it is too short to be a frame.
pub(crate) fn destination(packet: &[u8], hosts: usize) -> Option<Destination> {
    let address = packet.get(OFFLOAD_HEADER..OFFLOAD_HEADER + 6)?;
    if address[0] & 1 == 1 {
        return Some(Destination::Everyone);
    }
    let host = usize::from(address[5]).wrapping_sub(1);
    if host < hosts && address == link_address(host) {
        return Some(Destination::Host(host));
    }
    Some(Destination::Unknown)
}

/// Bytes that `packet` occupies on a wire of MTU-sized frames: a large packet is counted as the segments that it
/// stands for, each with headers and framing.
pub(crate) fn wire_bytes(packet: &[u8]) -> usize {
    let length = packet.len().saturating_sub(OFFLOAD_HEADER);
    let (frames, headers) = segments(packet, length);
    length.max(MIN_ETHERNET_FRAME) + (frames - 1) * headers + frames * ETHERNET_FRAMING
}

/// Number of frames on the wire, and bytes of headers that each has.
fn segments(packet: &[u8], length: usize) -> (usize, usize) {
    let field = |at: usize| {
        packet
            .get(at..at + 2)
            .map_or(0, |b| usize::from(u16::from_ne_bytes([b[0], b[1]])))
    };
    let (segmented, segment_bytes, checksum_start) = (packet.get(1).is_some_and(|t| *t != 0), field(4), field(6));
    if !segmented || segment_bytes == 0 {
        return (1, USUAL_HEADERS);
    }
    // The checksum starts where the TCP header starts; its data offset, in 32-bit words, says how long it is.
    let headers = packet
        .get(OFFLOAD_HEADER + checksum_start + 12)
        .filter(|_| checksum_start >= ETHERNET_HEADER)
        .map_or(USUAL_HEADERS, |offset| checksum_start + usize::from(offset >> 4) * 4);
    (length.saturating_sub(headers).div_ceil(segment_bytes).max(1), headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(payload: usize, segment: u16, to: [u8; 6]) -> Vec<u8> {
        let mut packet = vec![0; OFFLOAD_HEADER + USUAL_HEADERS + payload];
        packet[1] = u8::from(segment > 0);
        packet[4..6].copy_from_slice(&segment.to_ne_bytes());
        packet[6..8].copy_from_slice(&34_u16.to_ne_bytes());
        packet[OFFLOAD_HEADER..OFFLOAD_HEADER + 6].copy_from_slice(&to);
        packet[OFFLOAD_HEADER + 34 + 12] = 8 << 4;
        packet
    }

    #[test]
    fn a_plain_frame_costs_its_bytes_and_its_framing() {
        assert_eq!(wire_bytes(&packet(1_000, 0, link_address(0))), 66 + 1_000 + 24);
    }

    #[test]
    fn the_smallest_frame_is_padded() {
        assert_eq!(wire_bytes(&[0; OFFLOAD_HEADER + 42]), 60 + 24);
    }

    #[test]
    fn a_large_packet_costs_what_its_segments_cost() {
        let segments = 64_000_usize.div_ceil(1_448);
        assert_eq!(
            wire_bytes(&packet(64_000, 1_448, link_address(0))),
            64_000 + segments * (66 + 24)
        );
    }

    #[test]
    fn tcp_options_count_in_every_segment() {
        let mut long = packet(14_480, 1_448, link_address(0));
        // Ten words instead of eight: 8 bytes of what was payload are options now, and recur in each of 10 segments.
        long[OFFLOAD_HEADER + 34 + 12] = 10 << 4;
        assert_eq!(wire_bytes(&long), 14_480 - 8 + 10 * (74 + 24));
    }

    #[test]
    fn addresses_name_hosts_of_this_cluster_only() {
        let to = |address| destination(&packet(0, 0, address), 4);
        assert_eq!(to(link_address(3)), Some(Destination::Host(3)));
        assert_eq!(to(link_address(4)), Some(Destination::Unknown));
        assert_eq!(to([2, 0, 0, 0, 0, 0]), Some(Destination::Unknown));
        assert_eq!(to([2, 0, 0, 1, 0, 1]), Some(Destination::Unknown));
        assert_eq!(to([0xff; 6]), Some(Destination::Everyone));
        assert_eq!(destination(&[0; 12], 4), None);
    }

    #[test]
    fn what_a_host_sends_malformed_never_panics() {
        for length in 0..80 {
            let _ = wire_bytes(&vec![0xff; length]);
            let _ = destination(&vec![0xff; length], 4);
        }
    }
}
