//! The connections whose windows a keeper keeps.

use std::net::IpAddr;

use libbpf_rs::{MapCore, MapFlags, MapHandle, Object};

use super::flows::AT_ONCE;
use super::known::Known;
use super::load;
use crate::error::BpfError;
use crate::shared::FlowKey;

/// Parts of a segment, and of a weight.
const SEGMENT: u64 = 1 << 20;
const WHOLE: f64 = 65_536.0;

/// Where things are in `struct tr_window`; bpf/shared.h checks it.
pub(super) const DEADLINE_AT: usize = 8;
const SEGMENTS_AT: usize = 48;
pub(super) const UNA_AT: usize = 88;
const MSS_AT: usize = 116;
pub(super) const FLAGS_AT: usize = 164;
pub(super) const FIRST_AT: usize = 172;
pub(super) const HAS_PEER: u32 = 1;

/// A flow of a connection whose window is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowRow {
    /// Payload bytes that were acknowledged, modulo 2^32.
    pub acknowledged: u32,
    /// Where they come from: address and port.
    pub source: (IpAddr, u16),
    /// Where they go.
    pub destination: (IpAddr, u16),
    /// Its window, in bytes.
    pub window: u64,
    /// Which of all directives is its own.
    pub directive: usize,
    /// The weight that a controller has given it; else it has its directive's.
    pub given: Option<f64>,
}

/// The tables in which a keeper has windows and weights.
pub struct WindowTable {
    windows: MapHandle,
    weights: MapHandle,
}

impl WindowTable {
    pub(super) fn new(object: &Object) -> Result<Self, BpfError> {
        let map = |name| {
            MapHandle::try_from(&load::map(object, name)?).map_err(load::refused("looking at the windows"))
        };
        Ok(WindowTable { windows: map("windows")?, weights: map("weights")? })
    }

    /// How many flows there are that were acknowledged anything, and those with the largest windows, from the largest on; flows come
    /// and go meanwhile.
    pub fn largest(&self, most: usize) -> Result<(u64, Vec<WindowRow>), BpfError> {
        let what = || load::refused("looking at the windows");
        let all = self.windows.lookup_batch(AT_ONCE, MapFlags::ANY, MapFlags::ANY).map_err(what())?;
        let mut rows: Vec<(WindowRow, Vec<u8>)> =
            all.filter_map(|(key, window)| Some((row(&key, &window)?, key))).collect();
        let count = rows.len() as u64;
        rows.sort_by_key(|(row, _)| std::cmp::Reverse((row.window, row.acknowledged)));
        let given = |(row, key): (WindowRow, Vec<u8>)| {
            let found = self.weights.lookup(&key, MapFlags::ANY).map_err(what())?;
            let parts = found.and_then(|bytes| bytes.first_chunk().copied()).map(u32::from_ne_bytes);
            Ok(WindowRow { given: parts.map(|parts| f64::from(parts) / WHOLE), ..row })
        };
        Ok((count, rows.into_iter().take(most).map(given).collect::<Result<_, BpfError>>()?))
    }
}

/// Nothing, if no window is kept, or nothing was acknowledged: of most connections one way only has bytes.
fn row(key: &[u8], window: &[u8]) -> Option<WindowRow> {
    let key = FlowKey::read(key)?;
    let number = |at: usize| Some(u32::from_ne_bytes(*window.get(at..)?.first_chunk()?));
    let segments = u64::from_ne_bytes(*window.get(SEGMENTS_AT..)?.first_chunk()?);
    let acknowledged = number(UNA_AT)?.wrapping_sub(number(FIRST_AT)?);
    let [source, destination] = key.ends();
    (number(FLAGS_AT)? & HAS_PEER != 0 && acknowledged > 0).then_some(WindowRow {
        acknowledged,
        source,
        destination,
        window: (u128::from(segments) * u128::from(number(MSS_AT)?) / u128::from(SEGMENT)) as u64,
        directive: Known::read(window)?.directive,
        given: None,
    })
}
