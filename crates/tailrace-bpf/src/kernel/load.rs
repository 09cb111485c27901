//! Loads programs into the kernel, and says what is missing where that cannot be.

use std::io;
use std::mem::take;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use libbpf_rs::{
    Map, MapCore, MapFlags, MapMut, Object, ObjectBuilder, OpenMapMut, OpenObject, PrintLevel, ProgramInput,
    ProgramMut,
};

use crate::error::BpfError;

/// Types of the kernel, by which programs find its fields.
const BTF: &str = "/sys/kernel/btf/vmlinux";
const CAP_NET_ADMIN: u64 = 1 << 12;
const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON: u64 = 1 << 38;
const CAP_BPF: u64 = 1 << 39;

/// Fails if this process may not load programs, or the kernel cannot.
pub(super) fn check() -> Result<(), BpfError> {
    // A machine that does not tell will refuse what it does not allow.
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    check_rights(&status)?;
    if !Path::new(BTF).exists() {
        let message = format!(
            "{BTF} is not there: the host agent needs a kernel with CONFIG_DEBUG_INFO_BTF, as distributions have since 2020"
        );
        return Err(BpfError::Kernel(message));
    }
    Ok(())
}

/// Fails if this process may not have packets tagged, or the kernel cannot.
pub fn check_tagging() -> Result<(), BpfError> {
    check()?;
    // A machine that does not tell will refuse what it does not have.
    let release = nix::sys::utsname::uname()
        .map_or_else(|_| String::new(), |of| of.release().to_string_lossy().into_owned());
    check_release(&release)
}

/// Programs beside one another at an interface (tcx) came with Linux 6.6.
fn check_release(release: &str) -> Result<(), BpfError> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|text| text.parse::<u32>().ok());
    let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) else { return Ok(()) };
    if (major, minor) >= (6, 6) {
        return Ok(());
    }
    let message = format!(
        "this is Linux {release}, and tagging needs 6.6 or newer (tailrace measure does with less): upgrade the kernel"
    );
    Err(BpfError::Kernel(message))
}

/// The number of this thread's network namespace.
pub(super) fn own_network() -> Result<u32, BpfError> {
    let network = std::fs::metadata("/proc/thread-self/ns/net")
        .map_err(BpfError::refused("asking for the network namespace"))?;
    // The kernel has 32 bits for it.
    Ok(network.ino() as u32)
}

fn check_rights(status: &str) -> Result<(), BpfError> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let Some(there) = line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()) else { return Ok(()) };
    let enough = |needed: u64| there & needed == needed;
    if enough(CAP_NET_ADMIN) && (enough(CAP_SYS_ADMIN) || enough(CAP_BPF | CAP_PERFMON)) {
        return Ok(());
    }
    let message = "the host agent needs root, for it loads programs into the kernel: run it with sudo (or give it \
                   CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN)";
    Err(BpfError::Rights(message.to_owned()))
}

/// Takes programs apart, to be set up before they are loaded.
pub(super) fn open(object: &[u8]) -> Result<OpenObject, BpfError> {
    libbpf_rs::set_print(Some((PrintLevel::Warn, keep)));
    ObjectBuilder::default().open_memory(object).map_err(refused("reading the programs for the kernel"))
}

/// Sets what programs cannot change. There is one such thing in this section, of this length.
pub(super) fn set_constant(object: &mut OpenObject, section: &str, bytes: &[u8]) -> Result<(), BpfError> {
    let mut map = open_map(object, section)?;
    let value = map.initial_value_mut().filter(|value| value.len() == bytes.len());
    let value =
        value.ok_or_else(|| BpfError::Kernel("the constants of programs differ in length".to_owned()))?;
    value.copy_from_slice(bytes);
    Ok(())
}

/// A map before it is made, by the end of its name.
pub(super) fn open_map<'a>(object: &'a mut OpenObject, name: &str) -> Result<OpenMapMut<'a>, BpfError> {
    let found = object.maps_mut().find(|map| map.name().to_string_lossy().ends_with(name));
    found.ok_or_else(|| absent(name))
}

/// What libbpf has said last: it belongs into errors, and not between the lines of a command.
static SAID: Mutex<String> = Mutex::new(String::new());

fn keep(_: PrintLevel, text: String) {
    *SAID.lock().unwrap_or_else(PoisonError::into_inner) += &text;
}

