//! What two proxies say to each other: each message is an envelope, and what is in it.

use tailrace_core::TaskId;

/// Bytes of an envelope.
const BYTES: usize = 18;

/// What an envelope is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Say {
    /// Requests of a client, whole ones.
    Request {
        /// `mn`s among them, each of which is answered with `MN`.
        noops: u8,
        /// Whether the server has answered in this conversation before.
        known: bool,
    },
    /// What memcached has answered to one message of requests, or a part of it.
    Answer {
        /// Whether it is the last part.
        last: bool,
    },
    /// The client has taken a part that was not the last.
    Taken,
    /// The client has ended the conversation.
    End,
    /// The server has ended the conversation; the text says why.
    Closed,
    /// There is no such conversation.
    Unknown,
    /// The client's proxy names conversations that go on, eight bytes each; the envelope's own counts for nothing.
    Alive,
}

/// An envelope. A conversation is one connection of a client, and what becomes of it at the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Envelope {
    pub(crate) say: Say,
    /// Unique among those of the client's host.
    pub(crate) conversation: u64,
    /// Counts what is to be kept in order, in each direction of the conversation: requests, answers, and its end.
    pub(crate) number: u32,
    /// The task that this is part of, and answers to it.
    pub(crate) task: TaskId,
}

impl Envelope {
    /// A message.
    pub(crate) fn with(&self, content: &[u8]) -> Vec<u8> {
        let (kind, extra) = match self.say {
            Say::Request { noops, known: false } => (0, noops),
            Say::Request { noops, known: true } => (1, noops),
            Say::Answer { last } => (2, u8::from(last)),
            Say::Taken => (3, 0),
            Say::Closed => (4, 0),
            Say::Unknown => (5, 0),
            Say::Alive => (6, 0),
            Say::End => (7, 0),
        };
        let mut message = Vec::with_capacity(BYTES + content.len());
        message.extend([kind, extra]);
        message.extend(self.conversation.to_be_bytes());
        message.extend(self.number.to_be_bytes());
        message.extend(self.task.to_be_bytes());
        message.extend(content);
        message
    }

    /// The envelope of a message, and what is in it; `None` if no proxy has written it.
    pub(crate) fn open(message: &[u8]) -> Option<(Envelope, &[u8])> {
        let (&[kind, extra, ref rest @ ..], content) = message.split_first_chunk::<BYTES>()?;
        let say = match (kind, extra) {
            (0 | 1, noops) => Say::Request { noops, known: kind == 1 },
            (2, last @ (0 | 1)) => Say::Answer { last: last == 1 },
            (3, 0) => Say::Taken,
            (4, 0) => Say::Closed,
            (5, 0) => Say::Unknown,
            (6, 0) => Say::Alive,
            (7, 0) => Say::End,
            _ => return None,
        };
        let (conversation, rest) = rest.split_first_chunk()?;
        let (number, task) = rest.split_first_chunk()?;
        let envelope = Envelope {
            say,
            conversation: u64::from_be_bytes(*conversation),
            number: u32::from_be_bytes(*number),
            task: u32::from_be_bytes(task.try_into().ok()?),
        };
        Some((envelope, content))
    }
}

/// What an [`Say::Alive`] says.
pub(crate) fn name(conversations: &[u64]) -> Vec<u8> {
    conversations.iter().flat_map(|conversation| conversation.to_be_bytes()).collect()
}

/// The conversations that it names.
pub(crate) fn named(content: &[u8]) -> impl Iterator<Item = u64> {
    content.as_chunks().0.iter().map(|&number| u64::from_be_bytes(number))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn conversations_are_named() {
        let content = name(&[3, u64::MAX]);
        assert_eq!(named(&content).collect::<Vec<_>>(), [3, u64::MAX]);
        assert_eq!(named(&content[..15]).count(), 1);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            (kind, noops) in (0usize..8, any::<u8>()),
            (conversation, number, task) in any::<(u64, u32, u32)>(),
            content in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let say = [
                Say::Request { noops, known: false }, Say::Request { noops, known: true },
                Say::Answer { last: false }, Say::Answer { last: true },
                Say::Taken, Say::Closed, Say::Unknown, Say::Alive, Say::End,
            ][kind];
            let envelope = Envelope { say, conversation, number, task };
            let message = envelope.with(&content);
            prop_assert_eq!(Envelope::open(&message), Some((envelope, &content[..])));
            prop_assert_eq!(Envelope::open(&message[..BYTES - 1]), None);
        }

        #[test]
        fn any_bytes_are_a_message_or_none(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let opened = Envelope::open(&bytes);
            prop_assert!(opened.is_none_or(|(_, content)| content.len() + BYTES == bytes.len()));
        }
    }
}
