//! Workflows that cannot be run say why.

use tailrace_core::{Rate, Time};
use tailrace_fabric::Racks;

use crate::{Setting, Workload};

/// Two pods of three racks of five hosts.
const SETTING: Setting = Setting {
    hosts: 30,
    speeds: Vec::new(),
    racks: Racks::bounded(&[0, 5, 10, 15, 20, 25, 30]),
    racks_per_pod: 3,
    slices: 0,
    host_rate: Rate::from_gbps(1),
    mss: 1460,
    base_rtt: Time::from_us(100),
};

fn workload(fields: &str) -> Result<Workload, String> {
    workload_in(&SETTING, fields)
}

fn workload_in(setting: &Setting, fields: &str) -> Result<Workload, String> {
    let table = format!("[[task]]\n{fields}").parse().unwrap();
    Workload::from_table(&table, setting).map_err(|error| error.to_string())
}

/// Hosts have one number more than roles.
#[test]
fn a_task_of_all_hosts_of_the_largest_fabric_is_refused() {
    let largest =
        Setting { hosts: 65_536, racks: Racks::bounded(&[0, 65_535, 65_536]), racks_per_pod: 2, ..SETTING };
    let error = |workflow: &str| {
        let fields = format!("workflow = {workflow}\nsizes = {{ fixed = \"1MB\" }}\nload = 0.5\ncount = 3");
        workload_in(&largest, &fields).map(|_| "fine".to_owned()).unwrap_or_else(|error| error)
    };
    let all = "{ racks = [0, 1] }";
    for (workflow, field) in [
        ("{ parallel = { servers = 65535 } }".to_owned(), "parallel.servers"),
        ("{ shuffle = { mappers = 65535, reducers = 1 } }".to_owned(), "shuffle.mappers"),
        (format!("{{ graph = [{{ name = \"a\", from = [0], to = {all} }}] }}"), "graph"),
        (format!("{{ ring-all-reduce = {{ hosts = {all} }} }}"), "ring-all-reduce.hosts"),
    ] {
        let said = error(&workflow);
        let field = format!("task[0].workflow.{field}");
        assert!(
            said.starts_with(&field) && said.contains("makes tasks of 65536 hosts, but 65535 are the most"),
            "{said}"
        );
    }
    assert_eq!(error("{ parallel = { servers = 65534 } }"), "fine");
}

#[test]
fn bad_input_is_explained() {
    let error = |workflow: &str| {
        let fields = format!("workflow = {workflow}\nsizes = {{ fixed = \"1MB\" }}\nload = 0.5\ncount = 3");
        workload(&fields).map(|_| "fine".to_owned()).unwrap_or_else(|error| error)
    };
    for (workflow, expected) in [
        (
            "{ graph = [{ name = \"a\", from = [0], to = [1], after = [\"b\"] }, { name = \"b\", from = [1], to = [0], after = [\"a\"] }] }",
            "task[0].workflow.graph[0].after: is a cycle: a waits for b waits for a; a stage must not wait for itself",
        ),
        (
            "{ graph = [{ name = \"a\", from = [0], to = [1], after = [\"a\"] }] }",
            "task[0].workflow.graph[0].after: is a cycle: a waits for a;",
        ),
        (
            "{ graph = [{ name = \"a\", from = [0], to = [30] }] }",
            "task[0].workflow.graph[0].to: host 30 does not exist; the fabric has hosts 0 to 29",
        ),
        (
            "{ graph = [{ name = \"map\", from = [0], to = [1] }, { name = \"b\", from = [1], to = [0], after = [\"mop\"] }] }",
            "task[0].workflow.graph[1].after: unknown stage \"mop\"; did you mean \"map\"?",
        ),
        (
            "{ graph = [{ name = \"a\", from = [0], to = [1] }, { name = \"b\", from = [1, 5], to = [0], after = [\"a\"] }] }",
            "task[0].workflow.graph[1].from: host 5 has nothing to send: it receives nothing in a",
        ),
        (
            "{ graph = [{ name = \"a\", from = [3], to = [3] }] }",
            "task[0].workflow.graph[0].to: is the host of from",
        ),
        ("{ graph = [] }", "task[0].workflow.graph: must have at least one stage"),
        ("{ parallel = { servers = 30 } }", "task[0].workflow.parallel.servers: is 30, but must be 1 to 29"),
        (
            "{ parallel = { servers = 5, same_rack = true } }",
            "task[0].workflow.parallel.servers: is 5, but must be 1 to 4",
        ),
        (
            "{ parallel = { servers = 2, clients = { racks = [6] } } }",
            "task[0].workflow.parallel.clients.racks: rack 6 does not exist",
        ),
        (
            "{ partition-aggregate = { mids = 2 } }",
            "task[0].workflow.partition-aggregate.mids: needs stages = 2",
        ),
        (
            "{ partition-aggregate = { selectivity = 0.5 } }",
            "task[0].workflow.partition-aggregate.selectivity: needs stages = 2",
        ),
        (
            "{ shuffle = { mappers = 2, reducers = 2, selectivity = 0.5 } }",
            "task[0].workflow.shuffle.selectivity: needs stages = 2 or more",
        ),
        (
            "{ graph = [{ name = \"a\", from = [0], to = [1], selectivity = 0.5 }] }",
            "task[0].workflow.graph[0].selectivity: is for stages that come after others",
        ),
        (
            "{ partition-aggregate = { stages = 2, mids = 3 } }",
            "task[0].workflow.partition-aggregate.mids: is 3, but must be 1 to 2",
        ),
        (
            "{ partition-aggregate = { workers = 5 } }",
            "task[0].workflow.partition-aggregate.workers: is 5, but must be 1 to 4",
        ),
        (
            "{ shuffle = { mappers = 20, reducers = 20 } }",
            "task[0].workflow.shuffle.mappers: are 40 hosts with the reducers",
        ),
        (
            "{ shuffle = { mappers = 2, reducers = 2, stages = 2, selectivity = 0 } }",
            "task[0].workflow.shuffle.selectivity: is 0",
        ),
        (
            "{ ring-all-reduce = { hosts = 1 } }",
            "task[0].workflow.ring-all-reduce.hosts: is 1, but must be 2 to 30",
        ),
        (
            "{ tree-all-reduce = { hosts = [1, 1] } }",
            "task[0].workflow.tree-all-reduce.hosts: host 1 is named twice",
        ),
        ("{ pipeline = { hosts = 2, microbatches = 0 } }", "task[0].workflow.pipeline.microbatches: is 0"),
        (
            "{ paralel = { servers = 2 } }",
            "task[0].workflow: unknown value \"paralel\"; did you mean \"parallel\"?",
        ),
    ] {
        let error = error(workflow);
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn a_number_of_flows_beside_tasks_alone_is_refused() {
    let error = |whole: &str| {
        let task = "[[task]]\nworkflow = { parallel = { servers = 2 } }\nsizes = { fixed = \"1MB\" }\nload = 0.5\ncount = 3";
        let table = format!("{whole}\n{task}").parse().unwrap();
        Workload::from_table(&table, &SETTING).map(drop).map_err(|error| error.to_string())
    };
    let expected =
        "flows: counts flows that are of no task, and there are none: tasks have a count of their own";
    assert_eq!(error("flows = 10"), Err(expected.to_owned()));
    assert_eq!(error("flows = 10\nsizes = \"web-search\"\nload = 0.1"), Ok(()));
}
