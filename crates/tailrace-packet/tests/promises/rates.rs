//! Schemes in which ports grant rates: what a flow costs, who shares, who goes first, and that no loss leaks.

use tailrace_core::Ending;
use tailrace_core::{ACK_BYTES, Bytes, HEADER_BYTES, HostId, Reveals, Time};
use tailrace_fabric::{Buffer, Fabric};
use tailrace_workload::FlowSpec;

use crate::setup::{Run, Setup, fabric, flow};

/// The exact router of RCP.
const EXACT: &str = "router = \"exact\"";
/// The schemes with parameters.
const ALL: [(&str, &str); 5] = [("rcp", ""), ("rcp", EXACT), ("d3", ""), ("pdq", ""), ("baraat", "")];

/// 10 Gbps everywhere and a base round trip of 85 µs over four links.
pub fn dumbbell(senders: HostId) -> Fabric {
    fabric(&format!(
        r#"kind = "dumbbell"
        left = {senders}
        right = {senders}
        host_rate = "10Gbps"
        bottleneck_rate = "10Gbps"
        host_delay = "20.2us"
        bottleneck_delay = "0.2us""#
    ))
}

/// The flow with a deadline, as a time of the run, that it reveals.
pub fn with_deadline(flow: FlowSpec, deadline: Time) -> FlowSpec {
    FlowSpec { deadline: Some(deadline), reveals: Reveals::Deadline, ..flow }
}

fn us(time: Time) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Completion times in µs.
fn fcts(run: &Run) -> Vec<f64> {
    let fct = |record: &tailrace_core::FlowRecord| record.fct().map_or(f64::INFINITY, us);
    run.records.iter().map(fct).collect()
}

/// The closed form's time of a flow between the only pair of `setup`, in µs.
fn ideal(setup: &Setup, size: u64) -> f64 {
    us(setup.fabric.ideal_fct(
        0,
        setup.fabric.hosts as u32 - 1,
        0,
        Bytes::new(size),
        &setup.transport,
        HEADER_BYTES,
    ))
}

/// A lone flow under an estimating RCP waits for its rate to grow; all others have their link at once.
#[test]
fn a_lone_flow_takes_its_request_and_then_the_ideal_time() {
    for (scheme, params) in [("rcp", EXACT), ("d3", ""), ("pdq", "")] {
        for size in [1_000, 100_000, 1_000_000, 10_000_000] {
            let setup = Setup::new(dumbbell(1), vec![flow(0, 1, size, Time::ZERO)]);
            // Header-only packets there and back.
            let expected = ideal(&setup, size) + us(setup.fabric.farthest_rtt(64, ACK_BYTES));
            let measured = us(setup.run(scheme, params).only_fct());
            let excess = measured / expected;
            // RCP has 8 bytes of header on every packet of 1500, and rates are rounded down.
            assert!((0.999..1.0065).contains(&excess), "{scheme}, {size} B: {measured} of {expected} µs");
        }
    }
}

/// What the senders of endless flows get in a span, as shares of their equal parts: the least and the most.
/// They start two round trips apart; `from` and `to` count round trips from the last one's start.
fn shares(scheme: &str, params: &str, senders: HostId, from: u64, to: u64) -> (f64, f64) {
    let rtt = dumbbell(1).base_rtt();
    let start = |i: u32| rtt * (2 * u64::from(i));
    let received = |rounds: u64| -> Vec<u64> {
        let flows = (0..senders).map(|i| flow(i, senders + i, 1 << 40, start(i))).collect();
        let horizon = Some(start(senders - 1) + rtt * rounds);
        let setup = Setup { horizon, ..Setup::new(dumbbell(senders), flows) };
        let run = setup.run(scheme, params);
        let port = |name: &str| setup.fabric.port_named(name).map(|port| run.ports[port as usize].sent.bytes);
        (senders..2 * senders).filter_map(|host| port(&format!("right->host{host}"))).collect()
    };
    let fair = us(rtt * (to - from)) * 1_250.0 / f64::from(senders);
    let shares = std::iter::zip(received(to), received(from)).map(|(to, from)| (to - from) as f64 / fair);
    shares.fold((f64::MAX, 0.0), |(least, most), share| (share.min(least), share.max(most)))
}