/// Takes what libbpf has said: of a program that is refused, the last line of the kernel's reasons before the summary.
fn said() -> String {
    let text = take(&mut *SAID.lock().unwrap_or_else(PoisonError::into_inner));
    let reason = text.lines().take_while(|line| !line.starts_with("processed ")).last();
    reason.unwrap_or_default().trim().to_owned()
}

/// Has the kernel check the programs and take them in.
pub(super) fn load(object: OpenObject) -> Result<Object, BpfError> {
    let _ = said();
    object.load().map_err(|error| {
        let source = io::Error::other(format!("{error:#} ({})", said()));
        BpfError::Refused { what: "the kernel does not take the programs".to_owned(), source }
    })
}

/// A map of programs that are loaded, by its name.
pub(super) fn map<'a>(object: &'a Object, name: &str) -> Result<Map<'a>, BpfError> {
    object.maps().find(|map| map.name() == name).ok_or_else(|| absent(name))
}

/// A map that may be changed itself, by its name.
pub(super) fn map_mut<'a>(object: &'a mut Object, name: &str) -> Result<MapMut<'a>, BpfError> {
    object.maps_mut().find(|map| map.name() == name).ok_or_else(|| absent(name))
}

/// A program by its name.
pub(super) fn program<'a>(object: &'a mut Object, name: &str) -> Result<ProgramMut<'a>, BpfError> {
    let mut programs = object.progs_mut();
    programs.find(|program| program.name() == name).ok_or_else(|| absent(name))
}

/// The numbers at the beginning of a map's only value, whose name ends so.
pub(super) fn numbers<const N: usize>(object: &Object, name: &str) -> Result<[u64; N], BpfError> {
    let map = object.maps().find(|map| map.name().to_string_lossy().ends_with(name));
    let map = map.ok_or_else(|| absent(name))?;
    let value =
        map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).map_err(refused(format!("reading map {name}")))?;
    let value = value.unwrap_or_default();
    let mut numbers = value.chunks_exact(8).map(|bytes| bytes.try_into().map_or(0, u64::from_ne_bytes));
    Ok(std::array::from_fn(|_| numbers.next().unwrap_or(0)))
}

/// Gives a program a frame so many times, without any network. Returns what became of it the last time, and the mean time in
/// nanoseconds.
pub(super) fn try_on(
    object: &mut Object,
    name: &str,
    frame: &[u8],
    times: u32,
) -> Result<(Vec<u8>, u32), BpfError> {
    let mut out = vec![0; frame.len() + 256];
    let input = ProgramInput {
        data_in: Some(frame),
        data_out: Some(&mut out),
        repeat: times,
        ..ProgramInput::default()
    };
    let output = program(object, name)?.test_run(input);
    let output = output.map_err(refused("trying the program on a frame"))?;
    let nanoseconds = output.duration.as_nanos() as u32;
    let length = output.data.map_or(0, |data| data.len());
    out.truncate(length);
    Ok((out, nanoseconds))
}

/// For `map_err`: what the kernel or libbpf refused.
pub(super) fn refused(what: impl Into<String>) -> impl FnOnce(libbpf_rs::Error) -> BpfError {
    let what = what.into();
    |error| BpfError::Refused { what, source: io::Error::other(format!("{error:#}")) }
}

fn absent(name: &str) -> BpfError {
    BpfError::Kernel(format!("the programs for the kernel lack {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_are_too_old_are_named() {
        for release in ["6.6.0", "6.12.43+deb13-amd64", "7.0-rc1", "", "unknown"] {
            assert!(check_release(release).is_ok(), "{release}");
        }
        let said = |release: &str| check_release(release).unwrap_err().to_string();
        assert!(said("6.1.0-38-amd64").starts_with("this is Linux 6.1.0-38-amd64, and tagging needs 6.6"));
        assert!(said("5.15").contains("needs 6.6 or newer"));
    }

    #[test]
    fn rights_are_roots_or_those_that_are_named() {
        let said =
            |bits: &str| check_rights(&format!("CapEff:\t{bits}\n")).map_err(|error| error.to_string());
        assert_eq!(said("000001ffffffffff"), Ok(()));
        assert_eq!(said("000000c000001000"), Ok(()));
        assert!(said("0000000000001000").unwrap_err().contains("needs root"));
        assert!(said("0").unwrap_err().contains("CAP_BPF"));
    }
}
