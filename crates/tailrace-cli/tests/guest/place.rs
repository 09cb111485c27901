//! Two hosts and a Linux machine between them that forwards, each a network namespace. The machine's port to the second host is
//! where queues are; at a port of the sender's own, TCP would keep its queue short by itself.

use std::fs;
use std::process::{Child, Command};
use std::time::Duration;

use nix::sys::signal::Signal;
use tailrace_linux::Namespace;
use tempfile::TempDir;

use super::agents::{signal, start, tailrace, text};

pub const TO4: &str = "10.9.2.1";
pub const TO6: &str = "fd09:2::1";

pub const PIAS: &str =
    "[scheme]\nname = \"pias\"\nparams = { thresholds = [\"14480B\", \"100KB\"], port = { queues = 3 } }\n";

pub struct ThreeHosts {
    pub near: Namespace,
    pub switch: Namespace,
    pub far: Namespace,
    dir: TempDir,
}

impl ThreeHosts {
    pub fn new() -> Self {
        let [near, switch, far] = [(); 3].map(|()| Namespace::unnamed().unwrap());
        let place = ThreeHosts { near, switch, far, dir: tempfile::tempdir().unwrap() };
        place.cable(&place.near, "left", 1);
        place.cable(&place.far, "right", 2);
        sh(
            &place.switch,
            "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding",
        );
        // Until groups of IPv6 are joined.
        wait(5_000);
        place
    }

    /// A host's `eth0` and a port of the machine between, in a network of that number. Frames are as long as on a wire. Both ends know
    /// each other's addresses for good and have no link-local ones, so that nothing but connections is in queues.
    fn cable(&self, host: &Namespace, port: &str, net: u32) {
        let mac = |at: u32| format!("02:00:00:00:{net:02}:{at:02}");
        sh(
            &self.switch,
            &format!(
                "ip link add {port} address {} type veth peer name eth0 address {} netns {}",
                mac(9),
                mac(1),
                host.path().display()
            ),
        );
        let up = |device: &str, own: u32, other: u32| {
            let there = format!("dev {device} lladdr {} nud permanent", mac(other));
            format!(
                "set -e; ip link set {device} gso_max_segs 1 txqueuelen 100 addrgenmode none
                ip addr add 10.9.{net}.{own}/24 dev {device}; ip addr add fd09:{net}::{own}/64 dev {device} nodad
                ip link set {device} up
                ip neigh add 10.9.{net}.{other} {there}; ip neigh add fd09:{net}::{other} {there}"
            )
        };
        sh(&self.switch, &up(port, 9, 1));
        let routes =
            format!("ip route add default via 10.9.{net}.9; ip -6 route add default via fd09:{net}::9");
        sh(host, &format!("{}; {routes}", up("eth0", 1, 9)));
    }

    /// Runs `tailrace agent` at a host.
    pub fn agent(&self, host: &Namespace, rest: &str) -> Agent {
        let file = self.dir.path().join("agent.toml");
        fs::write(&file, format!("[agent]\ninterface = \"eth0\"\nrate = \"20Mbps\"\n{rest}")).unwrap();
        Agent(start(host, &["agent", text(&file)], "read its file again"))
    }

    /// What `tailrace qos` writes for an interface of 20 Mbps.
    pub fn script(&self, scheme: &str, settings: &[&str]) -> String {
        let mut command = tailrace(&["qos", "--scheme", scheme, "--rates", "20Mbps", "--format", "linux-tc"]);
        for setting in settings {
            command.args(["--set", &format!("scheme.{scheme}.params.{setting}")]);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Sets the queues of the port to the second host.
    pub fn queues(&self, commands: &str) {
        sh(&self.switch, &format!("tc qdisc del dev right root 2>/dev/null\nset -e\n{commands}"));
    }
}

/// Ended as `kill` does.
pub struct Agent(Child);

impl Agent {
    pub fn end(mut self, how: Signal) {
        signal(&self.0, how);
        self.0.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a script prints in a namespace.
pub fn sh(namespace: &Namespace, script: &str) -> String {
    let output = namespace.inside(|| Command::new("sh").args(["-c", script]).output()).unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

pub fn wait(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}
