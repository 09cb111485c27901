//! Γ control (Karuna §8.2.1): which flows get deadlines depends on those that have one.
//!
//! The paper records the total expected rates Γ̃ of all active flows with deadlines, and a new flow gets one while
//! Γ̃ < Γ; what deadline is lost with its text. Γ̃ is of all of them (scope "network"), or, so that deadlines never ask
//! for more than links carry, of those from or to a new flow's hosts (scope "host"). The deadlines are those of the
//! authors' prototype, a multiple of what a flow takes alone, or those by which it is done at a share of Γ.
//!
//! A flow counts with its expected rate until its deadline, whatever becomes of it: so all schemes see the same
//! flows. Or, on request, with what it still has to deliver over the time that it has left, and as long as it
//! is in progress: that depends on the scheme, so the driver asks when a flow starts. Under MCP, which is done
//! just in time, both come to the same; under schemes that are done early more flows get deadlines.

use tailrace_core::random::Stream;
use tailrace_core::{Bytes, FlowId, HostId, Reveals, Time};

use crate::{Deadlines, FlowSpec, Gamma, Rule, Scope, Setting, least, rounded_up};

/// Decides which flows get deadlines.
#[derive(Clone, Debug)]
pub struct GammaControl {
    setting: Setting,
    /// The rules under this control, each with its class.
    rules: Vec<(u8, Gamma)>,
    /// The flows with deadlines that count together: those from each host, those to each host, and last all of them,
    /// where that matters.
    groups: Vec<Vec<Active>>,
    /// Which of the others reveal their size.
    coin: Stream,
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
        let controlled = |rule: &Rule| match rule.deadline {
            Some(Deadlines::Gamma(gamma)) if gamma.observed == observed => {
                Some((rule.class.unwrap_or(0), gamma))
            }
            _ => None,
        };
        let rules: Vec<_> = rules.filter_map(controlled).collect();
        (!rules.is_empty()).then(|| GammaControl::of(rules, setting, seed))
    }

    fn of(rules: Vec<(u8, Gamma)>, setting: Setting, seed: u64) -> Self {
        let whole = rules.iter().any(|(_, gamma)| gamma.scope == Scope::Network);
        let groups = vec![Vec::new(); 2 * setting.hosts as usize + usize::from(whole)];
        GammaControl { setting, rules, groups, coin: Stream::new(seed, "revealed sizes", 0) }
    }

    /// The groups that flows between two hosts belong to: that of the source, of the destination, of all.
    fn groups_of(&self, src: HostId, dst: HostId) -> impl Iterator<Item = usize> + use<> {
        let hosts = self.setting.hosts as usize;
        let (end, all) = (self.groups.len(), 2 * hosts);
        [src as usize, hosts + dst as usize, all].into_iter().take_while(move |&group| group < end)
    }

    /// As [`Self::assign`], with flows that keep to the plan.
    pub(crate) fn plan(&mut self, spec: &mut FlowSpec) {
        for group in self.groups_of(spec.src, spec.dst) {
            self.groups[group].retain(|active| active.deadline > spec.start);
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
        let Some(&(_, gamma)) = self.rules.iter().find(|(class, _)| *class == spec.class) else { return };
        let used = |group: usize| self.groups[group].iter().map(&expected).sum::<f64>();
        let counted = match gamma.scope {
            Scope::Host => 0..2,
            Scope::Network => 2..3,
        };
        let groups: Vec<usize> = self.groups_of(spec.src, spec.dst).collect();
        let used = groups[counted].iter().map(|&group| used(group)).fold(0.0, f64::max);
        // Four quarters make a whole, also in floating point.
        if used < gamma.limit(&self.setting) * (1.0 - 1e-9) {
            let rate = gamma.rate(spec.size, &self.setting);
            let time = rounded_up((spec.size.as_f64() / rate).min(LONGEST_SECONDS) * 1e12, gamma.round);
            let deadline = spec.start.saturating_add(time.max(least(spec.size, &self.setting)));
            for group in groups {
                self.groups[group].push(Active { flow: id, deadline, rate });
            }
            (spec.deadline, spec.reveals) = (Some(deadline), Reveals::Deadline);
        } else {
            spec.reveals = if sized { Reveals::Size } else { Reveals::Nothing };
            spec.class += if sized { 1 } else { 2 };
        }
    }

    /// A flow has ended.
    pub fn ended(&mut self, id: FlowId, src: HostId, dst: HostId) {
        for group in self.groups_of(src, dst) {
            self.groups[group].retain(|active| active.flow != id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailrace_core::Rate;
    use tailrace_fabric::Racks;

    fn control(gamma: Gamma) -> GammaControl {
        let setting = Setting {
            hosts: 4,
            speeds: Vec::new(),
            racks: Racks::bounded(&[0, 4]),
            racks_per_pod: 4,
            slices: 0,
            host_rate: Rate::from_gbps(10),
            mss: 1460,
            base_rtt: Time::from_us(85),
        };
        GammaControl::of(vec![(0, gamma)], setting, 1)
    }

    /// Γ for all hosts together, with the deadlines of the prototype.
    fn network(share: f64) -> Gamma {
        let scope = Scope::Network;
        let round = Time::from_us(1);
        Gamma { share, scope, factor: None, flow_share: None, observed: false, round }
    }

    /// Γ for each host, a quarter of it for a flow.
    fn host(share: f64) -> Gamma {
        Gamma { scope: Scope::Host, flow_share: Some(0.25), ..network(share) }
    }

    fn flow(src: HostId, dst: HostId, size: u64, us: u64) -> FlowSpec {
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
        let mut control = control(host(0.4));
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
        let mut control = control(host(0.4));
        (0..4).for_each(|id| control.assign(&mut flow(0, 1, 1_000_000, 0), id, |_| Bytes::new(1_000_000)));
        // After 4 ms, with all ahead of time: 375 KB in 4 ms are 94 MB/s each, and 125 MB/s are free.
        let mut next = flow(0, 1, 1_000_000, 4_000);
        control.assign(&mut next, 4, |_| Bytes::new(375_000));
        assert_eq!(next.deadline, Some(Time::from_ms(12)));
        (0..5).for_each(|id| control.ended(id, 0, 1));
        assert!(control.groups.iter().all(Vec::is_empty));
    }

    #[test]
    fn by_plan_a_flow_counts_until_its_deadline() {
        let mut control = control(host(0.4));
        for (us, due) in [(0, true), (1, true), (2, true), (3, true), (7_999, false), (8_000, true)] {
            let mut flow = flow(0, 1, 1_000_000, us);
            control.plan(&mut flow);
            assert_eq!(flow.deadline, due.then_some(Time::from_us(us + 8_000)), "at {us} us");
        }
    }

    /// 1 MB has 2·(0.2 ms + 0.8 ms) = 2 ms, and so expects 500 MB/s; Γ is half of 4 · 1.25 GB/s. The fifth flow still
    /// finds 500 MB/s of 2.5 GB/s free, wherever the others run, the sixth nothing.
    #[test]
    fn network_wide_five_flows_use_gamma_up() {
        let mut control = control(network(0.5));
        for (id, src, dst) in [(0, 0, 1), (1, 0, 1), (2, 0, 1), (3, 2, 3), (4, 3, 0), (5, 1, 2)] {
            let mut flow = flow(src, dst, 1_000_000, 0);
            control.plan(&mut flow);
            assert_eq!(flow.deadline, (id < 5).then_some(Time::from_ms(2)), "flow {id}");
        }
        // When they are due, all of it is free again, between other hosts too.
        let mut next = flow(1, 2, 1_000_000, 2_000);
        control.plan(&mut next);
        assert_eq!(next.deadline, Some(Time::from_ms(4)));
    }

    #[test]
    fn the_factor_stretches_deadlines_and_leaves_room_for_more() {
        let due = |factor| {
            let mut control = control(Gamma { factor: Some(factor), ..network(0.5) });
            let mut flows: Vec<FlowSpec> = (0..30).map(|_| flow(0, 1, 1_000_000, 0)).collect();
            flows.iter_mut().for_each(|flow| control.plan(flow));
            (flows.iter().filter(|flow| flow.deadline.is_some()).count(), flows[0].deadline)
        };
        assert_eq!(due(2.0), (5, Some(Time::from_ms(2))));
        assert_eq!(due(8.0), (20, Some(Time::from_ms(8))));
    }

    #[test]
    fn no_deadline_is_shorter_than_the_flow_needs() {
        let mut flow = flow(0, 1, 1_460, 0);
        control(host(0.9)).assign(&mut flow, 0, |_| Bytes::ZERO);
        // 42.5 us of delay and 1.2 us of link, one and a quarter times.
        assert_eq!(flow.deadline, Some(Time::from_ns(54_625)));
        let mut control = control(Gamma { round: Time::from_ms(1), ..host(0.9) });
        let mut flow = super::tests::flow(0, 1, 1_460, 0);
        control.assign(&mut flow, 0, |_| Bytes::ZERO);
        assert_eq!(flow.deadline, Some(Time::from_ms(1)));
    }
}
