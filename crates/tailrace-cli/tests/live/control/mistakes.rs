//! Where an agent or a controller cannot come in: one clear message, and the host as it was.

use tailrace_bpf::taggers_at;

use crate::agents::*;
use crate::control::etcd::{Authority, Etcd, secret};
use crate::control::place::*;

const AWAFS: &str = "[scheme]\nname = \"awafs\"\nparams = { placement = \"host\" }\n";

fn refused(world: &World, control: &str, scheme: &str, code: i32, expected: &str) {
    let agent = world.write("agent.toml", &format!("[agent]\ninterface = \"eth0\"\n{control}{scheme}"));
    let controller = world.write("control.toml", &format!("{control}{scheme}"));
    for (at, arguments) in [
        (&world.pair.a, ["agent", text(&agent), "--for", "15s"]),
        (&world.third, ["control", text(&controller), "--for", "15s"]),
    ] {
        let output = at.inside(|| tailrace(&arguments).output()).unwrap();
        let said = said(&output);
        assert_eq!((output.status.code(), said.lines().count()), (Some(code), 1), "{said}");
        assert!(said.starts_with("error: ") && said.contains(expected), "{expected}: {said}");
        println!("{said}");
    }
    let own = || Ok(taggers_at(tailrace_bpf::interface_number("eth0").unwrap()).unwrap());
    assert_eq!(world.pair.a.inside(own).unwrap(), 0);
}

#[test]
fn who_cannot_come_in_says_why_in_one_line() {
    let Some(world) = world() else { return };
    let folder = world.folder.path();
    let etcd = Etcd::start(&world.third.path(), folder, &["10.8.1.2"]);
    let section = etcd.section("10.8.1.2", "");
    let with = |from: &str, to: &str| {
        assert!(section.contains(from), "{from}");
        section.replace(from, to)
    };
    let other = Authority::new(folder, "other");
    refused(&world, &with("/ca.pem", "/other.pem"), AWAFS, 2, "control.ca: reaching https://10.8.1.2:2379: ");
    let no_such = with("10.8.1.2", "10.8.1.3");
    refused(&world, &no_such, AWAFS, 1, "control.endpoints: reaching https://10.8.1.3:2379: ");
    refused(&world, &with(":2379", ":2377"), AWAFS, 1, "control.endpoints: reaching https://10.8.1.2:2377: ");
    secret(&folder.join("wrong"), "guess");
    let wrong = "control.user: entering https://10.8.1.2:2379: the etcd says: authentication failed, invalid user ID or";
    refused(&world, &with("/password\"", "/wrong\""), AWAFS, 2, wrong);
    let nobody = with("user = \"fleet\"", "user = \"fleat\"");
    refused(&world, &nobody, AWAFS, 2, "control.user: entering");
    let open =
        format!("{}ca = \"{}\"\n", &section[..section.find("ca =").unwrap()], etcd.authority.file.display());
    refused(&world, &open, AWAFS, 2, "control.user: ");
    refused(&world, &with("/password\"", "/no\""), AWAFS, 2, "control.password_file: ");
    refused(&world, &with("/password\"", "/ca.pem\""), AWAFS, 2, "may be read by others (mode ");
    refused(&world, &with("/ca.pem", "/password"), AWAFS, 2, "password has no certificate (PEM)");
    refused(
        &world,
        &etcd.section("10.8.1.2", "slot = \"1ms\""),
        AWAFS,
        2,
        "control.slot: is 1ms, but must be from",
    );
    // The user may use Tailrace's keys only.
    assert!(etcd.ctl("--user fleet:correct-horse get /other").stderr.ends_with(b"permission denied\n"));
    assert!(other.file.exists());
}

#[test]
fn an_etcd_that_asks_for_certificates_takes_those_of_its_authority() {
    let Some(world) = world() else { return };
    let folder = world.folder.path();
    let etcd = Etcd::start_with(&world.third.path(), folder, &ENDPOINTS, true);
    let other = Authority::new(folder, "other").sign("stranger", &["client"]);
    let pair = |name: &str| {
        let [certificate, key] = ["pem", "key"].map(|end| folder.join(format!("{name}.{end}")));
        format!("certificate = \"{}\"\nkey = \"{}\"", certificate.display(), key.display())
    };
    assert!(other[0].exists());
    refused(&world, &etcd.section("10.8.1.2", ""), AWAFS, 2, "control.certificate: ");
    refused(&world, &etcd.section("10.8.1.2", &pair("stranger")), AWAFS, 2, "control.certificate: ");
    let agent = world.agent(0, &etcd.section("10.8.1.2", &pair("client")), AWAFS);
    assert_eq!(world.status(0)["fleet"]["connected"], true);
    drop(agent);
}
