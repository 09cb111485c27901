//! What a fleet's controller knows of its hosts, and decides: the scheme's own policy and controller, told of what hosts report.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tailrace_core::{Bytes, FlowId, FlowInfo, HostId, Time, Weight, WeightUpdate};
use tailrace_scenario::Scenario;

use super::meeting;
use crate::etcd::{Decision, FlowName, HostEvent, MAX_ENDED, MAX_FLOWS, Policy, Progress, Report, Weights};
use crate::{Error, FleetPart};

/// What is known of a fleet.
pub struct Brain {
    /// Which of the scheme's hosts has an address.
    place: Box<dyn Fn(IpAddr) -> Option<HostId>>,
    fleet: FleetPart,
    scheme: String,
    instance: String,
    hosts: BTreeMap<String, Reporter>,
    flows: BTreeMap<FlowId, Followed>,
    next_flow: FlowId,
    /// How much has been heard so far.
    pub counts: Counts,
}

/// What has been heard so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub reports: u64,
    /// Reports of hosts that have another scheme.
    pub strangers: u64,
    pub ended: u64,
}

/// A host that reports.
#[derive(Default)]
struct Reporter {
    /// What it says is bound to this lease.
    lease: i64,
    flows: BTreeMap<FlowName, FlowId>,
}

/// A flow that a controller gives a weight.
struct Followed {
    last: Progress,
    /// What had been delivered when it was heard of first, as far as that is of another message.
    base: u64,
    weight: Option<Weight>,
}

impl Brain {
    /// Decides by the scheme of `scenario`, among whose hosts `place` finds those that have an address.
    pub fn new(
        scenario: &Scenario,
        place: impl Fn(IpAddr) -> Option<HostId> + 'static,
        fleet: FleetPart,
        instance: &str,
    ) -> Self {
        Brain {
            scheme: meeting::scheme(scenario),
            place: Box::new(place),
            fleet,
            instance: instance.to_owned(),
            hosts: BTreeMap::new(),
            flows: BTreeMap::new(),
            next_flow: 0,
            counts: Counts::default(),
        }
    }

    /// Hosts that report, and flows that are followed.
    pub fn size(&self) -> (usize, usize) {
        (self.hosts.len(), self.flows.len())
    }

    /// Takes in a report of a host, or its end.
    pub fn on_event(&mut self, now: Time, event: HostEvent) {
        match event {
            HostEvent::Report(host, lease, report) => self.report(now, host, lease, report),
            HostEvent::Gone(host) => self.forget(now, &host),
            HostEvent::All(hosts) => {
                let gone: Vec<String> =
                    self.hosts.keys().filter(|host| !hosts.contains(host)).cloned().collect();
                gone.iter().for_each(|host| self.forget(now, host));
            }
        }
    }

    fn report(&mut self, now: Time, host: String, lease: i64, report: Report) {
        self.counts.reports += 1;
        if report.scheme != self.scheme {
            self.counts.strangers += 1;
            self.forget(now, &host);
            return;
        }
        self.take_in(now, &report);
        let mut reporter = self.hosts.remove(&host).unwrap_or_default();
        reporter.lease = lease;
        let mut before = std::mem::take(&mut reporter.flows);
        for progress in report.flows.iter().take(MAX_FLOWS) {
            // Of a flow that is there twice the first counts.
            if reporter.flows.contains_key(&progress.flow) {
                continue;
            }
            let known = before.remove(&progress.flow);
            if let Some(flow) = self.follow(now, known, progress) {
                reporter.flows.insert(progress.flow, flow);
            }
        }
        before.into_values().for_each(|flow| self.end(now, flow));
        self.hosts.insert(host, reporter);
    }

    /// Tells the policy of flows that have ended.
    fn take_in(&mut self, now: Time, report: &Report) {
        let mut room = MAX_ENDED;
        for ended in &report.ended {
            for (size, count) in ended.sizes.each() {
                let count = count.min(room);
                room -= count;
                self.counts.ended += count;
                (0..count).for_each(|_| self.fleet.part.ended(now, size, ended.reveals, ended.slice));
            }
        }
    }

    /// What a dead host has claimed ends with it.
    fn forget(&mut self, now: Time, host: &str) {
        let flows = self.hosts.remove(host).unwrap_or_default().flows;
        flows.into_values().for_each(|flow| self.end(now, flow));
    }

    fn end(&mut self, now: Time, flow: FlowId) {
        if self.flows.remove(&flow).is_some()
            && let Some(controller) = &mut self.fleet.controller
        {
            controller.on_flow_end(now, flow);
        }
    }

