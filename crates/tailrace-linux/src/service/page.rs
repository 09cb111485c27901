//! A page of metrics in the text format of Prometheus (version 0.0.4), at a port of the loopback interface.
//!
//! The format is a line a number, so a library that keeps registries of counters would be more code than this.

use std::fmt::{Display, Write};
use std::io;
use std::net::SocketAddr;

use tailrace_config::ScenarioError;
use tiny_http::{Header, Method, Request, Response};

pub use tiny_http::Server;

const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Takes the address, which nobody outside this machine can reach.
pub fn bind(address: SocketAddr) -> Result<Server, ScenarioError> {
    if !address.ip().is_loopback() {
        let message =
            format!("{address} is not on the loopback interface: give 127.0.0.1:PORT or [::1]:PORT");
        return Err(ScenarioError::new("--metrics", message));
    }
    Server::http(address).map_err(|error| {
        let taken =
            error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::AddrInUse);
        let message = match taken {
            true => format!("{address} is taken by another program: give another port"),
            false => format!("{address}: {error}"),
        };
        ScenarioError::new("--metrics", message)
    })
}

/// Answers with what `text` says at the time, until the server is unblocked.
pub fn serve(server: &Server, text: &dyn Fn() -> String) {
    server.incoming_requests().for_each(|request| answer(request, text));
}

fn answer(request: Request, text: &dyn Fn() -> String) {
    let path = request.url().split('?').next().unwrap_or_default();
    // Whoever asked may have gone.
    let _ = match (request.method(), path) {
        (Method::Get | Method::Head, "/metrics") => {
            let kind = Header::from_bytes("Content-Type", FORMAT).ok();
            let response = Response::from_string(text());
            request.respond(kind.into_iter().fold(response, Response::with_header))
        }
        _ => request.respond(Response::from_string("metrics are at /metrics\n").with_status_code(404)),
    };
}

/// Numbers in the format of Prometheus.
#[derive(Default)]
pub struct Page(pub String);

impl Page {
    /// Numbers of one name, each with its labels.
    pub fn family<V: Display>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        samples: impl IntoIterator<Item = (String, V)>,
    ) {
        let name = format!("tailrace_{name}");
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in samples {
            let _ = writeln!(self.0, "{name}{{{labels}}} {value}");
        }
    }
}
