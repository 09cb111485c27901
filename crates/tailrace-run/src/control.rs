//! Who follows a run.

use std::ops::ControlFlow;

use tailrace_core::Progress;

use crate::agents::StartAgents;

/// Who follows a run and may stop it.
pub trait Control: Sync {
    /// How far the run is; called now and then.
    fn progress(&self, progress: &Progress);
    /// Something that the user should know meanwhile: one line.
    fn note(&self, text: String);
    /// Whether the run should stop.
    fn interrupted(&self) -> bool;
    /// How agents are started at hosts, if whoever follows can do that.
    fn agents(&self) -> Option<StartAgents> {
        None
    }
}

/// Follows nothing and stops nothing.
pub struct Unattended;

impl Control for Unattended {
    fn progress(&self, _: &Progress) {}
    fn note(&self, _: String) {}
    fn interrupted(&self) -> bool {
        false
    }
}

/// Tells `control` how far a run is, and hears whether it should go on.
pub(crate) fn look(control: &dyn Control, progress: &Progress) -> ControlFlow<()> {
    control.progress(progress);
    if control.interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
