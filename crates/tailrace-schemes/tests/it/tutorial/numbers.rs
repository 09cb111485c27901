//! The tutorial's experiment, and the numbers that it prints.

use std::ops::ControlFlow;

use tailrace_core::{FlowRecord, HEADER_BYTES, Scheme};
use tailrace_packet::{Watch, World};
use tailrace_scenario::Scenario;
use tailrace_schemes::dctcp::Dctcp;
use tailrace_schemes::pias::Pias;
use tailrace_workload::feed::Feed;

use crate::tutorial::blocks;
use crate::tutorial::sjf::Sjf;

/// Mean and 99th percentile of completion times in µs, and 99th percentile of slowdowns, by size class.
struct Row {
    class: &'static str,
    values: [f64; 3],
}

/// Short and long flows of the tutorial's `sjf.toml` under scheme `S`.
fn run<S: Scheme>(params: &str) -> [Row; 2] {
    let mut table: toml::Table = blocks("toml")[0].parse().unwrap();
    table.remove("title");
    let scheme = format!("name = \"{}\"\nparams = {{ {params} }}", S::NAME).parse().unwrap();
    table.insert("scheme".into(), toml::Value::Table(scheme));
    let scenario = Scenario::from_table(table).unwrap();
    let fabric = scenario.fabric.build();
    let params = scenario.scheme.params.clone().try_into().unwrap();
    let scheme = S::new(params, &scenario.facts(&fabric)).unwrap();
    let (transport, seed) = (scenario.transport, scenario.seed);
    let flows = Feed::new(&scenario.workload, &scenario.base, scenario.setting(), seed).unwrap();
    let mut world = World::new(scheme, &fabric, transport, flows, None, Watch::default(), seed);
    world.run(&mut |_| ControlFlow::Continue(()));
    let outcome = world.into_outcome();
    let measure = |records: &mut dyn Iterator<Item = FlowRecord>| {
        let (mut times, mut slowdowns): (Vec<f64>, Vec<f64>) = records
            .map(|record| {
                let FlowRecord { src, dst, id, size, .. } = record;
                let ideal = fabric.ideal_fct(src, dst, id, size, &transport, HEADER_BYTES);
                let fct = record.fct().unwrap().as_ps() as f64;
                (fct / 1e6, fct / ideal.as_ps() as f64)
            })
            .unzip();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        [mean, nearest_rank_p99(&mut times), nearest_rank_p99(&mut slowdowns)]
    };
    let short = |record: &FlowRecord| record.size <= scenario.measure.short;
    let long = |record: &FlowRecord| record.size > scenario.measure.long;
    [
        Row { class: "short", values: measure(&mut outcome.flows.iter().filter(short)) },
        Row { class: "long", values: measure(&mut outcome.flows.iter().filter(long)) },
    ]
}

fn nearest_rank_p99(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() * 99).div_ceil(100) - 1]
}

/// The values that the tutorial prints for a scheme, by class.
fn printed(block: &str, scheme: &str, class: &str) -> [f64; 3] {
    let prefix = format!("{scheme},{class},");
    let line = block.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap();
    let values: Vec<f64> = line.split(',').map(|value| value.parse().unwrap()).collect();
    values.try_into().unwrap()
}

#[test]
fn the_tutorial_prints_the_numbers_that_its_experiment_gives() {
    let tables = blocks("");
    let with = |text: &str| *tables.iter().find(|block| block.starts_with(text)).unwrap();
    let (first, alike) = (with("scheme,class,fct_mean_us,fct_p99_us,slowdown_p99\n"), with("sjf,short,"));
    let runs = [
        (first, "sjf", run::<Sjf>("")),
        (first, "dctcp", run::<Dctcp>("")),
        (first, "pias", run::<Pias>("")),
        (alike, "sjf", run::<Sjf>("law = { initial_alpha = 0 }")),
    ];
    let mut wrong = Vec::new();
    for (block, scheme, rows) in runs {
        for Row { class, values } in rows {
            let printed = printed(block, scheme, class);
            let close = std::iter::zip(values, printed).all(|(is, was)| (is / was - 1.0).abs() < 1e-9);
            if !close {
                wrong.push(format!("{scheme},{class},{},{},{}", values[0], values[1], values[2]));
            }
        }
    }
    assert!(wrong.is_empty(), "CONTRIBUTING.md prints other numbers than these:\n{}", wrong.join("\n"));
}
