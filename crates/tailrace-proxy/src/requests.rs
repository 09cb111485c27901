//! Where requests of a client end: memcached's text protocol, and its meta commands.
//!
//! What memcached answers itself goes through as it is, errors included. Only where a wrong request would leave open what its
//! value is does the proxy answer, in memcached's words: it must know where the next one begins.

/// The longest line: a thousand of the longest keys.
pub const LONGEST_LINE: usize = 256 << 10;
/// The longest value.
pub const LONGEST_VALUE: usize = 8 << 20;
/// The longest key.
const LONGEST_KEY: usize = 250;

const BAD_LINE: &str = "CLIENT_ERROR bad command line format\r\n";
const TOO_LARGE: &str = "SERVER_ERROR object too large for cache\r\n";
const TOO_LONG: &str = "CLIENT_ERROR line too long\r\n";
const BINARY: &str = "CLIENT_ERROR this proxy speaks memcached's text protocol, not the binary one\r\n";
const ENDLESS: &str = "CLIENT_ERROR this proxy carries answers, and watch has no end of its answer\r\n";

/// What a client has asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Something for memcached.
    Ask {
        /// The request as it came, its value included.
        bytes: Vec<u8>,
        /// How it is answered.
        answer: Answered,
    },
    /// Something that memcached need not be asked: this is the answer.
    Refused(&'static str),
    /// This is the answer, and after it nothing more can be understood.
    Broken(&'static str),
    /// The client wants to end the connection.
    Quit,
}

/// How a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// In any case.
    Always,
    /// With `MN`.
    Noop,
    /// Not if all is well, or not if there is nothing to say.
    Perhaps,
}

/// Cuts a stream of requests, which may come in any pieces.
#[derive(Debug, Default)]
pub struct Requests {
    buffer: Vec<u8>,
    /// Bytes at the beginning of the buffer that are over.
    over: usize,
    /// Bytes of a refused value that are still to come.
    skip: usize,
    broken: bool,
}

/// What a line amounts to.
enum Line {
    /// A request without value.
    Bare(Answered),
    /// A value of so many bytes follows.
    Valued(usize, Answered),
    /// A value of so many bytes follows, and neither is for memcached.
    Refused(usize, &'static str),
    Quit,
}

impl Requests {
    /// Where what comes from the client is to be added.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.buffer.drain(..self.over);
        self.over = 0;
        &mut self.buffer
    }

    /// The next request, if all of it has come.
    pub fn next(&mut self) -> Option<Request> {
        self.drop_refused();
        let rest = &self.buffer[self.over..];
        if self.broken || rest.is_empty() {
            return None;
        }
        if rest[0] == 0x80 {
            return Some(self.break_off(BINARY));
        }
        let Some(end) = rest.iter().position(|&byte| byte == b'\n').map(|at| at + 1) else {
            return (rest.len() > LONGEST_LINE).then(|| self.break_off(TOO_LONG));
        };
        if end > LONGEST_LINE {
            return Some(self.break_off(TOO_LONG));
        }
        let (length, answer) = match understand(&rest[..end]) {
            Line::Bare(answer) => (end, answer),
            Line::Valued(value, answer) => (end + value + 2, answer),
            Line::Refused(value, answer) => {
                self.over += end;
                self.skip = value;
                self.drop_refused();
                return Some(Request::Refused(answer));
            }
            Line::Quit => {
                self.broken = true;
                return Some(Request::Quit);
            }
        };
        let bytes = rest.get(..length)?.to_vec();
        self.over += length;
        Some(Request::Ask { bytes, answer })
    }

    fn break_off(&mut self, answer: &'static str) -> Request {
        self.broken = true;
        Request::Broken(answer)
    }

    fn drop_refused(&mut self) {
        let dropped = self.skip.min(self.buffer.len() - self.over);
        self.over += dropped;
        self.skip -= dropped;
    }
}

fn understand(line: &[u8]) -> Line {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    match words.next().unwrap_or_default() {
        b"set" | b"add" | b"replace" | b"append" | b"prepend" => storage(words, 4),
        b"cas" => storage(words, 5),
        b"ms" => meta_set(words),
        // A key may be called q.
        b"mg" | b"md" | b"ma" => Line::Bare(perhaps(words.skip(1).any(|word| word == b"q"))),
        b"mn" => Line::Bare(Answered::Noop),
        b"quit" => Line::Quit,
        b"watch" => Line::Refused(0, ENDLESS),
        _ => Line::Bare(perhaps(words.next_back() == Some(b"noreply"))),
    }
}

fn perhaps(is_quiet: bool) -> Answered {
    if is_quiet { Answered::Perhaps } else { Answered::Always }
}

/// `<key> <flags> <expires> <bytes> [<cas>] [noreply]`: so many words, and perhaps the last.
fn storage<'a>(words: impl Iterator<Item = &'a [u8]>, count: usize) -> Line {
    let words: Vec<&[u8]> = words.collect();
    let answer = match words.len().checked_sub(count) {
        Some(0) => Answered::Always,
        Some(1) if words[count] == b"noreply" => Answered::Perhaps,
        // As memcached, which takes the value for requests.
        _ => return Line::Refused(0, "ERROR\r\n"),
    };
    let Some(length) = value_length(words[3]) else { return Line::Refused(0, BAD_LINE) };
    let numbers = number::<u32>(words[1]).is_some()
        && number::<i64>(words[2]).is_some()
        && (count < 5 || number::<u64>(words[4]).is_some());
    valued(words[0], length, answer, numbers)
}

