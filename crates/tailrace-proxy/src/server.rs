//! The side of the server: for each conversation a connection to the memcached of this host.

use std::collections::{BTreeMap, VecDeque};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::poll::PollFlags;
use tailrace_core::{HostId, TaskId, Time};
use tailrace_linux::Messages;

use crate::answers::{Answers, Piece};
use crate::envelope::{Envelope, Say, named};
use crate::order::InOrder;
use crate::stream::Stream;

/// An answer goes to the client in parts of so much, or a little more.
const PART_BYTES: usize = 1 << 20;
/// So many parts may be on their way that the client does not have.
const MAX_PARTS: u32 = 4;
/// Requests for which an earlier one is missing wait so long for it.
const MISSING_FOR: Time = Time::from_ms(5_000);
/// Conversations that have not been named for so long are over.
const FORGOTTEN_AFTER: Time = Time::from_ms(60_000);
/// A memcached on loopback takes a connection at once, or not.
const CONNECT_WITHIN: Duration = Duration::from_millis(200);
/// What is asked behind each message of requests: the answer tells that theirs is over.
const NOOP: &[u8] = b"mn\r\n";

/// What a client has said.
enum Asked {
    Requests { task: TaskId, noops: u8, bytes: Vec<u8> },
    End,
}

/// What memcached is to answer.
struct Expected {
    task: TaskId,
    /// Answers to `mn` that are the client's.
    noops: u8,
}

struct Session {
    stream: Stream,
    asked: InOrder<Asked>,
    missing_since: Option<Time>,
    answers: Answers,
    expected: VecDeque<Expected>,
    /// The answer so far.
    answer: Vec<u8>,
    next_answer: u32,
    /// Parts of answers that the client may not have.
    parts: u32,
    /// When its client was last known to be there.
    named: Time,
    /// Whether memcached has shown that it knows `mn`.
    greeted: bool,
}

/// A conversation: the client's host, and its number there.
type Key = (HostId, u64);

/// The connections to the memcached of this host.
pub(crate) struct Sessions {
    memcached: SocketAddr,
    sessions: BTreeMap<Key, Session>,
    buffer: Vec<u8>,
}

impl Sessions {
    pub(crate) fn new(memcached: SocketAddr) -> Self {
        Sessions { memcached, sessions: BTreeMap::new(), buffer: Vec::new() }
    }

