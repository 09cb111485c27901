//! Options that do not fit together.

use crate::mistakes::place::{ExperimentFolder, FABRIC, rule, scheme};

fn mistake(place: &ExperimentFolder, options: &str) -> String {
    place.mistake(&options.split(' ').collect::<Vec<_>>())
}

#[test]
fn thresholds_say_which_option_is_wrong() {
    let place = ExperimentFolder::new();
    place.write("bad.cdf", "100 0\n200 0.5\n150 0.7\n300 1\n");
    for (options, said) in [
        ("--load 0.5", "--sizes: missing"),
        ("--sizes web-search", "--load: missing"),
        ("--sizes web-search --load 1", "--load: 1 must lie between 0 and 1"),
        (
            "--sizes web-serch --load 0.5",
            "--sizes: unknown workload \"web-serch\"; did you mean \"web-search\"?",
        ),
        ("--sizes web-search --load 0.5 --queues 9", "--queues: 9 queues: a port has 1 to 8"),
        ("--sizes web-search --load 0.5 --known web-search", "--known: means nothing for pias"),
        ("--scheme karuna", "--known: missing: give --known and --known-load"),
        ("--scheme karuna --sizes web-search --load 0.5", "--sizes: means nothing for karuna"),
        ("--scheme karuna --known web-search", "--known-load: missing"),
        ("--scheme karuna --unknown-load 0.3", "--unknown: missing"),
        ("--scheme karuna --known web-search --known-load 0", "there are no flows without deadlines"),
        ("--scheme karuna --known web-search --known-load -0.2", "--known-load: -0.2 must be at least 0"),
        ("--scheme karuna --known web-search --known-load 0.5 --deadline-load 0.5", "1.00 together"),
        (
            "--scheme karuna --known web-search --known-load 0.5 --deadline-load nan",
            "--deadline-load: NaN must",
        ),
        (
            "--scheme karuna --known web-search --known-load 0.5 --queues 1",
            "--queues: 1: karuna needs 2 to 8",
        ),
        (
            "--scheme karuna --known web-search --known-load 0.5 --queues 9",
            "--queues: 9: karuna needs 2 to 8",
        ),
        ("--scheme karuna --known web-search --known-load nan", "--known-load: NaN must be at least 0"),
        (
            "--scheme karuna --known web-search --known-load 1.2",
            "--known-load: 1.2 must be at least 0 and below 1",
        ),
        ("--scheme karuna --deadline-load 0.3", "--known: missing"),
        ("--scheme karuna --known web-serch --known-load 0.5", "--known: unknown workload \"web-serch\""),
        ("--scheme karuna --unknown nowhere.cdf --unknown-load 0.5", "--unknown: unknown workload"),
        ("--scheme karuna --unknown bad.cdf --unknown-load 0.5", "bad.cdf:3"),
        ("--scheme karuma", "invalid value 'karuma' for '--scheme <NAME>'"),
    ] {
        let message = mistake(&place, &format!("thresholds {options}"));
        assert!(message.contains(said), "{said:?} is not in: {message}");
    }
}

#[test]
fn numbers_of_runs_and_threads_say_what_they_may_be() {
    let place = ExperimentFolder::new();
    for (options, option, least) in [
        ("run x.toml --threads -1", "--threads <N>", 0),
        ("run x.toml --jobs -1", "--jobs <N>", 1),
        ("run x.toml --jobs 0", "--jobs <N>", 1),
        ("run x.toml --threads all", "--threads <N>", 0),
        ("check x.toml --jobs 1.5", "--jobs <N>", 1),
    ] {
        let message = mistake(&place, options);
        let said = format!("for '{option}': must be a whole number from {least} on, such as 2");
        assert!(message.contains(&said), "{said:?} is not in: {message}");
    }
}

