//! The comparison with ns-3: the same flows over the same fabric under its DCTCP.

use std::path::Path;
use std::process::Command;

use crate::error::Error;
use serde_json::Value;
use tailrace_scenario::Scenario;

use crate::stacks::{full, scenario};

/// What came of it.
pub struct Compared {
    /// ns-3's packet-hops per CPU-second.
    pub theirs: f64,
    /// How many times as many Tailrace does.
    pub ratio: f64,
    /// What was run.
    pub what: String,
}

/// Flows of the list: ns-3 needs about ten seconds for them.
const FLOWS: u32 = 150;

/// Runs both; the inner error says why ns-3 was not measured.
pub fn compare(program: &Path) -> Result<Compared, String> {
    if !program.is_file() {
        return Err(format!(
            "{} is not there (Debian: apt install libns3-dev, then make -C benches/ns3)",
            program.display()
        ));
    }
    run(program).map_err(|e| e.to_string())
}

fn run(program: &Path) -> Result<Compared, Error> {
    let scenario = scenario(FLOWS, "dctcp")?;
    let dir = std::env::temp_dir().join(format!("tailrace-bench-{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|e| Error::storage(&dir, e))?;
    let list = dir.join("flows.csv");
    let result = write_list(&scenario, &list).and_then(|()| {
        let ours = full(&scenario)?.hops_per_second();
        let document = run_ns3(program, &list, &dir.join("fct.csv"))?;
        let theirs = document["packet_hops_per_cpu_second"].as_f64().unwrap_or(f64::NAN);
        let version = document["ns3_version"].as_str().unwrap_or("ns-3").to_owned();
        Ok(Compared {
            theirs,
            ratio: ours / theirs,
            what: format!("{version}; the same {FLOWS} flows under DCTCP"),
        })
    });
    let _ = std::fs::remove_dir_all(&dir);
    result
}

/// The four columns that the ns-3 program reads.
fn write_list(scenario: &Scenario, path: &Path) -> Result<(), Error> {
    let mut text = "src,dst,size_bytes,start_ns\n".to_owned();
    for flow in tailrace_run::feed(scenario)? {
        text += &format!("{},{},{},{}\n", flow.src, flow.dst, flow.size.get(), flow.start.as_ns());
    }
    std::fs::write(path, text).map_err(|e| Error::storage(path, e))
}

fn run_ns3(program: &Path, list: &Path, output: &Path) -> Result<Value, Error> {
    let failed = |what: String| Error::storage(program, std::io::Error::other(what));
    let done = Command::new(program)
        .arg("fct")
        .arg(format!("--flows={}", list.display()))
        .arg(format!("--output={}", output.display()))
        .args(["--load-balancing=spray", "--initial-window=70", "--reordering-threshold=1000000"])
        .output()
        .map_err(|e| failed(e.to_string()))?;
    serde_json::from_slice(&done.stdout)
        .map_err(|e| failed(format!("{e}: {}", String::from_utf8_lossy(&done.stderr))))
}
