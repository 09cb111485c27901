//! What of schemes an agent does at a host.

use tailrace_core::{Bytes, Directive, Directives, HostLawKind, Reveals, Time};
use tailrace_schemes::NAMES;

use super::part::{HostPart, for_agent};
use crate::file::AgentConfig;

fn part(scheme: &str) -> Result<HostPart, String> {
    let text = format!("[agent]\ninterface = \"eth1\"\n[scheme]\n{scheme}");
    for_agent(&AgentConfig::parse(&text).unwrap()).map_err(|error| error.to_string())
}

#[test]
fn tables_are_those_of_the_schemes_own_policies() {
    let limits = |scheme: &str| {
        let all = part(scheme).unwrap().directives().unwrap();
        let unknown = all.get(0, None, false);
        ([0, 1, 2].map(|priority| unknown.tags.range(priority).1), unknown.acks)
    };
    assert_eq!(limits("name = \"mlfq\""), ([7_000, 14_000, 21_000], 0));
    let given = "params = { thresholds = [\"10KB\", \"20KB\", \"30KB\"], port = { queues = 4 } }";
    // PIAS: a packet stays with as many bytes before it as the threshold, MLFQ: with fewer.
    let pias = limits(&format!("name = \"pias\"\n{given}"));
    assert!(pias.0[0].abs_diff(10_000) <= 1 && pias.0[2].abs_diff(30_000) <= 1, "{pias:?}");
}

#[test]
fn karuna_tells_its_three_types_apart() {
    let karuna = part(
        "name = \"karuna\"\nparams = { thresholds = { splitting = [\"10KB\", \"1MB\"], sieving = [\"20KB\", \"2MB\"] }, \
         port = { queues = 4 } }",
    );
    let all = karuna.unwrap().directives().unwrap();
    let of = |size: Option<u64>, deadline, before| {
        let directive = all.get(0, size.map(Bytes::new), deadline);
        (directive.tags.priority(before), directive.acks)
    };
    assert_eq!(all.edges(), [Bytes::new(10_001), Bytes::new(1_000_001)]);
    assert_eq!([of(Some(1), true, 0), of(Some(1 << 30), true, 1 << 29)], [(0, 0); 2]);
    let known = [10_000, 10_001, 1_000_000, 1_000_001].map(|size| of(Some(size), false, 0));
    assert_eq!(known, [(1, 1), (2, 1), (2, 1), (3, 1)]);
    let unknown = [0, 20_000, 20_001, 2_000_001].map(|before| of(None, false, before));
    assert_eq!(unknown, [(1, 1), (1, 1), (2, 1), (3, 1)]);
}

#[test]
fn karuna_learns_from_flows_without_deadlines() {
    let karuna = "name = \"karuna\"\nparams = { period = \"1s\", port = { queues = 3 }, \
                  thresholds = { splitting = [\"10KB\"], sieving = [\"20KB\"] } }";
    let learned = |reveals| {
        let mut part = part(karuna).unwrap();
        assert!(part.learns());
        for size in 0..2_000 {
            part.ended(Time::from_ms(500), Bytes::new(1_000 + size % 100 * 1_000), reveals, 0);
            part.ended(Time::from_ms(500), Bytes::new(10_000_000), reveals, 0);
        }
        let before = part.directives().unwrap();
        let changed = part.wake(Time::from_ms(1_100));
        assert_eq!(changed, before != part.directives().unwrap());
        changed.then(|| part.directives().unwrap())
    };
    let [deadline, size, nothing] = [Reveals::Deadline, Reveals::Size, Reveals::Nothing].map(learned);
    assert_eq!(deadline, None, "they are above all thresholds");
    assert!(size.is_some() && nothing.is_some());
}

#[test]
fn awafs_learns_from_flows_that_end() {
    let scheme = "name = \"awafs\"\nparams = { placement = \"host\", period = \"1s\", window = \"5s\", \
                  percentiles = [0.5], port = { queues = 2 } }";
    let mut part = part(scheme).unwrap();
    assert!(part.learns());
    (0..100).for_each(|size| part.ended(Time::from_ms(500), Bytes::new(size * 100), Reveals::Nothing, 0));
    assert!(!part.wake(Time::from_ms(900)));
    assert!(part.wake(Time::from_ms(1_200)));
    let threshold = part.directives().unwrap().get(0, None, false).tags.range(0).1;
    assert!((4_000..6_000).contains(&threshold), "{threshold}");
}

