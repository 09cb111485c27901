//! Messages between hosts of a live fabric: real sockets, real frames, and ports of the simulator between them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::disallowed_methods, reason = "the fabric runs beside its hosts")]

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use tailrace_core::{HostId, Outcome, Scheme, Time};
use tailrace_linux::frame::wire::longest_ip_packet;
use tailrace_linux::{Driver, Event, Hosts, Messages, Messenger, Priorities, Wanted, emulate, open_socket};
use tailrace_packet::{Watch, World};
use tailrace_scenario::Scenario;
use tailrace_schemes::{SchemeVisitor, with_scheme};
use tailrace_workload::feed::Feed;

/// What a test does with the messages of three hosts.
type Act = fn(&mut [Box<dyn Messages>; 3]);

struct Between<'a>(&'a Scenario, Act);

impl SchemeVisitor for Between<'_> {
    type Output = Outcome;

    fn visit<S: Scheme>(self) -> Outcome {
        let Between(scenario, act) = self;
        let fabric = scenario.fabric.build();
        let scheme = || S::new(S::Params::default(), &scenario.facts(&fabric)).unwrap();
        let transport = scenario.transport;
        let hosts = Hosts::new(3, longest_ip_packet::<S::Header>(transport.mss), None).unwrap();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let run = scope.spawn(|| {
                let feed = Feed::from(Vec::new());
                let world =
                    World::new(scheme(), &fabric, transport, feed, None, Watch::default(), 1).outside();
                let all = Priorities::new(None);
                let driver = Driver::new(world, &hosts, all, transport.mss, false, Wanted::Best)?;
                emulate(driver, &mut |_| {
                    if over.load(Ordering::Relaxed) {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                })
            });
            let mut ends = [0, 1, 2].map(|host: HostId| {
                let open = || open_socket(host).map_err(std::io::Error::other);
                let socket = hosts.namespace(host).inside(open).unwrap();
                let messenger = Messenger::new(scheme(), socket, host, 3, transport, None).unwrap();
                Box::new(messenger) as Box<dyn Messages>
            });
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                act(&mut ends);
                assert!(ends.iter().all(|end| end.strange() == 0));
            }));
            over.store(true, Ordering::Relaxed);
            let outcome = run.join().unwrap().unwrap();
            done.unwrap();
            outcome
        })
    }
}

/// Live fabrics have the machine to themselves.
static MACHINE: Mutex<()> = Mutex::new(());

fn between(scheme: &str, buffer: &str, act: Act) -> Option<Outcome> {
    if !nix::unistd::geteuid().is_root() {
        tailrace_linux::skip_test("network namespaces need root");
        return None;
    }
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let text = format!(
        "[fabric]\nkind = \"star\"\nhosts = 3\nhost_rate = \"100Mbps\"\ndelay = \"100us\"\nbuffer = \"{buffer}\"\n\
         [transport]\nmin_rto = \"10ms\"\n[workload]\nsizes = \"web-search\"\nload = 0.1\nflows = 1\n\
         [scheme]\nname = \"{scheme}\""
    );
    let scenario = Scenario::parse(&text).unwrap();
    Some(with_scheme(scheme, Between(&scenario, act)).unwrap())
}

/// Lets all hosts work until one has `count` events, or half a minute has passed.
fn wait(ends: &mut [Box<dyn Messages>; 3], at: usize, count: usize) -> Vec<Event> {
    let (start, mut events) = (ends[0].now(), Vec::new());
    while events.len() < count && ends[0].now() < start + Time::from_ms(30_000) {
        for (host, end) in ends.iter_mut().enumerate() {
            end.turn().unwrap();
            while let Some(event) = end.next() {
                assert_eq!(host, at, "is told {event:?}");
                events.push(event);
            }
        }
        thread::sleep(std::time::Duration::from_micros(50));
    }
    assert_eq!(events.len(), count, "messages that have come");
    events
}

fn message(length: usize, seed: u8) -> Vec<u8> {
    (0..length).map(|at| (at as u8).wrapping_mul(31).wrapping_add((at >> 8) as u8) ^ seed).collect()
}

/// Messages of all lengths from two hosts to a third arrive as they were, each once.
fn many_arrive(ends: &mut [Box<dyn Messages>; 3]) {
    let lengths = [1, 2, 1400, 1401, 1412, 9_999, 1_000_000];
    for (seed, &length) in (0..).zip(&lengths) {
        ends[1].send(0, 1 + u32::from(seed), message(length, seed));
        ends[2].send(0, 1 + u32::from(seed), message(length, 100 + seed));
    }
    let events = wait(ends, 0, 2 * lengths.len());
    let mut told: Vec<(HostId, Vec<u8>)> = events
        .into_iter()
        .map(|event| match event {
            Event::Message { from, bytes } => (from, bytes),
            Event::Silent(host) => panic!("host {host} is silent"),
        })
        .collect();
    told.sort_by_key(|(from, bytes)| (*from, bytes.len()));
    let sent = [1, 2].into_iter().flat_map(|from: HostId| {
        (0..)
            .zip(lengths)
            .map(move |(seed, length)| (from, message(length, if from == 1 { seed } else { 100 + seed })))
    });
    assert!(told.into_iter().eq(sent), "messages were changed");
}

#[test]
fn messages_arrive_under_schemes_with_and_without_headers() {
    for scheme in ["baraat", "rcp", "dctcp", "pfabric", "pias"] {
        let Some(outcome) = between(scheme, "200KB", many_arrive) else { return };
        let ledger = outcome.ledger.unwrap();
        assert!(ledger.balances() && ledger.injected.packets > 1500, "{scheme}: {ledger:?}");
    }
}

#[test]
fn what_small_buffers_lose_is_sent_again() {
    let Some(outcome) = between("tcp", "6KB", many_arrive) else { return };
    let ledger = outcome.ledger.unwrap();
    assert!(ledger.dropped().packets > 10, "nothing was lost: {ledger:?}");
}

/// Many messages for a host that answers none for almost as long as others have patience, and then all.
fn answers_are_late(ends: &mut [Box<dyn Messages>; 3]) {
    for seed in 0..60 {
        ends[1].send(0, 0, message(15_000, seed));
        ends[2].send(0, 0, message(15_000, seed));
    }
    let start = ends[1].now();
    while ends[1].now() < start + Time::from_ms(1500) {
        ends[1..].iter_mut().for_each(|end| end.turn().unwrap());
        thread::sleep(std::time::Duration::from_micros(50));
    }
    wait(ends, 0, 120);
}

/// Timeouts that follow from late answers are longer than a sender's patience, and laws that must ask for leave wait as long: who
/// speaks no more is asked whether it is there.
#[test]
fn a_host_that_was_late_is_not_silent() {
    for scheme in ["tcp", "baraat"] {
        between(scheme, "6KB", answers_are_late);
    }
}

/// A host whose process does not answer is told of, and a message that comes later finds it.
fn one_is_silent(ends: &mut [Box<dyn Messages>; 3]) {
    ends[0].send(1, 1, vec![7; 5000]);
    let (start, mut events) = (ends[0].now(), Vec::new());
    while events.is_empty() && ends[0].now() < start + Time::from_ms(30_000) {
        ends[0].turn().unwrap();
        events.extend(std::iter::from_fn(|| ends[0].next()));
        thread::sleep(std::time::Duration::from_micros(200));
    }
    assert!(matches!(events[..], [Event::Silent(1)]), "{events:?}");
    assert!(ends[0].now() - start >= Time::from_ms(2_000));
}

#[test]
fn a_silent_host_is_told_of() {
    between("dctcp", "200KB", one_is_silent);
}
