//! A link of an emulated fabric that fails, as programs see it.

use std::fs;
use std::process::Stdio;

use crate::place::EmulatedFolder;

const FABRIC: &str = r#"
[fabric]
kind = "star"
hosts = 2
host_rate = "100Mbps"
delay = "50us"
convergence = "0s"
failure = [{ link = "switch0->host1", at = "1500ms", until = "2500ms" }]
[workload]
sizes = "web-search"
load = 0.1
flows = 1
[[scheme]]
name = "fifo"
"#;
const ECHO: &str = "import socket
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.bind(('', 7))
while True:
    peer.sendto(*peer.recvfrom(64))
";
/// Asks a hundred times a second for four seconds; says how long the longest silence was, and what came after it.
const ASK: &str = "import socket, time
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.settimeout(0.01)
end, last, silence, after = time.monotonic() + 4, None, 0, 0
while (now := time.monotonic()) < end:
    peer.sendto(b'?', ('10.77.0.2', 7))
    try:
        peer.recv(64)
    except TimeoutError:
        continue
    if last is not None and now - last > silence:
        silence, after = now - last, 0
    last, after = now, after + 1
    time.sleep(0.01)
print(silence, after)
";

#[test]
fn programs_hear_nothing_until_the_link_is_back() {
    let Some(place) = EmulatedFolder::new() else { return };
    fs::write(place.dir.path().join("failing.toml"), FABRIC).unwrap();
    let emulation = place.start_file("failing.toml", "--for 60s");
    let mut echo = place.command("enter NAME/h1 -- python3 -c");
    let mut echo = echo.arg(ECHO).stderr(Stdio::null()).spawn().unwrap();
    let mut ask = place.command("enter NAME/h0 -- python3 -c");
    let output = ask.arg(ASK).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<f64> = said.split_whitespace().map(|word| word.parse().unwrap()).collect();
    emulation.signal("-TERM");
    let (status, out, told) = emulation.end();
    echo.wait().unwrap();
    assert_eq!(status, Some(0), "{told}");
    let [silence, after] = numbers[..] else { panic!("{output:?}") };
    println!("silent for {silence} s, and {after} answers after it");
    assert!((0.9..3.0).contains(&silence) && after > 20.0, "{said}");
    assert!(
        out.contains("with a link that failed") || told.contains("with a link that failed"),
        "{out}{told}"
    );
    place.assert_no_traces();
}
