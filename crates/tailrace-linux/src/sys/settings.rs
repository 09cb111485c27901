//! Settings of threads and processes.
#![expect(unsafe_code, reason = "prctl and sched_setscheduler")]

use nix::sys::resource::{Resource, getrlimit, setrlimit};

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
