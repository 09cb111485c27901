//! Baraat in packets beside what its feedback tends to: tasks of any size, heavy ones beside light ones.

use proptest::prelude::*;
use tailrace_core::Ending;
use tailrace_run::{RunError, Unattended, feed, run};
use tailrace_scenario::Scenario;

/// Tasks into one link.
#[derive(Clone, Copy, Debug)]
struct Mix {
    seed: u32,
    gbps: u64,
    rtt_us: u64,
    /// Of a light task, over all its flows.
    size: u64,
    servers: u64,
    load: f64,
    count: u32,
    heavy: Heavy,
}

/// A task that is on its way when the light ones come.
#[derive(Clone, Copy, Debug)]
enum Heavy {
    None,
    /// Of so many bytes; it turns heavy when it has sent 10 MB of them.
    Turns(u64),
    /// Of so many flows; it is heavy already, and remains as long as light ones come, or for this many bytes.
    Is(u64, u64),
}

impl Mix {
    fn bdp(self) -> u64 {
        self.gbps * 125 * self.rtt_us
    }

    /// Requests, ends and headers of a flow take about so many bytes, whatever it has to send.
    const PROTOCOL: u64 = 158;

    /// What of the link is taken with those, where a load is of payload in full packets.
    fn true_load(self) -> f64 {
        self.load * (1.0 + (Self::PROTOCOL * self.servers) as f64 / self.size as f64)
    }

    /// The load in this place at which so much of the link is taken.
    fn at_true_load(self, load: f64) -> Self {
        Mix { load: load / (Mix { load: 1.0, ..self }).true_load(), ..self }
    }

    /// Beside a heavy task light ones have one's share of the link in all, and what waits grows at either level if they need
    /// more.
    fn most_load(self) -> f64 {
        match self.heavy {
            Heavy::Is(flows, _) => 0.8 * self.servers as f64 / (self.servers + flows) as f64,
            _ => 0.85,
        }
    }

    fn scenario(self, level: &str) -> Scenario {
        self.after_a_burst(level, 0)
    }

    /// Besides, so many of the same tasks come all at once, when a few have ended.
    fn after_a_burst(self, level: &str, burst: u32) -> Scenario {
        let Mix { seed, gbps, rtt_us, size, servers, load, count, heavy } = self;
        let while_they_come = (f64::from(count) * size as f64 / load * 1.2) as u64;
        let (flows, bytes, ahead) = match heavy {
            Heavy::None => (0, 0, 0),
            Heavy::Turns(bytes) => (1, bytes, 0),
            Heavy::Is(flows, most) => (flows, 12_000_000 + while_they_come.min(most), 12_000_000),
        };
        let heavy = match flows {
            0 => String::new(),
            _ => format!(
                "[[workload.task]]\nworkflow = {{ parallel = {{ clients = [0], servers = {flows}, from = [1, 9, 10] }} }}\n\
                 sizes = {{ fixed = \"{bytes}B\" }}\narrivals = \"once\"\ncount = 1\nclass = 2\n"
            ),
        };
        let burst = match burst {
            0 => String::new(),
            _ => format!(
                "[[workload.task]]\nworkflow = {{ parallel = {{ clients = [0], servers = {servers}, from = [2, 3, 4, 5, 6, 7, 8] }} }}\n\
                 sizes = {{ fixed = \"{size}B\" }}\narrivals = \"once\"\ncount = {burst}\nclass = 3\nstart = \"{}us\"\n",
                40 * rtt_us
            ),
        };
        let text = format!(
            "level = \"{level}\"\nseed = {seed}\nscheme = {{ name = \"baraat\" }}\n\
             transport = {{ min_rto = \"10ms\" }}\nmeasure = {{ horizon = \"100s\" }}\n\
             [fabric]\nkind = \"star\"\nhosts = 11\nhost_rate = \"{gbps}Gbps\"\nhost_delay = \"{}ns\"\nbuffer = \"{}B\"\n\
             [[workload.task]]\nworkflow = {{ parallel = {{ clients = [0], servers = {servers}, from = [2, 3, 4, 5, 6, 7, 8] }} }}\n\
             sizes = {{ fixed = \"{size}B\" }}\nload = {load}\nstart = \"{}us\"\ncount = {count}\nclass = 1\n{heavy}{burst}",
            rtt_us * 250,
            (4 * self.bdp()).max(150_000),
            20 * rtt_us + ahead * 8 / (gbps * 1000),
        );
        parsed(&text)
    }

