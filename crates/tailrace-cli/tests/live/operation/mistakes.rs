//! What an agent says where it cannot run: one clear message, and the host as it was.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use tailrace_bpf::taggers_at;

use crate::agents::*;
use crate::common::*;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tailrace");

#[test]
fn where_it_cannot_run_there_is_one_message_and_nothing_is_attached() {
    let Some(Pair { a, b: _b }) = pair() else { return };
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let file = place.path().join("agent.toml");
    let refused = |mut command: Command, code: i32, expected: &str| {
        let output = a.inside(move || command.output()).unwrap();
        let said = said(&output);
        assert_eq!((output.status.code(), said.lines().count()), (Some(code), 1), "{said}");
        assert!(said.starts_with("error: ") && said.contains(expected), "{said}");
        let own = || Ok(taggers_at(tailrace_bpf::interface_number("eth0").unwrap()).unwrap());
        assert_eq!(a.inside(own).unwrap(), 0, "{said}");
    };
    let agent = |section: &str| {
        fs::write(&file, format!("[agent]\n{section}\n[scheme]\nname = \"mlfq\"\n")).unwrap();
        tailrace(&["agent", text(&file)])
    };
    let eth0 = "interface = \"eth0\"";
    // A copy that others than root may start, wherever the one of the build lies.
    let copy = place.path().join("tailrace");
    fs::copy(PROGRAM, &copy).unwrap();
    agent(eth0);
    let mut without_root = Command::new(&copy);
    without_root.args(["agent", text(&file)]).uid(65534).gid(65534);
    refused(without_root, 1, "the host agent needs root");
    let mut without_types = Command::new("unshare");
    let hide = "mount -t tmpfs none /sys/kernel/btf && exec \"$0\" agent \"$1\"";
    without_types.args(["-m", "sh", "-c", hide, PROGRAM, text(&file)]);
    refused(without_types, 1, "/sys/kernel/btf/vmlinux is not there: the host agent needs a kernel with");
    let user = |name: &str| format!("{eth0}\nuser = \"{name}\"");
    refused(agent(&user("root")), 2, "agent.toml:3: agent.user: is \"root\", but must be a user other than");
    refused(agent(&user("nobdoy")), 2, "agent.user: is \"nobdoy\", but this machine has no such user");
    refused(
        agent("interface = \"eht0\""),
        2,
        "agent.interface: unknown interface \"eht0\"; did you mean \"eth0\"?",
    );
    refused(
        agent(&format!("{eth0}\npins = \"/no/such\"")),
        2,
        "agent.pins: /no/such is no folder of a bpf file system",
    );
    let windows = format!(
        "[agent]\n{eth0}\npins = \"/sys/fs/bpf\"\n[scheme]\nname = \"wvcc\"\n[[slice]]\nweight = 2\n"
    );
    let mut with_pins = Command::new("unshare");
    fs::write(&file, windows).unwrap();
    let mount = "mount -t bpf none /sys/fs/bpf && exec \"$0\" agent \"$1\"";
    with_pins.args(["-m", "sh", "-c", mount, PROGRAM, text(&file)]);
    refused(with_pins, 2, "agent.toml:3: agent.pins: keeps tags only, and this scheme keeps windows");
    let metrics = |address: &str| {
        let mut command = tailrace(&["agent", text(&file), "--metrics"]);
        command.arg(address);
        command
    };
    fs::write(&file, format!("[agent]\n{eth0}\n[scheme]\nname = \"mlfq\"\n")).unwrap();
    refused(metrics("192.0.2.1:9400"), 2, "--metrics: 192.0.2.1:9400 is not on the loopback interface");
    refused(tailrace(&["agent", "/no/such.toml"]), 2, "/no/such.toml: cannot be read");
}
