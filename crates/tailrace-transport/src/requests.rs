//! When a law asks the network for a rate: once a round trip, and again if no answer comes.

use tailrace_core::Time;
use tailrace_core::transport::{RtoMode, TransportParams};

use crate::RttEstimate;

/// What a header of a scheme that grants rates is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Message {
    /// For nothing: there is no header.
    #[default]
    None,
    /// It asks for a rate; ports answer in it.
    Request,
    /// It ends its flow (FIN).
    End,
    /// It brings the ports' answers back.
    Answer,
}

impl Message {
    /// As read from the wire; [`Message::None`] is never there.
    pub const fn from_byte(raw: u8) -> Option<Self> {
        match raw {
            1 => Some(Message::Request),
            2 => Some(Message::End),
            3 => Some(Message::Answer),
            _ => None,
        }
    }
}

/// Which request of its flow this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Nothing has been answered yet: the SYN, first or repeated.
    Open,
    /// The last one was answered.
    Next,
    /// The last one was not: what the network has counted for this flow is not known.
    Again,
}

/// The requests of one flow, of which one at most waits for its answer. The first data packet after an answer
/// carries the next request; if none leaves in time, a header without data does. `H` are headers that take back what a
/// request has moved.
#[derive(Clone, Copy, Debug)]
pub struct Requests<H = ()> {
    rtt: RttEstimate,
    base_rtt: Time,
    /// When a header without data is due.
    due: Time,
    /// When the latest request left.
    asked: Time,
    open: bool,
    waiting: bool,
    /// Takes back what a request has moved that was given up too early.
    to_take_back: Option<H>,
}

impl Requests {
    /// A request counts as lost after so many base round trips at least: answers may queue behind data, and
    /// who asks once too often is counted twice for a while.
    pub const PATIENCE: u64 = 5;

    /// A flow sends by what a port has granted for so many base round trips at most: until the answer is there,
    /// until the next request leaves, and until that counts as lost. Ports must not forget it before.
    pub const MEMORY: u64 = 2 + Self::PATIENCE;
}

impl<H: Copy> Requests<H> {
    /// A flow that has asked for nothing; the first request is due at once.
    pub fn new(base_rtt: Time) -> Self {
        let timer = TransportParams {
            min_rto: base_rtt * Requests::PATIENCE,
            rto: RtoMode::Standard,
            ..TransportParams::default()
        };
        let rtt = RttEstimate::new(&timer);
        Requests {
            rtt,
            base_rtt,
            due: Time::ZERO,
            asked: Time::ZERO,
            open: false,
            waiting: false,
            to_take_back: None,
        }
    }

    /// When a header without data is due; see [`tailrace_core::CongestionLaw::probe_at`].
    #[inline]
    pub fn due(&self) -> Time {
        if self.to_take_back.is_some() { Time::ZERO } else { self.due }
    }

    /// Whether a data packet that leaves now carries a request.
    #[inline]
    pub fn wanted(&self, now: Time) -> bool {
        !self.waiting || now >= self.due
    }

    /// Whether an answer has come: data may be sent.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Whether a request is under way, so that what was answered last is no longer what ports have counted.
    pub fn is_waiting(&self) -> bool {
        self.waiting
    }

    /// A request leaves.
    pub fn ask(&mut self, now: Time) -> Ask {
        if self.waiting {
            self.rtt.back_off();
        }
        let ask = match (self.open, self.waiting) {
            (false, _) => Ask::Open,
            (true, false) => Ask::Next,
            (true, true) => Ask::Again,
        };
        self.waiting = true;
        self.asked = now;
        self.due = now + self.rtt.rto();
        ask
    }

    /// An acknowledgement took `rtt`.
    #[inline]
    pub fn sample(&mut self, rtt: Time) {
        self.rtt.sample(rtt);
    }

    /// Whether an answer that comes after `rtt` is to the latest request. Where an earlier one is late and not lost, its
    /// answer tells what ports had counted before; taken for that to the latest, it would call for one request more,
    /// and of two that are under way at any time each would be counted beside the other.
    #[inline]
    pub fn awaits(&self, now: Time, rtt: Time) -> bool {
        self.waiting && now.saturating_sub(rtt) == self.asked
    }

    /// The answer to the latest request has come; a header without data is due after `pause`, unless the flow rests.
    pub fn answered(&mut self, now: Time, pause: Time) {
        self.open = true;
        self.waiting = false;
        if self.due != Time::MAX {
            self.due = now + pause;
        }
    }

    /// An answer has come that nobody awaits: ports have counted the flow twice. The next header is to be `end`, which takes
    /// back what the earlier request has moved, before ports would forget it.
    pub fn take_back(&mut self, end: H) {
        self.to_take_back = Some(end);
    }

