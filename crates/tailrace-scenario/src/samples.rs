//! What a run will remember of its samples, estimated before it starts.

use tailrace_config::ScenarioError;
use tailrace_core::Time;
use tailrace_fabric::FabricParams;
use tailrace_workload::{Plan, Workload};

use crate::measure::{Measure, SamplePorts};

/// Bytes of a sampled number with its time, name and place.
const ROW_BYTES: f64 = 48.0;
/// Numbers of a port: bytes and packets in all, and the bytes of eight queues.
const ROWS_A_PORT: usize = 10;
/// More does not fit the memory of usual machines.
const MAX_BYTES: f64 = 8e9;

/// Refuses samples that would fill memory. Where nothing says when flows stop to start, nothing is known of it.
pub(crate) fn check(
    measure: &Measure,
    fabric: &FabricParams,
    slices: usize,
    workload: &Workload,
    plan: &Plan,
) -> Result<(), ScenarioError> {
    let (Some(every), Some(end)) = (measure.sample_every, expected_end(measure, workload, plan)) else {
        return Ok(());
    };
    let ports = match &measure.sample_ports {
        SamplePorts::None => 0,
        SamplePorts::All => fabric.build().ports.len(),
        SamplePorts::Named(names) => names.len(),
    };
    let samples = end.as_secs_f64() / every.as_secs_f64();
    let bytes = samples * (ports * ROWS_A_PORT + slices) as f64 * ROW_BYTES;
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    let least = Time::from_secs_f64(every.as_secs_f64() * bytes / MAX_BYTES);
    let message = format!(
        "is {every}: {samples:.0} samples of {ports} ports would take about {:.0} GB of memory, but may take {:.0} GB; \
         sample at most every {least}, or fewer ports",
        bytes / 1e9,
        MAX_BYTES / 1e9
    );
    Err(ScenarioError::new("measure.sample_every", message))
}

/// When the run ends, roughly: at its horizon, or when the last flow starts.
fn expected_end(measure: &Measure, workload: &Workload, plan: &Plan) -> Option<Time> {
    let rate: f64 = (0..workload.rules.len()).map(|rule| plan.flows_per_sec(rule)).sum();
    let by_flows =
        workload.flows.filter(|_| rate > 0.0).map(|flows| Time::from_secs_f64(flows as f64 / rate));
    [measure.horizon, workload.duration, by_flows].into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::Scenario;

    /// Of 144 hosts, 9 leaves and 4 spines, which have 144 · 2 + 9 · 4 · 2 = 360 ports.
    fn planned(workload: &str, measure: &str) -> Result<(), String> {
        let text = format!(
            "fabric = {{ preset = \"spine144\" }}\nscheme = {{ name = \"x\" }}\n[workload]\nsizes = {{ fixed = \"1MB\" }}\n\
             load = 0.5\n{workload}\n[measure]\n{measure}"
        );
        let mut scenario = Scenario::parse(&text).map_err(|error| error.to_string())?;
        scenario.read_files(Path::new("")).map_err(|error| error.to_string())
    }

    #[test]
    fn samples_that_fill_memory_are_refused_with_what_would_not() {
        let all = |every: &str| format!("sample_every = \"{every}\"\nsample_ports = \"all\"");
        assert_eq!(planned("duration = \"1s\"", &all("1ms")), Ok(()));
        // A million samples of 3600 numbers of 48 bytes.
        let error = planned("duration = \"1s\"", &all("1us")).unwrap_err();
        assert!(error.starts_with("measure.sample_every: is 1us: 1000000 samples of 360 ports"), "{error}");
        assert!(error.contains("about 173 GB") && error.contains("sample at most every 21.6us"), "{error}");
        let horizon = format!("{}\nhorizon = \"10ms\"", all("1us"));
        assert_eq!(planned("duration = \"1s\"", &horizon), Ok(()), "the run ends before");
        let port = "sample_every = \"1us\"\nsample_ports = [\"leaf0->host0\"]";
        assert_eq!(planned("duration = \"1s\"", port), Ok(()));
        // 144 hosts at 10 Gbps and half load start 90,000 flows of 1 MB a second, headers left out.
        let error = planned("flows = 9_000_000", &all("1ms")).unwrap_err();
        assert!(error.contains("samples of 360 ports"), "{error}");
        assert_eq!(planned("flows = 9_000", &all("1ms")), Ok(()));
    }

    #[test]
    fn periods_that_no_run_survives_are_refused() {
        let port = "sample_every = \"1ps\"\nsample_ports = [\"leaf0->host0\"]";
        let error = planned("flows = 1", port).unwrap_err();
        assert!(error.ends_with("measure.sample_every: is 1ps, but must be at least 100ns"), "{error}");
        let error = planned("flows = 1", "[transport]\nmin_rto = \"1ns\"").unwrap_err();
        assert!(error.ends_with("transport.min_rto: is 1ns, but must be at least 1us"), "{error}");
    }
}
