//! A connection to etcd that is made again when it is lost: the thread in which it lives, its lease, and how it stands.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use etcd_client::{Client, LeaseKeepAliveStream, LeaseKeeper, WatchResponse};

use tokio::runtime::Runtime;

use super::access::{Access, ControlError, PATIENCE, silent};
use super::keys::Keys;

/// Between two attempts: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Whoever leaves says so, if it does not take longer.
const FAREWELL: Duration = Duration::from_secs(1);

/// How a connection to etcd stands.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// Since when it is lost, and why, if it is.
    pub lost: Option<(Instant, String)>,
    /// How often it was lost.
    pub losses: u64,
    /// Messages that were sent, and those that could not be.
    pub sent: u64,
    /// See `sent`.
    pub unsent: u64,
    /// Messages that were received.
    pub received: u64,
    /// Messages that could not be read, and why the last one could not.
    pub refused: u64,
    /// See `refused`.
    pub refusal: String,
    /// Reports of other hosts under the own name.
    pub duplicates: u64,
}

/// What a thread of a connection and its owner share.
pub(super) type Shared<T> = Arc<Mutex<T>>;

pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection to etcd with a lease that is kept up.
pub(super) struct Connected {
    pub(super) client: Client,
    pub(super) lease: i64,
    keeper: LeaseKeeper,
    answers: LeaseKeepAliveStream,
    every: Duration,
}

impl Connected {
    pub(super) async fn open(access: &Access) -> Result<Self, ControlError> {
        let mut client = access.connect().await?;
        let seconds = access.lease.as_secs() as i64;
        let lease = within("taking a lease", client.lease_grant(seconds, None)).await;
        let lease = lease.map_err(|error| access.at_first(error))?.id();
        let (keeper, answers) = within("keeping a lease", client.lease_keep_alive(lease)).await?;
        Ok(Connected { client, lease, keeper, answers, every: access.lease / 3 })
    }

    /// The client, the lease, and what must be polled for it to be kept: it ends when it is lost.
    pub(super) fn split(self) -> (Client, i64, impl Future<Output = ControlError>) {
        let Connected { client, lease, keeper, answers, every } = self;
        (client, lease, keep(keeper, answers, every))
    }
}

async fn keep(mut keeper: LeaseKeeper, mut answers: LeaseKeepAliveStream, every: Duration) -> ControlError {
    loop {
        let round = async {
            keeper.keep_alive().await?;
            answers.message().await
        };
        match within("keeping a lease", round).await {
            Ok(Some(answer)) if answer.ttl() > 0 => tokio::time::sleep(every).await,
            Ok(_) => return ControlError::Away("the lease has ended".to_owned()),
            Err(error) => return error,
        }
    }
}

/// What etcd answers, if it does so in time.
pub(super) async fn within<T>(
    what: &str,
    asked: impl Future<Output = Result<T, etcd_client::Error>>,
) -> Result<T, ControlError> {
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(answered) => answered.map_err(ControlError::away(what)),
        Err(_) => Err(silent(what)),
    }
}

/// The response of a watch that has not been cancelled.
pub(super) fn going_on(
    response: Result<Option<WatchResponse>, etcd_client::Error>,
) -> Result<WatchResponse, ControlError> {
    let what = "watching etcd";
    let response = response.map_err(ControlError::away(what))?;
    let response = response.filter(|response| !response.canceled());
    response.ok_or_else(|| ControlError::Away(format!("{what}: it does not go on")))
}

/// An etcd that has been reached, and no thread yet: threads that are started have the rights that their process has then.
pub struct Reached {
    pub(super) access: Access,
    runtime: Runtime,
    connected: Connected,
}

impl Reached {
    /// Reaches the etcd of a fleet; fails where there is none now.
    pub fn new(access: Access) -> Result<Self, ControlError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            // Those that look for names keep rights for no longer than they need.
            .thread_keep_alive(Duration::from_millis(1))
            .build()
            .map_err(not_started)?;
        let open = async {
            let mut connected = Connected::open(&access).await?;
            // A lease is given to everyone; keys are not.
            within("asking etcd", connected.client.get(Keys::of(&access).policy(), None)).await?;
            Ok(connected)
        };
        let connected = runtime.block_on(open)?;
        Ok(Reached { access, runtime, connected })
    }

    /// Starts the thread of a connection. `go_on` is called each time there is one, and returns when it is lost. The
    /// thread ends when `go_on` returns nothing: its owner has gone.
    pub(super) fn start<T, F>(
        self,
        shared: Shared<T>,
        standing: fn(&mut T) -> &mut Standing,
        mut go_on: impl FnMut(Connected) -> F + Send + 'static,
    ) -> Result<thread::JoinHandle<()>, ControlError>
    where
        T: Send + 'static,
        F: Future<Output = Option<ControlError>> + Send,
    {
        let Reached { access, runtime, connected } = self;
        let mut connected = Some(connected);
        let live = async move {
            let mut pause = FIRST_PAUSE;
            loop {
                let opened = match connected.take() {
                    Some(first) => Ok(first),
                    None => Connected::open(&access).await,
                };
                let lost = match opened {
                    Err(error) => error,
                    Ok(connected) => {
                        standing(&mut lock(&shared)).lost = None;
                        pause = FIRST_PAUSE;
                        let Some(lost) = go_on(connected).await else { return };
                        standing(&mut lock(&shared)).losses += 1;
                        lost
                    }
                };
                note_loss(standing(&mut lock(&shared)), &lost);
                tokio::time::sleep(pause + jitter(pause)).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        };
        let spawned = thread::Builder::new().name("etcd".to_owned()).spawn(move || runtime.block_on(live));
        spawned.map_err(not_started)
    }
}

fn not_started(error: std::io::Error) -> ControlError {
    ControlError::Away(format!("starting what asks etcd: {error}"))
}

/// For how long is told from the first failure on.
fn note_loss(standing: &mut Standing, lost: &ControlError) {
    let since = standing.lost.take().map_or_else(Instant::now, |(since, _)| since);
    standing.lost = Some((since, lost.to_string()));
}

/// Waits until the thread of a connection has said farewell, for as long as that may take.
pub(super) fn farewell(thread: &thread::JoinHandle<()>, is_lost: impl Fn() -> bool) {
    let until = Instant::now() + FAREWELL;
    while !is_lost() && !thread.is_finished() && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
}

/// Up to half a pause, so that those of a fleet do not come back all at once.
fn jitter(pause: Duration) -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    pause * (now.subsec_nanos() / 64 % 512) / 1_024
}
