//! Under which keys things are in etcd.

use super::access::Access;

/// The keys of a fleet.
#[derive(Clone)]
pub(super) struct Keys(String);

impl Keys {
    pub(super) fn of(access: &Access) -> Self {
        Keys(format!("/tailrace/{}/", access.fleet))
    }

    /// What hosts say: all of them.
    pub(super) fn hosts(&self) -> String {
        format!("{}hosts/", self.0)
    }

    pub(super) fn host(&self, name: &str) -> String {
        self.hosts() + name
    }

    /// The host that says what is there, if it is one.
    pub(super) fn host_of<'a>(&self, key: &'a str) -> Option<&'a str> {
        key.strip_prefix(&self.hosts())
    }

    pub(super) fn weights(&self, host: &str) -> String {
        format!("{}weights/{host}", self.0)
    }

    pub(super) fn policy(&self) -> String {
        format!("{}policy", self.0)
    }

    pub(super) fn leader(&self) -> String {
        format!("{}leader", self.0)
    }
}
