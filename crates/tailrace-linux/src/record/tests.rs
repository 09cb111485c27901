//! What a network does with frames that come whenever they come, a fresh one does again.

use proptest::prelude::*;
use tailrace_core::{Ecn, Header, HostId, Packet, PacketKind, Reason, Scheme, Time};
use tailrace_packet::{Pause, Watch, World};
use tailrace_scenario::Scenario;
use tailrace_schemes::{awafs::Awafs, baraat::Baraat, dctcp::Dctcp, pfabric::Pfabric, pias::Pias};
use tailrace_workload::feed::Feed;

use super::format::What;
use super::*;

/// A frame that comes, so long after the one before it.
#[derive(Clone, Debug)]
struct Arrival {
    after_ns: u64,
    hosts: (HostId, HostId),
    flow: u32,
    bytes: u16,
    numbers: (u32, u16, u8, u8),
    header: Vec<u8>,
    /// The driver's looks at the clock in between, as parts of the pause.
    looks: Vec<f64>,
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let one = (
        // Most come at once or nearly so: queues must fill.
        prop_oneof![3 => Just(0u64), 2 => 0u64..20_000, 1 => 0u64..3_000_000],
        (0u32..4, 0u32..4),
        0u32..12,
        prop_oneof![Just(1500u16), Just(40), 41u16..1500],
        (0u32..40, any::<u16>(), 0u8..8, any::<u8>()),
        prop::collection::vec(any::<u8>(), 64),
        prop::collection::vec(0.0f64..1.0, 0..3),
    );
    let arrival = one.prop_map(|(after_ns, hosts, flow, bytes, numbers, header, looks)| Arrival {
        after_ns,
        hosts,
        flow,
        bytes,
        numbers,
        header,
        looks,
    });
    prop::collection::vec(arrival, 1..250)
}

fn packet<H: Header>(arrival: &Arrival, slot: u64) -> Packet<H> {
    let (seq, src, priority, choice) = arrival.numbers;
    let raw = &arrival.header[..usize::from(H::WIRE_BYTES).min(arrival.header.len())];
    let header = if choice & 1 == 0 { H::NONE } else { H::decode(raw).unwrap_or(H::NONE) };
    let (flow, dst, bytes) = (arrival.flow, Packet::address(arrival.hosts.1), arrival.bytes);
    let mut packet = Packet { flow, dst, src, bytes, priority, seq, sent_ps: slot, header, ..Packet::EMPTY };
    let kind = match choice >> 1 & 7 {
        0 => PacketKind::Ack,
        1 => PacketKind::LastData,
        2 => PacketKind::Probe,
        _ => PacketKind::Data,
    };
    packet.set(kind, if choice & 16 == 0 { Ecn::Capable } else { Ecn::NotCapable });
    packet
}

/// Fabrics of four hosts, with one way from each to each or several.
const FABRICS: [&str; 5] = [
    "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nspine_rate = \"1Gbps\"",
    "kind = \"star\"\nhosts = 4",
    "kind = \"dumbbell\"\nleft = 2\nright = 2\nbottleneck_rate = \"1Gbps\"",
    "kind = \"parking-lot\"\nswitches = 4\nhosts_per_switch = 1\nrow_rate = \"2Gbps\"",
    "kind = \"tree\"\npods = 2\nedges_per_pod = 2\nhosts_per_edge = 1\naggs_per_pod = 2\ncores = 2\n\
     edge_rate = \"1Gbps\"\ncore_rate = \"1Gbps\"",
];

fn scenario_on(fabric: &str, scheme: &str, balancing: &str, buffer: &str) -> Scenario {
    let text = format!(
        "[fabric]\n{fabric}\nhost_rate = \"1Gbps\"\ndelay = \"1us\"\n{buffer}\n\
         load_balancing = {balancing}\n[workload]\nsizes = \"web-search\"\nload = 0.5\nflows = 10\n\
         [scheme]\nname = \"{scheme}\"\n"
    );
    Scenario::parse(&text).unwrap()
}

fn scenario(scheme: &str, balancing: &str, buffer: &str) -> Scenario {
    scenario_on(FABRICS[0], scheme, balancing, buffer)
}

fn world<S: Scheme>(scenario: &Scenario) -> World<S> {
    let fabric = scenario.fabric.build();
    let scheme = S::new(S::Params::default(), &scenario.facts(&fabric)).unwrap();
    let (feed, watch) = (Feed::from(Vec::new()), Watch::default());
    let horizon = Some(Time::from_ms(1));
    World::new(scheme, &fabric, scenario.transport, feed, horizon, watch, scenario.seed).outside()
}

