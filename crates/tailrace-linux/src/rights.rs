//! The rights of root: whether they are there, and giving them up.

use std::io;

use nix::sys::prctl::set_no_new_privs;
use nix::unistd::{Gid, Uid, User, setgroups, setresgid, setresuid};

use tailrace_core::LiveError;

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
    pub fn go_on_as(&self) -> Result<(), LiveError> {
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

/// From now on nothing that this thread starts, threads included, gets rights that it has not.
pub fn no_new_rights() -> Result<(), LiveError> {
    set_no_new_privs().map_err(LiveError::refused("giving up new rights"))
}

/// What network namespaces, their interfaces and raw sockets need, by the numbers of linux/capability.h.
const NEEDED: [(u32, &str); 3] = [(12, "CAP_NET_ADMIN"), (13, "CAP_NET_RAW"), (21, "CAP_SYS_ADMIN")];

/// Fails if this process may not make hosts or go into them, which is what `whoever` wants.
pub fn check_rights(whoever: &str) -> Result<(), LiveError> {
    // A machine that does not tell will refuse what it does not allow.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    check_capabilities(whoever, &status)
}

fn check_capabilities(whoever: &str, status: &str) -> Result<(), LiveError> {
    let Some(there) = field(status, "CapEff:") else { return Ok(()) };
    let missing = NEEDED.iter().filter(|(number, _)| there & 1 << number == 0);
    let missing: Vec<&str> = missing.map(|(_, name)| *name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{whoever} needs root, for hosts are network namespaces and frames go through raw sockets: run it with sudo \
         (this process lacks {})",
        missing.join(", ")
    );
    Err(LiveError::Rights(message))
}

/// The capabilities that a thread has or may take, of its status.
fn capabilities(status: &str) -> Option<u64> {
    Some(field(status, "CapPrm:")? | field(status, "CapEff:")? | field(status, "CapAmb:")?)
}

/// A set of capabilities in a status.
fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    u64::from_str_radix(line.trim(), 16).ok()
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
    fn what_is_missing_is_named() {
        let said = |effective: &str| {
            check_capabilities("tailrace x", &format!("CapPrm:\t0\nCapEff:\t{effective}\n"))
                .map_err(|error| error.to_string())
        };
        assert_eq!(said("000001ffffffffff"), Ok(()));
        assert_eq!(said("0000000000203000"), Ok(()));
        assert!(said("0000000000201000").unwrap_err().ends_with("(this process lacks CAP_NET_RAW)"));
        assert!(said("0").unwrap_err().starts_with("tailrace x needs root, "));
        assert!(check_capabilities("x", "").is_ok());
    }

    #[test]
    fn capabilities_are_found_in_a_status() {
        let status = "Name:\tx\nCapInh:\t0f\nCapPrm:\t01\nCapEff:\t02\nCapBnd:\tff\nCapAmb:\t10\n";
        assert_eq!((capabilities(status), capabilities("Name:\tx\n")), (Some(0x13), None));
    }
}
