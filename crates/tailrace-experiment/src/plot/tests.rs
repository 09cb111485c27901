use std::path::Path;

use super::*;
use crate::Experiment;

const EXPERIMENT: &str = r#"title = "two schemes, two loads, two seeds"
[fabric]
preset = "micro4"
[workload]
sizes = "web-search"
load = 0.5
flows = 20
[measure]
sample_every = "1ms"
sample_ports = "all"
[[scheme]]
name = "dctcp"
label = "A"
[[scheme]]
name = "fifo"
label = "B"
[sweep]
"workload.load" = [0.8, 0.4]
seed = [1, 2]
"#;

/// What is said of an experiment with these fields of a plot.
fn said(base: &str, fields: &str) -> String {
    let text = format!("{base}\n[plot.test]\n{fields}\n");
    match Experiment::from_text(&text, Path::new("x.toml"), &[], &[], 1.0) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn good_plots_are_good() {
    for fields in [
        "x = \"workload.load\"\ny = \"fct_mean_us\"",
        "x = \"seed\"\ny = [\"timeouts\", \"series:port_bytes\"]\nat = { \"workload.load\" = 0.8 }\nunit = \"ms\"",
        "x = \"scheme\"\ny = \"flows\"\ngroup = \"workload.load\"\nspread = \"confidence\"\nlog = [\"x\", \"y\"]",
        "kind = \"bars\"\nx = \"workload.load\"\ny = \"slowdown_mean\"\nrelative_to = \"A\"\nclass = \"short@1\"",
        "x = \"workload.load\"\ny = \"flows\"\nrelative_to = \"A\"\ngroup = \"seed\"",
        "kind = \"cdf\"\nat = { \"workload.load\" = [0.8], scheme = [\"A\", \"B\"] }\nclass = \"all@deadline\"",
        "kind = \"series\"\ny = \"port_bytes\"\nindex = [0, 1]\nplaces = \"host0->leaf0\"\ngroup = [\"scheme\", \"workload.load\"]",
        "kind = \"workloads\"\nnames = [\"web-search\", \"data-mining\"]",
    ] {
        assert_eq!(said(EXPERIMENT, fields), "", "{fields}");
    }
}

#[test]
fn mistakes_name_line_field_and_what_would_be_right() {
    let load = "x = \"workload.load\"\ny = \"timeouts\"\n";
    for (fields, message) in [
        (
            "kind = \"pie\"",
            "kind: unknown kind of plot \"pie\"; known are line, bars, cdf, series, workloads",
        ),
        ("kind = 3", "kind: must be text in quotes"),
        ("x = \"workload.load\"", "y: is missing, and a line plot needs it"),
        ("kind = \"series\"", "y: is missing, and a series plot needs it"),
        ("kind = \"workloads\"", "names: is missing, and a workloads plot needs it"),
        ("kind = \"workloads\"\nnames = []", "names: must name at least one workload"),
        (
            "kind = \"workloads\"\nnames = \"web-serch\"",
            "names: unknown workload \"web-serch\"; did you mean",
        ),
        ("x = \"seed\"\ny = 3", "y: must be text or a list of text"),
        ("x = \"seed\"\ny = [\"timeouts\", \"timeouts\"]", "y: names \"timeouts\" twice"),
        ("x = \"seed\"\ny = []", "y: must name at least one column"),
        ("x = [\"seed\"]\ny = \"timeouts\"", "x: is a list, but must be text in quotes"),
        (
            "x = \"seed\"\ny = \"fct_maen_us\"",
            "y: unknown column \"fct_maen_us\"; did you mean \"fct_mean_us\"?",
        ),
        ("x = \"seed\"\ny = \"tct_mean_us\"", "y: tct_mean_us is of tasks, and the workload has none"),
        ("x = \"sede\"\ny = \"timeouts\"", "x: unknown axis \"sede\"; did you mean \"seed\"?"),
        (
            &format!("{load}colour = \"red\""),
            "colour: unknown field of a line plot \"colour\"; known are x, y",
        ),
        (&format!("{load}index = 1"), "index: unknown field of a line plot"),
        (&format!("{load}class = \"shrt\""), "class: unknown class \"shrt\"; did you mean \"short\"?"),
        (&format!("{load}class = \"short@late\""), "class: \"@late\" is neither a traffic class"),
        (&format!("{load}at = 3"), "at: is integer `3`, but must be"),
        (&format!("{load}at = {{ k = 3 }}"), "at: unknown axis \"k\"; known are scheme, workload.load, seed"),
        (&format!("{load}at = {{ seed = 3 }}"), "at: no run has seed = 3; there are 1, 2"),
        (&format!("{load}at = {{ scheme = [\"A\", \"C\"] }}"), "at: no run has scheme = C; there are A, B"),
        (&format!("{load}group = []"), "group: leaves out \"scheme\", in which runs differ: add it here"),
        (&format!("{load}group = \"schem\""), "group: unknown axis \"schem\"; did you mean \"scheme\"?"),
        (&format!("{load}relative_to = \"C\""), "relative_to: unknown scheme \"C\"; known are A, B"),
        (&format!("{load}log = \"z\""), "log: must be \"x\", \"y\" or a list of both"),
        (&format!("{load}unit = \"h\""), "unit: unknown value \"h\"; known are us, ms, s"),
        (
            &format!("{load}spread = \"sigma\""),
            "spread: unknown value \"sigma\"; known are range, confidence",
        ),
        ("kind = \"cdf\"\nof = \"task\"", "of: unknown value \"task\"; did you mean \"tasks\"?"),
        ("kind = \"cdf\"\nof = \"tasks\"", "of: must be \"flows\": the workload has no tasks"),
        ("kind = \"cdf\"\nof = \"tasks\"\nclass = \"short\"", "class: \"short\" is of flows"),
        ("kind = \"cdf\"\ny = \"fct\"", "y: unknown column of flows \"fct\"; "),
        ("kind = \"cdf\"\ny = [\"fct_ns\", \"slowdown\"]", "y: must be one column of flows"),
        ("kind = \"series\"\ny = \"a\"\nindex = \"b\"", "index: must be a whole number from 0 to 65535"),
    ] {
        let said = said(EXPERIMENT, fields);
        assert!(said.starts_with(&format!("plot.test.{message}")), "{fields}: {said}");
    }
}

#[test]
fn series_must_be_recorded() {
    let unsampled = EXPERIMENT.replace("sample_every = \"1ms\"\nsample_ports = \"all\"\n", "");
    for fields in [
        "kind = \"series\"\ny = \"a\"\nat = { \"workload.load\" = 0.8 }",
        "x = \"workload.load\"\ny = \"series:a\"",
    ] {
        assert!(said(&unsampled, fields).starts_with("plot.test.y: is a series, and none is recorded"));
        assert_eq!(said(EXPERIMENT, fields), "");
        assert_eq!(said(&unsampled.replace("[measure]", "[measure]\ntrace_every_flow = 1"), fields), "");
    }
}

#[test]
fn curves_can_be_told_apart() {
    let seeds: Vec<String> = (1..=11).map(|seed| seed.to_string()).collect();
    let many = EXPERIMENT.replace("[1, 2]", &format!("[{}]", seeds.join(", ")));
    let fields = "x = \"workload.load\"\ny = \"timeouts\"\ngroup = [\"scheme\", \"seed\"]";
    assert!(said(&many, fields).starts_with("plot.test.group: would draw 22 curves"));
    assert_eq!(said(&many, &format!("{fields}\nat = {{ seed = [1, 2, 3] }}")), "");
}

#[test]
fn names_are_no_paths() {
    for name in ["\"/tmp/x\"", "\"../../x\"", "\"a/b\"", "\".x\"", "\"\"", "\"a\\u0000b\""] {
        let text = format!("{EXPERIMENT}\n[plot.{name}]\nkind = \"workloads\"\nnames = \"web-search\"\n");
        let error = Experiment::from_text(&text, Path::new("x.toml"), &[], &[], 1.0).unwrap_err().to_string();
        assert!(error.starts_with("plot: ") && error.contains("not a path"), "{name}: {error}");
    }
    for other in ["plot = 3\n", "[[plot]]\nx = 1\n"] {
        let text = match other.starts_with('[') {
            true => format!("{EXPERIMENT}\n{other}"),
            false => format!("{other}{EXPERIMENT}"),
        };
        let error = Experiment::from_text(&text, Path::new("x.toml"), &[], &[], 1.0).unwrap_err().to_string();
        assert_eq!(error, "plot: must be tables, [plot.NAME]");
    }
    let error =
        Experiment::from_text(&format!("{EXPERIMENT}\n[plot]\nx = 3\n"), Path::new("x.toml"), &[], &[], 1.0);
    assert!(error.unwrap_err().to_string().starts_with("plot.x: must be a table"));
}

fn ground(left_out: &str, scale: f64) -> Ground {
    let text = format!(
        "left_out = [{left_out}]\nscale = {scale}\ntasks = false\nclasses = [\"all\", \"short\"]\n\
         [axes]\nscheme = [\"A\", \"B\", \"A\", \"B\"]\nload = [0.8, 0.8, 0.4, 0.4]\n"
    );
    Ground::found(&text).unwrap()
}

fn on(fields: &str, ground: &Ground) -> Option<serde_json::Value> {
    let table: Table = fields.parse().unwrap();
    Plot::read("test", &table.into()).and_then(|plot| plot.on("test", ground)).unwrap()
}

#[test]
fn who_draws_is_told_all_fields_of_the_kind() {
    let plot = on("kind = \"cdf\"\nat = { load = 0.8, scheme = [\"A\"] }", &ground("", 1.0)).unwrap();
    let expected = serde_json::json!({
        "kind": "cdf", "title": "", "x_label": "", "y_label": "", "log": ["x"], "class": "all", "group": ["scheme"],
        "at": { "load": [0.8], "scheme": ["A"] }, "y": ["fct_ns"], "unit": "us", "of": "flows",
    });
    assert_eq!(plot, expected);
    let mut both = ground("", 1.0);
    both.axes.push(("level".into(), ["packet", "packet", "flow", "flow"].map(toml::Value::from).to_vec()));
    let plot = on("x = \"load\"\ny = \"flows\"", &both).unwrap();
    assert_eq!(plot["group"], serde_json::json!(["scheme", "level"]));
}

#[test]
fn what_is_about_schemes_or_points_that_are_not_there_is_not_drawn() {
    for (fields, drawn) in [
        ("x = \"load\"\ny = \"flows\"", true),
        ("x = \"load\"\ny = \"flows\"\nrelative_to = \"C\"", false),
        ("x = \"load\"\ny = \"flows\"\nrelative_to = \"A\"", true),
        ("x = \"load\"\ny = \"flows\"\nrelative_to = \"A\"\nat = { scheme = [\"A\", \"C\"] }", false),
        ("x = \"load\"\ny = \"flows\"\nat = { scheme = \"C\" }", false),
        ("x = \"load\"\ny = \"flows\"\nat = { scheme = [\"A\", \"C\"] }", true),
        ("kind = \"workloads\"\nnames = \"web-search\"", true),
    ] {
        assert_eq!(on(fields, &ground("\"C\"", 1.0)).is_some(), drawn, "{fields}");
    }
    let missing = "x = \"load\"\ny = \"flows\"\nat = { load = 0.6 }";
    assert!(on(missing, &ground("", 0.1)).is_none());
    let table: Table = missing.parse().unwrap();
    assert!(Plot::read("test", &table.into()).unwrap().on("test", &ground("", 1.0)).is_err());
}

/// What a shipped experiment's plots draw from, without the work of building every scenario.
fn ground_of(table: &Table) -> Ground {
    let schemes = table["scheme"].as_array().unwrap();
    let label = |scheme: &toml::Value| scheme.get("label").unwrap_or(&scheme["name"]).clone();
    let points: Vec<_> = crate::spec::sweep::Sweep::of(table).unwrap().points().collect();
    let runs = || points.iter().flat_map(|point| schemes.iter().map(move |scheme| (point, scheme)));
    let mut axes = vec![("scheme".to_owned(), runs().map(|(_, scheme)| label(scheme)).collect::<Vec<_>>())];
    for axis in points[0].names() {
        let values = runs().map(|(point, _)| point.get(&axis).unwrap().clone()).collect();
        axes.push((axis, values));
    }
    let workload = table["workload"].as_table().unwrap();
    let tasks = workload.contains_key("task") || workload.contains_key("coflow_trace");
    Ground { axes, whole: true, tasks, series: true, ..Ground::default() }
}

#[test]
fn shipped_experiments_draw_what_there_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut folders = vec![root];
    let mut plots = 0;
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "toml") {
                let table: Table = std::fs::read_to_string(&path).unwrap().parse().unwrap();
                for (name, plot) in Plot::all(&table).unwrap() {
                    let drawn = plot.on(&name, &ground_of(&table));
                    assert!(matches!(drawn, Ok(Some(_))), "{}: {drawn:?}", path.display());
                    plots += 1;
                }
            }
        }
    }
    assert!(plots > 50, "{plots}");
}
