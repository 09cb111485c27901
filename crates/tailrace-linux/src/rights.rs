//! Giving up the rights of root.

use std::io;

use nix::unistd::{Gid, Uid, User, setgroups, setresgid, setresuid};

use crate::error::LiveError;

/// A user without rights, as whom a process goes on that has what it needs.
#[derive(Clone, Debug)]
pub struct Account {
    name: String,
    user: Uid,
    group: Gid,
}

impl Account {
    /// The user of this name, unless that is root; or else what is wrong with the name.
    pub fn of(name: &str) -> Result<Self, String> {
        match User::from_name(name) {
            Err(error) => Err(format!("is \"{name}\", whom the machine does not tell of: {error}")),
            Ok(None) => Err(format!("is \"{name}\", but this machine has no such user")),
            Ok(Some(user)) if user.uid.is_root() => {
                Err(format!("is \"{name}\", but must be a user other than root, such as \"nobody\""))
            }
            Ok(Some(User { uid, gid, .. })) => Ok(Account { name: name.to_owned(), user: uid, group: gid }),
        }
    }

    /// The user's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// From now on all threads of this process are this user's and have no capability. Descriptors that are open stay so.
    pub(crate) fn go_on_as(&self) -> Result<(), LiveError> {
        let go = || {
            setgroups(&[self.group])?;
            setresgid(self.group, self.group, self.group)?;
            // The kernel takes the capabilities away with the last of root's identities, but for who forbids it.
            setresuid(self.user, self.user, self.user)?;
            let status = std::fs::read_to_string("/proc/thread-self/status")?;
            match capabilities(&status) {
                Some(0) => Ok(()),
                _ => Err(io::Error::other("the kernel leaves this process its capabilities")),
            }
        };
        go().map_err(LiveError::refused::<io::Error>(format!("going on as user {}", self.name)))
    }
}

/// The capabilities that a thread has or may take, of its status.
fn capabilities(status: &str) -> Option<u64> {
    let of = |field: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(field))?;
        u64::from_str_radix(line.trim(), 16).ok()
    };
    Some(of("CapPrm:")? | of("CapEff:")? | of("CapAmb:")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_known_and_root_is_none() {
        assert!(Account::of("root").unwrap_err().contains("other than root"));
        assert!(Account::of("no such user").unwrap_err().contains("no such user"));
        assert_eq!(Account::of("nobody").unwrap().name(), "nobody");
    }

    #[test]
    fn capabilities_are_found_in_a_status() {
        let status = "Name:\tx\nCapInh:\t0f\nCapPrm:\t01\nCapEff:\t02\nCapBnd:\tff\nCapAmb:\t10\n";
        assert_eq!((capabilities(status), capabilities("Name:\tx\n")), (Some(0x13), None));
    }
}
