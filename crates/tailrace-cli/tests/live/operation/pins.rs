//! What an agent leaves at its interface: nothing, or what its file says, however it ends; and what its end does to connections.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::Signal;
use tailrace_bpf::taggers_at;
use tailrace_linux::Namespace;

use crate::agents::*;
use crate::common::*;
use crate::frames::Tap;

/// A bpf file system of the test's own.
pub struct BpfFs(pub PathBuf);

impl BpfFs {
    pub fn mount(at: PathBuf) -> Self {
        fs::create_dir(&at).unwrap();
        assert!(Command::new("mount").args(["-t", "bpf", "bpf", text(&at)]).status().unwrap().success());
        BpfFs(at)
    }

    /// What is the agents'; the kernel puts iterators there by itself.
    fn entries(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| text(path).contains("/tailrace-")).collect()
    }
}

impl Drop for BpfFs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn taggers(namespace: &Namespace) -> usize {
    let count = || {
        let number = tailrace_bpf::interface_number("eth0").unwrap();
        Ok(taggers_at(number).unwrap())
    };
    namespace.inside(count).unwrap()
}

fn write(file: &Path, agent: &str, thresholds: &str, queues: usize) {
    let text = format!(
        "[agent]\ninterface = \"eth0\"\n{agent}[scheme]\nname = \"mlfq\"\n\
         params = {{ thresholds = [{thresholds}], port = {{ queues = {queues} }} }}\n"
    );
    fs::write(file, text).unwrap();
}

fn end(agent: &mut std::process::Child, with: Signal) {
    signal(agent, with);
    agent.wait().unwrap();
}

/// The exit status of `tailrace agent detach`, and what it says.
fn detach(namespace: &Namespace, file: &Path) -> (i32, String) {
    let output = namespace.inside(|| tailrace(&["agent", "detach", text(file)]).output()).unwrap();
    (output.status.code().unwrap(), said(&output))
}

#[test]
fn the_host_is_as_it_was_found_however_an_agent_ends() {
    let Some(Pair { a, b: _b }) = pair() else { return };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("agent.toml");
    write(&file, "", "\"10KB\"", 2);
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGKILL] {
        assert_eq!(taggers(&a), 0);
        let mut agent = start(&a, &["agent", text(&file)], "read its file again");
        assert_eq!(taggers(&a), 1);
        end(&mut agent, signal);
        // The kernel takes away what belonged to the process a moment later.
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(taggers(&a), 0, "{signal}");
    }
}

