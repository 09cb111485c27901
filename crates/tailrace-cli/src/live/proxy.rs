//! `tailrace proxy`.

use tailrace_console::{complain, say};
use tailrace_core::{HostId, LiveError};
use tailrace_experiment::Error;
use tailrace_linux::{Messages, own_host};
use tailrace_live::{for_proxies, messages};
use tailrace_proxy::{Entry, Proxy, ProxyError, Roles};

use super::emulate::planned;
use crate::mistake::wrong;
use crate::{Host, args};

pub fn proxy(options: &args::Proxy, host: &dyn Host) -> Result<i32, Error> {
    let chosen = planned(&options.file, options.scheme.as_deref(), &options.set)?;
    let (scenario, scheme) = (&chosen.scenario, &chosen.scheme);
    let hosts = for_proxies(scenario).map_err(|error| chosen.of_file(error))?.hosts;
    let Some(here) = own_host().map_err(Error::Live)?.filter(|here| (*here as usize) < hosts) else {
        let message = format!(
            "no interface here has an address of one of the {hosts} hosts of {}: run the proxy in a host of the fabric",
            options.file.display()
        );
        return Err(Error::Live(LiveError::SetUp(message)));
    };
    let entries = options.listen.iter().map(|at| Entry { address: *at.ip(), port: at.port() });
    let roles = Roles {
        entries: if options.servers.is_empty() { Vec::new() } else { entries.collect() },
        servers: options.servers.clone(),
        memcached: options.memcached,
    };
    let mut messages = messages(scenario, here).map_err(Error::from)?;
    let mut proxy = Proxy::new(&*messages, &roles).map_err(failure)?;
    say!("{}", ready(here, scheme, &roles));
    let mut told = false;
    let mut stop = |messages: &dyn Messages| {
        if !told && messages.strange() > 0 {
            told = true;
            complain!("note: {}", not_heard(scheme));
        }
        host.interrupted()
    };
    proxy.run(&mut *messages, &mut stop).map_err(failure)?;
    if messages.strange() > 0 {
        complain!("note: {} such datagrams came in all", messages.strange());
    }
    Ok(0)
}

/// What it means that datagrams come which the transport cannot read.
fn not_heard(scheme: &str) -> String {
    format!(
        "a datagram came to this host that is none of {scheme}'s transport. All proxies of a fabric must run the same \
         scheme and version: they do not hear one another otherwise"
    )
}

fn failure(error: ProxyError) -> Error {
    match error {
        ProxyError::Asked(field, message) => wrong(field, message),
        ProxyError::Live(error) => Error::Live(error),
        ProxyError::Socket { .. } => Error::Live(LiveError::SetUp(error.to_string())),
    }
}

/// What the proxy does, when it does it.
fn ready(host: HostId, scheme: &str, roles: &Roles) -> String {
    let mut line = format!("ready: host {host}, {scheme}");
    for entry in &roles.entries {
        for (port, server) in (entry.port..).zip(&roles.servers) {
            line += &format!(", {}:{port} is host {server}", entry.address);
        }
    }
    if let Some(memcached) = roles.memcached {
        line += &format!(", others reach memcached at {memcached}");
    }
    line
}
