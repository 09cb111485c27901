//! One run on several threads: a conservative parallel discrete-event simulation after Chandy, Misra and Bryant.
//!
//! The fabric is partitioned into *logical processes*, a thread each. Each is a [`World`](crate::World) with its own agenda, ports and
//! hosts, and a clock: it has simulated all events before that. An event of one process affects another only by a *message* with a
//! time, which is later than the event by the *look-ahead* from the one to the other ([`LookAheads`](crate::LookAheads)) or more: the
//! time that the shortest packet takes over the fastest link between them. So each logical process simulates up to its *safe time*, the minimum
//! over its neighbours of
//!
//! > clock + look-ahead,
//!
//! and then waits until their clocks have advanced. No message from before its safe time can come any more, so no event is ever undone. Every
//! look-ahead is longer than nothing, so the process with the earliest clock can always go on, and there is no deadlock.
//!
//! The textbook sends the clocks in null messages; here they are in memory that all threads share ([`mailbox`]). A process publishes its
//! clock several times in a round of look-aheads, so that the others wait only for one that is slow for long. Where all processes are idle,
//! null messages would lead from one look-ahead to the next; instead, they detect this by idle notices and jump to the next event.
//!
//! - R. E. Bryant: Simulation of packet communication architecture computer systems. MIT-LCS-TR-188, 1977.
//! - K. M. Chandy, J. Misra: Distributed simulation: a case study in design and verification of distributed programs. IEEE Transactions on
//!   Software Engineering 5(5), 1979.
//! - K. M. Chandy, J. Misra: Asynchronous distributed simulation via a sequence of parallel computations. Communications of the ACM 24(4), 1981.
//! - F. Mattern: Algorithms for distributed termination detection. Distributed Computing 2(3), 1987.
//!
//! The results of a run do not depend on the partition. Within an instant, events are in order of a hash of time and entity. Global events take
//! their time on one thread as well (`world/global_events.rs`). All processes draw all flows, so that flows have the same numbers and
//! slots in each of them.

#[cfg(test)]
mod interleaving_tests;
mod mailbox;
#[cfg(test)]
mod mailbox_tests;
mod run;

/// The atomics and threads of mailboxes; `interleaving_tests.rs` puts others in their place.
mod sync {
    pub(super) use std::sync::atomic;
    pub(super) use std::{hint, thread};
}

pub use run::run_parallel;
