//! All TCP connections of a network namespace, from now on.

use std::cell::RefCell;
use std::io::{self, Read};
use std::mem::take;
use std::rc::Rc;
use std::time::Duration;

use libbpf_rs::{Iter, Link, MapCore, Object, RingBuffer, RingBufferBuilder};

use super::cgroups::Cgroup;
use super::load;
use crate::connection::Connection;
use crate::error::BpfError;
use crate::shared::Asked;

static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/measure.bpf.o"));

/// Which connections are looked at.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Those whose way out is this interface, by its number; all but loopback's if not given.
    pub interface: Option<u32>,
    /// Those of sockets in this cgroup and below.
    pub cgroup: Option<Cgroup>,
    /// Room for what has been said and not yet read, a power of two of at least a page.
    pub ring_bytes: u32,
}

impl Default for Wanted {
    fn default() -> Self {
        // 40,000 connections that end between two looks.
        Wanted { interface: None, cgroup: None, ring_bytes: 1 << 22 }
    }
}

/// Hears of all TCP connections of the network namespace of the thread that has made it. Nothing is left in the kernel when
/// it goes.
pub struct Capture {
    // The order in which they go: what reads first, then what writes.
    ring: RingBuffer<'static>,
    link: Link,
    object: Object,
    heard: Rc<RefCell<Vec<Connection>>>,
}

impl Capture {
    /// From now on.
    pub fn new(wanted: &Wanted) -> Result<Self, BpfError> {
        load::check()?;
        let cgroup = wanted.cgroup.unwrap_or(Cgroup { id: 0, level: 0 });
        let asked = Asked {
            cgroup: cgroup.id,
            level: cgroup.level,
            interface: wanted.interface.unwrap_or(0),
            network: load::own_network()?,
            unused: 0,
        };
        let mut object = load::open(PROGRAMS)?;
        load::set_constant(&mut object, ".rodata", &asked.bytes())?;
        load::open_map(&mut object, "events")?
            .set_max_entries(wanted.ring_bytes)
            .map_err(load::refused("giving the ring its length"))?;
        let mut object = load::load(object)?;
        let heard = Rc::default();
        let ring = ring(&object, Rc::clone(&heard))?;
        let link = load::program(&mut object, "on_state")?
            .attach()
            .map_err(load::refused("hearing of connections"))?;
        // After this those that are open are known, and no connection has escaped between.
        walk(&mut object, "at_begin")?;
        Ok(Capture { ring, link, object, heard })
    }

    /// What has been said since the last look; waits so long, unless much comes before.
    pub fn look(&mut self, patience: Duration) -> Result<Vec<Connection>, BpfError> {
        match self.ring.poll(patience) {
            Err(error) if error.kind() == libbpf_rs::ErrorKind::Interrupted => {}
            polled => polled.map_err(load::refused("reading what the kernel says"))?,
        }
        // It wakes nobody for little.
        self.ring.consume().map_err(load::refused("reading what the kernel says"))?;
        Ok(take(&mut *self.heard.borrow_mut()))
    }

    /// Connections of which nothing could be said so far, and those with both ends on this machine, which are passed over.
    pub fn unsaid(&self) -> Result<(u64, u64), BpfError> {
        let [lost, local] = load::numbers(&self.object, ".bss")?;
        Ok((lost, local))
    }

    /// Ends it. Returns what has been said since the last look, and all connections that are still open.
    pub fn finish(mut self) -> Result<(Vec<Connection>, (u64, u64)), BpfError> {
        let open = walk(&mut self.object, "at_end")?;
        let unsaid = self.unsaid()?;
        drop(self.link);
        self.ring.consume().map_err(load::refused("reading what the kernel says"))?;
        let mut heard = take(&mut *self.heard.borrow_mut());
        heard.extend(Connection::read_all(&open));
        Ok((heard, unsaid))
    }
}

fn ring(object: &Object, heard: Rc<RefCell<Vec<Connection>>>) -> Result<RingBuffer<'static>, BpfError> {
    let events = object.maps().find(|map| map.name() == "events");
    let events =
        events.ok_or_else(|| BpfError::Kernel("the programs for the kernel have no ring".to_owned()))?;
    let mut builder = RingBufferBuilder::new();
    let take_down = move |bytes: &[u8]| {
        heard.borrow_mut().extend(Connection::read(bytes));
        0
    };
    builder.add(&events, take_down).map_err(load::refused("opening the ring"))?;
    builder.build().map_err(load::refused("opening the ring"))
}

/// Has a program look at all sockets of this network namespace; returns what it writes.
fn walk(object: &mut Object, name: &str) -> Result<Vec<u8>, BpfError> {
    let what = || format!("looking at the sockets that there are ({name})");
    let link = load::program(object, name)?.attach().map_err(load::refused(what()))?;
    let mut iterator = Iter::new(&link).map_err(load::refused(what()))?;
    let mut written = Vec::new();
    loop {
        let mut bytes = [0; 1 << 16];
        match iterator.read(&mut bytes) {
            Ok(0) => return Ok(written),
            Ok(count) => written.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(BpfError::Refused { what: what(), source: error }),
        }
    }
}
