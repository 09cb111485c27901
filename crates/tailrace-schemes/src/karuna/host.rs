//! Tagging: deadlines first, known sizes split, unknown sizes sieved (Karuna §3); ageing against starvation.

use tailrace_core::{Bytes, Directive, FlowInfo, FlowView, HostPolicy, TagTable};

use crate::mlfq::sunk;

/// The queue below that of flows with deadlines.
const FIRST: u8 = 1;

/// A host's tags. They follow from what a flow reveals; nothing is learnt.
#[derive(Clone, Debug)]
pub struct KarunaHost {
    /// β: a flow of size s is in the queue of the first threshold that s does not exceed.
    splitting: Vec<Bytes>,
    /// α as a table, below the queue of deadlines.
    sieve: TagTable,
    ageing_timeouts: u32,
}

impl KarunaHost {
    /// Ascending thresholds, two fewer than queues.
    pub(super) fn new(splitting: Vec<Bytes>, sieving: &[Bytes], ageing_timeouts: u32) -> Self {
        let mut limits = vec![Bytes::ZERO];
        // bytes_before ≤ α stays.
        limits.extend(sieving.iter().map(|&alpha| alpha + Bytes::new(1)));
        KarunaHost { splitting, sieve: TagTable::with_limits(&limits), ageing_timeouts }
    }

    /// Which packets are for a queue, in words.
    pub(super) fn holds(&self, queue: usize) -> String {
        let Some(level) = queue.checked_sub(usize::from(FIRST)) else {
            return "flows with deadlines, and their acknowledgements".into();
        };
        let from = level.checked_sub(1).map_or(Bytes::ZERO, |before| self.splitting[before]);
        let known = match self.splitting.get(level) {
            Some(to) if *to == from => "none".into(),
            Some(to) => format!("more than {from}, at most {to}"),
            None => format!("more than {from}"),
        };
        let acknowledgements = if level == 0 { "acknowledgements; " } else { "" };
        format!("{acknowledgements}known sizes: {known}; unknown sizes: {}", sunk(&self.sieve, queue))
    }
}

impl HostPolicy for KarunaHost {
    fn directive(&self, flow: &FlowInfo) -> Directive {
        match (flow.deadline, flow.size) {
            (Some(_), Some(_)) => Directive::tagged(TagTable::FLAT),
            (None, Some(size)) => {
                let level = self.splitting.partition_point(|&beta| beta < size);
                Directive { acks: FIRST, ..Directive::tagged(TagTable::flat(FIRST + level as u8)) }
            }
            (_, None) => Directive { acks: FIRST, ..Directive::tagged(self.sieve) },
        }
    }

    /// Ageing (§7): after some consecutive timeouts a flow of known size rises by a queue, one of unknown size
    /// starts again at the first.
    fn on_timeout(
        &self,
        flow: &FlowInfo,
        view: &FlowView,
        consecutive: u32,
        current: &Directive,
    ) -> Option<Directive> {
        let priority = current.tags.priority(view.acked.get());
        let due = self.ageing_timeouts > 0 && consecutive.is_multiple_of(self.ageing_timeouts);
        if !due || priority <= FIRST {
            return None;
        }
        let tags = match flow.size {
            Some(_) => TagTable::flat(priority - 1),
            None => self.sieve.restarted(view.acked),
        };
        Some(Directive { tags, ..*current })
    }
}
