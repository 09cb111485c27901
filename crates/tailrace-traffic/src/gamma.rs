//! Γ control (Karuna §8.2.1): which flows get deadlines depends on those that have one.
//!
//! The paper records the expected rates Γ̃ of all active flows with deadlines; a new flow gets one while
//! Γ̃ < Γ. The text is damaged there; decided here: Γ is a share of each host's link in each direction, so that
//! deadlines never ask for more than links carry; a new flow's expected rate is a quarter of Γ, and it gets a
//! deadline if that much is left at both its hosts. (Were it whatever is left, there would always be a little,
//! and every flow would get a deadline, if a far one.)
//!
//! A flow counts with its expected rate until its deadline, whatever becomes of it: so all schemes see the same
//! flows. Or, on request, with what it still has to deliver over the time that it has left, and as long as it
//! is in progress: that depends on the scheme, so the driver asks when a flow starts. Under MCP, which is done
//! just in time, both come to the same; under schemes that are done early more flows get deadlines.

use tailrace_core::random::Stream;
use tailrace_core::{Bytes, FlowId, Reveals, Time};
use tailrace_workload::{Deadlines, FlowSpec, Gamma, Rule, Setting, least, rounded_up};

/// Decides which flows get deadlines.
#[derive(Clone, Debug)]
pub struct GammaControl {
    setting: Setting,
    /// The rules under this control.
    rules: Vec<Controlled>,
    /// The flows with deadlines from and to each host.
    sending: Vec<Vec<Active>>,
    receiving: Vec<Vec<Active>>,
    /// Which of the others reveal their size.
    coin: Stream,
}

/// A rule under control.
#[derive(Clone, Copy, Debug)]
struct Controlled {
    class: u8,
    /// Γ in bytes a second.
    limit: f64,
    round: Time,
}

#[derive(Clone, Copy, Debug)]
struct Active {
    flow: FlowId,
    deadline: Time,
    rate: f64,
}

/// No deadline lies farther ahead.
const LONGEST_SECONDS: f64 = 1e5;

