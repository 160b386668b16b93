//! Buffers of packets, used again: after the first seconds the switch allocates nothing.

use crate::frame::MAX_FRAME;

/// An ordinary frame with its offload header fits; larger ones are what segmentation offload leaves whole.
const SMALL: usize = 2048;

/// A packet: offload header and frame.
pub(crate) struct Packet {
    buffer: Box<[u8]>,
    length: usize,
}

/// The store of buffers.
pub(crate) struct Packets {
    landing: Box<[u8]>,
    small: Vec<Box<[u8]>>,
    large: Vec<Box<[u8]>>,
}

impl Default for Packets {
    fn default() -> Self {
        Self {
            landing: zeroed(MAX_FRAME),
            small: Vec::new(),
            large: Vec::new(),
        }
    }
}

impl Packet {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}

impl Packets {
    /// The buffer that the next packet must be written to.
    pub(crate) fn landing(&mut self) -> &mut [u8] {
        &mut self.landing
    }

    /// The packet of `length` bytes that has been written to [`Self::landing`]. Small ones are copied out, large ones
    /// keep the buffer and a new one takes its place.
    pub(crate) fn take(&mut self, length: usize) -> Packet {
        if length > SMALL {
            let next = self.large.pop().unwrap_or_else(|| zeroed(MAX_FRAME));
            return Packet {
                buffer: std::mem::replace(&mut self.landing, next),
                length,
            };
        }
        let mut buffer = self.small.pop().unwrap_or_else(|| zeroed(SMALL));
        buffer[..length].copy_from_slice(&self.landing[..length]);
        Packet { buffer, length }
    }

    /// A second packet with the same bytes.
    pub(crate) fn copy(&mut self, packet: &Packet) -> Packet {
        self.landing[..packet.length].copy_from_slice(packet.bytes());
        self.take(packet.length)
    }

    pub(crate) fn give_back(&mut self, packet: Packet) {
        let store = if packet.buffer.len() > SMALL {
            &mut self.large
        } else {
            &mut self.small
        };
        store.push(packet.buffer);
    }
}

fn zeroed(length: usize) -> Box<[u8]> {
    vec![0; length].into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_keep_their_bytes_while_others_land_and_buffers_return() {
        let mut packets = Packets::default();
        let mut held = Vec::new();
        for (fill, length) in [(1, 60), (2, SMALL), (3, SMALL + 1), (4, MAX_FRAME)] {
            packets.landing()[..length].fill(fill);
            held.push((fill, packets.take(length)));
            let copy = packets.copy(&held.last().unwrap().1);
            held.push((fill, copy));
        }
        for (fill, packet) in held {
            assert!(packet.bytes().iter().all(|byte| *byte == fill));
            packets.give_back(packet);
        }
        assert_eq!((packets.small.len(), packets.large.len()), (4, 4));
    }
}