/// Runs a network as a driver does, and writes down what it does. Slots are used again.
fn recorded<S: Scheme>(scenario: &Scenario, arrivals: &[Arrival]) -> Vec<u8> {
    let file = Shared::default();
    let mut recorder = Recorder::<S::Header>::new(Box::new(file.clone()), "a test").unwrap();
    let mut world = world::<S>(scenario);
    let (mut free, mut slots, mut now) = (Vec::new(), 0, Time::ZERO);
    let mut happen = |world: &mut World<S>, now, entering: Option<&Arrival>| {
        let mut leave = |due, host, packet: Packet<S::Header>| {
            assert_eq!(Packet::address(host), packet.dst, "{packet:?} leaves where it is not for");
            recorder.left(due, host, &packet);
            free.push(packet.sent_ps);
        };
        // The horizon interrupts.
        while world.run_until(now, &mut leave) == Pause::Horizon {}
        if let Some(arrival) = entering {
            let slot = free.pop().unwrap_or_else(|| {
                slots += 1;
                slots - 1
            });
            let packet = packet(arrival, slot);
            recorder.entered(world.now(), arrival.hosts.0, &packet);
            world.enter(arrival.hosts.0, packet);
        }
        for lost in world.carry_on().lost.drain(..) {
            recorder.dropped(&lost);
            free.push(lost.packet.sent_ps);
        }
    };
    for arrival in arrivals {
        let mut looks = arrival.looks.clone();
        looks.sort_unstable_by(f64::total_cmp);
        for look in looks {
            happen(&mut world, now + Time::from_ns((arrival.after_ns as f64 * look) as u64), None);
        }
        now += Time::from_ns(arrival.after_ns);
        happen(&mut world, now, Some(arrival));
    }
    let end = now + Time::from_ms(50);
    happen(&mut world, end, None);
    assert!(world.ledger().balances());
    assert_eq!(free.len() as u64, slots, "slots are free again");
    assert_eq!(recorder.finish(end).unwrap(), arrivals.len() as u64);
    file.into_bytes()
}

fn check_scheme<S: Scheme>(
    fabric: &str,
    balancing: &str,
    buffer: &str,
    arrivals: &[Arrival],
) -> Option<Replayed> {
    if S::ONE_PATH && balancing != BALANCERS[0] {
        return None;
    }
    let scenario = scenario_on(fabric, S::NAME, balancing, buffer);
    let file = recorded::<S>(&scenario, arrivals);
    let mut record = Record::open(&file[..]).unwrap();
    assert_eq!(record.description(), "a test");
    let replayed = replay(world::<S>(&scenario), &mut record).unwrap();
    assert_eq!(replayed.difference, None, "{}", S::NAME);
    assert!(!replayed.cut_short);
    // Cut short, it is compared as far as it goes.
    let mut record = Record::open(&file[..file.len() - 1]).unwrap();
    let cut = replay(world::<S>(&scenario), &mut record).unwrap();
    assert!(cut.cut_short && cut.difference.is_none());
    Some(replayed)
}

const BALANCERS: [&str; 5] = [
    "\"ecmp\"",
    "\"spray\"",
    "\"spray-random\"",
    "\"flowlet\"\nflowlet_gap = \"5us\"",
    "\"flowcell\"\nflowcell_size = \"9KB\"",
];
const BUFFERS: [&str; 2] = ["buffer = \"30KB\"", "shared_buffer = { total = \"100KB\", alpha = 1.0 }"];

/// What is recorded of one of the schemes; `None` where it cannot run.
fn check(
    scheme: usize,
    fabric: &str,
    balancing: &str,
    buffer: &str,
    arrivals: &[Arrival],
) -> Option<Replayed> {
    let check = match scheme {
        0 => check_scheme::<Pfabric>,
        1 => check_scheme::<Pias>,
        2 => check_scheme::<Awafs>,
        3 => check_scheme::<Dctcp>,
        _ => check_scheme::<Baraat>,
    };
    check(fabric, balancing, buffer, arrivals)
}

proptest! {
    #![proptest_config(tailrace_cases::cases(100))]

    #[test]
    fn a_fresh_network_does_what_was_recorded(
        arrivals in arrivals(),
        scheme in 0usize..5,
        fabric in prop::sample::select(&FABRICS[..]),
        balancing in prop::sample::select(&BALANCERS[..]),
        buffer in prop::sample::select(&BUFFERS[..]),
    ) {
        if let Some(replayed) = check(scheme, fabric, balancing, buffer, &arrivals) {
            prop_assert_eq!(replayed.entered, arrivals.len() as u64);
            prop_assert!(replayed.left + replayed.dropped <= replayed.entered);
        }
    }
}

