//! A flow in a tunnel: its guest's law under the tunnel's limiter.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, Directive, FlowView, HostId, Loss, Same, SliceId, Time,
    Wrapper,
};

use super::tunnel::{Member, Tunnel};

/// What the flows of a tunnel have in common: slice, source, destination.
pub type Key = (SliceId, HostId, HostId);

/// The tunnels that have flows. One run is one thread, so its laws may share them.
#[derive(Default)]
pub struct Tunnels(RefCell<BTreeMap<Key, Rc<RefCell<Tunnel>>>>);

impl Tunnels {
    /// The tunnel of `key`; `new` if there is none.
    pub fn find(&self, key: Key, new: impl FnOnce() -> Tunnel) -> Rc<RefCell<Tunnel>> {
        Rc::clone(self.0.borrow_mut().entry(key).or_insert_with(|| Rc::new(RefCell::new(new()))))
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.borrow().len()
    }
}

/// A guest's law in a tunnel.
pub struct Tunnelled<G> {
    guest: G,
    tunnel: Rc<RefCell<Tunnel>>,
    /// From its first directive to its end.
    member: Option<Member>,
    /// Where its tunnel is listed, if it shares it.
    listed: Option<(Rc<Tunnels>, Key)>,
    show_marks: bool,
}

impl<G> Tunnelled<G> {
    /// The law of a new flow in `tunnel`.
    pub fn new(
        guest: G,
        tunnel: Rc<RefCell<Tunnel>>,
        listed: Option<(Rc<Tunnels>, Key)>,
        show_marks: bool,
    ) -> Self {
        Tunnelled { guest, tunnel, member: None, listed, show_marks }
    }

    /// The guest's law.
    #[cfg(test)]
    pub(super) fn guest(&self) -> &G {
        &self.guest
    }
}

impl<G: CongestionLaw> Wrapper for Tunnelled<G> {
    type Law = G;
    type Headers = Same;

    #[inline]
    fn law(&self) -> &G {
        &self.guest
    }
    #[inline]
    fn law_mut(&mut self) -> &mut G {
        &mut self.guest
    }

    /// The limiter is a bucket of two packets.
    #[inline]
    fn burst(&self) -> u16 {
        2
    }

    #[inline]
    fn on_ack(&mut self, ack: &AckSample, flow: &FlowView) {
        if let Some(member) = &mut self.member {
            self.tunnel.borrow_mut().on_ack(member, ack);
        }
        let marked = if self.show_marks { ack.marked } else { Bytes::ZERO };
        self.guest.on_ack(&AckSample { marked, ..*ack }, flow);
    }

    fn on_loss(&mut self, now: Time, loss: Loss, flow: &FlowView) {
        self.tunnel.borrow_mut().on_loss(now);
        self.guest.on_loss(now, loss, flow);
    }

    #[inline]
    fn allowance(&self) -> Allowance {
        let pacing = self.member.as_ref().and_then(|member| self.tunnel.borrow().limit(member));
        Allowance { window: self.guest.allowance().window, pacing }
    }

    /// A new weight; with the first one the flow joins.
    fn directed(&mut self, directive: &Directive) {
        let mut tunnel = self.tunnel.borrow_mut();
        match &mut self.member {
            Some(member) => tunnel.weigh(member, directive.weight),
            None => self.member = Some(tunnel.join(directive.weight)),
        }
        self.guest.directed(directive);
    }

    /// The flow leaves. A tunnel without flows is forgotten: the next one starts as a new flow would.
    fn farewell(&mut self, now: Time) -> Option<()> {
        if let Some(member) = self.member.take() {
            let mut tunnel = self.tunnel.borrow_mut();
            tunnel.leave(&member);
            if let Some((tunnels, key)) = self.listed.take().filter(|_| tunnel.is_empty()) {
                tunnels.0.borrow_mut().remove(&key);
            }
        }
        self.guest.farewell(now)
    }
}
