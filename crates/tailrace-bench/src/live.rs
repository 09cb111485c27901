//! `tailrace-bench --level live`: frames through a live switch per CPU-second of its thread, against a forwarder over the
//! same links that has no fabric, and against a bridge of the kernel; what a port costs by itself; and how late frames
//! leave.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;
use cpu_time::ThreadTime;
use serde_json::{Value, json};
use tailrace_console::complain;
use tailrace_core::{Lateness, Time, duration};
use tailrace_linux::bench::{
    Cost, Forwarder, arrived, bridge, carry_bursts, flood, flood_frame, send_bursts,
};
use tailrace_linux::{Hosts, Wanted};
use tailrace_live::Live;
use tailrace_run::RunError;
use tailrace_scenario::Scenario;

use crate::{Report, args, median, visitors};

/// Wire bytes of the frames, all headers but Ethernet's included.
const MTU: u16 = 1500;
/// Bursts of frames that each part carries, and before that such as are not measured.
const BURSTS: u32 = 1500;
const WARM_UP: u32 = 100;
/// For how long it is measured how late frames are.
const LAG_MEASURED: Time = Time::from_ms(2500);
/// Frames through a port alone.
const PORT_FRAMES: u64 = 1_000_000;
/// The rate of hosts' links of which it is told how many a core carries (Mbps).
const HOST_MBPS: f64 = 100.0;
/// A core cannot do without pauses.
const USABLE: f64 = 0.9;
/// A switch must do so many of the frames that a forwarder does over the same links.
const MIN_RATIO: f64 = 0.6;
/// So many frames per CPU-second must go through a port alone.
const MIN_THROUGH_PORT: f64 = 5e6;
const KINDS: [(&str, Wanted); 2] = [("AF_XDP", Wanted::Xdp), ("AF_PACKET", Wanted::Packet)];

/// Two hosts and a switch whose links are faster than any flood.
const SCENARIO: &str = r#"
[fabric]
kind = "star"
hosts = 2
host_rate = "100Gbps"
host_delay = "1us"
buffer = "4MB"
[workload]
sizes = "web-search"
load = 0.5
flows = 1
[scheme]
name = "pias"
"#;

/// One kind of links, measured: frames per CPU-second of the forwarder and of the switch, a pair a round.
#[derive(Debug, Default)]
struct Kind {
    name: &'static str,
    forwarder: Vec<f64>,
    switch: Vec<f64>,
}

impl Kind {
    fn forwarder(&self) -> f64 {
        median(self.forwarder.clone())
    }
    fn switch(&self) -> f64 {
        median(self.switch.clone())
    }
    fn ratio(&self) -> f64 {
        median(self.switch.iter().zip(&self.forwarder).map(|(switch, bare)| switch / bare).collect())
    }
    fn json(&self) -> Value {
        json!({
            "links": self.name,
            "forwarder_frames_per_cpu_second": self.forwarder(),
            "switch_frames_per_cpu_second": self.switch(),
            "ratio_to_forwarder": self.ratio(),
        })
    }
}

/// Returns the report, and what is less than it must be.
pub fn measure(options: &args::Bench) -> Result<(Report, Vec<String>), Error> {
    let scenario = Scenario::parse(SCENARIO)?;
    let hosts = Hosts::new(2, usize::from(MTU), None).map_err(RunError::from)?;
    let kinds: Vec<(&str, Wanted)> =
        KINDS.into_iter().filter(|&(name, wanted)| works(&hosts, name, wanted)).collect();
    let mut measured: Vec<Kind> = kinds.iter().map(|&(name, _)| Kind { name, ..Kind::default() }).collect();
    let (mut ports, mut bridges) = (Vec::new(), Vec::new());
    for round in 1..=options.rounds {
        complain!("round {round} of {}", options.rounds);
        for (kind, &(_, wanted)) in measured.iter_mut().zip(&kinds) {
            kind.forwarder.push(forwarder(&hosts, wanted)?);
            let (hosts, frame) = (&hosts, flood_frame(0, 1, MTU));
            let cost = visitors::carry_bursts(&scenario, hosts, wanted, &frame, BURSTS)?;
            kind.switch.push(cost.frames_per_cpu_second());
        }
        ports.push(port(&scenario)?);
        bridges.push(kernel_bridge()?);
    }
    complain!("how late frames leave");
    let carried = USABLE * measured[0].switch();
    let lag = [0.5, 0.9].map(|part| lateness(&scenario, &hosts, part, carried));
    let lag = lag.into_iter().collect::<Result<Vec<_>, _>>()?;
    let port = median(ports);
    let missed = shortfalls(measured[0].ratio(), port);
    Ok((report(&measured, port, median(bridges), &lag), missed))
}