#[test]
fn wvcc_keeps_windows_by_the_weights_of_slices() {
    let scheme = "name = \"wvcc\"\n[[slice]]\nweight = 1\n[[slice]]\nweight = 4";
    let part = part(scheme).unwrap();
    let all = part.directives().unwrap();
    let weights = [0, 1, 2].map(|slice| all.get(slice, None, false).weight.get());
    assert_eq!(weights, [1.0, 0.25, 1.0]);
    let shim = part.shim.unwrap();
    assert_eq!((shim.gain, shim.settle, shim.initial_window), (1.0 / 16.0, true, 10));
    let shown = "name = \"wvcc\"\nparams = { shim = { show_marks = true } }";
    assert!(self::part(shown).err().unwrap().contains("there is nothing to tag"));
}

#[test]
fn a_law_is_the_schemes_own_or_a_mistake() {
    let given = |name: &str| part(&format!("name = \"{name}\"\n[law]"));
    for (name, kind, tags) in [
        ("dctcp", "dctcp", false),
        ("d2tcp", "d2tcp", false),
        ("l2dct", "l2dct", false),
        ("mlfq", "dctcp", true),
    ] {
        let part = given(name).unwrap();
        let law = part.law.unwrap();
        assert_eq!((law.kind.name(), part.tags()), (kind, tags), "{name}");
        assert_eq!((law.window.gain, law.window.initial_window), (1.0 / 16.0, 10));
    }
    assert!(part("name = \"mlfq\"").unwrap().law.is_none(), "without [law]");
    let urgent = part("name = \"d2tcp\"\nparams = { urgency = [0.25, 4.0] }\n[law]").unwrap().law.unwrap();
    assert_eq!(urgent.kind, HostLawKind::D2tcp { urgency: [0.25, 4.0] });
    let karuna = "name = \"karuna\"\nparams = { thresholds = { splitting = [\"1KB\"], sieving = [\"1KB\"] }, \
                  port = { queues = 3 } }\n[law]";
    assert!(part(karuna).err().unwrap().contains("agent.round_trip: is missing: Karuna's MCP"));
    let with = |scheme: &str| {
        let text = format!("[agent]\ninterface = \"eth1\"\nround_trip = \"1ms\"\n[scheme]\n{scheme}");
        for_agent(&AgentConfig::parse(&text).unwrap()).unwrap()
    };
    let normal = with(karuna);
    assert!(normal.left_out.iter().any(|said| said.starts_with("No flow is given up")));
    let HostLawKind::Karuna(mcp) = normal.law.unwrap().kind else { panic!("{:?}", normal.law) };
    assert_eq!((mcp.round_trip, mcp.min_window, mcp.pacing), (Time::from_ms(1), 2.0, true));
    let prototype = with(&karuna.replace("params = { ", "params = { mcp = { form = \"prototype\" }, "));
    assert_eq!(prototype.law.unwrap().kind, HostLawKind::Dctcp);
    assert!(prototype.left_out.iter().any(|said| said.starts_with("MCP runs in its normal form only")));
    for (name, said) in
        [("tcp", "law: is given, but the law of tcp is none"), ("wvcc", "keeps windows over any law")]
    {
        let message = given(name).err().unwrap();
        assert!(message.contains(said), "{said}: {message}");
    }
    assert!(part("name = \"dctcp\"").err().unwrap().contains("its congestion law runs with [law]"));
}

#[test]
fn uranus_keeps_windows_and_says_without_a_fleet_that_its_controller_does_not_run() {
    let scheme = "name = \"uranus\"\n[[slice]]\nweight = 1\n";
    let said = |rest: &str| part(&format!("{scheme}{rest}")).unwrap().left_out.join(" ");
    assert!(part(scheme).unwrap().shim.is_some());
    assert!(said("").contains("Its controller does not run: that takes [control]."));
    let fleet = "[control]\nendpoints = [\"http://127.0.0.1:2379\"]\n";
    assert!(!said(fleet).contains("controller"), "{}", said(fleet));
}

#[test]
fn what_a_controller_has_directed_is_in_force() {
    let mut part = part("name = \"mlfq\"").unwrap();
    let given = Directives::same(Directive::tagged(tailrace_core::TagTable::flat(3)));
    part.direct(given.clone());
    assert_eq!(part.directives().unwrap(), given);
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
        part("name = \"baraat\"").err().unwrap().contains("a header that the TCP of programs cannot carry")
    );
    assert!(
        part("name = \"pfabric\"").err().unwrap().contains("placement = \"host\""),
        "what an agent can do"
    );
    assert!(part("name = \"srpt\"").err().unwrap().contains("flow level only: it has no ports"));
    let qjump = part("name = \"qjump\"").err().unwrap();
    assert!(qjump.contains("one priority") || qjump.contains("limit rates"), "{qjump}");
    let ageing =
        "name = \"pias\"\nparams = { thresholds = [\"9KB\"], port = { queues = 2 }, ageing_timeouts = 3 }";
    assert!(part(ageing).unwrap().left_out.iter().any(|said| said.contains("ageing")));
}
