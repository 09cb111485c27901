//! Named hosts of any process of this machine, and how a program gets onto one.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::sethostname;
use tailrace_core::LiveError;

use super::site::{ETC, MADE, NAMES, SITES, lock, names, turn};

/// The hosts of a running process, by their name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    name: String,
    hosts: Vec<String>,
}

impl Standing {
    /// All that there are now, in order of name.
    pub fn all() -> Result<Vec<Standing>, LiveError> {
        let all = || {
            let _turn = turn()?;
            let running = |name: &String| lock(&Path::new(SITES).join(name)).is_ok_and(|lock| lock.is_none());
            Ok::<_, io::Error>(names()?.into_iter().filter(running).map(Self::read).collect())
        };
        all().map_err(LiveError::refused(format!("looking for emulations in {SITES}")))
    }

    fn read(name: String) -> Self {
        let list = std::fs::read_to_string(Path::new(SITES).join(&name).join(MADE)).unwrap_or_default();
        let prefix = format!("{NAMES}/{name}-");
        let hosts = list.lines().filter_map(|path| path.strip_prefix(&prefix)).map(str::to_owned).collect();
        Standing { name, hosts }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names of the hosts: h0, h1, …
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Makes this process a program on `host`: in its network namespace, with its names of hosts and its own name. Does
    /// not return, unless that fails.
    pub fn enter(&self, host: &str, program: &OsString, arguments: &[OsString]) -> LiveError {
        let namespace = Path::new(NAMES).join(format!("{}-{host}", self.name));
        let names = Path::new(SITES).join(&self.name).join(ETC).join("hosts");
        if let Err(error) = go(&namespace, host, &names) {
            return LiveError::refused(format!("entering {}", namespace.display()))(error);
        }
        let error = Command::new(program).args(arguments).exec();
        LiveError::refused(format!("starting {}", program.display()))(error)
    }
}

/// Puts this thread onto a host, as `ip netns exec` does.
fn go(namespace: &PathBuf, host: &str, names: &PathBuf) -> io::Result<()> {
    setns(File::open(namespace)?, CloneFlags::CLONE_NEWNET)?;
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWUTS)?;
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_SLAVE | MsFlags::MS_REC, none)?;
    mount(Some(names), "/etc/hosts", none, MsFlags::MS_BIND, none)?;
    // The interfaces that /sys shows are those of whoever mounts it; programs can do without.
    let _ = mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), none);
    Ok(sethostname(host)?)
}
