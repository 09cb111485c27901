//! The side of clients: connections that come in on loopback, each a conversation with one server.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::TcpStream;
use std::os::fd::BorrowedFd;

use nix::poll::PollFlags;
use tailrace_core::{HostId, TaskId, Time};
use tailrace_linux::Messages;

use crate::envelope::{Envelope, Say, name};
use crate::order::InOrder;
use crate::requests::{Answered, Request, Requests};
use crate::stream::Stream;
use crate::tasks::{Counter, Newest};

/// A client that waits for so many answers, or has asked for so much, is not read on.
const MAX_WAITING: usize = 64;
const MAX_ASKED_BYTES: usize = 4 << 20;
/// Requests that may have no answer are carried together up to so much.
const MAX_TOGETHER_BYTES: usize = 1 << 20;
/// Of answers that come in parts, the next ones may come when the client is behind by less.
const FEW_BYTES: usize = 256 << 10;
/// Who has waited for so long asks whether the server still knows of it.
const ASK_AFTER: Time = Time::from_ms(3_000);
/// And so long for the first answer: the first request may be on its way.
const ASK_FIRST_AFTER: Time = Time::from_ms(10_000);
/// All are named to their servers so often.
const NAME_EVERY: Time = Time::from_ms(10_000);

/// A client that has been told all has so long to close its end: what it still sends would otherwise undo what it has not
/// read.
const LEAVE_WITHIN: Time = Time::from_ms(1_000);

/// Something that a client waits for.
enum Waiting {
    /// The answer to one message of requests.
    Answer { task: TaskId, bytes: usize },
    /// What the proxy itself has answered, when what came before it is answered.
    Refusal(&'static str),
}

struct Conversation {
    stream: Stream,
    server: HostId,
    /// Number of the address that it has come over.
    entry: usize,
    requests: Requests,
    next_request: u32,
    waiting: VecDeque<Waiting>,
    asked_bytes: usize,
    /// What the server says, as it is to be understood.
    said: InOrder<(Say, Vec<u8>)>,
    /// Whether a part of the first answer that is waited for has gone to the client.
    begun: bool,
    /// Whether the server has answered before.
    known: bool,
    /// Parts of answers for which the server has not been told that the client has them.
    untold: u32,
    /// When something of this conversation last came or went.
    moved: Time,
    /// Nothing more is read: it ends when all is answered.
    ending: bool,
    /// It ends when the client has all that there is for it.
    over: bool,
}

/// All clients of this host.
pub(crate) struct Clients {
    conversations: BTreeMap<u64, Conversation>,
    /// Clients whose conversation is over, and since when.
    leaving: BTreeMap<u64, (Stream, Time)>,
    next: u64,
    counter: Counter,
    newest: Vec<Newest>,
    /// When those that wait were last asked for, and when all were named.
    asked: Time,
    named: Time,
}

impl Clients {
    /// Clients that come over so many addresses. Conversations are counted from `first` on, which no earlier process of
    /// this host has counted to.
    pub(crate) fn new(addresses: usize, first: u64, counter: Counter) -> Self {
        let newest = vec![Newest::default(); addresses];
        let (conversations, leaving) = (BTreeMap::new(), BTreeMap::new());
        Clients { conversations, leaving, next: first, counter, newest, asked: Time::ZERO, named: Time::ZERO }
    }

    /// A client has come over the address number `entry`, for a server.
    pub(crate) fn accept(
        &mut self,
        now: Time,
        tcp: TcpStream,
        entry: usize,
        server: HostId,
    ) -> io::Result<()> {
        let conversation = Conversation {
            stream: Stream::new(tcp)?,
            server,
            entry,
            requests: Requests::default(),
            next_request: 0,
            waiting: VecDeque::new(),
            asked_bytes: 0,
            said: InOrder::default(),
            begun: false,
            known: false,
            untold: 0,
            moved: now,
            ending: false,
            over: false,
        };
        self.conversations.insert(self.next, conversation);
        self.next += 1;
        Ok(())
    }

