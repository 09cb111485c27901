//! Leader election among a fleet's controllers over etcd. Every controller watches all hosts; the leader alone writes.
//!
//! The leader holds one key with its lease, and writes the key in every slot. Each of its writes has the condition that it still
//! holds the key, so of two controllers that believe to lead only one can write. A candidate campaigns when the key has not
//! changed for a slot and a half, and at once when the leader's lease has ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use etcd_client::{
    Client, Compare, CompareOp, EventType, GetOptions, KeyValue, PutOptions, Txn, TxnOp, WatchOptions,
    WatchStream,
};
use tokio::sync::{Mutex, watch};

use super::access::{Access, ControlError};
use super::keys::Keys;
use super::link::{Connected, Reached, Shared, Standing, farewell, going_on, lock, within};
use super::member::read;
use super::message::{Policy, Report, Weights};

/// An etcd takes 128 changes at a time.
const AT_ONCE: usize = 100;

/// A change of the hosts that report.
#[derive(Debug)]
pub enum HostEvent {
    /// A host reports; the report is bound to this lease.
    Report(String, i64, Report),
    /// A host has gone: its lease has ended.
    Gone(String),
    /// These are all hosts: others have gone while there was no connection.
    All(Vec<String>),
}

/// A controller's decision for one slot.
#[derive(Clone, Debug)]
pub struct Decision {
    /// To all.
    pub policy: Policy,
    /// To each host, as long as its lease lasts.
    pub weights: BTreeMap<String, (i64, Weights)>,
}

#[derive(Default)]
struct State {
    standing: Standing,
    events: Vec<HostEvent>,
    leads: bool,
    /// How often it has begun to.
    leaderships: u64,
}

/// A controller that takes part in the election.
pub struct Candidate {
    shared: Shared<State>,
    decisions: Option<watch::Sender<Option<Decision>>>,
    thread: JoinHandle<()>,
}

impl Candidate {
    /// Joins the election as `instance`.
    pub fn join(fleet: Reached, instance: &str) -> Result<Self, ControlError> {
        let (decisions, latest) = watch::channel(None);
        let shared = Shared::<State>::default();
        let kept = Arc::new(Mutex::new(Kept { latest, seen: BTreeMap::new() }));
        let Access { slot, .. } = fleet.access;
        let (keys, instance, state) = (Keys::of(&fleet.access), instance.to_owned(), shared.clone());
        let go_on = move |connected: Connected| {
            let (keys, instance, shared, kept) =
                (keys.clone(), instance.clone(), state.clone(), kept.clone());
            async move {
                let mut kept = kept.lock().await;
                let ended = Session::begin(connected, keys, instance, slot, &shared, &mut kept).await;
                lock(&shared).leads = false;
                ended.err()
            }
        };
        let thread = fleet.start(shared.clone(), |state| &mut state.standing, go_on)?;
        Ok(Candidate { shared, decisions: Some(decisions), thread })
    }

    /// Takes the events since the last call.
    pub fn take_events(&self) -> Vec<HostEvent> {
        std::mem::take(&mut lock(&self.shared).events)
    }

    /// Publishes a decision, at once if this controller leads, otherwise when it begins to.
    pub fn publish(&self, decision: Decision) {
        self.decisions.as_ref().map(|decisions| decisions.send_replace(Some(decision)));
    }

    /// Whether it leads, and how often it has begun to.
    pub fn leads(&self) -> (bool, u64) {
        let state = lock(&self.shared);
        (state.leads, state.leaderships)
    }

    /// How its connection stands.
    pub fn standing(&self) -> Standing {
        lock(&self.shared).standing.clone()
    }

    /// Leaves: another one may lead at once.
    pub fn leave(mut self) {
        self.decisions = None;
        farewell(&self.thread, || lock(&self.shared).standing.lost.is_some());
    }
}

/// What outlives a connection.
struct Kept {
    latest: watch::Receiver<Option<Decision>>,
    /// The revision of each host's last report.
    seen: BTreeMap<String, i64>,
}

/// The holder of the leader's key.
#[derive(Clone, Copy)]
struct Holder {
    lease: i64,
    revision: i64,
    seen: Instant,
}

