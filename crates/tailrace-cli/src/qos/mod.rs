//! `tailrace qos`: what switches must be told for a scheme, in the words of their configuration.

#[cfg(live)]
mod apply;
#[cfg(not(live))]
#[path = "no_apply.rs"]
mod apply;
mod choose;
mod job;
mod linux_tc;
mod sonic;
#[cfg(feature = "agent")]
mod sort;
#[cfg(live)]
mod tc;

use serde_json::json;
use tailrace_console::{complain, say, say_part};
use tailrace_experiment::{Error, write_whole};
use tailrace_fabric::Buffer;
use tailrace_run::switch_plan;

use self::job::{Job, Written};
use crate::args::{self, QosFormat};
use crate::mistake::wrong;

pub fn qos(options: &args::Qos) -> Result<i32, Error> {
    if let Some(interface) = &options.remove {
        apply::remove(interface)?;
        say!("took the queues of {interface} away");
        return Ok(0);
    }
    let job = job(options)?;
    if let Some(interface) = &options.apply {
        apply::apply(&job, interface)?;
        say!("{interface} has {} queues for {}", job.any().queues.len(), job.scheme);
        job.foreign_thresholds().iter().for_each(|note| complain!("note: {note}"));
        return Ok(0);
    }
    let Some(format) = options.format else {
        return Err(wrong("--format", "missing: give --format, --apply or --remove"));
    };
    if !options.ports.is_empty() && format != QosFormat::Sonic {
        return Err(wrong("--ports", "means nothing here: only sonic binds queues to ports by name"));
    }
    let written = match format {
        QosFormat::Sonic => sonic::write(&job, &choose::ports(&options.ports, &job)?)?,
        QosFormat::LinuxTc => linux_tc::write(&job)?,
        QosFormat::Json => json(&job)?,
    };
    match &options.out {
        Some(path) => {
            write_whole(path, written.text.as_bytes())?;
            say!("{}", path.display());
        }
        None => say_part!("{}", written.text),
    }
    written.notes.iter().chain(&job.foreign_thresholds()).for_each(|note| complain!("note: {note}"));
    Ok(0)
}

fn job(options: &args::Qos) -> Result<Job, Error> {
    let scenario = choose::scenario(options)?;
    let scheme = scenario.scheme.name.clone();
    let plan = |rate| {
        switch_plan(&scenario, rate)?.ok_or_else(|| {
            let message = "as set here, it asks more of a switch than queues, DSCP and ECN, or nothing at all: \
                           there is no plan for it";
            wrong(&scheme, message)
        })
    };
    let rates = choose::rates(options, &scenario)?;
    let plans = rates.into_iter().map(|rate| Ok((rate, plan(rate)?))).collect::<Result<_, Error>>()?;
    let buffer = options.file.as_ref().map(|_| match scenario.fabric.buffer {
        Buffer::PerPort(bytes) => bytes,
        Buffer::Shared { total, .. } => total,
    });
    let label = scenario.scheme.label.clone().unwrap_or_else(|| scheme.clone());
    Ok(Job { scheme, label, plans, buffer })
}

/// The plan as it is, for tools of one's own.
fn json(job: &Job) -> Result<Written, Error> {
    job.check_thresholds("json", (u64::MAX, "what 64 bits hold"))?;
    let queues = job.any().queues.iter().enumerate();
    let queues: Vec<_> = queues
        .map(|(number, queue)| json!({ "queue": number, "dscp": queue.dscp, "holds": queue.holds }))
        .collect();
    let marking: Vec<_> =
        job.plans.iter().map(|(rate, plan)| json!({ "rate": rate, "marking": plan.marking })).collect();
    let explain = [
        "queue 0 is served first",
        "packets with another DSCP belong into the last queue, network control (48, 56) into queue 0",
        "a packet is marked when the length named, itself included, is above above_bytes",
    ];
    let document = json!({
        "scheme": job.scheme, "explain": explain, "service": job.any().service, "queues": queues, "links": marking,
    });
    Ok(Written { text: format!("{document:#}\n"), notes: Vec::new() })
}
