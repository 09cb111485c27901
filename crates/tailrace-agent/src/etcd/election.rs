//! A controller's seat at a fleet's etcd: it hears all hosts, and one of all controllers leads.
//!
//! Who leads holds one key with its lease, and writes it anew in every slot. All that it says is said under the condition that it
//! still holds the key, so of two that believe to lead one is heard. Whoever has not seen the key change for a slot and a half
//! takes it, if nobody was faster; and at once where the lease has ended.

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

/// What a controller hears.
#[derive(Debug)]
pub enum Heard {
    /// A host reports; what it says is bound to this lease.
    Report(String, i64, Report),
    /// A host has gone: its lease has ended.
    Gone(String),
    /// These are all hosts that there are: others have gone while nothing was heard.
    All(Vec<String>),
}

/// What a controller says.
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
    heard: Vec<Heard>,
    leads: bool,
    /// How often it has begun to.
    reigns: u64,
}

/// A controller at a fleet's etcd.
pub struct Seat {
    shared: Shared<State>,
    decisions: Option<watch::Sender<Option<Decision>>>,
    thread: JoinHandle<()>,
}

impl Seat {
    /// Takes a seat as `instance`.
    pub fn take(fleet: Reached, instance: &str) -> Result<Self, ControlError> {
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
                let ended = Talk::begin(connected, keys, instance, slot, &shared, &mut kept).await;
                lock(&shared).leads = false;
                ended.err()
            }
        };
        let thread = fleet.start(shared.clone(), |state| &mut state.standing, go_on)?;
        Ok(Seat { shared, decisions: Some(decisions), thread })
    }

    /// What has been heard since the last time.
    pub fn hear(&self) -> Vec<Heard> {
        std::mem::take(&mut lock(&self.shared).heard)
    }

    /// Says something, if this controller leads; if not, it is said when it begins to.
    pub fn say(&self, decision: Decision) {
        self.decisions.as_ref().map(|decisions| decisions.send_replace(Some(decision)));
    }

    /// Whether it leads, and how often it has begun to.
    pub fn leads(&self) -> (bool, u64) {
        let state = lock(&self.shared);
        (state.leads, state.reigns)
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
    /// At which revision each host was heard last.
    seen: BTreeMap<String, i64>,
}

/// Who holds the leader's key.
#[derive(Clone, Copy)]
struct Holder {
    lease: i64,
    revision: i64,
    seen: Instant,
}

/// One connection.
struct Talk<'a> {
    client: Client,
    lease: i64,
    keys: Keys,
    instance: String,
    slot: Duration,
    shared: &'a Shared<State>,
    kept: &'a mut Kept,
    holder: Option<Holder>,
    /// What was said since it began to lead.
    said: Option<Policy>,
    told: BTreeMap<String, (i64, Weights)>,
}

impl<'a> Talk<'a> {
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
        let (said, told) = (None, BTreeMap::new());
        let mut talk = Talk { client, lease, keys, instance, slot, shared, kept, holder: None, said, told };
        let mut hosts = talk.look_at_hosts().await?;
        let mut leader = talk.look_at_leader().await?;
        loop {
            let wait = tokio::time::sleep(talk.patience());
            tokio::select! {
                lost = &mut keeping => return Err(lost),
                news = hosts.message() => {
                    let news = going_on(news)?;
                    news.events().iter().for_each(|event| if let Some(kv) = event.kv() {
                        talk.take_in(kv, event.event_type() == EventType::Put);
                    });
                }
                news = leader.message() => {
                    let news = going_on(news)?;
                    for event in news.events() {
                        talk.note_leader(event.kv().filter(|_| event.event_type() == EventType::Put));
                    }
                }
                changed = talk.kept.latest.changed() => {
                    if changed.is_err() {
                        let _ = within("leaving", talk.client.lease_revoke(talk.lease)).await;
                        return Ok(());
                    }
                    talk.say().await?;
                }
                () = wait => talk.try_to_lead().await?,
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

    async fn look_at_hosts(&mut self) -> Result<WatchStream, ControlError> {
        let all = self.keys.hosts();
        let prefix = GetOptions::new().with_prefix();
        let found = within("asking etcd", self.client.get(all.clone(), Some(prefix))).await?;
        let name = |kv: &KeyValue| Some(self.keys.host_of(kv.key_str().ok()?)?.to_owned());
        let names: Vec<String> = found.kvs().iter().filter_map(name).collect();
        self.kept.seen.retain(|host, _| names.contains(host));
        lock(self.shared).heard.push(Heard::All(names));
        found.kvs().iter().for_each(|kv| self.take_in(kv, true));
        let next = found.header().map_or(0, |header| header.revision()) + 1;
        let from = WatchOptions::new().with_prefix().with_start_revision(next);
        within("watching etcd", self.client.watch(all, Some(from))).await
    }

    async fn look_at_leader(&mut self) -> Result<WatchStream, ControlError> {
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
            state.heard.push(Heard::Gone(host));
        } else if self.kept.seen.insert(host.clone(), kv.mod_revision()) != Some(kv.mod_revision())
            && let Some(report) = read(kv, &mut state.standing)
        {
            state.heard.push(Heard::Report(host, kv.lease(), report));
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

    /// Nobody leads, or whoever does has fallen silent.
    async fn try_to_lead(&mut self) -> Result<(), ControlError> {
        let (key, revision) = (self.keys.leader(), self.holder.map_or(0, |holder| holder.revision));
        let unchanged = Compare::mod_revision(key.clone(), CompareOp::Equal, revision);
        let take = TxnOp::put(key, self.instance.clone(), Some(PutOptions::new().with_lease(self.lease)));
        let taken =
            within("taking the lead", self.client.txn(Txn::new().when([unchanged]).and_then([take]))).await?;
        let seen = Instant::now();
        let revision = taken.header().map_or(0, |header| header.revision());
        if !taken.succeeded() {
            // The news of who was faster is under way.
            self.holder = Some(Holder { lease: 0, revision, seen });
            return Ok(());
        }
        self.holder = Some(Holder { lease: self.lease, revision, seen });
        (self.said, self.told) = (None, BTreeMap::new());
        self.note_reign();
        self.say().await
    }

    fn note_reign(&self) {
        let mut state = lock(self.shared);
        state.leads = true;
        state.reigns += 1;
    }

    /// Says what was decided last, if this one leads: what of it is new, and that it is still there.
    async fn say(&mut self) -> Result<(), ControlError> {
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
        self.said = Some(decision.policy);
        self.told = decision.weights;
        Ok(())
    }

    fn changes(&self, decision: &Decision) -> Vec<TxnOp> {
        let mut changes = Vec::new();
        if self.said.as_ref() != Some(&decision.policy) {
            let text = serde_json::to_vec(&decision.policy).unwrap_or_default();
            changes.push(TxnOp::put(self.keys.policy(), text, None));
        }
        for (host, weights) in decision.weights.iter().filter(|(host, of)| self.told.get(*host) != Some(of)) {
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
                lock(self.shared).standing.said += count;
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
        lock(self.shared).standing.unsaid += 1;
        let key = self.keys.leader();
        let still = Compare::lease(key.clone(), CompareOp::Equal, self.lease);
        let beat = TxnOp::put(key, self.instance.clone(), Some(PutOptions::new().with_lease(self.lease)));
        within("telling etcd", self.client.txn(Txn::new().when([still]).and_then([beat]))).await?;
        Ok(false)
    }
}
