//! What an agent hears of flows that have ended, and what follows.

use std::sync::{Mutex, PoisonError};

use tailrace_bpf::{Connection, Rule};
use tailrace_core::{Bytes, Reveals, SliceId, Time};

use super::datapath::Datapath;
use super::known;
use super::status::Status;
use crate::{Error, HostPart};

/// Tells the policy of flows that have ended. Returns whether tags may be others from now on.
pub fn learn(
    part: &mut HostPart,
    datapath: &Datapath,
    heard: &[Connection],
    now: Time,
) -> Result<bool, Error> {
    for (size, reveals, slice) in ended(heard, datapath)? {
        part.ended(now, size, reveals, slice);
    }
    Ok(part.wake(now))
}

/// Of flows that have ended: their payload bytes, what of them was known, and their slices.
pub fn ended(heard: &[Connection], datapath: &Datapath) -> Result<Vec<(Bytes, Reveals, SliceId)>, Error> {
    let flow = |connection: &Connection| {
        let known = datapath.known_of(connection)?.unwrap_or_default();
        Ok((Bytes::new(connection.sent), known::revealed(&known), known.slice))
    };
    heard.iter().filter(|of| of.whole().is_some() && of.sent > 0).map(flow).collect()
}

/// Tells the kernel of tables that are new.
pub fn hand_over(
    part: &HostPart,
    rules: &[Rule],
    datapath: &mut Datapath,
    status: &Mutex<Status>,
) -> Result<(), Error> {
    datapath.set(part, rules)?;
    let mut status = status.lock().unwrap_or_else(PoisonError::into_inner);
    (status.directives, status.has_rules) = (part.directives()?, !rules.is_empty());
    status.tables += 1;
    Ok(())
}