    /// The sockets, and what they wait for.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = (Key, BorrowedFd<'_>, PollFlags)> {
        self.sessions
            .iter()
            .map(|(&key, this)| (key, this.stream.socket(), this.stream.waits_for(this.parts < MAX_PARTS)))
    }

    /// A client says something.
    pub(crate) fn told(&mut self, messages: &mut dyn Messages, from: HostId, told: Envelope, content: &[u8]) {
        let key = (from, told.conversation);
        match told.say {
            Say::Request { noops, known } => {
                if !self.sessions.contains_key(&key) && (known || !self.open(messages, key)) {
                    return if known {
                        unknown(messages, key)
                    };
                }
                self.asked(
                    messages,
                    key,
                    told.number,
                    Asked::Requests { task: told.task, noops, bytes: content.to_vec() },
                );
            }
            Say::End => self.asked(messages, key, told.number, Asked::End),
            Say::Taken => {
                if let Some(this) = self.sessions.get_mut(&key) {
                    this.parts = this.parts.saturating_sub(1);
                }
            }
            Say::Alive => self.named(messages, from, content),
            Say::Answer { .. } | Say::Closed | Say::Unknown => {}
        }
    }

    /// Conversations of a host go on, or would, if they were known.
    fn named(&mut self, messages: &mut dyn Messages, from: HostId, content: &[u8]) {
        for conversation in named(content) {
            match self.sessions.get_mut(&(from, conversation)) {
                Some(this) => this.named = messages.now(),
                None => unknown(messages, (from, conversation)),
            }
        }
    }

    /// A client says something to a host without memcached.
    pub(crate) fn refuse(messages: &mut dyn Messages, from: HostId, told: Envelope, content: &[u8]) {
        match told.say {
            Say::Request { .. } => {
                let reason = format!("the proxy of host {} has no memcached", messages.host());
                close(messages, (from, told.conversation), 0, &reason);
            }
            Say::Alive => named(content).for_each(|conversation| unknown(messages, (from, conversation))),
            _ => {}
        }
    }

    /// Connects a new conversation to memcached, or ends it.
    fn open(&mut self, messages: &mut dyn Messages, key: Key) -> bool {
        match TcpStream::connect_timeout(&self.memcached, CONNECT_WITHIN).and_then(Stream::new) {
            Ok(stream) => {
                let mut session = Session {
                    stream,
                    asked: InOrder::default(),
                    missing_since: None,
                    answers: Answers::default(),
                    expected: VecDeque::new(),
                    answer: Vec::new(),
                    next_answer: 0,
                    parts: 0,
                    named: messages.now(),
                    greeted: false,
                };
                session.stream.push(NOOP);
                self.sessions.insert(key, session);
                true
            }
            Err(error) => {
                let reason = format!("memcached at {} of host {}: {error}", self.memcached, messages.host());
                close(messages, key, 0, &reason);
                false
            }
        }
    }

    fn asked(&mut self, messages: &mut dyn Messages, key: Key, number: u32, asked: Asked) {
        let Some(this) = self.sessions.get_mut(&key) else { return };
        this.asked.push(number, asked);
        while let Some(asked) = this.asked.pop() {
            let Asked::Requests { task, noops, bytes } = asked else {
                self.sessions.remove(&key);
                return;
            };
            this.stream.push(&bytes);
            this.stream.push(NOOP);
            this.expected.push_back(Expected { task, noops });
        }
        this.missing_since = this.asked.has_gap().then(|| messages.now());
        if this.stream.flush().is_err() {
            self.end(messages, key, "has closed the connection");
        }
    }

    /// A socket is ready.
    pub(crate) fn ready(&mut self, messages: &mut dyn Messages, key: Key, events: PollFlags) {
        let Some(this) = self.sessions.get_mut(&key) else { return };
        let reads = PollFlags::POLLIN | PollFlags::POLLHUP | PollFlags::POLLERR;
        let mut wrong = None;
        if events.intersects(reads) {
            self.buffer.clear();
            let more = this.stream.read(&mut self.buffer);
            wrong = this.take(messages, key, &self.buffer).err();
            if wrong.is_none() && !more.is_ok_and(|more| more) {
                wrong = Some("has closed the connection");
            }
        }
        if wrong.is_none() && this.stream.flush().is_err() {
            wrong = Some("has closed the connection");
        }
        if let Some(wrong) = wrong {
            self.end(messages, key, wrong);
        }
    }

    /// Tells a client that its conversation is over, and why.
    fn end(&mut self, messages: &mut dyn Messages, key: Key, wrong: &str) {
        if let Some(mut this) = self.sessions.remove(&key) {
            this.send_part(messages, key, false);
            let reason = format!("memcached at {} of host {} {wrong}", self.memcached, messages.host());
            close(messages, key, this.next_answer, &reason);
        }
    }

    /// A client's host does not answer.
    pub(crate) fn lost(&mut self, host: HostId) {
        self.sessions.retain(|&(from, _), _| from != host);
    }

    /// Ends what nobody waits for, or what cannot go on.
    pub(crate) fn sweep(&mut self, messages: &mut dyn Messages) {
        let now = messages.now();
        self.sessions.retain(|&(host, conversation), this| {
            let is_stuck = this.missing_since.is_some_and(|since| now > since + MISSING_FOR);
            if is_stuck {
                unknown(messages, (host, conversation));
            }
            !is_stuck && now < this.named + FORGOTTEN_AFTER
        });
    }
}

impl Session {
    /// Memcached has answered something. The error says what is wrong with it.
    fn take(&mut self, messages: &mut dyn Messages, key: Key, bytes: &[u8]) -> Result<(), &'static str> {
        let mut answers = std::mem::take(&mut self.answers);
        let fed = answers.feed(bytes, |piece| match piece {
            Piece::Bytes(bytes) => self.answer.extend(bytes),
            Piece::Noop => self.noop(messages, key),
        });
        self.answers = answers;
        if fed.is_err() || !self.greeted && !self.answer.is_empty() {
            return Err(
                "does not know the command mn: version 1.6 or newer is needed, without authentication",
            );
        }
        if self.answer.len() >= PART_BYTES {
            self.send_part(messages, key, false);
        }
        Ok(())
    }

    fn noop(&mut self, messages: &mut dyn Messages, key: Key) {
        match self.expected.front_mut() {
            _ if !self.greeted => self.greeted = true,
            Some(expected) if expected.noops > 0 => {
                expected.noops -= 1;
                self.answer.extend(b"MN\r\n");
            }
            Some(_) => {
                self.send_part(messages, key, true);
                self.expected.pop_front();
            }
            None => {}
        }
    }

    /// Sends what there is of the answer, in its task.
    fn send_part(&mut self, messages: &mut dyn Messages, (host, conversation): Key, last: bool) {
        let Some(expected) = self.expected.front() else { return };
        if self.answer.is_empty() && !last {
            return;
        }
        let (task, number) = (expected.task, self.next_answer);
        let part = Envelope { say: Say::Answer { last }, conversation, number, task };
        messages.send(host, task, part.with(&self.answer));
        self.answer.clear();
        self.answer.shrink_to(PART_BYTES);
        self.next_answer += 1;
        self.parts += u32::from(!last);
    }
}

fn unknown(messages: &mut dyn Messages, (host, conversation): Key) {
    messages.send(host, 0, Envelope { say: Say::Unknown, conversation, number: 0, task: 0 }.with(&[]));
}

fn close(messages: &mut dyn Messages, (host, conversation): Key, number: u32, reason: &str) {
    let closed = Envelope { say: Say::Closed, conversation, number, task: 0 };
    messages.send(host, 0, closed.with(reason.as_bytes()));
}
