//! Which port of a switch an Ethernet address is behind (IEEE 802.1D, §7.8 and §7.9).

use std::collections::BTreeMap;

use tailrace_core::{HostId, Time};

/// An Ethernet address.
pub type Mac = [u8; 6];

/// Addresses that are remembered at most; as many as small switches have room for.
pub const MAX_ADDRESSES: usize = 8192;
/// An address that has sent nothing for so long is forgotten.
pub const AGEING: Time = Time::from_ms(300_000);
/// A full table is not searched for what is forgotten more often than this, whoever fills it.
const SWEEP_EVERY: Time = Time::from_ms(1_000);

#[derive(Clone, Copy, Debug)]
struct Entry {
    port: HostId,
    /// When it was last heard of; never again for one that the user has given, which does not age.
    heard: Option<Time>,
}

/// The addresses behind each port: learned from what they send, or given.
#[derive(Clone, Debug)]
pub struct MacTable {
    entries: BTreeMap<Mac, Entry>,
    learns: bool,
    next_sweep: Time,
}

impl MacTable {
    /// Addresses that are `given`, each behind its port, do not age and do not move. Whether others are learned.
    pub fn new(given: impl IntoIterator<Item = (Mac, HostId)>, learns: bool) -> Self {
        let entries = given.into_iter().map(|(mac, port)| (mac, Entry { port, heard: None })).collect();
        MacTable { entries, learns, next_sweep: Time::ZERO }
    }

    /// A frame of this address came by `port`. A table that is full learns nothing new: frames to others go to all ports.
    pub(crate) fn learn(&mut self, mac: Mac, port: HostId, now: Time) {
        if !self.learns || is_for_many(&mac) {
            return;
        }
        if let Some(entry) = self.entries.get_mut(&mac) {
            if entry.heard.is_some() {
                *entry = Entry { port, heard: Some(now) };
            }
            return;
        }
        if self.entries.len() >= MAX_ADDRESSES && now >= self.next_sweep {
            self.next_sweep = now + SWEEP_EVERY;
            self.entries.retain(|_, entry| entry.is_fresh(now));
        }
        if self.entries.len() < MAX_ADDRESSES {
            self.entries.insert(mac, Entry { port, heard: Some(now) });
        }
    }

    /// The port that an address is behind, if that is known.
    pub(crate) fn find(&self, mac: &Mac, now: Time) -> Option<HostId> {
        let entry = self.entries.get(mac)?;
        entry.is_fresh(now).then_some(entry.port)
    }
}

impl Entry {
    fn is_fresh(&self, now: Time) -> bool {
        self.heard.is_none_or(|heard| now.saturating_sub(heard) < AGEING)
    }
}

/// Whether an address is for a group, or for all.
pub fn is_for_many(mac: &Mac) -> bool {
    mac[0] & 1 != 0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn mac(number: u32) -> Mac {
        let [a, b, c, d] = number.to_be_bytes();
        [2, 0, a, b, c, d]
    }

    #[test]
    fn what_is_heard_is_found_until_it_is_old() {
        let mut table = MacTable::new([], true);
        table.learn(mac(1), 3, Time::ZERO);
        assert_eq!(table.find(&mac(1), AGEING - Time::from_ns(1)), Some(3));
        assert_eq!(table.find(&mac(1), AGEING), None);
        // It has moved.
        table.learn(mac(1), 5, AGEING);
        assert_eq!(table.find(&mac(1), AGEING), Some(5));
    }

    #[test]
    fn what_is_given_stays_and_groups_send_nothing() {
        let mut table = MacTable::new([(mac(1), 0)], true);
        let much_later = Time::from_ms(10 * 300_000);
        table.learn(mac(1), 2, Time::ZERO);
        table.learn([0xff; 6], 2, Time::ZERO);
        assert_eq!((table.find(&mac(1), much_later), table.find(&[0xff; 6], Time::ZERO)), (Some(0), None));
        let mut deaf = MacTable::new([(mac(1), 0)], false);
        deaf.learn(mac(2), 1, Time::ZERO);
        assert_eq!((deaf.find(&mac(1), much_later), deaf.find(&mac(2), Time::ZERO)), (Some(0), None));
    }

    #[test]
    fn a_flood_of_addresses_takes_no_more_room_and_ends() {
        let mut table = MacTable::new([], true);
        table.learn(mac(0), 1, Time::ZERO);
        for number in 1..200_000 {
            table.learn(mac(number), 2, Time::from_us(u64::from(number)));
            assert!(table.entries.len() <= MAX_ADDRESSES);
        }
        // Those that were there first are still known.
        assert_eq!(table.find(&mac(0), Time::from_ms(200)), Some(1));
        let later = AGEING + Time::from_ms(1_000);
        table.learn(mac(300_000), 4, later);
        assert_eq!((table.find(&mac(300_000), later), table.entries.len()), (Some(4), 1));
    }

    proptest! {
        /// Against a table that forgets nothing: what is found is what was heard last, and is never older than the limit;
        /// and as long as there is room, it is found.
        #[test]
        fn it_says_what_was_heard_last(
            frames in prop::collection::vec((0u32..40, 0u32..8, 0u64..120_000), 1..200),
            given in prop::collection::vec((0u32..5, 0u32..8), 0..3),
        ) {
            let mut table = MacTable::new(given.iter().map(|&(number, port)| (mac(number), port)), true);
            let fixed: BTreeMap<u32, u32> = given.into_iter().collect();
            let (mut heard, mut now) = (BTreeMap::new(), Time::ZERO);
            for (number, port, pause) in frames {
                now += Time::from_ms(pause);
                table.learn(mac(number), port, now);
                heard.insert(number, (port, now));
                for other in 0..40 {
                    let fresh = heard.get(&other).filter(|(_, at)| now.saturating_sub(*at) < AGEING);
                    let expected = fixed.get(&other).copied().or(fresh.map(|(port, _)| *port));
                    prop_assert_eq!(table.find(&mac(other), now), expected);
                }
                prop_assert!(table.entries.len() <= MAX_ADDRESSES);
            }
        }
    }
}
