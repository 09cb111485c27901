//! What parameters may be: at the edge of each range, from both sides, what is accepted and what field is refused.

mod ranges;

use tailrace_core::{
    Facts, Objective, ParamError, Rate, Reveals, Scheme, SizeDistribution, Slice, Time, Traffic, TrafficClass,
};
use tailrace_schemes::{NAMES, SchemeVisitor, with_scheme};
use toml::{Table, Value};

/// Builds a scheme with parameters over its defaults.
struct Build<'a> {
    params: &'a str,
    facts: &'a Facts,
}

impl SchemeVisitor for Build<'_> {
    type Output = Result<(), ParamError>;
    fn visit<S: Scheme>(self) -> Self::Output {
        let defaults = Table::try_from(S::Params::default()).expect("a table");
        let given: Table = self.params.parse().unwrap_or_else(|error| panic!("{}: {error}", self.params));
        let params = over(defaults, given).try_into();
        let params = params.unwrap_or_else(|error| panic!("{} with {}: {error}", S::NAME, self.params));
        S::new(params, self.facts).map(drop)
    }
}

/// Tables are merged, all else is replaced.
fn over(mut defaults: Table, given: Table) -> Table {
    for (field, value) in given {
        let merged = match (defaults.remove(&field), value) {
            (Some(Value::Table(default)), Value::Table(given))
                if given.keys().all(|key| default.contains_key(key)) =>
            {
                Value::Table(over(default, given))
            }
            (_, value) => value,
        };
        defaults.insert(field, merged);
    }
    defaults
}

/// Sixteen hosts in two racks with two slices, and half of their links asked for by flows of sizes known and unknown.
fn facts() -> Facts {
    let slice = |weight| Slice { weight, objective: Objective::Completion };
    let sizes = SizeDistribution::new(vec![(1e3, 0.0), (1e5, 0.9), (1e7, 1.0)]).expect("ascending points");
    let class = |reveals| TrafficClass { reveals, sizes: sizes.clone(), load: 0.25 };
    let classes = vec![class(Reveals::Size), class(Reveals::Nothing)];
    Facts {
        traffic: Some(Traffic { sizes: sizes.clone(), workload: None, load: 0.5, classes }),
        slices: vec![slice(1.0), slice(0.5)],
        racks: (0..16).map(|host| host / 8).collect(),
        ..Facts::new(16, Rate::from_gbps(10), Time::from_us(80), 4)
    }
}

/// The field that a scheme refuses, if it refuses any.
fn refused(scheme: &str, params: &str, facts: &Facts) -> Option<String> {
    let built =
        with_scheme(scheme, Build { params, facts }).unwrap_or_else(|_| panic!("there is no {scheme}"));
    built.err().map(|error| error.field)
}

#[test]
fn every_scheme_takes_its_defaults() {
    for name in NAMES {
        assert_eq!(refused(name, "", &facts()), None, "{name}");
    }
}

#[test]
fn what_is_planned_is_asked_for_where_it_is_needed() {
    let unplanned = Facts { traffic: None, ..facts() };
    let needs = |scheme| refused(scheme, "thresholds = \"optimal\"", &unplanned);
    assert_eq!(["pias", "karuna"].map(needs), [(); 2].map(|()| Some("thresholds".to_owned())));
    let mut full = facts();
    full.traffic.iter_mut().for_each(|traffic| traffic.load = 1.0);
    assert_eq!(refused("pias", "thresholds = \"optimal\"", &full).as_deref(), Some("thresholds"));
    for scheme in ["uranus", "scc"] {
        let nobody = Facts { slices: Vec::new(), ..facts() };
        assert_eq!(refused(scheme, "", &nobody).as_deref(), Some(""), "{scheme}");
    }
    let mut heavy = facts();
    heavy.slices[1].weight = 1.001;
    assert_eq!(refused("acdc", "", &heavy).as_deref(), Some(""));
}

#[test]
fn updates_must_arrive_before_the_end() {
    let facts = Facts { horizon: Some(Time::from_ms(10)), ..facts() };
    let refused = |control: &str| refused("uranus", &format!("control = {{ {control} }}"), &facts);
    assert_eq!(refused("delay = \"9ms\", slot = \"1ms\", at_once = true"), None);
    assert_eq!(refused("delay = \"10ms\", slot = \"1ms\", at_once = true").as_deref(), Some("control.delay"));
    assert_eq!(refused("delay = \"8999us\", slot = \"1ms\", at_once = false"), None);
    assert_eq!(refused("delay = \"9ms\", slot = \"1ms\", at_once = false").as_deref(), Some("control.slot"));
}

#[test]
fn ranges_end_where_they_are_said_to() {
    let wrong = |(scheme, params, field): &(&str, &str, &str)| {
        let got = refused(scheme, params, &facts()).unwrap_or_default();
        (got != *field).then(|| format!("{scheme} with {params}: refuses {got:?}, not {field:?}"))
    };
    let wrong: Vec<String> = ranges::RANGES.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_scheme_checks_its_port_and_its_law() {
    for name in NAMES {
        let has = |part: &str| {
            struct Has<'a>(&'a str);
            impl SchemeVisitor for Has<'_> {
                type Output = bool;
                fn visit<S: Scheme>(self) -> bool {
                    Table::try_from(S::Params::default()).expect("a table").contains_key(self.0)
                }
            }
            with_scheme(name, Has(part)).unwrap_or_default()
        };
        if has("port") && !ranges::PORTS_OF_THEIR_OWN.contains(name) {
            assert_eq!(
                refused(name, "port = { queues = 9 }", &facts()).as_deref(),
                Some("port.queues"),
                "{name}"
            );
        }
        if has("law") && !ranges::LAWS_OF_THEIR_OWN.contains(name) {
            assert_eq!(
                refused(name, "law = { gain = 0.0 }", &facts()).as_deref(),
                Some("law.gain"),
                "{name}"
            );
        }
    }
}
