//! Reaching an etcd, and why it cannot be reached.

use std::time::Duration;

use etcd_client::{Certificate, Client, ConnectOptions, Error, TlsOptions};
use tonic::transport::Endpoint;

/// Whoever takes longer to answer is not there.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// Where a fleet meets, with all secrets.
#[derive(Clone, Debug)]
pub struct Access {
    /// Members of the etcd.
    pub endpoints: Vec<String>,
    /// The certificates that theirs descend from, as PEM; without them there is no TLS.
    pub ca: Option<Vec<u8>>,
    /// The own certificate.
    pub identity: Option<Identity>,
    /// A user of the etcd.
    pub user: Option<User>,
    /// The fleet's name.
    pub fleet: String,
    /// How often something is said.
    pub slot: Duration,
    /// How long what is said holds, once nothing more is said.
    pub lease: Duration,
}

/// A certificate with its key, as PEM.
#[derive(Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: Vec<u8>,
    /// Its key.
    pub key: Vec<u8>,
}

/// A user with a password.
#[derive(Clone)]
pub struct User {
    /// The name.
    pub name: String,
    /// The password.
    pub password: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity")
    }
}

impl std::fmt::Debug for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "User({})", self.name)
    }
}

/// Why there is no etcd.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ControlError {
    /// Certificates do not fit: whose, and why not.
    #[error("{0}")]
    Certificate(String),
    /// User or password are wrong, or may not do this.
    #[error("{0}")]
    User(String),
    /// It does not answer, or not as it should.
    #[error("{0}")]
    Away(String),
}

/// What is said of a connection that the other end has closed.
const CLOSED: [&str; 5] = ["connection closed", "fatal alert", "reset by peer", "roken pipe", "close_notify"];

impl ControlError {
    pub(super) fn away(what: &str) -> impl Fn(Error) -> Self {
        move |error| Self::of(what, &error)
    }

    fn of(what: &str, error: &Error) -> Self {
        match error {
            Error::GRpcStatus(status) => {
                let (code, said) = (status.code(), status.message());
                let is_of_user = said.contains("etcdserver: auth")
                    || said.contains("etcdserver: user name is empty")
                    || said.contains("etcdserver: permission denied");
                if is_of_user {
                    let said = said.trim_start_matches("etcdserver: ");
                    return ControlError::User(format!("{what}: the etcd says: {said}"));
                }
                // What a connection was closed for is a cause of causes.
                let cause = std::error::Error::source(status)
                    .map_or(String::new(), |cause| format!(": {}", chain(cause)));
                Self::by_text(what, &format!("{said} ({code:?}){cause}"))
            }
            Error::TransportError(error) => Self::by_text(what, &chain(error)),
            other => Self::by_text(what, &other.to_string()),
        }
    }

    /// Of several endpoints: certificates that do not fit are the user's to mend, whatever else is wrong.
    fn all(why: &[Self]) -> Self {
        let text = why.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        match why.iter().any(|error| matches!(error, ControlError::Certificate(_))) {
            true => ControlError::Certificate(text),
            false => ControlError::Away(text),
        }
    }

    fn by_text(what: &str, text: &str) -> Self {
        let message = format!("{what}: {text}");
        if ["certificate", "CertificateRequired", "UnknownCA", "BadCertificate", "UnknownIssuer"]
            .iter()
            .any(|word| text.contains(word))
        {
            ControlError::Certificate(message)
        } else {
            ControlError::Away(message)
        }
    }
}

/// An error and its causes, which say more than it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let said = next.to_string();
        if !text.contains(&said) {
            text += &format!(": {said}");
        }
        cause = next.source();
    }
    text
}

impl Access {
    fn tls(&self) -> Option<TlsOptions> {
        let ca = self.ca.as_ref()?;
        let tls = TlsOptions::new().ca_certificate(Certificate::from_pem(ca));
        Some(match &self.identity {
            Some(Identity { certificate, key }) => {
                tls.identity(etcd_client::Identity::from_pem(certificate, key))
            }
            None => tls,
        })
    }

    /// The first of the endpoints that answers: requests to others would wait without saying for what.
    async fn reachable(&self) -> Result<&str, ControlError> {
        let mut why = Vec::new();
        for name in &self.endpoints {
            match self.try_endpoint(name).await {
                Ok(()) => return Ok(name),
                Err(error) => why.push(ControlError::by_text(&format!("reaching {name}"), &chain(&error))),
            }
        }
        Err(ControlError::all(&why))
    }

    async fn try_endpoint(&self, name: &str) -> Result<(), tonic::transport::Error> {
        let mut endpoint = Endpoint::from_shared(name.to_owned())?.connect_timeout(PATIENCE);
        if let Some(tls) = self.tls() {
            endpoint = endpoint.tls_config(tls)?;
        }
        endpoint.connect().await.map(|_| ())
    }

    /// A connection to the etcd, as the user.
    pub(super) async fn connect(&self) -> Result<Client, ControlError> {
        let name = self.reachable().await?;
        let mut options = ConnectOptions::new().with_connect_timeout(PATIENCE);
        if let Some(tls) = self.tls() {
            options = options.with_tls(tls);
        }
        if let Some(User { name, password }) = &self.user {
            options = options.with_user(name, password);
        }
        let what = format!("entering {name}");
        let connected = tokio::time::timeout(PATIENCE, Client::connect([name], Some(options))).await;
        let connected = connected.map_err(|_| silent(&what))?;
        connected.map_err(|error| self.at_first(ControlError::of(&what, &error)))
    }

    /// What comes of a first request. An etcd that asks for certificates takes a connection without one, and closes it then.
    pub(super) fn at_first(&self, error: ControlError) -> ControlError {
        match error {
            ControlError::Away(text) | ControlError::Certificate(text)
                if self.ca.is_some() && CLOSED.iter().any(|word| text.contains(word)) =>
            {
                let why = match self.identity {
                    None => "asks for a certificate: give certificate and key",
                    Some(_) => "does not take this certificate",
                };
                ControlError::Certificate(format!(
                    "the etcd closes the connection at once, as one does that {why} ({text})"
                ))
            }
            other => other,
        }
    }
}

/// Nothing came in time.
pub(super) fn silent(what: &str) -> ControlError {
    ControlError::Away(format!("{what}: no answer within {} s", PATIENCE.as_secs()))
}
