//! Mistakes about tasks and coflow traces.

use crate::mistakes::place::{ExperimentFolder, FABRIC, accepted, refused, scheme};

/// An experiment with these fields of a task.
fn task(fields: &str) -> String {
    FABRIC.to_owned() + "[workload]\n[[workload.task]]\n" + fields + "\n" + &scheme("dctcp", "")
}

/// One with this workflow.
fn workflow(workflow: &str) -> String {
    task(&format!("count = 3\nevery = \"1ms\"\nsizes = {{ fixed = \"20KB\" }}\nworkflow = {workflow}"))
}

#[test]
fn the_tasks_are_good() {
    accepted(&workflow("{ parallel = { servers = 2 } }"));
    accepted(
        &(workflow("{ partition-aggregate = {} }")
            + "[[expect]]\ntext = \"tasks end\"\nmax = 0\n[expect.number]\nmetric = \"unfinished_tasks\"\nof = \"dctcp\"\n"),
    );
}

#[test]
fn a_workflow_with_a_cycle_names_it() {
    let stage = |name: &str, from: u8, to: u8, after: &str| {
        format!(
            "[[workload.task.workflow.graph]]\nname = \"{name}\"\nfrom = [{from}]\nto = [{to}]\nafter = [{after}]\n"
        )
    };
    let graph = |a: &str| {
        let stages = stage("a", 0, 1, a) + &stage("b", 1, 0, "\"a\"");
        task(&format!("count = 3\nevery = \"1ms\"\nsizes = {{ fixed = \"20KB\" }}\n{stages}"))
    };
    accepted(&graph(""));
    refused(
        &graph("\"b\""),
        &["x.toml:", "workload.task[0].workflow.graph[0].after: is a cycle: a waits for b waits for a"],
    );
    refused(
        &graph("\"c\""),
        &["workload.task[0].workflow.graph[0].after: unknown stage \"c\"; known are a, b"],
    );
}

#[test]
fn servers_must_be_there() {
    refused(
        &workflow("{ graph = [{ name = \"a\", from = [0], to = [16] }] }"),
        &["workload.task[0].workflow.graph[0].to: host 16 does not exist; the fabric has hosts 0 to "],
    );
    refused(
        &workflow("{ parallel = { clients = [99], servers = 1 } }"),
        &["workload.task[0].workflow.parallel.clients: host 99 does not exist"],
    );
    refused(
        &workflow("{ parallel = { servers = 99 } }"),
        &["workload.task[0].workflow.parallel.servers: is 99, but must be 1 to "],
    );
    refused(
        &workflow("{ partition-aggregate = { stages = 2 } }"),
        &["workload.task[0].workflow.partition-aggregate.stages: is 2, but a pod has only one rack here"],
    );
}

#[test]
fn sizes_and_arrivals_are_given_once() {
    let parallel = "workflow = { parallel = { servers = 2 } }\n";
    for (fields, said) in [
        ("load = 0.5\ncount = 2", "task[0].sizes: is missing; give the bytes of a task"),
        (
            "sizes = \"web-search\"\nflow_sizes = \"web-search\"",
            "task[0].flow_sizes: give sizes or flow_sizes, not both",
        ),
        ("sizes = \"web-search\"\nload = 0.5", "task[0].count: is missing; say how many tasks"),
        ("sizes = \"web-search\"\ncount = 2", "task[0].load: is missing"),
        (
            "sizes = \"web-search\"\ncount = 2\nload = 1.5",
            "task[0].load: is 1.5, but must lie between 0 and 1",
        ),
        (
            "sizes = \"web-search\"\narrivals = \"once\"",
            "task[0].count: is missing; say how many tasks arrive at once",
        ),
        (
            "sizes = \"web-search\"\narrivals = \"once\"\ncount = 2\nload = 0.2",
            "task[0].load: has no meaning",
        ),
        (
            "sizes = \"web-search\"\narrivals = \"once\"\ncount = 4000000000",
            "task[0].count: is 4000000000, and each task has 2 flows, but a run that begins with all of them has at most",
        ),
        (
            "sizes = \"web-search\"\nload = 0.5\ncount = 4000000000",
            "a run has at most 4294967295 flows: 2147483647 tasks",
        ),
        ("sizes = \"data-analytics\"\nload = 0.5\ncount = 2", "task[0].sizes: allows flows of"),
        (
            "sizes = \"web-search\"\nload = 0.5\ncount = 2\ncompute = { exp = \"0s\" }",
            "task[0].compute: is 0",
        ),
        (
            "sizes = \"web-search\"\nload = 0.5\ncount = 2\nserver = 3",
            "task[0].server: unknown field \"server\"",
        ),
    ] {
        refused(&task(&format!("{parallel}{fields}")), &[said]);
    }
    let collective = "workflow = { all-to-all = { hosts = 3 } }\nflow_sizes = { fixed = \"1KB\" }\nevery = \"1ms\"\ncount = 2";
    refused(&task(collective), &["task[0].flow_sizes: needs another workflow"]);
    refused(
        &(FABRIC.to_owned()
            + "[workload]\ntask_counters = 3\nsizes = \"web-search\"\nload = 0.5\nflows = 3\n"
            + &scheme("dctcp", "")),
        &["workload.task_counters: needs [[workload.task]] or a coflow_trace"],
    );
}

