//! The vocabulary of Tailrace: units, packets, flows, records, random streams and the traits a scheme
//! is made of. No I/O, no clock, no thread: **policy is a value, mechanism is a driver** (ARCHITECTURE.md).

mod controller;
mod directives;
mod duration;
mod facts;
mod flow;
mod frame_counters;
mod lag;
mod ledger;
mod live_error;
mod outcome;
mod packet;
mod param_error;
pub mod policy;
mod queue;
pub mod random;
mod rate;
mod real_time;
mod record;
mod records;
mod scheme;
mod shim;
mod sizes;
mod slice;
mod switch;
mod tags;
pub mod transport;
mod units;
mod view;
mod wrapper;

pub use controller::{Controller, WeightUpdate};
pub use directives::Directives;
pub use duration::duration;
pub use facts::{Facts, Knowledge, PortFacts, PortPlace, Traffic, TrafficClass};
pub use flow::{FlowId, FlowInfo, FlowView, HostId, Reveals, SliceId, TaskId};
pub use frame_counters::FrameCounters;
pub use lag::{Lag, Lateness};
pub use ledger::{Count, Ledger, Reason};
pub use live_error::LiveError;
pub use outcome::{
    Ending, Outcome, PlacedSink, PortCounts, PortId, PortView, Progress, Running, Series, SeriesSource,
};
pub use packet::{ACK_BYTES, Ecn, HEADER_BYTES, Header, MTU_BYTES, Packet, PacketKind};
pub use param_error::ParamError;
pub use policy::{
    AckSample, Allowance, Cap, CongestionLaw, Directive, HostPolicy, Loss, PortPolicy, Refresh, Segment,
    Standing, Untagged,
};
pub use queue::{MarkingAt, QueueLength, QueueUnit, Scales};
pub use rate::{FlowScheme, NoParams, Prospect, Queues, Rank, RateRule};
pub use real_time::RealTime;
pub use record::{FlowRecord, SeriesRow, SeriesSink, TaskRecord};
pub use records::FlowRecords;
pub use scheme::Scheme;
pub use shim::{HostLaw, HostLawKind, HostMcp, WindowShim};
pub use sizes::{SizeDistribution, SizeError};
pub use slice::{Objective, Slice, Weight};
pub use switch::{MarkedLength, PlannedMarking, PlannedQueue, Service, SwitchPlan, dscp_of};
pub use tags::{MAX_PRIORITIES, TagTable};
pub use units::{Bytes, LinkRate, Rate, Time, UnitError};
pub use view::{Frames, View};
pub use wrapper::{Adds, Headers, Same, Wrapper};
