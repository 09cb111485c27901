//! A host of a fleet: it sends reports of its flows, and receives instructions.

use std::sync::Arc;
use std::thread::JoinHandle;

use etcd_client::{
    Client, Compare, CompareOp, EventType, GetOptions, KeyValue, PutOptions, Txn, TxnOp, TxnOpResponse,
    WatchOptions, WatchResponse, WatchStream,
};
use serde::de::DeserializeOwned;
use tokio::sync::{Mutex, mpsc};

use super::access::ControlError;
use super::keys::Keys;
use super::link::{Connected, Reached, Shared, Standing, farewell, going_on, lock, within};
use super::message::{Policy, Report, Weights};

/// Reports that may wait; each is sent at once, or not at all.
const WAITING: usize = 2;

/// Instructions that a host has received and not taken yet.
#[derive(Default)]
pub struct Instructions {
    /// What is to be done with its flows.
    pub policy: Option<Policy>,
    /// Their weights.
    pub weights: Option<Weights>,
}

#[derive(Default)]
struct State {
    standing: Standing,
    instructions: Instructions,
}

/// A host in a fleet. Its thread goes on when etcd is lost, and comes back by itself.
pub struct Member {
    shared: Shared<State>,
    reports: Option<mpsc::Sender<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Member {
    /// Joins the fleet as this host.
    pub fn join(fleet: Reached, host: &str) -> Result<Self, ControlError> {
        let keys = Keys::of(&fleet.access);
        let (reports, queue) = mpsc::channel(WAITING);
        let (shared, queue) = (Shared::<State>::default(), Arc::new(Mutex::new(queue)));
        let (state, host) = (shared.clone(), host.to_owned());
        let go_on = move |connected: Connected| {
            let session = Session {
                keys: keys.clone(),
                host: host.clone(),
                queue: queue.clone(),
                shared: state.clone(),
            };
            async move { session.go_on(connected).await.err() }
        };
        let thread = fleet.start(shared.clone(), |state| &mut state.standing, go_on)?;
        Ok(Member { shared, reports: Some(reports), thread })
    }

    /// Sends a report, if there is a connection.
    pub fn report(&self, report: &Report) {
        let text = serde_json::to_vec(report).unwrap_or_default();
        let sent = self.reports.as_ref().is_some_and(|reports| reports.try_send(text).is_ok());
        if !sent {
            lock(&self.shared).standing.unsent += 1;
        }
    }

    /// What is new since the last time.
    pub fn take(&self) -> Instructions {
        std::mem::take(&mut lock(&self.shared).instructions)
    }

    /// How its connection stands.
    pub fn standing(&self) -> Standing {
        lock(&self.shared).standing.clone()
    }

    /// Leaves: what it has said ends at once, if etcd can be told.
    pub fn leave(mut self) {
        self.reports = None;
        farewell(&self.thread, || lock(&self.shared).standing.lost.is_some());
    }
}

/// One connection.
struct Session {
    keys: Keys,
    host: String,
    queue: Arc<Mutex<mpsc::Receiver<Vec<u8>>>>,
    shared: Shared<State>,
}

impl Session {
    /// Until the connection is lost, or there is nothing more to say.
    async fn go_on(&self, connected: Connected) -> Result<(), ControlError> {
        let mut queue = self.queue.lock().await;
        // What waited while nobody could be told is of another time.
        while queue.try_recv().is_ok() {
            lock(&self.shared).standing.unsent += 1;
        }
        let (mut client, lease, kept) = connected.split();
        tokio::pin!(kept);
        let (policy, weights) = (self.keys.policy(), self.keys.weights(&self.host));
        let mut policies = self.look(&mut client, &policy).await?;
        let mut shares = self.look(&mut client, &weights).await?;
        let mut is_first = true;
        loop {
            tokio::select! {
                lost = &mut kept => return Err(lost),
                report = queue.recv() => match report {
                    Some(report) => {
                        self.put(&mut client, report, lease, std::mem::take(&mut is_first)).await?;
                    }
                    None => {
                        let _ = within("leaving", client.lease_revoke(lease)).await;
                        return Ok(());
                    }
                },
                response = policies.message() => self.take_response(response)?,
                response = shares.message() => self.take_response(response)?,
            }
        }
    }

    /// What another host has said under this name is noticed from the second report on.
    async fn put(
        &self,
        client: &mut Client,
        report: Vec<u8>,
        lease: i64,
        is_first: bool,
    ) -> Result<(), ControlError> {
        let key = self.keys.host(&self.host);
        let is_own = (!is_first).then(|| Compare::lease(key.clone(), CompareOp::Equal, lease));
        let bound = || Some(PutOptions::new().with_lease(lease));
        let ours = TxnOp::put(key.clone(), report.clone(), bound());
        let others = TxnOp::get(key.clone(), Some(GetOptions::new().with_keys_only()));
        let put = Txn::new().when(Vec::from_iter(is_own)).and_then([ours]).or_else([others]);
        let mut put = within("telling etcd", client.txn(put)).await;
        let mut duplicate = false;
        if let Ok(answer) = &put
            && !answer.succeeded()
        {
            // There may be nothing, if what etcd held is gone.
            duplicate = answer
                .op_responses()
                .iter()
                .any(|of| matches!(of, TxnOpResponse::Get(found) if found.count() > 0));
            let again = Txn::new().and_then([TxnOp::put(key, report, bound())]);
            put = within("telling etcd", client.txn(again)).await;
        }
        let standing = &mut lock(&self.shared).standing;
        standing.duplicates += u64::from(duplicate);
        *if put.is_ok() { &mut standing.sent } else { &mut standing.unsent } += 1;
        put.map(|_| ())
    }

    /// Takes in what a key has, and watches it from there.
    async fn look(&self, client: &mut Client, key: &str) -> Result<WatchStream, ControlError> {
        let found = within("asking etcd", client.get(key, None)).await?;
        found.kvs().iter().for_each(|kv| self.take_in(kv));
        let next = found.header().map_or(0, |header| header.revision()) + 1;
        let from = WatchOptions::new().with_start_revision(next);
        within("watching etcd", client.watch(key, Some(from))).await
    }

    fn take_response(
        &self,
        response: Result<Option<WatchResponse>, etcd_client::Error>,
    ) -> Result<(), ControlError> {
        let response = going_on(response)?;
        // What is taken away changes nothing: the last values stay.
        let put = response.events().iter().filter(|event| event.event_type() == EventType::Put);
        put.filter_map(|event| event.kv()).for_each(|kv| self.take_in(kv));
        Ok(())
    }

    fn take_in(&self, kv: &KeyValue) {
        let mut state = lock(&self.shared);
        let State { standing, instructions } = &mut *state;
        if kv.key() == self.keys.policy().as_bytes() {
            instructions.policy = read(kv, standing).or(instructions.policy.take());
        } else {
            instructions.weights = read(kv, standing).or(instructions.weights.take());
        }
    }
}

/// What a key has, if it is what it should be.
pub(super) fn read<T: DeserializeOwned>(kv: &KeyValue, standing: &mut Standing) -> Option<T> {
    match serde_json::from_slice(kv.value()) {
        Ok(value) => {
            standing.received += 1;
            Some(value)
        }
        Err(error) => {
            standing.refused += 1;
            standing.refusal = format!("{}: {error}", String::from_utf8_lossy(kv.key()));
            None
        }
    }
}
