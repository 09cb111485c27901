//! The one program that is given to the kernel: what comes in over an interface goes to the socket that is listed for it,
//! with the time at which it came before its first byte.
#![expect(unsafe_code, reason = "bpf(2) has no wrapper in libc")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE: libc::c_int = 2;
const PROGRAM_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;

const MAP_OF_XDP_SOCKETS: u32 = 17;
const PROGRAM_OF_XDP: u32 = 6;
const ATTACH_TO_XDP: u32 = 37;
/// What becomes of a frame for which no socket is listed.
const XDP_DROP: i32 = 1;
const MONOTONIC_NS: i32 = 5;
const REDIRECT_MAP: i32 = 51;
const ADJUST_META: i32 = 54;
/// Where an XDP program's context has where a frame begins, where what is before it begins, and the number of the
/// interface.
const DATA: i16 = 0;
const DATA_META: i16 = 8;
const INGRESS_INTERFACE: i16 = 12;
/// Before a frame is the time at which it came, on the monotonic clock in nanoseconds.
pub(crate) const STAMP_BYTES: usize = 8;

/// Begins as `union bpf_attr` does for a new map; what is left out is zero.
#[repr(C)]
struct NewMap {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
}

/// The same for an entry of a map.
#[repr(C)]
struct MapEntry {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// The same for a new program.
#[repr(C)]
struct NewProgram {
    kind: u32,
    instructions: u32,
    code: u64,
    licence: u64,
}

/// The same for a new link of a program and an interface.
#[repr(C)]
struct NewLink {
    program: u32,
    interface: u32,
    attach: u32,
    flags: u32,
}

/// `struct bpf_insn`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    value: i32,
}

/// How a program is run: by the driver as soon as it has a frame, or later by the kernel, as every interface can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum XdpMode {
    Driver,
    Generic,
}

/// A program that gives frames to sockets, and the list of these.
#[derive(Debug)]
pub(crate) struct Redirect {
    sockets: OwnedFd,
    program: OwnedFd,
}

impl Redirect {
    /// For interfaces with numbers below `interfaces`.
    pub(crate) fn new(interfaces: u32) -> io::Result<Self> {
        let map = NewMap { kind: MAP_OF_XDP_SOCKETS, key_bytes: 4, value_bytes: 4, entries: interfaces };
        let sockets = descriptor(MAP_CREATE, &map)?;
        let code = code(sockets.as_raw_fd());
        let program = NewProgram {
            kind: PROGRAM_OF_XDP,
            instructions: code.len() as u32,
            code: code.as_ptr() as u64,
            licence: c"MIT".as_ptr() as u64,
        };
        let program = descriptor(PROGRAM_LOAD, &program)?;
        Ok(Redirect { sockets, program })
    }

    /// Lists a socket for an interface.
    pub(crate) fn list(&self, interface: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        let value = socket.as_raw_fd();
        let entry = MapEntry {
            map: self.sockets.as_raw_fd() as u32,
            padding: 0,
            key: (&raw const interface) as u64,
            value: (&raw const value) as u64,
            flags: 0,
        };
        bpf(MAP_UPDATE, &entry).map(drop)
    }

    /// Runs the program at an interface of this thread's network namespace, as long as what is returned lives.
    pub(crate) fn attach(&self, interface: u32, mode: XdpMode) -> io::Result<OwnedFd> {
        let flags = match mode {
            XdpMode::Generic => 1 << 1,
            XdpMode::Driver => 1 << 2,
        };
        let program = self.program.as_raw_fd() as u32;
        descriptor(LINK_CREATE, &NewLink { program, interface, attach: ATTACH_TO_XDP, flags })
    }
}

/// The program, for a list of sockets.
fn code(sockets: i32) -> [Instruction; 17] {
    let instruction = |code, registers, offset, value| Instruction { code, registers, offset, value };
    let call = |helper| instruction(0x85, 0, 0, helper);
    [
        // r6 = the context; make room before the frame, or leave the stamp out
        instruction(0xbf, 0x16, 0, 0),
        instruction(0xb7, 0x02, 0, -(STAMP_BYTES as i32)),
        call(ADJUST_META),
        instruction(0x55, 0x00, 7, 0),
        // r0 = the time; r2 = the room, which the kernel wants to see checked
        call(MONOTONIC_NS),
        instruction(0x61, 0x62, DATA_META, 0),
        instruction(0x61, 0x63, DATA, 0),
        instruction(0xbf, 0x24, 0, 0),
        instruction(0x07, 0x04, 0, STAMP_BYTES as i32),
        instruction(0x2d, 0x34, 1, 0),
        instruction(0x7b, 0x02, 0, 0),
        // r2 = the interface's number; r1 = the list; r3 = what becomes of other frames
        instruction(0x61, 0x62, INGRESS_INTERFACE, 0),
        instruction(0x18, 0x11, 0, sockets),
        instruction(0, 0, 0, 0),
        instruction(0xb7, 0x03, 0, XDP_DROP),
        call(REDIRECT_MAP),
        instruction(0x95, 0, 0, 0),
    ]
}

fn descriptor<T>(command: libc::c_int, attributes: &T) -> io::Result<OwnedFd> {
    let fd = bpf(command, attributes)?;
    // SAFETY: these commands return a new descriptor, which is nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<i32> {
    // SAFETY: the attributes are those of the command, of the length that is said; what they point to lives until the
    // call is over.
    let done = unsafe { libc::syscall(libc::SYS_bpf, command, attributes, size_of::<T>()) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done as i32) }
}