/// As many packets as `n` says, at once, from three hosts to the fourth; the later ones are of shorter flows.
fn burst(n: u32) -> Vec<Arrival> {
    let arrival = |i: u32| Arrival {
        after_ns: 0,
        hosts: ((i % 3) as HostId, 3),
        flow: i,
        bytes: 1500,
        numbers: (i, 0, 0, 7),
        header: (n - i).to_be_bytes().repeat(16),
        looks: Vec::new(),
    };
    (0..n).map(arrival).collect()
}

#[test]
fn what_pfabric_evicts_it_evicts_again() {
    let replayed = check_scheme::<Pfabric>(FABRICS[0], BALANCERS[0], BUFFERS[0], &burst(200)).unwrap();
    // 20 packets fit a port, and some leave meanwhile.
    assert!(replayed.dropped > 50 && replayed.left > 20, "{replayed:?}");
    assert_eq!(replayed.left + replayed.dropped, 200);
    let reasons = |raw: &[u8]| {
        let mut record = Record::open(raw).unwrap();
        let next = || record.next::<<Pfabric as Scheme>::Header>().unwrap();
        std::iter::from_fn(next).filter(|entry| matches!(entry.what, What::Dropped(Reason::Evicted))).count()
    };
    assert!(reasons(&recorded::<Pfabric>(&scenario("pfabric", BALANCERS[0], BUFFERS[0]), &burst(200))) > 0);
}

#[test]
fn another_network_is_told_apart() {
    let file = recorded::<Dctcp>(&scenario("dctcp", BALANCERS[0], BUFFERS[0]), &burst(100));
    let larger = scenario("dctcp", BALANCERS[0], "buffer = \"90KB\"");
    let replayed = replay(world::<Dctcp>(&larger), &mut Record::open(&file[..]).unwrap()).unwrap();
    let difference = replayed.difference.unwrap().to_string();
    assert!(difference.contains("recorded: packet") && difference.contains("replayed:"), "{difference}");
}

#[test]
fn what_is_no_record_says_so() {
    let file = recorded::<Dctcp>(&scenario("dctcp", BALANCERS[0], BUFFERS[0]), &burst(3));
    let told = |bytes: &[u8]| -> Result<Replayed, RecordError> {
        replay(world::<Dctcp>(&scenario("dctcp", BALANCERS[0], BUFFERS[0])), &mut Record::open(bytes)?)
    };
    assert!(told(&file).unwrap().difference.is_none());
    for end in 0..14 + "a test".len() {
        assert!(matches!(told(&file[..end]), Err(RecordError::NoRecord)), "{end}");
    }
    let mut other = file.clone();
    other[7] = 2;
    assert!(matches!(told(&other), Err(RecordError::NoRecord)));
    let mut other = file.clone();
    other[9] = 12;
    assert!(matches!(told(&other), Err(RecordError::OtherHeader { found: 12, expected: 0 })));
    let mut other = file.clone();
    other[20] = 77;
    assert!(matches!(told(&other), Err(RecordError::Damaged(1))));
    let mut other = file;
    let last = other.len() - 1 - 2 * format::entry_bytes::<()>();
    other[last - 1] ^= 1;
    assert!(told(&other).unwrap().difference.is_some());
}

proptest! {
    #[test]
    fn any_bytes_are_a_record_or_none(bytes in prop::collection::vec(any::<u8>(), 0..400), begun in any::<bool>()) {
        let mut bytes = bytes;
        if begun {
            let file = recorded::<Dctcp>(&scenario("dctcp", BALANCERS[0], BUFFERS[0]), &burst(2));
            bytes.splice(0..0, file[..80].iter().copied());
        }
        if let Ok(mut record) = Record::open(&bytes[..]) {
            while let Ok(Some(entry)) = record.next::<()>() {
                let _ = format!("{entry:?}");
            }
        }
    }
}

#[test]
fn a_record_is_one_from_the_start() {
    let file = Shared::default();
    let recorder = Recorder::<()>::new(Box::new(file.clone()), "a test").unwrap();
    let killed = file.into_bytes();
    assert!(killed.starts_with(b"TAILREC") && killed.ends_with(b"a test"), "{killed:?}");
    drop(recorder);
}
