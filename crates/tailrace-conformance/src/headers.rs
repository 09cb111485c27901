//! Headers: what a scheme writes into packets, and how it looks on a wire.

use tailrace_core::random::Stream;
use tailrace_core::{Header, Scheme};

use crate::rig::{Rig, Setting};
use crate::{Verdict, ensure};

/// Headers of flows over a port go over a wire and back, forth as data and back as acknowledgements; no header is longer
/// than said, and one that says nothing takes no bytes, and is read as that or not at all. Any bytes can be read, and what
/// can be read is written as it was.
pub fn go_there_and_back<S: Scheme>() -> Verdict {
    let none = S::Header::NONE.wire_bytes();
    ensure!(none == 0, "a header that says nothing takes {none} bytes");
    let read = S::Header::decode(&raw(&S::Header::NONE));
    ensure!(read.is_none_or(|read| is_none(&read)), "reads a header that says nothing as {read:?}");
    let mut stream = Stream::new(1, "header", 0);
    for _ in 0..20_000 {
        let length = stream.below(u32::from(S::Header::WIRE_BYTES) + 8);
        let raw: Vec<u8> = (0..length).map(|_| stream.below(256) as u8).collect();
        S::Header::decode(&raw);
    }
    let headers = Rig::<S>::new(Setting::new(1))?.tell()?.headers;
    headers.iter().filter(|header| !is_none(*header)).try_for_each(|header| {
        there_and_back(header)?;
        written_as_read(header)
    })
}

fn is_none<H: Header>(header: &H) -> bool {
    format!("{header:?}") == format!("{:?}", H::NONE)
}

/// A header as on the wire; one that takes no link time is as long as can be.
fn raw<H: Header>(header: &H) -> Vec<u8> {
    let mut raw = vec![0xAA; H::WIRE_BYTES.into()];
    header.encode(&mut raw);
    raw.truncate(length(header));
    raw
}

fn length<H: Header>(header: &H) -> usize {
    match header.wire_bytes() {
        0 => H::WIRE_BYTES.into(),
        bytes => bytes.into(),
    }
}

fn there_and_back<H: Header>(header: &H) -> Verdict {
    let bytes = header.wire_bytes();
    ensure!(bytes <= H::WIRE_BYTES, "{header:?} takes {bytes} bytes, of at most {}", H::WIRE_BYTES);
    let sent = raw(header);
    let Some(read) = H::decode(&sent) else {
        return Err(format!("cannot read what was written: {header:?}"));
    };
    ensure!(raw(&read) == sent, "writes {header:?} again as {read:?}");
    ensure!(format!("{header:?}") == format!("{read:?}"), "reads {header:?} as {read:?}");
    let (here, there) = (header.returned(), read.returned());
    ensure!(format!("{here:?}") == format!("{there:?}"), "returns {here:?}, but after a wire {there:?}");
    Ok(())
}

/// Whatever bits are wrong: if it can be read, it is written as it was.
fn written_as_read<H: Header>(header: &H) -> Verdict {
    let sent = raw(header);
    for bit in 0..8 * sent.len() {
        let mut flipped = sent.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        if let Some(read) = H::decode(&flipped) {
            let again = raw(&read);
            let both = again.len().min(flipped.len());
            ensure!(
                again[..both] == flipped[..both],
                "reads {flipped:?} as {read:?}, which it writes as {again:?}"
            );
        }
    }
    Ok(())
}