/// Ten round trips after the last start, and five for an exact router, which needs no more to drain what came
/// while the newcomers were not yet counted. The estimating router has equal shares by then too, but overshoots
/// and then leaves up to half of the link idle (six flows); it takes twenty. With many flows in step, a queue of
/// a few packets stands and costs a few percent; D3 takes ten times its share of a round trip off what it
/// allocates (a = 0.1, b = 1).
#[test]
fn flows_have_equal_shares_within_ten_round_trips() {
    for senders in 2..=16 {
        let (low, high) = shares("rcp", "", senders, 10, 20);
        assert!(high < 1.06 * low, "rcp, {senders} flows: {low:.3} to {high:.3}");
        for (scheme, params, from, least) in
            [("rcp", "", 20, 0.93), ("rcp", EXACT, 5, 0.93), ("d3", "", 10, 0.85)]
        {
            let (low, high) = shares(scheme, params, senders, from, from + 20);
            let measured = format!("{scheme} {params}, {senders} flows: {low:.3} to {high:.3}");
            assert!(low > least && high < 1.02 && high < 1.09 * low, "{measured}");
        }
    }
}

/// What flows get of a row's links of 10 Gbps, in thirds: one over all three links, two more over the second, where it is
/// narrowest for the first, and one over each of the others.
fn thirds_in_a_row(scheme: &str, params: &str) -> [f64; 5] {
    let row = fabric(
        "kind = \"parking-lot\"\nswitches = 4\nhosts_per_switch = 3\nhost_rate = \"10Gbps\"\nrow_rate = \"10Gbps\"\n\
         host_delay = \"10us\"\nrow_delay = \"0.2us\"",
    );
    let pairs = [(0, 9), (4, 6), (5, 7), (1, 3), (8, 10)];
    let flows: Vec<FlowSpec> = pairs.map(|(src, dst)| flow(src, dst, 1 << 40, Time::ZERO)).into();
    let received = |until: Time| {
        let run =
            Setup { horizon: Some(until), ..Setup::new(row.clone(), flows.clone()) }.run(scheme, params);
        let port = |dst: HostId| row.port_named(&format!("row{}->host{dst}", dst / 3));
        pairs.map(|(_, dst)| port(dst).map_or(0.0, |port| run.ports[port as usize].sent.bytes as f64))
    };
    let (from, to) = (Time::from_ms(5), Time::from_ms(10));
    let (before, after) = (received(from), received(to));
    std::array::from_fn(|i| (after[i] - before[i]) / (us(to - from) * 1_250.0) * 3.0)
}

/// What the long flow cannot use of the outer links, the flows there have.
#[test]
fn shares_in_a_row_are_max_min() {
    for (scheme, params) in [("rcp", ""), ("baraat", "order = \"fair\""), ("rcp", EXACT)] {
        let thirds = thirds_in_a_row(scheme, params);
        let close = thirds.iter().zip([1.0, 1.0, 1.0, 2.0, 2.0]).all(|(a, b)| (a - b).abs() < 0.07 * b);
        assert!(close, "{scheme} {params}: {thirds:.3?}");
    }
}

