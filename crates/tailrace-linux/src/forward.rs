//! Where a frame that has come in goes.

use tailrace_core::{HostId, Time};

use crate::frame::{self, host_of_mac};
use crate::mac_table::{Mac, MacTable, is_for_many};
use crate::slab::Slab;

/// What bridges say to their neighbours and no bridge passes on (IEEE 802.1D, table 7-10). The first of these, spanning
/// trees', is passed on: this switch takes no part in them, so others may see a loop that goes through it.
const NEIGHBOURS: [u8; 5] = [0x01, 0x80, 0xc2, 0, 0];

/// Who is around a fabric, and so which frames are for whom.
#[derive(Debug)]
pub(crate) enum Forwarding {
    /// So many hosts, each with the address of its number, for which questions are answered.
    Hosts(usize),
    /// Whoever there is; the table says behind which port.
    Switch(MacTable),
}

/// Where a frame goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Way {
    To(HostId),
    /// To all ports but the one by which it came.
    ToOthers,
    /// It is a question; this is the answer.
    Answer(Vec<u8>),
    /// For nobody here.
    ToNobody,
    /// To stay where it came from.
    Back,
}

impl Forwarding {
    /// Whether frames may be those of Tailrace's transport, and come through network cards that are the fabric's.
    pub(crate) fn is_between_hosts(&self) -> bool {
        matches!(self, Forwarding::Hosts(_))
    }

    /// Where a frame goes that has come by `port`.
    pub(crate) fn way(&mut self, frame: &[u8], port: HostId, now: Time) -> Way {
        match self {
            Forwarding::Hosts(hosts) => match frame.get(..6).and_then(host_of_mac) {
                Some(to) if (to as usize) < *hosts => Way::To(to),
                _ => frame::answer(frame, *hosts).map_or(Way::ToNobody, Way::Answer),
            },
            Forwarding::Switch(table) => switch(table, frame, port, now),
        }
    }
}

fn switch(table: &mut MacTable, frame: &[u8], port: HostId, now: Time) -> Way {
    let mac = |at: usize| -> Option<Mac> { frame.get(at..at + 6)?.try_into().ok() };
    let (Some(to), Some(from)) = (mac(0), mac(6)) else { return Way::ToNobody };
    table.learn(from, port, now);
    if to.starts_with(&NEIGHBOURS) && (0x01..=0x0f).contains(&to[5]) {
        return Way::ToNobody;
    }
    match table.find(&to, now) {
        _ if is_for_many(&to) => Way::ToOthers,
        Some(there) if there == port => Way::Back,
        Some(there) => Way::To(there),
        None => Way::ToOthers,
    }
}

/// Sends a frame to all of so many ports but the one by which it came: each a copy of its own. Returns how many there was
/// no room for.
pub(crate) fn flood(
    slab: &mut Slab,
    number: u32,
    from: HostId,
    ports: usize,
    mut enter: impl FnMut(HostId, u32),
) -> u64 {
    let mut others = (0..ports as HostId).filter(|&to| to != from);
    // The last one gets the frame itself.
    let last = others.next_back();
    let mut without_room = 0;
    for to in others {
        match slab.copy(number) {
            Some(copy) => enter(to, copy),
            None => without_room += 1,
        }
    }
    match last {
        Some(to) => enter(to, number),
        None => slab.free(number),
    }
    without_room
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sys::HEADROOM;

    const A: Mac = [2, 0, 0, 0, 0, 1];
    const B: Mac = [2, 0, 0, 0, 0, 2];

    fn forwarding() -> Forwarding {
        Forwarding::Switch(MacTable::new([], true))
    }

    fn frame(to: Mac, from: Mac) -> Vec<u8> {
        [&to[..], &from[..], &[0x88, 0xb5, 1, 2, 3]].concat()
    }

    #[test]
    fn what_is_not_known_goes_to_all_until_it_has_sent_something() {
        let mut forwarding = forwarding();
        let mut way = |to, from, port| forwarding.way(&frame(to, from), port, Time::ZERO);
        assert_eq!(way(B, A, 0), Way::ToOthers);
        assert_eq!(way(A, B, 1), Way::To(0));
        assert_eq!(way(B, A, 0), Way::To(1));
        assert_eq!(way([0xff; 6], A, 0), Way::ToOthers);
        // Another switch is behind the port, and both are behind that.
        assert_eq!(way(B, A, 1), Way::Back);
        // Pause frames and the like are between neighbours; spanning trees go through.
        assert_eq!(way([1, 0x80, 0xc2, 0, 0, 1], A, 0), Way::ToNobody);
        assert_eq!(way([1, 0x80, 0xc2, 0, 0, 0], A, 0), Way::ToOthers);
    }

    #[test]
    fn a_copy_goes_to_each_other_port() {
        let mut slab = Slab::new(2, 1500).unwrap();
        let number = slab.take().unwrap();
        slab.put(number, HEADROOM, 60);
        slab.bytes_mut(number).fill(7);
        let mut entered = Vec::new();
        assert_eq!(flood(&mut slab, number, 1, 3, |to, copy| entered.push((to, copy))), 0);
        assert_eq!(entered, [(0, 1), (2, 0)]);
        assert!([0, 1].iter().all(|&number| slab.bytes(number) == [7; 60]));
        // There is no room for more.
        assert_eq!(flood(&mut slab, number, 0, 3, |to, copy| entered.push((to, copy))), 1);
        assert_eq!(entered[2..], [(2, 0)]);
    }

    proptest! {
        #[test]
        fn any_bytes_go_somewhere(bytes in prop::collection::vec(any::<u8>(), 0..40), port in 0u32..3) {
            for mut forwarding in [forwarding(), Forwarding::Hosts(3)] {
                let way = forwarding.way(&bytes, port, Time::ZERO);
                prop_assert!(!matches!(way, Way::To(to) if to > 2 || (to == port && !forwarding.is_between_hosts())));
            }
        }
    }
}