#[test]
fn a_workflow_is_one_of_those_that_there_are() {
    let forms = "must be a table of one of parallel, partition-aggregate, shuffle";
    refused(&workflow("\"ring-all-reduce\""), &["task[0].workflow:", forms, "{ ring-all-reduce = { … } }"]);
    refused(&workflow("{}"), &["task[0].workflow:", forms]);
    refused(&workflow("{ parallel = { servers = 2 }, shuffle = {} }"), &["task[0].workflow:", forms]);
    refused(&workflow("{ paralel = { servers = 2 } }"), &["did you mean", "parallel"]);
    let selective = "{ shuffle = { mappers = 2, reducers = 2, stages = 2, selectivity = 1e9 } }";
    refused(&workflow(selective), &["selectivity: is 1000000000, but must be above 0 and at most 1000000"]);
}

#[test]
fn metrics_of_tasks_have_no_size_class() {
    let expect = |class: &str| {
        workflow("{ parallel = { servers = 2 } }")
            + &format!(
                "[[expect]]\ntext = \"x\"\nmin = 0\n[expect.number]\nmetric = \"tct_p95_us\"\nof = \"dctcp\"\nclass = \"{class}\"\n"
            )
    };
    accepted(&expect("all"));
    for class in ["short", "all@deadline"] {
        refused(&expect(class), &["expect[0].number.class: ", "is of flows, but tct_p95_us is of tasks"]);
    }
}

#[test]
fn later_stages_cannot_be_listed_before_a_run() {
    let place = ExperimentFolder::with(&workflow("{ ring-all-reduce = { hosts = 3 } }"));
    let message = place.mistake(&["flows", "x.toml", "--out", "flows.csv"]);
    assert!(message.contains("workload.task[0].workflow: has several stages"), "{message}");
    let one = ExperimentFolder::with(&workflow("{ parallel = { servers = 3 } }"));
    assert!(one.run(&["flows", "x.toml", "--out", "flows.csv"]).status.success());
}

/// What is said of a trace.
fn said_of_trace(trace: &str) -> String {
    let experiment = FABRIC.to_owned() + "[workload]\ncoflow_trace = \"trace.txt\"\n" + &scheme("dctcp", "");
    let place = ExperimentFolder::with(&experiment);
    std::fs::write(place.path("trace.txt"), trace).unwrap();
    place.mistake(&["run", "x.toml"])
}

#[test]
fn a_trace_that_cannot_be_read_says_where() {
    for (trace, said) in [
        ("", "trace.txt:1: workload.coflow_trace: is empty"),
        (
            "900 1\n1 0 1 0 1 1:1\n",
            "trace.txt:1: workload.coflow_trace: has 900 ports, but ports are hosts, and the fabric has ",
        ),
        (
            "3 2\n1 0 1 0 1 1:1\n",
            "trace.txt:2: workload.coflow_trace: is the last line, with coflow 1, but the first line tells 2",
        ),
        ("3 1\n1 0 2 0", "trace.txt:2: workload.coflow_trace: ends before mapper 2 of 2"),
        (
            "3 1\n\n1 0 1 0 1 3:1",
            "trace.txt:3: workload.coflow_trace: port 3 does not exist: the first line tells 3",
        ),
        ("3 1\n1 0 2 1 1 1 2:1", "trace.txt:2: workload.coflow_trace: has mapper 1 twice"),
        ("3 1\n1 0 1 1 2 2:1 2:3", "trace.txt:2: workload.coflow_trace: has reducer 2 twice"),
        ("3 1\n1 soon 1 0 1 1:1", "trace.txt:2: workload.coflow_trace: \"soon\" must be the arrival"),
    ] {
        let message = said_of_trace(trace);
        assert!(message.contains(said), "{said:?} is not in: {message}");
    }
    let missing = FABRIC.to_owned() + "[workload]\ncoflow_trace = \"no.txt\"\n" + &scheme("dctcp", "");
    refused(&missing, &["workload.coflow_trace: cannot read", "no.txt"]);
}

#[test]
fn tasks_share_neither_their_numbers_nor_their_class() {
    let fixed = "sizes = { fixed = \"20KB\" }\n";
    let tasks = format!(
        "[[workload.task]]\ncount = 3\nevery = \"1ms\"\n{fixed}workflow = {{ parallel = {{ servers = 2 }} }}\n"
    );
    let incast = format!(
        "{FABRIC}[workload]\nload = 0.1\nflows = 5\n{fixed}pattern = {{ incast = {{ fan_in = 2 }} }}\n{tasks}{}",
        scheme("dctcp", "")
    );
    refused(&incast, &["x.toml:", "workload.pattern: is incast, whose bursts are numbered as tasks are"]);
    let last = format!(
        "{FABRIC}[workload]\ncoflow_trace = \"trace.txt\"\n{tasks}class = 255\n{}",
        scheme("dctcp", "")
    );
    let place = ExperimentFolder::with(&last);
    std::fs::write(place.path("trace.txt"), "3 1\n1 0 1 0 1 1:1\n").unwrap();
    let message = place.mistake(&["run", "x.toml"]);
    assert!(message.contains("coflow_trace: has a traffic class of its own"), "{message}");
}