/// Three flows share a client's link and leave half of the uplink; a fourth one to another client can use it all. At the uplink all
/// four are then limited elsewhere, and what one of them may have there is no other one's rate.
#[test]
fn what_flows_leave_that_are_limited_elsewhere_others_have() {
    let text = "kind = \"dumbbell\"\nleft = 4\nright = 2\nhost_rate = \"10Gbps\"\nbottleneck_rate = \"20Gbps\"\n\
                delay = \"50us\"\nbuffer = \"8MB\"";
    let three = (0..3u32).map(|src| flow(src, 4, 100_000_000, Time::from_us(u64::from(src))));
    let flows: Vec<FlowSpec> = three.chain([flow(3, 5, 25_000_000, Time::from_ms(20))]).collect();
    for (scheme, params) in [("rcp", ""), ("rcp", EXACT), ("baraat", "order = \"fair\"")] {
        let run = Setup::new(fabric(text), flows.clone()).run(scheme, params);
        let last = &run.records[3];
        let took = us(last.end) - us(last.start);
        // At 10 Gbps with headers, and two round trips to ask and to hear of the end.
        let ratio = took / (25_000.0 * 8.0 / 10.0 * 1500.0 / 1460.0 + 800.0);
        assert!((0.97..1.07).contains(&ratio), "{scheme} {params}: {took} µs, {ratio:.3} of the closed form");
    }
}

/// A flow of 20 MB beside flows of 3 KB that take a fifth of the link. Who counts flows keeps a whole share for each, for the round trips
/// in which it asks and is acknowledged, whatever it needs; who measures, or is told what flows need, does not.
#[test]
fn short_flows_cost_a_long_one_much_where_flows_are_counted_and_little_elsewhere() {
    let text = "kind = \"star\"\nhosts = 10\nhost_rate = \"1Gbps\"\nhost_delay = \"250us\"\nbuffer = \"4MB\"";
    let short = |n: u64| flow(2 + (n % 8) as u32, 0, 3_000, Time::from_us(20_000 + 120 * n));
    let flows: Vec<FlowSpec> =
        [flow(1, 0, 20_000_000, Time::ZERO)].into_iter().chain((0..10_000).map(short)).collect();
    let took = |scheme: &str, params: &str| {
        let run = Setup::new(fabric(text), flows.clone()).run(scheme, params);
        let took = us(run.records[0].end) / 1000.0;
        println!("{scheme} {params}: {took:.0} ms");
        took
    };
    for (scheme, params) in [("dctcp", ""), ("rcp", ""), ("baraat", "order = \"fair\"")] {
        assert!((190.0..270.0).contains(&took(scheme, params)), "{scheme} {params}");
    }
    for (scheme, params) in [("rcp", EXACT), ("d3", "")] {
        assert!((800.0..1500.0).contains(&took(scheme, params)), "{scheme} {params}");
    }
}

/// Many flows share a client's link and leave a third of the uplink to one that goes to another client. Packets of hundreds of flows
/// meet by chance; a router that took as much for such a queue as RCP's estimate does left two thirds of the uplink idle.
#[test]
fn what_hundreds_of_flows_leave_another_one_has() {
    let text = "kind = \"dumbbell\"\nleft = 8\nright = 2\nhost_rate = \"1Gbps\"\nbottleneck_rate = \"1500Mbps\"\n\
                delay = \"100us\"\nbuffer = \"4MB\"";
    for (flows, most) in [(3u32, 1.05), (100, 1.05), (200, 1.1), (400, 1.5)] {
        let size = 200_000_000 / u64::from(flows);
        let many = (0..flows).map(|i| flow(i % 7, 8, size, Time::from_us(u64::from(i))));
        let all: Vec<FlowSpec> = many.chain([flow(7, 9, 12_500_000, Time::from_ms(20))]).collect();
        for (scheme, params) in [("rcp", EXACT), ("baraat", "order = \"fair\"")] {
            let run = Setup::new(fabric(text), all.clone()).run(scheme, params);
            let one = run.records.iter().find(|record| record.dst == 9).unwrap();
            let ratio = (us(one.end) - us(one.start)) / (200_000.0 * 1500.0 / 1460.0);
            println!("{flows} flows, {scheme}: {ratio:.2} of the closed form");
            assert!((0.98..most).contains(&ratio), "{flows} flows, {scheme}: {ratio:.2} of the closed form");
        }
    }
}

