//! What real switches are told.

use tailrace_core::{Rate, Scheme};

use crate::{Verdict, ensure, setting};

/// Plans have one to eight queues, each with its DSCP and its words, and mark only what can be marked.
pub fn are_told_of_every_queue<S: Scheme>() -> Verdict {
    let scheme: S = setting::scheme()?;
    for gbps in [1, 10, 40, 400] {
        let Some(plan) = scheme.switch_plan(Rate::from_gbps(gbps)) else { continue };
        ensure!((1..=8).contains(&plan.queues.len()), "a plan of {} queues", plan.queues.len());
        for (number, queue) in plan.queues.iter().enumerate() {
            ensure!(usize::from(queue.dscp) + number == 7, "queue {number} has DSCP {}", queue.dscp);
            ensure!(!queue.holds.is_empty(), "queue {number} is for nothing");
        }
        ensure!(scheme.ecn() || plan.marking.is_none(), "a plan marks, but hosts send nothing ECN-capable");
    }
    Ok(())
}
