//! A process that keeps this one's rights when this one gives them up, and does nothing with them but put interfaces'
//! offloads back when this one is gone, however it ends.
#![expect(unsafe_code, reason = "fork")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::fcntl::OFlag;
use nix::sys::signal::SigSet;
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, pipe2};

use super::interface::OffloadsOn;

/// The process, as long as this value lives.
#[derive(Debug)]
pub(crate) struct Keeper {
    process: Pid,
    /// Nothing is ever written. Its end is closed when this process is gone, too.
    until_closed: Option<OwnedFd>,
}

impl Keeper {
    /// Starts it.
    pub(crate) fn start(mut offloads: OffloadsOn) -> io::Result<Self> {
        let (read, write) = pipe2(OFlag::O_CLOEXEC)?;
        // No signal is for it: whoever ends a group of processes ends the switch, and it must see to the rest.
        let before = SigSet::all().thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_SETMASK)?;
        // SAFETY: between fork and exit the new process makes system calls only: it allocates nothing, and takes no lock
        // that another thread may have held.
        let process = unsafe { libc::fork() };
        if process == 0 {
            drop(write);
            // SAFETY: takes nothing.
            unsafe { libc::setsid() };
            wait_until_closed(&read);
            offloads.turn_on();
            // SAFETY: ends this process; nothing of what it shares with the other is to be cleaned up here.
            unsafe { libc::_exit(0) };
        }
        let forked = if process < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
        before.thread_set_mask()?;
        forked?;
        Ok(Keeper { process: Pid::from_raw(process), until_closed: Some(write) })
    }
}

fn wait_until_closed(pipe: &OwnedFd) {
    let mut byte = 0u8;
    loop {
        // SAFETY: the byte is there to be written.
        let read = unsafe { libc::read(pipe.as_raw_fd(), (&raw mut byte).cast(), 1) };
        if read == 0 || (read < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted) {
            return;
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.until_closed.take();
        // If somebody has ended it, there is nothing to wait for.
        let _ = waitpid(self.process, None);
    }
}
