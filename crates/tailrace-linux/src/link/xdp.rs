//! Links over AF_XDP, in copy mode: all hosts' sockets share one memory, so that a frame that comes in from one leaves
//! to another where it is.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use super::{Kind, Received};
use crate::interfaces::Interfaces;
use crate::slab::{Slab, chunk_bytes};
use crate::sys::{BATCH, HEADROOM, Redirect, STAMP_BYTES, XdpMode, XdpSocket, receive_queues};

/// Chunks that each host's link has for frames to come: as many as come in 60 ms at 100 Mbps.
const WAITING: u32 = 512;
/// Frames that may be queued in the fabric, and some more for each host. Their memory is pinned.
const QUEUED: u32 = 8192;
const QUEUED_PER_HOST: u32 = 512;
/// The longest chunk that the kernel takes: a page.
const LONGEST_CHUNK: usize = 4096;

/// How often, and how far apart, it is tried to open a socket where another one was.
const BUSY_ATTEMPTS: u32 = 50;
const BUSY_PAUSE: Duration = Duration::from_millis(4);

/// A host's link.
struct Port {
    socket: XdpSocket,
    /// Chunks that the kernel has for frames to come.
    waiting: u32,
    /// Frames that it has been given, and that it has not sent.
    sending: u32,
}

/// An AF_XDP socket for each host.
pub(crate) struct XdpLinks {
    /// Gone first, so that nothing comes any more.
    _attached: Vec<OwnedFd>,
    ports: Vec<Port>,
    mode: XdpMode,
    lost_here: u64,
}

impl XdpLinks {
    /// Opens them; also says where the program runs that catches frames.
    pub(super) fn open(interfaces: &Interfaces) -> io::Result<(Self, Slab, XdpMode)> {
        let chunk = chunk_bytes(interfaces.mtu());
        if chunk > LONGEST_CHUNK {
            let why = format!("its chunks of {LONGEST_CHUNK} bytes hold no packet of {}", interfaces.mtu());
            return Err(io::Error::other(why));
        }
        one_queue(interfaces)?;
        let frames = QUEUED + interfaces.len() as u32 * (WAITING + QUEUED_PER_HOST);
        let mut slab = Slab::new(frames, interfaces.mtu())?;
        let mut sockets: Vec<XdpSocket> = Vec::new();
        let open = |numbers: &[u32]| -> io::Result<(Vec<OwnedFd>, XdpMode)> {
            for &interface in numbers {
                sockets.push(open_patiently(interface, &slab, sockets.first())?);
            }
            let redirect = Redirect::new(numbers.iter().max().map_or(1, |last| last + 1))?;
            for (&interface, socket) in numbers.iter().zip(&sockets) {
                redirect.list(interface, socket.as_fd())?;
            }
            let attach = |mode| {
                let attached = numbers.iter().map(|&interface| redirect.attach(interface, mode));
                attached.collect::<io::Result<Vec<_>>>()
            };
            match attach(XdpMode::Driver) {
                Ok(attached) => Ok((attached, XdpMode::Driver)),
                Err(_) => Ok((attach(XdpMode::Generic)?, XdpMode::Generic)),
            }
        };
        let (attached, mode) = interfaces.at(open)?;
        let ports = sockets.into_iter().map(|socket| Port { socket, waiting: 0, sending: 0 });
        let mut links = XdpLinks { _attached: attached, ports: ports.collect(), mode, lost_here: 0 };
        (0..links.ports.len()).for_each(|host| links.fill(host, &mut slab));
        Ok((links, slab, mode))
    }

    /// Gives the kernel chunks for frames to come.
    fn fill(&mut self, host: usize, slab: &mut Slab) {
        let Port { socket, waiting, .. } = &mut self.ports[host];
        let wanted = socket.wants().min(WAITING - *waiting);
        let mut given = 0;
        let chunks = std::iter::from_fn(|| {
            let number = if given < wanted { slab.take() } else { None }?;
            given += 1;
            Some(number)
        });
        socket.give(chunks);
        *waiting += given;
    }

    /// Takes back the chunks of frames that have been sent.
    fn reap(&mut self, host: usize, slab: &mut Slab) {
        let Port { socket, sending, .. } = &mut self.ports[host];
        if *sending == 0 {
            return;
        }
        let before = *sending;
        while let Some(number) = socket.completed() {
            slab.free(number);
            *sending -= 1;
        }
        if *sending < before {
            socket.has_completed();
        }
    }
}

