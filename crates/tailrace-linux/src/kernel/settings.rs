//! What hosts' kernels are told of TCP, so that its packets are those that the scenario means.

use std::ffi::OsString;
use std::io;

use nix::sys::socket::{setsockopt, sockopt};
use tailrace_core::transport::{FctEnd, TransportParams};
use tailrace_core::{HostId, LiveError};

use crate::frame::ipv4_of;
use crate::hosts::{Hosts, INTERFACE, ip_batch};

/// What TCP of the kernel is to keep to.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The congestion control of all connections; the machine's default if `None`.
    pub congestion: Option<String>,
    /// Whether connections negotiate ECN.
    pub ecn: bool,
    /// Payload bytes of a full segment.
    pub mss: u16,
    /// Congestion window of a new flow, in segments.
    pub initial_window: u32,
    /// Smallest retransmission timeout, to a tick of the kernel.
    pub min_rto_ms: u64,
    /// Whether every segment is acknowledged at once.
    pub quick_acks: bool,
    /// When a flow counts as complete.
    pub fct_end: FctEnd,
}

impl Terms {
    /// Those of a scenario's transport, as far as the kernel can keep to them.
    pub fn new(transport: &TransportParams, ecn: bool, congestion: Option<String>) -> Self {
        Terms {
            congestion,
            ecn,
            mss: transport.mss,
            initial_window: transport.initial_window,
            min_rto_ms: transport.min_rto.as_ns().div_ceil(1_000_000).max(1),
            quick_acks: transport.ack_every <= 1,
            fct_end: transport.fct_end,
        }
    }

    /// Tells all hosts.
    pub(super) fn apply(&self, hosts: &Hosts) -> Result<(), LiveError> {
        for host in 0..hosts.len() as HostId {
            let what = format!("telling host {host} what TCP keeps to");
            hosts.namespace(host).inside(|| self.apply_here(host)).map_err(LiveError::refused(what))?;
        }
        Ok(())
    }

    fn apply_here(&self, host: HostId) -> io::Result<()> {
        let settings = [
            ("tcp_ecn", if self.ecn { "1" } else { "0" }),
            // A full segment has all the room that the scenario gives it.
            ("tcp_timestamps", "0"),
            // No connection starts with what another one has learnt.
            ("tcp_no_metrics_save", "1"),
            ("ip_local_port_range", "1024 65535"),
        ];
        for (name, value) in settings {
            std::fs::write(format!("/proc/sys/net/ipv4/{name}"), value)
                .map_err(|error| io::Error::new(error.kind(), format!("net.ipv4.{name}: {error}")))?;
        }
        ip_batch(&format!(
            "route change 10.77.0.0/16 dev {INTERFACE} proto kernel scope link src {} initcwnd {} rto_min {}ms quickack {}\n",
            ipv4_of(host),
            self.initial_window,
            self.min_rto_ms,
            u8::from(self.quick_acks),
        ))
    }

    /// Gives a socket its congestion control.
    pub(super) fn set_congestion(&self, socket: &impl std::os::fd::AsFd) -> Result<(), LiveError> {
        let Some(name) = &self.congestion else { return Ok(()) };
        setsockopt(socket, sockopt::TcpCongestion, &OsString::from(name)).map_err(|error| {
            let known = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
            let known = known.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(", ");
            LiveError::SetUp(format!(
                "live.tcp_congestion: \"{name}\" cannot be had here ({}); this machine's kernel has {known}",
                error.desc()
            ))
        })
    }
}