#[test]
fn a_pinned_program_tags_without_its_agent_and_the_next_one_takes_over_under_load() {
    let Some(Pair { a, b }) = pair() else { return };
    let place = tempfile::tempdir().unwrap();
    let bpf = BpfFs::mount(place.path().join("bpf"));
    let file = place.path().join("agent.toml");
    let pins = format!("pins = \"{}\"\n", bpf.0.display());
    write(&file, &pins, "\"100KB\", \"200KB\"", 3);
    on(&a, || ip("link set eth0 gso_max_segs 1"));
    let arguments = ["agent", text(&file)];
    let mut agent = start(&a, &arguments, "read its file again");
    let (tap, listener) =
        (b.inside(|| Ok(Tap::new())).unwrap(), b.inside(|| TcpListener::bind(address(B4, 80))).unwrap());
    // Connections that go on all the time, and new ones.
    let over = AtomicBool::new(false);
    let (rounds, connections) = std::thread::scope(|scope| {
        let busy = scope.spawn(|| {
            let connect = || {
                let near = a.inside(|| TcpStream::connect(address(B4, 80))).unwrap();
                (near, listener.accept().unwrap().0)
            };
            let mut lasting: Vec<_> = (0..4).map(|_| connect()).collect();
            let mut connections = 4;
            while !over.load(Ordering::Relaxed) {
                for (near, far) in &mut lasting {
                    carry_now(near, far, 4_000);
                }
                let (mut near, mut far) = connect();
                carry_now(&mut near, &mut far, 3_000);
                connections += 1;
            }
            // Each of them still carries.
            lasting.iter_mut().for_each(|(near, far)| carry_now(near, far, 10_000));
            connections
        });
        let rounds = 4;
        for _ in 0..rounds {
            std::thread::sleep(Duration::from_millis(150));
            end(&mut agent, Signal::SIGKILL);
            assert_eq!(taggers(&a), 1, "it is pinned");
            std::thread::sleep(Duration::from_millis(150));
            agent = start(&a, &arguments, "read its file again");
            assert_eq!(taggers(&a), 1, "the new one is in the place of the old one");
        }
        over.store(true, Ordering::Relaxed);
        (rounds, busy.join().unwrap())
    });
    let seen = tap.segments(80);
    assert!(seen.len() > 300 && connections > 10, "{} {connections} {rounds}", seen.len());
    let mut counts = [0; 3];
    for (before, class) in seen {
        let queue = usize::from(before >= 100_000) + usize::from(before >= 200_000);
        assert_eq!(
            usize::from(7 - (class >> 2)),
            queue,
            "{before}: with an agent, without, and with the next one"
        );
        counts[queue] += 1;
    }
    assert!(counts.iter().all(|&count| count > 20), "{counts:?}");
    // Detached by the command, but not from one that runs.
    let detach = || detach(&a, &file);
    let (code, refused) = detach();
    assert!(code == 1 && refused.contains("has an agent already, process"), "{refused}");
    end(&mut agent, Signal::SIGTERM);
    assert_eq!((taggers(&a), bpf.entries().len()), (1, 1));
    // Without the folder nothing takes over, and nothing is put beside it.
    write(&file, "", "\"10KB\"", 2);
    let (code, said) = refusal(&a, &file);
    assert!(code == 2 && said.contains("agent.pins: is not where the program is pinned"), "{said}");
    write(&file, &format!("flows = 1000\n{pins}"), "\"10KB\"", 2);
    let (code, said) = refusal(&a, &file);
    assert!(
        code == 2 && said.contains("is of an agent with another number of flows (agent.flows)"),
        "{said}"
    );
    write(&file, &pins, "\"10KB\"", 2);
    assert_eq!(detach(), (0, "took away what an agent had left at eth0\n".to_owned()));
    assert_eq!((taggers(&a), bpf.entries().len()), (0, 0));
    assert_eq!(detach(), (0, "nothing was left at eth0\n".to_owned()));
}

#[test]
fn what_is_pinned_can_be_taken_away_when_its_interface_is_gone() {
    let Some(Pair { a, b: _b }) = pair() else { return };
    let place = tempfile::tempdir().unwrap();
    let bpf = BpfFs::mount(place.path().join("bpf"));
    let file = place.path().join("agent.toml");
    write(&file, &format!("pins = \"{}\"\n", bpf.0.display()), "\"10KB\"", 2);
    let mut agent = start(&a, &["agent", text(&file)], "read its file again");
    on(&a, || ip("link del eth0"));
    wait_for(&mut agent, "interface eth0 is gone");
    assert_eq!(agent.wait().unwrap().code(), Some(1));
    assert_eq!(bpf.entries().len(), 1, "the agent has no rights any more");
    let detach = || detach(&a, &file);
    assert_eq!(detach(), (0, "took away what an agent had left at eth0, which is gone\n".to_owned()));
    assert_eq!(bpf.entries().len(), 0);
    let (code, said) = detach();
    assert!(code == 2 && said.contains("agent.interface: unknown interface"), "{said}");
}

/// As where a container is started again, whose network namespace may have the old one's number.
#[test]
fn what_is_pinned_at_an_interface_that_was_made_anew_is_no_hindrance() {
    let Some(Pair { a, b: _b }) = pair() else { return };
    let place = tempfile::tempdir().unwrap();
    let bpf = BpfFs::mount(place.path().join("bpf"));
    let file = place.path().join("agent.toml");
    let pins = format!("pins = \"{}\"\n", bpf.0.display());
    write(&file, &pins, "\"10KB\"", 2);
    let mut agent = start(&a, &["agent", text(&file)], "read its file again");
    end(&mut agent, Signal::SIGKILL);
    on(&a, || {
        ip("link del eth0");
        ip("link add eth0 type veth peer name eth9");
    });
    write(&file, &format!("flows = 1000\n{pins}"), "\"10KB\"", 2);
    let mut agent = start(&a, &["agent", text(&file)], "read its file again");
    assert_eq!((taggers(&a), bpf.entries().len()), (1, 1));
    end(&mut agent, Signal::SIGTERM);
}

