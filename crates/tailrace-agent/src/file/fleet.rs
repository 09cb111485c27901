//! The section `[control]`: where the agents and the controllers of a fleet meet, an etcd.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tailrace_config::{ScenarioError, table};
use tailrace_core::Time;
use toml::Table;

/// Where a fleet meets, who one is there, and in which steps it goes on.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fleet {
    /// Members of the etcd: `https://10.0.0.1:2379`.
    pub endpoints: Vec<String>,
    /// The certificates that theirs must descend from, as PEM.
    pub ca: Option<PathBuf>,
    /// The own certificate, if they ask for one, and its key.
    pub certificate: Option<PathBuf>,
    /// See `certificate`.
    pub key: Option<PathBuf>,
    /// A user of the etcd.
    pub user: Option<String>,
    /// A file with that user's password, which nobody else may read.
    pub password_file: Option<PathBuf>,
    /// The fleet's name: several may share an etcd.
    #[serde(default = "usual_name")]
    pub fleet: String,
    /// The own name in the fleet; that of the machine if it is not given.
    pub host: Option<String>,
    /// How often agents tell what they have measured, and controllers decide.
    #[serde(default = "usual_slot")]
    pub slot: Time,
    /// What is said here holds for so long after a host has fallen silent.
    #[serde(default = "usual_lease")]
    pub lease: Time,
}

fn usual_name() -> String {
    "default".to_owned()
}

fn usual_slot() -> Time {
    Time::from_ms(1_000)
}

fn usual_lease() -> Time {
    Time::from_ms(5_000)
}

const SECOND: Time = Time::from_ms(1_000);
/// An etcd writes to its disk for every report.
const SHORTEST_SLOT: Time = Time::from_ms(100);
const LONGEST_SLOT: Time = Time::from_ms(60_000);
/// An etcd gives no shorter ones.
const SHORTEST_LEASE: Time = Time::from_ms(2_000);
const LONGEST_LEASE: Time = Time::from_ms(3_600_000);
const LONGEST_NAME: usize = 64;

impl Fleet {
    /// Takes the section out of a file, if it is there.
    pub(crate) fn take(given: &mut Table) -> Result<Option<Self>, ScenarioError> {
        if !given.contains_key("control") {
            return Ok(None);
        }
        let section = table::take(given, "control")?;
        let fleet = table::read(section).and_then(|fleet: Fleet| fleet.check().map(|()| fleet));
        fleet.map(Some).map_err(|error| error.within("control"))
    }

    /// Files that it names are in `folder`, if they do not say otherwise.
    pub(crate) fn resolve(&mut self, folder: &Path) {
        let files = [&mut self.ca, &mut self.certificate, &mut self.key, &mut self.password_file];
        files.into_iter().flatten().for_each(|file| *file = folder.join(&*file));
    }

    fn check(&self) -> Result<(), ScenarioError> {
        self.check_endpoints()?;
        let pairs = [
            ("certificate", self.certificate.is_some(), "key", self.key.is_some()),
            ("user", self.user.is_some(), "password_file", self.password_file.is_some()),
        ];
        for (one, has_one, other, has_other) in pairs {
            if has_one != has_other {
                let (there, missing) = if has_one { (one, other) } else { (other, one) };
                return Err(ScenarioError::new(there, format!("needs {missing} beside it")));
            }
        }
        for (field, name) in [("fleet", Some(&self.fleet)), ("host", self.host.as_ref())] {
            let Some(name) = name else { continue };
            check_name(name).map_err(|why| ScenarioError::new(field, why))?;
        }
        between("slot", self.slot, SHORTEST_SLOT, LONGEST_SLOT)?;
        between("lease", self.lease, SHORTEST_LEASE, LONGEST_LEASE)?;
        if !self.lease.as_ps().is_multiple_of(SECOND.as_ps()) {
            let message = format!("is {}, but an etcd counts in whole seconds", self.lease);
            return Err(ScenarioError::new("lease", message));
        }
        Ok(())
    }

