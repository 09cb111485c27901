//! A scheme in a switch between real interfaces.

use std::ops::ControlFlow;
use std::sync::mpsc::Receiver;

use tailrace_agent::plain_header;
use tailrace_config::ScenarioError;
use tailrace_core::{LiveError, Objective, Outcome, PortId, Scheme, SeriesSource, Slice, View};
use tailrace_fabric::Fabric;
use tailrace_linux::{Account, Driver, MacTable, Priorities, TakenOver, Wanted};
use tailrace_run::{RunError, build, packets};
use tailrace_scenario::Scenario;
use tailrace_schemes::SchemeVisitor;
use tailrace_workload::feed::Feed;

use crate::emulate::{Programs, endless};
use crate::switch_file::SwitchConfig;

/// Finds out, before anything runs, whether the packets of whoever is around can go through the switch under its scheme.
pub fn for_switch(config: &SwitchConfig) -> Result<Programs, ScenarioError> {
    struct Ask<'a>(&'a SwitchConfig);
    impl SchemeVisitor for Ask<'_> {
        type Output = Result<Programs, ScenarioError>;
        fn visit<S: Scheme>(self) -> Self::Output {
            let (scenario, fabric) = (&self.0.scenario, self.0.fabric());
            let scheme = build::for_packets::<S>(scenario, &fabric).map_err(|error| {
                if only_lacks_slices::<S>(scenario, &fabric) { no_slices::<S>() } else { error }
            })?;
            plain_header(&scheme, "")?;
            Ok(Programs::new(&scheme, scenario, &fabric))
        }
    }
    build::visit_for_frames(&config.scenario, Ask(config))
}

/// Whether a scheme would do, were there a slice.
fn only_lacks_slices<S: Scheme>(scenario: &Scenario, fabric: &Fabric) -> bool {
    let with_one =
        Scenario { slices: vec![Slice { weight: 1.0, objective: Objective::default() }], ..scenario.clone() };
    build::for_packets::<S>(&with_one, fabric).is_ok()
}

/// Slices are of hosts, and a switch's file has none.
fn no_slices<S: Scheme>() -> ScenarioError {
    let message = format!(
        "is {}, whose slices and controller are the hosts'; for a switch write \"wvcc\", whose ports are the same",
        S::NAME
    );
    ScenarioError::new("scheme.name", message)
}

/// Makes the interfaces that are `taken` over a switch, gives up this process' rights, and runs it until `watch` says stop.
/// Then it goes on as each of the `changes` says. That all of them can be, [`for_switch`] has found out before.
pub fn switch(
    config: &SwitchConfig,
    taken: &TakenOver,
    account: &Account,
    changes: &Receiver<SwitchConfig>,
    watch: &mut dyn FnMut(View) -> ControlFlow<()>,
) -> Result<Outcome, RunError> {
    build::visit(&config.scenario, Runner { config, taken, account, changes, watch })?
}

struct Runner<'a> {
    config: &'a SwitchConfig,
    taken: &'a TakenOver,
    account: &'a Account,
    changes: &'a Receiver<SwitchConfig>,
    watch: &'a mut dyn FnMut(View) -> ControlFlow<()>,
}

impl SchemeVisitor for Runner<'_> {
    type Output = Result<Result<Outcome, RunError>, ScenarioError>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let Runner { config, taken, account, changes, watch } = self;
        let driver = driver::<S>(config, taken)?;
        let run = || {
            let cards = config.ports.len();
            let mut watch = |driver: &mut Driver<'_, S>, view: View| {
                let seen = watch(without_cards(view, cards));
                changes.try_iter().for_each(|change| go_on_as(driver, &change));
                seen
            };
            let mut outcome = packets::balanced(tailrace_linux::switch(driver?, account, &mut watch)?);
            outcome.ports.drain(..cards);
            Ok(outcome)
        };
        Ok(run())
    }
}

fn driver<'a, S: Scheme>(
    config: &SwitchConfig,
    taken: &'a TakenOver,
) -> Result<Result<Driver<'a, S>, LiveError>, ScenarioError> {
    let (scenario, fabric) = (endless(&config.scenario), config.fabric());
    let scheme = build::for_packets::<S>(&scenario, &fabric)?;
    let world = packets::world(&scenario, &fabric, Feed::from(Vec::new()))?.outside();
    let given = config.ports.iter().zip(0..);
    let given = given.flat_map(|(port, number)| port.macs.iter().map(move |mac| (mac.0, number)));
    let table = MacTable::new(given, config.learning);
    let (priorities, mss) = (priorities(&scheme, &fabric), scenario.transport.mss);
    Ok(Driver::switch(world, taken.interfaces(), table, priorities, mss, Wanted::Best))
}

