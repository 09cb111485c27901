//! Where answers of memcached end. Behind each message of requests the proxy asks `mn`, which does nothing and is answered
//! `MN`: whatever the requests were, and whether they are answered or not, all before that is theirs. `MN` may be in a
//! value too, so lines and values have to be told apart.

/// No answer has longer lines.
const LONGEST_LINE: usize = 1 << 20;

/// What an answer consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Bytes for the client.
    Bytes(&'a [u8]),
    /// An answer to `mn`.
    Noop,
}

/// Cuts a stream of answers, which may come in any pieces.
#[derive(Debug, Default)]
pub struct Answers {
    /// The beginning of a line.
    line: Vec<u8>,
    /// Bytes of a value that are still to come, its end of line included.
    value: usize,
}

/// What has come is not from a memcached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotMemcached;

impl Answers {
    /// More has come; `take` is given what it consists of, in order.
    pub fn feed(&mut self, mut bytes: &[u8], mut take: impl FnMut(Piece<'_>)) -> Result<(), NotMemcached> {
        while !bytes.is_empty() {
            if self.value > 0 {
                let (value, rest) = bytes.split_at(self.value.min(bytes.len()));
                take(Piece::Bytes(value));
                self.value -= value.len();
                bytes = rest;
                continue;
            }
            let end = bytes.iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |at| at + 1);
            let (part, rest) = bytes.split_at(end);
            self.line.extend(part);
            bytes = rest;
            if self.line.last() == Some(&b'\n') {
                self.end_line(&mut take)?;
            } else if self.line.len() > LONGEST_LINE {
                return Err(NotMemcached);
            }
        }
        Ok(())
    }

    fn end_line(&mut self, take: &mut impl FnMut(Piece<'_>)) -> Result<(), NotMemcached> {
        if self.line == b"MN\r\n" {
            take(Piece::Noop);
        } else {
            self.value = value_bytes(&self.line).ok_or(NotMemcached)?;
            take(Piece::Bytes(&self.line));
        }
        self.line.clear();
        Ok(())
    }
}

/// Bytes of the value that follows a line; `None` if it says nothing that can be.
fn value_bytes(line: &[u8]) -> Option<usize> {
    let line = line.trim_ascii_end();
    let mut words = line.split(|&byte| byte == b' ');
    let length = match words.next() {
        Some(b"VALUE") => words.nth(2),
        Some(b"VA") => words.next(),
        _ => return Some(0),
    };
    let length: usize = std::str::from_utf8(length?).ok()?.parse().ok()?;
    length.checked_add(2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The bytes of all answers, cut at each `MN`; the last one may have no end.
    fn cut<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Vec<u8>>, NotMemcached> {
        let (mut answers, mut cut) = (Answers::default(), vec![Vec::new()]);
        for chunk in chunks {
            answers.feed(chunk, |piece| match piece {
                Piece::Bytes(bytes) => cut.last_mut().unwrap().extend(bytes),
                Piece::Noop => cut.push(Vec::new()),
            })?;
        }
        Ok(cut)
    }

    fn answer() -> impl Strategy<Value = Vec<u8>> {
        let tricky = prop_oneof![Just(b"MN\r\n".to_vec()), prop::collection::vec(any::<u8>(), 0..30)];
        prop_oneof![
            prop::collection::vec(tricky.clone(), 0..4).prop_map(|values| {
                let mut text = Vec::new();
                for value in values {
                    text.extend(format!("VALUE key 0 {} 17\r\n", value.len()).bytes());
                    text.extend(value);
                    text.extend(b"\r\n");
                }
                text.extend(b"END\r\n");
                text
            }),
            tricky.prop_map(|value| [format!("VA {} t3\r\n", value.len()).as_bytes(), &value, b"\r\n"].concat()),
            prop::sample::select(vec![
                &b"STORED\r\n"[..], b"EN\r\n", b"HD\r\n", b"ERROR\r\n", b"STAT pid 1\r\nSTAT a MN\r\nEND\r\n", b"",
                b"CLIENT_ERROR bad data chunk\r\n",
            ])
            .prop_map(<[u8]>::to_vec),
        ]
    }

    proptest! {
        #[test]
        fn answers_end_at_their_noop_however_they_are_chopped(
            answers in prop::collection::vec(answer(), 1..8),
            chunk in 1usize..40,
        ) {
            let stream: Vec<u8> = answers.iter().flat_map(|answer| [answer, &b"MN\r\n"[..]].concat()).collect();
            let mut cut = cut(stream.chunks(chunk)).unwrap();
            prop_assert_eq!(cut.pop(), Some(Vec::new()));
            prop_assert_eq!(cut, answers);
        }

        #[test]
        fn any_bytes_are_answers_or_not(bytes in prop::collection::vec(any::<u8>(), 0..200), chunk in 1usize..40) {
            prop_assert_eq!(cut(bytes.chunks(chunk)), cut(bytes.chunks(1)));
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for line in ["VALUE k 0 x\r\n", "VA -1\r\n", "VA\r\n", "VALUE k\r\n", "VA 99999999999999999999\r\n"] {
            assert_eq!(cut([line.as_bytes()].into_iter()), Err(NotMemcached), "{line}");
        }
        let endless = vec![b'x'; LONGEST_LINE + 1];
        assert_eq!(cut([&endless[..]].into_iter()), Err(NotMemcached));
    }
}
