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
    /// What for.
    pub wish: Wish,
}

/// When a run is to have several threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Unless they would do little but wait for each other; somebody has asked for them, and wants to know if there are fewer.
    Asked,
    /// The same, but nobody wants to know.
    Quietly,
    /// Whenever it can, though it may take far longer: to compare what comes of it.
    Whenever,
    /// Where it is over sooner with them.
    WhereItPays,
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
        Threads { at_most, wish: if asked.is_some() { Wish::Asked } else { Wish::Whenever } }
    }

    /// Those of a run that has the machine to itself.
    pub fn of_lone_run() -> Self {
        Threads { wish: Wish::WhereItPays, ..Threads::of(Some(0)) }
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
