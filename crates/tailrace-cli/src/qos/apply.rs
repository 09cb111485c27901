//! Queues and marking of a plan on an interface of this machine, as a port of a Linux switch: HTB serves up to eight classes in strict
//! order and keeps the rate, and a program before them sorts by DSCP and marks by what the port holds.

use serde_json::Value;
use tailrace_core::{MarkedLength, Rate, SwitchPlan};
use tailrace_experiment::Error;

use super::job::Job;
#[cfg(feature = "agent")]
use super::sort::sort;
use super::tc::{ROOT, refused, tc};
use crate::mistake::wrong;

/// What the kernel calls the program.
const PROGRAM: &str = "port_out";
/// What a class may send before those ahead of it: next to nothing.
const MIN_RATE: &str = "8kbit";
/// What a queue may hold, in multiples of K, as with the script; without K, in packets.
const LIMIT: u64 = 16;
const UNMARKED_LIMIT: u64 = 1_000;

/// Gives an interface the queues of the only plan of `job`.
pub fn apply(job: &Job, interface: &str) -> Result<(), Error> {
    let [(rate, plan)] = job.plans.as_slice() else {
        let rates: Vec<String> = job.plans.iter().map(|(rate, _)| rate.to_string()).collect();
        let message = format!("an interface has one rate: choose one of {}", rates.join(", "));
        return Err(wrong("--rates", message));
    };
    job.only_strict("--apply")?;
    job.check_thresholds("--apply", (u64::from(u32::MAX), "what the kernel counts in 32 bits"))?;
    let several = plan.queues.len() > 1;
    if plan.marking.is_some_and(|marking| several && marking.length != MarkedLength::Port) {
        let message = "marks by the length of single queues, and --apply by that of the port: use --format linux-tc, where the \
                       kernel has sch_red and sch_ets";
        return Err(wrong(&job.scheme, message));
    }
    check_free(interface)?;
    let set_up = put_queues(interface, *rate, plan).and_then(|()| sort(job, plan, interface));
    if set_up.is_err() {
        // What fails half-way leaves the interface as it was.
        let _ = take_away(interface);
    }
    set_up
}

/// Takes away what [`apply`] has put there.
pub fn remove(interface: &str) -> Result<(), Error> {
    let found = disciplines("--remove", interface)?;
    // Somebody may have put other queues in the place of ours; the program is left then.
    if !found.iter().any(is_ours) && !has_program(&found, interface)? {
        return Err(refused(format!(
            "{interface} has no queues of tailrace qos --apply: nothing was changed"
        )));
    }
    take_away(interface)
}

/// The interface has nothing but what the kernel gives every one.
fn check_free(interface: &str) -> Result<(), Error> {
    let found = disciplines("--apply", interface)?;
    if found.iter().any(is_ours) || has_program(&found, interface)? {
        let message = format!(
            "{interface} has queues of tailrace qos already: tailrace qos --remove {interface} takes them away"
        );
        return Err(refused(message));
    }
    let foreign = found.iter().find(|of| of["handle"] != "0:" || of["kind"] == "clsact");
    foreign.map_or(Ok(()), |of| {
        let kind = of["kind"].as_str().unwrap_or("queues");
        Err(refused(format!(
            "{interface} has {kind} of somebody else, which would be lost: tc qdisc show dev {interface} shows it; \
             take it away first"
        )))
    })
}

fn handle() -> String {
    format!("{ROOT:x}:")
}

fn is_ours(discipline: &Value) -> bool {
    discipline["kind"] == "htb" && discipline["handle"] == handle().as_str()
}

/// Whether the program of [`sort`] is there.
fn has_program(found: &[Value], interface: &str) -> Result<bool, Error> {
    let has_place = found.iter().any(|of| of["kind"] == "clsact");
    Ok(has_place && tc(&["filter", "show", "dev", interface, "egress"])?.contains(PROGRAM))
}

fn disciplines(option: &str, interface: &str) -> Result<Vec<Value>, Error> {
    let names = tailrace_linux::interface_names();
    if !names.iter().any(|name| name == interface) {
        let message =
            tailrace_config::suggest::unknown("interface", interface, names.iter().map(String::as_str));
        return Err(wrong(option, message));
    }
    let text = tc(&["-json", "qdisc", "show", "dev", interface])?;
    serde_json::from_str(&text).map_err(|error| refused(format!("tc says what is not JSON: {error}")))
}

fn put_queues(interface: &str, rate: Rate, plan: &SwitchPlan) -> Result<(), Error> {
    let (link, handle) = (format!("{}bit", rate.as_bps()), handle());
    let last = plan.queues.len().to_string();
    tc(&["qdisc", "add", "dev", interface, "root", "handle", &handle, "htb", "default", &last])?;
    let class = |parent: &str, class: String, rest: &[&str]| {
        let head = ["class", "add", "dev", interface, "parent", parent, "classid", &class, "htb"];
        tc(&[&head[..], rest].concat()).map(drop)
    };
    let root = format!("{handle}ff");
    class(&handle, root.clone(), &["rate", &link, "ceil", &link])?;
    for number in 0..plan.queues.len() {
        let (minor, prio) = ((number + 1).to_string(), number.to_string());
        let own = format!("{handle}{minor}");
        class(&root, own.clone(), &["rate", MIN_RATE, "ceil", &link, "prio", &prio, "quantum", "3028"])?;
        let (kind, limit) = match plan.marking {
            Some(marking) => ("bfifo", marking.above_bytes.saturating_mul(LIMIT)),
            None => ("pfifo", UNMARKED_LIMIT),
        };
        tc(&["qdisc", "add", "dev", interface, "parent", &own, kind, "limit", &limit.to_string()])?;
    }
    Ok(())
}

#[cfg(not(feature = "agent"))]
fn sort(_: &Job, _: &SwitchPlan, _: &str) -> Result<(), Error> {
    Err(crate::live::absent())
}

/// The program goes with `clsact`; the first failure is said, and the rest is taken away all the same.
fn take_away(interface: &str) -> Result<(), Error> {
    let there = disciplines("--apply", interface)?;
    let has_program = there.iter().any(|of| of["kind"] == "clsact");
    let program =
        if has_program { tc(&["qdisc", "del", "dev", interface, "clsact"]).map(drop) } else { Ok(()) };
    let queues = if there.iter().any(is_ours) {
        tc(&["qdisc", "del", "dev", interface, "root"]).map(drop)
    } else {
        Ok(())
    };
    program.and(queues)
}
