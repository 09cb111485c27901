//! Collective operations of distributed training, and pipelines.
//!
//! The size of such a task is what each host starts with (all-reduce: the gradients), or what a pipeline passes from
//! one host to the next in one iteration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_config::ScenarioError;

use super::Group;
use super::built::{Built, check_flows};
use crate::Setting;
use crate::task::shape::{Chunk, Origin, Role, Shape};

/// Hosts that take part in a collective operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Collective {
    /// The hosts in their order: a number of neighbours, drawn for each task, or given ones.
    pub hosts: Group,
}

/// Hosts that compute one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pipeline {
    /// The hosts in their order: a number of neighbours, drawn for each task, or given ones.
    pub hosts: Group,
    /// Parts of an iteration that are passed on one by one.
    pub microbatches: u16,
}

impl Collective {
    /// Ring all-reduce (Patarasso and Yuan, 2009): in each of 2(n − 1) steps every host sends the n-th part that it
    /// has just received to the next host, first to add up and then to spread the sums.
    pub(super) fn ring(&self, setting: &Setting) -> Built {
        let (n, placement) = self.hosts.place(setting)?;
        let steps = 2 * (u32::from(n) - 1);
        check_flows("hosts", u64::from(n) * u64::from(steps))?;
        let mut shape = Shape::default();
        let next = |host: Role| (host + 1) % n;
        let part = |k: Role| Origin::Chunk(Chunk { k: k.into(), n: n.into() });
        let mut before: Vec<u32> =
            (0..n).map(|host| shape.stage(&[], [(host, next(host), part(host))])).collect();
        for _ in 1..steps {
            let step = (0..n).map(|host| {
                let previous = usize::from((host + n - 1) % n);
                // What came in goes on, once what went out before is through.
                let after = [before[previous], before[usize::from(host)]];
                let received = shape.received(&after[..1], 1.0)[&host];
                shape.stage(&after, [(host, next(host), Origin::From(received, Chunk::WHOLE))])
            });
            before = step.collect();
        }
        Ok((shape, placement))
    }

    /// All-reduce over a binary tree: sums go up, a host sends when both hosts below it have; the result comes down.
    pub(super) fn tree(&self, setting: &Setting) -> Built {
        let (n, placement) = self.hosts.place(setting)?;
        let below = |host: Role| -> Vec<Role> {
            let first = 2 * u32::from(host) + 1;
            (first..first + 2).filter(|&child| child < u32::from(n)).map(|child| child as Role).collect()
        };
        let mut shape = Shape::default();
        let mut up = vec![0; usize::from(n)];
        let sum = |shape: &mut Shape, host: Role, up: &[u32]| -> (Vec<u32>, Origin) {
            let after: Vec<u32> = below(host).into_iter().map(|child| up[usize::from(child)]).collect();
            match after.len() {
                0 => (after, Origin::Chunk(Chunk::WHOLE)),
                // As many bytes as one of those below has sent: they were added up.
                several => {
                    let received = shape.received(&after, 1.0 / several as f64)[&host];
                    (after, Origin::From(received, Chunk::WHOLE))
                }
            }
        };
        for host in (1..n).rev() {
            let (after, origin) = sum(&mut shape, host, &up);
            up[usize::from(host)] = shape.stage(&after, [(host, (host - 1) / 2, origin)]);
        }
        let (mut after, mut origin) = sum(&mut shape, 0, &up);
        let mut down = vec![0; usize::from(n)];
        for host in (0..n).filter(|&host| !below(host).is_empty()) {
            if host > 0 {
                after = vec![down[usize::from((host - 1) / 2)]];
                origin = Origin::From(shape.received(&after, 1.0)[&host], Chunk::WHOLE);
            }
            down[usize::from(host)] =
                shape.stage(&after, below(host).into_iter().map(|child| (host, child, origin)));
        }
        Ok((shape, placement))
    }

    /// All-to-all: each host keeps one of n equal parts and sends the others, each to another host, at once.
    pub(super) fn all_to_all(&self, setting: &Setting) -> Built {
        let (n, placement) = self.hosts.place(setting)?;
        check_flows("hosts", u64::from(n) * (u64::from(n) - 1))?;
        let others = |src: Role| (0..n).filter(move |&dst| dst != src);
        let part = |k: Role| Origin::Chunk(Chunk { k: k.into(), n: n.into() });
        let flows = (0..n).flat_map(|src| others(src).map(move |dst| (src, dst, part(dst))));
        let mut shape = Shape::default();
        shape.stage(&[], flows);
        Ok((shape, placement))
    }
}

impl Pipeline {
    /// Every micro-batch goes forward from host to host and then back. A host sends on what it has received, once
    /// what it sent before in that direction is through.
    pub(super) fn build(&self, setting: &Setting) -> Built {
        let (n, placement) = self.hosts.place(setting)?;
        let parts = self.microbatches;
        if parts == 0 {
            return Err(ScenarioError::new("microbatches", "is 0, but must be at least 1"));
        }
        check_flows("microbatches", 2 * u64::from(parts) * (u64::from(n) - 1))?;
        // The way of a micro-batch, there and back.
        let there = (0..n - 1).map(|host| (host, host + 1));
        let back = (0..n - 1).rev().map(|host| (host + 1, host));
        let way: Vec<(Role, Role)> = there.chain(back).collect();
        let mut shape = Shape::default();
        let mut before: Vec<u32> = Vec::new();
        for k in 0..parts {
            let mut last = None;
            for (leg, &(src, dst)) in way.iter().enumerate() {
                let origin = match last {
                    None => Origin::Chunk(Chunk { k: k.into(), n: parts.into() }),
                    Some(last) => Origin::From(shape.received(&[last], 1.0)[&src], Chunk::WHOLE),
                };
                let after: Vec<u32> = last.into_iter().chain(before.get(leg).copied()).collect();
                let stage = shape.stage(&after, [(src, dst, origin)]);
                last = Some(stage);
                match before.get_mut(leg) {
                    Some(before) => *before = stage,
                    None => before.push(stage),
                }
            }
        }
        Ok((shape, placement))
    }
}
