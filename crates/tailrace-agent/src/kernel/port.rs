//! The program before the queues of a Linux switch's port. It stays where it is put, without any process.

use std::os::fd::AsFd;

use libbpf_rs::{TC_EGRESS, TcHookBuilder};

use super::load;
use crate::error::AgentError;

static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/port.bpf.o"));

/// What a port does with packets before they are queued.
#[derive(Clone, Copy, Debug)]
pub struct PortClasses {
    /// The class of the root queue for each DSCP.
    pub classes: [u32; 64],
    /// The one for what has no DSCP.
    pub others: u32,
    /// A packet is marked if the port, itself included, holds more bytes of frames than this.
    pub marks_above: Option<u64>,
}

impl PortClasses {
    /// `struct tr_port`.
    fn bytes(&self) -> Vec<u8> {
        let classes = [self.others, 0].into_iter().chain(self.classes).flat_map(u32::to_ne_bytes);
        self.marks_above.unwrap_or(0).to_ne_bytes().into_iter().chain(classes).collect()
    }
}

/// From now on packets that leave this interface, of this thread's network namespace, have a class and may be marked. It goes with
/// the interface's `clsact`, which is made for it.
pub fn sort_and_mark(interface: u32, port: &PortClasses) -> Result<(), AgentError> {
    load::check()?;
    let mut object = load::open(PROGRAMS)?;
    load::set_constant(&mut object, ".rodata", &port.bytes())?;
    let mut object = load::load(object)?;
    let program = load::program(&mut object, "port_out")?;
    let interface = i32::try_from(interface).map_err(std::io::Error::other);
    let interface = interface.map_err(AgentError::refused("naming the interface"))?;
    let mut hook =
        TcHookBuilder::new(program.as_fd()).ifindex(interface).handle(1).priority(1).hook(TC_EGRESS);
    hook.create().map_err(load::refused("making room for a program at the interface (clsact)"))?;
    hook.attach().map_err(load::refused("attaching to the interface"))?;
    Ok(())
}