/// What is less than it must be, a line each.
fn shortfalls(ratio: f64, port: f64) -> Vec<String> {
    let ratio = (ratio < MIN_RATIO)
        .then(|| format!("the switch does {ratio:.2} of what a forwarder does, and must do {MIN_RATIO:.2}"));
    let port = (port < MIN_THROUGH_PORT).then(|| {
        let [does, must] = [port, MIN_THROUGH_PORT].map(|frames| frames / 1e6);
        format!("the port does {does:.2} M frames per CPU-second, and must do {must:.2} M")
    });
    ratio.into_iter().chain(port).collect()
}

/// How late frames leave at a part of what a core carries.
struct Lag {
    /// What the sender was to send.
    asked: f64,
    frames_per_second: f64,
    late: Lateness,
}

fn report(kinds: &[Kind], port: f64, bridge: f64, lag: &[Lag]) -> Report {
    let carried = USABLE * kinds[0].switch();
    let hosts = carried / (HOST_MBPS * 1e6 / 8.0 / f64::from(MTU));
    let late: Vec<Value> = lag
        .iter()
        .map(|Lag { asked, frames_per_second, late }| {
            let us = |time: Time| time.as_secs_f64() * 1e6;
            json!({
                "load": frames_per_second / carried, "asked_load": asked, "frames_per_second": frames_per_second, "median_us": us(late.median), "p99_us": us(late.p99), "worst_us": us(late.worst),
            })
        })
        .collect();
    let json = json!({
        "links": kinds.iter().map(Kind::json).collect::<Vec<_>>(),
        "port_frames_per_cpu_second": port,
        "bridge_frames_per_cpu_second": bridge,
        "frames_per_second_of_one_core": carried,
        "hosts_of_100_mbps": hosts.floor(),
        "lag": late,
    });
    let mut text = format!(
        "frames of {MTU} bytes from one host to another through a switch under pias, per CPU-second of its thread\n\n"
    );
    for kind in kinds {
        text += &format!(
            "{:<10} switch {:5.0} k, forwarder without fabric {:5.0} k; ratio {:.2}\n",
            kind.name,
            kind.switch() / 1e3,
            kind.forwarder() / 1e3,
            kind.ratio()
        );
    }
    text += &format!("bridge     {:5.0} k (of the kernel; sending not counted)\n", bridge / 1e3);
    text += &format!(
        "port       {:5.2} M (pias' port alone, frames read and written back in memory)\n\n",
        port / 1e6
    );
    text += &format!(
        "one core carries {:.0} k frames a second over {}: {:.0} hosts at {HOST_MBPS} Mbps, if all send all the time\n",
        carried / 1e3,
        kinds[0].name,
        hosts.floor()
    );
    let said = |time: Time| duration(time.as_secs_f64());
    for Lag { asked, frames_per_second, late } in lag {
        text += &format!(
            "late at {:2.0} % of that ({:.0} k a second came; {:.0} % was asked of the sender): median {}, p99 {}, worst {}\n",
            frames_per_second / carried * 100.0,
            frames_per_second / 1e3,
            asked * 100.0,
            said(late.median),
            said(late.p99),
            said(late.worst)
        );
    }
    (json, text)
}

