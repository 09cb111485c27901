//! The live level: a fabric in real time on a Linux machine, between network namespaces that are its hosts.
//!
//! Real frames go through the very network, ports and policies that are simulated. At their edge stand hosts with
//! Tailrace's transport over UDP, or with whatever programs run in their namespaces.

pub mod bench;
mod clock;
mod driver;
mod emulate;
mod endpoints;
mod error;
pub mod frame;
mod hosts;
mod kernel;
mod lag;
mod link;
mod messages;
mod outbox;
mod packets;
mod record;
mod run;
mod slab;
mod sys;

pub use clock::Clock;
pub use driver::{Driver, Strays};
pub use emulate::{LOOK_EVERY, PortView, View, emulate};
pub use error::LiveError;
pub use hosts::{Hosts, INTERFACE, LONGEST_NAME, Namespace, Standing, clean};
pub use kernel::{Fabrics, Flows, Tagger, Tags, Terms, run_on_kernel};
pub use lag::Lag;
pub use link::{Frames, Wanted};
pub use messages::{Event, LONGEST_MESSAGE, Messages, Messenger, open_socket, own_host};
pub use packets::Priorities;
pub use record::{Difference, Record, RecordError, Recorder, Replayed, replay};
pub use run::{Limits, run};