/// One connection.
struct Session<'a> {
    client: Client,
    lease: i64,
    keys: Keys,
    instance: String,
    slot: Duration,
    shared: &'a Shared<State>,
    kept: &'a mut Kept,
    holder: Option<Holder>,
    /// The policy that was sent since it began to lead; then the weights of each host.
    sent_policy: Option<Policy>,
    sent_weights: BTreeMap<String, (i64, Weights)>,
}

impl<'a> Session<'a> {
    async fn begin(
        connected: Connected,
        keys: Keys,
        instance: String,
        slot: Duration,
        shared: &'a Shared<State>,
        kept: &'a mut Kept,
    ) -> Result<(), ControlError> {
        let (client, lease, keeping) = connected.split();
        tokio::pin!(keeping);
        let (sent_policy, sent_weights) = (None, BTreeMap::new());
        let mut session = Session {
            client,
            lease,
            keys,
            instance,
            slot,
            shared,
            kept,
            holder: None,
            sent_policy,
            sent_weights,
        };
        let mut hosts = session.watch_hosts().await?;
        let mut leader = session.watch_leader().await?;
        loop {
            let wait = tokio::time::sleep(session.patience());
            tokio::select! {
                lost = &mut keeping => return Err(lost),
                response = hosts.message() => {
                    let response = going_on(response)?;
                    response.events().iter().for_each(|event| if let Some(kv) = event.kv() {
                        session.take_in(kv, event.event_type() == EventType::Put);
                    });
                }
                response = leader.message() => {
                    let response = going_on(response)?;
                    for event in response.events() {
                        session.note_leader(event.kv().filter(|_| event.event_type() == EventType::Put));
                    }
                }
                changed = session.kept.latest.changed() => {
                    if changed.is_err() {
                        let _ = within("leaving", session.client.lease_revoke(session.lease)).await;
                        return Ok(());
                    }
                    session.publish().await?;
                }
                () = wait => session.campaign().await?,
            }
        }
    }

    fn leads(&self) -> bool {
        self.holder.is_some_and(|holder| holder.lease == self.lease)
    }

    /// For how long nothing has to be done about who leads.
    fn patience(&self) -> Duration {
        match self.holder {
            None => Duration::ZERO,
            Some(_) if self.leads() => Duration::from_secs(3_600),
            Some(holder) => (self.slot * 3 / 2).saturating_sub(holder.seen.elapsed()),
        }
    }

    async fn watch_hosts(&mut self) -> Result<WatchStream, ControlError> {
        let all = self.keys.hosts();
        let prefix = GetOptions::new().with_prefix();
        let found = within("asking etcd", self.client.get(all.clone(), Some(prefix))).await?;
        let name = |kv: &KeyValue| Some(self.keys.host_of(kv.key_str().ok()?)?.to_owned());
        let names: Vec<String> = found.kvs().iter().filter_map(name).collect();
        self.kept.seen.retain(|host, _| names.contains(host));
        lock(self.shared).events.push(HostEvent::All(names));
        found.kvs().iter().for_each(|kv| self.take_in(kv, true));
        let next = found.header().map_or(0, |header| header.revision()) + 1;
        let from = WatchOptions::new().with_prefix().with_start_revision(next);
        within("watching etcd", self.client.watch(all, Some(from))).await
    }

    async fn watch_leader(&mut self) -> Result<WatchStream, ControlError> {
        let key = self.keys.leader();
        let found = within("asking etcd", self.client.get(key.clone(), None)).await?;
        self.note_leader(found.kvs().first());
        let next = found.header().map_or(0, |header| header.revision()) + 1;
        let from = WatchOptions::new().with_start_revision(next);
        within("watching etcd", self.client.watch(key, Some(from))).await
    }

    /// A host's key has changed, or has gone.
    fn take_in(&mut self, kv: &KeyValue, put: bool) {
        let Some(host) = kv.key_str().ok().and_then(|key| self.keys.host_of(key)).map(str::to_owned) else {
            return;
        };
        let mut state = lock(self.shared);
        if !put {
            self.kept.seen.remove(&host);
            state.events.push(HostEvent::Gone(host));
        } else if self.kept.seen.insert(host.clone(), kv.mod_revision()) != Some(kv.mod_revision())
            && let Some(report) = read(kv, &mut state.standing)
        {
            state.events.push(HostEvent::Report(host, kv.lease(), report));
        }
    }

