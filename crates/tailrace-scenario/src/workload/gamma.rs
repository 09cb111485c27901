//! Γ control (Karuna §8.2.1): which flows get deadlines depends on those in progress.
//!
//! The paper records the expected rates Γ̃ of all active flows with deadlines; a new flow gets one while
//! Γ̃ < Γ. The text is damaged there; decided here (schemes.md §8.9): Γ is a share of the destination's link,
//! a new flow's expected rate is what is left of it but at most half of the link, and the expected rate of a
//! flow in progress is its remaining bytes over the time that it has left.
//!
//! What is in progress depends on the scheme, so the driver asks when a flow starts; everything else of a
//! flow is the same under every scheme.

use tailrace_core::random::Stream;
use tailrace_core::{Bytes, FlowId, Reveals, Time};

use super::deadlines::{Deadlines, least};
use super::{FlowSpec, Setting, Workload};

/// Decides which flows get deadlines.
#[derive(Clone, Debug)]
pub struct GammaControl {
    setting: Setting,
    /// Γ in bytes a second by rule class; only rules under control are listed.
    limits: Vec<(u8, f64)>,
    /// The flows with deadlines towards each host.
    active: Vec<Vec<Active>>,
    /// Which of the others reveal their size.
    coin: Stream,
}

#[derive(Clone, Copy, Debug)]
struct Active {
    flow: FlowId,
    deadline: Time,
}

impl GammaControl {
    /// The control that a workload asks for; `None` if it has no rule with `deadline.gamma`.
    pub fn new(workload: &Workload, setting: Setting, seed: u64) -> Option<Self> {
        let link = setting.host_rate.bytes_per_sec();
        let limit = |rule: &super::Rule| match rule.deadline {
            Some(Deadlines::Gamma(share)) => Some((rule.class.unwrap_or(0), share * link)),
            _ => None,
        };
        let limits: Vec<_> = workload.rules.iter().filter_map(limit).collect();
        (!limits.is_empty()).then(|| GammaControl {
            setting,
            limits,
            active: vec![Vec::new(); usize::from(setting.hosts)],
            coin: Stream::new(seed, "revealed sizes", 0),
        })
    }

    /// Gives the flow that now starts under number `id` a deadline, or takes from it what it does not reveal.
    /// `remaining` tells the bytes that a flow in progress still has to deliver.
    pub fn assign(&mut self, spec: &mut FlowSpec, id: FlowId, remaining: impl Fn(FlowId) -> Bytes) {
        let sized = self.coin.below(2) == 0; // Drawn for every flow: the same flow, the same coin.
        let limit = self.limits.iter().find(|(class, _)| *class == spec.class).map_or(0.0, |(_, l)| *l);
        let now = spec.start;
        let expected: f64 = self.active[usize::from(spec.dst)]
            .iter()
            .filter(|active| active.deadline > now)
            .map(|active| remaining(active.flow).as_f64() / (active.deadline - now).as_secs_f64())
            .sum();
        if expected < limit {
            let rate = (limit - expected).min(self.setting.host_rate.bytes_per_sec() / 2.0);
            let time = Time::from_secs_f64((spec.size.as_f64() / rate).min(LONGEST_SECONDS));
            let deadline = now.saturating_add(time.max(least(spec.size, &self.setting)));
            self.active[usize::from(spec.dst)].push(Active { flow: id, deadline });
            (spec.deadline, spec.reveals) = (Some(deadline), Reveals::Deadline);
        } else {
            spec.reveals = if sized { Reveals::Size } else { Reveals::Nothing };
            spec.class += if sized { 1 } else { 2 };
        }
    }

    /// A flow towards `dst` has ended.
    pub fn ended(&mut self, id: FlowId, dst: u16) {
        self.active[usize::from(dst)].retain(|active| active.flow != id);
    }
}

/// No deadline lies farther ahead.
const LONGEST_SECONDS: f64 = 1e5;

#[cfg(test)]
mod tests {
    use super::*;
    use tailrace_core::Rate;

    fn control(share: f64) -> GammaControl {
        let rate = Rate::from_gbps(10);
        let setting = Setting { hosts: 4, host_rate: rate, mss: 1460, base_rtt: Time::from_us(85) };
        GammaControl {
            setting,
            limits: vec![(0, share * rate.bytes_per_sec())],
            active: vec![Vec::new(); 4],
            coin: Stream::new(1, "test", 0),
        }
    }

    fn flow(dst: u16, size: u64, us: u64) -> FlowSpec {
        FlowSpec {
            src: 0,
            dst,
            size: Bytes::new(size),
            start: Time::from_us(us),
            controlled: true,
            ..FlowSpec::default()
        }
    }

    #[test]
    fn the_first_flow_gets_what_there_is_and_the_next_none() {
        let mut control = control(0.4);
        let mut first = flow(1, 1_000_000, 0);
        control.assign(&mut first, 0, |_| Bytes::ZERO);
        // 40 % of 1.25 GB/s are 0.5 GB/s: 1 MB takes 2 ms.
        assert_eq!((first.deadline, first.reveals), (Some(Time::from_ms(2)), Reveals::Deadline));
        let mut second = flow(1, 1_000_000, 0);
        control.assign(&mut second, 1, |_| Bytes::new(1_000_000));
        assert_eq!(second.deadline, None);
        assert!(second.class > 0 && second.reveals != Reveals::Deadline);
        // Another host has its own Γ.
        let mut elsewhere = flow(2, 1_000_000, 0);
        control.assign(&mut elsewhere, 2, |_| Bytes::new(1_000_000));
        assert!(elsewhere.deadline.is_some());
    }

    #[test]
    fn what_a_flow_has_delivered_frees_its_rate() {
        let mut control = control(0.4);
        control.assign(&mut flow(1, 1_000_000, 0), 0, |_| Bytes::ZERO);
        // After 1 ms three quarters are delivered: 250 KB in 1 ms are 0.25 GB/s of the 0.5 GB/s.
        let mut next = flow(1, 1_000_000, 1_000);
        control.assign(&mut next, 1, |_| Bytes::new(250_000));
        assert_eq!(next.deadline, Some(Time::from_ms(5)));
        control.ended(0, 1);
        control.ended(1, 1);
        let mut last = flow(1, 1_000_000, 1_000);
        control.assign(&mut last, 2, |_| unreachable!());
        assert_eq!(last.deadline, Some(Time::from_ms(3)));
    }

    #[test]
    fn a_rate_above_half_of_the_link_is_not_expected() {
        let mut flow = flow(1, 1_000_000, 0);
        control(0.9).assign(&mut flow, 0, |_| Bytes::ZERO);
        assert_eq!(flow.deadline, Some(Time::from_us(1_600)));
    }
}