    /// The header that is to leave first, if there is one.
    #[inline]
    pub fn taken_back(&mut self) -> Option<H> {
        self.to_take_back.take()
    }

    /// No header without data is due, until [`Self::resume`]: who has sent all has nothing to ask for. Were a request under
    /// way when the last acknowledgement comes, the end could not tell ports what they have counted.
    pub fn rest(&mut self) {
        self.due = Time::MAX;
    }

    /// There is something to ask for: who rests asks now.
    pub fn resume(&mut self, now: Time) {
        if self.due == Time::MAX {
            self.due = now;
        }
    }

    /// The round-trip time that this was made with.
    #[inline]
    pub fn base_rtt(&self) -> Time {
        self.base_rtt
    }

    /// The smoothed round-trip time; that which this was made with, before the first sample.
    #[inline]
    pub fn rtt(&self) -> Time {
        self.rtt.smoothed().unwrap_or(self.base_rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Time = Time::from_us(100);

    #[test]
    fn a_request_is_repeated_with_growing_patience_until_it_is_answered() {
        let mut requests = Requests::<()>::new(RTT);
        let mut at = requests.due();
        let mut gaps = vec![];
        for _ in 0..4 {
            assert!(requests.wanted(at));
            assert_eq!(requests.ask(at), Ask::Open);
            assert!(!requests.wanted(requests.due().saturating_sub(Time::from_ps(1))));
            gaps.push(requests.due().saturating_sub(at));
            at = requests.due();
        }
        assert_eq!(gaps, [500, 1000, 2000, 4000].map(Time::from_us));
        requests.sample(RTT);
        requests.answered(at, RTT);
        assert_eq!((requests.is_open(), requests.due()), (true, at + RTT));
    }

    #[test]
    fn messages_are_written_as_they_are_read() {
        for message in [Message::Request, Message::End, Message::Answer] {
            assert_eq!(Message::from_byte(message as u8), Some(message));
        }
        assert_eq!([0, 4, u8::MAX].map(Message::from_byte), [None; 3]);
    }

    #[test]
    fn round_trips_are_those_of_answers_once_there_are_some() {
        let mut requests = Requests::<()>::new(RTT);
        assert_eq!((requests.rtt(), requests.is_open(), requests.is_waiting()), (RTT, false, false));
        requests.ask(Time::ZERO);
        assert!(requests.is_waiting());
        requests.sample(RTT * 3);
        assert_eq!(requests.rtt(), RTT * 3);
        requests.answered(RTT, RTT);
        assert!(!requests.is_waiting());
        // One to ask, one until the answer is there, and patience.
        assert_eq!(Requests::MEMORY, 7);
    }

    #[test]
    fn one_request_a_round_trip_waits_for_its_answer() {
        let mut requests = Requests::<()>::new(RTT);
        requests.ask(Time::ZERO);
        requests.sample(RTT);
        requests.answered(RTT, RTT);
        assert!(requests.wanted(RTT));
        assert_eq!(requests.ask(RTT), Ask::Next);
        assert!(!requests.wanted(RTT * 2));
        assert_eq!(requests.ask(requests.due()), Ask::Again);
    }

    #[test]
    fn who_rests_asks_again_when_there_is_something_to_ask_for() {
        let mut requests = Requests::<()>::new(RTT);
        requests.ask(Time::ZERO);
        requests.answered(RTT, RTT);
        requests.resume(RTT);
        assert_eq!(requests.due(), RTT * 2, "nobody rested");
        requests.rest();
        assert_eq!(requests.due(), Time::MAX);
        requests.resume(RTT * 3);
        assert_eq!(requests.due(), RTT * 3);
        assert_eq!(requests.ask(RTT * 3), Ask::Next);
        requests.rest();
        requests.answered(RTT * 4, RTT);
        assert_eq!(
            (requests.due(), requests.is_waiting()),
            (Time::MAX, false),
            "the answer asks for nothing"
        );
    }

    #[test]
    fn what_was_asked_too_often_is_taken_back_at_once() {
        let mut requests = Requests::new(RTT);
        requests.ask(Time::ZERO);
        let due = requests.due();
        requests.take_back('a');
        assert_eq!(requests.due(), Time::ZERO);
        assert_eq!((requests.taken_back(), requests.taken_back()), (Some('a'), None));
        assert_eq!(requests.due(), due);
    }

    #[test]
    fn a_late_answer_is_not_that_to_the_latest_request() {
        let mut requests = Requests::<()>::new(RTT);
        requests.ask(Time::ZERO);
        let again = requests.due();
        requests.ask(again);
        assert!(!requests.awaits(again + RTT, again + RTT), "the first request's answer");
        assert!(requests.awaits(again + RTT, RTT));
        requests.answered(again + RTT, RTT);
        assert!(!requests.awaits(again + RTT, RTT), "nothing is awaited");
    }
}
