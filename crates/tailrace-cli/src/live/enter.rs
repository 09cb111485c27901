//! `tailrace enter`.

use std::ffi::OsString;

use tailrace_config::suggest::unknown;
use tailrace_experiment::Error;
use tailrace_linux::{Standing, check_rights};

use crate::args;
use crate::mistake::wrong;

pub fn enter(options: &args::Enter) -> Result<i32, Error> {
    check_rights("tailrace enter").map_err(Error::Live)?;
    let standing = Standing::all().map_err(Error::Live)?;
    let (emulation, host) = choose(&standing, options.name.as_deref(), &options.host)?;
    let shell = || std::env::var_os("SHELL").unwrap_or_else(|| OsString::from("/bin/sh"));
    let (program, arguments) = match options.command.split_first() {
        Some((program, arguments)) => (program.clone(), arguments),
        None => (shell(), &[][..]),
    };
    Err(Error::Live(emulation.enter(host, &program, arguments)))
}

/// The emulation and the host that are meant.
fn choose<'a>(
    standing: &'a [Standing],
    name: Option<&str>,
    host: &'a str,
) -> Result<(&'a Standing, &'a str), Error> {
    let (before, host) = host.split_once('/').map_or((None, host), |(name, host)| (Some(name), host));
    let names = || standing.iter().map(Standing::name);
    let emulation = match (name.or(before), standing) {
        (_, []) => return Err(wrong("HOST", "no emulation runs; start one with `tailrace emulate FILE`")),
        (Some(name), _) => standing
            .iter()
            .find(|emulation| emulation.name() == name)
            .ok_or_else(|| wrong("--name", unknown("emulation that runs", name, names())))?,
        (None, [emulation]) => emulation,
        (None, [first, ..]) => {
            let names: Vec<_> = names().collect();
            let message = format!(
                "several emulations run, {}: write {}/{host}, for example, or give --name",
                names.join(", "),
                first.name()
            );
            return Err(wrong("HOST", message));
        }
    };
    if emulation.hosts().iter().any(|known| known == host) {
        return Ok((emulation, host));
    }
    let there = match emulation.hosts() {
        [first, .., last] => format!("there are {first} to {last}"),
        _ => "it has none yet".to_owned(),
    };
    Err(wrong("HOST", format!("unknown host \"{host}\" of {}; {there}", emulation.name())))
}
