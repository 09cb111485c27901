//! The program before the queues of a port: which class has which DSCP, and from where on it marks.

use tailrace_bpf::{PortClasses, PortProgram, interface_number};
use tailrace_core::{MTU_BYTES, SwitchPlan};
use tailrace_experiment::Error;

use super::job::Job;
use super::tc::{ROOT, refused};

const LINK_HEADER: u64 = 14;

pub fn sort(job: &Job, plan: &SwitchPlan, interface: &str) -> Result<(), Error> {
    let class = |queue: usize| ROOT << 16 | (queue as u32 + 1);
    let classes = std::array::from_fn(|dscp| class(job.queue_of(dscp as u8)));
    // Queues count the link's header, K does not.
    let frames = |bytes: u64| bytes + bytes * LINK_HEADER / u64::from(MTU_BYTES);
    let marks_above = plan.marking.map(|marking| frames(marking.above_bytes));
    let port = PortClasses { classes, others: class(plan.queues.len() - 1), marks_above };
    let gone = || refused(format!("interface {interface} is gone"));
    let interface = interface_number(interface).ok_or_else(gone)?;
    PortProgram::new(&port)
        .and_then(|program| program.attach(interface))
        .map_err(|error| refused(error.to_string()))
}
