//! What a scheme's hosts write into packets that the kernel sends.

use std::marker::PhantomData;

use tailrace_core::{FlowInfo, FlowRecord, HostId, HostPolicy, Refresh, Scheme, SeriesRow, Time};
use tailrace_linux::{Tagger, Tags};

/// The policies of all hosts, which are told what the scheme may know.
pub struct HostTags<S: Scheme> {
    policies: Vec<S::Host>,
    oracle: bool,
}

impl<S: Scheme> HostTags<S> {
    /// The policies of this many hosts.
    pub fn new(scheme: &S, hosts: usize, oracle: bool) -> Self {
        HostTags { policies: (0..hosts).map(|_| scheme.host()).collect(), oracle }
    }

    /// The policy of one host.
    pub fn policy(&self, host: usize) -> &S::Host {
        &self.policies[host]
    }

    fn known(&self, flow: &FlowRecord) -> FlowInfo {
        known::<S>(flow, self.oracle)
    }
}

/// What the scheme may know of a flow.
fn known<S: Scheme>(flow: &FlowRecord, oracle: bool) -> FlowInfo {
    let deadline = (flow.deadline != Time::MAX).then_some(flow.deadline);
    let FlowRecord { id, src, dst, size, start, slice, task, reveals, .. } = *flow;
    let known = FlowInfo { id, src, dst, size: Some(size), start, deadline, slice, task };
    S::KNOWS.filter(if oracle { known } else { reveals.filter(known) })
}

/// Hosts have agents, which are told what the scheme may know.
pub struct Telling<S> {
    oracle: bool,
    scheme: PhantomData<S>,
}

impl<S: Scheme> Telling<S> {
    /// With `oracle`, agents learn what flows do not reveal.
    pub fn new(oracle: bool) -> Self {
        Telling { oracle, scheme: PhantomData }
    }
}

impl<S: Scheme> Tagger for Telling<S> {
    fn tags(&self, _: &FlowRecord) -> Tags {
        Tags::default()
    }
    fn ended(&mut self, _: Time, _: &FlowRecord) {}
    fn next_wake(&self) -> Option<Time> {
        None
    }
    fn wake(&mut self, _: Time) -> Vec<HostId> {
        Vec::new()
    }
    fn told(&self, flow: &FlowRecord) -> Option<FlowInfo> {
        Some(known::<S>(flow, self.oracle))
    }
}

impl<S: Scheme> Tagger for HostTags<S> {
    fn tags(&self, flow: &FlowRecord) -> Tags {
        let directive = self.policies[flow.src as usize].directive(&self.known(flow));
        Tags { data: directive.tags, acks: directive.acks }
    }

    fn ended(&mut self, now: Time, flow: &FlowRecord) {
        let known = self.known(flow);
        self.policies[flow.src as usize].on_flow_end(now, &known, flow.size);
    }

    fn next_wake(&self) -> Option<Time> {
        self.policies.iter().filter_map(HostPolicy::next_wake).min()
    }

    fn wake(&mut self, now: Time) -> Vec<HostId> {
        // Series are the fabric's, on another thread.
        let mut unheard: Vec<SeriesRow> = Vec::new();
        let due = (0..)
            .zip(&mut self.policies)
            .filter(|(_, policy)| policy.next_wake().is_some_and(|at| at <= now));
        due.filter_map(|(host, policy)| (policy.on_wake(now, &mut unheard) == Refresh::All).then_some(host))
            .collect()
    }
}
