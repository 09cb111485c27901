//! In which order flows are served at flow level.

use tailrace_core::{
    Bytes, Facts, FlowInfo, FlowScheme, Objective, Prospect, Rate, RateRule, Scheme, Slice, Time,
};
use tailrace_schemes::{FLOW_NAMES, FlowSchemeVisitor, NAMES, SchemeVisitor, with_flow_scheme, with_scheme};
use toml::Table;

struct Rule<'a>(&'a str);

fn facts() -> Facts {
    let slices = vec![Slice { weight: 1.0, objective: Objective::Completion }];
    Facts { slices, racks: vec![0; 16], ..Facts::new(16, Rate::from_gbps(10), Time::from_us(80), 4) }
}

impl SchemeVisitor for Rule<'_> {
    type Output = Option<Box<dyn RateRule>>;
    fn visit<S: Scheme>(self) -> Self::Output {
        let mut params = Table::try_from(S::Params::default()).expect("a table");
        params.extend(self.0.parse::<Table>().expect("a table"));
        let scheme = S::new(params.try_into().expect("parameters"), &facts());
        scheme.unwrap_or_else(|error| panic!("{} with {}: {error}", S::NAME, self.0)).rate_rule()
    }
}

impl FlowSchemeVisitor for Rule<'_> {
    type Output = Option<Box<dyn RateRule>>;
    fn visit<S: FlowScheme>(self) -> Self::Output {
        Some(Box::new(S::new(S::Params::default(), &facts()).expect("defaults")))
    }
}

fn rule(scheme: &str, params: &str) -> Option<Box<dyn RateRule>> {
    with_scheme(scheme, Rule(params)).or_else(|_| with_flow_scheme(scheme, Rule(params))).expect("a scheme")
}

/// A flow, and how far it is.
struct Case {
    name: char,
    flow: FlowInfo,
    sent: Bytes,
    task_size: Option<Bytes>,
}

impl Case {
    fn prospect(&self) -> Prospect<'_> {
        let left = self.flow.size.map(|size| size - self.sent);
        Prospect { flow: &self.flow, sent: self.sent, task_size: self.task_size, left }
    }
}

/// In order of arrival: b is nearly done; c has the nearest deadline and is of no task; nothing is known of d.
fn cases() -> [Case; 4] {
    let case = |name, id, task, (size, sent): (u64, u64), deadline: Option<u64>, task_size: u64| Case {
        name,
        flow: FlowInfo {
            id,
            src: 0,
            dst: 1,
            size: (size > 0).then(|| Bytes::new(size)),
            start: Time::from_us(id.into()),
            deadline: deadline.map(Time::from_us),
            slice: 0,
            task,
        },
        sent: Bytes::new(sent),
        task_size: (task_size > 0).then(|| Bytes::new(task_size)),
    };
    [
        case('a', 1, 2, (10_000, 0), None, 500_000),
        case('b', 2, 1, (100_000, 95_000), Some(900), 120_000),
        case('c', 3, 0, (30_000, 0), Some(300), 30_000),
        case('d', 4, 1, (0, 0), None, 0),
    ]
}

/// The flows in the order in which they are served, those that share together: "c ab d".
fn order(rule: &dyn RateRule) -> String {
    let cases = cases();
    let mut ranked: Vec<_> = cases.iter().map(|case| (rule.rank(&case.prospect()), case.name)).collect();
    ranked.sort_unstable();
    let groups = ranked.chunk_by(|(a, _), (b, _)| a == b);
    groups.map(|group| group.iter().map(|(_, name)| name).collect::<String>()).collect::<Vec<_>>().join(" ")
}

