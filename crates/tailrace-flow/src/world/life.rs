//! The life of a flow: start, first byte, changes of rate, end.

use tailrace_core::{Bytes, FlowId, FlowInfo, HEADER_BYTES, Time};
use tailrace_workload::FlowSpec;

use super::{Occupant, SETUPS, Setup, World};
use crate::bundle::Bundle;
use crate::kinds::Kind;
use crate::solver::{AHEAD, BundleId, Change, ClassId, Solver};

/// A link that fills by its classes of single ranks may not fill once it has joined some, and then fill again, without end
/// at one instant (limited multiplexing). After so many solutions links that have filled stay tight until a later one.
const MAX_TURNS: u32 = 4;

impl World<'_> {
    /// The time has come for flows of the workload.
    pub(super) fn start_flows(&mut self) {
        while self.feed.peek().is_some_and(|start| start <= self.now)
            && let Some(spec) = self.feed.pop()
        {
            self.start(spec);
        }
        self.arm_source();
    }

    fn start(&mut self, spec: FlowSpec) {
        let id = self.records.len() as FlowId;
        self.records.push(spec.record(id));
        self.active += 1;
        let first_byte = self.now.saturating_add(self.setup_time(&spec, id));
        self.setting_up.insert((first_byte, id), spec);
        self.schedule.wake(SETUPS, first_byte);
    }

    /// How long after its start a flow sends its first byte.
    fn setup_time(&mut self, spec: &FlowSpec, id: FlowId) -> Time {
        match self.setup {
            Setup::Fixed(time) => time,
            Setup::Packets => {
                let alone =
                    self.fabric.ideal_fct(spec.src, spec.dst, id, spec.size, &self.transport, HEADER_BYTES);
                let path = self.routes.path(spec.src, spec.dst, id);
                let capacities = self.routes.capacities();
                let narrowest =
                    path.links().iter().map(|&link| capacities[link as usize]).fold(f64::INFINITY, f64::min);
                // Rounded up, so that nobody is faster than alone.
                let service = (self.wire_bytes(spec.size) as f64 / narrowest * 1e12).floor();
                alone.saturating_sub(Time::from_ps(service as u64))
            }
        }
    }

    /// A flow's bytes on the wire: its payload in full segments, each with its header.
    pub(super) fn wire_bytes(&self, size: Bytes) -> u64 {
        let packets = size.get().div_ceil(u64::from(self.transport.mss)).max(1);
        size.get() + packets * u64::from(HEADER_BYTES)
    }

    /// Flows that have been set up begin to send.
    pub(super) fn admit_flows(&mut self) {
        while let Some(first) = self.setting_up.first_entry()
            && first.key().0 <= self.now
        {
            let ((_, id), spec) = first.remove_entry();
            self.admit(id, &spec);
        }
        if let Some((&(at, _), _)) = self.setting_up.first_key_value() {
            self.schedule.wake(SETUPS, at);
        }
    }

    fn admit(&mut self, id: FlowId, spec: &FlowSpec) {
        let mut path = self.routes.path(spec.src, spec.dst, id);
        let standing = self.standing(id, spec.task_size, Bytes::ZERO);
        match (standing.due, standing.cap) {
            (None, None) => {}
            (Some(_), None) => path = self.routes.with_own_link(path),
            (None, Some(cap)) => path = self.routes.under_cap(path, spec.src, cap),
            (Some(due), Some(cap)) => panic!("flow {id} is due at {due} and has a cap of {}", cap.rate),
        }
        for &capacity in &self.routes.capacities()[self.solver.links()..] {
            self.solver.add_link(capacity);
            self.link_bytes.push(0);
        }
        if let Some(cap) = standing.cap {
            self.widen(path.links()[0], cap.rate.bytes_per_sec());
        }
        self.rank_served_again(path);
        // Flows of one kind are one bundle, where none has a rank, need, weight or rate of its own.
        let own_rate = self.control.is_some() || !self.feedback.is_instant();
        let alone = standing.is_its_own() || self.rule.follows_progress() || own_rate;
        // Rounding of a class's clock counts for all who go by it alike.
        let apart = own_rate || path.own_link().is_some() || standing.weight != 1.0;
        let kind = Kind { rank: standing.rank, path };
        let bundle = if alone { self.new_bundle(kind, apart) } else { self.shared_bundle(kind) };
        let bytes = self.wire_bytes(spec.size) as f64;
        if alone {
            self.bundles[bundle as usize].weigh(standing.weight);
        }
        self.bundles[bundle as usize].enter(self.now, &self.clocks, bytes, id, spec.ticket);
        self.turn(bundle, id, Bytes::ZERO, standing.until);
        self.pace(bundle);
        self.report_start(&self.info(id), bundle);
        self.resize(bundle);
        self.arm(bundle);
    }

    /// What the scheme may know of a flow.
    pub(super) fn info(&self, id: FlowId) -> FlowInfo {
        let record = self.records.of(id);
        let known = FlowInfo {
            id,
            src: record.src,
            dst: record.dst,
            size: Some(record.size),
            start: record.start,
            deadline: (record.deadline != Time::MAX).then_some(record.deadline),
            slice: record.slice,
            task: record.task,
        };
        self.knows.filter(if self.oracle { known } else { record.reveals.filter(known) })
    }

    /// The bundle of this kind, made if there is none.
    fn shared_bundle(&mut self, kind: Kind) -> BundleId {
        if let Some(bundle) = self.kinds.find(&kind, |id| kind_of(&self.bundles, &self.solver, id)) {
            return bundle;
        }
        let id = self.new_bundle(kind, false);
        self.kinds.insert(&kind, id, |id| kind_of(&self.bundles, &self.solver, id));
        id
    }

    /// A bundle of this kind; one that is `apart` goes by no clock.
    fn new_bundle(&mut self, kind: Kind, apart: bool) -> BundleId {
        let id = self.add_to_solver(&kind, apart);
        let bundle = Bundle::new(kind.path, self.now);
        if id as usize == self.bundles.len() {
            self.bundles.push(bundle);
        } else {
            self.bundles[id as usize] = bundle;
        }
        id
    }

    /// Tells the solver what a bundle's flows weigh.
    pub(super) fn resize(&mut self, bundle: BundleId) {
        self.solver.set_weight(bundle, self.bundles[bundle as usize].weight());
        self.stale = true;
    }

    /// Has a bundle looked at when something will happen to it.
    pub(super) fn arm(&mut self, id: BundleId) {
        let bundle = &mut self.bundles[id as usize];
        if let Some(class) = bundle.clock() {
            if let Some(reading) = bundle.next_reading() {
                self.clocks.expect(class, id, reading);
                self.arm_clock(class);
            }
        } else if let Some(at) = bundle.arm() {
            self.wake(&Occupant::Bundle(id), at);
        }
    }

    fn arm_clock(&mut self, class: ClassId) {
        if let Some(at) = self.clocks.arm(class, self.now) {
            self.wake(&Occupant::Clock(class), at);
        }
    }

    /// A bundle does not go by a clock any more, if it did.
    pub(super) fn leave_clock(&mut self, bundle: BundleId) {
        if let Some(class) = self.bundles[bundle as usize].clock()
            && self.clocks.leave(class, bundle)
        {
            self.schedule.cancel(Occupant::Clock(class).entity());
        }
    }

    /// A bundle goes by the clock of a class from now on.
    fn follow(&mut self, id: BundleId, class: ClassId, level: f64) {
        self.clocks.set_level(class, self.now, level);
        let before = self.bundles[id as usize].clock();
        if before != Some(class) {
            self.clocks.enter(class, self.now);
            self.leave_clock(id);
        }
        if before.is_none() {
            self.bundles[id as usize].disarm();
            self.schedule.cancel(Occupant::Bundle(id).entity());
        }
        self.bundles[id as usize].follow(self.now, &self.clocks, class);
        self.arm(id);
    }

    /// Rates may have changed.
    pub(super) fn update_rates(&mut self) {
        let mut changed = std::mem::take(&mut self.changed);
        let some_are_paced = self.routes.some_are_own();
        self.solver.solve(|change| changed.push(change));
        for place in 0..changed.len() {
            if let Some(soon) = changed.get(place + AHEAD).and_then(Change::bundle) {
                self.bundles[soon as usize].fetch();
            }
            match changed[place] {
                Change::Alone { bundle, level } => {
                    self.tell(bundle, level);
                    if some_are_paced {
                        self.pace(bundle);
                    }
                }
                Change::Tied { bundle, class, level } => self.follow(bundle, class, level),
                Change::Class { class, level } => {
                    self.clocks.set_level(class, self.now, level);
                    self.arm_clock(class);
                }
            }
        }
        changed.clear();
        self.changed = changed;
        self.solutions = if self.solved_at == self.now { self.solutions + 1 } else { 1 };
        self.solved_at = self.now;
        if self.solutions <= MAX_TURNS {
            self.solver.loosen_idle();
        }
        for link in self.solver.turned() {
            self.watch(link);
            self.rank_turned_again(link);
        }
    }

    /// Something has happened to a bundle.
    pub(super) fn look_at(&mut self, bundle: BundleId) {
        self.bundles[bundle as usize].disarm();
        self.end_flows(bundle);
        if self.bundles[bundle as usize].has_turned(self.now, &self.clocks) {
            self.rank_again(bundle);
        }
        self.arm(bundle);
    }

    /// Something has happened to those who go by a clock.
    pub(super) fn look_at_clock(&mut self, class: ClassId) {
        let mut due = std::mem::take(&mut self.due);
        self.clocks.take_due(class, self.now, &mut due);
        due.drain(..).for_each(|bundle| self.look_at(bundle));
        self.due = due;
        self.arm_clock(class);
    }

    /// Flows of a bundle may be done.
    fn end_flows(&mut self, bundle: BundleId) {
        let mut ended = false;
        while let Some(flow) = self.bundles[bundle as usize].leave(self.now, &self.clocks) {
            ended = true;
            let record = self.records.of_mut(flow.flow);
            record.end = self.now;
            let bytes = self.wire_bytes(self.records.of(flow.flow).size);
            self.bundles[bundle as usize].count(bytes);
            for &link in self.bundles[bundle as usize].path.links() {
                self.link_bytes[link as usize] += bytes;
            }
            self.active -= 1;
            self.report_end(flow.flow);
            self.records.close(flow.flow);
            self.feed.ended(self.now, flow.ticket);
        }
        if ended {
            self.arm_source();
            if self.bundles[bundle as usize].len() == 0 {
                self.dissolve(bundle);
            }
            self.resize(bundle);
        }
    }

    /// A bundle has no flows left.
    fn dissolve(&mut self, bundle: BundleId) {
        let kind = kind_of(&self.bundles, &self.solver, bundle);
        self.kinds.remove(&kind, bundle);
        self.leave_links(bundle, &kind);
        self.leave_clock(bundle);
        self.routes.give_back(kind.path);
    }
}

/// What sets a bundle apart from others.
fn kind_of(bundles: &[Bundle], solver: &Solver, id: BundleId) -> Kind {
    Kind { rank: solver.rank(id), path: bundles[id as usize].path }
}
