//! What named hosts leave on the machine: names of namespaces and files, listed before they are made, so that whoever
//! comes next can take them away if the process that made them could not.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tailrace_core::{HostId, LiveError};

use super::programs;
use crate::frame::{ipv4_of, ipv6_of};
use crate::namespace::Namespace;

/// A folder for each name.
pub(super) const SITES: &str = "/run/tailrace";
/// Where `ip netns` keeps the names of network namespaces.
pub(super) const NAMES: &str = "/run/netns";
/// Where `ip netns exec` looks for files that a namespace has in place of those in /etc.
const FILES: &str = "/etc/netns";
/// In a name's folder: what was made, a path a line.
pub(super) const MADE: &str = "made";
/// In a name's folder: the process that has it.
const OWNER: &str = "owner";
/// The kernel's PF_EXITING.
const EXITING: u64 = 4;
/// SIGKILL among a process' signals.
const KILLED: u64 = 1 << 8;
/// Hundredths of a second: what takes longer is no death.
const LONGEST_DEATH: u32 = 500;
/// In a name's folder: what hosts have in place of the machine's /etc.
pub(super) const ETC: &str = "etc";
/// The longest name: prompts and listings show it before that of a host.
pub const LONGEST_NAME: usize = 32;

/// A name, while this process has it.
#[derive(Debug)]
pub(super) struct Site {
    folder: PathBuf,
    /// Names of the namespaces: the fabric's, then the hosts'.
    names: Vec<PathBuf>,
    /// Locked as long as this process lives.
    _lock: File,
}

impl Site {
    /// Takes a name for a fabric with so many hosts, and writes what they know of one another, with or without IPv6. What a process that is
    /// gone has left under this name is taken away.
    pub(super) fn claim(name: &str, hosts: usize, with_ipv6: bool) -> Result<Self, LiveError> {
        check_name(name)?;
        let failed = || LiveError::refused(format!("taking the name {name}"));
        let turn = turn().map_err(failed())?;
        let folder = Path::new(SITES).join(name);
        if folder.exists() {
            let Some(_lock) = lock(&folder).map_err(failed())? else { return Err(is_running(name)) };
            remove(&folder).map_err(failed())?;
        }
        let hosts_names = (0..hosts).map(|host| format!("{name}-h{host}"));
        let links: Vec<PathBuf> = hosts_names.clone().map(|host| Path::new(FILES).join(host)).collect();
        let names = std::iter::once(name.to_owned()).chain(hosts_names);
        let names: Vec<PathBuf> = names.map(|name| Path::new(NAMES).join(name)).collect();
        // A machine that was switched off has lost the list, but not these.
        links.iter().filter(|link| leads_to(link, &folder)).for_each(|link| drop(fs::remove_file(link)));
        if let Some(path) = names.iter().chain(&links).find(|path| path.symlink_metadata().is_ok()) {
            return Err(is_not_ours(name, path));
        }
        let begin = || {
            fs::create_dir(&folder)?;
            let lock = lock(&folder)?.ok_or_else(|| io::Error::other("somebody else was faster"))?;
            fs::write(folder.join(OWNER), std::process::id().to_string())?;
            Ok(lock)
        };
        let _lock = begin().map_err(failed())?;
        let site = Site { folder, names, _lock };
        // The name is ours, and if the rest fails, it goes with `site`, which waits for its turn.
        drop(turn);
        site.write(&links, &hosts_file(hosts, with_ipv6)).map_err(failed())?;
        Ok(site)
    }

    /// Writes the list of what is to be made, then the files.
    fn write(&self, links: &[PathBuf], hosts_file: &str) -> io::Result<()> {
        let lines: String =
            self.names.iter().chain(links).map(|path| format!("{}\n", path.display())).collect();
        fs::write(self.folder.join(MADE), lines)?;
        let etc = self.folder.join(ETC);
        fs::create_dir(&etc)?;
        fs::write(etc.join("hosts"), hosts_file)?;
        fs::create_dir_all(FILES)?;
        links.iter().try_for_each(|link| symlink(&etc, link))
    }

    /// Gives namespaces their names, the fabric's first.
    pub(super) fn keep<'a>(&self, namespaces: impl Iterator<Item = &'a Namespace>) -> Result<(), LiveError> {
        let keep = |(namespace, path): (&Namespace, &PathBuf)| {
            let failed = LiveError::refused(format!("naming a network namespace {}", path.display()));
            namespace.keep_at(path).map_err(failed)
        };
        fs::create_dir_all(NAMES).map_err(LiveError::refused(format!("creating {NAMES}")))?;
        namespaces.zip(&self.names).try_for_each(keep)
    }

    /// A name that is there no longer.
    pub(super) fn missing(&self) -> Option<&Path> {
        self.names.iter().map(PathBuf::as_path).find(|name| !name.exists())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // What cannot be removed now, is by whoever comes next.
        if let Ok(_turn) = turn() {
            let _ = remove(&self.folder);
        }
    }
}

