//! `tailrace completions` and `tailrace man`: what shells and manuals know of the command.

use clap::CommandFactory;
use tailrace_console::{say, say_part};
use tailrace_experiment::Error;

use crate::args;

/// What completes the command's words in a shell.
pub fn completions(options: &args::Completions) -> Result<i32, Error> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut args::Args::command(), "tailrace", &mut script);
    say_part!("{}", String::from_utf8_lossy(&script));
    Ok(0)
}

/// A page for the command, and one for each of its commands.
pub fn man(options: &args::Man) -> Result<i32, Error> {
    let failed = |error| Error::storage(&options.folder, error);
    std::fs::create_dir_all(&options.folder).map_err(failed)?;
    clap_mangen::generate_to(args::Args::command(), &options.folder).map_err(failed)?;
    say!("manual pages: {}", options.folder.display());
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_has_examples_of_every_command() {
        for command in args::Args::command().get_subcommands() {
            let said = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let own = format!("tailrace {}", command.get_name());
            assert!(said.contains("Example") && said.contains(&own), "{own}");
        }
    }
}
