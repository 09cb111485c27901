//! Network namespaces: made, entered, and gone with whoever holds them.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};

use tailrace_core::LiveError;

/// A network namespace. Without a name it is gone when this value and all processes in it are, however they end.
#[derive(Debug)]
pub struct Namespace {
    fd: OwnedFd,
}

impl Namespace {
    /// Makes one.
    pub fn unnamed() -> Result<Self, LiveError> {
        let make = || {
            unshare(CloneFlags::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net")
        };
        let file = on_a_thread(make).map_err(LiveError::refused("making a network namespace"))?;
        Ok(Namespace { fd: file.into() })
    }

    /// Gives it a name at `path`, which must not be taken. It lives on until [`Self::forget`], even without this process.
    pub(crate) fn keep_at(&self, path: &Path) -> io::Result<()> {
        File::create_new(path)?;
        let none = None::<&str>;
        mount(Some(&self.path()), path, none, MsFlags::MS_BIND, none).map_err(|error| {
            let _ = std::fs::remove_file(path);
            io::Error::from(error)
        })
    }

    /// Does something in it, on a thread of its own.
    pub fn inside<T: Send>(&self, act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        on_a_thread(|| {
            setns(&self.fd, CloneFlags::CLONE_NEWNET)?;
            act()
        })
    }

    /// Moves this thread into it: for a thread that ends without doing anything else.
    pub(crate) fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.fd, CloneFlags::CLONE_NEWNET)?)
    }

    /// A path to it for other programs, as long as this process lives.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", process::id(), self.fd.as_raw_fd()))
    }

    /// Takes the name of a namespace away, whoever made it.
    pub(crate) fn forget(path: &Path) -> io::Result<()> {
        // Whether it was still mounted or not, the file must go.
        let _ = umount2(path, MntFlags::MNT_DETACH);
        std::fs::remove_file(path)
    }
}

/// Namespaces belong to threads: what enters one does so on a thread that ends with it.
fn on_a_thread<T: Send>(act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a thread that has entered a namespace must not do anything else"
    )]
    let done = std::thread::scope(|scope| scope.spawn(act).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