    /// A flow goes on as the one that is `known`, or begins; none where the controller cannot place it.
    fn follow(&mut self, now: Time, known: Option<FlowId>, progress: &Progress) -> Option<FlowId> {
        let mut base = 0;
        if let Some(flow) = known {
            let followed = self.flows.get_mut(&flow)?;
            let last = followed.last;
            if (last.told, last.slice, last.size) == (progress.told, progress.slice, progress.size) {
                followed.last = *progress;
                return Some(flow);
            }
            // The next message of a connection.
            base = if last.told == progress.told { followed.base } else { last.delivered };
            self.end(now, flow);
        }
        let controller = self.fleet.controller.as_mut()?;
        let (src, dst) = ((self.place)(progress.flow.from.ip())?, (self.place)(progress.flow.to.ip())?);
        while self.flows.contains_key(&self.next_flow) {
            self.next_flow = self.next_flow.wrapping_add(1);
        }
        let flow = self.next_flow;
        self.next_flow = flow.wrapping_add(1);
        let info = FlowInfo {
            id: flow,
            src,
            dst,
            size: progress.size.map(Bytes::new),
            start: now,
            deadline: progress
                .left_ns
                .map(|left| now.saturating_add(Time::from_ps(left.saturating_mul(1_000)))),
            slice: progress.slice,
            task: 0,
        };
        controller.on_flow_start(now, &self.fleet.knows.filter(info));
        self.flows.insert(flow, Followed { last: *progress, base, weight: None });
        Some(flow)
    }

    /// What is to be done, by all that has been heard.
    pub fn decide(&mut self, now: Time) -> Result<Decision, Error> {
        self.fleet.part.wake(now);
        let directives = self.fleet.part.directives()?;
        let policy = Policy { scheme: self.scheme.clone(), instance: self.instance.clone(), directives };
        self.weigh(now);
        let weights_of = |reporter: &Reporter| {
            let weight = |(name, flow): (&FlowName, &FlowId)| Some((*name, self.flows.get(flow)?.weight?));
            (reporter.lease, Weights(reporter.flows.iter().filter_map(weight).collect()))
        };
        let hosts = self.hosts.iter().filter(|_| self.fleet.controller.is_some());
        Ok(Decision { policy, weights: hosts.map(|(host, of)| (host.clone(), weights_of(of))).collect() })
    }

