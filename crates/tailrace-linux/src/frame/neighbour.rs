//! Who has this address? The fabric answers for its hosts, over ARP (RFC 826) and neighbour discovery (RFC 4861), so that
//! no frame need be sent to all.

use std::net::{Ipv4Addr, Ipv6Addr};

use tailrace_core::HostId;

use super::{ETHERNET_BYTES, ipv4_of, ipv6_of, mac_of};

const ARP: [u8; 2] = [0x08, 0x06];
const IPV6: [u8; 2] = [0x86, 0xdd];
const ARP_BYTES: usize = 28;
const ICMPV6: u8 = 58;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
const SOLICITATION_BYTES: usize = 24;

/// The answer to a frame that asks for the Ethernet address of one of so many hosts; `None` if it asks for none.
pub fn answer(frame: &[u8], hosts: usize) -> Option<Vec<u8>> {
    let (header, rest) = frame.split_at_checked(ETHERNET_BYTES)?;
    match [header[12], header[13]] {
        ARP => answer_arp(header, rest.get(..ARP_BYTES)?, hosts),
        IPV6 => answer_solicitation(header, rest, hosts),
        _ => None,
    }
}

/// Whose address this is, of so many hosts.
fn owner<A: PartialEq>(
    number: [u8; 2],
    address: A,
    hosts: usize,
    of: impl Fn(HostId) -> A,
) -> Option<HostId> {
    let host = HostId::from(u16::from_be_bytes(number).checked_sub(1)?);
    ((host as usize) < hosts && of(host) == address).then_some(host)
}

fn answer_arp(header: &[u8], request: &[u8], hosts: usize) -> Option<Vec<u8>> {
    // Ethernet, IPv4, six and four bytes, a request.
    if request[..8] != [0, 1, 8, 0, 6, 4, 0, 1] {
        return None;
    }
    let target: [u8; 4] = request[24..28].try_into().ok()?;
    let host = owner([target[2], target[3]], Ipv4Addr::from(target), hosts, ipv4_of)?;
    let mac = mac_of(host);
    let mut answer = Vec::with_capacity(ETHERNET_BYTES + ARP_BYTES);
    answer.extend_from_slice(&header[6..12]);
    answer.extend(mac);
    answer.extend(ARP);
    answer.extend([0, 1, 8, 0, 6, 4, 0, 2]);
    answer.extend(mac);
    answer.extend(target);
    answer.extend_from_slice(&request[8..18]);
    Some(answer)
}

fn answer_solicitation(header: &[u8], packet: &[u8], hosts: usize) -> Option<Vec<u8>> {
    let (ip, icmp) = packet.split_at_checked(40)?;
    if ip[6] != ICMPV6 || icmp.len() < SOLICITATION_BYTES || icmp[0] != SOLICITATION {
        return None;
    }
    let target: [u8; 16] = icmp[8..24].try_into().ok()?;
    let asker: [u8; 16] = ip[8..24].try_into().ok()?;
    if Ipv6Addr::from(asker).is_unspecified() {
        return None; // Whether its own address is taken: it is not.
    }
    let host = owner([target[14], target[15]], Ipv6Addr::from(target), hosts, ipv6_of)?;
    let mac = mac_of(host);
    let mut answer = Vec::with_capacity(ETHERNET_BYTES + 40 + 32);
    answer.extend_from_slice(&header[6..12]);
    answer.extend(mac);
    answer.extend(IPV6);
    answer.extend([0x60, 0, 0, 0, 0, 32, ICMPV6, 255]);
    answer.extend(target);
    answer.extend(asker);
    let at = answer.len();
    // Solicited, and to be believed.
    answer.extend([ADVERTISEMENT, 0, 0, 0, 0x60, 0, 0, 0]);
    answer.extend(target);
    answer.extend([2, 1]);
    answer.extend(mac);
    let sum = icmp_checksum(&target, &asker, &answer[at..]);
    answer[at + 2..at + 4].copy_from_slice(&sum.to_be_bytes());
    Some(answer)
}

/// The checksum of an ICMPv6 message, pseudo-header included (RFC 8200, §8.1).
fn icmp_checksum(from: &[u8; 16], to: &[u8; 16], message: &[u8]) -> u16 {
    let words = |bytes: &[u8]| -> u32 {
        bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum()
    };
    let mut sum = words(from) + words(to) + message.len() as u32 + u32::from(ICMPV6) + words(message);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn arp_request(target: [u8; 4]) -> Vec<u8> {
        let mut frame = [0xff; 6].to_vec();
        frame.extend(mac_of(0));
        frame.extend(ARP);
        frame.extend([0, 1, 8, 0, 6, 4, 0, 1]);
        frame.extend(mac_of(0));
        frame.extend(ipv4_of(0).octets());
        frame.extend([0; 6]);
        frame.extend(target);
        frame
    }

    #[test]
    fn hosts_are_answered_for_and_others_are_not() {
        let frame = answer(&arp_request(ipv4_of(3).octets()), 4).unwrap();
        assert_eq!((&frame[..6], &frame[6..12]), (&mac_of(0)[..], &mac_of(3)[..]));
        assert_eq!(frame[22..28], mac_of(3));
        assert_eq!(frame[28..32], ipv4_of(3).octets());
        assert_eq!(frame[38..42], ipv4_of(0).octets());
        assert_eq!(answer(&arp_request(ipv4_of(4).octets()), 4), None);
        assert_eq!(answer(&arp_request([10, 78, 0, 1]), 4), None);
        assert_eq!(answer(&arp_request([10, 77, 0, 0]), 4), None);
    }

    #[test]
    fn an_advertisement_has_a_checksum_that_its_receiver_accepts() {
        let mut frame = [0x33, 0x33, 0xff, 0, 0, 2].to_vec();
        frame.extend(mac_of(0));
        frame.extend(IPV6);
        frame.extend([0x60, 0, 0, 0, 0, 32, ICMPV6, 255]);
        frame.extend(ipv6_of(0).octets());
        frame.extend([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 2]);
        frame.extend([SOLICITATION, 0, 0, 0, 0, 0, 0, 0]);
        frame.extend(ipv6_of(1).octets());
        frame.extend([1, 1]);
        frame.extend(mac_of(0));
        let answered = answer(&frame, 2).unwrap();
        let (from, to) = (ipv6_of(1).octets(), ipv6_of(0).octets());
        assert_eq!((&answered[22..38], &answered[38..54]), (&from[..], &to[..]));
        assert_eq!(icmp_checksum(&from, &to, &answered[54..]), 0);
        assert_eq!(answered[answered.len() - 6..], mac_of(1));
        assert_eq!(answer(&frame, 1), None);
    }

    proptest! {
        #[test]
        fn any_bytes_may_ask(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let mut bytes = bytes;
            let _ = answer(&bytes, 9);
            for kind in [ARP, IPV6] {
                if let Some(field) = bytes.get_mut(12..14) {
                    field.copy_from_slice(&kind);
                }
                let _ = answer(&bytes, 9);
            }
        }
    }
}