/// As after a container: nobody can enter its network namespace to take it away.
#[test]
fn what_is_pinned_of_a_network_namespace_that_is_gone_goes_with_the_next_agent() {
    let Some(Pair { a, b }) = pair() else { return };
    let place = tempfile::tempdir().unwrap();
    let bpf = BpfFs::mount(place.path().join("bpf"));
    let file = place.path().join("agent.toml");
    write(&file, &format!("pins = \"{}\"\n", bpf.0.display()), "\"10KB\"", 2);
    let leave_pins = |namespace: &Namespace| {
        let mut agent = start(namespace, &["agent", text(&file)], "read its file again");
        end(&mut agent, Signal::SIGKILL);
        bpf.entries().len()
    };
    assert_eq!([leave_pins(&a), leave_pins(&b)], [1, 2], "what another interface has stays");
    let Some(Pair { a: c, b: d }) = pair() else { return };
    drop((a, b));
    // The kernel takes a namespace away in its own time.
    let gone = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        leave_pins(&c) == 1
    });
    assert!(gone, "{:?}", bpf.entries());
    assert_eq!(leave_pins(&d), 2);
    drop(c);
    let gone = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        // Its own interface went with the other end.
        detach(&d, &file);
        bpf.entries().is_empty()
    });
    assert!(gone, "{:?}", bpf.entries());
}

#[test]
fn what_is_pinned_by_another_version_or_nowhere_is_one_message() {
    let Some(Pair { a, b: _b }) = pair() else { return };
    let place = tempfile::tempdir().unwrap();
    let bpf = BpfFs::mount(place.path().join("bpf"));
    let file = place.path().join("agent.toml");
    write(&file, &format!("pins = \"{}\"\n", bpf.0.display()), "\"10KB\"", 2);
    let mut agent = start(&a, &["agent", text(&file)], "read its file again");
    end(&mut agent, Signal::SIGKILL);
    let folder = bpf.entries().pop().unwrap();
    let own = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    fs::rename(&own, folder.join("layout0")).unwrap();
    let (code, said) = refusal(&a, &file);
    assert!(
        code == 2 && said.contains("agent.pins: ") && said.contains("is of another version of the agent"),
        "{said}"
    );
    assert_eq!(taggers(&a), 1, "the other version's program is still there");
    // Something else under the right name.
    fs::rename(folder.join("layout0"), &own).unwrap();
    fs::remove_file(own.join("flows")).unwrap();
    fs::rename(own.join("link"), own.join("flows")).unwrap();
    let (code, said) = refusal(&a, &file);
    assert!(code == 2 && said.contains("is of another version of the agent"), "{said}");
    write(&file, &format!("pins = \"{}\"\n", place.path().display()), "\"10KB\"", 2);
    let (code, said) = refusal(&a, &file);
    assert!(code == 2 && said.contains("is no folder of a bpf file system: mount -t bpf"), "{said}");
}

/// Here it cannot give up its rights, which it does when its program is attached and pinned.
#[test]
fn an_agent_that_does_not_start_leaves_no_pins() {
    let Some(Pair { a, b: _b }) = pair() else { return };
    let place = tempfile::tempdir().unwrap();
    let bpf = BpfFs::mount(place.path().join("bpf"));
    let file = place.path().join("agent.toml");
    write(&file, &format!("pins = \"{}\"\n", bpf.0.display()), "\"10KB\"", 2);
    let without = [
        "--bounding-set",
        "-setuid,-setgid",
        "--inh-caps",
        "-setuid,-setgid",
        env!("CARGO_BIN_EXE_tailrace"),
    ];
    let mut agent = Command::new("setpriv");
    agent.args(without).args(["agent", text(&file)]);
    let output = a.inside(|| agent.output()).unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("going on as user nobody"), "{said}");
    assert_eq!((bpf.entries().len(), taggers(&a)), (0, 0), "{said}");
}

/// What an agent says that does not start, in one line.
fn refusal(namespace: &Namespace, file: &Path) -> (i32, String) {
    let output = namespace.inside(|| tailrace(&["agent", text(file)]).output()).unwrap();
    let said = said(&output);
    assert_eq!(said.lines().count(), 1, "{said}");
    (output.status.code().unwrap(), said)
}
