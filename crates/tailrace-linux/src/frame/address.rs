//! The addresses of a fabric's hosts: each follows from the host's number.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tailrace_core::{HostId, Packet};

/// What all Ethernet addresses of hosts begin with: locally administered.
const MAC_PREFIX: [u8; 4] = [0x02, 0x77, 0, 0];

/// The Ethernet address of a host.
pub fn mac_of(host: HostId) -> [u8; 6] {
    let [high, low] = Packet::address(host).to_be_bytes();
    let [a, b, c, d] = MAC_PREFIX;
    [a, b, c, d, high, low]
}

/// The host that has an Ethernet address.
pub fn host_of_mac(mac: &[u8]) -> Option<HostId> {
    let number = mac.strip_prefix(&MAC_PREFIX)?;
    Some(u16::from_be_bytes(number.try_into().ok()?).into())
}

/// The IPv4 address of a host, in 10.77.0.0/16. Host 0 is 10.77.0.1.
pub fn ipv4_of(host: HostId) -> Ipv4Addr {
    let [high, low] = Packet::address(host).wrapping_add(1).to_be_bytes();
    Ipv4Addr::new(10, 77, high, low)
}

/// The host that has an IPv4 address.
pub fn host_of_ipv4(address: Ipv4Addr) -> Option<HostId> {
    let [10, 77, high, low] = address.octets() else { return None };
    u16::from_be_bytes([high, low]).checked_sub(1).map(HostId::from)
}

/// The IPv6 address of a host, in fd77::/64. Host 0 is fd77::1.
pub fn ipv6_of(host: HostId) -> Ipv6Addr {
    Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, Packet::address(host).wrapping_add(1))
}

/// The host that has an IPv6 address.
fn host_of_ipv6(address: Ipv6Addr) -> Option<HostId> {
    let host = HostId::from(address.segments()[7].checked_sub(1)?);
    (ipv6_of(host) == address).then_some(host)
}

/// The host that has an address.
pub fn host_of(address: IpAddr) -> Option<HostId> {
    match address {
        IpAddr::V4(address) => host_of_ipv4(address),
        IpAddr::V6(address) => host_of_ipv6(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_by_their_addresses_and_nobody_else() {
        for host in [0, 1, 255, 256, 65_534] {
            assert_eq!(host_of_mac(&mac_of(host)), Some(host));
            assert_eq!(host_of_ipv4(ipv4_of(host)), Some(host));
            assert_eq!([ipv4_of(host).into(), ipv6_of(host).into()].map(host_of), [Some(host); 2]);
        }
        assert_eq!([[0xff; 6], [0x02, 0x77, 0, 1, 0, 0]].map(|mac| host_of_mac(&mac)), [None, None]);
        assert_eq!(host_of_mac(&[0x02, 0x77, 0, 0, 1]), None);
        assert_eq!(
            ["fd77::", "fd78::1", "fd77::1:1", "10.78.0.1"].map(|text| host_of(text.parse().unwrap())),
            [None; 4]
        );
        assert_eq!(
            [[10, 77, 0, 0], [10, 78, 0, 1]].map(|address| host_of_ipv4(address.into())),
            [None, None]
        );
        assert_eq!([0, 255].map(ipv4_of), [Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::new(10, 77, 1, 0)]);
    }
}