    fn check_endpoints(&self) -> Result<(), ScenarioError> {
        if self.endpoints.is_empty() {
            let message = "is empty, but must name members of an etcd, such as [\"https://10.0.0.1:2379\"]";
            return Err(ScenarioError::new("endpoints", message));
        }
        for endpoint in &self.endpoints {
            let wrong = |message: String| Err(ScenarioError::new("endpoints", message));
            let (secret, place) = match endpoint.split_once("://") {
                Some(("https", place)) => (true, place),
                Some(("http", place)) => (false, place),
                _ => return wrong(format!("has \"{endpoint}\", but must be like \"https://10.0.0.1:2379\"")),
            };
            let Some((host, port)) = place.rsplit_once(':').filter(|(host, _)| !host.is_empty()) else {
                return wrong(format!("has \"{endpoint}\" without a port, such as 2379"));
            };
            if port.parse::<u16>().is_err() {
                return wrong(format!("has \"{endpoint}\", whose port is no number from 1 to 65535"));
            }
            if secret && self.ca.is_none() {
                let message = "is missing: a file with the certificates (PEM) that those of https endpoints descend from";
                return Err(ScenarioError::new("ca", message));
            }
            if !secret && self.password_file.is_some() && !is_loopback(host) {
                return wrong(format!(
                    "has \"{endpoint}\", where everyone could read the password: use https"
                ));
            }
        }
        Ok(())
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Whether this can be the name of a fleet or a host in it.
pub fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(plain) {
        return Ok(());
    }
    Err(format!("is \"{name}\", but must be 1 to {LONGEST_NAME} letters, digits, dots, \"-\" and \"_\""))
}

fn between(field: &str, time: Time, least: Time, most: Time) -> Result<(), ScenarioError> {
    if (least..=most).contains(&time) {
        return Ok(());
    }
    Err(ScenarioError::new(field, format!("is {time}, but must be from {least} to {most}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTION: &str = "[control]\nendpoints = [\"https://10.0.0.1:2379\"]\nca = \"ca.pem\"\n";

    fn take(text: &str) -> Result<Option<Fleet>, String> {
        Fleet::take(&mut text.parse().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_fleet_has_endpoints_and_the_rest_is_usual() {
        let mut fleet = take(SECTION).unwrap().unwrap();
        assert_eq!((fleet.fleet.as_str(), fleet.slot), ("default", Time::from_ms(1_000)));
        fleet.resolve(Path::new("/etc/tailrace"));
        assert_eq!(fleet.ca.as_deref(), Some(Path::new("/etc/tailrace/ca.pem")));
        assert_eq!(take("[agent]"), Ok(None));
    }

    #[test]
    fn mistakes_name_the_field_and_what_would_be_right() {
        let with = |line: &str| take(&format!("{SECTION}{line}")).map(|_| ()).unwrap_err();
        for (line, said) in [
            ("user = \"fleet\"", "control.user: needs password_file beside it"),
            ("key = \"k\"", "control.key: needs certificate beside it"),
            ("slot = \"1ms\"", "control.slot: is 1ms, but must be from 100ms to 60s"),
            ("lease = \"2500ms\"", "whole seconds"),
            ("lease = \"1s\"", "control.lease: is"),
            ("fleet = \"a/b\"", "control.fleet: is \"a/b\", but must be 1 to 64 letters"),
            ("hots = \"a\"", "control.hots: unknown field \"hots\"; did you mean \"host\"?"),
        ] {
            let message = with(line);
            assert!(message.contains(said), "{said}: {message}");
        }
        for (endpoints, more, said) in [
            ("[]", "", "control.endpoints: is empty"),
            ("[\"10.0.0.1:2379\"]", "", "must be like \"https://10.0.0.1:2379\""),
            ("[\"https://10.0.0.1\"]", "", "without a port, such as 2379"),
            ("[\"https://a:0x\"]", "", "whose port is no number"),
            ("[\"https://a:1\"]", "", "control.ca: is missing"),
            ("[\"http://a:1\"]", "user = \"u\"\npassword_file = \"p\"", "could read the password"),
        ] {
            let message = take(&format!("[control]\nendpoints = {endpoints}\n{more}")).unwrap_err();
            assert!(message.contains(said), "{said}: {message}");
        }
        let local = "[control]\nendpoints = [\"http://127.0.0.1:1\", \"http://[::1]:2\"]\nuser = \"u\"\npassword_file = \"p\"";
        assert!(take(local).is_ok());
    }
}