#[test]
fn queues_of_switches_say_which_option_is_wrong() {
    let one = FABRIC.to_owned() + &rule("") + &scheme("mlfq", "");
    let place = ExperimentFolder::with(&one);
    place.write("two.toml", &(one + &scheme("dctcp", "")));
    let set = "scheme.dctcp.params.port";
    let karuna = "--scheme karuna --rates 1Gbps --sizes web-search --load 0.5";
    for (options, said) in [
        ("--format sonic", "--scheme: missing: give an experiment file or a scheme's name"),
        (
            "--format sonic --scheme pais --rates 1Gbps",
            "--scheme: unknown scheme \"pais\"; did you mean \"pias\"?",
        ),
        ("--format sonic --scheme pias", "--rates: missing"),
        ("--format sonic --scheme pias --rates 10", "cannot read \"10\" as a rate"),
        ("--format sonic --scheme dctcp --rates 0bps", "0bps"),
        ("--format sonic --scheme pias --rates 1Gbps", "needs a workload with sizes and a load; give a list"),
        ("--format sonic --scheme pias --rates 1Gbps --sizes web-search", "--load: missing"),
        ("--format sonic --scheme pias --rates 1Gbps --load 0.5", "--sizes: missing"),
        ("--format sonic --scheme pias --rates 1Gbps --sizes web-search --load 1.5", "between 0 and 1"),
        ("--format sonic --scheme pias --rates 1Gbps --sizes web-search --load nan", "between 0 and 1"),
        ("--format sonic --scheme pias --rates 1Gbps --sizes no.cdf --load 0.5", "no.cdf"),
        ("--format sonic --scheme mlfq --rates 1Gbps --queues 9", "9 queues: a port has 1 to 8"),
        ("--format sonic --scheme mlfq --rates 1Gbps --queues 0", "0 queues: a port has 1 to 8"),
        ("--format sonic --scheme awafs --rates 1Gbps", "awafs: as set here, it asks more of a switch"),
        ("--format sonic --scheme fifo --rates 1Gbps", "fifo: as set here"),
        ("--format sonic --scheme d3 --rates 1Gbps", "d3: as set here"),
        (
            "--format sonic --scheme karuna --rates 1Gbps",
            "needs a workload with sizes and a load; give lists",
        ),
        (&format!("--format sonic {karuna} --queues 1"), "2 to 8"),
        (
            &format!("--format json {karuna} --set scheme.karuna.params.mcp.form=fast"),
            "known are normal, prototype",
        ),
        (
            &format!("--format json {karuna} --set scheme.karuna.params.thresholds.fitted=web-serch"),
            "--set scheme.karuna.params.thresholds.fitted: thresholds is no table",
        ),
        (
            "--format sonic --scheme dctcp --rates 1Gbps --ports Ethernet0",
            "--ports: \"Ethernet0\" is not RATE=NAME",
        ),
        ("--format sonic --scheme dctcp --rates 1Gbps --ports 1Gbps=a,a", "--ports: a is named twice"),
        ("--format sonic --scheme dctcp --rates 1Gbps --ports 1Gbps=a|b", "is no name of a port"),
        (
            "--format sonic --scheme dctcp --rates 1Gbps --ports 2Gbps=a",
            "--ports: 2Gbps is none of the rates",
        ),
        ("--format json --scheme dctcp --rates 1Gbps --ports 1Gbps=a", "--ports: means nothing here"),
        ("--format json x.toml --queues 4", "--queues: the experiment file says this"),
        ("--format json two.toml", "--scheme: missing: choose one of dctcp, mlfq"),
        ("--format json two.toml --scheme pias", "--scheme: unknown scheme of this experiment \"pias\""),
        ("--format json missing.toml", "missing.toml"),
        ("--format cisco x.toml", "invalid value 'cisco' for '--format <FORMAT>'"),
        ("x.toml", "the following required arguments were not provided"),
        (
            &format!("--format sonic --scheme dctcp --rates 1Gbps --set {set}.scheduler=drr"),
            "weighted queues",
        ),
        (
            &format!("--format linux-tc --scheme dctcp --rates 1Gbps --set {set}.marking_threshold=1KB"),
            "1500 to",
        ),
        (
            &format!("--format linux-tc --scheme dctcp --rates 1Gbps --set {set}.marking_threshold=5GB"),
            "1500 to",
        ),
        (
            &format!("--format json --scheme dctcp --rates 1Gbps --set {set}.marking_threshold={{}}"),
            "table is empty",
        ),
    ] {
        let message = mistake(&place, &format!("qos --out out {options}"));
        assert!(message.contains(said), "{said:?} is not in: {message}");
    }
}