fn priorities<S: Scheme>(scheme: &S, fabric: &Fabric) -> Priorities {
    Priorities::new(scheme.switch_plan(fabric.host_rate()).as_ref())
}

/// What could not be is not handed to a switch that runs.
fn go_on_as<S: Scheme>(driver: &mut Driver<'_, S>, change: &SwitchConfig) {
    let fabric = change.fabric();
    if let Ok(scheme) = build::for_packets::<S>(&change.scenario, &fabric) {
        let priorities = priorities(&scheme, &fabric);
        driver.refit(scheme, &fabric, priorities);
    }
}

/// The ports are the switch's, counted from 0: the star's network cards are none of this machine.
fn without_cards(mut view: View, cards: usize) -> View {
    view.ports.drain(..cards);
    for (place, _) in &mut view.reported {
        if let SeriesSource::Port(port) = place {
            *port -= cards as PortId;
        }
    }
    view
}

#[cfg(test)]
mod tests {
    use tailrace_core::{Ecn, Packet, PacketKind, Time};
    use tailrace_packet::World;
    use tailrace_schemes::NAMES;

    use super::*;

    const SENT: u32 = 200;

    struct Change<'a>(&'a SwitchConfig);

    impl SchemeVisitor for Change<'_> {
        type Output = Result<(), ScenarioError>;

        /// Frames of all priorities for one port, and another policy while most of them wait, long after the start.
        fn visit<S: Scheme>(self) -> Self::Output {
            let (scenario, fabric) = (endless(&self.0.scenario), self.0.fabric());
            let build = || build::for_packets::<S>(&scenario, &fabric);
            let mut world: World<S> = packets::world(&scenario, &fabric, Feed::from(Vec::new()))?.outside();
            let (start, mut left) = (Time::from_ms(60_000), 0);
            let mut count = |_, host, _| left += u32::from(host == 1);
            world.run_until(start, &mut count);
            for flow in 0..SENT {
                let mut packet =
                    Packet { flow, dst: 1, bytes: 1500, priority: flow as u8 % 8, ..Packet::EMPTY };
                packet.set(PacketKind::Data, Ecn::Capable);
                world.enter_switch(packet);
            }
            for (ms, span) in [(5, 100), (10, 200)] {
                world.run_until(start + Time::from_ms(ms), &mut count);
                assert!(world.ledger().queued.packets > 100, "{}: {:?}", S::NAME, world.ledger());
                world.refit(build()?, &fabric);
                // Policies that ask to be woken go on being woken.
                world.run_until(start + Time::from_ms(ms) + Time::from_us(span), &mut count);
            }
            world.run_until(start + Time::from_ms(1_000), &mut count);
            let ledger = world.ledger();
            assert!(ledger.balances() && ledger.dropped().packets == 0, "{}: {ledger:?}", S::NAME);
            assert_eq!(left, SENT, "{}", S::NAME);
            Ok(())
        }
    }

    #[test]
    fn no_scheme_that_a_switch_can_run_loses_a_frame_when_it_changes() {
        let ports: String =
            (0..3).map(|port| format!("[[port]]\ninterface = \"eth{port}\"\nrate = \"100Mbps\"\n")).collect();
        let (mut run, mut refused) = (Vec::new(), Vec::new());
        for name in NAMES {
            let params = match *name {
                "awafs" => "params = { silence = \"20ms\", period = \"1ms\" }",
                "pias" => "params = { thresholds = { fitted = \"web-search\", load = 0.6 } }",
                _ => "",
            };
            let text = format!("[switch]\nbuffer = \"1MB\"\n{ports}[scheme]\nname = \"{name}\"\n{params}");
            let config = SwitchConfig::parse(&text).unwrap();
            match for_switch(&config) {
                Ok(_) => {
                    build::visit(&config.scenario, Change(&config)).unwrap();
                    run.push(*name);
                }
                Err(error) => refused.push(format!("{name}: {error}")),
            }
        }
        assert!(
            ["fifo", "dctcp", "mlfq", "pias", "awafs", "hull"].iter().all(|name| run.contains(name)),
            "{refused:?}"
        );
        println!("run: {run:?}\nrefused: {refused:#?}");
    }
}
