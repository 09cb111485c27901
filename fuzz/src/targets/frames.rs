//! Frames: whatever they hold is understood, or left alone; what is written into one is read back, and nothing else
//! changes.

use tailrace_core::{Header, Packet, Scheme};
use tailrace_linux::frame::{Frame, answer, wire};
use tailrace_schemes::{NAMES, SchemeVisitor, with_scheme};

use super::Outcome;

/// Checks the bytes as a datagram of a scheme's transport; tells whether they are one.
#[derive(Clone, Copy)]
struct Datagram<'a>(&'a [u8], u8);

impl SchemeVisitor for Datagram<'_> {
    type Output = bool;
    fn visit<S: Scheme>(self) -> bool {
        let Datagram(bytes, tos) = self;
        let Some(packet) = wire::decode::<S::Header>(bytes, tos) else { return false };
        let length = wire::FIXED_BYTES + usize::from(S::Header::WIRE_BYTES);
        let mut again = vec![0xAA; length.max(wire::datagram_bytes(&packet))];
        wire::encode(&packet, &mut again);
        let read: Packet<S::Header> =
            wire::decode(&again, wire::tos(&packet)).expect("what is encoded can be decoded");
        assert_eq!(format!("{read:?}"), format!("{packet:?}"), "{}", S::NAME);
        assert!(packet.priority < 8, "{}: {packet:?}", S::NAME);
        true
    }
}

pub(super) fn check(raw: &[u8]) -> Outcome {
    let _ = answer(raw, 9);
    let Some((&tos, bytes)) = raw.split_first() else { return Outcome::Refused("empty".to_owned()) };
    let Some(frame) = Frame::read(bytes) else {
        let datagram = |name: &&&str| with_scheme(name, Datagram(bytes, tos)).expect("it is in the registry");
        return match NAMES.iter().filter(datagram).count() {
            0 => Outcome::Refused("no IP".to_owned()),
            some => Outcome::Used(format!("datagram of {some} schemes")),
        };
    };
    let mut written = bytes.to_vec();
    frame.set_tos(&mut written, tos);
    let read = Frame::read(&written).expect("it is still a frame");
    assert_eq!((read.tos, read.flow, read.transport), (tos, frame.flow, frame.transport));
    frame.set_tos(&mut written, frame.tos);
    // A checksum has two forms of zero.
    let changed = written.iter().zip(bytes).filter(|(a, b)| a != b).count();
    assert!(changed <= 2, "{changed} bytes have changed");
    Outcome::Used(format!("{:?} {:?} {}", frame.kind(), frame.ecn(), frame.transport.is_some()))
}