    /// The clients' sockets, and what they wait for.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = (u64, BorrowedFd<'_>, PollFlags)> {
        let leaving = self.leaving.iter().map(|(&id, (stream, _))| (id, stream.socket(), PollFlags::POLLIN));
        let talking = self.conversations.iter().map(|(&id, this)| {
            let reads = !this.ending
                && !this.over
                && this.waiting.len() < MAX_WAITING
                && this.asked_bytes < MAX_ASKED_BYTES;
            (id, this.stream.socket(), this.stream.waits_for(reads))
        });
        leaving.chain(talking)
    }

    /// A client's socket is ready.
    pub(crate) fn ready(&mut self, messages: &mut dyn Messages, id: u64, events: PollFlags) {
        let Some(this) = self.conversations.get_mut(&id) else { return self.see_off(id) };
        let mut is_gone = events.intersects(PollFlags::POLLERR | PollFlags::POLLNVAL);
        if events.intersects(PollFlags::POLLIN | PollFlags::POLLHUP) && !this.ending && !this.over {
            match this.stream.read(this.requests.buffer()) {
                Ok(more) => {
                    let (now, newest) = (messages.now(), &mut self.newest[this.entry]);
                    this.ask(messages, id, || newest.task(now, &mut self.counter));
                    this.ending |= !more;
                }
                Err(_) => is_gone = true,
            }
        } else if events.contains(PollFlags::POLLHUP) {
            is_gone = true;
        }
        if is_gone {
            self.end(messages, id);
        } else {
            self.settle(messages, id);
        }
    }

    /// A server says something in a conversation.
    pub(crate) fn told(&mut self, messages: &mut dyn Messages, from: HostId, told: Envelope, content: &[u8]) {
        let now = messages.now();
        let Some(this) = self.conversations.get_mut(&told.conversation).filter(|this| this.server == from)
        else {
            return;
        };
        this.moved = now;
        if told.say == Say::Unknown {
            this.fail(&format!("the proxy of host {from} does not know this connection any more"));
        } else {
            this.said.push(told.number, (told.say, content.to_vec()));
            this.hear(&mut self.newest);
        }
        self.settle(messages, told.conversation);
    }

    /// A server's host does not answer.
    pub(crate) fn lost(&mut self, messages: &mut dyn Messages, server: HostId) {
        let lost: Vec<u64> =
            self.conversations.iter().filter(|(_, this)| this.server == server).map(|(&id, _)| id).collect();
        for id in lost {
            if let Some(this) = self.conversations.get_mut(&id) {
                this.fail(&format!("the proxy of host {server} does not answer"));
            }
            self.settle(messages, id);
        }
    }

    /// Asks for those that have waited long, now and then for all, and lets go who has left.
    pub(crate) fn sweep(&mut self, messages: &mut dyn Messages) {
        let now = messages.now();
        self.leaving.retain(|_, (_, since)| now < *since + LEAVE_WITHIN);
        if now < self.asked + ASK_AFTER {
            return;
        }
        self.asked = now;
        let all = now >= self.named + NAME_EVERY;
        if all {
            self.named = now;
        }
        let mut named: BTreeMap<HostId, Vec<u64>> = BTreeMap::new();
        for (&id, this) in &self.conversations {
            let waited = if this.waiting.is_empty() { Time::ZERO } else { now.saturating_sub(this.moved) };
            if this.known && (all || waited > ASK_AFTER) || waited > ASK_FIRST_AFTER {
                named.entry(this.server).or_default().push(id);
            }
        }
        for (server, conversations) in named {
            let alive = Envelope { say: Say::Alive, conversation: 0, number: 0, task: 0 };
            messages.send(server, 0, alive.with(&name(&conversations)));
        }
    }

    /// Writes what a client takes, tells the server, and ends what is over.
    fn settle(&mut self, messages: &mut dyn Messages, id: u64) {
        let Some(this) = self.conversations.get_mut(&id) else { return };
        this.over |= this.ending && this.waiting.is_empty();
        let written = this.stream.flush();
        if written.is_err() || this.over && this.stream.behind() == 0 {
            if let Some(stream) = self.end(messages, id).filter(|_| written.is_ok()) {
                // If that fails, it is gone.
                let _ = stream.finish();
                self.leaving.insert(id, (stream, messages.now()));
            }
            return;
        }
        if this.stream.behind() < FEW_BYTES {
            for _ in 0..std::mem::take(&mut this.untold) {
                messages.send(this.server, 0, this.envelope(id, Say::Taken, 0, 0).with(&[]));
            }
        }
    }