/// Four hosts send to each other at once: three flows fill every link. The first requests meet in queues and are asked again;
/// their late answers must not leave flows with two requests under way, each of which would be counted.
#[test]
fn flows_whose_first_answers_are_late_have_their_whole_share() {
    let star = fabric("kind = \"star\"\nhosts = 4\nhost_rate = \"1Gbps\"\ndelay = \"100us\"");
    let pairs = (0..4).flat_map(|src| (0..4).filter(move |dst| *dst != src).map(move |dst| (src, dst)));
    let flows: Vec<FlowSpec> = pairs.map(|(src, dst)| flow(src, dst, 2_920_000, Time::ZERO)).collect();
    for (scheme, params) in [("rcp", EXACT), ("d3", ""), ("baraat", "order = \"fair\"")] {
        let run = Setup::new(star.clone(), flows.clone()).run(scheme, params);
        let last = run.records.iter().map(|record| us(record.end)).fold(0.0, f64::max);
        // 6,000 full packets of 12 µs over each link.
        let ratio = last / 72_000.0;
        assert!((1.0..1.15).contains(&ratio), "{scheme}: {last} µs, {ratio:.3} of the closed form");
    }
}

#[test]
fn d3_meets_deadlines_that_fit_the_link() {
    // Deadlines of 1, 2 and 3 Gbps, and a flow without.
    let flows = vec![
        with_deadline(flow(0, 4, 1_250_000, Time::ZERO), Time::from_ms(10)),
        flow(3, 7, 10_000_000, Time::from_us(10)),
        with_deadline(flow(1, 5, 2_500_000, Time::from_us(50)), Time::from_ms(10)),
        with_deadline(flow(2, 6, 1_875_000, Time::from_us(100)), Time::from_ms(5)),
    ];
    let setup = Setup::new(dumbbell(4), flows);
    let missed = |scheme: &str| {
        let run = setup.run(scheme, "");
        assert_eq!(run.ending, Ending::Finished);
        run.records.iter().filter(|record| record.end > record.deadline).count()
    };
    assert_eq!((missed("d3"), missed("pdq"), missed("rcp")), (0, 0, 1));
}

/// An early flow needs 80 % of the link for 10 ms, a later one 60 % for 2 ms. Both fit if the tight one goes
/// first.
#[test]
fn d3_lets_an_earlier_lax_deadline_win_against_a_tighter_one_and_pdq_does_not() {
    let lax = with_deadline(flow(0, 2, 9_500_000, Time::ZERO), Time::from_ms(10));
    let tight = with_deadline(flow(1, 3, 1_500_000, Time::from_ms(1)), Time::from_ms(3));
    let setup = Setup::new(dumbbell(2), vec![lax, tight]);
    let met = |scheme: &str| -> Vec<bool> {
        let run = setup.run(scheme, "");
        run.records.iter().map(|record| record.end <= record.deadline).collect()
    };
    assert_eq!(met("d3"), [true, false]);
    assert_eq!(met("pdq"), [true, true]);
}

#[test]
fn what_d3_and_pdq_give_up_frees_its_link() {
    for scheme in ["d3", "pdq"] {
        // 10 MB in 5 ms do not fit 10 Gbps.
        let hopeless = with_deadline(flow(0, 2, 10_000_000, Time::ZERO), Time::from_ms(5));
        let setup = Setup::new(dumbbell(2), vec![hopeless, flow(1, 3, 1_000_000, Time::from_us(200))]);
        let run = setup.run(scheme, "");
        assert!(run.records[0].stopped && run.records[0].fct().is_none(), "{scheme}: {:?}", run.records[0]);
        let expected = ideal(&setup, 1_000_000) + us(setup.fabric.farthest_rtt(64, ACK_BYTES));
        assert!(fcts(&run)[1] < 1.02 * expected, "{scheme}: {:?} of {expected} µs", fcts(&run));
    }
}