/// `<key> <bytes> <flags>*`.
fn meta_set<'a>(words: impl Iterator<Item = &'a [u8]>) -> Line {
    let words: Vec<&[u8]> = words.collect();
    let [key, length, ref flags @ ..] = words[..] else { return Line::Refused(0, BAD_LINE) };
    let Some(length) = value_length(length) else { return Line::Refused(0, BAD_LINE) };
    valued(key, length, perhaps(flags.contains(&&b"q"[..])), true)
}

fn valued(key: &[u8], length: usize, answer: Answered, is_right: bool) -> Line {
    if key.len() > LONGEST_KEY || !is_right {
        Line::Refused(length + 2, BAD_LINE)
    } else if length > LONGEST_VALUE {
        Line::Refused(length + 2, TOO_LARGE)
    } else {
        Line::Valued(length, answer)
    }
}

fn value_length(word: &[u8]) -> Option<usize> {
    number::<i32>(word).and_then(|length| usize::try_from(length).ok())
}

fn number<N: std::str::FromStr>(word: &[u8]) -> Option<N> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Vec<Request> {
        let (mut requests, mut cut) = (Requests::default(), Vec::new());
        for chunk in chunks {
            requests.buffer().extend(chunk);
            cut.extend(std::iter::from_fn(|| requests.next()));
        }
        cut
    }

    fn all(text: &[u8]) -> Vec<Request> {
        cut([text].into_iter())
    }

    fn ask(bytes: &[u8], answer: Answered) -> Request {
        Request::Ask { bytes: bytes.to_vec(), answer }
    }

    fn request() -> impl Strategy<Value = Request> {
        let value = prop_oneof![
            Just(b"quit\r\nset a 0 0 9\r\n".to_vec()),
            prop::collection::vec(any::<u8>(), 0..40),
        ];
        let line = |text: &'static str, answer| Just(ask(text.as_bytes(), answer));
        prop_oneof![
            (value.clone(), any::<bool>()).prop_map(|(value, quiet)| {
                let (end, answer) =
                    if quiet { (" noreply", Answered::Perhaps) } else { ("", Answered::Always) };
                let line = format!("set key 0 -1 {}{end}\r\n", value.len());
                ask(&[line.as_bytes(), &value, b"\r\n"].concat(), answer)
            }),
            (value.clone(), any::<bool>()).prop_map(|(value, quiet)| {
                let (end, answer) = if quiet { (" q", Answered::Perhaps) } else { (" T0", Answered::Always) };
                let line = format!("ms key {}{end}\r\n", value.len());
                ask(&[line.as_bytes(), &value, b"\r\n"].concat(), answer)
            }),
            value.prop_map(|value| {
                let line = format!("cas key 1 2 {} 3\n", value.len());
                ask(&[line.as_bytes(), &value, b"\r\n"].concat(), Answered::Always)
            }),
            line("get a b c\r\n", Answered::Always),
            line("\r\n", Answered::Always),
            line("delete a noreply\r\n", Answered::Perhaps),
            line("mg a v q\r\n", Answered::Perhaps),
            line("mg q v\r\n", Answered::Always),
            line("mn\r\n", Answered::Noop),
            line("stats items\n", Answered::Always),
        ]
    }

    proptest! {
        #[test]
        fn requests_are_found_however_they_are_chopped(
            requests in prop::collection::vec(request(), 0..10),
            chunk in 1usize..40,
        ) {
            let stream: Vec<u8> = requests
                .iter()
                .flat_map(|request| match request {
                    Request::Ask { bytes, .. } => bytes.clone(),
                    _ => Vec::new(),
                })
                .collect();
            prop_assert_eq!(cut(stream.chunks(chunk)), requests);
        }

        #[test]
        fn any_bytes_are_the_same_requests_in_any_pieces(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"set k 0 1\r\n".to_vec())], 0..200),
            chunk in 1usize..40,
        ) {
            prop_assert_eq!(cut(bytes.chunks(chunk)), cut(bytes.chunks(1)));
        }
    }

    #[test]
    fn wrong_requests_with_values_are_answered_and_what_follows_is_found() {
        let next = ask(b"get a\r\n", Answered::Always);
        let long = "k".repeat(251);
        for (wrong, answer) in [
            (format!("set {long} 0 0 5\r\nget b\r\n"), BAD_LINE),
            ("set a x 0 5\r\nget b\r\n".to_owned(), BAD_LINE),
            ("set a 0 0 -1\r\n".to_owned(), BAD_LINE),
            ("set a 0 0 five\r\n".to_owned(), BAD_LINE),
            ("set a 0 0\r\n".to_owned(), "ERROR\r\n"),
            ("cas a 0 0 5 x\r\nget b\r\n".to_owned(), BAD_LINE),
            ("ms a x\r\n".to_owned(), BAD_LINE),
            (format!("ms {long} 5\r\nget b\r\n"), BAD_LINE),
            ("watch\r\n".to_owned(), ENDLESS),
        ] {
            assert_eq!(
                all(format!("{wrong}get a\r\n").as_bytes()),
                [Request::Refused(answer), next.clone()],
                "{wrong}"
            );
        }
        let large =
            [b"set a 0 0 9000000\r\n".to_vec(), vec![b'x'; 9_000_002], b"get a\r\n".to_vec()].concat();
        assert_eq!(cut(large.chunks(100_000)), [Request::Refused(TOO_LARGE), next]);
    }

    #[test]
    fn what_has_no_next_request_is_broken_off() {
        assert_eq!(all(b"\x80\x00\x00quit\r\n"), [Request::Broken(BINARY)]);
        assert_eq!(all(&vec![b'g'; LONGEST_LINE + 1]), [Request::Broken(TOO_LONG)]);
        assert_eq!(all(b"quit\r\nget a\r\n"), [Request::Quit]);
    }
}
