//! Parameters of the reliable transport that every scheme of packets runs on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ACK_BYTES, Time};

/// How a sender finds out that a segment is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossDetection {
    /// Three segments acknowledged above a hole (RFC 6675), or a timeout.
    #[default]
    DuplicateAcks,
    /// A timeout only: under packet spraying reordering is normal and says nothing about loss, and the
    /// papers reproduced here switch duplicate-ACK retransmits off (AWAFS §5.4).
    TimeoutOnly,
}

/// How the retransmission timeout behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RtoMode {
    /// `max(min_rto, srtt + 4·rttvar)`, doubled after each timeout (RFC 6298).
    #[default]
    Standard,
    /// Always `min_rto`, never doubled: ns-2's MinTCP, used by the PIAS and pFabric authors.
    Fixed,
}

/// When a flow counts as complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FctEnd {
    /// The receiver has the last missing byte.
    #[default]
    Receiver,
    /// The sender knows that (as PIAS' ns-2 scripts measure).
    Acked,
}

/// Parameters of the reliable transport, the same for all flows of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "snake_case")]
pub struct TransportParams {
    /// Payload bytes of a full segment; 40 bytes of header come on top.
    pub mss: u16,
    /// Congestion window of a new flow, in segments.
    pub initial_window: u32,
    /// Upper bound of the window, in segments (the receiver's buffer).
    pub max_window: u32,
    /// Lower bound of what a mark or a fast retransmit leaves of the window, in segments; 0 for none. One segment may
    /// be in flight however small the window, and a timeout leaves one in any case. Laws with windows of their own
    /// (`cubic`, `karuna`'s for deadlines, `scc`) have bounds of their own.
    pub min_window: u32,
    /// Smallest retransmission timeout.
    pub min_rto: Time,
    /// How the retransmission timeout behaves.
    pub rto: RtoMode,
    /// Longest retransmission timeout; `None` for any. Messages of live hosts have one, scenarios none.
    #[serde(skip)]
    pub longest_rto: Option<Time>,
    /// How losses are found.
    pub loss_detection: LossDetection,
    /// Acknowledge every n-th segment; 1 acknowledges each. With 2 or more, a change of the congestion
    /// mark forces an immediate acknowledgement (RFC 8257 §3.2).
    pub ack_every: u32,
    /// A delayed acknowledgement leaves at the latest after this time.
    pub delayed_ack_timeout: Time,
    /// Bytes of an acknowledgement on the wire, without what the scheme adds: its headers, and options where those
    /// count.
    pub ack_bytes: u16,
    /// Pure acknowledgements are ECN-capable too. RFC 8257 says no; ns-3 does it.
    pub ecn_capable_acks: bool,
    /// When a flow counts as complete.
    pub fct_end: FctEnd,
}

impl Default for TransportParams {
    fn default() -> Self {
        TransportParams {
            mss: 1460,
            initial_window: 10,
            max_window: 10_000,
            min_window: 1,
            min_rto: Time::from_ms(2),
            rto: RtoMode::Standard,
            longest_rto: None,
            loss_detection: LossDetection::DuplicateAcks,
            ack_every: 1,
            delayed_ack_timeout: Time::from_us(500),
            ack_bytes: ACK_BYTES,
            ecn_capable_acks: false,
            fct_end: FctEnd::Receiver,
        }
    }
}
