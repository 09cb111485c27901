//! `tailrace qos`: what switches must be told for a scheme, in the words of their configuration.

mod apply;
mod choose;
mod linux_tc;
mod sonic;
#[cfg(feature = "agent")]
mod sort;

use serde_json::json;
use tailrace_core::{Bytes, MTU_BYTES, Rate, Service, SwitchPlan};
use tailrace_experiment::{Error, write_whole};
use tailrace_fabric::Buffer;
use tailrace_run::switch_plan;

use crate::args::{self, QosFormat};
use crate::traffic::wrong;

/// What is written for: a scheme, and what it asks of ports of each rate.
struct Job {
    scheme: String,
    /// What the scheme is called in paths to its parameters.
    label: String,
    plans: Vec<(Rate, SwitchPlan)>,
    /// The most that a port can hold, if an experiment file says it.
    buffer: Option<Bytes>,
}

/// A configuration, and what to know before using it.
struct Written {
    text: String,
    notes: Vec<String>,
}

impl Job {
    /// The queues, which are the same at all rates.
    fn any(&self) -> &SwitchPlan {
        &self.plans[0].1
    }

    /// The DSCPs of routing protocols and other network control (RFC 4594: CS6 and CS7) go into the first
    /// queue: behind a strict queue that is always busy a switch would lose its neighbours.
    const CONTROL: [u8; 2] = [48, 56];

    /// Which queue packets with this DSCP go into: those of nobody's into the last, as in the simulator.
    fn queue_of(&self, dscp: u8) -> usize {
        let queues = &self.any().queues;
        let own = queues.iter().position(|queue| queue.dscp == dscp);
        own.unwrap_or(if Self::CONTROL.contains(&dscp) { 0 } else { queues.len() - 1 })
    }

    fn only_strict(&self, format: &str) -> Result<(), Error> {
        match self.any().service {
            Service::Strict => Ok(()),
            Service::Weighted => {
                let message = format!(
                    "weighted queues cannot be written as {format}: use \"strict\", or --format json"
                );
                Err(wrong("scheduler", message))
            }
        }
    }

    /// A note for each rate whose threshold was given for another.
    fn foreign_thresholds(&self) -> Vec<String> {
        let note = |(rate, plan): &(Rate, SwitchPlan)| {
            let given = plan.marking.and_then(|marking| marking.given_for)?;
            Some(format!(
                "there is no marking threshold for {rate}: that of {given} is taken, which may not suit it; \
                 --set scheme.{}.params.port.marking_threshold can have one for each rate",
                self.label
            ))
        };
        self.plans.iter().filter_map(note).collect()
    }

    /// K is at least a full packet, for less marks whatever moves, and at most what `format` can say and the ports
    /// can hold.
    fn check_thresholds(&self, format: &str, largest: (u64, &str)) -> Result<(), Error> {
        let least = u64::from(MTU_BYTES);
        let buffer = self.buffer.map(|buffer| (buffer.get(), "the file's fabric.buffer"));
        let (largest, why) =
            buffer.into_iter().chain([largest]).min_by_key(|(most, _)| *most).unwrap_or(largest);
        for (rate, plan) in &self.plans {
            let Some(above) = plan.marking.map(|marking| marking.above_bytes) else { continue };
            if !(least..=largest).contains(&above) {
                let field = format!("scheme.{}.params.port.marking_threshold", self.label);
                let message = format!(
                    "{above} bytes at {rate}, but {format} takes {least} to {largest} bytes, from a full packet to \
                     {why}; change it with --set"
                );
                return Err(wrong(&field, message));
            }
        }
        Ok(())
    }
}

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