    /// Asks the controller, if it wants to be asked.
    fn weigh(&mut self, now: Time) {
        let Some(controller) = self.fleet.controller.as_mut().filter(|of| of.next_wake() <= now) else {
            return;
        };
        let mut updates = Vec::new();
        let delivered = |flow: FlowId| {
            let followed = self.flows.get(&flow);
            Bytes::new(followed.map_or(0, |of| of.last.delivered.saturating_sub(of.base)))
        };
        controller.on_wake(now, &delivered, &mut updates);
        for WeightUpdate { flow, weight } in updates {
            if let Some(followed) = self.flows.get_mut(&flow) {
                followed.weight = Some(weight);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ControlConfig;
    use crate::etcd::{Ended, Sizes};
    use crate::for_fleet;
    use tailrace_bpf::Histogram;
    use tailrace_core::Reveals;

    use super::*;

    const URANUS: &str = "[scheme]\nname = \"uranus\"\n[[slice]]\nweight = 1\n[[slice]]\nweight = 1\n\
                          [[rack]]\naddresses = [\"10.0.0.1\"]\n[[rack]]\naddresses = [\"10.0.0.2\"]\n";
    const AWAFS: &str = "[scheme]\nname = \"awafs\"\nparams = { placement = \"host\", period = \"1s\", window = \"10s\", \
                         percentiles = [0.5], port = { queues = 2 } }\n";

    fn brain(scheme: &str) -> Brain {
        let text = format!("[control]\nendpoints = [\"http://127.0.0.1:2379\"]\n{scheme}");
        let config = ControlConfig::parse(&text).unwrap();
        let fleet = for_fleet(&config).unwrap();
        let scenario = config.scenario.clone();
        Brain::new(&scenario, move |address| config.rack_of(address).map(HostId::from), fleet, "c1:7")
    }

    fn flow(port: u16, slice: u8, delivered: u64, told: u32) -> Progress {
        let flow = FlowName {
            from: format!("10.0.0.1:{port}").parse().unwrap(),
            to: "10.0.0.2:80".parse().unwrap(),
        };
        Progress { flow, slice: slice.into(), size: Some(1_000_000), left_ns: None, delivered, told }
    }

    fn tell(brain: &mut Brain, at: Time, host: &str, flows: Vec<Progress>) {
        let report = Report { scheme: brain.scheme.clone(), ended: Vec::new(), flows };
        brain.on_event(at, HostEvent::Report(host.to_owned(), 5, report));
    }

    fn weights(brain: &mut Brain, at: Time) -> Vec<f64> {
        let decision = brain.decide(at).unwrap();
        let own = decision.weights.get("h0").map(|(_, of)| of.0.clone()).unwrap_or_default();
        own.into_iter().map(|(_, weight)| weight.get()).collect()
    }

    #[test]
    fn slices_have_their_weights_until_what_a_host_claims_ends() {
        let mut brain = brain(URANUS);
        let at = |slot: u64| Time::from_ms(1_000 * slot);
        tell(&mut brain, at(1), "h0", vec![flow(1, 1, 0, 0), flow(2, 2, 0, 0), flow(3, 2, 0, 0)]);
        assert_eq!(weights(&mut brain, at(1)), [1.0, 0.5, 0.5]);
        // One of the second slice has ended.
        tell(&mut brain, at(2), "h0", vec![flow(1, 1, 9_000, 0), flow(2, 2, 9_000, 0)]);
        assert_eq!(weights(&mut brain, at(2)), [1.0, 1.0]);
        // Another host's flow in the same slice has all of it when the first one has gone.
        let back = FlowName { from: "10.0.0.2:9".parse().unwrap(), to: "10.0.0.1:80".parse().unwrap() };
        let other = Progress { flow: back, ..flow(4, 2, 0, 0) };
        tell(&mut brain, at(3), "h1", vec![other]);
        assert_eq!(brain.size(), (2, 3));
        brain.on_event(at(3), HostEvent::Gone("h0".to_owned()));
        assert_eq!(brain.size(), (1, 1));
        assert!(!brain.decide(at(4)).unwrap().weights.contains_key("h0"));
        brain.on_event(at(4), HostEvent::All(Vec::new()));
        assert_eq!(brain.size(), (0, 0));
    }

    #[test]
    fn the_next_message_of_a_connection_is_another_flow() {
        let mut brain = brain(URANUS);
        tell(&mut brain, Time::from_ms(1_000), "h0", vec![flow(1, 1, 5_000, 0)]);
        let first = *brain.flows.keys().next().unwrap();
        tell(&mut brain, Time::from_ms(2_000), "h0", vec![flow(1, 1, 7_000, 1)]);
        let (second, followed) = brain.flows.iter().next().unwrap();
        assert!(*second != first && brain.flows.len() == 1);
        assert_eq!((followed.base, followed.last.delivered), (5_000, 7_000));
        // One that is told of twice is one.
        tell(&mut brain, Time::from_ms(2_500), "h0", vec![flow(1, 1, 8_000, 1), flow(1, 1, 9_000, 3)]);
        assert_eq!((brain.flows.len(), brain.flows.values().next().unwrap().last.delivered), (1, 8_000));
        // Within a rack, or of no rack, it is not the controller's concern.
        let outside = FlowName { from: "10.0.0.1:1".parse().unwrap(), to: "10.9.9.9:80".parse().unwrap() };
        tell(&mut brain, Time::from_ms(3_000), "h0", vec![Progress { flow: outside, ..flow(1, 1, 0, 0) }]);
        assert_eq!(brain.size(), (1, 0));
    }

    #[test]
    fn a_host_is_believed_a_million_flows_in_a_slot_and_no_more() {
        let mut brain = brain(AWAFS);
        let most = Histogram::of_bins([(200, MAX_ENDED, 200 * u128::from(MAX_ENDED))]).unwrap();
        let ended = |slice| Ended { slice, reveals: Reveals::Nothing, sizes: Sizes(most.clone()) };
        let report =
            Report { scheme: brain.scheme.clone(), ended: (0..50).map(ended).collect(), flows: Vec::new() };
        brain.on_event(Time::from_ms(500), HostEvent::Report("h0".to_owned(), 5, report));
        assert_eq!(brain.counts.ended, MAX_ENDED);
    }

    #[test]
    fn thresholds_are_of_all_flows_and_hosts_of_another_scheme_do_not_count() {
        let mut brain = brain(AWAFS);
        let mut ended = |host: &str, scheme: &str, sizes: std::ops::RangeInclusive<u64>| {
            let mut histogram = Histogram::default();
            sizes.for_each(|size| histogram.add(size * 1_000));
            let ended = vec![Ended { slice: 0, reveals: Reveals::Nothing, sizes: Sizes(histogram) }];
            let scheme = if scheme.is_empty() { brain.scheme.clone() } else { scheme.to_owned() };
            let report = Report { scheme, ended, flows: Vec::new() };
            brain.on_event(Time::from_ms(500), HostEvent::Report(host.to_owned(), 5, report));
        };
        ended("h0", "", 1..=40);
        ended("h1", "", 101..=140);
        ended("h2", "mlfq", 500..=900);
        let decision = brain.decide(Time::from_ms(1_100)).unwrap();
        let threshold = decision.policy.directives.get(0, None, false).tags.range(0).1;
        assert!(threshold.abs_diff(40_000) < 400, "{threshold}");
        assert_eq!((brain.counts.ended, brain.counts.strangers, brain.size().0), (80, 1, 2));
    }
}
