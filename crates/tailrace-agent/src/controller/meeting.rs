//! Where a fleet meets, as its file says, with the secrets that it names; and what is said where that cannot be.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use tailrace_config::{ScenarioError, read_text, table};
use tailrace_core::{LiveError, Time};
use tailrace_scenario::Scenario;

use crate::Error;
use crate::etcd::{Access, ControlError, Identity, Reached, User};
use crate::{Fleet, check_name};

/// Reaches the etcd of a fleet.
pub fn reach(fleet: &Fleet) -> Result<Reached, Error> {
    Reached::new(access(fleet)?).map_err(failed)
}

/// What etcd did not do.
pub fn failed(error: ControlError) -> Error {
    match error {
        // Not etcd's, but the own one.
        ControlError::Certificate(why) if why.contains("closes the connection") => {
            ScenarioError::new("control.certificate", why).into()
        }
        ControlError::Certificate(why) => ScenarioError::new("control.ca", why).into(),
        ControlError::User(why) => ScenarioError::new("control.user", why).into(),
        ControlError::Away(why) => Error::Live(LiveError::SetUp(format!("control.endpoints: {why}"))),
    }
}

/// The own name in a fleet: that of the file, or the machine's, and for an agent its interface's, for a machine may have several.
pub fn name(fleet: &Fleet, interface: Option<&str>) -> Result<String, ScenarioError> {
    if let Some(host) = &fleet.host {
        return Ok(host.clone());
    }
    let machine = nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned();
    let own = match interface {
        Some(interface) => format!("{machine}-{interface}"),
        None => machine,
    };
    check_name(&own).map_err(|why| {
        ScenarioError::new("control.host", format!("is needed: the name of this machine {why}"))
    })?;
    Ok(own)
}

/// A scheme with all that its decisions depend on, as one text: those of a fleet must have the same.
pub fn scheme(scenario: &Scenario) -> String {
    let choice = &scenario.scheme;
    let slice = |of: &tailrace_core::Slice| format!(" slice of {} for {:?}", of.weight, of.objective);
    let slices: String = scenario.slices.iter().map(slice).collect();
    let params = toml::Value::Table(table::sorted(choice.params.clone()));
    format!("{} {params}{slices}", choice.name)
}

pub fn duration(time: Time) -> Duration {
    Duration::from_nanos(time.as_ps() / 1_000)
}

fn access(fleet: &Fleet) -> Result<Access, ScenarioError> {
    let pair = |certificate: &Path, key: &Path| {
        Ok::<_, ScenarioError>(Identity {
            certificate: pem("certificate", certificate)?,
            key: secret("key", key)?.into_bytes(),
        })
    };
    let identity = fleet.certificate.as_ref().zip(fleet.key.as_ref());
    let user = fleet.user.as_ref().zip(fleet.password_file.as_ref());
    let user = user.map(|(name, file)| {
        let password = secret("password_file", file)?.trim_end_matches(['\r', '\n']).to_owned();
        Ok::<_, ScenarioError>(User { name: name.clone(), password })
    });
    Ok(Access {
        endpoints: fleet.endpoints.clone(),
        ca: fleet.ca.as_deref().map(|file| pem("ca", file)).transpose()?,
        identity: identity.map(|(certificate, key)| pair(certificate, key)).transpose()?,
        user: user.transpose()?,
        fleet: fleet.fleet.clone(),
        slot: duration(fleet.slot),
        lease: duration(fleet.lease),
    })
}

fn wrong(field: &str, message: String) -> ScenarioError {
    ScenarioError::new(format!("control.{field}"), message)
}

fn unreadable<'a>(field: &'a str, file: &'a Path) -> impl Fn(io::Error) -> ScenarioError + 'a {
    move |error| wrong(field, format!("{} cannot be read: {error}", file.display()))
}

/// A file with certificates.
fn pem(field: &str, file: &Path) -> Result<Vec<u8>, ScenarioError> {
    let text = read_text(file).map_err(unreadable(field, file))?;
    if text.contains("-----BEGIN CERTIFICATE-----") {
        return Ok(text.into_bytes());
    }
    Err(wrong(field, format!("{} has no certificate (PEM)", file.display())))
}

/// A file that only its owner may read.
fn secret(field: &str, file: &Path) -> Result<String, ScenarioError> {
    let mode = std::fs::metadata(file).map_err(unreadable(field, file))?.permissions().mode();
    if mode & 0o077 != 0 {
        let message =
            format!("{} may be read by others (mode {:o}): chmod 600", file.display(), mode & 0o777);
        return Err(wrong(field, message));
    }
    read_text(file).map_err(unreadable(field, file))
}
