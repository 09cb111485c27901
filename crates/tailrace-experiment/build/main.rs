//! Gives the crate the identity of the sources that decide what a run leaves, as `TAILRACE_BUILD`.

#![expect(clippy::print_stdout, reason = "cargo listens there")]

mod sources;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let version = variable("CARGO_PKG_VERSION");
    let crates: Vec<PathBuf> =
        sources::CRATES.iter().filter_map(|name| folder(&here, name, &version)).collect();
    let lock = here.join("../../Cargo.lock");
    crates.iter().for_each(|folder| watch(folder));
    if lock.exists() {
        watch(&lock);
    }
    let built_with = format!("{version}\n{}", compiler());
    let identity = match sources::identity(&crates, &lock, &built_with) {
        Ok(identity) => identity,
        Err(error) => panic!("the sources cannot be read: {error}"),
    };
    println!("cargo::rustc-env=TAILRACE_BUILD={identity}");
}

/// Where a crate's sources are: beside this crate, as in a checkout, or with the version in the folder's name,
/// as cargo unpacks what it downloads. Elsewhere the version stands for them.
fn folder(here: &Path, name: &str, version: &str) -> Option<PathBuf> {
    let beside = [here.join("..").join(name), here.join("..").join(format!("{name}-{version}"))];
    beside.into_iter().find(|folder| folder.join("Cargo.toml").is_file())
}

/// The standard library's version is the compiler's.
fn compiler() -> String {
    let told = Command::new(variable("RUSTC")).arg("--version").output();
    told.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

fn watch(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}
