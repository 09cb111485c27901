//! What clients ask and memcached answers: any bytes are cut in the same places, in whatever pieces they come.

use tailrace_proxy::answers::{Answers, NotMemcached, Piece};
use tailrace_proxy::requests::{Request, Requests};

use super::{Outcome, magnitude};

fn requests<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Request> {
    let (mut requests, mut found) = (Requests::default(), Vec::new());
    for piece in pieces {
        requests.buffer().extend(piece);
        found.extend(std::iter::from_fn(|| requests.next()));
    }
    found
}

/// The bytes for the client, with a place for each answer to `mn`.
fn answers<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<(Vec<u8>, Vec<usize>), NotMemcached> {
    let (mut answers, mut bytes, mut noops) = (Answers::default(), Vec::new(), Vec::new());
    for piece in pieces {
        answers.feed(piece, |piece| match piece {
            Piece::Bytes(more) => bytes.extend(more),
            Piece::Noop => noops.push(bytes.len()),
        })?;
    }
    Ok((bytes, noops))
}

pub(super) fn check(bytes: &[u8]) -> Outcome {
    let Some((&size, text)) = bytes.split_first() else { return Outcome::Refused("empty".to_owned()) };
    let size = usize::from(size).max(1);
    let asked = requests(std::iter::once(text));
    assert_eq!(requests(text.chunks(size)), asked, "requests in pieces of {size}");
    let asked_bytes: usize = asked
        .iter()
        .map(|request| match request {
            Request::Ask { bytes, .. } => bytes.len(),
            _ => 0,
        })
        .sum();
    assert!(asked_bytes <= text.len(), "{asked_bytes} of {} bytes", text.len());
    let answered = answers(std::iter::once(text));
    assert_eq!(answers(text.chunks(size)), answered, "answers in pieces of {size}");
    if let Ok((bytes, noops)) = &answered {
        assert!(bytes.len() + 4 * noops.len() <= text.len(), "{} bytes from {}", bytes.len(), text.len());
    }
    let kinds: Vec<&str> = asked.iter().map(kind).collect();
    let noops = answered.map(|(_, noops)| magnitude(noops.len() as u64));
    Outcome::Used(format!("{} {noops:?}", kinds.join(" ").chars().take(60).collect::<String>()))
}

fn kind(request: &Request) -> &'static str {
    match request {
        Request::Ask { .. } => "ask",
        Request::Refused(answer) | Request::Broken(answer) => answer,
        Request::Quit => "quit",
    }
}