    /// The leader's key is this; nobody holds it if it is not there.
    fn note_leader(&mut self, kv: Option<&KeyValue>) {
        let seen = Instant::now();
        self.holder = kv.map(|kv| Holder { lease: kv.lease(), revision: kv.mod_revision(), seen });
        if !self.leads() {
            lock(self.shared).leads = false;
        }
    }

    /// Takes the leader's key, which nobody holds or whose holder writes no more.
    async fn campaign(&mut self) -> Result<(), ControlError> {
        let (key, revision) = (self.keys.leader(), self.holder.map_or(0, |holder| holder.revision));
        let unchanged = Compare::mod_revision(key.clone(), CompareOp::Equal, revision);
        let take = TxnOp::put(key, self.instance.clone(), Some(PutOptions::new().with_lease(self.lease)));
        let taken =
            within("taking the lead", self.client.txn(Txn::new().when([unchanged]).and_then([take]))).await?;
        let seen = Instant::now();
        let revision = taken.header().map_or(0, |header| header.revision());
        if !taken.succeeded() {
            // The watch will return the key of the faster candidate.
            self.holder = Some(Holder { lease: 0, revision, seen });
            return Ok(());
        }
        self.holder = Some(Holder { lease: self.lease, revision, seen });
        (self.sent_policy, self.sent_weights) = (None, BTreeMap::new());
        self.note_leadership();
        self.publish().await
    }

    fn note_leadership(&self) {
        let mut state = lock(self.shared);
        state.leads = true;
        state.leaderships += 1;
    }

    /// Writes what is new in the last decision, and the leader's key, if this controller leads.
    async fn publish(&mut self) -> Result<(), ControlError> {
        let latest = self.kept.latest.borrow_and_update().clone();
        let Some(decision) = latest.filter(|_| self.leads()) else { return Ok(()) };
        let mut changes = self.changes(&decision);
        loop {
            let later = changes.split_off(changes.len().min(AT_ONCE));
            if !self.change(changes).await? {
                return Ok(());
            }
            if later.is_empty() {
                break;
            }
            changes = later;
        }
        self.sent_policy = Some(decision.policy);
        self.sent_weights = decision.weights;
        Ok(())
    }

    fn changes(&self, decision: &Decision) -> Vec<TxnOp> {
        let mut changes = Vec::new();
        if self.sent_policy.as_ref() != Some(&decision.policy) {
            let text = serde_json::to_vec(&decision.policy).unwrap_or_default();
            changes.push(TxnOp::put(self.keys.policy(), text, None));
        }
        for (host, weights) in
            decision.weights.iter().filter(|(host, of)| self.sent_weights.get(*host) != Some(of))
        {
            let text = serde_json::to_vec(&weights.1).unwrap_or_default();
            let bound = PutOptions::new().with_lease(weights.0);
            changes.push(TxnOp::put(self.keys.weights(host), text, Some(bound)));
        }
        changes
    }

    /// Changes something, as the leader; returns whether it still is.
    async fn change(&mut self, mut changes: Vec<TxnOp>) -> Result<bool, ControlError> {
        let key = self.keys.leader();
        let still = Compare::lease(key.clone(), CompareOp::Equal, self.lease);
        let count = changes.len() as u64;
        changes.push(TxnOp::put(key, self.instance.clone(), Some(PutOptions::new().with_lease(self.lease))));
        let txn = Txn::new().when([still]).and_then(changes);
        match within("telling etcd", self.client.txn(txn)).await {
            Ok(done) if done.succeeded() => {
                lock(self.shared).standing.sent += count;
                Ok(true)
            }
            Ok(_) => Ok(false),
            // A host has gone meanwhile: its weights are told to nobody, and those of others in the next slot.
            Err(ControlError::Away(text)) if text.contains("requested lease not found") => {
                self.change_nothing().await
            }
            Err(error) => Err(error),
        }
    }

    async fn change_nothing(&mut self) -> Result<bool, ControlError> {
        lock(self.shared).standing.unsent += 1;
        let key = self.keys.leader();
        let still = Compare::lease(key.clone(), CompareOp::Equal, self.lease);
        let beat = TxnOp::put(key, self.instance.clone(), Some(PutOptions::new().with_lease(self.lease)));
        within("telling etcd", self.client.txn(Txn::new().when([still]).and_then([beat]))).await?;
        Ok(false)
    }
}
