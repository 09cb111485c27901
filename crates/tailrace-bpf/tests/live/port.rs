//! The program before the queues of a Linux switch's port, frame by frame without a network.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[cfg(not(feature = "programs"))]
#[test]
fn port() {
    tailrace_linux::skip_test(
        "this build has no host agent (cargo test -p tailrace-bpf --features programs; needs clang)",
    );
}

#[cfg(feature = "programs")]
mod with_bpf {
    use tailrace_bpf::{PortClasses, PortProgram};
    use tailrace_linux::{check_rights, skip_test};

    use crate::frames::{Frames, checksum};

    const ETHERNET: usize = 14;
    const NO_IP: u32 = 99;

    fn program(marks_above: Option<u64>) -> Option<PortProgram> {
        if let Err(error) = check_rights("this test") {
            skip_test(error);
            return None;
        }
        let classes = std::array::from_fn(|dscp| 100 + dscp as u32);
        Some(PortProgram::new(&PortClasses { classes, others: NO_IP, marks_above }).unwrap())
    }

    /// The byte with DSCP and ECN, and where its bits with ECN are, if the frame is an IP packet.
    fn traffic_class(frame: &[u8]) -> Option<u8> {
        match frame[12..14] {
            [0x08, 0x00] => Some(frame[ETHERNET + 1]),
            [0x86, 0xdd] => Some(frame[ETHERNET] << 4 | frame[ETHERNET + 1] >> 4),
            _ => None,
        }
    }

    /// The frame as it should be: ECT becomes CE where the port marks. A checksum is left to be looked at.
    fn expected(frame: &[u8], marks: bool) -> Vec<u8> {
        let mut frame = frame.to_vec();
        let Some(class) = traffic_class(&frame) else { return frame };
        if marks && matches!(class & 3, 1 | 2) {
            let v4 = frame[12] == 8;
            frame[ETHERNET + 1] |= if v4 { 3 } else { 3 << 4 };
        }
        frame
    }

    fn header(frame: &[u8]) -> Option<&[u8]> {
        let ip = &frame[ETHERNET..];
        let length = usize::from(*ip.first()? & 15) * 4;
        (frame[12..14] == [8, 0] && length >= 20).then(|| ip.get(..length)).flatten()
    }

    #[test]
    fn every_frame_has_the_class_of_its_dscp_and_a_mark_where_the_port_would_hold_too_much() {
        for above in [None, Some(700)] {
            let Some(mut program) = program(above) else { return };
            let (mut frames, mut marked, mut sums, mut strange) = (Frames::new(5), 0, 0, 0);
            for number in 0..50_000 {
                let mut frame = frames.next();
                if number % 50 == 0 {
                    frame[12..14].copy_from_slice(&[[0x08, 0x06], [0x81, 0x00]][number / 50 % 2]);
                }
                let marks = above.is_some_and(|above| frame.len() as u64 > above);
                let expected = expected(&frame, marks);
                let (mut found, class) = program.try_on(&frame).unwrap();
                let of_dscp = traffic_class(&frame).map_or(NO_IP, |class| 100 + u32::from(class >> 2));
                assert_eq!(class, of_dscp, "frame {number}: {frame:02x?}");
                if expected != frame {
                    marked += 1;
                    // A header whose checksum was right has one that is.
                    if header(&frame).is_some_and(|header| checksum(header) == 0) {
                        assert_eq!(checksum(header(&found).unwrap()), 0, "frame {number}: {found:02x?}");
                        sums += 1;
                    }
                    if frame[12] == 8 {
                        found[ETHERNET + 10..ETHERNET + 12]
                            .copy_from_slice(&frame[ETHERNET + 10..ETHERNET + 12]);
                    }
                }
                strange += u32::from(class == NO_IP);
                assert_eq!(found, expected, "frame {number}: {frame:02x?}");
            }
            println!("above {above:?}: {marked} marked, {sums} checksums, {strange} that are no IP");
            assert_eq!(above.is_some(), marked > 5_000);
            assert!(strange >= 1_000 && (above.is_none() || sums > 3_000));
        }
    }
}