/// Whether links of this kind can be opened here.
fn works(hosts: &Hosts, name: &str, wanted: Wanted) -> bool {
    let opened = Forwarder::new(hosts, wanted);
    if let Err(error) = &opened {
        complain!("{name} is not measured: {error}");
    }
    opened.is_ok()
}

/// Frames per CPU-second of a forwarder.
fn forwarder(hosts: &Hosts, wanted: Wanted) -> Result<f64, RunError> {
    let mut forwarder = Forwarder::new(hosts, wanted)?;
    let mut carry = |bursts| carry_bursts(hosts, &flood_frame(0, 1, MTU), bursts, &mut forwarder);
    carry(WARM_UP)?;
    Ok(carry(BURSTS)?.frames_per_cpu_second())
}

/// How late frames leave when host 0 sends a part of so many in a second.
fn lateness(scenario: &Scenario, hosts: &Hosts, asked: f64, carried: f64) -> Result<Lag, RunError> {
    let (frame, stop) = (flood_frame(0, 1, MTU), AtomicBool::new(false));
    let nothing = Lateness { count: 0, median: Time::ZERO, p99: Time::ZERO, worst: Time::ZERO };
    let mut lag = Lag { asked, frames_per_second: 0.0, late: nothing };
    #[expect(clippy::disallowed_methods, reason = "what is measured must not send its own flood")]
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| flood(hosts, 0, &frame, asked * carried, &stop));
        let done = tailrace_live::emulate(scenario, hosts, &Live::default(), &mut |view| {
            lag.late = view.lateness;
            lag.frames_per_second = view.lateness.count as f64 / view.now.as_secs_f64();
            if view.now >= LAG_MEASURED { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        stop.store(true, Ordering::Relaxed);
        sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        done
    })?;
    Ok(lag)
}

/// Frames per CPU-second of a port alone.
fn port(scenario: &Scenario) -> Result<f64, RunError> {
    let start = ThreadTime::now();
    visitors::through_port(scenario, PORT_FRAMES)?;
    Ok(PORT_FRAMES as f64 / start.elapsed().as_secs_f64())
}

/// Frames per CPU-second of the kernel's bridge. It works on the sender's time, of which sending to nobody is taken off.
fn kernel_bridge() -> Result<f64, RunError> {
    let hosts = Hosts::new(2, usize::from(MTU), None)?;
    let send = || send_bursts(&hosts, &flood_frame(0, 1, MTU), BURSTS);
    let alone = send()?;
    bridge(&hosts)?;
    let before = arrived(&hosts, 1)?;
    let bridged = send()?;
    let through = arrived(&hosts, 1)? - before;
    let cpu = bridged.cpu.saturating_sub(alone.cpu);
    Ok(Cost { frames: through, cpu }.frames_per_cpu_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_less_than_it_must_be_is_named() {
        assert!(shortfalls(0.6, 5e6).is_empty());
        assert_eq!(
            shortfalls(0.594, 4_990_000.0),
            [
                "the switch does 0.59 of what a forwarder does, and must do 0.60",
                "the port does 4.99 M frames per CPU-second, and must do 5.00 M"
            ]
        );
        assert_eq!(shortfalls(f64::INFINITY, 0.0).len(), 1);
    }

    #[test]
    fn a_row_says_what_came_and_not_only_what_was_asked() {
        let kind = Kind { name: "AF_XDP", forwarder: vec![1.2e6], switch: vec![1e6] };
        let late = Lateness { count: 1, median: Time::ZERO, p99: Time::ZERO, worst: Time::ZERO };
        let (json, text) = report(&[kind], 1e7, 1e6, &[Lag { asked: 0.9, frames_per_second: 630e3, late }]);
        assert!(
            text.contains("late at 70 % of that (630 k a second came; 90 % was asked of the sender): "),
            "{text}"
        );
        assert_eq!((&json["lag"][0]["load"], &json["lag"][0]["asked_load"]), (&json!(0.7), &json!(0.9)));
    }
}
