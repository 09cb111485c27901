//! A congestion law that is simulated, as congestion control of the kernel's own TCP.

use std::net::IpAddr;
use std::os::fd::AsRawFd;

use libbpf_rs::{Link, MapCore, MapFlags, Object, ProgramInput};
use tailrace_core::{Directives, HostLaw};

use super::announcements::Announcements;
use super::handover::Handover;
use super::known::{LEVELS, Rule, host_law_bytes};
use super::{Cgroup, announcements, cgroups, flows, load, sys};
use crate::error::BpfError;
use crate::shared::{Constants, LawConstants};
use crate::trial::{McpTrial, Trial};

static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/congestion.bpf.o"));

/// Where `name` is in the program's `struct tcp_congestion_ops`: behind five addresses and a number.
const NAME_AT: usize = 44;
/// The kernel's `TCP_CA_NAME_MAX`.
const NAME_BYTES: usize = 16;
/// As the programs say.
const MAX_NETWORKS: usize = 1_024;
const MAX_CGROUPS: usize = 1_024;

/// The addresses whose first bits are these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// One of them.
    pub address: IpAddr,
    /// How many bits they have in common.
    pub bits: u8,
}

impl Network {
    /// As the kernel has it: IPv4 as ::ffff:a.b.c.d.
    fn key(&self) -> Vec<u8> {
        let (address, before) = match self.address {
            IpAddr::V4(v4) => (v4.to_ipv6_mapped(), 96),
            IpAddr::V6(v6) => (v6, 0),
        };
        (u32::from(self.bits) + before).to_ne_bytes().into_iter().chain(address.octets()).collect()
    }
}

/// Which connections have the law.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Cgroups whose programs' connections have it; of all where there are none.
    pub cgroups: Vec<Cgroup>,
    /// Networks to which they have it; to all where there are none.
    pub networks: Vec<Network>,
}

/// A law, as this kernel's congestion control of a name of its own, for connections of this thread's network namespace that begin.
/// It goes when this does; connections that have it keep it.
pub struct CongestionControl {
    // They go first: no connection is given what is no longer there.
    links: Vec<Link>,
    object: Object,
    handover: Handover,
    name: String,
}

impl CongestionControl {
    /// The law, for the connections that are chosen from [`attach`](Self::attach) on. Without a shared map of what programs have
    /// `announced` of their flows, it listens for announcements itself.
    pub fn new(
        law: &HostLaw,
        directives: &Directives,
        rules: &[Rule],
        chosen: &Chosen,
        announced: Option<&Announcements>,
    ) -> Result<Self, BpfError> {
        load::check()?;
        let (object, name) = loaded(law, chosen, announced)?;
        let mut control = CongestionControl { links: Vec::new(), object, handover: Handover::new()?, name };
        control.set(law, directives, rules)?;
        control.choose(&chosen.cgroups)?;
        let networks = load::map(&control.object, "networks")?;
        for network in &chosen.networks {
            networks
                .update(&network.key(), &1u32.to_ne_bytes(), MapFlags::ANY)
                .map_err(load::refused("choosing networks"))?;
        }
        if announced.is_none() {
            control.links.extend(announcements::listen(&mut control.object, None)?);
        }
        Ok(control)
    }

    /// From now on chosen connections that begin have it.
    pub fn attach(&mut self) -> Result<(), BpfError> {
        let mut laws = load::map_mut(&mut self.object, "congestion")?;
        let law =
            laws.attach_struct_ops().map_err(load::refused("adding a congestion control to the kernel"))?;
        self.links.push(law);
        let (root, program) = (cgroups::open_root()?, load::program(&mut self.object, "choose")?);
        let link = program.attach_cgroup(root.as_raw_fd());
        self.links.push(link.map_err(load::refused("choosing connections for a congestion control"))?);
        Ok(())
    }

    /// From now on connections that begin have it in these cgroups, where it was made for those of some. No rights are needed.
    pub fn choose(&self, cgroups: &[Cgroup]) -> Result<(), BpfError> {
        let refused = || load::refused("choosing cgroups for a congestion control");
        let map = load::map(&self.object, "cgroups")?;
        // Those that stay are never away.
        for cgroup in cgroups {
            map.update(&cgroup.id.to_ne_bytes(), &1u32.to_ne_bytes(), MapFlags::ANY).map_err(refused())?;
        }
        let stays = |key: &[u8]| cgroups.iter().any(|cgroup| cgroup.id.to_ne_bytes() == key);
        for key in map.keys().filter(|key| !stays(key)).collect::<Vec<_>>() {
            map.delete(&key).map_err(refused())?;
        }
        Ok(())
    }

