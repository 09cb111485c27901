//! Cgroups of version 2: which there are, and by which numbers the kernel knows them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statfs::{CGROUP2_SUPER_MAGIC, statfs};

use crate::error::BpfError;

/// A cgroup as the kernel knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cgroup {
    /// Its number, which is its folder's inode.
    pub id: u64,
    /// How far it is below the root.
    pub level: u32,
}

pub(super) const NOT_MOUNTED: &str =
    "no cgroup2 file system is mounted: mount -t cgroup2 none /sys/fs/cgroup";

/// Where cgroups of version 2 are mounted, and not covered by another file system.
pub(super) fn root() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let path = |line: &str| {
        let mut fields = line.split(' ');
        let (path, kind) = (fields.nth(1)?, fields.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(path))
    };
    let is_there =
        |path: &PathBuf| statfs(path).is_ok_and(|found| found.filesystem_type() == CGROUP2_SUPER_MAGIC);
    mounts.lines().filter_map(path).find(is_there)
}

/// The root of all cgroups, also where they are not to be seen, as in a host that `tailrace enter` enters.
pub(super) fn open_root() -> Result<File, BpfError> {
    if let Some(root) = root() {
        return File::open(&root).map_err(BpfError::refused(format!("opening {}", root.display())));
    }
    let folder = std::env::temp_dir().join(format!("tailrace-cgroups-{}", std::process::id()));
    let open = || {
        fs::create_dir(&folder)?;
        let none: Option<&str> = None;
        mount(Some("none"), &folder, Some("cgroup2"), MsFlags::empty(), none)?;
        let opened = File::open(&folder);
        umount2(&folder, MntFlags::MNT_DETACH)?;
        opened
    };
    let opened = open();
    // It was empty before, or is not there.
    let _ = fs::remove_dir(&folder);
    opened.map_err(BpfError::refused("mounting cgroup2"))
}

/// A cgroup by its path: from the root of all cgroups, or where its folder is. The error says what would be right.
pub fn own_cgroup(path: &Path) -> Result<Cgroup, String> {
    let root = root().ok_or(NOT_MOUNTED)?;
    let below = path.strip_prefix(&root).or_else(|_| path.strip_prefix("/")).unwrap_or(path);
    let folder = root.join(below);
    match fs::metadata(&folder) {
        Ok(found) if found.is_dir() => {
            Ok(Cgroup { id: found.ino(), level: below.components().count() as u32 })
        }
        _ => Err(format!("there is no cgroup {}; systemd-cgls lists them", folder.display())),
    }
}

/// The paths of all cgroups by their numbers.
pub fn cgroup_names() -> BTreeMap<u64, String> {
    let mut names = BTreeMap::new();
    if let Some(root) = root() {
        collect(&root, "", &mut names);
    }
    names
}

fn collect(folder: &Path, name: &str, names: &mut BTreeMap<u64, String>) {
    // Cgroups come and go: what is no longer there has no name.
    let (Ok(found), Ok(entries)) = (fs::metadata(folder), fs::read_dir(folder)) else { return };
    names.insert(found.ino(), if name.is_empty() { "/".to_owned() } else { name.to_owned() });
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let below = format!("{name}/{}", entry.file_name().to_string_lossy());
        collect(&entry.path(), &below, names);
    }
}
