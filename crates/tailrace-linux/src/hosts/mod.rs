//! The hosts of a fabric: a network namespace each, whose only interface leads to the fabric.

mod programs;
mod site;
mod standing;

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use tailrace_core::{HostId, LiveError};

use crate::frame::{ipv4_of, ipv6_of, mac_of};
use crate::interfaces::Interfaces;
use crate::namespace::Namespace;
use crate::rights::check_rights;
use crate::sys::offloads_off;

use site::Site;

pub use site::{LONGEST_NAME, clean};
pub use standing::Standing;

/// The interface of every host.
pub const INTERFACE: &str = "eth0";

/// The kernel has IPv6 on no interface whose packets are shorter.
pub const MIN_MTU_FOR_IPV6: usize = 1280;

/// There is no interface whose packets are shorter than this.
const MIN_MTU: usize = 68;

/// What may wait for a host's address.
const UNRESOLVED_BYTES: &str = "8388608";

/// The hosts of a fabric and the place where it runs, each a network namespace.
#[derive(Debug)]
pub struct Hosts {
    /// What is to be taken away of them, if they have names.
    site: Option<Site>,
    /// The fabric's ends of their links.
    ports: Interfaces,
    hosts: Vec<Namespace>,
}

impl Hosts {
    /// Makes so many hosts whose interfaces carry IP packets of up to `mtu` bytes; below [`MIN_MTU_FOR_IPV6`] they have
    /// IPv4 only. With a `name`, `ip netns` knows them as NAME-h0, NAME-h1, …, and the fabric as NAME; they know one another as h0, h1, …; and no other process can have
    /// hosts of that name. Programs that run on named hosts are ended when this value goes.
    pub fn new(count: usize, mtu: usize, name: Option<&str>) -> Result<Self, LiveError> {
        check_rights("a live fabric")?;
        if mtu < MIN_MTU {
            let message = format!(
                "packets have {mtu} bytes at most, and Linux has no interfaces for less than {MIN_MTU}: give transport.mss more"
            );
            return Err(LiveError::SetUp(message));
        }
        let site = name.map(|name| Site::claim(name, count, has_ipv6(mtu))).transpose()?;
        let fabric = Namespace::unnamed()?;
        let hosts: Result<Vec<_>, _> = (0..count).map(|_| Namespace::unnamed()).collect();
        let names = (0..count as HostId).map(port_name).collect();
        let this = Hosts { site, ports: Interfaces::new(Some(fabric), names, mtu), hosts: hosts? };
        this.connect()?;
        if let Some(site) = &this.site {
            site.keep(this.ports.namespace.iter().chain(&this.hosts))?;
        }
        Ok(this)
    }

