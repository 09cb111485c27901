//! A scheme's part at one host, for the packets that its kernel sends.

use tailrace_config::ScenarioError;
use tailrace_core::{
    Bytes, Directive, FlowInfo, FlowRecord, FlowView, HostPolicy, Reveals, Scheme, TagTable, Time,
};
use tailrace_linux::{Tagger, Tags};
use tailrace_scenario::AgentConfig;
use tailrace_schemes::SchemeVisitor;

use crate::build;
use crate::emulate::plain_header;
use crate::host_tags::HostTags;

/// What one host of a scheme decides of its flows, of which it knows nothing before they end.
pub struct HostPart {
    tagger: Box<dyn Tagger>,
    /// What of the scheme an agent does not do, a sentence each.
    pub left_out: Vec<String>,
}

impl HostPart {
    /// The tags of all flows, now.
    pub fn tags(&self) -> Tags {
        self.tagger.tags(&flow(Time::ZERO, Bytes::ZERO))
    }

    /// Whether its tags follow from flows that have ended, so that it must be told of them.
    pub fn learns(&self) -> bool {
        self.tagger.next_wake().is_some()
    }

    /// A flow has ended.
    pub fn ended(&mut self, now: Time, size: Bytes) {
        self.tagger.ended(now, &flow(now, size));
    }

    /// The time is `now`; returns whether tags may be others from now on.
    pub fn wake(&mut self, now: Time) -> bool {
        let mut changed = false;
        while self.tagger.next_wake().is_some_and(|at| at <= now) {
            // At the time that it asked for, however late it is.
            let at = self.tagger.next_wake().unwrap_or(now);
            changed |= !self.tagger.wake(at).is_empty();
        }
        changed
    }
}

/// A flow that tells nothing of itself.
fn flow(end: Time, size: Bytes) -> FlowRecord {
    FlowRecord {
        size,
        start: Time::ZERO,
        end,
        deadline: Time::MAX,
        id: 0,
        task: 0,
        retransmitted: 0,
        src: 0,
        dst: 1,
        timeouts: 0,
        slice: 0,
        stopped: false,
        class: 0,
        reveals: Reveals::Nothing,
    }
}

/// The scheme's part at a host, if an agent can do it.
pub fn for_agent(config: &AgentConfig) -> Result<HostPart, ScenarioError> {
    build::visit(&config.scenario, Ask(config))
}

struct Ask<'a>(&'a AgentConfig);

impl SchemeVisitor for Ask<'_> {
    type Output = Result<HostPart, ScenarioError>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let scenario = &self.0.scenario;
        let scheme = build::for_packets::<S>(scenario, &scenario.fabric.build())?;
        plain_header(&scheme, "")?;
        let (start, size, deadline) = (Time::ZERO, None, None);
        let unknown = FlowInfo { id: 0, src: 0, dst: 1, size, start, deadline, slice: 0, task: 0 };
        let policy = scheme.host();
        let directive = policy.directive(&unknown);
        let wrong = |message: String| Err(ScenarioError::new("scheme.name", message));
        if directive.cap.is_some() {
            return wrong(format!("is {}, whose hosts limit rates, which an agent does not do", S::NAME));
        }
        if is_one_priority(&directive.tags) && policy.next_wake().is_none() {
            let message = format!(
                "is {}, whose hosts give all packets of flows that tell nothing one priority: there is nothing to tag \
                 (awafs tags with params = {{ placement = \"host\" }})",
                S::NAME
            );
            return wrong(message);
        }
        let mut left_out = vec![
            "Its congestion law does not run: the machine's own TCP sends, whatever it is set to.".to_owned(),
        ];
        if scheme.controller().is_some() {
            left_out.push("Its controller does not run.".to_owned());
        }
        if S::KNOWS.sizes || S::KNOWS.deadlines {
            left_out.push(
                "Flows tell neither sizes nor deadlines: all are tagged as those that tell nothing.".into(),
            );
        }
        if ages(&policy, &unknown, &directive) {
            left_out.push("Timeouts are not seen, so no flow rises again after some (ageing).".to_owned());
        }
        Ok(HostPart { tagger: Box::new(HostTags::<S>::new(&scheme, 1, false)), left_out })
    }
}

