//! The live level: a fabric in real time on a Linux machine, between network namespaces that are its hosts.
//!
//! Real frames go through the very network, ports and policies that are simulated. At their edge stand hosts with
//! Tailrace's transport over UDP, or with whatever programs run in their namespaces; or interfaces of the machine, between
//! which the fabric is a switch.

pub mod bench;
mod clock;
mod driver;
mod emulate;
mod endpoints;
mod forward;
pub mod frame;
mod hosts;
mod interfaces;
mod kernel;
mod link;
mod mac_table;
mod messages;
mod namespace;
mod outbox;
mod packets;
mod record;
mod rights;
mod run;
mod service;
mod skipping;
mod slab;
mod switch;
mod sys;
mod turn;

pub use clock::Clock;
pub use driver::Driver;
pub use emulate::{LOOK_EVERY, emulate};
pub use hosts::{Hosts, INTERFACE, LONGEST_NAME, MIN_MTU_FOR_IPV6, Standing, clean};
pub use interfaces::Interfaces;
pub use kernel::{Fabrics, Flows, Tagger, Tags, Terms, run_on_kernel};
pub use link::Wanted;
pub use mac_table::{AGEING, MAX_ADDRESSES, Mac, MacTable, is_for_many};
pub use messages::{Event, LONGEST_MESSAGE, Messages, Messenger, open_socket, own_host};
pub use namespace::Namespace;
pub use packets::Priorities;
pub use record::{Difference, Record, RecordError, Recorder, Replayed, replay};
pub use rights::{Account, check_rights, no_new_rights};
pub use run::{Limits, run};
pub use service::{Page, Server, bind, notice, serve, unreadable};
pub use skipping::skip_test;
pub use switch::{TakenOver, switch};
pub use sys::{InterfaceState, interface_names, interface_state};
pub use turn::Turn;
