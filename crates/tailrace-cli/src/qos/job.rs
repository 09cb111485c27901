//! A scheme's plan for switches, and the checks that all formats need.

use tailrace_core::{Bytes, MTU_BYTES, Rate, Service, SwitchPlan};
use tailrace_experiment::Error;

use crate::mistake::wrong;

/// What is written for: a scheme, and what it asks of ports of each rate.
pub struct Job {
    pub scheme: String,
    /// What the scheme is called in paths to its parameters.
    pub label: String,
    pub plans: Vec<(Rate, SwitchPlan)>,
    /// The most that a port can hold, if an experiment file says it.
    pub buffer: Option<Bytes>,
}

/// A configuration, and what to know before using it.
pub struct Written {
    pub text: String,
    pub notes: Vec<String>,
}

impl Job {
    /// The queues, which are the same at all rates.
    pub fn any(&self) -> &SwitchPlan {
        &self.plans[0].1
    }

    /// The DSCPs of routing protocols and other network control (RFC 4594: CS6 and CS7) go into the first
    /// queue: behind a strict queue that is always busy a switch would lose its neighbours.
    pub const CONTROL: [u8; 2] = [48, 56];

    /// Which queue packets with this DSCP go into: those of nobody's into the last, as in the simulator.
    pub fn queue_of(&self, dscp: u8) -> usize {
        let queues = &self.any().queues;
        let own = queues.iter().position(|queue| queue.dscp == dscp);
        own.unwrap_or(if Self::CONTROL.contains(&dscp) { 0 } else { queues.len() - 1 })
    }

    pub fn only_strict(&self, format: &str) -> Result<(), Error> {
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
    pub fn foreign_thresholds(&self) -> Vec<String> {
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
    pub fn check_thresholds(&self, format: &str, largest: (u64, &str)) -> Result<(), Error> {
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