impl GammaControl {
    /// The control that rules ask for, by plan or by what is observed; `None` if there are no such.
    pub fn new<'a>(
        rules: impl Iterator<Item = &'a Rule>,
        observed: bool,
        setting: Setting,
        seed: u64,
    ) -> Option<Self> {
        let link = setting.host_rate.bytes_per_sec();
        let controlled = |rule: &Rule| match rule.deadline {
            Some(Deadlines::Gamma(Gamma { share, observed: by, round })) if by == observed => {
                Some(Controlled { class: rule.class.unwrap_or(0), limit: share * link, round })
            }
            _ => None,
        };
        let rules: Vec<_> = rules.filter_map(controlled).collect();
        let nobody = || vec![Vec::new(); usize::from(setting.hosts)];
        (!rules.is_empty()).then(|| GammaControl {
            setting,
            rules,
            sending: nobody(),
            receiving: nobody(),
            coin: Stream::new(seed, "revealed sizes", 0),
        })
    }

    /// As [`Self::assign`], with flows that keep to the plan.
    pub(crate) fn plan(&mut self, spec: &mut FlowSpec) {
        let now = spec.start;
        for flows in [&mut self.sending[usize::from(spec.src)], &mut self.receiving[usize::from(spec.dst)]] {
            flows.retain(|active| active.deadline > now);
        }
        self.decide(spec, 0, |active| active.rate);
    }

    /// Gives the flow that now starts under number `id` a deadline, or takes from it what it does not reveal.
    /// `remaining` tells the bytes that a flow in progress still has to deliver.
    pub fn assign(&mut self, spec: &mut FlowSpec, id: FlowId, remaining: impl Fn(FlowId) -> Bytes) {
        let now = spec.start;
        self.decide(spec, id, |active| {
            let left = active.deadline.saturating_sub(now).as_secs_f64();
            if left > 0.0 { remaining(active.flow).as_f64() / left } else { 0.0 }
        });
    }

    fn decide(&mut self, spec: &mut FlowSpec, id: FlowId, expected: impl Fn(&Active) -> f64) {
        let sized = self.coin.below(2) == 0; // Drawn for every flow: the same flow, the same coin.
        let rule = self.rules.iter().find(|rule| rule.class == spec.class);
        let Some(&Controlled { limit, round, .. }) = rule else { return };
        let (src, dst) = (usize::from(spec.src), usize::from(spec.dst));
        let sum = |flows: &[Active]| flows.iter().map(&expected).sum::<f64>();
        let used = sum(&self.sending[src]).max(sum(&self.receiving[dst]));
        let rate = limit / f64::from(Gamma::FLOWS);
        // Four quarters make a whole, also in floating point.
        if used + rate <= limit * (1.0 + 1e-9) {
            let time = rounded_up((spec.size.as_f64() / rate).min(LONGEST_SECONDS) * 1e12, round);
            let deadline = spec.start.saturating_add(time.max(least(spec.size, &self.setting)));
            let active = Active { flow: id, deadline, rate };
            self.sending[src].push(active);
            self.receiving[dst].push(active);
            (spec.deadline, spec.reveals) = (Some(deadline), Reveals::Deadline);
        } else {
            spec.reveals = if sized { Reveals::Size } else { Reveals::Nothing };
            spec.class += if sized { 1 } else { 2 };
        }
    }

    /// A flow has ended.
    pub fn ended(&mut self, id: FlowId, src: u16, dst: u16) {
        self.sending[usize::from(src)].retain(|active| active.flow != id);
        self.receiving[usize::from(dst)].retain(|active| active.flow != id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailrace_core::Rate;
    use tailrace_fabric::Racks;

    fn control(share: f64) -> GammaControl {
        let rate = Rate::from_gbps(10);
        let setting = Setting {
            hosts: 4,
            racks: Racks { first: 4, each: 4 },
            racks_per_pod: 4,
            slices: 0,
            host_rate: rate,
            mss: 1460,
            base_rtt: Time::from_us(85),
        };
        GammaControl {
            setting,
            rules: vec![Controlled {
                class: 0,
                limit: share * rate.bytes_per_sec(),
                round: Time::from_us(1),
            }],
            sending: vec![Vec::new(); 4],
            receiving: vec![Vec::new(); 4],
            coin: Stream::new(1, "test", 0),
        }
    }

    fn flow(src: u16, dst: u16, size: u64, us: u64) -> FlowSpec {
        FlowSpec {
            src,
            dst,
            size: Bytes::new(size),
            start: Time::from_us(us),
            controlled: true,
            ..FlowSpec::default()
        }
    }

    #[test]
    fn four_flows_use_a_host_up() {
        let mut control = control(0.4);
        // A quarter of 40 % of 1.25 GB/s are 125 MB/s: 1 MB takes 8 ms.
        for (id, src, due) in [(0, 2, true), (1, 3, true), (2, 2, true), (3, 3, true), (4, 2, false)] {
            let mut flow = flow(src, 1, 1_000_000, 0);
            control.assign(&mut flow, id, |_| Bytes::new(1_000_000));
            assert_eq!(flow.deadline, due.then_some(Time::from_ms(8)), "flow {id}");
            assert_eq!((flow.reveals == Reveals::Deadline, flow.class == 0), (due, due));
        }
        // Host 2 sends two of them, so that two more are possible from it, but not to host 1.
        for (id, dst, due) in [(5, 3, true), (6, 3, true), (7, 3, false), (8, 1, false)] {
            let mut flow = flow(2, dst, 1_000_000, 0);
            control.assign(&mut flow, id, |_| Bytes::new(1_000_000));
            assert_eq!(flow.deadline.is_some(), due, "flow {id}");
        }
    }

    #[test]
    fn what_a_flow_has_delivered_frees_its_rate() {
        let mut control = control(0.4);
        (0..4).for_each(|id| control.assign(&mut flow(0, 1, 1_000_000, 0), id, |_| Bytes::new(1_000_000)));
        // After 4 ms, with all ahead of time: 375 KB in 4 ms are 94 MB/s each, and 125 MB/s are free.
        let mut next = flow(0, 1, 1_000_000, 4_000);
        control.assign(&mut next, 4, |_| Bytes::new(375_000));
        assert_eq!(next.deadline, Some(Time::from_ms(12)));
        (0..5).for_each(|id| control.ended(id, 0, 1));
        assert!(control.sending.iter().chain(&control.receiving).all(Vec::is_empty));
    }

    #[test]
    fn by_plan_a_flow_counts_until_its_deadline() {
        let mut control = control(0.4);
        for (us, due) in [(0, true), (1, true), (2, true), (3, true), (7_999, false), (8_000, true)] {
            let mut flow = flow(0, 1, 1_000_000, us);
            control.plan(&mut flow);
            assert_eq!(flow.deadline, due.then_some(Time::from_us(us + 8_000)), "at {us} us");
        }
    }

    #[test]
    fn no_deadline_is_shorter_than_the_flow_needs() {
        let mut flow = flow(0, 1, 1_460, 0);
        control(0.9).assign(&mut flow, 0, |_| Bytes::ZERO);
        // 42.5 us of delay and 1.2 us of link, one and a quarter times.
        assert_eq!(flow.deadline, Some(Time::from_ns(54_625)));
        let mut control = control(0.9);
        control.rules[0].round = Time::from_ms(1);
        let mut flow = super::tests::flow(0, 1, 1_460, 0);
        control.assign(&mut flow, 0, |_| Bytes::ZERO);
        assert_eq!(flow.deadline, Some(Time::from_ms(1)));
    }
}