fn is_one_priority(tags: &TagTable) -> bool {
    tags.priority(0) == tags.priority(u64::MAX - 1)
}

/// Whether timeouts of a flow that has sent much would change its tags.
fn ages(policy: &impl HostPolicy, flow: &FlowInfo, current: &Directive) -> bool {
    let sent = Bytes::new(1 << 50);
    let view = FlowView { sent, acked: sent, delivered: sent };
    (1..100).any(|consecutive| policy.on_timeout(flow, &view, consecutive, current).is_some())
}

#[cfg(test)]
mod tests {
    use tailrace_schemes::NAMES;

    use super::*;

    fn part(scheme: &str) -> Result<HostPart, String> {
        let text = format!("[agent]\ninterface = \"eth1\"\n[scheme]\n{scheme}");
        for_agent(&AgentConfig::parse(&text).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn tables_are_those_of_the_schemes_own_policies() {
        let limits = |scheme: &str| {
            let tags = part(scheme).unwrap().tags();
            ([0, 1, 2].map(|priority| tags.data.range(priority).1), tags.acks)
        };
        assert_eq!(limits("name = \"mlfq\""), ([7_000, 14_000, 21_000], 0));
        let given = "params = { thresholds = [\"10KB\", \"20KB\", \"30KB\"], port = { queues = 4 } }";
        // PIAS: a packet stays with as many bytes before it as the threshold, MLFQ: with fewer.
        let pias = limits(&format!("name = \"pias\"\n{given}"));
        assert!(pias.0[0].abs_diff(10_000) <= 1 && pias.0[2].abs_diff(30_000) <= 1, "{pias:?}");
        let karuna = part(
            "name = \"karuna\"\nparams = { thresholds = { splitting = [\"10KB\"], sieving = [\"20KB\"] }, \
                           port = { queues = 3 } }",
        );
        let tags = karuna.unwrap().tags();
        assert_eq!(
            (tags.data.priority(0), tags.data.priority(20_000), tags.data.priority(20_001), tags.acks),
            (1, 1, 2, 1)
        );
    }

    #[test]
    fn awafs_learns_from_flows_that_end() {
        let scheme = "name = \"awafs\"\nparams = { placement = \"host\", period = \"1s\", window = \"5s\", \
                      percentiles = [0.5], port = { queues = 2 } }";
        let mut part = part(scheme).unwrap();
        assert!(part.learns());
        (0..100).for_each(|size| part.ended(Time::from_ms(500), Bytes::new(size * 100)));
        assert!(!part.wake(Time::from_ms(900)));
        assert!(part.wake(Time::from_ms(1_200)));
        let threshold = part.tags().data.range(0).1;
        assert!((4_000..6_000).contains(&threshold), "{threshold}");
    }

    #[test]
    fn what_cannot_be_carried_is_said() {
        let mut carried = Vec::new();
        for name in NAMES {
            let params = match *name {
                "pias" => "params = { thresholds = { fitted = \"web-search\", load = 0.6 } }",
                "awafs" => "params = { placement = \"host\" }",
                _ => "",
            };
            match part(&format!("name = \"{name}\"\n{params}")) {
                Ok(_) => carried.push(*name),
                Err(error) => assert!(error.contains("scheme."), "{name}: {error}"),
            }
        }
        for name in ["mlfq", "pias", "awafs"] {
            assert!(carried.contains(&name), "{carried:?}");
        }
        for name in ["fifo", "dctcp", "tcp", "baraat", "pfabric"] {
            assert!(!carried.contains(&name), "{carried:?}");
        }
        println!("{carried:?}");
        assert!(part("name = \"dctcp\"").err().unwrap().contains("there is nothing to tag"));
        assert!(
            part("name = \"baraat\"")
                .err()
                .unwrap()
                .contains("a header that the TCP of programs cannot carry")
        );
        let qjump = part("name = \"qjump\"").err().unwrap();
        assert!(qjump.contains("one priority") || qjump.contains("limit rates"), "{qjump}");
        let ageing = "name = \"pias\"\nparams = { thresholds = [\"9KB\"], port = { queues = 2 }, ageing_timeouts = 3 }";
        assert!(part(ageing).unwrap().left_out.iter().any(|said| said.contains("ageing")));
    }
}
