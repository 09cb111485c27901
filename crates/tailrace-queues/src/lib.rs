//! Queue disciplines as parts: schedulers over up to eight FIFO queues, ECN marking, and the port that
//! joins them; and a port ordered by packet ranks. Schemes build their port policies from these.

mod marking;
mod multi_queue;
mod rank_queue;
mod scheduler;
mod threshold;

pub use marking::{Marking, MarkingScope, QueueLength};
pub use multi_queue::{MultiQueue, PortParams};
pub use rank_queue::{RankQueue, Ranked};
pub use scheduler::{Scheduler, SchedulerKind};
pub use threshold::MarkingThreshold;
