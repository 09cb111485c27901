//! Who follows a run.

use std::ops::ControlFlow;

use tailrace_core::Running;

/// Who follows a run and may stop it.
pub trait Control: Sync {
    /// The run goes on; called now and then.
    fn progress(&self, run: &mut dyn Running);
    /// Something that the user should know meanwhile: one line.
    fn note(&self, text: String);
    /// Whether the run should stop.
    fn interrupted(&self) -> bool;
    /// How many threads a run may have. What comes of it does not depend on that.
    fn threads(&self) -> Threads {
        Threads::default()
    }
}

/// Threads of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// So many at most.
    pub at_most: usize,
    /// When it has them.
    pub policy: ThreadPolicy,
}

/// When a run is to have several threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadPolicy {
    /// Unless they would do little but wait for each other; a user has asked for them, and gets a note if there are fewer.
    Requested,
    /// The same without a note.
    RequestedQuietly,
    /// Whenever it can, though it may take far longer: to compare results.
    Always,
    /// Where they make it faster.
    IfFaster,
}

/// How many processors there are.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Threads {
    /// As many as somebody has asked for; 0 is as many as there are processors. One, if nobody has.
    pub fn of(asked: Option<usize>) -> Self {
        let at_most = match asked {
            None => 1,
            Some(0) => processors(),
            Some(threads) => threads,
        };
        Threads {
            at_most,
            policy: if asked.is_some() { ThreadPolicy::Requested } else { ThreadPolicy::Always },
        }
    }

    /// Those of a run that has the machine to itself.
    pub fn of_lone_run() -> Self {
        Threads { policy: ThreadPolicy::IfFaster, ..Threads::of(Some(0)) }
    }
}

impl Default for Threads {
    fn default() -> Self {
        Threads::of(None)
    }
}

/// Follows nothing and stops nothing.
pub struct Unattended;

impl Control for Unattended {
    fn progress(&self, _: &mut dyn Running) {}
    fn note(&self, _: String) {}
    fn interrupted(&self) -> bool {
        false
    }
}

/// Shows `control` a run, and hears whether it should go on.
pub fn look(control: &dyn Control, run: &mut dyn Running) -> ControlFlow<()> {
    control.progress(run);
    if control.interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