#[test]
fn flows_are_served_in_the_schemes_order() {
    for (scheme, params, expected) in [
        ("rcp", "", "abcd"),
        ("baraat", "", "bd a c"),
        ("baraat", "order = \"fair\"", "abcd"),
        ("baraat", "order = \"flow\"", "a b c d"),
        ("orchestra", "", "bd a c"),
        ("sff", "", "a c b d"),
        ("srpt", "", "b a c d"),
        ("pfabric", "", "b a c d"),
        ("stf", "", "c b a d"),
        ("edf", "", "c b a d"),
        // Queues, by what is sent: b has left the first.
        ("mlfq", "thresholds = [\"20KB\"]\nport = { queues = 2 }", "acd b"),
        ("pias", "thresholds = [\"20KB\"]\nport = { queues = 2 }", "acd b"),
        // Levels, by size.
        (
            "qjump",
            "factors = [1.0, 4.0]\nthresholds = [\"15KB\", \"50KB\"]\nport = { queues = 3, marking = \"none\" }",
            "a c bd",
        ),
        // Deadlines first; a by its size in the first queue; d by what it has sent.
        (
            "karuna",
            "thresholds = { splitting = [\"20KB\"], sieving = [\"10KB\"] }\nport = { queues = 3 }",
            "bc ad",
        ),
    ] {
        let rule = rule(scheme, params).unwrap_or_else(|| panic!("{scheme} has no rule"));
        assert_eq!(order(&*rule), expected, "{scheme} with {params}");
    }
}

#[test]
fn ranks_follow_progress_where_they_depend_on_it() {
    for name in NAMES.iter().chain(FLOW_NAMES).filter(|name| !["pias", "karuna"].contains(name)) {
        let Some(rule) = rule(name, "") else { continue };
        let follows = ["srpt", "pfabric"].contains(name);
        assert_eq!(rule.follows_progress(), follows, "{name}");
        let [case, ..] = cases();
        let stays = rule.stays_until(&case.prospect());
        assert_eq!(stays < Bytes::MAX, *name == "mlfq", "{name} stays until {stays}");
    }
    let queues = rule("mlfq", "thresholds = [\"20KB\"]\nport = { queues = 2 }").unwrap();
    let [first, second, ..] = cases();
    assert_eq!(queues.stays_until(&first.prospect()), Bytes::new(20_000));
    assert_eq!(queues.stays_until(&second.prospect()), Bytes::MAX);
}

#[test]
fn what_has_no_rule_says_so() {
    let without: Vec<&str> = NAMES.iter().copied().filter(|name| rule_of(name).is_none()).collect();
    let only_packets = [
        "fifo", "tcp", "cubic", "dctcp", "hull", "awafs", "d2tcp", "l2dct", "las", "d3", "pdq", "wvcc",
        "acdc", "scc",
    ];
    let mut expected = only_packets.to_vec();
    expected.sort_by_key(|name| NAMES.iter().position(|known| known == name));
    assert_eq!(without, expected);
    // Queues that share by weight are no strict order; nor is what was sent, or the deadline, all of a rank.
    assert!(rule("mlfq", "port = { queues = 8, scheduler = \"wfq\" }").is_none());
    assert!(rule("pias", "thresholds = [\"1KB\"]\nport = { queues = 2, scheduler = \"drr\" }").is_none());
    assert!(rule("pfabric", "rank = \"sent\"").is_none() && rule("pfabric", "rank = \"edf\"").is_none());
}

fn rule_of(name: &str) -> Option<Box<dyn RateRule>> {
    let thresholds = match name {
        "pias" => "thresholds = [\"1KB\"]\nport = { queues = 2 }",
        "karuna" => "thresholds = { splitting = [], sieving = [] }\nport = { queues = 2 }",
        _ => "",
    };
    rule(name, thresholds)
}

#[test]
fn a_deadline_is_a_due_time_under_karuna_only() {
    let [_, second, third, last] = cases();
    for name in NAMES.iter().chain(FLOW_NAMES) {
        let Some(rule) = with_flow_scheme(name, Rule("")).unwrap_or_else(|_| rule_of(name)) else { continue };
        let due = [&second, &third, &last].map(|case| rule.due(&case.prospect()));
        let expected = if *name == "karuna" {
            [Some(Time::from_us(900)), Some(Time::from_us(300)), None]
        } else {
            [None; 3]
        };
        assert_eq!(due, expected, "{name}");
        assert_eq!(rule.leaves_out().is_empty(), *name != "qjump", "{name}");
        assert_eq!(rule.cap(&cases()[0].prospect()).is_some(), *name == "qjump", "{name}");
        assert_eq!(rule.heavy(), (*name == "baraat").then(|| Bytes::new(10_000_000)), "{name}");
    }
}
