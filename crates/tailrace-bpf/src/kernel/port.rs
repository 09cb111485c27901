//! The program before the queues of a Linux switch's port. It stays where it is put, without any process.

use std::os::fd::AsFd;

use libbpf_rs::{Object, ProgramInput, TC_EGRESS, TcHookBuilder};

use super::load;
use crate::error::BpfError;

static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/port.bpf.o"));

const NAME: &str = "port_out";
/// Bytes of `struct __sk_buff`, and where the priority is in it.
const SK_BUFF: usize = 192;
const PRIORITY: usize = 32;

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

/// The program of a port.
pub struct PortProgram {
    object: Object,
}

impl PortProgram {
    /// Loads it.
    pub fn new(port: &PortClasses) -> Result<Self, BpfError> {
        load::check()?;
        let mut object = load::open(PROGRAMS)?;
        load::set_constant(&mut object, ".rodata", &port.bytes())?;
        Ok(PortProgram { object: load::load(object)? })
    }

    /// From now on packets that leave this interface, of this thread's network namespace, have a class and may be marked. It goes
    /// with the interface's `clsact`, which is made for it.
    pub fn attach(mut self, interface: u32) -> Result<(), BpfError> {
        let program = load::program(&mut self.object, NAME)?;
        let interface = i32::try_from(interface).map_err(std::io::Error::other);
        let interface = interface.map_err(BpfError::refused("naming the interface"))?;
        let mut hook =
            TcHookBuilder::new(program.as_fd()).ifindex(interface).handle(1).priority(1).hook(TC_EGRESS);
        hook.create().map_err(load::refused("making room for a program at the interface (clsact)"))?;
        hook.attach().map_err(load::refused("attaching to the interface"))?;
        Ok(())
    }

    /// Gives it a frame without any network, as if nothing waited at the port. Returns what became of it, and its class.
    pub fn try_on(&mut self, frame: &[u8]) -> Result<(Vec<u8>, u32), BpfError> {
        let (mut out, mut context) = (vec![0; frame.len() + 256], vec![0; SK_BUFF]);
        let input = ProgramInput {
            data_in: Some(frame),
            data_out: Some(&mut out),
            context_out: Some(&mut context),
            ..ProgramInput::default()
        };
        let output = load::program(&mut self.object, NAME)?.test_run(input);
        let output = output.map_err(load::refused("trying the program on a frame"))?;
        let length = output.data.map_or(0, |data| data.len());
        out.truncate(length);
        let class = context[PRIORITY..].first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes));
        Ok((out, class))
    }
}
