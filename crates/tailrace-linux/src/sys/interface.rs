//! Interfaces of this thread's network namespace: what they are, and their offloads.
#![expect(unsafe_code, reason = "ioctl")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::net::if_::{Interface, if_nameindex};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// `struct ethtool_value` of linux/ethtool.h.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Offloads, and the numbers by which ethtool sets and gets them: segmentation, checksums that are left to the
/// hardware, and putting segments together. With any of them a frame would not be what is on a wire.
const OFFLOADS: [(&str, u32, u32); 7] = [
    ("tcp-segmentation-offload", 0x1f, 0x1e),
    ("generic-segmentation-offload", 0x24, 0x23),
    ("generic-receive-offload", 0x2c, 0x2b),
    ("scatter-gather", 0x19, 0x18),
    ("tx-checksumming", 0x17, 0x16),
    ("rx-checksumming", 0x15, 0x14),
    // These are bits of one number. VLAN tags that the hardware would put in are not in the frames that a program sees.
    ("vlan-offload", 0x26, 0x25),
];

/// `struct ethtool_channels` of linux/ethtool.h: the most there may be, and those there are.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    most: [u32; 4],
    receiving: u32,
    sending: u32,
    other: u32,
    combined: u32,
}

const GET_CHANNELS: u32 = 0x3c;

/// What a switch must know of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceState {
    /// The longest IP packet.
    pub mtu: usize,
    /// Whether it is set up.
    pub up: bool,
    /// Whether it carries Ethernet frames, which loopback and tunnels of IP packets do not.
    pub ethernet: bool,
}

/// Asks for an interface. `None` if there is none of this name.
pub fn interface_state(name: &str) -> io::Result<Option<InterfaceState>> {
    let socket = asking()?;
    let ask = |what| {
        let mut request = request(name)?;
        call(socket.as_raw_fd(), what, &mut request)?;
        Ok::<_, io::Error>(request)
    };
    match ask(libc::SIOCGIFFLAGS) {
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(None),
        Err(error) => Err(error),
        Ok(flags) => {
            // SAFETY: the kernel has written the flags.
            let up = unsafe { flags.ifr_ifru.ifru_flags } & libc::IFF_UP as i16 != 0;
            // SAFETY: the kernel has written the MTU.
            let mtu = unsafe { ask(libc::SIOCGIFMTU)?.ifr_ifru.ifru_mtu };
            // SAFETY: the kernel has written the address.
            let kind = unsafe { ask(libc::SIOCGIFHWADDR)?.ifr_ifru.ifru_hwaddr.sa_family };
            let mtu = usize::try_from(mtu).unwrap_or(0);
            Ok(Some(InterfaceState { mtu, up, ethernet: kind == libc::ARPHRD_ETHER }))
        }
    }
}

/// The names of all interfaces.
pub fn interface_names() -> Vec<String> {
    let interfaces = if_nameindex();
    let name = |interface: &Interface| interface.name().to_string_lossy().into_owned();
    interfaces.iter().flat_map(|interfaces| interfaces.iter().map(name)).collect()
}

/// How many queues frames come in over. A driver that does not know has one.
pub(crate) fn receive_queues(interface: &str) -> io::Result<u32> {
    let mut channels = Channels { command: GET_CHANNELS, ..Channels::default() };
    let mut request = request(interface)?;
    request.ifr_ifru.ifru_data = (&raw mut channels).cast();
    match call(asking()?.as_raw_fd(), libc::SIOCETHTOOL, &mut request) {
        Ok(()) => Ok((channels.receiving + channels.combined).max(1)),
        Err(_) => Ok(1),
    }
}

/// Turns off what would make an interface carry other frames than a wire, and checks that it is off.
pub(crate) fn offloads_off(interface: &str) -> io::Result<()> {
    let socket = asking()?;
    for (name, set, get) in OFFLOADS {
        let ask = |command, data| ethtool(&socket, interface, command, data);
        // An offload that this driver does not have cannot be set, and is off.
        let _ = ask(set, 0);
        if name != "rx-checksumming" && ask(get, 0)? != 0 {
            return Err(io::Error::other(format!("{name} of {interface} stays on")));
        }
    }
    Ok(())
}

fn ethtool(socket: &OwnedFd, interface: &str, command: u32, data: u32) -> io::Result<u32> {
    let mut value = EthtoolValue { command, data };
    let mut request = request(interface)?;
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    call(socket.as_raw_fd(), libc::SIOCETHTOOL, &mut request).map(|()| value.data)
}

/// Offloads of interfaces that are on, and what it takes to turn them on again: everything is allocated before, so that
/// another process can do it that was forked from this one.
pub(crate) struct OffloadsOn {
    socket: OwnedFd,
    settings: Vec<(libc::ifreq, Box<EthtoolValue>)>,
}

impl OffloadsOn {
    /// Those of these interfaces that are on now.
    pub(crate) fn of(interfaces: &[String]) -> io::Result<Self> {
        let (socket, mut settings) = (asking()?, Vec::new());
        for interface in interfaces {
            // What others depend on comes first: there is no segmentation without checksums.
            for (_, set, get) in OFFLOADS.iter().rev() {
                let value = ethtool(&socket, interface, *get, 0).unwrap_or(0);
                if value != 0 {
                    let value = Box::new(EthtoolValue { command: *set, data: value });
                    settings.push((request(interface)?, value));
                }
            }
        }
        Ok(OffloadsOn { socket, settings })
    }

    /// Turns them on. An interface that is gone needs nothing. Makes system calls only.
    pub(super) fn turn_on(&mut self) {
        for (request, value) in &mut self.settings {
            request.ifr_ifru.ifru_data = (&raw mut **value).cast();
            let _ = call(self.socket.as_raw_fd(), libc::SIOCETHTOOL, request);
        }
    }
}

/// A socket to ask for interfaces.
fn asking() -> io::Result<OwnedFd> {
    Ok(socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?)
}

fn request(interface: &str) -> io::Result<libc::ifreq> {
    // SAFETY: zero is a value of all fields.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if interface.is_empty() || interface.len() >= request.ifr_name.len() {
        let message = format!("{interface} is no name of an interface");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

fn call(socket: i32, what: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: the name is terminated by a zero; what the request points to, if it does, lives until the call is over.
    let done = unsafe { libc::ioctl(socket, what as _, &raw mut *request) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
