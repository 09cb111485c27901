//! Karuna's law: MCP for flows with deadlines, DCTCP for all others.

use tailrace_core::{AckSample, Allowance, CongestionLaw, FlowView, Loss, SeriesSink, Standing, Time};

use super::mcp::{Hopeless, Mcp};
use crate::dctcp::DctcpLaw;

/// The law of one flow.
#[derive(Clone, Copy, Debug)]
pub struct KarunaLaw {
    mcp: Option<Mcp>,
    /// The law of a flow without deadline, or of one that has lost it.
    dctcp: DctcpLaw,
    hopeless: Hopeless,
    standing: Standing,
}

impl KarunaLaw {
    pub(super) fn new(mcp: Option<Mcp>, dctcp: DctcpLaw, hopeless: Hopeless) -> Self {
        let mut law = KarunaLaw { mcp, dctcp, hopeless, standing: Standing::Going };
        law.judge();
        law
    }

    /// Draws the consequence if the flow cannot meet its deadline any more.
    #[inline]
    fn judge(&mut self) {
        if self.mcp.as_ref().is_some_and(Mcp::is_hopeless) {
            match self.hopeless {
                Hopeless::Terminate => self.standing = Standing::Stopped,
                Hopeless::Demote => {
                    self.standing = Standing::Demoted;
                    self.mcp = None;
                }
                Hopeless::Keep => {}
            }
        }
    }
}

impl CongestionLaw for KarunaLaw {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, flow: &FlowView) {
        match &mut self.mcp {
            None => self.dctcp.on_ack(ack, flow),
            Some(mcp) => {
                mcp.on_ack(ack, flow);
                self.judge();
            }
        }
    }

    fn on_loss(&mut self, now: Time, loss: Loss, flow: &FlowView) {
        match &mut self.mcp {
            None => self.dctcp.on_loss(now, loss, flow),
            Some(mcp) => {
                mcp.on_loss(now, loss, flow);
                self.judge();
            }
        }
    }

    #[inline]
    fn allowance(&self) -> Allowance {
        match &self.mcp {
            None => self.dctcp.allowance(),
            Some(mcp) => mcp.allowance(),
        }
    }

    #[inline]
    fn standing(&self) -> Standing {
        self.standing
    }

    fn demoted(&mut self) {
        self.standing = Standing::Going;
    }

    fn trace(&mut self, now: Time, series: &mut dyn SeriesSink) {
        if let Some(mcp) = &mut self.mcp {
            mcp.trace(now, series);
        }
    }
}