    /// A conversation is over: its server hears of it.
    fn end(&mut self, messages: &mut dyn Messages, id: u64) -> Option<Stream> {
        let this = self.conversations.remove(&id)?;
        if this.next_request > 0 {
            let end = this.envelope(id, Say::End, this.next_request, 0);
            messages.send(this.server, 0, end.with(&[]));
        }
        Some(this.stream)
    }

    /// A client whose conversation is over sends more, or has closed its end.
    fn see_off(&mut self, id: u64) {
        let Some((stream, _)) = self.leaving.get_mut(&id) else { return };
        if !stream.read(&mut Vec::new()).is_ok_and(|more| more) {
            self.leaving.remove(&id);
        }
    }
}

impl Conversation {
    fn envelope(&self, conversation: u64, say: Say, number: u32, task: TaskId) -> Envelope {
        Envelope { say, conversation, number, task }
    }

    /// Sends on the requests that have come. Those that may have no answer go with the next one that has.
    fn ask(&mut self, messages: &mut dyn Messages, id: u64, mut task: impl FnMut() -> TaskId) {
        let mut together = Vec::new();
        while let Some(request) = self.requests.next() {
            if let Request::Ask { bytes, answer } = request {
                together.extend(bytes);
                if answer != Answered::Perhaps || together.len() > MAX_TOGETHER_BYTES {
                    let (bytes, noops) = (std::mem::take(&mut together), u8::from(answer == Answered::Noop));
                    self.send(messages, id, task(), noops, &bytes);
                }
                continue;
            }
            if !together.is_empty() {
                self.send(messages, id, task(), 0, &std::mem::take(&mut together));
            }
            match request {
                Request::Refused(answer) | Request::Broken(answer) => {
                    self.waiting.push_back(Waiting::Refusal(answer))
                }
                Request::Quit | Request::Ask { .. } => {}
            }
            self.ending |= matches!(request, Request::Broken(_) | Request::Quit);
        }
        if !together.is_empty() {
            self.send(messages, id, task(), 0, &together);
        }
        self.refuse();
    }

    fn send(&mut self, messages: &mut dyn Messages, id: u64, task: TaskId, noops: u8, requests: &[u8]) {
        let request = self.envelope(id, Say::Request { noops, known: self.known }, self.next_request, task);
        messages.send(self.server, task, request.with(requests));
        self.next_request += 1;
        self.asked_bytes += requests.len();
        self.waiting.push_back(Waiting::Answer { task, bytes: requests.len() });
        self.moved = messages.now();
    }

    /// Gives the client what the server has said, as far as it is in order.
    fn hear(&mut self, newest: &mut [Newest]) {
        while let Some((say, content)) = self.said.pop() {
            let Say::Answer { last } = say else {
                let reason = String::from_utf8_lossy(&content).into_owned();
                return self.fail(&reason);
            };
            let Some(&Waiting::Answer { task, bytes }) = self.waiting.front() else { return };
            newest[self.entry].answered(task);
            self.known = true;
            self.stream.push(&content);
            self.begun = !last && (self.begun || !content.is_empty());
            if last {
                self.waiting.pop_front();
                self.asked_bytes -= bytes;
                self.refuse();
            } else {
                self.untold += 1;
            }
        }
    }

    /// Gives the client the proxy's own answers, as far as it is their turn.
    fn refuse(&mut self) {
        while let Some(&Waiting::Refusal(answer)) = self.waiting.front() {
            self.stream.push(answer.as_bytes());
            self.waiting.pop_front();
        }
    }

    /// Nothing more will be answered. If the client waits for something, it is told why, unless it would take that for
    /// a part of an answer.
    fn fail(&mut self, reason: &str) {
        if !self.over && !self.waiting.is_empty() && !self.begun {
            self.stream.push(format!("SERVER_ERROR {reason}\r\n").as_bytes());
        }
        self.waiting.clear();
        self.over = true;
    }
}
