//! An etcd of the test's own, with TLS, a user who may only use Tailrace's keys, and certificates made here.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tailrace_linux::skip_test;

pub const USER: &str = "fleet";
pub const PASSWORD: &str = "correct-horse";

/// Whether this machine has what is needed; if not, that is said.
pub fn is_there() -> bool {
    for (program, version) in [("etcd", "--version"), ("etcdctl", "version")] {
        let found = Command::new(program).arg(version).env("ETCDCTL_API", "3").stdout(Stdio::null()).status();
        if found.is_err() {
            skip_test(format_args!(
                "{program} is not there (make programs installs etcd-server and etcd-client)"
            ));
            return false;
        }
    }
    true
}

/// An authority that signs, and what it has signed, as files in a folder.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub file: PathBuf,
}

impl Authority {
    pub fn new(folder: &Path, name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let file = folder.join(format!("{name}.pem"));
        fs::write(&file, params.self_signed(&key).unwrap().pem()).unwrap();
        Authority { issuer: Issuer::new(params, key), file }
    }

    /// A certificate for some names, and its key, which only its owner may read.
    pub fn sign(&self, name: &str, of: &[&str]) -> [PathBuf; 2] {
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = of.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, of[0]);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let folder = self.file.parent().unwrap();
        let files = [folder.join(format!("{name}.pem")), folder.join(format!("{name}.key"))];
        fs::write(&files[0], certificate.pem()).unwrap();
        secret(&files[1], &key.serialize_pem());
        files
    }
}

pub fn secret(file: &Path, text: &str) {
    fs::write(file, text).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
}

/// An etcd in a network namespace; it ends with this value, by its pid.
pub struct Etcd {
    /// The namespace's file.
    place: PathBuf,
    pub folder: PathBuf,
    pub authority: Authority,
    server: [PathBuf; 2],
    asks_for_certificates: bool,
    /// Anybody may come in, until users are set up.
    is_open: bool,
    child: Child,
}

impl Etcd {
    /// Starts one that can be reached under these addresses.
    pub fn start(place: &Path, folder: &Path, addresses: &[&str]) -> Self {
        Self::start_with(place, folder, addresses, false)
    }

    pub fn start_with(place: &Path, folder: &Path, addresses: &[&str], asks_for_certificates: bool) -> Self {
        let authority = Authority::new(folder, "ca");
        let server = authority.sign("server", &[&["127.0.0.1"], addresses].concat());
        // As whom it comes in without a password.
        authority.sign("client", &[USER]);
        secret(&folder.join("password"), &format!("{PASSWORD}\n"));
        let child = run(place, folder, &server, asks_for_certificates);
        let mut etcd = Etcd {
            place: place.to_owned(),
            folder: folder.to_owned(),
            authority,
            server,
            asks_for_certificates,
            is_open: true,
            child,
        };
        etcd.wait();
        for words in [
            "user add root:secret",
            "user grant-role root root",
            "role add fleet",
            "role grant-permission fleet --prefix=true readwrite /tailrace/",
            &format!("user add {USER}:{PASSWORD}"),
            "user grant-role fleet fleet",
            "auth enable",
        ] {
            let output = etcd.ctl(words);
            assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
        }
        etcd.is_open = false;
        etcd
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Starts it again, with what it had kept.
    pub fn start_again(&mut self) {
        self.child = run(&self.place, &self.folder, &self.server, self.asks_for_certificates);
        self.wait();
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn wait(&self) {
        let until = Instant::now() + Duration::from_secs(30);
        let user = if self.is_open { "" } else { "--user root:secret " };
        while !self.ctl(&format!("{user}endpoint health")).status.success() {
            assert!(Instant::now() < until, "etcd does not answer");
            thread::sleep(Duration::from_millis(100));
        }
    }

    pub fn ctl(&self, words: &str) -> Output {
        let mut command = inside(&self.place, "etcdctl");
        command.env("ETCDCTL_API", "3").args(["--endpoints", "https://127.0.0.1:2379", "--cacert"]);
        command.arg(&self.authority.file);
        let [certificate, key] = ["client.pem", "client.key"].map(|name| self.folder.join(name));
        if self.asks_for_certificates {
            command.arg("--cert").arg(certificate).arg("--key").arg(key);
        }
        let words = words.split(' ');
        command.args(words).stdin(Stdio::null());
        command.output().unwrap()
    }

    /// What a key has; empty if it is not there.
    pub fn get(&self, key: &str) -> String {
        let output = self.ctl(&format!("--user root:secret get --print-value-only {key}"));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A section `[control]` with all that is needed to come in.
    pub fn section(&self, endpoint: &str, more: &str) -> String {
        format!(
            "[control]\nendpoints = [\"https://{endpoint}:2379\"]\nca = \"{}\"\nuser = \"{USER}\"\npassword_file = \"{}\"\n{more}\n",
            self.authority.file.display(),
            self.folder.join("password").display()
        )
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program in a network namespace; it has the pid of what starts it.
pub fn inside(namespace: &Path, program: &str) -> Command {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net={}", namespace.display())).arg(program);
    command
}

fn run(place: &Path, folder: &Path, server: &[PathBuf; 2], asks_for_certificates: bool) -> Child {
    let mut command = inside(place, "etcd");
    command.arg("--data-dir").arg(folder.join("data")).args([
        "--listen-client-urls",
        "https://0.0.0.0:2379",
        "--advertise-client-urls",
        "https://127.0.0.1:2379",
        "--listen-peer-urls",
        "http://127.0.0.1:2380",
        "--auto-compaction-mode=revision",
        "--auto-compaction-retention=10000",
    ]);
    command.arg("--cert-file").arg(&server[0]).arg("--key-file").arg(&server[1]);
    if asks_for_certificates {
        command.arg("--client-cert-auth").arg("--trusted-ca-file").arg(folder.join("ca.pem"));
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(folder.join("etcd.log")).unwrap());
    command.spawn().unwrap()
}