/// The newcomer waits for its request, and behind what the other sent until it was paused: it hears of that
/// with its next request, within two round trips. The other then goes on as if it had been away for as long.
#[test]
fn pdq_lets_a_smaller_newcomer_go_first_and_then_goes_on() {
    for size in [100_000, 300_000, 1_000_000] {
        let flows = vec![flow(0, 2, 10_000_000, Time::ZERO), flow(1, 3, size, Time::from_ms(1))];
        let setup = Setup::new(dumbbell(2), flows);
        let rtt = us(setup.fabric.base_rtt());
        let fct = fcts(&setup.run("pdq", ""));
        let measured = format!("{size} B: {fct:?}");
        assert!(fct[1] < ideal(&setup, size) + 3.0 * rtt, "{measured}");
        let both = ideal(&setup, 10_000_000) + size as f64 / 1_250.0 * 1500.0 / 1460.0;
        assert!(fct[0] > both && fct[0] < both + 4.0 * rtt, "{measured}, at least {both}");
    }
}

/// Equal flows that start at once, one by one: the n-th is done after n times the time of one. Two overlap where
/// one is let go early; the queue that they leave is taken off what is granted next.
#[test]
fn pdq_serves_equal_flows_one_by_one() {
    let (size, senders) = (1_000_000, 8);
    let flows = (0..senders).map(|i| flow(i, senders + i, size, Time::ZERO)).collect();
    let setup = Setup::new(dumbbell(senders), flows);
    let mut fct = fcts(&setup.run("pdq", ""));
    fct.sort_by(f64::total_cmp);
    let (first, one) =
        (us(setup.fabric.base_rtt()) + ideal(&setup, size), size as f64 / 1_250.0 * 1500.0 / 1460.0);
    assert!(fct[0] < 1.06 * first, "{fct:?}");
    assert!(fct[7] < 1.06 * (first + 7.0 * one), "{fct:?}");
    // Equal shares would give all of them the time of the last.
    let mean = fct.iter().sum::<f64>() / 8.0;
    assert!(mean < 1.08 * (first + 3.5 * one), "mean {mean}: {fct:?}");
}

/// An acknowledgement carries one header only, so what brings an answer cannot wait for the next.
#[test]
fn delayed_acknowledgements_lose_no_answer() {
    for (scheme, params) in ALL {
        let mut setup = Setup::new(dumbbell(1), vec![flow(0, 1, 3_000_000, Time::ZERO)]);
        let each = us(setup.run(scheme, params).only_fct());
        setup.transport.ack_every = 4;
        let fourth = us(setup.run(scheme, params).only_fct());
        assert!((fourth / each - 1.0).abs() < 0.01, "{scheme} {params}: {each} and {fourth} µs");
    }
}

/// Flows of all sizes in memory of four packets a port, where headers of every kind are lost.
#[test]
fn flows_finish_whatever_is_lost_and_no_byte_is_forgotten() {
    for (scheme, params) in ALL {
        let mut fabric = dumbbell(8);
        fabric.buffer = Buffer::PerPort(Bytes::new(6_000));
        let start = |i: u32| Time::from_us(40) * u64::from(i);
        let flows = (0..200u32).map(|i| flow(i % 8, 8 + i * 3 % 8, 1 + 5_003 * u64::from(i), start(i)));
        let run = Setup::new(fabric, flows.collect()).run(scheme, params);
        assert_eq!(run.ending, Ending::Finished, "{scheme} {params}");
        assert!(run.records.iter().all(|record| record.fct().is_some()), "{scheme} {params}");
        assert!(run.ledger.dropped().packets > 1_000, "{scheme} {params}: {:?}", run.ledger);
        assert!(run.ledger.balances(), "{scheme} {params}: {:?}", run.ledger);
    }
}