impl Kind for XdpLinks {
    fn tells(&self) -> bool {
        true
    }

    fn receive(&mut self, host: usize, slab: &mut Slab, taken: &mut Vec<u32>) -> io::Result<Received> {
        self.reap(host, slab);
        let Port { socket, waiting, .. } = &mut self.ports[host];
        let mut received = Received::default();
        while received.frames < BATCH {
            let Some((number, start, length)) = socket.receive() else { break };
            received.frames += 1;
            if length > slab.longest() {
                received.too_long += 1;
                slab.free(number);
                continue;
            }
            slab.put(number, start, length);
            slab.slot_mut(number).came_ns = take_stamp(slab, number, start);
            taken.push(number);
        }
        if received.frames > 0 {
            socket.has_received();
            *waiting -= received.frames as u32;
        }
        if *waiting <= WAITING - BATCH as u32 {
            self.fill(host, slab);
        }
        Ok(received)
    }

    fn send(&mut self, host: usize, slab: &mut Slab, leaving: &mut VecDeque<u32>) -> io::Result<()> {
        let Port { socket, sending, .. } = &mut self.ports[host];
        if leaving.is_empty() && !socket.is_behind() {
            return Ok(());
        }
        let room = socket.room().min(leaving.len() as u32);
        for number in leaving.drain(..room as usize) {
            let (start, length) = slab.place(number);
            socket.send(number, start, length);
        }
        *sending += room;
        if let Err(error) = socket.kick() {
            socket.withdraw(|number| {
                *sending -= 1;
                leaving.push_front(number);
            });
            return Err(error);
        }
        self.reap(host, slab);
        Ok(())
    }

    fn send_bytes(&mut self, host: usize, slab: &mut Slab, bytes: &[u8]) -> io::Result<()> {
        let Some(number) = slab.take() else {
            self.lost_here += 1;
            return Ok(());
        };
        slab.put(number, HEADROOM, bytes.len());
        slab.bytes_mut(number).copy_from_slice(bytes);
        let mut leaving = VecDeque::from([number]);
        let sent = self.send(host, slab, &mut leaving);
        leaving.into_iter().for_each(|number| slab.free(number));
        sent
    }

    fn failure(&self, host: usize) -> io::Result<()> {
        self.ports[host].socket.failure()
    }

    fn socket(&self, host: usize) -> BorrowedFd<'_> {
        self.ports[host].socket.as_fd()
    }

    fn lost_at_sockets(&mut self) -> io::Result<u64> {
        if self.mode == XdpMode::Driver {
            // What a socket does not take, the interface's driver has counted.
            return Ok(self.lost_here);
        }
        self.ports.iter().try_fold(self.lost_here, |sum, port| Ok(sum + port.socket.lost()?))
    }
}

/// When a frame came, which the kernel has written before it; 0 if it has not.
fn take_stamp(slab: &mut Slab, number: u32, start: usize) -> u64 {
    let Some(at) = start.checked_sub(STAMP_BYTES) else { return 0 };
    let stamp = slab.memory_mut().get_mut(number, at, STAMP_BYTES);
    let came = stamp.try_into().map_or(0, u64::from_ne_bytes);
    // Or it would be the next one's that has none.
    stamp.fill(0);
    came
}

/// A socket is for one queue of an interface; what came in over others would be lost.
fn one_queue(interfaces: &Interfaces) -> io::Result<()> {
    for name in interfaces.names() {
        let queues = interfaces.inside(|| receive_queues(name))?;
        if queues > 1 {
            let why =
                format!("{name} has {queues} receive queues; `ethtool -L {name} combined 1` leaves one");
            return Err(io::Error::other(why));
        }
    }
    Ok(())
}

/// Opens a socket. The kernel takes its time to let go of one that was there before.
fn open_patiently(interface: u32, slab: &Slab, first: Option<&XdpSocket>) -> io::Result<XdpSocket> {
    let mut attempts = 0;
    loop {
        match XdpSocket::open(interface, slab.memory(), first) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && attempts < BUSY_ATTEMPTS => {
                attempts += 1;
                std::thread::sleep(BUSY_PAUSE);
            }
            opened => return opened,
        }
    }
}
