//! Queue disciplines as parts: schedulers over up to eight FIFO queues, ECN marking, and the port that
//! joins them; a port ordered by packet ranks; and what ports that grant rates share: a router in front of the
//! queues, sums over flows that may fall silent, and what of a link may be granted. Schemes build their port
//! policies from these.

mod drained_link;
mod fifos;
mod marking;
mod multi_queue;
mod rank_queue;
mod routed_port;
mod scheduler;
mod soft_state;
mod threshold;

pub use drained_link::DrainedLink;
pub use marking::{Marking, MarkingScope};
pub use multi_queue::{MultiQueue, PortParams};
pub use rank_queue::{RankQueue, Ranked};
pub use routed_port::{RoutedPort, Router};
pub use scheduler::{Scheduler, SchedulerKind};
pub use soft_state::{Epoch, SoftState, Tally};
pub use threshold::MarkingThreshold;
