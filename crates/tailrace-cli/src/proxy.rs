//! `tailrace proxy`.

use tailrace_core::HostId;
use tailrace_experiment::Error;
use tailrace_linux::{LiveError, own_host};
use tailrace_proxy::{Entry, Proxy, ProxyError, Roles};
use tailrace_run::{for_proxies, messages};

use crate::emulate::{Planned, planned};
use crate::flows::in_file;
use crate::traffic::wrong;
use crate::{Host, args};

pub fn proxy(options: &args::Proxy, host: &dyn Host) -> Result<i32, Error> {
    let Planned { scenario, scheme, .. } = planned(&options.file, options.scheme.as_deref(), &options.set)?;
    let hosts = for_proxies(&scenario).map_err(|error| in_file(error.into(), &options.file))?.hosts;
    let Some(here) = own_host().map_err(Error::Live)?.filter(|here| usize::from(*here) < hosts) else {
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
    let mut messages = messages(&scenario, here).map_err(Error::from)?;
    let mut proxy = Proxy::new(&*messages, &roles).map_err(failure)?;
    say!("{}", ready(here, &scheme, &roles));
    proxy.run(&mut *messages, &|| host.interrupted()).map_err(failure)?;
    if messages.strange() > 0 {
        complain!(
            "note: {} datagrams came to this host that are none of Tailrace's transport",
            messages.strange()
        );
    }
    Ok(0)
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