    /// From now on the law is this, also for connections that have it; what is known of flows follows these rules.
    pub fn set(&mut self, law: &HostLaw, directives: &Directives, rules: &[Rule]) -> Result<(), BpfError> {
        load::map(&self.object, "host_law")?
            .update(&0u32.to_ne_bytes(), &host_law_bytes(law), MapFlags::ANY)
            .map_err(load::refused("handing the kernel a law"))?;
        self.handover.hand_over(&self.object, directives, rules, None)
    }

    /// What the kernel calls it: `ss -i` shows it beside connections.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many connections were given it.
    pub fn connections(&self) -> Result<u64, BpfError> {
        let [_, _, connections] = load::numbers(&self.object, ".bss")?;
        Ok(connections)
    }

    /// What programs have said of their flows, and what they must not.
    pub fn told(&self) -> Result<[u64; 2], BpfError> {
        load::numbers(&self.object, ".bss")
    }

    /// One step of the law on a window that is given, without any network.
    pub fn try_on(&mut self, trial: &mut Trial) -> Result<(), BpfError> {
        let mut bytes = trial.bytes();
        let program = load::program(&mut self.object, "try_law")?;
        let input = ProgramInput { context_in: Some(&mut bytes), ..ProgramInput::default() };
        program.test_run(input).map_err(load::refused("trying a law on a window"))?;
        *trial = Trial::read(&bytes);
        Ok(())
    }

    /// One step of Karuna's MCP on a window that is given.
    pub fn try_mcp(&mut self, trial: &mut McpTrial) -> Result<(), BpfError> {
        let mut bytes = trial.bytes();
        let program = load::program(&mut self.object, "try_mcp")?;
        let input = ProgramInput { context_in: Some(&mut bytes), ..ProgramInput::default() };
        program.test_run(input).map_err(load::refused("trying MCP on a window"))?;
        *trial = McpTrial::read(&bytes);
        Ok(())
    }
}

impl Chosen {
    /// Whether programs can choose so. The error names the field of a file and what is wrong with it.
    pub fn check(&self) -> Result<(), [String; 2]> {
        let of = |field: &str, many, most| match many > most {
            true => Err([field.to_owned(), format!("names {many}, but {most} is the most")]),
            false => Ok(()),
        };
        of("law.to", self.networks.len(), MAX_NETWORKS)?;
        of("law.cgroups", self.cgroups.len(), MAX_CGROUPS)?;
        match self.cgroups.iter().enumerate().find(|(_, cgroup)| cgroup.level > LEVELS) {
            Some((number, deep)) => Err([
                format!("law.cgroups[{number}]"),
                format!("is {} levels deep, but {LEVELS} is the most", deep.level),
            ]),
            None => Ok(()),
        }
    }
}

/// The programs, under a name that this kernel does not have.
fn loaded(
    law: &HostLaw,
    chosen: &Chosen,
    announced: Option<&Announcements>,
) -> Result<(Object, String), BpfError> {
    let name = format!("tr_{}_{:05x}", law.kind.name(), flows::random()? & 0xf_ffff);
    let mut padded = [0; NAME_BYTES];
    padded[..name.len()].copy_from_slice(name.as_bytes());
    let mut object = load::open(PROGRAMS)?;
    let constants = Constants { seed: 0, buckets: 0, network: load::own_network()? };
    load::set_constant(&mut object, ".rodata", &constants.bytes())?;
    let cookie = sys::network_cookie().map_err(BpfError::refused("asking for the network namespace"))?;
    let (networks, cgroups) = (!chosen.networks.is_empty(), !chosen.cgroups.is_empty());
    let constants = LawConstants { cookie, networks, name: padded, cgroups };
    load::set_constant(&mut object, ".rodata.chosen", &constants.bytes())?;
    chosen.check().map_err(|[field, message]| BpfError::Kernel(format!("{field}: {message}")))?;
    announced.map_or(Ok(()), |announced| announced.share(&mut object))?;
    let mut law = load::open_map(&mut object, "congestion")?;
    let value = law.initial_value_mut().and_then(|value| value.get_mut(NAME_AT..NAME_AT + NAME_BYTES));
    let value = value.ok_or_else(|| BpfError::Kernel("the programs have no law".to_owned()))?;
    value.copy_from_slice(&padded);
    Ok((load::load(object)?, name))
}
