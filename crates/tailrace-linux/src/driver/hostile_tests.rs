//! Hosts that send what they should not, and machines that do not let the driver do as it would.

use super::tests::*;
use super::*;
use crate::bench::Forwarder;
use crate::hosts::Hosts;

/// More than a card's buffer holds comes faster than its link sends it.
#[test]
fn what_a_host_sends_beyond_its_link_is_dropped_and_counted() {
    if !is_root() {
        return;
    }
    let hosts = Hosts::new(2, 1500, None).unwrap();
    for kind in KINDS {
        let Some(mut rig) = Rig::new(&hosts, kind, NEVER) else { continue };
        let (sent, mut received) = (frame(&[], IPV4, &ipv4(0, 1500)), Vec::new());
        // 4.5 MB, where 300 KB may wait and 125 KB leave in a millisecond.
        for number in 1..=3000 {
            rig.ends.send_now(0, &sent).unwrap();
            if number % 100 == 0 {
                rig.turn(&mut received);
            }
        }
        received.extend(rig.received(usize::MAX));
        let (ledger, frame_counters) = (rig.driver.world().ledger(), rig.driver.exact_frame_counters());
        assert!(ledger.balances(), "{ledger:?}");
        assert!(ledger.dropped_buffer.packets > 100, "{kind:?} {ledger:?} {frame_counters:?}");
        assert_eq!(ledger.dropped(), ledger.dropped_buffer);
        assert_eq!(ledger.queued.packets + ledger.in_flight.packets, 0);
        // The hosts' own kernels may have sent a few.
        let of_the_flood = received.len() as u64 + ledger.dropped_buffer.packets + frame_counters.lost;
        assert!((3000..3020).contains(&of_the_flood), "{kind:?} {ledger:?} {frame_counters:?}");
        let card = rig.driver.world().port_counts().next().unwrap();
        assert_eq!(card.dropped, ledger.dropped_buffer, "at another port than the host's card");
    }
}

#[test]
fn where_the_kernel_refuses_af_xdp_frames_go_over_packet_sockets_which_is_said() {
    if !is_root() {
        return;
    }
    let hosts = Hosts::new(2, 1500, None).unwrap();
    let Ok(_taken) = Forwarder::new(&hosts, Wanted::Xdp) else {
        crate::skip_test("this kernel has no AF_XDP");
        return;
    };
    // An interface has room for one program that catches frames.
    let mut rig = Rig::new(&hosts, Wanted::Best, NEVER).unwrap();
    let shown = rig.driver.frames().to_string();
    assert!(shown.starts_with("AF_PACKET (not AF_XDP: ") && shown.len() > 30, "{shown}");
    assert!(Driver::new(world(NEVER).0, &hosts, Priorities::new(None), 1460, false, Wanted::Xdp).is_err());
    rig.driver.turn(Time::ZERO).unwrap();
}

#[test]
fn frames_that_are_longer_than_links_carry_are_counted() {
    if !is_root() {
        return;
    }
    let hosts = Hosts::new(2, 1500, None).unwrap();
    let raise = |namespace: &Namespace, interface: &str| {
        let ip = || {
            let words = ["link", "set", interface, "mtu", "3000"];
            std::process::Command::new("ip").args(words).status()
        };
        assert!(namespace.inside(ip).unwrap().success());
    };
    let mut rig = Rig::new(&hosts, Wanted::Packet, NEVER).unwrap();
    raise(hosts.namespace(0), crate::hosts::INTERFACE);
    raise(hosts.ports().namespace.as_ref().unwrap(), &hosts.ports().names()[0]);
    for bytes in [2500, 1500] {
        rig.ends.send_now(0, &frame(&[], IPV4, &ipv4(0, bytes))).unwrap();
    }
    assert_eq!(rig.received(2).len(), 1);
    assert_eq!(rig.driver.frame_counters().too_long, 1);
    assert!(rig.driver.world().ledger().balances());
}
