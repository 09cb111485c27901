//! Changes to inputs: bytes are replaced, moved, repeated and left out, numbers become extreme, parts of other inputs
//! and words that chance would not find are put in.

use tailrace_core::random::Stream;

use crate::targets::Syntax;
use crate::toml_edit;

/// Longer inputs are cut off: what they show a shorter one shows, too.
pub const LONGEST: usize = 1 << 16;
/// Numbers at the edges of what types hold.
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "-1",
    "255",
    "256",
    "65535",
    "65536",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "1e308",
    "nan",
    "inf",
];
/// Bytes that mean something to a parser.
const MARKS: &[u8] = b"\0\n\r\t ,.:;#\"'=-+[]{}0179eE\\\x1b\x7f\x80\xc3\xff";

/// A new input, made from those of `pool`.
pub fn mutate(pool: &[Vec<u8>], syntax: Syntax, stream: &mut Stream) -> Vec<u8> {
    let base = pick(pool, stream);
    let mut input = match syntax {
        // Most stay documents: what lies behind the parser is to be reached.
        Syntax::Toml if stream.below(3) > 0 => toml_edit::edit(base, pick(pool, stream), stream),
        _ if stream.below(50) == 0 => fresh(stream),
        _ => base.to_vec(),
    };
    if syntax == Syntax::Bytes || stream.below(4) == 0 {
        let most = 1 + stream.below(4);
        for _ in 0..1 + stream.below(most) {
            edit(&mut input, pool, stream);
        }
        input.truncate(LONGEST);
    }
    input
}

/// One of the pool, and rather one of the first, which are those that are kept.
fn pick<'a>(pool: &'a [Vec<u8>], stream: &mut Stream) -> &'a [u8] {
    let most = 1 + stream.below(pool.len() as u32);
    pool.get(stream.below(most) as usize).map_or(&[], Vec::as_slice)
}

fn fresh(stream: &mut Stream) -> Vec<u8> {
    let bits = stream.below(12);
    (0..stream.below(1 << bits)).map(|_| stream.bits() as u8).collect()
}

/// A place in the input, its end included.
fn place(input: &[u8], stream: &mut Stream) -> usize {
    stream.below(input.len() as u32 + 1) as usize
}

/// A range of the input, mostly a short one.
fn range(input: &[u8], stream: &mut Stream) -> std::ops::Range<usize> {
    let start = place(input, stream);
    let bits = stream.below(9);
    start..input.len().min(start + 1 + stream.below(1 << bits) as usize)
}

fn edit(input: &mut Vec<u8>, pool: &[Vec<u8>], stream: &mut Stream) {
    let at = place(input, stream);
    let here = range(input, stream);
    match stream.below(10) {
        0 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << stream.below(8);
            }
        }
        1 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = stream.bits() as u8;
            }
        }
        2 => input.insert(at, MARKS[stream.below(MARKS.len() as u32) as usize]),
        3 => drop(input.drain(here)),
        4 => {
            let copy = input[here].to_vec();
            drop(input.splice(at..at, copy));
        }
        5 => {
            let other = pick(pool, stream);
            let copy = other[range(other, stream)].to_vec();
            drop(input.splice(here, copy));
        }
        6 => input.truncate(at),
        7 | 8 => replace_number(input, at, stream),
        _ => repeat_line(input, at),
    }
}

/// The first number from `at` on becomes another.
fn replace_number(input: &mut Vec<u8>, at: usize, stream: &mut Stream) {
    let Some(start) = input[at..].iter().position(u8::is_ascii_digit).map(|after| at + after) else { return };
    let digits = input[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = match stream.below(3) {
        0 => stream.below(1000).to_string(),
        _ => NUMBERS[stream.below(NUMBERS.len() as u32) as usize].to_owned(),
    };
    drop(input.splice(start..start + digits, number.into_bytes()));
}

/// The line around `at` is there twice.
fn repeat_line(input: &mut Vec<u8>, at: usize) {
    let start = input[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |before| before + 1);
    let end = input[at..].iter().position(|&byte| byte == b'\n').map_or(input.len(), |after| at + after + 1);
    let line = input[start..end].to_vec();
    drop(input.splice(start..start, line));
}
