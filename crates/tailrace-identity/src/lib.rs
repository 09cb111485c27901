//! The identity of a build: a hash of sources, not of the day or the machine. Build scripts call [`emit`].

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

/// Gives the crate that is built the identity of these crates' sources, in the environment variable `name` of its compilation.
///
/// # Panics
///
/// If the sources cannot be read, which ends the build.
#[expect(clippy::print_stdout, reason = "cargo reads the output of build scripts")]
pub fn emit(name: &str, crates: &[&str]) {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let version = variable("CARGO_PKG_VERSION");
    let folders: Vec<PathBuf> = crates.iter().filter_map(|name| folder(&here, name, &version)).collect();
    let lock = here.join("../../Cargo.lock");
    let watched = folders.iter().chain(lock.exists().then_some(&lock));
    watched.for_each(|path| println!("cargo::rerun-if-changed={}", path.display()));
    let built_with = format!("{version}\n{}", compiler());
    match identity(&folders, &lock, &built_with) {
        Ok(identity) => println!("cargo::rustc-env={name}={identity}"),
        Err(error) => panic!("the sources cannot be read: {error}"),
    }
}

/// Where a crate's sources are: beside this crate, as in a checkout, or with the version in the folder's name,
/// as cargo unpacks what it downloads. Elsewhere the version stands for them.
fn folder(here: &Path, name: &str, version: &str) -> Option<PathBuf> {
    let beside = [here.join("..").join(name), here.join("..").join(format!("{name}-{version}"))];
    beside.into_iter().find(|folder| folder.join("Cargo.toml").is_file())
}

/// The standard library's version is the compiler's.
fn compiler() -> String {
    let output = Command::new(variable("RUSTC")).arg("--version").output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

/// 16 hexadecimal digits that depend on what the library files of `crates` contain, on `lock` (if it is
/// there) and on `built_with`. Tests, prose and smoke files decide no run, so they do not count.
pub fn identity(crates: &[PathBuf], lock: &Path, built_with: &str) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut add = |name: &str, content: &[u8]| {
        for part in [name.as_bytes(), content] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
    };
    add("", built_with.as_bytes());
    if lock.exists() {
        add("Cargo.lock", &fs::read(lock)?);
    }
    for folder in crates {
        let mut files = vec![folder.join("Cargo.toml")];
        collect(&folder.join("src"), &mut files)?;
        files.sort();
        for file in files {
            let name = file.strip_prefix(folder).unwrap_or(&file);
            add(&name.to_string_lossy(), &fs::read(&file)?);
        }
    }
    Ok(hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            if name != "tests" {
                collect(&entry.path(), files)?;
            }
        } else if decides(&name) {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Whether a file of this name may decide what a run leaves. Hidden files are editors' own.
fn decides(name: &str) -> bool {
    let is_test = name == "tests.rs" || name.ends_with("_tests.rs");
    !(is_test
        || name == "smoke.toml"
        || name.ends_with(".md")
        || name.ends_with('~')
        || name.starts_with('.'))
}
