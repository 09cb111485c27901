//! Settings of interfaces and threads.
#![expect(unsafe_code, reason = "ioctl and prctl")]

use std::io;
use std::os::fd::AsRawFd;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
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

/// Turns off what would make an interface of this thread's network namespace carry other frames than a wire, and checks
/// that it is off.
pub(crate) fn offloads_off(interface: &str) -> io::Result<()> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    for (name, set, get) in OFFLOADS {
        let ask = |command, data| ethtool(socket.as_raw_fd(), interface, command, data);
        // An offload that this driver does not have cannot be set, and is off.
        let _ = ask(set, 0);
        if name != "rx-checksumming" && ask(get, 0)? != 0 {
            return Err(io::Error::other(format!("{name} of {interface} stays on")));
        }
    }
    Ok(())
}

fn ethtool(socket: i32, interface: &str, command: u32, data: u32) -> io::Result<u32> {
    let mut value = EthtoolValue { command, data };
    // SAFETY: zero is a value of all fields.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::Error::other(format!("{interface} is no name of an interface")));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the request is terminated by a zero, and points to a value that lives until the call is over.
    let done = unsafe { libc::ioctl(socket, libc::SIOCETHTOOL as _, &raw mut request) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(value.data) }
}

/// Lets this process have as many files open as it may: a connection takes two. Where there are too few of them, opening
/// one says so.
pub(crate) fn allow_many_files() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// While it lives, this thread wakes when it asked to, and before others of the machine: by default the kernel lets
/// sleeps be 50 µs late, and lets others finish their turn first. Where that is refused, wake-ups are later, which is
/// measured.
#[derive(Debug)]
pub(crate) struct Punctual(());

impl Punctual {
    pub(crate) fn begin() -> Self {
        // SAFETY: takes an integer and changes this thread only.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        schedule(libc::SCHED_FIFO, 1);
        Punctual(())
    }
}

impl Drop for Punctual {
    fn drop(&mut self) {
        schedule(libc::SCHED_OTHER, 0);
        // SAFETY: as above; zero is the thread's default.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 0) };
    }
}

fn schedule(policy: libc::c_int, priority: libc::c_int) {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the parameters live until the call is over; it changes this thread only.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
}
