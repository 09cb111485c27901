//! Laws around other laws.

use std::marker::PhantomData;

use crate::{
    AckSample, Allowance, CongestionLaw, Directive, FlowView, Header, Loss, Segment, SeriesSink, Standing,
    Time,
};

/// How the header of a wrapped law goes into that of its wrapper.
pub trait Headers {
    /// What packets carry.
    type Outer: Header;
    /// What the wrapped law knows of it.
    type Inner: Header;
    /// A packet's header around the wrapped law's.
    fn around(inner: Self::Inner) -> Self::Outer;
    /// The wrapped law's part of a packet's header.
    fn inside(outer: &Self::Outer) -> Self::Inner;
}

/// The wrapped law's headers are the packets'.
pub struct Same<H = ()>(PhantomData<H>);

impl<H: Header> Headers for Same<H> {
    type Outer = H;
    type Inner = H;
    #[inline]
    fn around(inner: H) -> H {
        inner
    }
    #[inline]
    fn inside(outer: &H) -> H {
        *outer
    }
}

/// The wrapped law has no header; the wrapper writes `H` with [`Wrapper::stamp`].
pub struct Adds<H>(PhantomData<H>);

impl<H: Header> Headers for Adds<H> {
    type Outer = H;
    type Inner = ();
    #[inline]
    fn around((): ()) -> H {
        H::NONE
    }
    #[inline]
    fn inside(_: &H) {}
}

type Outer<W> = <<W as Wrapper>::Headers as Headers>::Outer;
type Inner<W> = <<W as Wrapper>::Headers as Headers>::Inner;

/// A law around another one. It says where that one is and what it does otherwise; all the rest, later additions to
/// [`CongestionLaw`] included, is the wrapped law's. A method that is said here replaces the wrapped law's: call that
/// where both shall act.
pub trait Wrapper {
    /// The law that is wrapped.
    type Law: CongestionLaw<Inner<Self>>;
    /// [`Same`] headers, or a wrapper that [`Adds`] its own.
    type Headers: Headers;

    /// The law that is wrapped.
    fn law(&self) -> &Self::Law;
    /// The law that is wrapped.
    fn law_mut(&mut self) -> &mut Self::Law;

    /// See [`CongestionLaw::stamp`].
    #[inline]
    fn stamp(&mut self, now: Time, segment: &Segment, flow: &FlowView) -> Outer<Self> {
        Self::Headers::around(self.law_mut().stamp(now, segment, flow))
    }
    /// See [`CongestionLaw::on_feedback`].
    #[inline]
    fn on_feedback(&mut self, now: Time, rtt: Time, echo: &Outer<Self>, flow: &FlowView) {
        self.law_mut().on_feedback(now, rtt, &Self::Headers::inside(echo), flow);
    }
    /// See [`CongestionLaw::on_ack`].
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, flow: &FlowView) {
        self.law_mut().on_ack(ack, flow);
    }
    /// See [`CongestionLaw::on_loss`].
    #[inline]
    fn on_loss(&mut self, now: Time, loss: Loss, flow: &FlowView) {
        self.law_mut().on_loss(now, loss, flow);
    }
    /// See [`CongestionLaw::allowance`].
    #[inline]
    fn allowance(&self) -> Allowance {
        self.law().allowance()
    }
    /// See [`CongestionLaw::burst`].
    #[inline]
    fn burst(&self) -> u16 {
        self.law().burst()
    }
    /// See [`CongestionLaw::probe_at`].
    #[inline]
    fn probe_at(&self) -> Time {
        self.law().probe_at()
    }
    /// See [`CongestionLaw::probe`].
    #[inline]
    fn probe(&mut self, now: Time, flow: &FlowView) -> Outer<Self> {
        Self::Headers::around(self.law_mut().probe(now, flow))
    }
    /// See [`CongestionLaw::farewell`].
    #[inline]
    fn farewell(&mut self, now: Time) -> Option<Outer<Self>> {
        self.law_mut().farewell(now).map(Self::Headers::around)
    }
    /// See [`CongestionLaw::standing`].
    #[inline]
    fn standing(&self) -> Standing {
        self.law().standing()
    }
    /// See [`CongestionLaw::directed`].
    #[inline]
    fn directed(&mut self, directive: &Directive) {
        self.law_mut().directed(directive);
    }
    /// See [`CongestionLaw::demoted`].
    #[inline]
    fn demoted(&mut self) {
        self.law_mut().demoted();
    }
    /// See [`CongestionLaw::trace`].
    #[inline]
    fn trace(&mut self, now: Time, series: &mut dyn SeriesSink) {
        self.law_mut().trace(now, series);
    }
}

