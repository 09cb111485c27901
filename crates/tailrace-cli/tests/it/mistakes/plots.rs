//! Mistakes in `[plot.NAME]`, found before anything runs, also by a program that draws nothing; names that are paths.

use crate::mistakes::place::{ExperimentFolder, FABRIC, accepted, refused, rule, scheme};

fn with_plot(name: &str, fields: &str) -> String {
    format!("{FABRIC}{}{}[plot.{name}]\n{fields}\n", rule(""), scheme("dctcp", ""))
}

#[test]
fn plots_are_checked_before_anything_runs() {
    accepted(&with_plot("a", "x = \"scheme\"\ny = \"fct_mean_us\""));
    refused(&with_plot("a", "x = \"laod\"\ny = \"flows\""), &["x.toml:16: plot.a.x: unknown axis \"laod\""]);
    refused(
        &with_plot("a", "x = \"scheme\"\ny = \"fct_men_us\""),
        &["plot.a.y", "did you mean \"fct_mean_us\"?"],
    );
    refused(
        &with_plot("a", "x = \"scheme\"\ny = \"flows\"\ncolor = 1"),
        &["x.toml:18: plot.a.color: unknown field"],
    );
    refused(
        &with_plot("a", "kind = \"series\"\ny = \"port_bytes\""),
        &["plot.a.y: is a series, and none is recorded"],
    );
}

#[test]
fn names_are_never_paths() {
    let place = ExperimentFolder::new();
    let outside = tempfile::tempdir().unwrap();
    for name in
        [outside.path().join("x").display().to_string(), "../../x".into(), "..".into(), "a\\\\b".into()]
    {
        place.write(
            "x.toml",
            &with_plot(&format!("\"{name}\""), "kind = \"workloads\"\nnames = \"web-search\""),
        );
        let message = place.mistake(&["run", "x.toml"]);
        assert!(message.contains("x.toml:15: plot: ") && message.contains("not a path"), "{message}");
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(place.dir()).unwrap().count(), 1);
}

#[test]
fn a_file_called_by_a_path_leaves_results_below_out() {
    let place = ExperimentFolder::new();
    for (file, name) in [("..toml", "experiment"), ("...toml", "experiment"), (".x.toml", "x")] {
        place.write(file, &with_plot("a", "x = \"scheme\"\ny = \"flows\""));
        assert!(place.run(&["run", file]).status.success(), "{file}");
        assert!(place.path(&format!("out/{name}/summary.csv")).exists(), "{file}");
    }
    assert!(!place.path("summary.csv").exists() && !place.path("out/summary.csv").exists());
}
