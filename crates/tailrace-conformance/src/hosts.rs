//! Host policies: what they decide, and when they want to be woken.

use tailrace_core::random::Stream;
use tailrace_core::{
    Bytes, Directive, FlowView, HostPolicy, MAX_PRIORITIES, Refresh, Scheme, SeriesRow, Time,
};

use crate::{Verdict, ensure, setting};

/// Flows never rise as they send, no priority is above the last, and no time asked for is in the past.
pub fn tag_downwards_and_wake_forwards<S: Scheme>() -> Verdict {
    let scheme: S = setting::scheme()?;
    for seed in 0..20 {
        walk::<S>(&mut scheme.host(), &mut Stream::new(seed, "host", 0))?;
    }
    Ok(())
}

fn walk<S: Scheme>(host: &mut S::Host, stream: &mut Stream) -> Verdict {
    let (mut now, mut series) = (Time::ZERO, Vec::<SeriesRow>::new());
    let mut flow = setting::flow::<S>(0, 9_000, now, stream);
    let mut current = host.directive(&flow);
    for step in 0..100 {
        lawful::<S::Host>(&current)?;
        if stream.below(2) == 0 {
            host.on_flow_end(now, &flow, Bytes::new(1 + u64::from(stream.below(1 << 24))));
        }
        now = host.next_wake().unwrap_or(now + Time::from_ms(1));
        let refresh = host.on_wake(now, &mut series);
        ensure!(host.next_wake().is_none_or(|next| next > now), "woken at {now}, a host asks for the past");
        let size = 1 + u64::from(stream.below(1 << 24));
        if refresh == Refresh::All || stream.below(2) == 0 {
            flow = setting::flow::<S>(step, size, now, stream);
            current = host.directive(&flow);
            ensure!(current == host.directive(&flow), "asked twice, a host gives two directives");
        }
        let sent = u64::from(stream.below(size as u32));
        let view = FlowView { sent: Bytes::new(sent), acked: Bytes::ZERO, delivered: Bytes::ZERO };
        let consecutive = 1 + stream.below(5);
        current = host.on_timeout(&flow, &view, consecutive, &current).unwrap_or(current);
    }
    Ok(())
}

fn lawful<P: HostPolicy>(directive: &Directive) -> Verdict {
    let tags = [0, 1, 1_460, 100_000, 1 << 24, 1 << 40].map(|before| directive.tags.priority(before));
    ensure!(tags.is_sorted(), "a flow rises as it sends: {tags:?}");
    let acks = directive.acks;
    ensure!(usize::from(acks) < MAX_PRIORITIES, "acknowledgements in priority {acks}, of {MAX_PRIORITIES}");
    ensure!(P::CAPS || directive.cap.is_none(), "caps a flow, but says that there are no caps");
    ensure!(directive.cap.is_none_or(|cap| cap.rate.as_bps() > 0), "caps a flow at 0bps, which is never");
    Ok(())
}