    /// The 95th percentile of how long light tasks take in packets and at flow level, in µs.
    fn p95(self) -> [f64; 2] {
        both(1, |level| self.scenario(level))
    }

    /// How many times as long packets take. They have round trips to ask and to hear, which rates do not: two of them are left out.
    fn ratio(self) -> f64 {
        let [packets, rates] = self.p95();
        packets / (rates + 2.0 * self.rtt_us as f64)
    }

    /// The geometric mean of that over so many sequences of arrivals: of 150 tasks alone the 95th percentile is now and then three times
    /// as long at loads above 0.8, since a link that is as good as full takes long to forget what waited.
    fn mean_ratio(self, seeds: u32) -> f64 {
        let logs = (0..seeds).map(|more| Mix { seed: self.seed + 1000 * more, ..self }.ratio().ln());
        (logs.sum::<f64>() / f64::from(seeds)).exp()
    }

    fn takes_less_than(self, most: f64) {
        let ratio = self.ratio();
        assert!(ratio < most, "{ratio} times, {self:?}");
    }
}

fn parsed(text: &str) -> Scenario {
    Scenario::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// [`p95`] in packets and at flow level.
fn both(class: u8, scenario: impl Fn(&str) -> Scenario) -> [f64; 2] {
    ["packet", "flow"].map(|level| p95(&scenario(level), class))
}

/// The 95th percentile of how long tasks of the class take, in µs.
fn p95(scenario: &Scenario, class: u8) -> f64 {
    let times = times(scenario, class);
    times[times.len() * 95 / 100]
}

/// How long tasks of the class take, in µs, shortest first.
fn times(scenario: &Scenario, class: u8) -> Vec<f64> {
    let flows = feed(scenario).map_err(RunError::from);
    let run = flows.and_then(|flows| run(scenario, flows, &Unattended, Vec::new()));
    let (outcome, ending) = run.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(ending, Ending::Finished, "{scenario:?}");
    let tasks = outcome.tasks.iter().filter(|task| task.class == class);
    let mut times: Vec<f64> =
        tasks.map(|task| task.end.saturating_sub(task.start).as_secs_f64() * 1e6).collect();
    times.sort_unstable_by(f64::total_cmp);
    times
}

/// What a port gives tasks that all wait must leave room for those that come meanwhile: its link idles while a task that has its
/// turn has not heard of it, and is taken by requests of others. In the first case it served a third of its rate, in the third a
/// fifth, so that what came once never went.
#[test]
fn tasks_that_all_wait_are_served_at_most_of_the_links_rate() {
    let cases = [
        (1, 100, 2_539, 3, 300, 1.5),
        (1, 100, 9_000, 3, 200, 1.4),
        (1, 10, 2_539, 3, 300, 1.6),
        (1, 10, 9_928, 4, 200, 1.4),
        (1, 1000, 2_539, 3, 600, 1.7),
        (10, 100, 30_000, 3, 600, 1.4),
        (10, 10, 3_000, 3, 500, 1.7),
        (10, 10, 60_000, 3, 300, 1.2),
    ];
    for (gbps, rtt_us, size, servers, burst, most) in cases {
        let mix = Mix { seed: 1, gbps, rtt_us, size, servers, load: 0.01, count: 1, heavy: Heavy::None };
        let took = times(&mix.after_a_burst("packet", burst), 3).last().copied().unwrap();
        let bytes = (size + Mix::PROTOCOL * servers) * u64::from(burst);
        let ideal = bytes as f64 * 8.0 / (gbps as f64 * 1e3) + 2.0 * rtt_us as f64;
        println!("{burst} at once: {:.2} times, {took:.0} µs, ideal {ideal:.0}, {mix:?}", took / ideal);
        assert!(took < most * ideal, "{burst} at once took {took} µs, {ideal} at the link's rate, {mix:?}");
    }
}

/// After a burst tasks soon take no longer than without one.
#[test]
fn what_came_at_once_is_over_soon() {
    let cases = [
        (1, 100, 2_539, 0.5, 60),
        (1, 10, 1_000, 0.35, 100),
        (10, 10, 3_000, 0.5, 60),
        (1, 10, 9_928, 0.6, 60),
    ];
    for (gbps, rtt_us, size, load, burst) in cases {
        let mix = Mix { seed: 1, gbps, rtt_us, size, servers: 3, load, count: 6400, heavy: Heavy::None };
        let [without, with] = [0, burst].map(|burst| p95(&mix.after_a_burst("packet", burst), 1));
        let rates = p95(&mix.after_a_burst("flow", burst), 1);
        println!(
            "{without:.0} µs without, {with:.0} with, {rates:.0} at flow level: {burst} at once, {mix:?}"
        );
        assert!(with < 1.5 * without, "{without} µs, {with} after {burst} at once, {mix:?}");
    }
}

/// Three packets are on the way at 1 Gbps, ten at 10. Who waits must not keep a rate at another port, nor ask for all that it
/// could use once in a hundred round trips: those of 3 KB and more took four to forty times as long. Nor may requests of who is
/// next, one in each round trip, take what they are to send in: tasks of three thirds of a packet took 15 times as long.
#[test]
fn tasks_of_few_packets_take_about_as_long_where_few_packets_are_a_round_trip() {
    let cases = [
        (1, 20_000, 0.6, 2.0),
        (1, 20_000, 0.75, 2.5),
        (1, 3_000, 0.5, 2.8),
        (1, 1_000, 0.55, 3.3),
        (10, 20_000, 0.7, 3.0),
    ];
    for (gbps, size, load, most) in cases {
        for seed in 1..4 {
            let mix = Mix { seed, gbps, rtt_us: 10, size, servers: 3, load, count: 150, heavy: Heavy::None };
            let [packets, rates] = mix.p95();
            println!("{:.2} {packets:.0} {rates:.0} {mix:?}", packets / rates);
            assert!(packets < most * rates, "{mix:?}: {packets} µs in packets, {rates} at flow level");
        }
    }
}

/// A heavy flow takes what is free once a round trip, and light tasks come between. Each of them waited until it had asked again,
/// and the next one until it was served: what waited grew for as long as they came, to 43 ms in the first case.
#[test]
fn light_tasks_beside_a_heavy_one_take_no_longer_the_more_there_are() {
    let cases = [
        (10, 100, 20_000, 3, 0.6),
        (10, 10, 20_000, 2, 0.5),
        (1, 100, 3_000, 3, 0.4),
        (1, 1000, 20_000, 1, 0.35),
    ];
    for (gbps, rtt_us, size, servers, load) in cases {
        for count in [150, 2400] {
            let heavy = Heavy::Is(1, u64::MAX);
            let mix = Mix { seed: 1, gbps, rtt_us, size, servers, load, count, heavy };
            println!("{:?} {mix:?}", mix.p95());
            mix.takes_less_than(1.5);
        }
    }
}

/// What light tasks demand beyond one's share, they do not take from what a heavy one has at least: half of its own, of what the
/// link carries when its queue is drained.
#[test]
fn a_heavy_task_beside_too_many_light_ones_keeps_a_third_of_what_it_has_at_flow_level() {
    let heavy = Heavy::Is(1, 20_000_000);
    let mix =
        Mix { seed: 1, gbps: 10, rtt_us: 100, size: 20_000, servers: 3, load: 0.97, count: 8000, heavy };
    let [packets, rates] = both(2, |level| mix.scenario(level));
    println!("{packets} µs in packets, {rates} at flow level");
    let before = 11_600.0;
    assert!(packets - before < 3.0 * (rates - before), "{packets} µs in packets, {rates} at flow level");
}

/// More than fits one's share waits at flow level, where the heavy task has what it has; in packets light tasks may take up to
/// half of that, and wait less.
#[test]
fn light_tasks_beyond_their_share_take_less_than_at_flow_level() {
    for (load, servers) in [(0.6, 1), (0.7, 1), (0.9, 3)] {
        for seed in 1..3 {
            let heavy = Heavy::Is(1, u64::MAX);
            let mix = Mix { seed, gbps: 10, rtt_us: 100, size: 20_000, servers, load, count: 600, heavy };
            let [packets, rates] = mix.p95();
            println!(
                "load {load}, {servers} flows a task: {packets:.0} us in packets, {rates:.0} at flow level"
            );
            assert!(packets < rates && packets > 0.2 * rates, "{packets} and {rates}, {mix:?}");
        }
    }
}

/// Handing the link over takes time, in which a faster one carries more: with round trips of 10 us, 31 packets at 40 Gbps
/// and 83 at 100.
#[test]
fn tasks_over_faster_links_take_longer_at_high_load() {
    for (gbps, load, most) in [(40, 0.5, 1.5), (40, 0.8, 3.2), (100, 0.5, 1.5), (100, 0.8, 3.5)] {
        for (size, servers) in [(50_000, 1), (50_000, 3), (200_000, 3)] {
            for seed in 1..4 {
                let mix = Mix { seed, gbps, rtt_us: 10, size, servers, load, count: 600, heavy: Heavy::None };
                println!("{gbps} Gbps, load {load}, {servers} flows of {size} B in all: {:.2}", mix.ratio());
                mix.takes_less_than(most);
            }
        }
    }
}

/// Where each task is a flow of 1.1 to 1.4 round trips, who waits hears half of one late that the link is free. Unless ports
/// grant such flows something beyond what the link carries, though they ask for all of it, it is full at a load of 0.7, and
/// they take 5 to 20 times as long.
#[test]
fn tasks_of_a_little_more_than_a_round_trip_take_about_as_long_as_at_flow_level() {
    let cases = [
        (12_500, 1, 0.7, 2.5),
        (14_375, 1, 0.5, 1.8),
        (14_375, 1, 0.7, 2.5),
        (14_375, 3, 0.7, 2.5),
        (18_750, 1, 0.7, 2.5),
    ];
    for (gbps, rtt_us) in [(1, 100), (10, 10)] {
        for (size, servers, load, most) in cases {
            for seed in 1..4 {
                Mix { seed, gbps, rtt_us, size, servers, load, count: 150, heavy: Heavy::None }
                    .takes_less_than(most);
            }
        }
    }
    // The property below found this one, 7.6 times.
    Mix {
        seed: 824,
        gbps: 10,
        rtt_us: 10,
        size: 14_248,
        servers: 1,
        load: 0.8245,
        count: 150,
        heavy: Heavy::None,
    }
    .takes_less_than(3.0);
}

/// Four clients whose links are loaded by 0.8 read over an uplink that is no faster than all of these together. Where tasks are
/// numbered by four counters, a newcomer often goes before others, and for its first round trip keeps of the uplink what
/// its client's link then does not let it use: so the uplink carries less than 0.8, and the longer a run is the more wait.
#[test]
fn tasks_over_two_bottlenecks_take_about_as_long_as_at_flow_level() {
    let scenario = |level: &str, counters: u32, count: u32, seed: u32| {
        let text = format!(
            "level = \"{level}\"\nseed = {seed}\nscheme = {{ name = \"baraat\" }}\n\
             transport = {{ min_rto = \"10ms\" }}\nmeasure = {{ horizon = \"100s\" }}\n\
             [fabric]\nkind = \"dumbbell\"\nleft = 8\nright = 4\nhost_rate = \"1Gbps\"\nbottleneck_rate = \"4Gbps\"\n\
             host_delay = \"100us\"\nbottleneck_delay = \"100us\"\nbuffer = \"4MB\"\n\
             [workload]\ntask_counters = {counters}\n[[workload.task]]\n\
             workflow = {{ parallel = {{ clients = [8, 9, 10, 11], servers = 3, from = [0, 1, 2, 3, 4, 5, 6, 7] }} }}\n\
             sizes = {{ fixed = \"300KB\" }}\nload = 0.8\ncount = {count}\n"
        );
        parsed(&text)
    };
    for (counters, count, most) in [(1, 600, 2.0), (4, 600, 3.3), (1, 3000, 2.6), (4, 3000, 7.0)] {
        let ratio = |seed| {
            let [packets, rates] = both(0, |level| scenario(level, counters, count, seed));
            println!(
                "{counters} counters, {count} tasks, seed {seed}: {packets:.0} µs in packets, {rates:.0} at flow level"
            );
            packets / rates
        };
        let mean = ((1..7).map(|seed| ratio(seed).ln()).sum::<f64>() / 6.0).exp();
        println!("{counters} counters, {count} tasks: {mean:.2} times");
        assert!(mean < most, "{counters} counters, {count} tasks: {mean}");
    }
}

/// All hosts send and receive: each flow needs its sender's card and its client's link at once, and is given both by requests of its
/// own. Each is kept for it for a round trip while the other is not to be had, so that the links carry less than at
/// flow level. Requests that were given up too early and are counted until ports forget them make what waits grow without bound:
/// 600 tasks took ten times as long at load 0.7, 2400 fifty times.
#[test]
fn tasks_between_all_hosts_take_longer_the_busier_senders_are() {
    let scenario = |level: &str, load: f64, count: u32| {
        let text = format!(
            "level = \"{level}\"\nscheme = {{ name = \"baraat\" }}\ntransport = {{ min_rto = \"10ms\" }}\n\
             measure = {{ horizon = \"200s\" }}\n[fabric]\nkind = \"star\"\nhosts = 16\nhost_rate = \"10Gbps\"\n\
             host_delay = \"1us\"\nbuffer = \"4MB\"\n[[workload.task]]\nworkflow = {{ parallel = {{ servers = 4 }} }}\n\
             sizes = {{ fixed = \"400KB\" }}\nload = {load}\ncount = {count}\n"
        );
        parsed(&text)
    };
    for (load, count, most) in
        [(0.3, 600, 1.2), (0.5, 600, 1.4), (0.7, 600, 2.1), (0.7, 2400, 2.3), (0.75, 3000, 5.0)]
    {
        let [packets, rates] = both(0, |level| scenario(level, load, count));
        println!("load {load}, {count} tasks: {packets:.0} µs in packets, {rates:.0} at flow level");
        assert!(packets < most * rates, "load {load}: {packets} µs in packets, {rates} at flow level");
    }
}

/// As [`tasks_between_all_hosts_take_longer_the_busier_senders_are`], over four racks that no link between is too narrow for.
#[test]
fn tasks_over_racks_take_longer_with_many_counters() {
    let scenario = |level: &str, load: f64, counters: u32, count: u32| {
        let text = format!(
            "level = \"{level}\"\nscheme = {{ name = \"baraat\" }}\ntransport = {{ min_rto = \"10ms\" }}\n\
             measure = {{ horizon = \"200s\" }}\n[fabric]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 4\n\
             host_rate = \"10Gbps\"\nspine_rate = \"20Gbps\"\ndelay = \"1us\"\nbuffer = \"4MB\"\nload_balancing = \"ecmp\"\n\
             [workload]\ntask_counters = {counters}\n[[workload.task]]\nworkflow = {{ parallel = {{ servers = 4 }} }}\n\
             sizes = {{ fixed = \"400KB\" }}\nload = {load}\ncount = {count}\n"
        );
        parsed(&text)
    };
    for (load, counters, count, most) in [
        (0.5, 1, 3000, 1.6),
        (0.5, 16, 3000, 2.2),
        (0.7, 1, 3000, 5.0),
        (0.7, 16, 600, 3.3),
        (0.7, 16, 3000, 7.0),
    ] {
        let [packets, rates] = both(0, |level| scenario(level, load, counters, count));
        let case = format!("racks, load {load}, {counters} counters, {count} tasks");
        println!("{case}: {packets:.0} µs in packets, {rates:.0} at flow level");
        assert!(packets < most * rates, "{case}: {packets} µs in packets, {rates} at flow level");
    }
}

/// Tasks of single packets that come within half a round trip, beside one that turns heavy before. The property below found these, 3.7
/// and 4.5 times: the heavy flow was told an equal share of a link on which all others want next to nothing, and these, told
/// all they could use but not given it yet, slept for as long as a header takes of that, dozens of round trips.
#[test]
fn tasks_of_a_packet_beside_one_that_turns_heavy_wait_a_round_trip_more() {
    let cases = [(201, 4, 1_200, 0.538), (997, 4, 1_200, 0.345), (9, 3, 1_000, 0.1), (50, 3, 1_266, 0.46)];
    for (seed, servers, size, load) in cases {
        let heavy = Heavy::Turns(200 * size + 40_000_000);
        Mix { seed, gbps: 10, rtt_us: 1000, size, servers, load, count: 150, heavy }.takes_less_than(1.5);
    }
}

/// Tasks of many round trips, which turn heavy themselves (10 MB): each shares with the one after it.
#[test]
fn tasks_that_turn_heavy_themselves_take_as_long_as_at_flow_level() {
    let cases = [
        (1, 100, 5_000_000, 3, 0.6, 60, Heavy::None),
        (1, 1000, 20_000_000, 2, 0.8, 40, Heavy::None),
        (10, 10, 20_000_000, 3, 0.7, 60, Heavy::None),
        (10, 100, 30_000_000, 2, 0.6, 60, Heavy::Turns(1_000_000_000)),
        (10, 1000, 100_000_000, 4, 0.8, 30, Heavy::None),
        (10, 10, 100_000_000, 1, 0.3, 20, Heavy::Is(1, 500_000_000)),
    ];
    for (gbps, rtt_us, size, servers, load, count, heavy) in cases {
        let mix = Mix { seed: 1, gbps, rtt_us, size, servers, load, count, heavy };
        mix.takes_less_than(1.3);
    }
}

fn mixes() -> impl Strategy<Value = Mix> {
    let fabric =
        prop_oneof![Just((1, 1000)), Just((1, 100)), Just((10, 1000)), Just((10, 100)), Just((10, 10))];
    // From a packet to ten times what the link carries in a round trip.
    let size = prop_oneof![1_000u64..3_000, 3_000u64..100_000, 100_000u64..3_000_000];
    let heavy = prop_oneof![Just(0u64), Just(1), (2..6u64)];
    (0..1000u32, fabric, size, 1..5u64, 0.1..0.85f64, heavy).prop_map(
        |(seed, (gbps, rtt_us), size, servers, load, heavy)| {
            let size = size.max(servers * 300);
            let heavy = match heavy {
                0 => Heavy::None,
                1 => Heavy::Turns(200 * size + 40_000_000),
                flows => Heavy::Is((flows - 1).min(3), 500_000_000),
            };
            Mix { seed, gbps, rtt_us, size, servers, load, count: 150, heavy }
        },
    )
}

/// Tasks of less than a round trip, where ten packets are one. With three quarters of the link taken what waits does not grow with how many
/// come; at 0.85 it does.
#[test]
fn tasks_of_less_than_a_round_trip_fill_a_link_at_four_fifths_of_its_rate() {
    for (size, servers) in [(2_315, 1), (2_930, 1), (2_600, 2), (5_000, 3)] {
        let mix =
            Mix { seed: 1, gbps: 10, rtt_us: 10, size, servers, load: 0.0, count: 0, heavy: Heavy::None };
        let [few, many] = [600, 2400].map(|count| Mix { count, ..mix.at_true_load(0.75) }.mean_ratio(4));
        let [short, long] = [150, 2400].map(|count| Mix { count, ..mix.at_true_load(0.85) }.mean_ratio(4));
        println!(
            "{servers} flows of {size} B in all: at 0.75 {few:.1} and {many:.1} times, at 0.85 {short:.1} and {long:.1}"
        );
        assert!(many < 3.0 && many < 1.5 * few && short < 3.0, "{mix:?}: {few}, {many}, {short}");
        // LIMITATIONS.md says so; where it is no longer true, bounds above are too wide.
        assert!(long > 5.0, "{mix:?}: {long}");
    }
}

proptest! {
    #![proptest_config(tailrace_cases::cases(80))]

    /// Of 560 such mixes 27 took more than 1.5 times as long, and none twice; at a load of 0.85 some take 2.3 times, as above. A port
    /// that makes tasks wait for nothing takes tens of times.
    #[test]
    fn tasks_in_packets_take_about_as_long_as_at_flow_level(mix in mixes()) {
        prop_assume!(mix.true_load() < mix.most_load());
        let ratio = mix.mean_ratio(4);
        println!("{ratio:.2} times but for two round trips, {mix:?}");
        prop_assert!(ratio < 3.0, "{} times, {:?}", ratio, mix);
    }
}