    /// A name of these hosts that somebody has taken away, if there is one.
    pub fn missing(&self) -> Option<&Path> {
        self.site.as_ref()?.missing()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// The longest IP packet of their interfaces.
    pub fn mtu(&self) -> usize {
        self.ports.mtu()
    }

    /// The fabric's ends of their links.
    pub(crate) fn ports(&self) -> &Interfaces {
        &self.ports
    }

    /// All hosts' namespaces.
    pub(crate) fn namespaces(&self) -> &[Namespace] {
        &self.hosts
    }

    /// A host's namespace.
    pub fn namespace(&self, host: HostId) -> &Namespace {
        &self.hosts[host as usize]
    }

    fn connect(&self) -> Result<(), LiveError> {
        let numbered = || (0..).zip(&self.hosts);
        let links: String = numbered()
            .map(|(host, namespace)| {
                let (mtu, mac, path) = (self.mtu(), mac_text(host), namespace.path());
                format!(
                    "link add {port} mtu {mtu} type veth peer name {INTERFACE} mtu {mtu} address {mac} netns {path}\n\
                     link set {port} up\n",
                    port = port_name(host),
                    path = path.display()
                )
            })
            .collect();
        let set_up = || {
            std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").or_else(absent)?;
            ip_batch(&links)?;
            (0..self.hosts.len() as HostId).try_for_each(|host| offloads_off(&port_name(host)))
        };
        self.ports.inside(set_up).map_err(LiveError::refused("setting up the fabric's interfaces"))?;
        for (host, namespace) in numbered() {
            let set_up = || {
                std::fs::write("/proc/sys/net/ipv6/conf/default/router_solicitations", "0")
                    .or_else(absent)?;
                ip_batch(&addresses(host, has_ipv6(self.mtu())))?;
                // The first burst towards a host waits for its address; none of it may be lost.
                for version in ["ipv4", "ipv6"] {
                    let path = format!("/proc/sys/net/{version}/neigh/{INTERFACE}/unres_qlen_bytes");
                    std::fs::write(path, UNRESOLVED_BYTES).or_else(absent)?;
                }
                offloads_off(INTERFACE)
            };
            namespace.inside(set_up).map_err(LiveError::refused(format!("setting up host {host}")))?;
        }
        Ok(())
    }

    /// Frames that the fabric has sent and that were lost on their way to hosts.
    pub(crate) fn lost_on_links(&self) -> Result<u64, LiveError> {
        let read = || std::fs::read_to_string("/proc/thread-self/net/dev");
        let text = self.ports.inside(read).map_err(LiveError::refused("the interfaces' counters"))?;
        Ok(text.lines().filter_map(lost_by).sum())
    }

    /// From now on TCP hands interfaces one segment at a time: what looks at packets as they leave, sees those that are on the wire.
    pub fn send_single_segments(&self) -> Result<(), LiveError> {
        (0..).zip(&self.hosts).try_for_each(|(host, namespace): (HostId, _)| {
            let set = || ip_batch(&format!("link set {INTERFACE} gso_max_segs 1\n"));
            namespace.inside(set).map_err(LiveError::refused(format!("setting up host {host}")))
        })
    }

    /// Joins all hosts by a bridge of the kernel.
    pub(crate) fn join_by_bridge(&self) -> io::Result<()> {
        let ports: String = (0..self.hosts.len() as HostId)
            .map(|host| format!("link set {} master bridge\n", port_name(host)))
            .collect();
        self.ports.inside(|| ip_batch(&format!("link add bridge type bridge\nlink set bridge up\n{ports}")))
    }
}

/// The frames that an interface of the fabric could not hand over, from its line of `/proc/net/dev`.
fn lost_by(line: &str) -> Option<u64> {
    let (name, counters) = line.split_once(':')?;
    // Eight numbers of what was received, then bytes, packets, errors and drops of what was sent.
    name.trim().starts_with("port").then(|| counters.split_whitespace().nth(11)?.parse().ok())?
}

/// The fabric's end of a host's link.
fn port_name(host: HostId) -> String {
    format!("port{host}")
}

fn mac_text(host: HostId) -> String {
    mac_of(host).map(|byte| format!("{byte:02x}")).join(":")
}

/// Whether hosts with this MTU have IPv6.
fn has_ipv6(mtu: usize) -> bool {
    mtu >= MIN_MTU_FOR_IPV6
}

fn addresses(host: HostId, with_ipv6: bool) -> String {
    let (v4, v6) = (ipv4_of(host), ipv6_of(host));
    let v6 = if with_ipv6 { format!("addr add {v6}/64 dev {INTERFACE} nodad\n") } else { String::new() };
    format!(
        "link set lo up\n\
         addr add {v4}/16 dev {INTERFACE}\n\
         link set {INTERFACE} up\n\
         {v6}route add default dev {INTERFACE}\n"
    )
}

/// A kernel without IPv6 has no such setting.
fn absent(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Gives `ip` a list of commands, in the namespace of this thread.
pub(crate) fn ip_batch(commands: &str) -> io::Result<()> {
    let mut child = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            io::Error::new(error.kind(), format!("`ip` of iproute2 cannot be started: {error}"))
        })?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(commands.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("`ip` says: {}", said.lines().next().unwrap_or("nothing"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_their_addresses_and_leave_nothing_behind() {
        if !nix::unistd::geteuid().is_root() {
            crate::skip_test("network namespaces need root");
            return;
        }
        let shown = || {
            let output = Command::new("ip").args(["-o", "addr"]).output()?;
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        for (mtu, with_ipv6) in [(1500, true), (MIN_MTU_FOR_IPV6, true), (1279, false), (576, false)] {
            let hosts = Hosts::new(3, mtu, None).unwrap();
            let text = hosts.namespace(2).inside(shown).unwrap();
            assert!(text.contains("10.77.0.3/16"), "{mtu}: {text}");
            assert_eq!(text.contains("fd77::3/64"), with_ipv6, "{mtu}: {text}");
            assert_eq!(hosts.ports().at(|ports| Ok(ports.len())).unwrap(), 3);
        }
        let said = Hosts::new(2, MIN_MTU - 1, None).unwrap_err().to_string();
        assert!(said.contains("67 bytes at most") && Hosts::new(2, MIN_MTU, None).is_ok(), "{said}");
    }
}