// A method of `CongestionLaw` that is missing here, clippy reports: no wrapper can drop one.
#[deny(clippy::missing_trait_methods)]
impl<W: Wrapper> CongestionLaw<Outer<W>> for W {
    #[inline]
    fn stamp(&mut self, now: Time, segment: &Segment, flow: &FlowView) -> Outer<W> {
        Wrapper::stamp(self, now, segment, flow)
    }
    #[inline]
    fn on_feedback(&mut self, now: Time, rtt: Time, echo: &Outer<W>, flow: &FlowView) {
        Wrapper::on_feedback(self, now, rtt, echo, flow);
    }
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, flow: &FlowView) {
        Wrapper::on_ack(self, ack, flow);
    }
    #[inline]
    fn on_loss(&mut self, now: Time, loss: Loss, flow: &FlowView) {
        Wrapper::on_loss(self, now, loss, flow);
    }
    #[inline]
    fn allowance(&self) -> Allowance {
        Wrapper::allowance(self)
    }
    #[inline]
    fn burst(&self) -> u16 {
        Wrapper::burst(self)
    }
    #[inline]
    fn probe_at(&self) -> Time {
        Wrapper::probe_at(self)
    }
    #[inline]
    fn probe(&mut self, now: Time, flow: &FlowView) -> Outer<W> {
        Wrapper::probe(self, now, flow)
    }
    #[inline]
    fn farewell(&mut self, now: Time) -> Option<Outer<W>> {
        Wrapper::farewell(self, now)
    }
    #[inline]
    fn standing(&self) -> Standing {
        Wrapper::standing(self)
    }
    #[inline]
    fn directed(&mut self, directive: &Directive) {
        Wrapper::directed(self, directive);
    }
    #[inline]
    fn demoted(&mut self) {
        Wrapper::demoted(self);
    }
    #[inline]
    fn trace(&mut self, now: Time, series: &mut dyn SeriesSink) {
        Wrapper::trace(self, now, series);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Rate, SeriesRow, TagTable};

    /// Answers everything with something that no default gives, and counts what it was told.
    #[derive(Default)]
    struct Telling(Vec<&'static str>);

    #[deny(clippy::missing_trait_methods)]
    impl CongestionLaw<Number> for Telling {
        fn stamp(&mut self, _: Time, _: &Segment, _: &FlowView) -> Number {
            Number(1)
        }
        fn on_feedback(&mut self, _: Time, _: Time, echo: &Number, _: &FlowView) {
            self.0.push(if *echo == Number(7) { "on_feedback" } else { "another header" });
        }
        fn on_ack(&mut self, _: &AckSample, _: &FlowView) {
            self.0.push("on_ack");
        }
        fn on_loss(&mut self, _: Time, _: Loss, _: &FlowView) {
            self.0.push("on_loss");
        }
        fn allowance(&self) -> Allowance {
            Allowance { window: Bytes::new(2), pacing: Some(Rate::from_gbps(2)) }
        }
        fn burst(&self) -> u16 {
            3
        }
        fn probe_at(&self) -> Time {
            Time::from_us(4)
        }
        fn probe(&mut self, _: Time, _: &FlowView) -> Number {
            Number(5)
        }
        fn farewell(&mut self, _: Time) -> Option<Number> {
            Some(Number(6))
        }
        fn standing(&self) -> Standing {
            Standing::Demoted
        }
        fn directed(&mut self, _: &Directive) {
            self.0.push("directed");
        }
        fn demoted(&mut self) {
            self.0.push("demoted");
        }
        fn trace(&mut self, at: Time, series: &mut dyn SeriesSink) {
            series.push(SeriesRow { at, metric: "trace", index: 0, value: 1.0 });
        }
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Number(u8);
    impl Header for Number {
        const NONE: Number = Number(0);
        const WIRE_BYTES: u16 = 1;
        fn encode(&self, out: &mut [u8]) {
            out[0] = self.0;
        }
        fn decode(raw: &[u8]) -> Option<Self> {
            raw.first().map(|byte| Number(*byte))
        }
    }

    /// A wrapper that says nothing of its own.
    struct Around<L, H>(L, PhantomData<H>);
    impl<L: CongestionLaw<H::Inner>, H: Headers> Wrapper for Around<L, H> {
        type Law = L;
        type Headers = H;
        fn law(&self) -> &L {
            &self.0
        }
        fn law_mut(&mut self) -> &mut L {
            &mut self.0
        }
    }

    const VIEW: FlowView = FlowView { sent: Bytes::ZERO, acked: Bytes::ZERO, delivered: Bytes::ZERO };
    const SEGMENT: Segment = Segment { before: Bytes::ZERO, len: 1, last: false };

    /// Everything that a law is asked, with its answers.
    fn ask(law: &mut dyn CongestionLaw<Number>) -> impl PartialEq + std::fmt::Debug + use<> {
        let now = Time::ZERO;
        let ack = AckSample {
            now,
            acked: Bytes::ZERO,
            marked: Bytes::ZERO,
            in_flight: Bytes::ZERO,
            rtt: now,
            srtt: now,
            app_limited: false,
        };
        let mut rows: Vec<SeriesRow> = Vec::new();
        law.on_feedback(now, now, &Number(7), &VIEW);
        law.on_ack(&ack, &VIEW);
        law.on_loss(now, Loss::Fast, &VIEW);
        law.directed(&Directive::tagged(TagTable::FLAT));
        law.demoted();
        law.trace(now, &mut rows);
        let answers = (law.allowance(), law.burst(), law.probe_at(), law.standing());
        let headers = (law.stamp(now, &SEGMENT, &VIEW), law.probe(now, &VIEW), law.farewell(now));
        (answers, headers, rows.len())
    }

    #[test]
    fn a_wrapper_that_says_nothing_is_the_law_that_it_wraps() {
        let (mut law, mut wrapper) =
            (Telling::default(), Around::<_, Same<_>>(Telling::default(), PhantomData));
        assert_eq!(ask(&mut wrapper), ask(&mut law));
        assert_eq!(wrapper.0.0, law.0);
        assert_eq!(law.0, ["on_feedback", "on_ack", "on_loss", "directed", "demoted"]);
    }

    /// A law without headers.
    struct Plain;
    impl CongestionLaw for Plain {
        fn on_ack(&mut self, _: &AckSample, _: &FlowView) {}
        fn on_loss(&mut self, _: Time, _: Loss, _: &FlowView) {}
        fn allowance(&self) -> Allowance {
            Allowance { window: Bytes::ZERO, pacing: None }
        }
        fn farewell(&mut self, _: Time) -> Option<()> {
            Some(())
        }
    }

    #[test]
    fn headers_around_a_law_without_them_are_empty_until_the_wrapper_writes_them() {
        let mut wrapper = Around::<_, Adds<Number>>(Plain, PhantomData);
        let law: &mut dyn CongestionLaw<Number> = &mut wrapper;
        let written = (law.stamp(Time::ZERO, &SEGMENT, &VIEW), law.farewell(Time::ZERO));
        assert_eq!(written, (Number::NONE, Some(Number::NONE)));
    }
}
