//! Congestion laws, under any sequence of events.

use tailrace_core::random::Stream;
use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, FlowInfo, FlowView, Header, Loss, Scheme, Segment, Standing,
    Time,
};

use crate::{Verdict, ensure, setting};

/// More than any flow has in flight.
const ENDLESS: u64 = 1 << 40;
const MSS: u64 = 1460;

/// What a law allows, at any time, can be carried out: the window is finite, a rate is more than none.
pub fn carried_out(allowance: Allowance) -> Verdict {
    let Allowance { window, pacing } = allowance;
    ensure!(window.get() < ENDLESS, "a window of {window}");
    ensure!(pacing.is_none_or(|rate| rate.as_bps() > 0), "paces at 0bps, which is never");
    Ok(())
}

/// A law with nothing in flight allows a segment, or says when it asks for one.
fn goes_on<L: CongestionLaw<H>, H: Header>(law: &L) -> Verdict {
    let stuck = law.allowance().window == Bytes::ZERO
        && law.probe_at() == Time::MAX
        && law.standing() == Standing::Going;
    ensure!(!stuck, "with nothing in flight, the window is 0 and no probe is due, ever");
    Ok(())
}

/// The window stays finite and rates above 0 under losses, timeouts, marks and acknowledgements in any order, and after
/// a timeout there is a way to go on.
pub fn allow_something_finite<S: Scheme>() -> Verdict {
    let scheme: S = setting::scheme()?;
    for seed in 0..200 {
        let mut stream = Stream::new(seed, "law", 0);
        let info = setting::flow::<S>(0, 1 << 39, Time::ZERO, &mut stream);
        let walk = walk::<S>(scheme.law(&info), &info, &mut stream);
        walk.map_err(|wrong| format!("{wrong} (seed {seed})"))?;
    }
    Ok(())
}

fn walk<S: Scheme>(mut law: S::Law, info: &FlowInfo, stream: &mut Stream) -> Verdict {
    let (mut sent, mut acked, mut now) = (0, 0, info.start);
    goes_on(&law)?;
    for _ in 0..300 {
        now += Time::from_us(u64::from(stream.below(200)));
        let view = |sent, acked| FlowView {
            sent: Bytes::new(sent),
            acked: Bytes::new(acked),
            delivered: Bytes::new(acked),
        };
        carried_out(law.allowance())?;
        match stream.below(10) {
            0 => law.on_loss(now, Loss::Fast, &view(sent, acked)),
            1 => {
                law.on_loss(now, Loss::Timeout, &view(sent, acked));
                goes_on(&law)?;
            }
            2..5 => {
                let segment = Segment { before: Bytes::new(sent), len: MSS as u16, last: false };
                law.stamp(now, &segment, &view(sent, acked));
                sent += MSS;
            }
            _ => {
                let delivered = MSS * u64::from(1 + stream.below(3));
                acked += delivered;
                sent = sent.max(acked);
                let rtt = Time::from_us(u64::from(1 + stream.below(5_000)));
                law.on_feedback(now, rtt, &S::Header::NONE, &view(sent, acked));
                let sample = AckSample {
                    now,
                    acked: Bytes::new(delivered),
                    marked: Bytes::new(if stream.below(3) == 0 { delivered } else { 0 }),
                    in_flight: Bytes::new(sent - acked),
                    rtt,
                    srtt: Time::from_us(u64::from(1 + stream.below(5_000))),
                    app_limited: stream.below(2) == 0,
                };
                law.on_ack(&sample, &view(sent, acked));
            }
        }
    }
    carried_out(law.allowance())
}