/// Takes away what processes that are gone have left, and ends the programs that still run there. Returns the names.
pub fn clean() -> Result<Vec<String>, LiveError> {
    let mut cleaned = Vec::new();
    let mut clean = || -> io::Result<()> {
        let _turn = turn()?;
        for name in names()? {
            let folder = Path::new(SITES).join(&name);
            if let Some(_lock) = lock(&folder)? {
                remove(&folder)?;
                cleaned.push(name);
            }
        }
        Ok(())
    };
    clean().map_err(LiveError::refused("taking away what is left of earlier emulations"))?;
    Ok(cleaned)
}

/// All names, of running processes and of others.
pub(super) fn names() -> io::Result<Vec<String>> {
    let folders = match fs::read_dir(SITES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        folders => folders?,
    };
    let mut names = folders
        .map(|folder| Ok(folder?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort_unstable();
    Ok(names)
}

/// Locks a name's folder; `None` if the process that has the name lives. One that was killed holds it until the kernel has taken it
/// apart, which is waited for.
pub(super) fn lock(folder: &Path) -> io::Result<Option<File>> {
    let file = File::open(folder)?;
    for _ in 0..LONGEST_DEATH {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if owner_dies(folder) => thread::sleep(Duration::from_millis(10)),
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(None)
}

/// Whether the process that has a name is ending, or has just ended.
fn owner_dies(folder: &Path) -> bool {
    let Ok(pid) = fs::read_to_string(folder.join(OWNER)) else { return false };
    let of_process = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", pid.trim()));
    let (Ok(stat), Ok(status)) = (of_process("stat"), of_process("status")) else { return true };
    // Behind the program's name, which may have anything in it.
    let mut rest = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let (state, flags) = (rest.next(), rest.nth(5).and_then(|flags| flags.parse::<u64>().ok()));
    let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
    let pending = pending.and_then(|signals| u64::from_str_radix(signals.trim(), 16).ok());
    matches!(state, Some("Z" | "X"))
        || flags.is_some_and(|flags| flags & EXITING != 0)
        || pending.is_some_and(|signals| signals & KILLED != 0)
}

/// One process at a time takes names or takes them away.
pub(super) fn turn() -> io::Result<Turn> {
    loop {
        fs::create_dir_all(SITES)?;
        let Ok(folder) = File::open(SITES) else { continue };
        folder.lock()?;
        // Whoever had it before may have removed the folder.
        let there =
            fs::metadata(SITES).is_ok_and(|now| folder.metadata().is_ok_and(|m| m.ino() == now.ino()));
        if there {
            return Ok(Turn { _folder: folder });
        }
    }
}

/// Its turn is over when this goes.
pub(super) struct Turn {
    _folder: File,
}

impl Drop for Turn {
    fn drop(&mut self) {
        // The folder goes with the last name.
        let _ = fs::remove_dir(SITES);
    }
}

/// Removes what a name's folder lists, and the folder. The caller has the lock.
fn remove(folder: &Path) -> io::Result<()> {
    let list = fs::read_to_string(folder.join(MADE)).unwrap_or_default();
    let listed = |parent: &'static str| {
        list.lines().map(Path::new).filter(move |path| path.parent() == Some(Path::new(parent)))
    };
    programs::end(listed(NAMES));
    for name in listed(NAMES) {
        Namespace::forget(name).or_else(gone)?;
    }
    for link in listed(FILES).filter(|link| leads_to(link, folder)) {
        fs::remove_file(link)?;
    }
    let _ = fs::remove_dir(FILES); // if nobody else has anything there
    fs::remove_dir_all(folder)
}

fn gone(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Whether this is the link from where `ip netns exec` looks to a name's files.
fn leads_to(link: &Path, folder: &Path) -> bool {
    fs::read_link(link).is_ok_and(|to| to == folder.join(ETC))
}

/// What /etc/hosts is on each host.
fn hosts_file(hosts: usize, with_ipv6: bool) -> String {
    let v6 = |host| if with_ipv6 { format!("{} h{host}\n", ipv6_of(host)) } else { String::new() };
    let lines = |host| format!("{} h{host}\n{}", ipv4_of(host), v6(host));
    let known: String = (0..hosts as HostId).map(lines).collect();
    format!("127.0.0.1 localhost\n::1 localhost\n{known}")
}

fn check_name(name: &str) -> Result<(), LiveError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if begins && name.bytes().all(fits) && name.len() <= LONGEST_NAME {
        return Ok(());
    }
    Err(LiveError::Name(format!(
        "\"{name}\" cannot be a name: it must have 1 to {LONGEST_NAME} letters, digits, - and _, the first of them a letter \
         or digit"
    )))
}

fn is_running(name: &str) -> LiveError {
    LiveError::Name(format!(
        "the name {name} is taken: an emulation runs under it; give another one with --name"
    ))
}

fn is_not_ours(name: &str, path: &Path) -> LiveError {
    let path = path.display();
    LiveError::Name(format!(
        "the name {name} is taken: {path} is there, and no emulation has made it; give another one with --name, or remove \
         that"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::{Hosts, Standing};

    fn is_root() -> bool {
        let root = nix::unistd::geteuid().is_root();
        if !root {
            crate::skip_test("network namespaces need root");
        }
        root
    }

    /// A name that no other test has, now or at the same time.
    fn own_name(what: &str) -> String {
        format!("test-{what}-{}", std::process::id())
    }

    fn traces(name: &str) -> Vec<PathBuf> {
        let below = |folder: &str| {
            let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
            entries.filter(|path| path.to_string_lossy().contains(name)).collect::<Vec<_>>()
        };
        [SITES, NAMES, FILES].map(below).concat()
    }

    #[test]
    fn names_are_taken_once_and_leave_nothing() {
        if !is_root() {
            return;
        }
        let name = own_name("once");
        let hosts = Hosts::new(2, 1500, Some(&name)).unwrap();
        assert_eq!(traces(&name).len(), 1 + 3 + 2);
        assert_eq!(hosts.missing(), None);
        let error = Hosts::new(2, 1500, Some(&name)).unwrap_err().to_string();
        assert!(error.contains("is taken: an emulation runs under it"), "{error}");
        let standing = Standing::all().unwrap().into_iter().find(|standing| standing.name() == name).unwrap();
        assert_eq!(standing.hosts(), ["h0", "h1"]);
        drop(hosts);
        assert!(traces(&name).is_empty());
    }

    #[test]
    fn what_a_dead_process_left_is_removed_and_what_it_did_not_list_stays() {
        if !is_root() {
            return;
        }
        let name = own_name("stale");
        let hosts = Hosts::new(2, 1500, Some(&name)).unwrap();
        // As if the process had been killed: nothing is removed, but the lock is free.
        let site = hosts.site.as_ref().unwrap();
        let folder = site.folder.clone();
        site._lock.unlock().unwrap();
        std::mem::forget(hosts);
        let foreign = Path::new(NAMES).join(format!("{name}-foreign"));
        fs::write(&foreign, "").unwrap();
        let list = fs::read_to_string(folder.join(MADE)).unwrap();
        fs::write(folder.join(MADE), format!("{list}/tmp\n/etc/hosts\n{NAMES}\n")).unwrap();
        assert!(clean().unwrap().contains(&name));
        assert_eq!(traces(&name), std::slice::from_ref(&foreign));
        fs::remove_file(foreign).unwrap();
    }

    #[test]
    fn a_name_of_somebody_else_is_neither_taken_nor_removed() {
        if !is_root() {
            return;
        }
        let name = own_name("foreign");
        fs::create_dir_all(NAMES).unwrap();
        let foreign = Path::new(NAMES).join(format!("{name}-h1"));
        fs::write(&foreign, "").unwrap();
        let error = Hosts::new(2, 1500, Some(&name)).unwrap_err().to_string();
        assert!(error.contains(&foreign.display().to_string()), "{error}");
        assert_eq!(traces(&name), std::slice::from_ref(&foreign));
        fs::remove_file(foreign).unwrap();
    }

    #[test]
    fn names_fit_into_a_listing() {
        for name in ["", "-a", "a/b", "a b", "é", &"a".repeat(LONGEST_NAME + 1)] {
            assert!(check_name(name).unwrap_err().to_string().contains("cannot be a name"), "{name}");
        }
        for name in ["a", "leaf-spine8", "0_1"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn hosts_know_one_another() {
        assert!(hosts_file(2, true).ends_with("10.77.0.1 h0\nfd77::1 h0\n10.77.0.2 h1\nfd77::2 h1\n"));
        assert!(hosts_file(2, false).ends_with("10.77.0.1 h0\n10.77.0.2 h1\n"));
    }
}
